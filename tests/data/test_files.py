"""Files by blocks against the same files read whole."""

from __future__ import annotations

import gzip
import os
import tracemalloc
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from eigenlens import PCA
from eigenlens.data.files import decode as records
from eigenlens.data.files.base import as_array
from eigenlens.data.files.formats import parquet as tables
from eigenlens.data.files.scan import FORMATS, scan
from eigenlens.data.source import accumulate
from eigenlens.errors import DataError, DataWarning, OptionError, SourceChanged

WRITERS = {
    ".csv": pl.DataFrame.write_csv,
    ".tsv": lambda frame, path: frame.write_csv(path, separator="\t"),
    ".txt": lambda frame, path: frame.write_csv(path, separator=";"),
    ".csv.gz": lambda frame, path: Path(path).write_bytes(gzip.compress(frame.write_csv().encode())),
    ".parquet": lambda frame, path: frame.write_parquet(path, row_group_size=70),
    ".pq": pl.DataFrame.write_parquet,
    ".arrow": pl.DataFrame.write_ipc,
    ".feather": lambda frame, path: frame.write_ipc(path, compression="zstd"),
    ".ipc": pl.DataFrame.write_ipc,
}
TABLES = pytest.mark.parametrize("suffix", WRITERS)


def frame_of(n: int = 200, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "name": [f"r{i}" for i in range(n)],
            "x": rng.standard_normal(n),
            "count": rng.integers(-5, 5, n),
            "y": [None if i % 7 == 0 else float(i) for i in range(n)],
            "flag": rng.random(n) < 0.5,
            "kind": rng.integers(0, 3, n),
        }
    )


def whole(source) -> np.ndarray:
    return np.concatenate(list(source.rows()))


def twin(frame: pl.DataFrame, names: tuple[str, ...]) -> np.ndarray:
    return frame.select(names).cast(pl.Float64).to_numpy()


@pytest.fixture
def small_pieces(monkeypatch):
    """Limits so low that every boundary is met many times."""
    monkeypatch.setattr(tables, "SLAB_BYTES", 1500)
    monkeypatch.setattr(tables, "GROUP_BYTES", 200)
    monkeypatch.setattr("eigenlens.data.files.text.PIECE_BYTES", 100)
    monkeypatch.setattr("eigenlens.data.files.text.HEAD_BYTES", 50)


class TestTables:
    @pytest.mark.few(6)
    @TABLES
    @pytest.mark.parametrize("block_rows", [None, 13])
    def test_blocks_equal_the_whole(self, tmp_path, suffix, block_rows, small_pieces):
        frame = frame_of()
        WRITERS[suffix](frame, tmp_path / f"a{suffix}")
        source = scan(tmp_path / f"a{suffix}", id="name", label="kind", block_rows=block_rows)
        assert source.names == ("x", "count", "y", "flag")
        assert (source.n_rows, source.n_features, source.dtype) == (200, 4, np.float64)
        for _ in range(2):
            np.testing.assert_array_equal(whole(source), twin(frame, source.names))
        assert source.read_ids().tolist() == frame["name"].to_list()
        np.testing.assert_array_equal(source.read_label(), frame["kind"].to_numpy())
        if block_rows:
            assert max(len(block) for block in source.rows()) <= block_rows

    @TABLES
    def test_several_files_are_one_stream_in_sorted_order(self, tmp_path, suffix):
        frames = [frame_of(seed=seed) for seed in range(3)]
        for place, frame in enumerate(frames):
            WRITERS[suffix](frame, tmp_path / f"part{2 - place}{suffix}")
        expected = np.concatenate([twin(frame, ("x", "y")) for frame in reversed(frames)])
        pattern = scan(f"{tmp_path}/part*{suffix}", columns=["x", "y"], id="name")
        listed = scan([tmp_path / f"part{i}{suffix}" for i in (1, 0, 2)], columns=["x", "y"])
        assert (pattern.n_rows, len(pattern.read_ids())) == (600, 600)
        np.testing.assert_array_equal(whole(pattern), expected)
        np.testing.assert_array_equal(whole(listed), expected)

    @TABLES
    def test_a_file_with_other_columns_is_named(self, tmp_path, suffix):
        WRITERS[suffix](frame_of(), tmp_path / f"a{suffix}")
        WRITERS[suffix](frame_of().rename({"x": "z"}), tmp_path / f"b{suffix}")
        with pytest.raises(DataError, match=r"b\..*different columns \('z' is in one only\)"):
            scan(f"{tmp_path}/*{suffix}", id="name")

    @TABLES
    def test_columns_come_in_the_order_asked_for(self, tmp_path, suffix):
        frame = frame_of()
        WRITERS[suffix](frame, tmp_path / f"a{suffix}")
        source = scan(tmp_path / f"a{suffix}", columns=["y", "x"])
        np.testing.assert_array_equal(whole(source), twin(frame, ("y", "x")))
        assert scan(tmp_path / f"a{suffix}", drop=["name", "x"]).names == ("count", "y", "flag", "kind")

    @pytest.mark.few(1)
    @TABLES
    def test_text_is_an_error_that_counts_it(self, tmp_path, suffix, small_pieces):
        frame = (
            frame_of()
            .drop("kind")
            .with_columns(ph=pl.Series(["low" if i in (17, 90, 91) else str(i) for i in range(200)]))
        )
        WRITERS[suffix](frame, tmp_path / f"a{suffix}")
        delimited = "csv" in suffix or suffix in (".tsv", ".txt")
        count, first = (3, "row 18, 'low'") if delimited else (200, "row 1, '0'")
        # A column that is stored as text stays so, and the warning names the marker by which it would be numbers.
        warned = pytest.warns(DataWarning, match=r"'low' is among its numbers.*na=\['low'\]")
        with nullcontext() if delimited else warned:
            source = scan(tmp_path / f"a{suffix}", id="name")
        with pytest.raises(DataError, match=rf"column 'ph' has text in {count} rows \(first: {first}\).*drop=\['ph'\]"):
            whole(source)
        marked = scan(tmp_path / f"a{suffix}", id="name", na=["low"])
        assert np.flatnonzero(np.isnan(whole(marked)[:, marked.names.index("ph")])).tolist() == [17, 90, 91]

    @TABLES
    def test_an_unknown_column_lists_near_ones(self, tmp_path, suffix):
        WRITERS[suffix](frame_of(), tmp_path / f"a{suffix}")
        for option in ("columns", "drop", "id", "label"):
            value = "cuont" if option in ("id", "label") else ["cuont"]
            with pytest.raises(OptionError, match=f"{option}='cuont'.*'count'"):
                scan(tmp_path / f"a{suffix}", **{option: value})

    @TABLES
    def test_names_without_rows(self, tmp_path, suffix):
        WRITERS[suffix](frame_of().clear(), tmp_path / f"a{suffix}")
        with pytest.raises(DataError, match="no rows"):
            scan(tmp_path / f"a{suffix}", drop=["name"])

    @pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
    def test_float32_stays_only_where_all_features_are(self, tmp_path, suffix):
        X = np.random.default_rng(0).standard_normal((50, 3)).astype(np.float32)
        frame = pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(n=pl.lit(1))
        WRITERS[suffix](frame, tmp_path / f"a{suffix}")
        single, double = scan(tmp_path / f"a{suffix}", drop=["n"]), scan(tmp_path / f"a{suffix}")
        assert (single.dtype, whole(single).dtype) == (np.float32, np.float32)
        assert (double.dtype, whole(double).dtype) == (np.float64, np.float64)
        np.testing.assert_array_equal(whole(single), X)

    @pytest.mark.parametrize(
        ("values", "kind"),
        [
            (pl.Series(["2020-01-01"] * 9).str.to_date(), "dates or times"),
            (pl.Series([[1.0, 2.0]] * 9), "nested values"),
            (pl.Series([{"a": 1}] * 9), "nested values"),
            (pl.Series([None] * 9, dtype=pl.Duration), "dates or times"),
        ],
    )
    def test_other_kinds_of_column_are_rejected(self, tmp_path, values, kind):
        pl.DataFrame({"x": np.arange(9.0), "odd": values}).write_parquet(tmp_path / "a.parquet")
        with pytest.raises(DataError, match=rf"column 'odd'.*{kind}.*drop=\['odd'\]"):
            scan(tmp_path / "a.parquet")
        assert scan(tmp_path / "a.parquet", drop=["odd"]).names == ("x",)

    def test_slabs_cover_the_rows_once_and_keep_to_the_limit(self):
        rng = np.random.default_rng(0)
        for most in (1, 7, 50):
            groups = rng.integers(0, 40, 30).tolist()
            slabs = list(tables.cut_slabs(groups, most))
            rows = [row for start, length in slabs for row in range(start, start + length)]
            assert rows == list(range(sum(groups)))
            assert max(length for _, length in slabs) <= most

    def test_broken_files(self, tmp_path):
        for suffix in (".parquet", ".arrow"):
            WRITERS[suffix](frame_of(), tmp_path / f"a{suffix}")
            half = (tmp_path / f"a{suffix}").read_bytes()[:500]
            (tmp_path / f"half{suffix}").write_bytes(half)
            with pytest.raises(DataError, match=rf"half{suffix}' cannot be read"):
                scan(tmp_path / f"half{suffix}")


class TestDelimited:
    def test_text_late_in_the_file(self, tmp_path):
        lines = [f"{i},{i / 7}" for i in range(150_000)]
        lines[140_000] = "140000,unknown"
        (tmp_path / "a.csv").write_text("i,v\n" + "\n".join(lines))
        assert len(lines[0]) * 140_000 < (tmp_path / "a.csv").stat().st_size > records.HEAD_BYTES
        source = scan(tmp_path / "a.csv")
        with pytest.raises(
            DataError,
            match=r"'v' has text in 1 row \(first: row 140001, 'unknown'\); add na=\['unknown'\]",
        ):
            whole(source)
        X = whole(scan(tmp_path / "a.csv", na=["unknown"]))
        np.testing.assert_array_equal(np.flatnonzero(np.isnan(X[:, 1])), [140_000])
        np.testing.assert_array_equal(np.delete(X, 140_000, 0)[:, 1], np.delete(np.arange(150_000) / 7, 140_000))

    def test_text_names_the_file_of_several(self, tmp_path):
        (tmp_path / "a.csv").write_text("u,v\n1,2\n")
        (tmp_path / "b.csv").write_text("u,v\n1,2\n3,x\n4,x\n")
        with pytest.raises(DataError, match=r"'v' has text in 2 rows \(first: row 2 of b\.csv, 'x'\)"):
            whole(scan(f"{tmp_path}/*.csv"))

    def test_a_text_column_is_not_offered_as_missing(self, tmp_path):
        frame_of().write_csv(tmp_path / "a.csv")
        with pytest.raises(DataError, match=r"'name' has text in 200 rows \(first: row 1, 'r0'\)") as caught:
            whole(scan(tmp_path / "a.csv"))
        assert "na=" not in str(caught.value)

    def test_forgiven_forms(self, tmp_path):
        text = '\ufeff"a b", c ,d\r\n 1.5 ,"2",true\r\n\r\n,+3e2,False\r\nnan,-inf,TRUE\r\n\r\n'
        (tmp_path / "a.csv").write_bytes(text.encode())
        source = scan(tmp_path / "a.csv")
        assert (source.names, source.n_rows) == (("a b", "c", "d"), 3)
        np.testing.assert_array_equal(whole(source), [[1.5, 2, 1], [np.nan, 300, 0], [np.nan, -np.inf, 1]])

    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    @pytest.mark.parametrize("size", [3, 8, 1000])
    def test_blank_lines_are_no_rows(self, tmp_path, end, size, monkeypatch):
        monkeypatch.setattr("eigenlens.data.files.text.PIECE_BYTES", size)
        (tmp_path / "a.csv").write_bytes(end.join(["a,b", "", "1,2", "", "", "3,", ",", "5,6", "", ""]).encode())
        source = scan(tmp_path / "a.csv")
        np.testing.assert_array_equal(whole(source), [[1, 2], [3, np.nan], [np.nan, np.nan], [5, 6]])
        assert source.n_rows == 4

    def test_na_with_spaces_around_it(self, tmp_path):
        (tmp_path / "a.csv").write_text("a,b\n1, NA \n2,NA\n3,4\n")
        np.testing.assert_array_equal(whole(scan(tmp_path / "a.csv", na=["NA"])), [[1, np.nan], [2, np.nan], [3, 4]])

    @pytest.mark.parametrize("size", [1, 2, 5, 17, 1000])
    def test_quoted_line_ends_do_not_cut_a_record(self, tmp_path, size, monkeypatch):
        monkeypatch.setattr("eigenlens.data.files.text.PIECE_BYTES", size)
        frame = pl.DataFrame({"note": ["one\ntwo", 'say "hi"', "a,b", "\n\n", "end"], "v": [1.0, 2, 3, 4, 5]})
        frame.write_csv(tmp_path / "a.csv")
        source = scan(tmp_path / "a.csv", id="note")
        np.testing.assert_array_equal(whole(source)[:, 0], [1, 2, 3, 4, 5])
        assert source.read_ids().tolist() == frame["note"].to_list()
        assert source.n_rows == 5

    def test_a_missing_number_in_the_only_column_is_a_row(self, tmp_path):
        (tmp_path / "a.csv").write_text("v\n1\n\n3\n")
        np.testing.assert_array_equal(whole(scan(tmp_path / "a.csv")), [[1], [np.nan], [3]])

    def test_ids_keep_their_leading_zeros(self, tmp_path):
        (tmp_path / "a.csv").write_text("code,n,w,v\n007,7,1.5,1\n010,8,,2\n")
        assert scan(tmp_path / "a.csv", id="code").read_ids().tolist() == ["007", "010"]
        assert scan(tmp_path / "a.csv", id="n", drop="code").read_ids().tolist() == [7, 8]
        np.testing.assert_array_equal(scan(tmp_path / "a.csv", label="w", drop="code").read_label(), [1.5, np.nan])

    def test_headers(self, tmp_path):
        (tmp_path / "n.csv").write_text("5,2\n1,2\n")
        assert scan(tmp_path / "n.csv").names == ("column_1", "column_2")  # numbers are rows
        (tmp_path / "a.csv").write_text("2019,2020\n1,2\n")
        with pytest.warns(DataWarning, match="first line, 2019, 2020, is read as column names"):
            assert scan(tmp_path / "a.csv").names == ("2019", "2020")  # but for years that are not met below
        (tmp_path / "y.csv").write_text("2019,2020\n2021,2022\n2023,1\n")
        assert scan(tmp_path / "y.csv").n_rows == 3  # years above years are data
        (tmp_path / "p.csv").write_text("0,1,2\n0.5,1.5,2.5\n0.25,1.5,3.5\n")
        with pytest.warns(
            DataWarning, match="first line, 0, 1, 2, is read as column names; if it is a row .*header=False"
        ):
            assert scan(tmp_path / "p.csv").names == ("0", "1", "2")  # as pandas numbers columns
        assert scan(tmp_path / "a.csv", header=True).names == ("2019", "2020")
        rows = scan(tmp_path / "a.csv", header=False)
        assert (rows.names, rows.n_rows) == (("column_1", "column_2"), 2)
        np.testing.assert_array_equal(whole(rows), [[2019, 2020], [1, 2]])
        (tmp_path / "b.csv").write_text(",a,a\nr,1,2\n")
        with pytest.warns(DataWarning, match="has the name 'a' of an earlier one, and is called 'a_2'"):
            assert scan(tmp_path / "b.csv", drop=[0]).names == ("a", "a_2")

    @pytest.mark.parametrize("header", [True, False])
    @pytest.mark.parametrize(
        ("rows", "what"),
        [("3,4,5\n", "row 20003 has 3 cells"), ("3\n", "row 20003 has 1 cell"), ("3\n3,4,5\n", "row 20003 has 1 cell")],
    )
    def test_rows_of_another_length_are_named(self, tmp_path, rows, what, header, monkeypatch):
        """Late in the file, also where one too short and one too long make up for each other; never a missing value."""
        monkeypatch.setattr("eigenlens.data.files.text.HEAD_BYTES", 500)
        monkeypatch.setattr("eigenlens.data.files.text.PIECE_BYTES", 5000)
        (tmp_path / "a.csv").write_text("a,b\n" * header + "1,2\n" * (20002 - header) + rows + "5,6\n" * 100)
        for read in (whole, lambda source: source.n_rows, lambda source: source.read_column(source.names[0])):
            with pytest.raises(DataError, match=rf"a\.csv' is ragged: {what}, and the first has 2"):
                read(scan(tmp_path / "a.csv"))

    def test_a_truncated_gzip(self, tmp_path):
        packed = gzip.compress(frame_of().write_csv().encode())
        (tmp_path / "a.csv.gz").write_bytes(packed[: len(packed) // 2])
        with pytest.raises(DataError, match="is truncated"):
            whole(scan(tmp_path / "a.csv.gz", id="name"))


class TestNpy:
    @pytest.mark.parametrize("order", ["C", "F"])
    @pytest.mark.parametrize("dtype", ["<f4", "<f8", ">f4", ">f8", "i2", "u8", "?", "f2"])
    def test_blocks_equal_the_whole(self, tmp_path, dtype, order):
        X = np.random.default_rng(0).integers(0, 100, (23, 5)).astype(dtype, order=order)
        np.save(tmp_path / "a.npy", X)
        source = scan(tmp_path / "a.npy", block_rows=4)
        expected = np.float32 if np.dtype(dtype) in (np.dtype("<f4"), np.dtype(">f4")) else np.float64
        assert (source.n_rows, source.n_features, source.names, source.dtype) == (23, 5, None, expected)
        assert {block.dtype for block in source.rows()} == {np.dtype(expected)}
        assert [len(block) for block in source.rows()] == [4, 4, 4, 4, 4, 3]
        np.testing.assert_array_equal(whole(source), X)
        some = scan(tmp_path / "a.npy", columns=[3, 0], id=4, label=1)
        np.testing.assert_array_equal(whole(some), X[:, [3, 0]])
        np.testing.assert_array_equal(some.read_ids(), X[:, 4])
        np.testing.assert_array_equal(some.read_label(), X[:, 1])

    def test_several_files(self, tmp_path):
        X = np.random.default_rng(0).standard_normal((10, 3))
        np.save(tmp_path / "a.npy", X[:4])
        np.save(tmp_path / "b.npy", np.asfortranarray(X[4:]))
        np.testing.assert_array_equal(whole(scan(f"{tmp_path}/?.npy")), X)
        np.save(tmp_path / "c.npy", X[:, :2])
        with pytest.raises(DataError, match=r"c\.npy' has 2 columns, .*a\.npy' has 3"):
            scan(f"{tmp_path}/?.npy")

    @pytest.mark.parametrize(
        ("array", "message"),
        [
            (np.zeros(3), r"1 dimension .*reshape\(-1, 1\)"),
            (np.zeros((2, 2, 2)), "3 dimensions"),
            (np.zeros((2, 2), complex), "complex128"),
            (np.array([["a", "b"]]), "<U1"),
            (np.zeros((0, 3)), "no rows"),
            (np.zeros((3, 0)), "no columns"),
            (np.zeros(2, dtype=[("a", float), ("b", float)]), "entries; numbers are needed"),
        ],
    )
    def test_arrays_that_are_no_table_of_numbers(self, tmp_path, array, message):
        np.save(tmp_path / "a.npy", array)
        with pytest.raises(DataError, match=message):
            scan(tmp_path / "a.npy")

    def test_pickles_are_never_opened(self, tmp_path):
        np.save(tmp_path / "a.npy", np.array([[object()]], dtype=object), allow_pickle=True)
        with pytest.raises(DataError, match="object entries"):
            scan(tmp_path / "a.npy")

    def test_truncated_and_foreign_files(self, tmp_path):
        np.save(tmp_path / "a.npy", np.zeros((100, 3)))
        data = (tmp_path / "a.npy").read_bytes()
        (tmp_path / "half.npy").write_bytes(data[:1000])
        with pytest.raises(DataError, match="truncated: 1,000 bytes of 2,528"):
            scan(tmp_path / "half.npy")
        for junk in (b"hello world", data[:20]):
            (tmp_path / "junk.npy").write_bytes(junk)
            with pytest.raises(DataError, match=r"not a \.npy file"):
                scan(tmp_path / "junk.npy")

    def test_positions_out_of_range(self, tmp_path):
        np.save(tmp_path / "a.npy", np.zeros((4, 3)))
        for bad in (3, -1, "x"):
            with pytest.raises(OptionError, match="is not one of the 3 columns; use a number from 0 to 2"):
                scan(tmp_path / "a.npy", columns=[bad])


class TestPaths:
    def test_missing_empty_and_unknown(self, tmp_path):
        (tmp_path / "empty.csv").touch()
        (tmp_path / "a.numbers").write_text("x")
        (tmp_path / "a.parquet.gz").write_text("x")
        (tmp_path / "a.xyz").write_text("x")
        for path, error, message in [
            (tmp_path / "no.csv", DataError, "does not exist"),
            (tmp_path / "*.pq", DataError, "matches no file"),
            (tmp_path, DataError, r"is a folder.*\*\.csv"),
            (tmp_path / "empty.csv", DataError, r"is empty \(0 bytes\)"),
            (tmp_path / "a.numbers", DataError, "is a spreadsheet"),
            (tmp_path / "a.xyz", DataError, ", ".join(FORMATS)),
            (tmp_path / "a.parquet.gz", DataError, "is packed in a way that is not read"),
            ([], DataError, "names no file"),
        ]:
            with pytest.raises(error, match=message):
                scan(path)

    def test_formats_do_not_mix(self, tmp_path):
        frame_of().write_csv(tmp_path / "a.csv")
        frame_of().write_parquet(tmp_path / "b.parquet")
        with pytest.raises(DataError, match="different formats"):
            scan(f"{tmp_path}/*")

    def test_a_name_with_brackets_is_a_file_first(self, tmp_path):
        frame_of().write_parquet(tmp_path / "a[1].parquet")
        assert scan(f"{tmp_path}/a[1].parquet", drop=["name"]).n_rows == 200

    def test_options_out_of_place(self, tmp_path):
        frame_of().write_parquet(tmp_path / "a.parquet")
        path = tmp_path / "a.parquet"
        for options, message in [
            ({"separator": ";"}, "separator=.;. is an option of delimited text"),
            ({"decimal": ","}, "decimal=.* is an option"),
            ({"header": False}, "header=False is an option"),
            ({"block_rows": 0}, "block_rows=0 must be at least 1"),
            ({"columns": ["x", "x"]}, "'x' twice"),
            ({"columns": ["x"], "label": "x"}, "no column is left"),
        ]:
            with pytest.raises((OptionError, DataError), match=message):
                scan(path, **options)
        with pytest.raises(OptionError, match="id=None"):
            scan(path, columns=["x"]).read_ids()


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".npy"])
class TestChanges:
    def write(self, path: Path, n: int) -> None:
        X = np.random.default_rng(n).standard_normal((n, 3))
        if path.suffix == ".npy":
            np.save(path, X)
        else:
            WRITERS[path.suffix](pl.DataFrame(X), path)

    def test_between_passes(self, tmp_path, suffix):
        path = tmp_path / f"a{suffix}"
        self.write(path, 50)
        source = scan(path)
        whole(source)
        self.write(path, 60)
        with pytest.raises(SourceChanged, match=r"a\..*has changed since it was scanned"):
            whole(source)
        path.unlink()
        for use in (whole, lambda source: accumulate(source, lambda block: block.rows.sum(axis=0))):
            with pytest.raises(SourceChanged, match=r"a\..*has vanished"):
                use(source)

    def test_in_the_middle_of_a_pass(self, tmp_path, suffix):
        path = tmp_path / f"a{suffix}"
        self.write(path, 50)
        source = scan(path, block_rows=10)
        rows = source.rows()
        next(rows)
        os.utime(path, ns=(1, 1))
        with pytest.raises(SourceChanged):
            list(rows)

    def test_leaving_early_is_fine(self, tmp_path, suffix):
        path = tmp_path / f"a{suffix}"
        self.write(path, 50)
        source = scan(path, block_rows=10)
        rows = source.rows()
        next(rows)
        path.unlink()
        rows.close()


def test_a_block_that_is_kept_is_not_written_over(tmp_path):
    """Memory of blocks is used again, but only once nobody refers to it; a view is a reference too."""
    X = np.arange(600.0).reshape(100, 6)
    for order in ("C", "F"):
        np.save(tmp_path / "x.npy", np.asarray(X, order=order))
        reader = scan(tmp_path / "x.npy", block_rows=7)
        kept = [block[1:, ::2] if i % 3 == 0 else None for i, block in enumerate(reader.rows())]
        for i, view in enumerate(kept):
            if view is not None:
                assert np.array_equal(view, X[7 * i : 7 * i + 7][1:, ::2])


BED = {"bed": bytes.fromhex("6c1b01dc0fe70f6b01"), "bim": b"1 snp1 0 1 G A\n1 snp2 0 2 1 2\n1 snp3 0 3 A C\n"}
FAM = b"1 1 0 0 1 0\n1 2 0 0 1 0\n1 3 1 2 1 2\n2 1 0 0 1 0\n2 2 0 0 1 2\n2 3 1 2 1 2\n"
nan = np.nan
GENOTYPES = [[2, 0, 0], [0, nan, 1], [nan, 1, 1], [0, 0, nan], [0, 0, nan], [0, 0, 2]]


def plink_files(folder, **changed):
    for suffix, content in (BED | {"fam": FAM} | changed).items():
        (folder / f"people.{suffix}").write_bytes(content)
    return folder / "people.bed"


@pytest.mark.parametrize("block_rows", [None, 1, 3, 4, 5])
def test_genotypes_of_plink_are_copies_of_the_first_allele(tmp_path, block_rows):
    """The example of the format's description (cog-genomics.org/plink/1.9/formats)."""
    source = scan(plink_files(tmp_path), block_rows=block_rows)
    assert (source.names, source.n_rows) == (("snp1", "snp2", "snp3"), 6)
    blocks = list(source.rows())
    assert max(map(len, blocks)) <= (block_rows or 6)
    np.testing.assert_array_equal(np.concatenate(blocks), GENOTYPES)
    some = scan(tmp_path / "people.bed", columns=["snp3", "snp1"])
    np.testing.assert_array_equal(np.concatenate(list(some.rows())), np.array(GENOTYPES)[:, [2, 0]])


def test_components_of_genotypes_in_a_file_are_those_in_memory(tmp_path):
    rng = np.random.default_rng(0)
    codes = rng.choice([0, 2, 3], (70, 21))
    padded = np.pad(codes, ((0, 0), (0, 3))).reshape(70, 6, 4)
    packed = (padded << np.array([0, 2, 4, 6])).sum(axis=2).astype(np.uint8)
    bim = "".join(f"1 . 0 {j} A C\n" for j in range(70)).encode()
    fam = "".join(f"f {i} 0 0 0 -9\n" for i in range(21)).encode()
    path = plink_files(tmp_path, bed=b"\x6c\x1b\x01" + packed.tobytes(), bim=bim, fam=fam)
    pca = PCA(2).fit(scan(path, block_rows=8))
    expected = PCA(2).fit(np.array([2.0, nan, 1.0, 0.0])[codes].T)
    np.testing.assert_allclose(pca.explained_variance_, expected.explained_variance_, rtol=1e-12)
    assert pca.feature_names_in_[3] == "1:3"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"bed": b"\x6c\x1b\x00\xdc\x0f\xe7\x0f\x6b\x01"}, "in the order of people"),
        ({"bed": b"chr1 100 200"}, "not a .bed file of PLINK 1"),
        ({"bed": BED["bed"][:-1]}, "has 8 bytes, and 6 people and 3 variants need 9"),
        ({"bim": b"1 snp1 0 1 G\n"}, "5 columns in line 1, and 6 are needed"),
    ],
)
def test_a_damaged_file_of_genotypes_is_an_error(tmp_path, changed, message):
    path = plink_files(tmp_path, **changed)
    with pytest.raises(DataError, match=message):
        scan(path)


def test_genotypes_need_the_files_beside_them(tmp_path):
    path = plink_files(tmp_path)
    path.with_suffix(".fam").unlink()
    with pytest.raises(DataError, match=r"needs 'people.fam' beside it"):
        scan(path)


def test_a_column_of_names_takes_little_more_memory_than_its_array():
    """A string of Python takes 60 bytes: a million names of rows would take more than the rows."""
    names = pl.Series("name", [f"row {i}" for i in range(200_000)])
    tracemalloc.start()
    found = as_array(names)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.tolist() == names.to_list()
    assert peak < 1.5 * found.nbytes
