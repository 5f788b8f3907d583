"""Tables in which one row holds an income and the next a length of life, as a column of text says."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.cli.advice.sentinels import numeric_columns
from eigenlens.errors import join_limited

MEASURE_NAME = re.compile(
    r"(?i)(series|indicator|variable|measure(ment)?|parameter|metric|analyte|element|item|statistic|attribute"
    r"|subject[\W_]descriptor|merkmal|indikator|einheit|units?|uom|unit[\W_]of[\W_]measure)"
    r"([\W_]*(name|code|id|type|label|descriptor))?"
)
"""Names of columns that say what a row measures, or in which unit."""

MAX_KINDS, MIN_ROWS = 100, 3
"""The most different measurements, and the fewest rows of each."""

MIN_RATIO = 10.0
"""The factor between typical sizes of two measurements, in most columns, that shows different units."""


def measurement_warnings(table: Any) -> Iterator[str]:
    """Yield a sentence on a column that says what each row measures, where the sizes of numbers differ as units do."""
    columns = [values for _, values in numeric_columns(table.source)]
    named = [str(name) for name in (*table.roles.labels, *table.roles.unused) if MEASURE_NAME.fullmatch(str(name))]
    for name in named if len(columns) > 1 else ():
        kinds = np.asarray(table.beside(name)).astype(str)
        found, counts = np.unique(kinds, return_counts=True)
        if 2 <= found.size <= MAX_KINDS and counts.min() >= MIN_ROWS and _differ(columns, [kinds == k for k in found]):
            shown = join_limited([repr(str(kind)) for kind in found], 3)
            test = shlex.quote(f"{name} == {kinds[0]}")
            what = f"column {name!r} says what each row measures ({shown}), and all are fitted as if they were the same"
            yield f"{what}: keep one with --where {test}, or first make columns of them (a pivot table)."
            return


def _differ(columns: list[Array], groups: list[Array]) -> bool:
    """Return whether in most columns (n,) the numbers of two groups of rows differ in size."""
    sizes = np.array([[np.nanmedian(np.abs(each[rows])) if np.isfinite(each[rows]).any() else np.nan
                       for rows in groups] for each in columns])  # fmt: skip
    ratio = np.nanmax(sizes, axis=1) > MIN_RATIO * np.nanmin(sizes, axis=1)
    return bool(2 * np.sum(ratio) > len(columns))
