"""What a page is made of: charts, and columns of the rows that come out of the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from eigenlens.reporting.charts import Chart
from eigenlens.reporting.rows import ShownRows

__all__ = ["Page", "Sheet", "charts_only"]


class Sheet(NamedTuple):
    """Charts, and columns (m,) of the rows shown by name, to colour by."""

    charts: list[Chart]
    columns: Mapping[str, Any]


Page = Callable[[Any, ShownRows], Sheet]


def charts_only(page: Callable[[Any, ShownRows], list[Chart]]) -> Page:
    """A page that has nothing to colour by."""

    def made(model: Any, rows: ShownRows) -> Sheet:
        return Sheet(page(model, rows), {})

    return made
