"""`write_results`: files to files, the same numbers as those of arrays, the old file where something fails."""

from __future__ import annotations

import json
import os
import resource
import signal

import numpy as np
import polars as pl
import pytest

import eigenlens
from eigenlens import PCA, GaussianMixture, NaiveBayes, ProbabilisticPCA, write_results
from eigenlens.data.files import file_parts
from eigenlens.errors import DataError, OptionError, SourceChanged

N = 300
X = np.random.default_rng(0).standard_normal((N, 3)) @ np.array([[3.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 1.0]])
HOLES = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
HOLES[:, 0] = X[:, 0]
CLASSES = np.resize(["u", "v"], N)

METHODS = {
    "transform": lambda: PCA(2).fit(X).transform,
    "impute": lambda: ProbabilisticPCA(1).fit(HOLES).impute,
    "predict": lambda: NaiveBayes("gaussian").fit(X, CLASSES).predict,
    "predict_proba": lambda: NaiveBayes("gaussian").fit(X, CLASSES).predict_proba,
    "score_samples": lambda: GaussianMixture(2, random_state=0).fit(X).score_samples,
}
NAMES = {
    "transform": ["PC1", "PC2"],
    "impute": ["x0", "x1", "x2"],
    "predict": ["predicted"],
    "predict_proba": ["p(u)", "p(v)"],
    "score_samples": ["log_density"],
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(file_parts, "BLOCK_BYTES", 40 * 3 * 8)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".arrow", ".feather", ".npy", ".json"])
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.few(15)
def test_the_file_has_what_the_method_gives(tmp_path, name, suffix):
    method, rows = METHODS[name](), HOLES if name == "impute" else X
    if suffix == ".npy" and name == "predict":
        pytest.skip("classes are text, which .npy cannot hold")
    np.save(tmp_path / "rows.npy", rows)
    target = tmp_path / f"out{suffix}"
    assert write_results(method, eigenlens.scan(tmp_path / "rows.npy"), target) == N
    expected = np.asarray(method(rows))
    expected = expected[:, None] if expected.ndim == 1 else expected
    if suffix == ".npy":
        np.testing.assert_allclose(np.load(target), expected, rtol=1e-12, atol=1e-13)
        return
    frame = {
        ".csv": pl.read_csv,
        ".tsv": lambda path: pl.read_csv(path, separator="\t"),
        ".parquet": pl.read_parquet,
        ".json": lambda path: pl.DataFrame(json.loads(path.read_text())),
    }.get(suffix, pl.read_ipc)(target)
    assert frame.columns == NAMES[name]
    found = frame.to_numpy()
    if name == "predict":
        assert found.tolist() == expected.tolist()
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_ids_stand_beside_the_results_and_deviations_after_them(tmp_path):
    pl.DataFrame({"who": [f"{i:03d}" for i in range(N)]} | {f"x{j}": HOLES[:, j] for j in range(3)}).write_csv(
        tmp_path / "rows.csv", null_value=""
    )
    rows = eigenlens.scan(tmp_path / "rows.csv", id="who", na=["NaN"])
    ppca = ProbabilisticPCA(1).fit(rows)
    write_results(ppca.impute, rows, tmp_path / "out.parquet", return_std=True)
    found = pl.read_parquet(tmp_path / "out.parquet")
    assert found.columns == ["who", "x0", "x1", "x2", "x0_std", "x1_std", "x2_std"]
    assert found["who"].to_list() == [f"{i:03d}" for i in range(N)]
    assert np.isnan(HOLES[:, 1]).tolist() == (found["x1_std"] > 0.0).to_list()


def test_arrays_and_frames_are_rows_too(tmp_path):
    pca = PCA(2).fit(X)
    assert write_results(pca.transform, X, tmp_path / "a.npy") == N
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), pca.transform(X))


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".npy"])
def test_a_full_disk_leaves_the_old_file(tmp_path, suffix):
    target = tmp_path / f"out{suffix}"
    target.write_bytes(b"old")
    pca = PCA(2).fit(X)
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match=r"File too large|No space"):
            write_results(pca.transform, X, target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [target.name]


@pytest.mark.parametrize("harm", ["vanishes", "changes", "is cut"])
def test_rows_that_change_in_mid_pass_leave_the_old_file(tmp_path, harm):
    path, target = tmp_path / "rows.npy", tmp_path / "out.parquet"
    np.save(path, X)
    target.write_bytes(b"old")

    class Harmful(PCA):
        def transform(self, rows):
            if harm == "vanishes":
                path.unlink(missing_ok=True)
            else:
                np.save(path, X[: 200 if harm == "is cut" else N])
            return super().transform(rows)

    pca = Harmful(2).fit(X)
    with pytest.raises(SourceChanged, match=r"vanished|changed"):
        write_results(pca.transform, eigenlens.scan(path), target)
    assert target.read_bytes() == b"old"


def test_what_is_not_a_method_or_a_table_is_an_error(tmp_path):
    pca = PCA(2).fit(X)
    with pytest.raises(OptionError, match="is not a method of a fitted model"):
        write_results(np.mean, X, tmp_path / "a.csv")
    with pytest.raises(OptionError, match=r"output='.*a.txt' has no suffix of a table"):
        write_results(pca.transform, X, tmp_path / "a.txt")
    with pytest.raises(DataError, match=r"rows 1 to \d+: X contains NaN"):
        write_results(pca.transform, np.full((3, 3), np.nan), tmp_path / "a.csv")
    assert os.listdir(tmp_path) == []
