"""Results of rows that stay in files: written block by block, and the same as those of rows in memory."""

from __future__ import annotations

import os
from functools import partial

import numpy as np
import polars as pl
import polars.testing
import pytest

from eigenlens import scan
from eigenlens.cli import main
from eigenlens.data.files import file_parts
from eigenlens.data.files.formats.parquet import TableReader
from eigenlens.data.files.scan import FileSource

N = 400


def table():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, 3)) @ rng.standard_normal((3, 3)) + 5.0
    columns = {"name": [f"r{i}" for i in range(N)]} | dict(zip("abc", X.T, strict=True))
    columns |= {"kind": np.resize(["u", "v", "w"], N), "code": [f"{i:03d}" for i in range(N)], "count": np.arange(N)}
    return pl.DataFrame(columns)


HOLES = pl.when(pl.int_range(pl.len()) % 7 == 3).then(None)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    home, folder = os.getcwd(), tmp_path_factory.mktemp("models")
    os.chdir(folder)
    whole = table()
    holes = whole.with_columns(HOLES.otherwise(pl.col("b")).alias("b"))
    late = whole.with_columns(
        pl.when(pl.int_range(pl.len()) == N - 2).then(None).otherwise(pl.col("count")).alias("count")
    )
    for name, frame in {"t": whole, "holes": holes, "late": late}.items():
        frame.write_csv(f"{name}.csv")
        frame.write_parquet(f"{name}.parquet", row_group_size=90)
    fits = {
        "pca": ("pca", "t.csv", "-c", "a:c", "-k", "2"),
        "ppca": ("ppca", "holes.csv", "-c", "a:c", "-k", "1"),
        "counts": ("ppca", "late.csv", "-c", "a,b,count", "-k", "1"),
        "nb": ("nb", "t.csv", "-c", "a:c", "--label", "kind"),
        "gmm": ("gmm", "t.csv", "-c", "a:c", "-k", "2"),
    }
    for name, words in fits.items():
        assert main(["fit", *words, "-o", f"{name}.safetensors", "-q"]) == 0
    os.chdir(home)
    return folder


@pytest.fixture
def small_blocks(models, monkeypatch, tmp_path):
    """Blocks of some 50 rows, and the folder of the models as the current one."""
    monkeypatch.setattr(file_parts, "BLOCK_BYTES", 4 * 50 * 3 * 8)
    monkeypatch.chdir(models)
    return tmp_path


COMMANDS = {
    "transform": ("transform", "pca.safetensors", "t"),
    "transform with ids and classes": ("transform", "pca.safetensors", "t", "--id", "name", "--label", "kind"),
    "transform of some rows": ("transform", "pca.safetensors", "t", "--where", "a > 5", "--id", "code"),
    "denoise": ("denoise", "pca.safetensors", "t"),
    "impute": ("impute", "ppca.safetensors", "holes"),
    "impute with deviations": ("impute", "ppca.safetensors", "holes", "--std"),
    "impute of some rows": ("impute", "ppca.safetensors", "holes", "--where", "a > 5"),
    "impute whole numbers of the last block": ("impute", "counts.safetensors", "late"),
    "impute nothing": ("impute", "counts.safetensors", "t"),
    "predict": ("predict", "nb.safetensors", "t", "--proba"),
    "predict components": ("predict", "gmm.safetensors", "t"),
    "score": ("score", "gmm.safetensors", "t"),
    "score classes": ("score", "nb.safetensors", "t", "--label", "kind"),
}  # fmt: skip


def written(path):
    if path.suffix == ".npy":
        return np.load(path)
    read = {".csv": partial(pl.read_csv, infer_schema_length=None), ".parquet": pl.read_parquet, ".arrow": pl.read_ipc}[
        path.suffix
    ]
    return read(path)


@pytest.mark.few(26)
@pytest.mark.parametrize("output", [".csv", ".parquet", ".arrow", ".npy"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("case", COMMANDS)
def test_rows_in_files_give_the_same_table(small_blocks, case, suffix, output, capsys):
    name, model, data, *more = COMMANDS[case]
    if output == ".npy" and (model == "nb.safetensors" or {"--id", "--label"} & set(more)):
        pytest.skip("names and classes are text, which .npy cannot hold")
    shown = []
    for place, memory in enumerate(("1GB", "1kB")):
        target = small_blocks / f"{place}{output}"
        assert main([name, model, data + suffix, *more, "-o", str(target), "--max-memory", memory]) == 0
        out = capsys.readouterr().out
        assert ("read by blocks" in out) == (memory == "1kB")
        lines = [line.partition(" on the rows of the fit")[0] for line in out.splitlines()]
        shown.append(
            [line for line in lines if not line.startswith(("read", "wrote")) and "that are allowed" not in line]
        )
    whole, blocks = (written(small_blocks / f"{place}{output}") for place in (0, 1))
    if output == ".npy":
        np.testing.assert_allclose(blocks, whole, rtol=1e-12, atol=1e-13)
    else:
        assert blocks.schema == whole.schema
        polars.testing.assert_frame_equal(blocks, whole, rel_tol=1e-12, abs_tol=1e-13)
    assert shown[0] == shown[1]


def test_standard_output_has_one_line_of_names(small_blocks, capsys):
    assert main(["transform", "pca.safetensors", "t.csv", "--id", "name", "--max-memory", "1kB"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "name,kind,PC1,PC2"
    assert len(lines) == N + 1


def test_an_error_says_in_which_rows_it_is_and_leaves_the_old_file(small_blocks, capsys):
    target = small_blocks / "z.parquet"
    target.write_bytes(b"old")
    words = ["transform", "pca.safetensors", "holes.parquet", "-o", str(target), "--force", "--max-memory", "1kB"]
    assert main(words) == 3
    assert capsys.readouterr().err.startswith("error: rows 1 to ")
    assert target.read_bytes() == b"old"
    assert os.listdir(small_blocks) == ["z.parquet"]


@pytest.mark.parametrize("case", ["transform with ids and classes", "predict", "score"])
def test_no_column_of_files_is_read_whole(small_blocks, case, monkeypatch):
    """Ids, and labels where no class is learned, take memory that does not depend on the number of rows."""
    name, model, data, *more = COMMANDS[case]

    def read_whole(*_):
        raise AssertionError("a whole column was read")

    monkeypatch.setattr(FileSource, "read_column", read_whole)
    for suffix in (".csv", ".parquet"):
        words = [name, model, data + suffix, *more, "-o", str(small_blocks / f"o{suffix}"), "--max-memory", "1kB"]
        assert main(words) == 0


def test_a_fit_that_learns_no_classes_reads_no_label(small_blocks, monkeypatch):
    monkeypatch.setattr(FileSource, "read_column", lambda *_: pytest.fail("a whole column was read"))
    words = ["fit", "pca", "t.csv", "-k", "2", "--id", "name", "--label", "kind", "--drop", "code"]
    assert main([*words, "-q", "-o", str(small_blocks / "m.safetensors"), "--max-memory", "1kB"]) == 0


@pytest.mark.parametrize(("memory", "rows"), [(1000, 12), (32 * 70 * 3 * 8, 70), (1 << 40, N)])
def test_blocks_of_a_fit_follow_the_memory_that_is_given(small_blocks, memory, rows):
    source = scan("t.parquet", columns=["a", "b", "c"])
    blocks = list(file_parts.in_bounded_blocks(source, memory).rows())
    assert max(map(len, blocks)) <= rows
    np.testing.assert_array_equal(np.concatenate(blocks), np.concatenate(list(source.rows())))


@pytest.mark.parametrize(("memory", "columns"), [(1000, 1), (32 * 50 * 6 * 8, 3), (1 << 40, None)])
def test_few_columns_of_a_row_group_are_decoded_at_once_where_memory_is_limited(tmp_path, monkeypatch, memory, columns):
    """A row group is decoded whole, however few of its rows are wanted."""
    monkeypatch.setattr(file_parts, "BLOCK_BYTES", 4 * 50 * 6 * 8)
    X = np.random.default_rng(0).normal(size=(400, 6))
    pl.DataFrame(X, schema=list("abcdef")).write_parquet(tmp_path / "t.parquet", row_group_size=400)
    source = file_parts.in_bounded_blocks(scan(tmp_path / "t.parquet"), memory)
    found: set[int] = set()
    collect = TableReader._collect
    monkeypatch.setattr(
        TableReader,
        "_collect",
        lambda self, slab, names, *kind: found.add(len(names)) or collect(self, slab, names, *kind),
    )
    np.testing.assert_array_equal(np.concatenate(list(source.rows())), X)
    assert columns is None or max(found) == columns


@pytest.mark.parametrize(
    ("memory", "words", "why"),
    [
        (
            "1kB",
            ["fit", "pca", "-k", "1", "--drop", "name,kind,code"],
            ", with row groups that are decoded whole, more",
        ),
        ("1kB", ["fit", "lda", "--label", "kind", "--drop", "name,code"], " whole and the label, more than the 1.0 kB"),
        ("30kB", ["fit", "pca", "-k", "1", "--drop", "name,kind,code"], None),
        (None, ["fit", "pca", "-k", "1", "--drop", "name,kind,code"], None),
    ],
)
def test_memory_that_is_not_enough_is_reported_with_what_is_taken(
    small_blocks, capsys, monkeypatch, memory, words, why
):
    monkeypatch.setattr("eigenlens.resources.available_memory", lambda: 4)
    assert main([*words[:2], "t.parquet", *words[2:], *(["--max-memory", memory] if memory else [])]) == 0
    out = capsys.readouterr().out
    assert "read by blocks" in out or memory == "30kB"
    assert ("that are allowed" in out) == (why is not None)
    assert why is None or why in out
