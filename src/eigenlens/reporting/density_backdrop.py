"""The density of all rows behind the sample of them that are points."""

from __future__ import annotations

from collections.abc import Callable

from eigenlens.arrays import Array
from eigenlens.reporting.charts import Chart
from eigenlens.reporting.page import packed
from eigenlens.reporting.rows import CELLS, ShownRows
from eigenlens.tables.rows import PlaneCounts, plane_counts

__all__ = ["crowds"]


def crowds(
    rows: ShownRows, Z: Array, pairs: list[tuple[int, int]], project: Callable[[Array], Array]
) -> list[tuple[Chart, str]]:
    """For each pair of axes what a scatter needs to show all rows, and words on it; nothing where all are points.

    Z: (m, k) places of the rows shown. project: rows (b, d) → places (b, k). Cost: one pass over all rows.
    """
    if not rows.sampled or rows.source is None:
        return [({}, "") for _ in pairs]
    found = plane_counts((project(block) for block in rows.blocks()), pairs, Z, CELLS)
    return [({"density": _box(each)}, _words(rows, each)) for each in found]


def _box(found: PlaneCounts) -> Chart:
    height, width = found.counts.shape
    ends = {"x0": found.x[0], "x1": found.x[1], "y0": found.y[0], "y1": found.y[1]}
    return ends | {"width": width, "height": height, "counts": packed(found.counts)}


def _words(rows: ShownRows, found: PlaneCounts) -> str:
    beyond = f", but {found.outside:,} that lie beyond it" if found.outside else ""
    return f" Points are a sample; the shades behind count all {rows.total:,} rows{beyond}."
