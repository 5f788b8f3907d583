"""Missing entries: the observed-data likelihood, against a slow twin that knows nothing of latent variables."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from eigenlens import PCA, DataError, DataWarning, OptionError
from eigenlens.data.memory import ArraySource
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.missing.fit import fit_incomplete_rows


def table(n=300, d=6, k=2, share=0.2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, k)) @ rng.standard_normal((k, d)) * 2.0 + 0.7 * rng.standard_normal((n, d)) + 3.0
    M = X.copy()
    M[rng.random(X.shape) < share] = np.nan
    return X, M[~np.isnan(M).all(axis=1)]


def observed_loglik(M, mean, C):
    """Σ log N(x_o | mu_o, C_oo), row by row."""
    total = 0.0
    for row in M:
        o = ~np.isnan(row)
        total += multivariate_normal(mean[o], C[np.ix_(o, o)]).logpdf(row[o])
    return total


def start_of(d, k, seed=1):
    rng = np.random.default_rng(seed)
    return LinearGaussian(np.zeros(d), rng.standard_normal((d, k)), 1.0)


def test_the_path_is_the_observed_likelihood_and_never_falls():
    _, M = table()
    found = fit_incomplete_rows(ArraySource(M), [start_of(6, 2)])
    assert found.converged
    assert np.all(np.diff(found.path) >= -1e-9 * abs(found.path[-1]))
    twin = observed_loglik(M, found.model.mean, found.model.covariance())
    assert found.path[-1] == pytest.approx(twin, rel=1e-12)


@pytest.mark.long
def test_no_small_change_of_the_parameters_is_better():
    _, M = table()
    model = fit_incomplete_rows(ArraySource(M), [start_of(6, 2)], tol=1e-13).model
    best = observed_loglik(M, model.mean, model.covariance())
    rng = np.random.default_rng(2)
    for _ in range(30):
        moved = LinearGaussian(
            model.mean + 1e-3 * rng.standard_normal(6),
            model.loadings + 1e-3 * rng.standard_normal((6, 2)),
            float(model.noise) * np.exp(1e-3 * rng.standard_normal()),
        )
        assert observed_loglik(M, moved.mean, moved.covariance()) < best


def test_every_start_reaches_the_same_maximum():
    _, M = table()
    ends = [fit_incomplete_rows(ArraySource(M), [start_of(6, 2, seed)], tol=1e-13).path[-1] for seed in range(4)]
    np.testing.assert_allclose(ends, max(ends), rtol=1e-9)


def test_without_a_missing_entry_it_is_the_plain_fit():
    X, _ = table()
    plain, em = PCA(2).fit(X), PCA(2, missing="em").fit(X)
    np.testing.assert_array_equal(em.explained_variance_, plain.explained_variance_)
    np.testing.assert_array_equal(em.components_, plain.components_)


def test_one_missing_entry_changes_little_and_many_are_survived():
    X, M = table(n=4000, share=0.3)
    plain, em = PCA(2).fit(X), PCA(2, missing="em").fit(M)
    np.testing.assert_allclose(em.explained_variance_, plain.explained_variance_, rtol=0.05)
    assert np.linalg.svd(em.components_ @ plain.components_.T)[1].min() > 0.999
    assert em.noise_variance_ == pytest.approx(plain.noise_variance_, rel=0.05)
    assert em.solver_.solver == "em"


def test_blocks_weights_and_sources_change_nothing():
    _, M = table(n=90)
    w = np.random.default_rng(3).integers(0, 3, len(M))
    start = start_of(6, 2)
    weighted = fit_incomplete_rows(ArraySource(M, block_rows=17).weighted(w.astype(float)), [start])
    copies = fit_incomplete_rows(ArraySource(np.repeat(M, w, axis=0)), [start])
    np.testing.assert_allclose(weighted.path, copies.path, rtol=1e-11)
    np.testing.assert_allclose(weighted.model.covariance(), copies.model.covariance(), rtol=1e-9)


def test_scores_of_a_row_are_those_of_its_conditional_mean():
    _, M = table()
    pca = PCA(2, missing="em").fit(M)
    C, mu, row = pca.get_covariance(), pca.mean_, M[np.isnan(M).any(axis=1)][0]
    o = ~np.isnan(row)
    filled = row.copy()
    filled[~o] = mu[~o] + C[np.ix_(~o, o)] @ np.linalg.solve(C[np.ix_(o, o)], row[o] - mu[o])
    np.testing.assert_allclose(pca.transform(row[None])[0], pca.components_ @ (filled - mu), rtol=1e-8)


def test_standardised_and_shared():
    _, M = table(n=500)
    scaled = M * np.array([1.0, 10.0, 100.0, 1.0, 0.1, 1.0])
    a, b = (PCA(2, missing="em", standardize=True).fit(X) for X in (M, scaled))
    np.testing.assert_allclose(a.explained_variance_, b.explained_variance_, rtol=1e-6)
    assert PCA(0.8, missing="em").fit(M).n_components_ == PCA(0.8).fit(table(n=500)[0]).n_components_


def test_a_column_without_entries_and_other_ugly_tables():
    _, M = table()
    M[:, 3] = np.nan
    with pytest.raises(DataError, match="column 3 of X has no observed entry"):
        PCA(2, missing="em").fit(M)
    M[:, 3] = np.inf
    with pytest.raises(DataError, match="infinity"):
        PCA(2, missing="em").fit(M)
    with pytest.raises(DataError, match="NaN"):
        PCA(2).fit(table()[1])


def test_em_fits_keep_no_moments_of_filled_rows():
    """Filled rows are a start, not data: models that may be updated with more rows are rejected."""
    _, M = table()
    with pytest.raises(OptionError, match="kept no moments"):
        PCA(2, missing="em").fit(M).partial_fit(M)


def test_dtype_and_complete_rows():
    X, M = table()
    single = PCA(2, missing="em").fit(M.astype(np.float32))
    assert single.transform(M.astype(np.float32)).dtype == np.float32
    whole = PCA(missing="em").fit(X)
    np.testing.assert_allclose(whole.transform(X), PCA().fit_transform(X), atol=1e-10)


def test_rows_without_entries_units_and_all_components():
    _, M = table()
    plain = PCA(2, missing="em").fit(M).explained_variance_
    with pytest.warns(DataWarning, match="1 row has no observed entry"):
        found = PCA(2, missing="em").fit(np.vstack([M, [np.nan] * 6]))
    np.testing.assert_allclose(found.explained_variance_, plain, rtol=1e-8)
    assert found.n_samples_ == len(M)
    np.testing.assert_allclose(PCA(2, missing="em").fit(M * 1e-6).explained_variance_ * 1e12, plain, rtol=1e-8)
    whole = PCA(6, missing="em").fit(M)
    np.testing.assert_allclose(whole.components_ @ whole.components_.T, np.eye(6), atol=1e-12)
    assert whole.explained_variance_.sum() == pytest.approx(whole.total_variance_, rel=1e-12)


def test_one_column_and_two_rows():
    _, M = table()
    found = PCA(1, missing="em").fit(M[:, :1])
    np.testing.assert_allclose(found.explained_variance_, [np.nanvar(M[:, 0], ddof=1)], rtol=1e-12)
    assert np.all(np.isfinite(PCA(1, missing="em").fit([[1.0, np.nan, 2.0], [2.0, 3.0, 5.0]]).explained_variance_))


def test_missing_values_in_new_rows_after_a_complete_fit():
    X, _ = table()
    pca = PCA(missing="em").fit(X)
    row = X[:1].copy()
    row[0, 2] = np.nan
    o = ~np.isnan(row[0])
    C, mu = np.cov(X.T), X.mean(axis=0)
    row[0, 2] = mu[2] + C[2, o] @ np.linalg.solve(C[np.ix_(o, o)], row[0, o] - mu[o])
    filled = pca.components_ @ (row[0] - mu)
    row[0, 2] = np.nan
    np.testing.assert_allclose(pca.transform(row)[0], filled, atol=1e-5)
