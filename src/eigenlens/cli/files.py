"""The files that a command line names: checked first, before anything that takes time to load.

Those that it writes are written whole or not at all, and never over an old one without --force.
"""

from __future__ import annotations

import contextlib
import glob
import itertools
import os
import shlex
import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenlens.catalogue import MODELS
from eigenlens.cli.errors import fail
from eigenlens.cli.output import IN_TRIAL, json_text, show_controls
from eigenlens.data.files.decision import Decision
from eigenlens.data.files.write import WRITERS, JSONWriter, as_frame, raise_system_errors

if TYPE_CHECKING:
    from eigenlens.cli.input_table import Table
    from eigenlens.cli.options import RunningOptions
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


def require_tables(command: str, files: Sequence[str], known: Container[str] | None = None) -> None:
    """Raise where `require_files` does, and for the names of models in place of a file, as `fit` takes them.

    `known`: the models that the command takes; all without it.
    """
    models = [
        file for file in files if file in {entry.command for entry in MODELS.values()} and not Path(file).exists()
    ]
    tables = [file for file in files if file not in models]
    if models:
        what = f"'{models[0]}' is a model, not a file"
        taken = [model for model in models if known is None or model in known]
        words = [*(tables or ["FILE"]), *(["--models", ",".join(taken)] if taken else [])]
        fail(what, shlex.join(["write:", "eigenlens", command, *words]))
    require_files(files)


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
            with raise_system_errors():
                fill(temporary)
        check()
        for temporary, final in ready:
            move_into_place(temporary, final)


def free_name(name: str) -> str:
    """Return the name, with a number in it if such a file exists: a suggested command must not overwrite a file."""
    path = Path(name)
    names = itertools.chain([path], (path.with_name(f"{path.stem}-{i}{path.suffix}") for i in itertools.count(2)))
    return str(next(each for each in names if not each.exists()))


def write_table(columns: Mapping[str, Any], target: Path | None, now: Session) -> None:
    """Write named columns (n,) to a file by its suffix, or as CSV to standard output; warn of formulas in text."""
    with open_table(target, now) as write:
        write(columns)


@contextlib.contextmanager
def open_table(target: Path | None, now: Session) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Provide a function that writes named columns, some rows at a time, to a file or to standard output.

    The file is moved to its place at the end of the block, whole; where the block raises, an old one stays.
    """
    started, escape = False, now.running.escape_formulas

    def checked(columns: Mapping[str, Any]) -> Mapping[str, Any]:
        text = target is None or target.suffix.lower() in FORMULA_SUFFIXES
        return _check_formulas(columns, escape) if text else columns

    def print_columns(columns: Mapping[str, Any]) -> None:
        nonlocal started
        text = as_frame(checked(columns)).write_csv(include_header=not started)
        sys.stdout.write(show_controls(text) if sys.stdout.isatty() else text)
        started = True

    if target is None or IN_TRIAL.get():
        yield print_columns if target is None else lambda columns: None
        return
    from eigenlens.file_replacement import move_into_place, temporary_folder

    final = Path(os.path.realpath(target))
    with temporary_folder(final.parent) as folder:
        with raise_system_errors(), OUTPUT_FORMATS[target.suffix.lower()](folder / final.name) as writer:
            yield lambda columns: writer.write(checked(columns))
        now.check_interrupt()
        move_into_place(folder / final.name, final)


FORMULA_SUFFIXES = (".csv", ".tsv")
FORMULA_STARTS = r"^[=+\-@\t\r]"
"""First characters of cells that spreadsheet programs run as formulas, unless the cell is a number."""


def _check_formulas(columns: Mapping[str, Any], escape: bool) -> Mapping[str, Any]:
    """Return the columns with formulas among text marked as text by an apostrophe if `escape`, else warn of them."""
    from eigenlens.data.files.base import pl
    from eigenlens.errors import DataWarning, warn_user

    frame = as_frame({f"{place}": values for place, values in enumerate(columns.values())})
    names = pl.DataFrame({"names": list(map(str, columns))})
    cells = pl.selectors.string()
    formula = cells.str.contains(FORMULA_STARTS) & cells.cast(pl.Float64, strict=False).is_null()
    if not any(column.any() for each in (frame, names) for column in each.select(formula).iter_columns()):
        return columns
    if escape:
        marked = pl.when(formula).then(pl.lit("'") + cells).otherwise(cells).name.keep()
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


OUTPUT_FORMATS = WRITERS | {".json": partial(JSONWriter, dump=lambda columns: json_text(dict(columns)))}
"""Writers of tables, by suffix."""


BYTES_PER_BYTE, BYTES_PER_COMPRESSED = 4, 40
"""The memory that the numbers of a file take at most, for each byte on disk."""


def exceeds_memory(source: Any, most: int, mixed: bool) -> bool:
    """Return whether the rows of files may take more memory than that; by their size on disk where these are text."""
    from eigenlens.data.files.decompress import COMPRESSED

    if not mixed and source.dialect is None:
        return bool(source.n_rows * source.n_features * source.dtype.itemsize > most)
    each = {True: BYTES_PER_COMPRESSED, False: BYTES_PER_BYTE}
    size = sum(path.stat().st_size * each[path.suffix.lower() in COMPRESSED] for path in source.paths)
    return bool(size > most)


# ---- memory -----------------------------------------------------------------------------------------------------

MAX_APPLIED_BYTES = 512 << 20
"""Rows to which a model is applied stay in their files beyond this size, so that memory does not grow with the file."""

BYTES_PER_LABEL = 16
"""The memory of the label of a row: an object, which is copied once."""


def memory_limit(running: RunningOptions, *, share: int = 4, applied: bool = False) -> int:
    """Return the memory that rows may take: what the options say, or else a share of what is free.

    applied: for rows to which a model is applied.
    """
    from eigenlens import checks
    from eigenlens.resources import available_memory

    given = running.max_memory
    if given is not None:
        return checks.memory("max_memory", int(given) if given.strip().isdecimal() else given)
    return min(available_memory() // share, MAX_APPLIED_BYTES) if applied else available_memory() // share


def require_memory(entries: int, running: RunningOptions) -> None:
    """Raise an error if a result is larger than the memory that may be taken."""
    size, most = 8 * entries, memory_limit(running, share=1)
    if size > most:
        what = f"the result needs {format_size(size)} of memory, and {format_size(most)} may be taken"
        fail(what, "raise --max-memory, or work on fewer rows at a time", "resources")


def remark_memory(table: Table, running: RunningOptions) -> Table:
    """Return a table, with a remark where rows that are read from files take more memory than the options allow."""
    from eigenlens.data.files.file_parts import least_memory

    source = getattr(table.source, "source", table.source)  # of chosen rows
    if running.max_memory is None or table.missing is not None or not hasattr(source, "group_bytes"):
        return table  # genotypes are read by blocks of variants
    labels = 0 if table.label is None else BYTES_PER_LABEL * table.n
    least, most = least_memory(source) + labels, memory_limit(running)
    parts = ["row groups that are decoded whole"] * (source.group_bytes > 0) + ["the label"] * (labels > 0)
    with_parts = f", with {' and '.join(parts)}" if parts else ""
    what = f"reading may take {format_size(least)}{with_parts}, more than the {format_size(most)} that are allowed"
    return table if least <= most else replace(table, decisions=(*table.decisions, Decision("memory", what)))
