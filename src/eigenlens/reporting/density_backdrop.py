"""The density of all rows, drawn behind the sample that is shown as points."""

from __future__ import annotations

from collections.abc import Callable

from eigenlens.arrays import Array
from eigenlens.reporting.charts import Chart
from eigenlens.reporting.page import pack_numbers
from eigenlens.reporting.rows import BACKDROP_CELLS, ShownRows
from eigenlens.tables.rows import PlaneCounts, plane_counts


def density_backdrops(
    rows: ShownRows, Z: Array, pairs: list[tuple[int, int]], project: Callable[[Array], Array]
) -> list[tuple[Chart, str]]:
    """Return for each pair of axes the density of all rows and a sentence on it; nothing if all rows are points.

    Z: (m, k) places of the rows shown. project: rows (b, d) → places (b, k). Cost: one pass over all rows.
    """
    if not rows.sampled or rows.source is None:
        return [({}, "") for _ in pairs]
    found = plane_counts((project(block) for block in rows.blocks()), pairs, Z, BACKDROP_CELLS)
    return [({"density": _box(each)}, _words(rows, each)) for each in found]


def _box(found: PlaneCounts) -> Chart:
    height, width = found.counts.shape
    ends = {"x0": found.x[0], "x1": found.x[1], "y0": found.y[0], "y1": found.y[1]}
    return ends | {"width": width, "height": height, "counts": pack_numbers(found.counts)}


def _words(rows: ShownRows, found: PlaneCounts) -> str:
    beyond = f" except {found.outside:,} outside the range" if found.outside else ""
    return f" Points are a sample; the shades behind count all {rows.total:,} rows{beyond}."
