"""Workers of a cluster that die, raise or are absent: the same answer while one lives, else an error that says why."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

from eigenlens import PCA, GaussianMixture, workers
from eigenlens.data.dask import DaskSource
from eigenlens.errors import ClusterError, DataError

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1200, 4)) * [1.0, 2.0, 3.0, 4.0] + 3.0 * (np.arange(1200) % 2)[:, None]
WEIGHT = RNG.uniform(0.5, 2.0, 1200)


@contextmanager
def cluster(n_workers: int, processes: bool = False, **settings):
    names = {f"distributed.scheduler.{name.replace('_', '-')}": value for name, value in settings.items()}
    options = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "30s", **names}),
        LocalCluster(n_workers=n_workers, processes=processes, **options) as made,
        Client(made) as client,
    ):
        yield client


def rows(change=lambda low: None):
    """The table in chunks of 100 rows; `change(first row)` runs in each."""

    def chunk(block_info=None):
        (low, high), _ = block_info[None]["array-location"]
        change(low)
        return X[low:high]

    return da.map_blocks(chunk, chunks=((100,) * 12, (4,)), dtype=float, meta=np.empty((0, 0)))


def fail_at_300(low):
    if low == 300:
        raise OSError("the disk is gone")


@pytest.mark.parametrize("persisted", [False, True])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_the_rows_of_a_chunk_that_raises_are_named(persisted, weight):
    with cluster(2):
        table = rows(fail_at_300).persist() if persisted else rows(fail_at_300)
        with pytest.raises(ClusterError, match=r"rows 300 to 399 of X: .* raised OSError: the disk is gone") as caught:
            PCA(2).fit(table, sample_weight=weight)
    assert isinstance(caught.value.__cause__, OSError)


def test_the_rows_of_a_chunk_that_cannot_be_collected_are_named():
    with cluster(1), pytest.raises(ClusterError, match="rows 300 to 399 of X"):
        list(DaskSource(rows(fail_at_300)).rows())


def test_a_partition_that_raises_is_named_by_its_number():
    """How many rows the partitions of a frame have is not known before they are computed."""

    def fail_in_the_second(part, partition_info=None):
        if partition_info and partition_info["number"] == 2:
            raise OSError("the disk is gone")
        return part

    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")), npartitions=4)
    table = frame.map_partitions(fail_in_the_second, meta=frame._meta)
    with cluster(1), pytest.raises(ClusterError, match=r"^chunk 2 of X raised OSError: the disk is gone; see the logs"):
        PCA(2).fit(table)


def test_a_chunk_of_weights_that_raises_is_named():
    weight = rows(fail_at_300)[:, 0]
    with cluster(1), pytest.raises(ClusterError, match=r"chunk 3 of the Dask Array .* raised OSError"):
        PCA(2).fit(rows(), sample_weight=weight)


def test_a_chunk_that_raises_once_is_computed_again(tmp_path):
    seen = tmp_path / "seen"

    def fail_once(low):
        if low == 300 and not seen.exists():
            seen.touch()
            raise MemoryError("just now")

    with cluster(1):
        found = PCA(2).fit(rows(fail_once), sample_weight=WEIGHT)
    assert seen.exists()
    np.testing.assert_allclose(found.components_, PCA(2).fit(X, sample_weight=WEIGHT).components_, atol=1e-12)


def test_errors_of_the_package_arrive_as_they_are():
    def reject(block):
        raise DataError("X has inf in row 3")

    with cluster(1), pytest.raises(DataError, match="inf in row 3"):
        DaskSource(rows()).fold(reject)


@pytest.mark.parametrize("weight", [None, WEIGHT, da.from_array(WEIGHT, chunks=100)], ids=["none", "NumPy", "Dask"])
def test_without_workers_there_is_an_error_and_no_wait_without_end(weight, monkeypatch):
    monkeypatch.setattr(workers, "SECONDS_WITHOUT_WORKERS", 1.0)
    with cluster(0), pytest.raises(ClusterError, match="no worker for 1 seconds; start workers and fit again, or set"):
        PCA(2).fit(rows(), sample_weight=weight)


def test_a_worker_that_comes_late_does_the_work():
    with cluster(0) as client:
        threading.Timer(2.0, client.cluster.scale, [1]).start()
        found = PCA(2).fit(rows(), sample_weight=WEIGHT)
    np.testing.assert_allclose(found.components_, PCA(2).fit(X, sample_weight=WEIGHT).components_, atol=1e-12)


def test_an_interrupt_leaves_no_work_behind(tmp_path):
    def slow(low):
        (tmp_path / str(low)).touch()
        time.sleep(0.5)

    def interrupt():
        while not list(tmp_path.iterdir()):
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    with cluster(1) as client:
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            PCA(2).fit(rows(slow))
        while client.cluster.scheduler.tasks:  # those that run now end, and no other begins
            time.sleep(0.01)
    assert len(list(tmp_path.iterdir())) < 12


def test_a_fit_inside_a_task_leaves_its_place_to_the_tasks_that_it_needs():
    def fit(low):
        return PCA(2).fit(rows()).explained_variance_

    with cluster(1) as client:
        found = client.submit(fit, 0).result(timeout=60)
    np.testing.assert_allclose(found, PCA(2).fit(X).explained_variance_, rtol=1e-12)


# ---- workers that die -----------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("weight", [None, WEIGHT, da.from_array(WEIGHT, chunks=100)], ids=["none", "NumPy", "Dask"])
@pytest.mark.parametrize("persisted", [False, True])
def test_a_worker_that_dies_changes_no_digit(weight, persisted, tmp_path):
    """One of two workers kills itself in the fifth pass, with the weights and the model that it holds."""
    passes = tmp_path / "passes"

    def die_once(block):
        return block.rows.sum(axis=0) if block.weight is None else block.weight @ block.rows

    def kill_self(block):
        if not passes.exists():
            passes.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return die_once(block)

    w = None if weight is None else np.asarray(weight)
    with cluster(2, processes=True):
        source = DaskSource(rows().persist() if persisted else rows()).weighted(w)
        before = [source.fold(die_once) for _ in range(3)]
        found = source.fold(kill_self)
        model = GaussianMixture(2, random_state=0).fit(rows(), sample_weight=weight)
    assert passes.exists()
    for each in before:
        np.testing.assert_array_equal(found, each)
    with dask.config.set(scheduler="synchronous"):
        twin = GaussianMixture(2, random_state=0).fit(rows(), sample_weight=weight)
    np.testing.assert_allclose(model.means_, twin.means_, rtol=1e-12)


@pytest.mark.long
def test_the_rows_of_a_chunk_that_kills_its_workers_are_named(tmp_path):
    deaths = tmp_path / "deaths"

    def kill_at_300(low):
        if low == 300:
            with Path(deaths).open("a") as file:
                file.write("x")
            os.kill(os.getpid(), signal.SIGKILL)

    words = r"rows 300 to 399 of X: their chunk ended every worker that ran it: out of memory, perhaps"
    with cluster(2, processes=True, allowed_failures=1), pytest.raises(ClusterError, match=words):
        PCA(2).fit(rows(kill_at_300), sample_weight=WEIGHT)
    assert deaths.read_text() == "xx"
