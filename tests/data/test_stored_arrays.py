"""Matrices in HDF5 files, Zarr stores and AnnData, dense and sparse; and folders of partitioned Parquet files."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import eigenlens
from eigenlens import PCA
from eigenlens.cli import main
from eigenlens.errors import DataError, OptionError, SourceChanged

X = np.random.default_rng(0).poisson(1.0, (90, 4)).astype(np.float64)
GENES, CELLS = [f"g{j}" for j in range(4)], [f"cell{i}" for i in range(90)]


def collected(source):
    blocks = [rows.toarray() if sparse.issparse(rows) else np.asarray(rows) for rows in source.rows()]
    return np.concatenate(blocks), len(blocks)


@pytest.fixture
def hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")

    def write(**datasets):
        with h5py.File(tmp_path / "rows.h5", "w") as file:
            for name, values in datasets.items():
                file.create_dataset(name.replace("__", "/"), data=values)
        return tmp_path / "rows.h5"

    return write


def annotated(folder, suffix, matrix):
    anndata = pytest.importorskip("anndata")
    import pandas as pd

    made = anndata.AnnData(matrix, obs=pd.DataFrame(index=CELLS), var=pd.DataFrame(index=GENES))
    made.layers["doubled"] = 2.0 * matrix
    path = folder / f"cells{suffix}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the versions of the format to come
        made.write_h5ad(path) if suffix == ".h5ad" else made.write_zarr(path)
    return path


def test_the_only_matrix_of_a_file_is_read_by_blocks(hdf5):
    source = eigenlens.scan(hdf5(a__numbers=X, words=np.array([b"x"]), line=np.arange(3)), block_rows=40)
    rows, blocks = collected(source)
    assert (rows == X).all()
    assert (blocks, source.n_rows, source.n_features, source.names) == (3, 90, 4, None)


def test_one_of_several_matrices_is_named(hdf5):
    path = hdf5(a=X, b__c=2 * X)
    with pytest.raises(DataError, match="has 2 matrices of numbers; use one of 'a', 'b/c': dataset='a'"):
        eigenlens.scan(path)
    with pytest.raises(OptionError, match=r"dataset='d' is not in .*; use one of 'a', 'b/c'"):
        eigenlens.scan(path, dataset="d")
    assert (collected(eigenlens.scan(path, dataset="b/c"))[0] == 2 * X).all()
    with pytest.raises(DataError, match="has no matrices of numbers"):
        eigenlens.scan(hdf5(line=np.arange(3)))


def test_another_format_has_no_datasets(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(OptionError, match="dataset='a' is an option of HDF5 and Zarr"):
        eigenlens.scan(tmp_path / "rows.npy", dataset="a")


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("suffix", [".h5ad", ".zarr"])
def test_an_anndata_has_names_of_rows_and_columns(tmp_path, suffix, kind):
    path = annotated(tmp_path, suffix, kind(X))
    source = eigenlens.scan(path, block_rows=40)
    rows, blocks = collected(source)
    assert source.names == tuple(GENES)
    assert source.read_ids().tolist() == CELLS
    assert (rows == X).all()
    assert blocks == 3
    some = eigenlens.scan(path, columns=["g2", "g0"], dataset="layers/doubled")
    assert (collected(some)[0] == 2 * X[:, [2, 0]]).all()
    pca = PCA(2).fit(source)
    np.testing.assert_allclose(pca.transform(source), PCA(2).fit(X).transform(X), atol=1e-12)


def test_columns_stored_one_after_the_other_are_an_error(tmp_path):
    path = annotated(tmp_path, ".h5ad", sparse.csc_matrix(X))
    with pytest.raises(DataError, match="'X' is a csc_matrix, whose rows cannot be read by blocks; store it by rows"):
        eigenlens.scan(path)


def test_several_files_are_one_stream(tmp_path):
    zarr = pytest.importorskip("zarr")
    for place, part in enumerate((X[:30], X[30:])):
        zarr.create_array(tmp_path / f"{place}.zarr", data=part, chunks=(16, 4))
    assert (collected(eigenlens.scan(str(tmp_path / "*.zarr")))[0] == X).all()


def test_a_store_that_changes_or_is_damaged_is_an_error(tmp_path):
    zarr = pytest.importorskip("zarr")
    stored = zarr.create_array(tmp_path / "rows.zarr", data=X, chunks=(16, 4))
    source = eigenlens.scan(tmp_path / "rows.zarr")
    stored[0, 0] = 77.0
    with pytest.raises(SourceChanged, match="has changed since it was scanned"):
        list(source.rows())
    (tmp_path / "broken.h5").write_bytes(b"not HDF5")
    with pytest.raises(DataError, match="cannot be read"):
        eigenlens.scan(tmp_path / "broken.h5")


def test_the_command_line_reads_them(tmp_path, hdf5, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    hdf5(a=X, b=2 * X)
    assert main(["fit", "pca", "rows.h5", "-k", "2", "--dataset", "b", "-o", "pca.safetensors"]) == 0
    assert main(["transform", "pca.safetensors", "rows.h5", "-o", "z.npy"]) == 0  # the model remembers the dataset
    np.testing.assert_allclose(np.load("z.npy"), PCA(2).fit(2 * X).transform(2 * X), atol=1e-12)
    assert main(["fit", "pca", "rows.h5", "-k", "2"]) == 3
    assert "--dataset a" in capsys.readouterr().err
    annotated(tmp_path, ".h5ad", sparse.csr_matrix(X))
    assert main(["fit", "pca", "cells.h5ad", "-k", "2", "-o", "cells.safetensors"]) == 0
    assert main(["transform", "cells.safetensors", "cells.h5ad", "-o", "z.csv", "--max-memory", "1kB"]) == 0
    assert pl.read_csv("z.csv").to_series(0).to_list() == CELLS


# ---- partitions -------------------------------------------------------------------------------------------------


def partitioned(folder):
    for year in (2023, 2024):
        for city in ("Rome", "San%20Jose", "__HIVE_DEFAULT_PARTITION__"):
            place = folder / f"year={year}" / f"city={city}"
            place.mkdir(parents=True)
            pl.DataFrame({"a": [float(year), 1.0], "b": [2.0, 3.0]}).write_parquet(place / "part-0.parquet")
    (folder / "_SUCCESS").write_text("")
    return folder


def test_partition_keys_are_columns(tmp_path):
    source = eigenlens.scan(partitioned(tmp_path), label="city")
    assert source.names == ("a", "b", "year")
    rows = collected(source)[0]
    assert rows.shape == (12, 3)
    assert rows[:, 2].tolist() == [2023.0] * 6 + [2024.0] * 6
    assert source.read_label().tolist()[:6] == ["Rome"] * 2 + ["San Jose"] * 2 + [None] * 2


def test_a_part_of_the_partitions_has_their_keys_too(tmp_path):
    partitioned(tmp_path)
    source = eigenlens.scan(str(tmp_path / "year=2024" / "*" / "*.parquet"), columns=["a", "year"])
    assert set(collected(source)[0][:, 1]) == {2024.0}


def test_a_folder_without_partitions_is_an_error_that_names_its_files(tmp_path):
    pl.DataFrame({"a": [1.0]}).write_parquet(tmp_path / "one.parquet")
    with pytest.raises(DataError, match=r"is a folder; name its files: '.*/\*.parquet'"):
        eigenlens.scan(tmp_path)


def test_the_command_line_reads_partitions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    partitioned(tmp_path / "sales")
    assert main(["fit", "pca", "sales", "-c", "a,b,year", "-k", "1", "-o", "pca.safetensors"]) == 0
