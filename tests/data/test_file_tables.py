"""Files with columns of text: read by blocks as categories, rejected where numbers are needed, clear errors."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from eigenlens.data.coerce import as_table, fields_of
from eigenlens.data.files.base import join_columns
from eigenlens.data.files.formats import parquet as tables
from eigenlens.data.files.scan import scan
from eigenlens.data.table import codes_of, numbers_of
from eigenlens.errors import DataError, OptionError

WRITERS = {
    ".csv": pl.DataFrame.write_csv,
    ".parquet": lambda frame, path: frame.write_parquet(path, row_group_size=70),
    ".arrow": pl.DataFrame.write_ipc,
}
TABLES = pytest.mark.parametrize("suffix", WRITERS)


@pytest.fixture
def small_pieces(monkeypatch):
    """Limits so low that every boundary is met many times."""
    monkeypatch.setattr(tables, "SLAB_BYTES", 3000)
    monkeypatch.setattr(tables, "GROUP_BYTES", 200)
    monkeypatch.setattr("eigenlens.data.files.text.PIECE_BYTES", 100)
    monkeypatch.setattr("eigenlens.data.files.text.HEAD_BYTES", 300)


def people(n: int = 200, seed: int = 0) -> pl.DataFrame:
    """Numbers, text with missing values and a category that only the last rows have, and booleans."""
    rng = np.random.default_rng(seed)
    town = rng.choice(["Ulm", "Bonn, old", 'the "Hof"'], n).tolist()
    return pl.DataFrame(
        {
            "height": rng.normal(170, 10, n),
            "town": [None if i % 11 == 0 else "late" if i > n - 3 else town[i] for i in range(n)],
            "kids": rng.integers(0, 3, n),
            "works": rng.random(n) < 0.5,
            "tea": rng.choice(["green", "black"], n),
        }
    )


def texts(source, j: int) -> list[str | None]:
    """A column of text as it is, block by block."""
    found: list[str | None] = []
    for rows in source.rows():
        [column] = codes_of(rows, np.array([j]))
        found += [None if code < 0 else column.categories[code] for code in column.codes]
    return found


@pytest.mark.few(1)
@TABLES
@pytest.mark.parametrize("block_rows", [None, 13])
def test_blocks_equal_the_whole(tmp_path, suffix, block_rows, small_pieces):
    frame = people()
    WRITERS[suffix](frame, tmp_path / f"a{suffix}")
    source = as_table(scan(tmp_path / f"a{suffix}", block_rows=block_rows))
    assert [field.kind == "text" for field in fields_of(source)] == [False, True, False, False, True]
    assert source.fields[3].kind == "boolean"
    for _ in range(2):
        numbers = np.concatenate([numbers_of(rows, np.array([0, 2, 3])) for rows in source.rows()])
        np.testing.assert_array_equal(numbers, frame.select("height", "kids", "works").cast(pl.Float64).to_numpy())
        assert texts(source, 1) == frame["town"].to_list()
        assert texts(source, 4) == frame["tea"].to_list()
    if block_rows:
        assert max(rows.shape[0] for rows in source.rows()) <= block_rows


@TABLES
def test_models_that_need_numbers_reject_text(tmp_path, suffix, small_pieces):
    WRITERS[suffix](people(), tmp_path / f"a{suffix}")
    source = scan(tmp_path / f"a{suffix}")
    with pytest.raises(DataError, match=r"'town' has text in 181 rows \(first: row 2, .*; so does 1 more; .*'tea'\]"):
        next(source.rows())
    assert next(scan(tmp_path / f"a{suffix}", drop=["town", "tea"]).rows()).shape[1] == 3


@TABLES
def test_some_columns_are_read_apart(tmp_path, suffix):
    frame = people()
    WRITERS[suffix](frame, tmp_path / f"a{suffix}")
    part = as_table(scan(tmp_path / f"a{suffix}")).part([4, 0])
    assert (part.names, part.n_features, part.n_rows) == (("tea", "height"), 2, 200)
    assert texts(part, 0) == frame["tea"].to_list()
    alone = scan(tmp_path / f"a{suffix}").part([0, 2])
    np.testing.assert_array_equal(next(alone.rows()), frame.select("height", "kids").to_numpy())


@TABLES
def test_columns_of_other_files_are_found_by_name(tmp_path, suffix):
    first, second = people(seed=1), people(seed=2)
    WRITERS[suffix](first, tmp_path / f"a{suffix}")
    WRITERS[suffix](second.select(reversed(second.columns)), tmp_path / f"b{suffix}")
    source = as_table(scan(f"{tmp_path}/*{suffix}", label="works"))
    assert source.names == ("height", "town", "kids", "tea")
    assert texts(source, 1) == first["town"].to_list() + second["town"].to_list()
    heights = np.concatenate([numbers_of(rows, np.array([0]))[:, 0] for rows in source.rows()])
    np.testing.assert_array_equal(heights, pl.concat([first["height"], second["height"]]).to_numpy())
    assert len(scan(f"{tmp_path}/*{suffix}", label="works").read_label()) == 400


@TABLES
def test_numbers_in_one_file_and_text_in_another(tmp_path, suffix):
    WRITERS[suffix](people(), tmp_path / f"a{suffix}")
    WRITERS[suffix](people().with_columns(kids=pl.lit("none")), tmp_path / f"b{suffix}")
    with pytest.raises(DataError, match=r"column 'kids' (has|holds) text .*b\..*drop=\[.kids.\]"):
        next(as_table(scan(f"{tmp_path}/*{suffix}")).rows())


@pytest.mark.parametrize(
    ("values", "categories"),
    [
        (pl.Series(["u", None, "w"], dtype=pl.Categorical), ("u", None, "w")),
        (pl.Series(["u", None, "w"], dtype=pl.Enum(["w", "v", "u"])), ("u", None, "w")),
        (pl.Series([b"u\xff", None, b"\x00w\x00"]), (b"u\xff", None, b"\x00w\x00")),
        (pl.Series([None, None, None], dtype=pl.String), (None, None, None)),
    ],
    ids=["categorical", "enum", "bytes", "empty"],
)
def test_other_types_of_categories(tmp_path, values, categories):
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0], "v": values})
    frame.write_ipc(tmp_path / "a.arrow")
    source = as_table(scan(tmp_path / "a.arrow"))
    assert tuple(texts(source, 1)) == categories
    assert source.fields[1].categories == (("w", "v", "u") if isinstance(values.dtype, pl.Enum) else None)
    [rows] = as_table(frame).rows()
    [column] = codes_of(rows, np.array([1]))
    assert tuple(None if code < 0 else column.categories[code] for code in column.codes) == categories


def test_enumerations_of_several_files_are_joined(tmp_path):
    for name, categories in (("a", ["x", "y"]), ("b", ["y", "z"])):
        column = pl.Series(["y"], dtype=pl.Enum(categories))
        pl.DataFrame({"v": column, "x": [1.0]}).write_ipc(tmp_path / f"{name}.arrow")
    source = as_table(scan(f"{tmp_path}/*.arrow"))
    assert source.fields[0].categories == ("x", "y", "z")
    assert texts(source, 0) == ["y", "y"]


class TestDelimited:
    def test_numbers_among_text_must_be_declared_as_text(self, tmp_path):
        (tmp_path / "a.csv").write_text("kids,x\n" + "0,1\n1,2\n2,3\n3+,4\n" * 5)
        with pytest.raises(DataError, match=r"'kids' has text among numbers in 5 rows .*'3\+'\); .*text=\['kids'\]"):
            next(as_table(scan(tmp_path / "a.csv")).rows())
        with pytest.raises(DataError, match=r"'kids' has text in 5 rows \(first: row 4, '3\+'\); .* add na="):
            next(scan(tmp_path / "a.csv").rows())
        assert texts(as_table(scan(tmp_path / "a.csv", text=["kids"])), 0) == ["0", "1", "2", "3+"] * 5
        with pytest.raises(OptionError, match="text='kid' is not one of the 2 columns; did you mean 'kids'"):
            scan(tmp_path / "a.csv", text=["kid"])

    def test_codes_can_be_declared_as_text(self, tmp_path):
        (tmp_path / "a.csv").write_text("zip,x\n01234,1\n,2\n98765,3\n")
        assert texts(as_table(scan(tmp_path / "a.csv", text="zip")), 0) == ["01234", None, "98765"]

    def test_text_late_in_a_column_of_numbers(self, tmp_path, small_pieces):
        lines = [f"{i},{'ab'[i % 2]}" for i in range(100)]
        lines[90] = "many,a"
        (tmp_path / "a.csv").write_text("n,kind\n" + "\n".join(lines))
        source = as_table(scan(tmp_path / "a.csv"))
        message = r"'n' has text among numbers in 1 row \(first: row 91, 'many'\); .*text=\['n'\].*na=\['many'\]"
        with pytest.raises(DataError, match=message):
            list(source.rows())

    def test_missing_cells_of_text(self, tmp_path):
        (tmp_path / "a.csv").write_text('v,x\nred,1\n,2\n ? ,3\n?,4\n"a\nb",5\n')
        assert texts(as_table(scan(tmp_path / "a.csv", na=["?"])), 0) == ["red", None, None, None, "a\nb"]

    def test_true_and_false_are_booleans_and_numbers_among_them_are_numbers(self, tmp_path):
        (tmp_path / "a.csv").write_text("b,f,v\nTrue,1,x\nfalse,true,y\n,,\n")
        source = as_table(scan(tmp_path / "a.csv"))
        assert [field.kind for field in source.fields] == ["boolean", "number", "text"]
        np.testing.assert_array_equal(numbers_of(next(source.rows()), np.arange(2)), [[1, 1], [0, 1], [np.nan] * 2])

    def test_a_column_that_is_empty_at_first(self, tmp_path):
        (tmp_path / "a.csv").write_text("v,x\n,1\n,2\n")
        (tmp_path / "b.csv").write_text("v,x\nred,1\n,2\n")
        assert texts(as_table(scan(f"{tmp_path}/*.csv")), 0) == [None, None, "red", None]


def test_kinds_of_types_that_differ_between_files(tmp_path):
    pl.DataFrame({"v": [1, 2]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"v": [True, False]}).write_parquet(tmp_path / "b.parquet")
    assert scan(f"{tmp_path}/*.parquet").fields[0].kind == "number"
    pl.DataFrame({"v": [None, None]}).write_parquet(tmp_path / "c.parquet")
    np.testing.assert_array_equal(
        np.concatenate(list(scan(f"{tmp_path}/*.parquet").rows()))[:, 0], [1, 2, 1, 0, np.nan, np.nan]
    )


COLUMNS = {
    "numbers": [*range(300)],
    "numbers, then fractions": [*range(290), *[0.5] * 10],
    "numbers, then text": [*map(str, range(299)), "late"],
    "text, then numbers": ["early", *map(str, range(299))],
    "missing, then text": [*[None] * 290, *["late"] * 10],
    "text, then longer": [*["a"] * 290, *["a longer one"] * 10],
    "text with missing values": [None if i in (5, 280) else f"r{i % 3}" for i in range(300)],
}


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("case", COLUMNS)
def test_a_column_that_is_read_in_pieces_is_the_same(tmp_path, case, suffix, monkeypatch):
    monkeypatch.setattr(tables, "COLUMN_ROWS", 40)
    frame = pl.DataFrame({"x": np.arange(300.0), "c": pl.Series(COLUMNS[case], strict=False)})
    WRITERS[suffix](frame, tmp_path / f"t{suffix}")
    found = scan(tmp_path / f"t{suffix}", columns=["x"]).read_column("c")
    expected = frame["c"].to_list()
    assert found.tolist() == expected
    assert found.dtype.kind == ("O" if None in expected else np.asarray(expected).dtype.kind)


def test_long_text_that_repeats_is_one_object_for_each_category(monkeypatch):
    """Letters for each row of a long label took several times the memory that rows may take."""
    monkeypatch.setattr("eigenlens.data.files.base.TEXT_BYTES", 1000)
    few = [np.array(["class one", "class two"] * 50), np.array(["class two"] * 100)]
    unique = [np.array([f"row {i}" for i in range(100)]), np.array([f"row {i}" for i in range(100, 150)])]
    for pieces, kind in ((few, "O"), (unique, "U")):
        found = join_columns(iter(pieces))
        assert found.dtype.kind == kind
        assert found.tolist() == [each for piece in pieces for each in piece.tolist()]
    assert len({id(each) for each in join_columns(iter(few))[100:]}) == 1


def test_lengths_of_row_groups_are_read_from_a_column_of_numbers(tmp_path, monkeypatch):
    people().write_parquet(tmp_path / "t.parquet", row_group_size=70)
    reader = scan(tmp_path / "t.parquet", columns=["town"]).table()._reader
    monkeypatch.setattr(tables, "PIECE_ROWS", 1000)
    assert reader._group_lengths(tmp_path / "t.parquet") == [70, 70, 60]
