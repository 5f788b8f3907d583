"""Columns as codes: integers of any size stay exact in every container, text of fixed width, categories that occur."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from eigenlens.data import table
from eigenlens.data.categories import EncodedColumn, encode, encode_numbers
from eigenlens.data.coerce import as_table, fields_of
from eigenlens.data.files.scan import scan
from eigenlens.data.table import FloatSource, UniformSource, codes_of, integers_of, numbers_of

BASE = 2**53
VALUES = [BASE + 1, BASE, None, -BASE - 1, BASE + 1]
WHOLE = [value for value in VALUES if value is not None]
BESIDE = [0.5, 1.0, 2.0, 3.0, 4.0]


def met(coded: EncodedColumn) -> list:
    """The values of codes, None where they are missing: the twin of any encoding."""
    return [None if code < 0 else coded.categories[code] for code in coded.codes.tolist()]


def values_in(X, j: int = 0) -> list:
    (rows,) = as_table(X).rows()
    found = codes_of(rows, np.array([j]))
    return found[:, 0].tolist() if isinstance(found, np.ndarray) else met(found[0])


WITH_GAPS = {
    "pandas Int64": lambda: pd.DataFrame({"a": pd.array(VALUES, dtype="Int64"), "b": BESIDE}),
    "pandas objects": lambda: pd.DataFrame({"a": pd.Series(VALUES, dtype=object), "b": BESIDE}),
    "pandas of Arrow": lambda: pd.DataFrame({"a": pd.array(VALUES, dtype="int64[pyarrow]"), "b": BESIDE}),
    "polars": lambda: pl.DataFrame({"a": VALUES, "b": BESIDE}),
    "polars, 128 bits": lambda: pl.DataFrame({"a": pl.Series(VALUES, dtype=pl.Int128), "b": BESIDE}),
    "lazy": lambda: pl.LazyFrame({"a": VALUES, "b": BESIDE}),
    "arrow": lambda: pa.table({"a": VALUES, "b": BESIDE}),
}


@pytest.mark.parametrize("make", WITH_GAPS.values(), ids=WITH_GAPS)
def test_large_integers_with_missing_values_are_exact_categories_and_rounded_numbers(make):
    X = make()
    assert values_in(X) == VALUES
    (rows,) = as_table(X).rows()
    expected = np.array([np.nan if value is None else float(value) for value in VALUES])
    np.testing.assert_array_equal(numbers_of(rows, np.array([0, 1])), np.column_stack([expected, BESIDE]))
    np.testing.assert_array_equal(numbers_of(rows[1:3], np.array([0]))[:, 0], expected[1:3])


@pytest.mark.parametrize("beside", [{}, {"b": BESIDE[:4]}, {"b": list("wxyz")}], ids=["alone", "numbers", "text"])
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_large_integers_without_missing_values_are_exact_categories(library, beside):
    assert values_in(library({"a": WHOLE} | beside)) == WHOLE


def test_unsigned_integers_beyond_the_signed_ones_are_categories():
    values = np.array([2**63 + 5, 2**64 - 1, 2**63 + 5], dtype=np.uint64)
    for X in (values[:, None], pd.DataFrame({"a": values}), pd.DataFrame({"a": values, "b": [0.5, 1.5, 2.5]})):
        assert values_in(X) == values.tolist()
    near = encode_numbers(values[[0, 0, 0]] + np.arange(3, dtype=np.uint64))
    assert met(near) == [2**63 + 5, 2**63 + 6, 2**63 + 7]


def test_whole_floats_far_out_are_categories_without_a_warning():
    assert met(encode_numbers(np.array([2.0**70, 2.0**70, -1.0]))) == [2**70, 2**70, -1]
    assert met(encode_numbers(np.array([2.0**70, np.nan, 2.0**70]))) == [2**70, None, 2**70]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_large_integers_in_files_are_exact_beside_text(tmp_path, suffix):
    frame = pl.DataFrame({"w": list("vwxyz"), "a": VALUES, "b": BESIDE})
    frame.write_parquet(tmp_path / "a.parquet", row_group_size=2)
    frame.write_csv(tmp_path / "a.csv")
    rows = list(scan(tmp_path / f"a{suffix}").table().rows())
    assert [v for part in rows for v in met(codes_of(part, np.array([1]))[0])] == VALUES
    assert [v for part in rows for v in met(codes_of(part, np.array([0]))[0])] == list("vwxyz")
    assert np.concatenate([numbers_of(part, np.array([2])) for part in rows])[:, 0].tolist() == BESIDE


IN_FILES = {
    ".parquet": pl.DataFrame.write_parquet,
    ".arrow": pl.DataFrame.write_ipc,
    ".csv": pl.DataFrame.write_csv,
    ".npy": lambda frame, path: np.save(path, frame["a"].to_numpy()[:, None]),
}


@pytest.mark.parametrize("values", [VALUES, WHOLE], ids=["gaps", "whole"])
@pytest.mark.parametrize(("suffix", "write"), IN_FILES.items())
def test_large_integers_in_files_of_numbers_alone_are_exact(tmp_path, suffix, write, values):
    if suffix == ".npy":
        values = WHOLE
    path = tmp_path / f"a{suffix}"
    write(pl.DataFrame({"a": values, "b": BESIDE[: len(values)]}), path)
    found = scan(path)
    assert found.fields[0].kind == "integer"
    assert values_in(found) == values
    expected = [np.nan if value is None else float(value) for value in values]
    np.testing.assert_array_equal(np.concatenate([rows[:, 0] for rows in found.rows()]), expected)


def test_large_numbers_of_text_files_that_are_no_integers_stay_floats(tmp_path):
    """Not all of a column, not in 64 bits, or not in every file."""
    (tmp_path / "1.csv").write_text(f"a,b,c\n{BASE + 1},{10**25},-999\n1.5,{10**25},{BASE + 1}\n")
    (tmp_path / "2.csv").write_text(f"a,b,c\n3,{10**25},{BASE + 3}\n4,7,-999\n")
    found = scan([tmp_path / "1.csv", tmp_path / "2.csv"], na=["-999"])
    assert [field.kind for field in found.fields] == ["number", "number", "integer"]
    assert [v for part in found.table().rows() for v in met(codes_of(part, np.array([2]))[0])] == [
        None, BASE + 1, BASE + 3, None,
    ]  # fmt: skip


def test_categories_that_are_integers_are_no_numbers():
    (rows,) = as_table(pd.DataFrame({"a": pd.Categorical([3, 5]), "b": pd.Categorical([BASE, "x"])})).rows()
    assert np.isnan(numbers_of(rows, np.array([0, 1]))).all()


# ---- numbers that are codes -----------------------------------------------------------------------------------


def test_floats_that_are_whole_are_integers_and_others_are_not():
    whole = np.array([[3.0, -7.0], [0.0, 2.0**31 - 1.0]])
    assert integers_of(whole, np.array([0, 1])).tolist() == whole.tolist()
    for odd in (0.5, np.nan, np.inf, 2.0**31, -1e300):
        broken = np.vstack([np.zeros((300, 2)), [[odd, 1.0]]])  # past the rows that are looked at first
        assert integers_of(broken, np.array([0, 1])) is None
        assert integers_of(broken, np.array([1])).sum() == 1


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8"])
def test_frames_of_one_type_are_read_as_arrays_of_it(dtype):
    array = np.arange(12).reshape(6, 2).astype(dtype)
    frame = pd.DataFrame(array, columns=["a", "b"], copy=False)
    source = as_table(frame)
    (rows,) = source.rows()
    assert isinstance(source, UniformSource)
    assert rows.dtype == dtype
    assert np.shares_memory(rows, frame.to_numpy())
    assert source.names == ("a", "b")
    assert {field.kind for field in fields_of(source)} == {"number" if "float" in dtype else "integer"}
    apart = pd.DataFrame({"a": array[:, 0], "b": array[:, 1]})
    np.testing.assert_array_equal(np.concatenate(list(as_table(apart).rows())), array)


def test_polars_frames_of_floats_are_read_as_arrays(monkeypatch):
    monkeypatch.setattr(table, "BLOCK_BYTES", 2 * 2 * 8)  # two rows
    frame = pl.DataFrame({"a": [1.0, None, np.nan, 4.0, 5.0], "b": np.arange(5.0)})
    source = as_table(frame)
    assert isinstance(source, FloatSource)
    assert source.names == ("a", "b")
    assert {field.kind for field in fields_of(source)} == {"number"}
    blocks = list(source.rows())
    assert [len(block) for block in blocks] == [2, 2, 1]
    np.testing.assert_array_equal(np.concatenate(blocks), frame.fill_null(np.nan).to_numpy())
    mixed = as_table(frame.with_columns(pl.col("b").cast(pl.Int64)))
    assert not isinstance(mixed, FloatSource)


# ---- text -----------------------------------------------------------------------------------------------------

TEXTS = {
    "short": ["a", "", "bb", "a"],
    "long": ["x" * 9, "x" * 10, "x" * 9 + "y", "x" * 9],
    "beyond Latin": ["日本", "ä", "日", "日本", "\U0001f600"],
    "alike in their low bytes": ["a", chr(ord("a") + 256), "a", chr(ord("a") + 512)],
}


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("order", ["=", ">"])
def test_text_of_fixed_width_is_encoded_as_objects_are(texts, order):
    array = np.array(texts)
    array = array.astype(array.dtype.newbyteorder(order))
    spread = np.repeat(array, 3)[::3]  # not contiguous
    for values in (array, spread):
        found = encode(values)
        assert met(found) == texts
        assert len(set(found.categories)) == len(found.categories)
        assert {type(category) for category in found.categories} == {str}


def test_masked_text_is_missing():
    X = np.ma.masked_array([["a"], ["b"], ["a"]], mask=[[False], [True], [False]])
    assert values_in(X) == ["a", None, "a"]


def test_pieces_of_many_categories_have_those_that_occur():
    frame = pd.DataFrame({"a": [f"k{i}" for i in range(50)]})
    (rows,) = as_table(frame).rows()
    (part,) = codes_of(rows[10:12], np.array([0]))
    assert part.categories == ("k10", "k11")
    assert part.codes.tolist() == [0, 1]


def test_polars_nulls_at_the_first_code_stay_missing():
    for texts in ([None, "b", None, "a"], [None, None], ["a", None, "a"]):
        assert met(encode(pl.Series(texts, dtype=pl.String))) == texts


def test_a_dict_of_columns_is_rejected_with_the_way_out():
    with pytest.raises(ValueError, match=r"dict of columns; give pandas.DataFrame\(X\)"):
        as_table({"a": [1, 2]})
