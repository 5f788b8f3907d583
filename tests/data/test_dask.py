"""The fold on a real cluster of two processes against the sum over the rows in this one."""

from __future__ import annotations

import os
from functools import partial

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster, wait
from scipy import sparse

from eigenlens import PCA, GaussianMixture, LinearDiscriminant, MixtureModel, NaiveBayes, densities
from eigenlens.data.dask import DaskSource
from eigenlens.data.source import Block, accumulate
from eigenlens.errors import DataError

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1000, 6)) * 10.0 ** RNG.integers(-8, 8, (1000, 1))
WEIGHT = RNG.random(1000)


@pytest.fixture(scope="module")
def client():
    # Without stealing, what travels is decided by the graph alone.
    settings = {"distributed.comm.timeouts.connect": "30s", "distributed.scheduler.work-stealing": False}
    with (
        dask.config.set(settings),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(params=["threads", "synchronous", "cluster"])
def scheduler(request):
    if request.param == "cluster":
        with request.getfixturevalue("client").as_current():
            yield request.param
    else:
        with dask.config.set(scheduler=request.param):
            yield request.param


class Trace:
    """What a block came to, and where: adds up, and stays small."""

    def __init__(self, total: np.ndarray, places: tuple[tuple[int, int], ...]) -> None:
        self.total, self.places = total, places

    def __add__(self, other: Trace) -> Trace:
        return Trace(self.total + other.total, self.places + other.places)


def trace(block: Block) -> Trace:
    weight = np.ones(len(block.rows)) if block.weight is None else block.weight
    return Trace(weight @ block.rows, ((os.getpid(), len(block.rows)),))


def tree(parts: list[np.ndarray]) -> np.ndarray:
    while len(parts) > 1:
        parts = [sum(parts[i + 1 : i + 2], parts[i]) for i in range(0, len(parts), 2)]
    return parts[0]


@pytest.mark.few(2)
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("chunks", [(1000, 6), (300, 6), (77, 2), ((1, 0, 500, 499), (3, 3))])
def test_the_fold_is_the_fixed_tree_of_chunks(scheduler, chunks, weight):
    source = DaskSource(da.from_array(X, chunks=chunks)).weighted(weight)
    found = accumulate(source, trace)
    ends = np.cumsum(source.array.chunks[0])
    pairs = [(low, high) for low, high in zip([0, *ends], ends, strict=False) if high > low]
    w = np.ones(1000) if weight is None else weight
    # Equal to the last bit: neither workers nor scheduler may change the order of the sums.
    np.testing.assert_array_equal(found.total, tree([w[low:high] @ X[low:high] for low, high in pairs]))
    assert [size for _, size in found.places] == [high - low for low, high in pairs]


def test_blocks_are_summed_up_on_the_workers(client, monkeypatch):
    """Rows that were persisted are summed up where they are: what workers send each other is sums alone."""
    with client.as_current():
        rows = da.random.default_rng(0).standard_normal((40_000, 50), chunks=(1000, 50)).persist()
        wait(rows)
        at = {str(key) for key in client.who_has(rows)}
        client.run(forget_transfers)
        # Bytes per second: so slow that the scheduler moves no chunk to a worker that is idle.
        monkeypatch.setattr(client.cluster.scheduler, "bandwidth", 1000.0)
        found = DaskSource(rows).fold(trace)
        moved = [key for keys in client.run(keys_received).values() for key in keys]
    workers = set(client.run(os.getpid).values())
    assert len(found.places) == 40
    assert {pid for pid, _ in found.places} == workers
    assert os.getpid() not in workers
    # Which tasks ran where is up to the scheduler, which on a busy machine may move a chunk to an idle worker, but only
    # because that is idle: half of the chunks would travel if one place summed them up.
    assert len(at) == 40
    assert len([key for key in moved if key in at]) <= 4
    sizes = [size for sizes in client.run(sum_sizes).values() for size in sizes]
    assert len(sizes) < 40 + 4
    assert max(sizes, default=0) < 20_000  # of sums with their places; a chunk is 400 kB


def forget_transfers(dask_worker) -> None:
    dask_worker.transfer_incoming_log.clear()


def keys_received(dask_worker) -> list[str]:
    return [str(key) for transfer in dask_worker.transfer_incoming_log for key in transfer["keys"]]


def sum_sizes(dask_worker) -> list[int]:
    received = (transfer["keys"] for transfer in dask_worker.transfer_incoming_log)
    return [size for keys in received for key, size in keys.items() if "fold-" in str(key)]


def test_large_weights_do_not_travel_in_the_graph(client):
    with client.as_current():
        ones = da.ones((3_000_000, 1), chunks=(1_000_000, 1))
        weight = RNG.random(3_000_000)
        found = DaskSource(ones).weighted(weight).fold(trace)  # a graph over 10 MB would warn
    assert found.total == pytest.approx(weight.sum(), rel=1e-12)


def weighed_against(block: Block, table: np.ndarray) -> Trace:
    return Trace(table[: len(block.rows)].sum(axis=0), trace(block).places)


def test_a_large_summary_does_not_travel_in_the_graph(client):
    """12 MB that every block needs, such as landmarks: each worker is sent them once, a graph with them would warn."""
    table = RNG.standard_normal((1000, 1500))
    summarise = partial(weighed_against, table=table)
    with client.as_current():
        source = DaskSource(da.ones((4000, 2), chunks=(500, 2)))
        for _ in range(3):  # a pass must not lose what it shares with the one before
            found = source.fold(summarise)
            np.testing.assert_allclose(found.total, 8 * table[:500].sum(axis=0), rtol=1e-12)
            assert {pid for pid, _ in found.places} == set(client.run(os.getpid).values())


def test_a_scheduler_of_this_process_is_used_beside_a_cluster(client):
    with client.as_current(), dask.config.set(scheduler="synchronous"):
        found = DaskSource(da.from_array(X, chunks=(300, 6))).weighted(WEIGHT).fold(trace)
    assert {pid for pid, _ in found.places} == {os.getpid()}
    np.testing.assert_allclose(found.total, WEIGHT @ X, rtol=1e-9)


def test_errors_of_the_workers_arrive_here(scheduler):
    def fail(block: Block) -> Trace:
        raise DataError("X has inf in row 3")

    with pytest.raises(DataError, match="inf in row 3"):
        DaskSource(da.from_array(X, chunks=(500, 6))).fold(fail)


def test_rows_stream_in_order(scheduler):
    source = DaskSource(da.from_array(X, chunks=(77, 2)))
    np.testing.assert_array_equal(np.concatenate(list(source.rows())), X)
    assert (source.n_rows, source.n_features, source.in_memory) == (1000, 6, False)
    weighted = source.weighted(WEIGHT)
    np.testing.assert_array_equal(np.concatenate([block.weight for block in weighted.blocks()]), WEIGHT)


@pytest.mark.parametrize(("dtype", "expected"), [("f4", "f4"), ("f8", "f8"), ("i4", "f8"), ("?", "f8")])
def test_dtypes(dtype, expected):
    source = DaskSource(da.from_array((X > 0).astype(dtype), chunks=(300, 6)))
    assert source.dtype == np.dtype(expected)
    assert {block.dtype for block in source.rows()} == {np.dtype(expected)}
    assert source.fold(lambda block: np.array([block.rows.dtype == expected], dtype=int)) == 4


def test_unknown_chunk_lengths_are_measured():
    rows = da.from_array(X, chunks=(300, 3))
    source = DaskSource(rows[rows[:, 0] > 0])
    kept = X[X[:, 0] > 0]
    assert source.n_rows == len(kept)
    np.testing.assert_array_equal(np.concatenate(list(source.rows())), kept)


def test_sparse_chunks_stay_sparse():
    S = sparse.random(400, 30, density=0.05, random_state=0, format="csr")
    rows = da.from_array(S.toarray(), chunks=(150, 30)).map_blocks(sparse.csr_matrix)
    kinds = DaskSource(rows).fold(lambda block: Trace(np.asarray(block.rows.sum(axis=0)).ravel(), (type(block.rows),)))
    assert set(kinds.places) == {sparse.csr_matrix}
    np.testing.assert_allclose(kinds.total, S.toarray().sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (da.zeros((0, 3)), "0 rows"),
        (da.zeros(3), "1 dimension; 2 are needed"),
        (da.zeros((3, 2), dtype=complex), "complex128"),
    ],
)
def test_rows_that_cannot_be_used(rows, message):
    with pytest.raises(DataError, match=message):
        DaskSource(rows).fold(trace)


def test_progress_ends_at_the_total():
    seen = []
    DaskSource(da.ones((10, 2), chunks=(4, 2))).fold(trace, lambda *step: seen.append(step), "moments")
    assert seen[-1] == (10, 10, "moments")


@pytest.mark.few(2)
@pytest.mark.parametrize("solver", ["auto", "covariance", "gram", "svd", "lanczos", "randomized"])
@pytest.mark.parametrize("weighted", [False, True])
def test_pca_on_a_cluster_is_pca_in_one_process(client, solver, weighted):
    """Every pass of every solver on two worker processes; many passes with the same weights must not collide."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1200, 12)) * np.linspace(1.0, 3.0, 12) + 50.0
    w = rng.integers(0, 3, 1200).astype(float) if weighted else None
    D = da.from_array(X, chunks=(250, 5))
    with client.as_current():
        found = PCA(3, solver=solver, standardize=True, random_state=0).fit(D, sample_weight=w)
        scores = found.transform(D)
        assert isinstance(scores, da.Array)
        scores = scores.compute()
    twin = PCA(3, solver=solver, standardize=True, random_state=0).fit(X, sample_weight=w)
    np.testing.assert_allclose(found.explained_variance_, twin.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(scores, twin.transform(X), atol=1e-8)


FRAME = pd.DataFrame(
    {
        "mass": RNG.standard_normal(200),
        "count": RNG.integers(0, 9, 200),
        "male": RNG.random(200) > 0.5,
        "single": RNG.standard_normal(200).astype(np.float32),
        "nullable": pd.array([None, 3, 4, 5] * 50, dtype="Int64"),
    }
)
GROUP = pd.Series(np.where(FRAME["mass"] > 0.2, "heavy", "light"))


@pytest.mark.parametrize("known", [True, False], ids=["known divisions", "unknown divisions"])
@pytest.mark.parametrize(
    ("model", "method", "columns"),
    [
        (PCA(2, standardize=True), "transform", ["mass", "count", "male", "single"]),
        (GaussianMixture(2, random_state=0), "impute", ["mass", "single", "nullable"]),
        (NaiveBayes(), "predict_proba", list(FRAME)),
        (LinearDiscriminant(), "predict", ["mass", "count", "single"]),
    ],
    ids=repr,
)
def test_a_frame_of_dask_is_its_pandas_frame(model, method, columns, known):
    frames = pytest.importorskip("dask.dataframe")
    lazy, labels = (frames.from_pandas(each, npartitions=3) for each in (FRAME[columns], GROUP))
    lazy = lazy if known else lazy.clear_divisions()
    weight = frames.from_pandas(pd.Series(WEIGHT[:200]), npartitions=3)
    found = getattr(model.fit(lazy, labels, sample_weight=weight), method)(lazy)
    assert isinstance(found, da.Array)
    assert model.feature_names_in_.tolist() == columns
    expected = np.asarray(getattr(model.fit(FRAME[columns], GROUP, sample_weight=WEIGHT[:200]), method)(FRAME[columns]))
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found.compute(), expected, rtol=1e-8, atol=1e-8)
    else:
        np.testing.assert_array_equal(found.compute(), expected)


def test_partitions_of_a_frame_may_be_empty():
    frames = pytest.importorskip("dask.dataframe")
    lazy = frames.from_pandas(FRAME[["mass", "count"]].sort_values("mass", ignore_index=True), npartitions=4)
    found = PCA(1).fit(lazy[lazy["mass"] > 0.5])
    kept = FRAME.loc[FRAME["mass"] > 0.5, ["mass", "count"]]
    assert found.n_samples_ == len(kept)
    np.testing.assert_allclose(found.explained_variance_, PCA(1).fit(kept).explained_variance_, rtol=1e-10)


def test_frames_of_dask_that_cannot_be_used():
    frames = pytest.importorskip("dask.dataframe")
    lazy = frames.from_pandas(FRAME[["mass", "count"]], npartitions=2)
    with pytest.raises(DataError, match="column 'town' does not hold numbers"):
        PCA(1).fit(lazy.assign(town="Rome"))
    with pytest.raises(DataError, match="X is a Series"):
        PCA(1).fit(lazy["mass"])
    with pytest.raises(DataError, match="their order differs"):
        PCA(1).fit(lazy).transform(lazy[["count", "mass"]])


def test_a_series_of_dask_is_one_column_of_a_density():
    lazy = pytest.importorskip("dask.dataframe").from_pandas(FRAME["mass"], npartitions=2)
    found, twin = (densities.Gaussian.fit(x) for x in (lazy, FRAME["mass"]))
    assert str(found) == str(twin)


HALF = np.arange(200) % 2
MIXED = pd.DataFrame(
    {
        "mass": RNG.standard_normal(200) + 6.0 * HALF,
        "count": RNG.poisson(2 + 6 * HALF),
        "town": pd.Series(np.where(RNG.random(200) < 0.15 + 0.7 * HALF, "Rome", "Oslo")).where(RNG.random(200) > 0.1),
        "size": pd.Categorical(np.where(RNG.random(200) < 0.3, "large", "small")),
    }
)


@pytest.mark.parametrize("scheduler", ["synchronous", "cluster"], indirect=True)
@pytest.mark.parametrize(
    "model",
    [NaiveBayes(), pytest.param(MixtureModel(2, n_init=1, random_state=0), marks=pytest.mark.long)],
    ids=["NaiveBayes", "MixtureModel"],
)
def test_a_frame_of_mixed_columns_is_its_pandas_frame(model, scheduler):
    lazy = pytest.importorskip("dask.dataframe").from_pandas(MIXED, npartitions=3)
    weight = WEIGHT[:200]
    expected = model.fit(MIXED, HALF, sample_weight=weight).predict_proba(MIXED)
    labels = model.predict(MIXED)
    found = model.fit(lazy, HALF, sample_weight=weight).predict_proba(lazy)
    assert isinstance(found, da.Array)
    assert (found.ndim, found.shape[1], found.dtype) == (2, 2, np.float64)
    np.testing.assert_allclose(found.compute(), expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(model.predict(lazy).compute(), labels)
    assert model.feature_names_in_.tolist() == list(MIXED)
