"""Tables of mixed columns: whatever library holds them, the same fields, numbers and categories come out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from eigenlens.data import categories as encoded
from eigenlens.data import column_kinds as mixed_kinds
from eigenlens.data.categories import encode, encode_numbers
from eigenlens.data.coerce import as_table, fields_of
from eigenlens.data.source import Source
from eigenlens.data.table import IntegerSource, MixedSource, codes_of, numbers_of
from eigenlens.errors import DataError

COLUMNS = {
    "height": [1.5, None, 3.0, 2.0],
    "colour": ["red", None, "blue", "red"],
    "member": [True, False, None, True],
    "rooms": [3, 1, 2, 3],
}
KINDS = ["number", "text", "boolean", "integer"]


def records():
    return np.array(list(zip(*COLUMNS.values(), strict=True)), dtype=object)


TABLES = {
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas objects": lambda: pd.DataFrame(COLUMNS).astype(object),
    "pandas categories": lambda: pd.DataFrame(COLUMNS).astype({"colour": "category"}),
    "pandas nullable": lambda: pd.DataFrame(COLUMNS).convert_dtypes(),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "polars lazy": lambda: pl.DataFrame(COLUMNS).lazy(),
    "polars categories": lambda: pl.DataFrame(COLUMNS).with_columns(pl.col("colour").cast(pl.Categorical)),
    "polars enum": lambda: pl.DataFrame(COLUMNS).with_columns(pl.col("colour").cast(pl.Enum(["red", "blue", "green"]))),
    "arrow": lambda: pa.table(COLUMNS),
    "arrow dictionary": lambda: pa.table(COLUMNS | {"colour": pa.array(COLUMNS["colour"]).dictionary_encode()}),
    "objects": records,
    "lists": lambda: records().tolist(),
}


@pytest.mark.parametrize("kind", TABLES)
def test_every_table_says_the_same(kind):
    source = as_table(TABLES[kind]())
    assert source.n_rows == 4
    assert [field.kind for field in fields_of(source)] == (
        KINDS if kind != "pandas nullable" else ["number", "text", "boolean", "integer"]
    )
    [rows] = source.rows()
    numbers = numbers_of(rows, np.array([0, 2, 3]))
    expected = np.array([[1.5, 1.0, 3.0], [np.nan, 0.0, 1.0], [3.0, np.nan, 2.0], [2.0, 1.0, 3.0]])
    np.testing.assert_array_equal(numbers, expected)
    [colour] = codes_of(rows, np.array([1]))
    assert [None if code < 0 else colour.categories[code] for code in colour.codes] == COLUMNS["colour"]


def test_types_that_declare_categories_say_so():
    enum = as_table(TABLES["polars enum"]()).fields[1]
    assert enum.categories == ("red", "blue", "green")
    assert as_table(TABLES["pandas categories"]()).fields[1].categories == ("blue", "red")
    assert as_table(TABLES["polars categories"]()).fields[1].categories is None


def test_blocks_are_rows_in_order():
    n = 1000
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.random(n), "c": rng.choice(list("abc"), n)})
    found = []
    for rows in MixedSource.of_frame(frame, block_rows=137).rows():
        [column] = codes_of(rows, np.array([1]))
        found += [column.categories[code] for code in column.codes]
    assert found == frame["c"].tolist()


def test_lazy_frames_are_collected_by_blocks(tmp_path):
    frame = pl.DataFrame({"x": np.arange(100.0), "c": ["a", "b"] * 50})
    frame.write_parquet(tmp_path / "table.parquet")
    source = MixedSource.of_lazy(pl.scan_parquet(tmp_path / "table.parquet"), block_rows=30)
    assert not source.in_memory
    parts = [numbers_of(rows, np.array([0]))[:, 0] for rows in source.rows()]
    assert [len(part) for part in parts] == [30, 30, 30, 10]
    assert np.concatenate(parts).tolist() == list(range(100))


def test_structured_arrays_keep_their_names():
    X = np.array([(1.5, "x", True), (2.5, "y", False)], dtype=[("a", float), ("b", "U3"), ("c", bool)])
    source = as_table(X)
    assert source.names == ("a", "b", "c")
    assert [field.kind for field in source.fields] == ["number", "text", "boolean"]


def test_integers_stay_what_they_are():
    X = np.arange(6, dtype=np.int16).reshape(3, 2)
    source = as_table(X)
    assert isinstance(source, IntegerSource)
    [rows] = source.rows()
    assert codes_of(rows, np.array([1])).dtype == np.int16
    assert numbers_of(rows, np.array([1])).dtype == np.float64
    assert as_table(X > 2).fields[0].kind == "boolean"


def test_other_rows_stay_sources():
    for X in (np.eye(3), sparse.eye(3, format="csr"), as_table(np.eye(3))):
        assert isinstance(as_table(X), Source)
        assert not isinstance(as_table(X), MixedSource)
        [rows] = as_table(X).rows()
        np.testing.assert_array_equal(numbers_of(rows, np.array([2, 0])), np.eye(3)[:, [2, 0]])


def test_columns_between_others_are_taken_in_order():
    rows = np.arange(12.0).reshape(3, 4)
    assert np.shares_memory(numbers_of(rows, np.array([1, 2])), rows)
    np.testing.assert_array_equal(numbers_of(rows, np.array([3, 1])), rows[:, [3, 1]])


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns named 'a'"),
        (pd.DataFrame({"when": pd.to_datetime(["2020-01-01"])}), "'when'"),
        (pl.DataFrame({"parts": [[1, 2]]}), "'parts'"),
        (np.zeros((2, 2), dtype=[("a", float)]), "structured"),
    ],
)
def test_what_cannot_be_a_table_says_why(X, words):
    with pytest.raises(DataError, match=words):
        as_table(X)


def test_what_cannot_be_a_category_says_where():
    X = np.array([["a"], [{"b": 1}]], dtype=object)
    with pytest.raises(TypeError, match=r"in row 1: .* string or a number"):
        list(as_table(X).rows())


def test_without_pandas_objects_are_looked_at(monkeypatch):
    expected = as_table(records())
    [rows] = expected.rows()
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    monkeypatch.setitem(__import__("sys").modules, "pandas.api.types", None)
    found = as_table(records())
    assert [field.kind for field in found.fields] == KINDS
    [others] = found.rows()
    np.testing.assert_array_equal(others.numbers, rows.numbers)
    assert np.array_equal(others.codes, rows.codes)
    assert encoded.encode(np.array(["b", None, "a"], dtype=object)).codes.tolist() == [0, -1, 1]
    with pytest.raises(TypeError, match="string or a number"):
        encode(np.array([{}], dtype=object))


@pytest.mark.parametrize(
    "values",
    [
        np.array([3, 1, 3, -2]),
        np.array([3.0, np.nan, -1.0, 3.0]),
        np.array([0.5, np.nan, 0.25, 0.5]),
        np.array([1e12, 1.0, 1e12]),
        np.array([np.nan, np.nan]),
        np.array([True, False]),
    ],
)
def test_numbers_as_codes(values):
    codes, categories, _ = encode_numbers(values)
    for value, code in zip(values.tolist(), codes, strict=True):
        assert (code == -1) if value != value else categories[code] == value
    assert len(set(categories)) == len(categories)


def test_kinds_of_objects():
    assert mixed_kinds.array_kind("a", np.array([1, None], dtype=object)) == "integer"
    assert mixed_kinds.array_kind("a", np.array([1, 2.5, None], dtype=object)) == "number"
    assert mixed_kinds.array_kind("a", np.array([1, "x"], dtype=object)) == "text"
    assert mixed_kinds.array_kind("a", np.array([None], dtype=object)) == "empty"
