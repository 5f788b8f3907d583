"""`eigenlens info`: what is in a data file or a model file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from eigenlens.app.cli.errors import refuse
from eigenlens.app.cli.options import Reading, Running, takes

__all__ = ["info"]

SHOWN = 200
"""The most columns listed in words; --json has all."""


@takes(reading=Reading, running=Running)
def info(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE…", help="Data files of one table, or one model file (.safetensors).")
    ],
    reading: Reading,
    running: Running,
) -> None:
    """Describe a data file (types, missing values, ranges) or a model file.

    A model file holds numbers and text only: nothing in it is ever executed.
    """
    from eigenlens.app.cli.running import session

    with session(running) as now:
        models = [file for file in files if file.lower().endswith(".safetensors")]
        if models and len(files) > 1:
            refuse("info describes one model at a time", f"give {models[0]} alone")
        if models:
            _describe_model(Path(models[0]), now)
        else:
            _describe_table(files, reading, now)


# ---- a model ------------------------------------------------------------------------------------------------


def _describe_model(path: Path, now: Any) -> None:
    """By the file's header and shapes; the digest is checked, and the estimator itself is made for its summary only."""
    from eigenlens import io
    from eigenlens.app.cli.summaries import aligned, call, summary
    from eigenlens.app.cli.writing import size_of
    from eigenlens.estimators import ESTIMATORS, load

    kind, arrays, header = io.read(path)
    listed = [[name, str(array.dtype), " × ".join(map(str, array.shape)) or "1"] for name, array in arrays.items()]
    now.say("file", f"{path}: {kind} ({size_of(path)}, digest intact)")
    now.tell(file=path, kind=kind, arrays={name: list(array.shape) for name, array in arrays.items()})
    if kind in ESTIMATORS:
        model = load(path)
        line, shown, facts = summary(model)
        names = [str(name) for name in getattr(model, "feature_names_in_", ())]
        now.say("model", call(model))
        now.say("fitted to", _fitted_to(model, names))
        now.say("found", line)
        now.show(shown)
        now.tell(model=call(model), columns=names, **{key: value for key, value in facts.items() if key != "columns"})
    now.say("holds", aligned(["array", "type", "shape"], listed, most=SHOWN))
    now.tell(header={key: value for key, value in header.items() if key in ("parameters", "dtype")})


def _fitted_to(model: Any, names: list[str]) -> str:
    n = getattr(model, "n_samples_", None)
    rows = "" if n is None else f"{n:,} rows, "
    listed = f": {', '.join(names[:8])}{', …' if len(names) > 8 else ''}" if names else ""
    return f"{rows}{model.n_features_in_:,} columns{listed}"


# ---- a table ------------------------------------------------------------------------------------------------


def _describe_table(files: list[str], reading: Reading, now: Any) -> None:
    from eigenlens.app.cli.summaries import aligned
    from eigenlens.app.cli.writing import size_of
    from eigenlens.data.paths import expand

    paths = expand(files)
    text, columns, n = _columns(paths, reading)
    size = size_of(paths[0]) if len(paths) == 1 else f"{len(paths)} files"
    now.say(
        "file", f"{paths[0] if len(paths) == 1 else paths[0].parent}: {n:,} rows, {len(columns):,} columns ({size})"
    )
    if text is not None:
        cut = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar"}.get(text.separator, repr(text.separator))
        names = "first line is names" if text.header else "no line of names"
        now.say("text", f"separator {cut}, decimal sign '{text.decimal}', {names}")
    missing = sum(column["missing"] for column in columns)
    now.say(
        "missing",
        f"{missing:,} of {n * len(columns):,} entries" + (f" ({missing / (n * len(columns)):.1%})" if n else ""),
    )
    lines = [_line(column, n) for column in columns]
    now.show(aligned(["column", "type", "missing", "least", "mean", "greatest", "note"], lines, most=SHOWN))
    used = [column["name"] for column in columns if column["type"] in ("float", "integer", "boolean")]
    other = [str(column["name"]) for column in columns if column["type"] in ("text", "other")]
    if used:
        drop = f" --drop {','.join(other[:4])}" + (",…" if len(other) > 4 else "") if other else ""
        now.say(
            "next", f"eigenlens fit pca {shlex.quote(files[0])}{drop if ',…' not in drop else ' --columns @number'}"
        )
    now.tell(files=paths, rows=n, missing=missing, columns=columns, text=None if text is None else text.__dict__)


def _line(column: dict[str, Any], n: int) -> list[str]:
    number = column["mean"] is not None
    shown = [f"{column[key]:.6g}" if number else "" for key in ("least", "mean", "greatest")]
    missing = f"{column['missing']:,}" if column["missing"] else ""
    return [str(column["name"]), column["type"], missing, *shown, column["note"]]


def _columns(paths: tuple[Path, ...], reading: Reading) -> tuple[Any, list[dict[str, Any]], int]:
    """How text is written (None if it is none), the columns, and the number of rows."""
    from eigenlens.app.cli.columns import column_kinds
    from eigenlens.app.cli.sniffing import is_text, sniff

    if is_text(paths[0]):
        text = sniff(paths[0], reading)
        return text, *_of_frames(paths, text)
    column_kinds(paths[0], None)
    if paths[0].suffix.lower() == ".npy":
        return None, *_of_arrays(paths)
    return None, *_of_frames(paths, None)


def _of_arrays(paths: tuple[Path, ...]) -> tuple[list[dict[str, Any]], int]:
    import numpy as np

    from eigenlens.data.files import scan

    source = scan(paths)
    with np.errstate(all="ignore"):
        parts = [_array_parts(np.asarray(rows, dtype=np.float64)) for rows in source.rows()]
    gaps, total = sum(part[0] for part in parts), sum(part[1] for part in parts)
    low, high = np.fmin.reduce([part[2] for part in parts]), np.fmax.reduce([part[3] for part in parts])
    n = source.n_rows
    found = []
    for j in range(source.n_features):
        seen = n - int(gaps[j])
        mean = float(total[j]) / seen if seen else None
        notes = "constant" if seen and low[j] == high[j] else ""
        found.append(
            {"name": j, "type": "float", "missing": int(gaps[j]), "least": float(low[j]), "mean": mean,
             "greatest": float(high[j]), "note": notes}
        )  # fmt: skip
    return found, n


def _array_parts(rows: Any) -> tuple[Any, Any, Any, Any]:
    import numpy as np

    gaps = np.isnan(rows)
    return gaps.sum(axis=0), np.where(gaps, 0.0, rows).sum(axis=0), np.fmin.reduce(rows), np.fmax.reduce(rows)


def _of_frames(paths: tuple[Path, ...], text: Any) -> tuple[list[dict[str, Any]], int]:
    from eigenlens.app.cli.frames import read_frame

    frame = read_frame(paths, text)
    return [_of_series(frame[name], text) for name in frame.columns], len(frame)


def _of_series(column: Any, text: Any) -> dict[str, Any]:
    from eigenlens.app.cli.columns import judged, kind_of
    from eigenlens.app.cli.frames import as_numbers

    values = column
    kind = kind_of(column.dtype) if text is None else judged(column, text)
    numbers = as_numbers(values, kind, text)
    found: dict[str, Any] = {"name": column.name, "type": kind, "missing": values.null_count(), "note": ""}
    found |= {"least": None, "mean": None, "greatest": None}
    if numbers is None:
        distinct = values.n_unique() - bool(values.null_count())
        first = values.drop_nulls().head(1).to_list()
        return found | {"note": f"{distinct:,} different" + (f", e.g. {str(first[0])[:24]!r}" if first else "")}
    seen = numbers.drop_nulls().drop_nans()
    found["missing"] = len(numbers) - len(seen)
    if not len(seen):
        return found | {"note": "empty"}
    span = {"least": float(seen.min()), "mean": float(seen.mean()), "greatest": float(seen.max())}
    return found | span | {"note": "constant" if span["least"] == span["greatest"] else ""}
