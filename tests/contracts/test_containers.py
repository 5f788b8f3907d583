"""Every estimator takes the same containers of rows, and fits the same model to them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import eigenlens as el
from eigenlens.data.coerce import CONTAINERS, as_source, as_table
from eigenlens.errors import DataError
from eigenlens.kde.tables import density as density_table

RNG = np.random.default_rng(7)
X = (RNG.standard_normal((60, 3)) @ np.diag([2.0, 1.0, 0.5])).round(3)
X[::2] += [3.0, -1.0, 0.0]
Y = np.arange(60) % 2
NAMES = ["a", "b", "c"]
FRAME = pl.DataFrame(X, schema=NAMES)

ESTIMATORS = {
    "PCA": lambda: el.PCA(2),
    "SparsePCA": lambda: el.SparsePCA(2),
    "KernelPCA": lambda: el.KernelPCA(2),
    "ProbabilisticPCA": lambda: el.ProbabilisticPCA(1),
    "FactorAnalysis": lambda: el.FactorAnalysis(1),
    "GaussianMixture": lambda: el.GaussianMixture(2, random_state=0),
    "MixtureModel": lambda: el.MixtureModel(2, features="gaussian", n_init=2, random_state=0),
    "KernelDensity": lambda: el.KernelDensity(bandwidth="scott"),
    "NaiveBayes": lambda: el.NaiveBayes(),
    "BayesClassifier": lambda: el.BayesClassifier(el.GaussianMixture(1)),
    "LinearDiscriminant": lambda: el.LinearDiscriminant(),
    "QuadraticDiscriminant": lambda: el.QuadraticDiscriminant(),
}


def mapped(folder):
    np.save(folder / "x.npy", X)
    return np.load(folder / "x.npy", mmap_mode="r")


def scanned(write):
    def make(folder):
        write(folder)
        return el.scan(folder / "x.*")

    return make


def stored(library):
    """Rows in a file of HDF5 or Zarr, in chunks of 16 rows."""

    def make(folder):
        module = pytest.importorskip(library, reason=f"{library} is not installed, so its arrays were not tested")
        if library == "h5py":
            return module.File(folder / "x.h5", "w").create_dataset("x", data=X, chunks=(16, 3))
        found = module.open(folder / "x.zarr", mode="w", shape=X.shape, chunks=(16, 3), dtype="f8")
        found[:] = X
        return found

    return make


def annotated(matrix, backed=False):
    def make(folder):
        module = pytest.importorskip("anndata", reason="anndata is not installed, so its objects were not tested")
        found = module.AnnData(matrix, var=pd.DataFrame(index=NAMES))
        if not backed:
            return found
        found.write_h5ad(folder / "x.h5ad")
        return module.read_h5ad(folder / "x.h5ad", backed="r")

    return make


def relation(folder):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed, so its relations were not tested")
    FRAME.write_parquet(folder / "x.parquet")
    return duckdb.connect().sql(f"select * from '{folder / 'x.parquet'}'")


def scanner(folder):
    return dataset(folder).scanner()


def dataset(folder):
    import pyarrow.dataset

    FRAME.write_parquet(folder / "x.parquet")
    return pyarrow.dataset.dataset(folder / "x.parquet")


MAKE = {
    "array": lambda folder: X,
    "Fortran order": lambda folder: np.asfortranarray(X),
    "memory map": mapped,
    "sparse": lambda folder: sparse.csr_matrix(X),
    "lists": lambda folder: X.tolist(),
    "pandas": lambda folder: pd.DataFrame(X, columns=NAMES),
    "Polars": lambda folder: FRAME,
    "Polars, lazy": lambda folder: FRAME.lazy(),
    "Arrow table": lambda folder: FRAME.to_arrow(),
    "Arrow batch": lambda folder: pa.RecordBatch.from_pandas(pd.DataFrame(X, columns=NAMES)),
    "Arrow stream": lambda folder: FRAME.to_arrow().to_reader(max_chunksize=16),
    "Arrow dataset": dataset,
    "Arrow scanner": scanner,
    "DuckDB": relation,
    "HDF5": stored("h5py"),
    "Zarr": stored("zarr"),
    "AnnData": annotated(X),
    "AnnData, sparse": annotated(sparse.csr_matrix(X)),
    "AnnData, backed": annotated(X, backed=True),
    "AnnData, sparse and backed": annotated(sparse.csr_matrix(X), backed=True),
    "pandas, sparse": lambda folder: pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(X), columns=NAMES),
    "pandas, a sparse column": lambda folder: pd.DataFrame(X, columns=NAMES).astype({"b": pd.SparseDtype(float, 0.0)}),
    "Dask": lambda folder: pytest.importorskip("dask.array").from_array(X, chunks=(25, 3)),
    "scan of CSV": scanned(lambda folder: FRAME.write_csv(folder / "x.csv")),
    "scan of Parquet": scanned(lambda folder: FRAME.write_parquet(folder / "x.parquet")),
    "scan of .npy": scanned(lambda folder: np.save(folder / "x.npy", X)),
}


def answer(model):
    """What a model says of the rows."""
    ask = next(name for name in ("predict_log_proba", "score_samples", "transform") if hasattr(model, name))
    return np.asarray(getattr(model, ask)(X))


def test_every_estimator_is_here():
    public = {name for name in el.__all__ if hasattr(getattr(el, name), "fit") and isinstance(getattr(el, name), type)}
    assert public == set(ESTIMATORS) | {"GenotypePCA"}  # whose rows are genotypes: tests/genotypes


@pytest.mark.few(70)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.filterwarnings("ignore:Heywood case")
@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_container_gives_the_model_of_the_array(tmp_path, name, kind):
    expected = answer(ESTIMATORS[name]().fit(X, Y))
    rows = MAKE[kind](tmp_path)
    model = ESTIMATORS[name]().fit(rows, Y)
    np.testing.assert_allclose(answer(model), expected, rtol=1e-7, atol=1e-9)
    if hasattr(model, "feature_names_in_"):
        assert list(model.feature_names_in_) == NAMES


@pytest.mark.parametrize("kind", MAKE)
def test_every_container_is_compared_and_drawn(tmp_path, kind):
    models = {"one": el.GaussianMixture(1), "two": el.GaussianMixture(2, covariance_type="diag", random_state=0)}
    expected = el.compare(models, X, cv=3, random_state=0)
    found = el.compare(models, MAKE[kind](tmp_path), cv=3, random_state=0)
    assert found.names == expected.names
    np.testing.assert_allclose(found.means, expected.means, rtol=1e-6)
    strokes = density_table(el.KernelDensity(bandwidth=1.0).fit(X), MAKE[kind](tmp_path), column=0).rows
    np.testing.assert_allclose(np.sort(strokes), np.sort(X[:, 0]))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_what_is_no_container_is_one_error(name):
    with pytest.raises(DataError, match=r"X is a dict of columns; give pandas\.DataFrame"):
        ESTIMATORS[name]().fit({"a": X[:, 0]}, Y)


def test_lazy_frames_are_read_by_blocks_and_text_in_them_is_an_error(tmp_path):
    from eigenlens.data.memory import LazySource

    FRAME.write_parquet(tmp_path / "x.parquet")
    lazy = pl.scan_parquet(tmp_path / "x.parquet").with_columns(pl.col("a").cast(pl.Float32))
    source = LazySource(lazy, block_rows=7)
    blocks = list(source.rows())
    assert len(blocks) > 5
    np.testing.assert_allclose(np.concatenate(blocks), X, rtol=1e-6)
    with pytest.raises(DataError, match="column 'd' does not hold numbers"):
        as_source(FRAME.with_columns(d=pl.lit("x")).lazy())
    assert [field.kind for field in as_table(FRAME.with_columns(d=pl.lit("x")).lazy()).fields][-1] == "text"


def test_names_are_kept_and_compared_where_scikit_learn_cannot_read_them(tmp_path):
    model = el.PCA(2).fit(dataset(tmp_path))
    assert list(model.feature_names_in_) == NAMES
    with pytest.raises(DataError, match=r"'b'.*'d'"):
        model.transform(FRAME.rename({"b": "d"}).lazy())


def test_a_stream_that_was_read_is_an_error():
    stream = FRAME.to_arrow().to_reader()
    el.PCA(2).fit(stream)
    with pytest.raises(DataError, match="read before; make a new reader"):
        el.PCA(2).fit(stream)


READ_TWICE = [
    (el.PCA(2), "fit_transform"), (el.SparsePCA(2), "fit_transform"), (el.LinearDiscriminant(), "fit_transform"),
    (el.KernelPCA(2, approximation="rpcholesky", n_landmarks=20, random_state=0), "fit_transform"),
    (el.GaussianMixture(2, random_state=0).fit(FRAME), "icl"), (ESTIMATORS["MixtureModel"]().fit(FRAME), "icl"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "method"), READ_TWICE)
def test_a_stream_will_do_for_what_reads_the_rows_twice(model, method):
    arguments = (Y,) if method == "fit_transform" else ()
    expected = getattr(model, method)(FRAME, *arguments)
    np.testing.assert_allclose(getattr(model, method)(FRAME.to_arrow().to_reader(), *arguments), expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["PCA", "NaiveBayes"])
def test_one_thing_is_no_table_and_a_path_is_for_scan(name):
    for path in ("rows.csv", Path("rows.csv")):
        with pytest.raises(DataError, match=r"X='rows.csv' is a \w+, not a table; give eigenlens.scan"):
            ESTIMATORS[name]().fit(path, Y)
    with pytest.raises(DataError, match="X is a generator, not a table; give an array"):
        ESTIMATORS[name]().fit((row for row in X), Y)


def test_stored_arrays_are_read_by_whole_chunks():
    from eigenlens.data.disk_arrays import StoredSource

    class Recorded:
        shape, dtype, chunks = (60, 3), np.dtype(np.float64), (16, 3)

        def __init__(self):
            self.read = []

        def __getitem__(self, part):
            self.read.append((part.start, part.stop))
            return X[part]

    array = Recorded()
    source = StoredSource(array)
    source._step = 32
    np.testing.assert_array_equal(np.concatenate(list(source.rows())), X)
    assert array.read == [(0, 32), (32, 64)]
    assert StoredSource(array)._step % 16 == 0


def test_a_file_of_arrays_names_them(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed, so its files were not tested")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["counts"] = X
        with pytest.raises(DataError, match=r"X\['counts'\]"):
            el.PCA(2).fit(file)
        with pytest.raises(DataError, match="shape"):
            el.PCA(2).fit(file.create_dataset("line", data=X[:, 0]))


def test_the_last_container_takes_anything():
    assert CONTAINERS[-1].recognise(object())
