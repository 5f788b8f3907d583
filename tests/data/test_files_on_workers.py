"""Files on a real cluster: the workers read the rows, this process none of them, and the answer is the same."""

from __future__ import annotations

import os
from pathlib import Path

import dask
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import eigenlens as el
from eigenlens.data.files.formats.npy import NpyReader
from eigenlens.data.files.formats.parquet import TableReader
from eigenlens.errors import DataError, SourceChanged

N = 6000
RNG = np.random.default_rng(0)
GROUP = 6.0 * (np.arange(N) % 2)[:, None]
X = RNG.standard_normal((N, 2)) @ RNG.standard_normal((2, 5)) + RNG.standard_normal((N, 5)) + 4.0 + GROUP
WEIGHT = RNG.uniform(0.5, 2.0, N)
Y = np.where(X[:, 0] > 7.0, "high", "low")


@pytest.fixture(scope="module")
def client():
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "30s"}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def files(tmp_path):
    names = [f"column{j}" for j in range(5)]
    holes = np.where(RNG.random(X.shape) < 0.05, np.nan, X)
    for i, part in enumerate(np.array_split(np.arange(N), 3)):
        np.save(tmp_path / f"part{i}.npy", X[part])
        for name, rows in (("whole", X), ("holes", holes)):
            table = pd.DataFrame(rows[part], columns=names)
            table.to_parquet(tmp_path / f"{name}{i}.parquet", row_group_size=700)
    return tmp_path


@pytest.fixture
def unread(monkeypatch):
    """Make reading rows in this process an error; the workers are others."""

    def reject(self, *arguments):
        raise AssertionError("rows were read in this process")

    monkeypatch.setattr(TableReader, "_decoded", reject)
    monkeypatch.setattr(TableReader, "_group_lengths", reject)
    monkeypatch.setattr(NpyReader, "_read", reject)


MODELS = {
    "PCA": (lambda: el.PCA(2), "whole*.parquet", "explained_variance_"),
    "PCA of .npy": (lambda: el.PCA(2), "part*.npy", "explained_variance_"),
    "ProbabilisticPCA": (lambda: el.ProbabilisticPCA(2), "whole*.parquet", "explained_variance_"),
    "LinearDiscriminant": (lambda: el.LinearDiscriminant(), "whole*.parquet", "means_"),
    "QuadraticDiscriminant": (lambda: el.QuadraticDiscriminant(), "part*.npy", "means_"),
}


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", MODELS)
def test_the_workers_read_the_rows_and_the_answer_is_the_same(client, files, name, weight, request):
    make, pattern, attribute = MODELS[name]
    with dask.config.set(scheduler="synchronous"):
        expected = make().fit(el.scan(files / pattern), Y, sample_weight=weight)
    request.getfixturevalue("unread")
    with client.as_current():
        found = make().fit(el.scan(files / pattern), Y, sample_weight=weight)
    np.testing.assert_allclose(getattr(found, attribute), getattr(expected, attribute), rtol=1e-12)


@pytest.mark.parametrize("make", [lambda: el.ProbabilisticPCA(2), lambda: el.GaussianMixture(2, random_state=0)])
def test_iterations_on_files_with_missing_values_give_the_same_answer(client, files, make, monkeypatch):
    monkeypatch.setattr("eigenlens.missing.expectation.MAX_COLLECTED_BYTES", 0)
    expected = make().fit(el.scan(files / "holes*.parquet"))
    with client.as_current():
        found = make().fit(el.scan(files / "holes*.parquet"))
    rows = pd.DataFrame(X, columns=found.feature_names_in_)
    np.testing.assert_allclose(found.score_samples(rows), expected.score_samples(rows), rtol=1e-10)


def test_several_parts_of_one_file_are_read_by_both_workers(client, files, monkeypatch):
    monkeypatch.setattr("eigenlens.data.files.formats.parquet.FILE_BLOCK_BYTES", 700 * 40)
    with client.as_current():
        source = el.scan(files / "whole0.parquet", block_rows=700)
        seen = source.fold(lambda block: ((os.getpid(), block.rows.shape[0]),))
    assert {pid for pid, _ in seen} <= set(client.run(os.getpid).values())
    assert sum(rows for _, rows in seen) == 2000


def test_a_file_that_workers_do_not_see_is_named(client, files, monkeypatch):
    source = el.scan(files / "whole*.parquet")
    hidden = Path(files / "whole1.parquet").rename(files / "elsewhere")
    with client.as_current(), pytest.raises(DataError, match=r"whole1.parquet' is not visible on a worker .* absolute"):
        el.PCA(1).fit(source)
    hidden.rename(files / "whole1.parquet")
    with client.as_current():
        assert el.PCA(1).fit(source).n_samples_ == N


def test_a_file_that_changes_between_two_passes_is_named(client, files):
    source = el.scan(files / "whole*.parquet")
    with client.as_current():
        el.PCA(1).fit(source)
        pd.DataFrame(X[:10]).to_parquet(files / "whole2.parquet")
        with pytest.raises(SourceChanged, match=r"whole2.parquet' has changed"):
            el.PCA(1).fit(source)


def test_formats_that_are_read_in_this_process_stay_there(client, files):
    pd.DataFrame(X, columns=list("abcde")).to_csv(files / "table.csv", index=False)
    with client.as_current():
        source = el.scan(files / "table.csv")
        assert not source.on_workers
        found = el.PCA(2).fit(source)
    np.testing.assert_allclose(found.explained_variance_, el.PCA(2).fit(X).explained_variance_, rtol=1e-12)
