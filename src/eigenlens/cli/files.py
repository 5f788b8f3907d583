"""The files that a command line names: checked first, before anything that takes time to load.

Those that it writes are written whole or not at all, and never over an old one without --force.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenlens.cli.errors import fail
from eigenlens.cli.output import IN_TRIAL, json_text

if TYPE_CHECKING:
    from eigenlens.cli.session import Session

MODEL_SUFFIXES, REPORT_SUFFIXES = (".safetensors",), (".html", ".htm")


def is_model_file(path: str) -> bool:
    """Return whether a path has the suffix of model files."""
    return path.lower().endswith(MODEL_SUFFIXES)


def require_files(*files: str | Sequence[str]) -> None:
    """Raise for files that are missing, empty or named twice, folders, and patterns that match nothing."""
    from eigenlens.data.files.paths import expand_paths
    from eigenlens.data.files.scan import FORMATS

    for named in files:  # a model and a table may be one file, which is another error
        expand_paths(named, FORMATS)


def check_target(
    path: str | None, force: bool, suffixes: Mapping[str, Any] | tuple[str, ...], inputs: Sequence[str] = ()
) -> Path | None:
    """Return the path to write to; before any work is done, check that it can and may be written.

    `inputs`: the files that are read, none of which is ever replaced.
    """
    if path is None:
        return None
    from eigenlens import checks

    target = Path(os.path.expanduser(path))
    if suffixes and target.suffix.lower() not in suffixes:
        known = f"{'one of ' * (len(suffixes) > 1)}{', '.join(suffixes)}"
        fail(f"'{path}' has {f'the suffix {target.suffix!r}' if target.suffix else 'no suffix'}", f"use {known}")
    read = [name for file in inputs for name in ([file] if os.path.exists(file) else glob.glob(file))]
    if target.exists() and any(os.path.samefile(target, name) for name in read):
        fail(f"'{path}' is both read and written", "write to another file")
    return checks.target_file(target, overwrite=force)


def write_files(*files: tuple[Path, Callable[[Path], Any]], check: Callable[[], None] = lambda: None) -> None:
    """Write all files in temporary folders beside their targets, then move them there.

    Whatever interrupts this, every file is unchanged or complete, and none is new unless all are ready. `check` is
    called before the move, and raises an interrupt that a fit took as a request to stop early. A trial writes nothing.
    """
    from eigenlens.file_replacement import move_into_place, temporary_folder

    if IN_TRIAL.get():
        return
    with contextlib.ExitStack() as folders:
        ready: list[tuple[Path, Path]] = []
        for target, fill in files:
            final = Path(os.path.realpath(target))
            temporary = folders.enter_context(temporary_folder(final.parent)) / final.name
            ready.append((temporary, final))
            with _system_errors():
                fill(temporary)
        check()
        for temporary, final in ready:
            move_into_place(temporary, final)


@contextlib.contextmanager
def _system_errors() -> Iterator[None]:
    """Raise the system's own error where a library wraps it: a full disk must be recognised as one."""
    try:
        yield
    except Exception as error:
        code = re.search(r"os error (\d+)", str(error))  # Polars has it in the text only
        short = isinstance(error, OSError) and error.errno is None  # NumPy: fewer bytes were written than asked for
        if code is None and not short:
            raise
        number = errno.ENOSPC if code is None else int(code[1])
        raise OSError(number, os.strerror(number)) from error


def free_name(name: str) -> str:
    """Return the name, with a number in it if such a file exists: a suggested command must not overwrite a file."""
    path = Path(name)
    names = itertools.chain([path], (path.with_name(f"{path.stem}-{i}{path.suffix}") for i in itertools.count(2)))
    return str(next(each for each in names if not each.exists()))


def write_table(columns: Mapping[str, Any], target: Path | None, now: Session) -> None:
    """Write named columns (n,) to a file by its suffix, or as CSV to standard output; warn of formulas in text."""
    if target is None or target.suffix.lower() in FORMULA_SUFFIXES:
        columns = _check_formulas(columns, now.running.escape_formulas)
    if target is None:
        sys.stdout.write(_frame(columns).write_csv())
        return
    write_files((target, lambda path: OUTPUT_FORMATS[target.suffix.lower()](columns, path)), check=now.check_interrupt)


FORMULA_SUFFIXES = (".csv", ".tsv")
FORMULA_STARTS = r"^[=+\-@\t\r]"
"""First characters of cells that spreadsheet programs run as formulas, unless the cell is a number."""


def _check_formulas(columns: Mapping[str, Any], escape: bool) -> Mapping[str, Any]:
    """Return the columns with formulas among text marked as text by an apostrophe if `escape`, else warn of them."""
    from eigenlens.data.files.base import pl
    from eigenlens.errors import DataWarning, warn_user

    frame = _frame({f"{place}": values for place, values in enumerate(columns.values())})
    names = pl.DataFrame({"names": list(map(str, columns))})
    cells = pl.selectors.string()
    formula = cells.str.contains(FORMULA_STARTS) & cells.cast(pl.Float64, strict=False).is_null()
    if not any(column.any() for each in (frame, names) for column in each.select(formula).iter_columns()):
        return columns
    if escape:
        marked = pl.when(formula).then(pl.concat_str(pl.lit("'"), cells)).otherwise(cells).name.keep()
        return dict(zip(names.with_columns(marked)["names"], frame.with_columns(marked).iter_columns(), strict=True))
    found = frame.select(formula.sum()).row(0, named=True)
    first = [name for place, name in enumerate(columns) if found.get(str(place))] or list(columns)[:1]
    what = f"text of column {first[0]!r} starts with =, +, - or @, which spreadsheet programs run as a formula"
    fix, settings = "mark it as text with {escape_formulas}", {"escape_formulas": True}
    warn_user(DataWarning(what, columns=first, fix=fix, settings=settings))
    return columns


def file_size(*paths: Path) -> str:
    """Return the total size of files as text."""
    return format_size(sum(path.stat().st_size for path in paths))


def format_size(size: float) -> str:
    """Return a number of bytes as text.

    >>> format_size(12), format_size(1234567)
    ('12 bytes', '1.2 MB')
    """
    for unit in ("bytes", "kB", "MB"):
        if size < 1000.0:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000.0
    return f"{size:.1f} GB"


def _as_column(values: Any) -> Any:
    """Return values as Polars takes them: a column of Polars itself keeps its type."""
    import numpy as np

    array = values if hasattr(values, "to_list") else np.asarray(values)
    return array.tolist() if isinstance(array, np.ndarray) and array.dtype.kind in "UO" else array


def _frame(columns: Mapping[str, Any]) -> Any:
    from eigenlens.data.files.base import pl

    frame = pl.DataFrame({name: _as_column(values) for name, values in columns.items()})
    return frame.with_columns(pl.selectors.float().fill_nan(None))


def _to_npy(columns: Mapping[str, Any], path: Path) -> None:
    import numpy as np

    arrays = {name: np.asarray(values) for name, values in columns.items()}
    numbers = [array for array in arrays.values() if array.dtype.kind in "fiub"]
    if len(numbers) < len(arrays):
        text = next(name for name, array in arrays.items() if array.dtype.kind not in "fiub")
        fix = "write .parquet or .csv, or leave out --id and --label"
        fail(f"the column '{text}' is text, which .npy cannot hold", fix)
    np.save(path, np.column_stack(numbers), allow_pickle=False)


def _to_json(columns: Mapping[str, Any], path: Path) -> None:
    path.write_text(json_text(dict(columns)) + "\n", encoding="utf-8")


OUTPUT_FORMATS: dict[str, Callable[[Mapping[str, Any], Path], None]] = {
    ".csv": lambda columns, path: _frame(columns).write_csv(path),
    ".tsv": lambda columns, path: _frame(columns).write_csv(path, separator="\t"),
    ".parquet": lambda columns, path: _frame(columns).write_parquet(path),
    ".arrow": lambda columns, path: _frame(columns).write_ipc(path),
    ".feather": lambda columns, path: _frame(columns).write_ipc(path),
    ".npy": _to_npy,
    ".json": _to_json,
}
"""Writers of columns, by suffix."""
