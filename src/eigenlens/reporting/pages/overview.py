"""The last page: the rows, their missing values, the models, and how to make the report again."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.reporting import code as written
from eigenlens.reporting.charts import Chart, facts, heat, table_chart
from eigenlens.reporting.rows import ShownRows
from eigenlens.tables.names import shorten

STRIPES, NAMED, LISTED = 30, 40, 5_000
"""Groups of rows and columns in the map of missing values, and the largest number of columns in the table."""


def overview(
    rows: ShownRows, models: dict[str, Any], decisions: list[str], command: str, python: str, seed: Any = None
) -> list[Chart]:
    """Return the charts of shape, decisions about the file, columns, missing values, and last the script."""
    missing = _missing(rows)
    count = int(missing.sum())
    shown = " of the rows shown" if rows.sampled else ""
    pairs = [
        ("rows", _row_count(rows)),
        ("columns", f"{len(rows.names):,}" + (f", {len(rows.texts)} of them text" if rows.texts else "")),
        *(
            [("missing values", f"{count:,} ({count / missing.size:.2%} of the entries{shown})")]
            if missing.size
            else []
        ),
        *((name, written.estimator_call(model)) for name, model in models.items()),
        *((f"preprocessing{f', {name}' * (len(models) > 1)}", _preparation(model)) for name, model in models.items()),
        ("seeds", _seeds(models, seed)),
    ]
    code = [{"label": "Python", "text": python}]
    code += [{"label": "Command line", "text": command}] if command else []
    decided = [facts("Decisions about the file", paragraphs=decisions)] if decisions else []
    maps = [_missing_map(rows, missing)] if count else []
    again = facts("How to make this report again", code=code)
    return [facts("What this is", pairs), *decided, *_columns(rows, missing), *maps, again]


def _row_count(rows: ShownRows) -> str:
    if not rows.total:
        return "none, as of a covariance matrix"
    return f"{rows.total:,}" + (f", of which {len(rows.X):,} are shown" if rows.sampled else "")


def _missing(rows: ShownRows) -> Array:
    """Return whether each entry (m, d) is missing, in columns of numbers and of text."""
    found = np.isnan(rows.X)
    for j, values in rows.texts.items():
        found[:, j] = [value is None or value != value for value in values.tolist()]
    return found


PREPARED: dict[str, dict[Any, str]] = {
    "standardize": {True: "columns divided by their standard deviations", False: "columns in their own units"},
    "whiten": {True: "scores divided by their standard deviations", "zca": "rows whitened along the columns"},
    "missing": {"em": "missing values by EM"},
}
"""Descriptions of preprocessing by option and value."""

CENTRED = ("PCA", "ProbabilisticPCA", "FactorAnalysis")


def _preparation(model: Any) -> str:
    """Return a description of the preprocessing of the columns."""
    options = model.get_params(deep=False)
    plain = {name: value for name, value in options.items() if isinstance(value, bool | str)}
    parts = [words[plain[name]] for name, words in PREPARED.items() if plain.get(name) in words]
    parts = ["columns centred", *parts] if type(model).__name__ in CENTRED else parts
    return "; ".join(parts) if parts else "none: the columns as given"


def _seeds(models: dict[str, Any], seed: Any) -> str:
    seeded = {name: model for name, model in models.items() if hasattr(model, "random_state")}
    parts = [f"{name}: {_seed(model.random_state)}" for name, model in seeded.items()]
    return "; ".join([*parts, f"sample of rows: {_seed(seed)}"])


def _seed(value: Any) -> str:
    if value is None:
        return "none"
    return str(value) if isinstance(value, int | np.integer) else f"a {type(value).__name__}"


def _columns(rows: ShownRows, missing: Array) -> list[Chart]:
    X = rows.X
    numbers = [j for j in range(X.shape[1]) if j not in rows.texts][:LISTED] if len(X) else []
    charts = []
    if numbers:
        with np.errstate(all="ignore"):
            part, gone = X[:, numbers], missing[:, numbers]
            seen = np.maximum(1, (~gone).sum(axis=0))
            mean = np.where(gone, 0.0, part).sum(axis=0) / seen
            deviation = np.sqrt(np.where(gone, 0.0, (part - mean) ** 2).sum(axis=0) / np.maximum(1, seen - 1))
            low, high = np.fmin.reduce(part, axis=0), np.fmax.reduce(part, axis=0)
        columns = {
            "column": [rows.labels[j] for j in numbers], "missing": gone.sum(axis=0), "mean": mean,
            "standard deviation": deviation, "min": low, "max": high,
        }  # fmt: skip
        about = "Of the rows shown." if rows.sampled else ""
        about += f" The first {LISTED:,} columns." if len(rows.names) - len(rows.texts) > LISTED else ""
        charts.append(table_chart("Columns", columns, about) | {"lines": True})
    return [*charts, *([_texts(rows, missing)] if rows.texts else [])]


def _texts(rows: ShownRows, missing: Array) -> Chart:
    lines = []
    for j, values in list(rows.texts.items())[:LISTED]:
        counts = Counter(map(str, values[~missing[:, j]].tolist()))
        name, count = counts.most_common(1)[0] if counts else ("", 0)
        lines.append((rows.labels[j], int(missing[:, j].sum()), len(counts), shorten(name), count))
    header = ("column", "missing", "categories", "most frequent", "its rows")
    return table_chart("Columns of text", dict(zip(header, zip(*lines, strict=True), strict=True)))


def _missing_map(rows: ShownRows, missing: Array) -> Chart:
    """Return the map of missing values: groups of consecutive rows by columns, the most incomplete ones if many."""
    shares = missing.mean(axis=0)
    many = len(rows.names) > NAMED
    chosen = np.sort(np.argsort(-shares, kind="stable")[:NAMED]) if many else np.arange(len(rows.names))
    groups = np.array_split(np.arange(len(missing)), min(STRIPES, len(missing)))
    values = np.stack([100.0 * missing[np.ix_(group, chosen)].mean(axis=0) for group in groups])
    names = [_stretch(rows, group) for group in groups]
    about = "The share of missing values of each column in groups of consecutive rows."
    about += f" The {NAMED} most incomplete of {len(rows.names):,} columns." if many else ""
    return heat("Missing values", values, names, [rows.labels[j] for j in chosen], what="% missing", about=about)


def _stretch(rows: ShownRows, group: Array) -> str:
    first, last = int(rows.chosen[group[0]]) + 1, int(rows.chosen[group[-1]]) + 1
    return f"{first:,}" if first == last else f"{first:,}–{last:,}"
