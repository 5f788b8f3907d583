"""Columns of a report that no model takes: dates, durations, and names of rows that are days."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from eigenlens import PCA, report
from written_reports import contents, numbers


def named_values(values, whole):
    """Names one by one, of a list or of codes."""
    if isinstance(values, list):
        return values
    levels = values["levels"]
    return [levels[int(code)] if code < len(levels) else None for code in numbers(values["codes"], whole)]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_dates_beside_the_columns_of_the_model_are_text_to_colour_by(tmp_path, kind):
    days = pd.date_range("2020-02-27", periods=6)
    frame = pd.DataFrame({"a": np.arange(6.0), "b": np.arange(6.0) ** 2, "when": days}, index=range(10, 16))
    frame.loc[12, "when"] = pd.NaT
    given = {"pandas": lambda: frame, "polars": lambda: pl.from_pandas(frame),
             "pyarrow": lambda: pa.Table.from_pandas(frame, preserve_index=False)}[kind]()  # fmt: skip
    found = contents(report(PCA(2).fit(frame[["a", "b"]]), given, tmp_path / "r.html"))
    (when,) = [column for column in found["rows"]["columns"] if column["name"] == "when"]
    texts = ["2020-02-27", "2020-02-28", None, "2020-03-01", "2020-03-02", "2020-03-03"]
    assert named_values(when["values"], found) == texts


def test_dates_as_columns_and_ids_are_days(tmp_path):
    days = pd.date_range("2020-02-28", periods=4)
    rows = np.random.default_rng(0).standard_normal((4, 2))
    lasted = np.array([1, 2, 3, 4], dtype="timedelta64[h]")
    more = {"when": days, "lasted": lasted}
    found = contents(report(PCA(1).fit(rows), rows, tmp_path / "r.html", ids=days, columns=more))
    assert found["rows"]["ids"] == ["2020-02-28", "2020-02-29", "2020-03-01", "2020-03-02"]
    columns = {column["name"]: named_values(column["values"], found) for column in found["rows"]["columns"]}
    assert columns["when"] == found["rows"]["ids"]
    assert columns["lasted"] == ["1 hours", "2 hours", "3 hours", "4 hours"]
