"""What a page is made of: charts, and columns of the rows that come out of the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from eigenlens.reporting.charts import Chart

__all__ = ["Sheet"]


class Sheet(NamedTuple):
    """Charts, and columns (m,) of the rows shown by name, to colour by."""

    charts: list[Chart]
    columns: Mapping[str, Any]
