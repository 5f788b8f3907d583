"""A report page of one's own, for any class: a function, and one entry in the catalogue."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import eigenlens
from eigenlens.catalogue import PAGES
from eigenlens.errors import OptionError
from eigenlens.reporting.charts import PageContent, facts


@dataclass(frozen=True)
class Ranges:
    """The ranges of columns."""

    low: tuple[float, ...]
    high: tuple[float, ...]


def ranges_page(value, rows):
    """Return a chart, and a column of the rows to colour by."""
    pairs = [(name, f"{low} to {high}") for name, low, high in zip(rows.names, value.low, value.high, strict=True)]
    return PageContent([facts("The ranges", pairs)], {"inside": rows.X[:, 0] < value.high[0]})


def test_a_page_is_one_entry(monkeypatch, tmp_path):
    X, value = np.array([[1.0, 5.0], [2.0, 3.0]]), Ranges((1.0, 3.0), (2.0, 5.0))
    with pytest.raises(OptionError, match="no page"):
        eigenlens.report(value, X, tmp_path / "r.html")
    monkeypatch.setitem(PAGES, f"{__name__}.Ranges", f"{__name__}.ranges_page")
    text = eigenlens.report({"mine": value}, X, tmp_path / "r.html").read_text(encoding="utf-8")
    assert all(part in text for part in ("The ranges", "1.0 to 2.0", "inside"))
