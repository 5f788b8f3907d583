"""`SparsePCA` against exhaustive search over supports, published components, and other models."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

import eigenlens
from eigenlens import PCA, DataError, OptionError, SparsePCA, plot
from eigenlens.cli import main
from eigenlens.sparse_pca.best_support import best_direction, truncated_power
from references import pitprops


def rows(n=80, d=8, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + np.arange(d)


def by_trying_all(A, s):
    """Return the largest first eigenvalue of all parts of A with s rows, and where it is."""
    supports = [list(each) for each in combinations(range(len(A)), s)]
    values = [np.linalg.eigvalsh(A[np.ix_(each, each)])[-1] for each in supports]
    return max(values), supports[int(np.argmax(values))]


# ---- one direction ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("s", [1, 2, 3, 5, 9])
def test_the_best_of_all_supports_is_found_and_proved(seed, s):
    rng = np.random.default_rng(seed)
    A = np.cov(rng.standard_normal((12, 10)) * rng.uniform(0.5, 2.0, 10), rowvar=False)
    found, (best, support) = best_direction(A, s, 5000), by_trying_all(A, s)
    assert found.variance == pytest.approx(best, rel=1e-12)
    assert np.flatnonzero(found.vector).tolist() == support
    assert found.bound == pytest.approx(best, rel=1e-8)
    assert found.vector @ A @ found.vector == pytest.approx(best, rel=1e-12)
    assert np.linalg.norm(found.vector) == pytest.approx(1.0)


def test_without_a_search_there_is_still_a_bound():
    A = np.cov(np.random.default_rng(1).standard_normal((12, 10)), rowvar=False)
    for s in (2, 4, 7):
        found, best = best_direction(A, s, 0), by_trying_all(A, s)[0]
        assert found.variance <= best * (1 + 1e-12)
        assert found.bound >= best * (1 - 1e-12)
        few = best_direction(A, s, 5)
        assert found.bound * (1 + 1e-12) >= few.bound >= best * (1 - 1e-12)


def test_truncated_power_steps_find_a_planted_support_among_many_columns():
    rng = np.random.default_rng(2)
    v = np.zeros(400)
    v[rng.choice(400, 8, replace=False)] = 1.0 / np.sqrt(8.0)
    X = rng.standard_normal((300, 400)) + 6.0 * rng.standard_normal((300, 1)) * v
    A = np.cov(X, rowvar=False)
    np.testing.assert_array_equal(truncated_power(A, A[:, np.argmax(v)], 8), np.flatnonzero(v))
    found = SparsePCA(1, n_nonzero=8).fit(X)
    np.testing.assert_array_equal(np.flatnonzero(found.components_[0]), np.flatnonzero(v))
    assert found.bound_[0] >= found.explained_variance_[0]


# ---- several ------------------------------------------------------------------------------------------------


def test_variances_are_those_of_zou_hastie_and_tibshirani():
    X = rows()
    found = SparsePCA(4, n_nonzero=[3, 2, 4, 1]).fit(X)
    assert np.count_nonzero(found.components_, axis=1).tolist() == [3, 2, 4, 1]
    R = np.linalg.qr(found.transform(X))[1]
    np.testing.assert_allclose(found.explained_variance_, np.diag(R) ** 2 / (len(X) - 1), rtol=1e-10)
    np.testing.assert_allclose(found.total_variance_, X.var(axis=0, ddof=1).sum())
    assert found.optimal_.all()
    A, v = np.cov(X, rowvar=False), found.components_[0]
    A = A - np.outer(A @ v, A @ v) / (v @ A @ v)
    np.testing.assert_allclose(found.explained_variance_[1], by_trying_all(A, 2)[0], rtol=1e-10)


def test_pit_props():
    for s in (2, 5, 7, 9):
        best = by_trying_all(pitprops.CORRELATIONS, s)[0]
        found = SparsePCA(1, n_nonzero=s).fit_covariance(pitprops.CORRELATIONS, pitprops.N)
        np.testing.assert_allclose(found.explained_variance_[0], best, rtol=1e-12)
        assert found.optimal_.all()
    seven = SparsePCA(1, n_nonzero=7).fit_covariance(pitprops.CORRELATIONS, pitprops.N)
    ordinary = PCA(6).fit_covariance(pitprops.CORRELATIONS, pitprops.N)
    shares = seven.explained_variance_ratio_[0], ordinary.explained_variance_ratio_[0]
    np.testing.assert_allclose(shares, (0.307, 0.325), atol=5e-4)
    six = SparsePCA(6, n_nonzero=[7, 4, 4, 1, 1, 1]).fit_covariance(pitprops.CORRELATIONS, pitprops.N)
    assert 0.9 < six.explained_variance_ratio_[0] / ordinary.explained_variance_ratio_[0] < 1.0
    assert 0.85 < six.explained_variance_.sum() / ordinary.explained_variance_.sum() < 1.0
    assert six.optimal_.all()


def test_all_columns_are_principal_components():
    X = rows()
    found, pca = SparsePCA(3, n_nonzero=8).fit(X), PCA(3).fit(X)
    np.testing.assert_allclose(found.components_, pca.components_, atol=1e-8)
    np.testing.assert_allclose(found.explained_variance_, pca.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(found.transform(X), pca.transform(X), atol=1e-8)
    np.testing.assert_allclose(found.reconstruction_error(X), pca.reconstruction_error(X), rtol=1e-6)


def test_the_direction_of_scikit_learn_with_its_own_support():
    from sklearn.decomposition import SparsePCA as Other

    rng = np.random.default_rng(0)
    Z = rng.standard_normal((400, 2)) * [3.0, 2.0]
    X = Z @ np.kron(np.eye(2), np.ones(4)) + 0.3 * rng.standard_normal((400, 8))
    other = Other(2, alpha=1.0, random_state=0).fit(X).components_
    found = SparsePCA(2, n_nonzero=4).fit(X).components_
    order = np.argsort([np.flatnonzero(np.abs(v) > 1e-2)[0] for v in other])
    for mine, theirs in zip(found, other[order], strict=True):
        assert abs(mine @ theirs) / np.linalg.norm(theirs) > 0.999


# ---- rows of every kind -------------------------------------------------------------------------------------


def test_weights_containers_and_standardisation():
    X = rows()
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    twin = SparsePCA(3, n_nonzero=3).fit(np.repeat(X, weight.astype(int), axis=0))
    np.testing.assert_allclose(SparsePCA(3, n_nonzero=3).fit(X, sample_weight=weight).components_, twin.components_)
    plain = SparsePCA(3, n_nonzero=3).fit(X)
    for other in (sparse.csr_array(X), pl.DataFrame(X), X.astype(np.float32)):
        found = SparsePCA(3, n_nonzero=3).fit(other)
        np.testing.assert_allclose(np.asarray(found.components_), plain.components_, atol=2e-5)
        np.testing.assert_allclose(np.asarray(found.transform(other)), plain.transform(X), atol=2e-3)
    assert SparsePCA().fit(X.astype(np.float32)).transform(X.astype(np.float32)).dtype == np.float32
    scaled = SparsePCA(3, n_nonzero=3, standardize=True).fit(X * np.logspace(0, 3, 8))
    np.testing.assert_allclose(scaled.components_, SparsePCA(3, n_nonzero=3, standardize=True).fit(X).components_)
    np.testing.assert_allclose(scaled.total_variance_, 8.0)


def test_dask_rows_give_dask_scores():
    array = pytest.importorskip("dask.array")
    X = rows()
    lazy = array.from_array(X, chunks=(20, 8))
    found, plain = SparsePCA(2, n_nonzero=3).fit(lazy), SparsePCA(2, n_nonzero=3).fit(X)
    np.testing.assert_allclose(found.transform(lazy).compute(), plain.transform(X), atol=1e-10)
    np.testing.assert_allclose(found.reconstruction_error(lazy).compute(), plain.reconstruction_error(X), atol=1e-9)


def test_rows_of_the_space_come_back():
    X = rows()
    found = SparsePCA(3, n_nonzero=[3, 2, 1]).fit(X)
    back = found.inverse_transform(found.transform(X))
    np.testing.assert_allclose(found.inverse_transform(found.transform(back)), back, atol=1e-10)
    Q = np.linalg.qr(found.components_.T)[0]
    np.testing.assert_allclose(back, found.mean_ + (X - found.mean_) @ Q @ Q.T, atol=1e-10)


def test_files_and_plots(tmp_path):
    X = rows()
    found = SparsePCA(2, n_nonzero=[3, 2]).fit(pl.DataFrame(X, schema=list("abcdefgh")))
    found.save(tmp_path / "s.safetensors")
    again = eigenlens.load(tmp_path / "s.safetensors")
    np.testing.assert_array_equal(again.components_, found.components_)
    assert (again.n_nonzero, again.optimal_.tolist(), again.n_samples_) == ([3, 2], [True, True], 80)
    frame = pl.DataFrame(X, schema=list("abcdefgh"))
    assert plot.scores(again, frame).get_xlabel().startswith("SPC1 (")
    assert plot.loadings(again).get_xticklabels()[0].get_text().startswith("SPC1")


def test_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(rows(), schema=list("abcdefgh")).write_csv("x.csv")
    assert main(["fit", "spca", "x.csv", "-k", "2", "--nonzero", "[3,2]", "--standardize", "-o", "s.safetensors"]) == 0
    assert "2 sparse components explain" in capsys.readouterr().out
    twin = SparsePCA(2, n_nonzero=[3, 2], standardize=True).fit(rows())
    np.testing.assert_allclose(eigenlens.load("s.safetensors").components_, twin.components_, atol=1e-9)
    assert main(["transform", "s.safetensors", "x.csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "SPC1,SPC2"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 9}, "n_components=9 must be at most 8"),
        ({"n_nonzero": 0}, "n_nonzero=0 must be at least 1"),
        ({"n_nonzero": [3, 2, 1]}, "3 numbers for 2 components"),
        ({"n_nonzero": [3, 9]}, "must be at most 8"),
        ({"max_nodes": -1}, "max_nodes=-1"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(OptionError, match=message):
        SparsePCA(**options).fit(rows())


def test_rows_that_have_too_little():
    flat = rows()[:, :2] @ np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    with pytest.raises(OptionError, match="n_components=3 is more than the 2 that explain all the variance"):
        SparsePCA(3, n_nonzero=2).fit(flat)
    with pytest.raises(DataError, match="NaN"):
        SparsePCA().fit([[1.0, np.nan], [2.0, 1.0], [0.0, 3.0]])


@parametrize_with_checks([SparsePCA(1), SparsePCA(1, n_nonzero=1, standardize=True)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)
