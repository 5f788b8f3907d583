"""The first page: what was read, what is missing, what was done, and how to do it again."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.reporting import code as written
from eigenlens.reporting.charts import Chart, facts, heat, table
from eigenlens.reporting.packing import cut
from eigenlens.reporting.rows import ShownRows

__all__ = ["overview"]

STRIPES, NAMED, LISTED = 30, 40, 5_000
"""Groups of rows and columns in the map of missing entries, and the most columns in the table."""


def overview(
    rows: ShownRows, models: dict[str, Any], warnings: list[str], command: str, python: str, seed: Any = None
) -> list[Chart]:
    """Shape, columns, missing entries, preprocessing, seeds, warnings, and the lines that make it again."""
    missing = _missing(rows)
    gaps = int(missing.sum())
    pairs = [
        ("rows", f"{rows.total:,}" + (f", of which {len(rows.X):,} are shown" if rows.sampled else "")),
        ("columns", f"{len(rows.names):,}" + (f", {len(rows.texts)} of them text" if rows.texts else "")),
        ("missing entries", f"{gaps:,} ({gaps / max(1, missing.size):.2%} of the rows shown)"),
        *((name, written.call(model)) for name, model in models.items()),
        *(("preprocessing" if len(models) == 1 else f"preprocessing, {name}", _preparation(model))
          for name, model in models.items()),
        ("seeds", _seeds(models, seed)),
    ]  # fmt: skip
    code = [{"label": "Python", "text": python}]
    code += [{"label": "Command line", "text": command}] if command else []
    charts = [facts("What this is", pairs, warnings=warnings, code=code), *_columns(rows, missing)]
    return [*charts, *([_gaps(rows, missing)] if gaps else [])]


def _missing(rows: ShownRows) -> Array:
    """(m, d) whether an entry is missing, of numbers and of text."""
    found = np.isnan(rows.X)
    for j, values in rows.texts.items():
        found[:, j] = [value is None or value != value for value in values.tolist()]
    return found


PREPARED: dict[str, dict[Any, str]] = {
    "standardize": {True: "columns divided by their standard deviations", False: "columns in their own units"},
    "whiten": {True: "scores divided by their standard deviations"},
    "missing": {"em": "missing entries by EM"},
}
"""What options say of preprocessing, by their values."""

CENTRED = ("PCA", "ProbabilisticPCA", "FactorAnalysis")


def _preparation(model: Any) -> str:
    """What was done with the columns before the fit."""
    options = model.get_params(deep=False)
    said = [words[options[name]] for name, words in PREPARED.items() if _plain(options.get(name)) in words]
    said = ["columns centred", *said] if type(model).__name__ in CENTRED else said
    return "; ".join(said) if said else "none: the columns as they are"


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | str) else ""


def _seeds(models: dict[str, Any], seed: Any) -> str:
    said = [
        f"{name}: {_seed(model.random_state)}" for name, model in models.items() if hasattr(model, "random_state")
    ]  # fmt: skip
    return "; ".join([*said, f"sample of rows: {_seed(seed)}"])


def _seed(value: Any) -> str:
    if value is None:
        return "none"
    return str(value) if isinstance(value, int | np.integer) else f"a {type(value).__name__}"


def _columns(rows: ShownRows, missing: Array) -> list[Chart]:
    X = rows.X
    numbers = [j for j in range(X.shape[1]) if j not in rows.texts][:LISTED]
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
            "standard deviation": deviation, "least": low, "greatest": high,
        }  # fmt: skip
        about = "Of the rows shown." if rows.sampled else ""
        about += f" The first {LISTED:,} columns." if len(rows.names) - len(rows.texts) > LISTED else ""
        charts.append(table("Columns", columns, about))
    return [*charts, *([_texts(rows, missing)] if rows.texts else [])]


def _texts(rows: ShownRows, missing: Array) -> Chart:
    found: dict[str, list[Any]] = {"column": [], "missing": [], "levels": [], "commonest": [], "its rows": []}
    for j, values in list(rows.texts.items())[:LISTED]:
        counts = Counter(map(str, values[~missing[:, j]].tolist()))
        name, count = counts.most_common(1)[0] if counts else ("", 0)
        line = rows.labels[j], int(missing[:, j].sum()), len(counts), cut(name), count
        for head, value in zip(found, line, strict=True):
            found[head].append(value)
    return table("Columns of text", found)


def _gaps(rows: ShownRows, missing: Array) -> Chart:
    """Where entries are missing: stripes of consecutive rows against columns, those that miss most where many."""
    shares = missing.mean(axis=0)
    many = len(rows.names) > NAMED
    chosen = np.sort(np.argsort(-shares, kind="stable")[:NAMED]) if many else np.arange(len(rows.names))
    groups = np.array_split(np.arange(len(missing)), min(STRIPES, len(missing)))
    values = np.stack([100.0 * missing[np.ix_(group, chosen)].mean(axis=0) for group in groups])
    names = [_stretch(rows, group) for group in groups]
    about = "How much each column misses in stretches of consecutive rows."
    about += f" The {NAMED} columns that miss most of {len(rows.names):,}." if many else ""
    return heat("Missing entries", values, names, [rows.labels[j] for j in chosen], what="% missing", about=about)


def _stretch(rows: ShownRows, group: Array) -> str:
    first, last = int(rows.chosen[group[0]]) + 1, int(rows.chosen[group[-1]]) + 1
    return f"{first:,}" if first == last else f"{first:,}–{last:,}"
