"""Delimited text with thousands of columns is parsed as one column, and means the same as column by column."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import eigenlens
from eigenlens.data.files import text, wide_text
from eigenlens.errors import DataError

D = 700


def written_cells(number: str = "{:.3f}") -> list[list[str]]:
    rng = np.random.default_rng(5)
    return [[number.format(value) for value in row] for row in 1e3 * rng.normal(size=(9, D))]


def change(cells: list[list[str]], row: int, **columns: str) -> list[list[str]]:
    for column, cell in columns.items():
        cells[row][int(column[1:])] = cell
    return cells


TABLES = {
    "plain": (written_cells(), {}),
    "missing": (change(written_cells(), 3, c0="", c5="NA", c6="?", c699=""), {}),
    "spaces": (change(written_cells(), 2, c4=" 1.5", c5="2.5 ", c6=" NA "), {}),
    "a missing last cell": (change(written_cells(), 8, c699=""), {}),
    "numbers that are missing": (change(written_cells(), 4, c7="-999", c8="-999.0"), {"na": ["-999"]}),
    "words for numbers": (change(written_cells(), 4, c7="true"), {}),
    "infinity": (change(written_cells(), 4, c7="inf", c8="-inf"), {}),
    "decimal commas": ([[c.replace(".", ",") for c in r] for r in written_cells()], {"separator": ";", "decimal": ","}),
    "thousands": (change([[c.replace(".", ",") for c in r] for r in written_cells()], 0, c3="1.234.567,5"),
                  {"separator": ";", "decimal": ",", "thousands": "."}),
    "whole numbers": (written_cells("{:.0f}"), {}),
    "tabs": (written_cells(), {"separator": "\t"}),
}  # fmt: skip


def write(path: Path, cells: list[list[str]], separator: str = ",", end: str = "\n", ids: bool = False) -> Path:
    names = [*(["id"] if ids else []), *(f"g{j}" for j in range(D)), *(["site"] if ids else [])]
    rows = [[f"x{i}", *row, "north" if i % 2 else ""] if ids else row for i, row in enumerate(cells)]
    path.write_text(end.join(separator.join(row) for row in [names, *rows]) + end, newline="")
    return path


def rows_of(source: eigenlens.data.source.Source) -> np.ndarray:
    return np.concatenate(list(source.rows()))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("name", TABLES)
def test_cells_mean_the_same(name: str, end: str, tmp_path: Path) -> None:
    cells, options = TABLES[name]
    file = write(tmp_path / "wide.csv", cells, options.get("separator", ","), end)
    with mock.patch.object(text.DelimitedReader, "_typed", side_effect=AssertionError("column by column")):
        found = rows_of(eigenlens.scan(file, **options))
    with mock.patch.object(wide_text, "MIN_WIDE_COLUMNS", 10**9):
        expected = rows_of(eigenlens.scan(file, **options))
    np.testing.assert_array_equal(found, expected)
    assert found.shape == (9, D)
    assert np.isnan(found).sum() == np.isnan(expected).sum()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_columns_are_left_out_and_read_alone(end: str, tmp_path: Path) -> None:
    cells = TABLES["missing"][0]
    file = write(tmp_path / "wide.csv", cells, end=end, ids=True)
    source = eigenlens.scan(file, id="id", label="site", drop=["g3"])
    expected = np.array([[float(c) if c not in ("", "NA", "?") else np.nan for c in row] for row in cells])
    np.testing.assert_array_equal(rows_of(source), np.delete(expected, 3, axis=1))
    assert source.read_ids().tolist() == [f"x{i}" for i in range(9)]
    assert [str(each) for each in source.read_label()] == ["None", "north"] * 4 + ["None"]
    chosen = eigenlens.scan(file, columns=["g650", "g2"])
    np.testing.assert_array_equal(rows_of(chosen), expected[:, [650, 2]])
    many = eigenlens.scan(file, columns=[f"g{j}" for j in range(600, 10, -1)])
    np.testing.assert_array_equal(rows_of(many), expected[:, 600:10:-1])


def test_quoted_cells_are_parsed_column_by_column(tmp_path: Path) -> None:
    cells = change(written_cells(), 1, c4='"1.5"')
    found = rows_of(eigenlens.scan(write(tmp_path / "wide.csv", cells)))
    assert found[1, 4] == 1.5
    assert found.shape == (9, D)


def test_text_below_the_first_rows_names_its_column(tmp_path: Path) -> None:
    cells = written_cells() * 250  # more than the first megabyte
    cells[2000] = change(written_cells(), 0, c17="north")[0]
    source = eigenlens.scan(write(tmp_path / "wide.csv", cells))
    with pytest.raises(DataError, match=r"column 'g17' has text in 1 row \(first: row 2001, 'north'\)"):
        rows_of(source)


def test_few_rows_of_many_columns_are_read_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3_000)) * np.linspace(1.0, 4.0, 3_000)
    file = tmp_path / "genes.csv"
    np.savetxt(file, X, "%.17g", ",", header=",".join(f"g{j}" for j in range(3_000)), comments="")
    found, expected = eigenlens.PCA(4).fit(eigenlens.scan(file)), eigenlens.PCA(4).fit(X)
    assert found.solver_.solver == expected.solver_.solver == "gram"
    np.testing.assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-13)
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-12)
