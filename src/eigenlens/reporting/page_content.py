"""The content of a page: its charts, and columns that the model adds to the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from eigenlens.reporting.charts import Chart


class PageContent(NamedTuple):
    """Charts, and columns (m,) of the rows shown by name, to colour by."""

    charts: list[Chart]
    columns: Mapping[str, Any]
