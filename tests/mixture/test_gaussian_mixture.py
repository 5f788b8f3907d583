"""`GaussianMixture` as users meet it: every kind of X, files, warnings and errors."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import kstest
from sklearn.base import clone
from sklearn.mixture import GaussianMixture as Peer
from sklearn.utils.estimator_checks import check_estimator
from threadpoolctl import threadpool_limits

from eigenlens import ConvergenceWarning, DataError, DataWarning, OptionError, scan
from eigenlens import model_file as io
from eigenlens.errors import ModelFileError
from eigenlens.mixture.estimator import GaussianMixture
from references import crabs, mclust

STRUCTURES = ["full", "tied", "diag", "spherical", "ppca", "factor"]
SHAPES = {"full": (3, 4, 4), "tied": (4, 4), "diag": (3, 4), "spherical": (3,), "ppca": (3, 4, 4), "factor": (3, 4, 4)}


def rows(n=300, d=4, seed=0, spread=5.0):
    rng = np.random.default_rng(seed)
    centres = spread * rng.standard_normal((3, d))
    labels = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    return centres[labels] + rng.standard_normal((n, d)) * rng.uniform(0.5, 1.5, (3, d))[labels]


def mixture(K=3, **options):
    return GaussianMixture(K, **({"n_init": 4, "random_state": 0} | options))


NOT_A_CLASSIFIER = {
    f"check_estimator_sparse_{kind}": "asks for the probabilities of two or four classes of whatever takes sparse rows"
    for kind in ("array", "matrix")
}


@pytest.mark.few(1)
@pytest.mark.parametrize(("K", "name"), [(1, "tied"), (2, "full"), (2, "diag"), (2, "spherical")])
def test_scikit_learns_own_checks(K, name):
    """Weights are copies in whatever order, even of its 15 rows in 30 columns, whose likelihood has no maximum."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # some of its rows have a constant column, or are in a plane
        check_estimator(
            mixture(K, covariance_type=name), expected_failed_checks=NOT_A_CLASSIFIER, on_skip=None, on_fail="raise"
        )


# ---- what was learned ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STRUCTURES)
def test_attributes(name):
    X = rows()
    fit = mixture(covariance_type=name, n_factors=2).fit(X)
    assert fit.weights_.shape == (3,)
    assert np.all(np.diff(fit.weights_) <= 0.0)
    assert fit.means_.shape == (3, 4)
    assert fit.covariances_.shape == SHAPES[name]
    assert fit.loglik_ == pytest.approx(fit.score_samples(X).sum(), rel=1e-11)
    assert fit.score(X) == pytest.approx(fit.loglik_ / 300, rel=1e-11)
    assert np.all(np.diff(fit.loglik_path_) >= 0.0)
    assert fit.loglik_path_[-1] == pytest.approx(fit.loglik_)
    assert (fit.converged_, fit.n_components_, fit.n_samples_) == (True, 3, 300)
    assert fit.n_iter_ >= 1
    proba = fit.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(fit.predict(X), proba.argmax(axis=1))
    np.testing.assert_array_equal(clone(fit).fit_predict(X), fit.predict(X))


@pytest.mark.parametrize("name", ["full", "tied", "diag", "spherical"])
def test_plain_steps_from_the_same_start_are_scikit_learns(name):
    X = rows(spread=2.0)
    pi, mu, C = np.full(3, 1 / 3), X[:3], {"full": np.tile(3 * np.eye(4), (3, 1, 1)), "tied": 3 * np.eye(4)}
    C = C.get(name, np.full(SHAPES[name], 3.0))
    precisions = np.linalg.inv(C) if name in ("full", "tied") else 1.0 / C
    peer = Peer(
        3, covariance_type=name, weights_init=pi, means_init=mu, precisions_init=precisions, reg_covar=0.0, tol=0.0,
        max_iter=12,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(X)
    with pytest.warns(ConvergenceWarning):
        fit = mixture(covariance_type=name, init=(pi, mu, C), accelerate=False, max_iter=12, tol=1e-15).fit(X)
    assert fit.n_iter_ == 12
    assert fit.loglik_ == pytest.approx(300 * peer.score(X), rel=1e-10)
    np.testing.assert_allclose(
        fit.model_.means[np.argsort(fit.means_[:, 0])], peer.means_[np.argsort(peer.means_[:, 0])], rtol=1e-9
    )
    assert fit.aic() - fit.bic() == pytest.approx(peer.aic(X) - peer.bic(X))


def test_criteria():
    X = mclust.FAITHFUL
    fit = mixture(2, n_init=20).fit(X)
    assert fit.bic() == pytest.approx(fit.bic(X)) == pytest.approx(2322.19174309875, abs=1e-4)
    assert fit.aic() == pytest.approx(fit.aic(X)) == pytest.approx(-2 * fit.loglik_ + 22)
    w = np.arange(272) % 3
    copies = np.repeat(X, w, axis=0)
    assert fit.bic(X, sample_weight=w) == pytest.approx(fit.bic(copies))
    assert fit.icl(X, sample_weight=w) == pytest.approx(fit.icl(copies))
    assert fit.score(X, sample_weight=w) == pytest.approx(fit.score(copies))
    with pytest.raises(OptionError, match="sample_weight"):
        fit.bic(sample_weight=w)


def test_icl_is_mclusts():
    known = mclust.FAITHFUL_EEE_3
    start = (known["weights"], known["means"], known["covariance"])
    fit = mixture(3, covariance_type="tied", init=start, tol=1e3, max_iter=3).fit(mclust.FAITHFUL)
    assert fit.icl(mclust.FAITHFUL) == pytest.approx(-known["icl"], abs=0.3)  # its responsibilities are a step behind
    np.testing.assert_allclose(fit.means_, known["means"], rtol=1e-2)


def test_starts():
    X = rows()
    best = mixture(n_init=10).fit(X)
    again = mixture(init=best.model_).fit(X)
    assert again.n_iter_ <= 6
    assert again.loglik_ == pytest.approx(best.loglik_)
    shares = mixture(init=best.predict_proba(X)).fit(X)
    np.testing.assert_allclose(shares.means_, best.means_, atol=1e-4)
    for init in ("k-means", "random", lambda Y, weight, K, rng: Y[rng.choice(len(Y), K)]):
        assert mixture(n_init=10, init=init).fit(X).loglik_ == pytest.approx(best.loglik_, abs=1e-4)
    order = [2, 0, 1]
    turned = (best.weights_[order], best.means_[order], best.covariances_[order])
    np.testing.assert_allclose(mixture(init=turned).fit(X).means_, best.means_[order], atol=1e-3)


@pytest.mark.parametrize("name", STRUCTURES)
def test_starts_of_every_structure(name):
    X = rows()
    first = mixture(covariance_type=name).fit(X)
    for init in (first.model_, (first.weights_, first.means_, first.covariances_)):
        again = mixture(covariance_type=name, init=init).fit(X)
        assert again.loglik_ == pytest.approx(first.loglik_, abs=1e-4)


# ---- other densities ----------------------------------------------------------------------------------------


def test_samples():
    fit = mixture().fit(rows(3000))
    X, labels = fit.sample(100_000, return_labels=True)
    np.testing.assert_allclose(X.mean(axis=0), fit.model_.mean, atol=0.1)
    np.testing.assert_allclose(np.bincount(labels) / 1e5, fit.weights_, atol=0.01)
    np.testing.assert_array_equal(fit.sample(3), fit.sample(3, random_state=0))
    assert not np.array_equal(fit.sample(3), fit.sample(3, random_state=1))


def test_one_dimension_has_a_cdf():
    x = np.sort(rows(3000)[:, :1], axis=0)
    fit = mixture().fit(x)
    assert kstest(fit.sample(2000).ravel(), fit.cdf).pvalue > 0.01
    assert kstest(x.ravel(), fit.cdf).pvalue > 0.01
    with pytest.raises(OptionError, match="cdf needs one dimension"):
        mixture().fit(rows()).cdf([0.0])


def test_regression_by_conditioning():
    """y = |x| is no line; a mixture finds both arms, and their conditional mean by name."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, 2000)
    frame = pd.DataFrame({"x": x, "y": np.abs(x) + 0.1 * rng.standard_normal(2000)})
    fit = mixture(6).fit(frame)
    for at in (-2.0, 1.5):
        given = fit.condition("x", at)
        assert given.mean[0] == pytest.approx(abs(at), abs=0.1)
        assert np.sqrt(given.covariance()[0, 0]) < 0.2
    np.testing.assert_array_equal(fit.condition(["x"], [1.0]).mean, fit.condition(0, 1.0).mean)
    assert fit.marginal(["y"]).means.shape == (6, 1)


def test_bad_columns():
    fit = mixture().fit(rows())
    for columns, values in (("x", 0.0), ([4], [0.0]), ([0, 0], [0.0, 0.0]), ([], []), (range(4), np.zeros(4))):
        with pytest.raises(OptionError, match="columns"):
            fit.condition(columns, values)
    with pytest.raises(DataError, match=r"values=\[0.0\] must be 2 numbers"):
        fit.condition([0, 1], [0.0])


# ---- every kind of rows -------------------------------------------------------------------------------------


@pytest.mark.few(4)
@pytest.mark.parametrize("name", STRUCTURES)
def test_every_kind_of_rows_gives_the_same_mixture(name, tmp_path):
    da = pytest.importorskip("dask.array")
    X = rows()
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=80)
    fit = mixture(covariance_type=name).fit(X)
    kinds = [
        np.asfortranarray(X), X[::-1][::-1], frame, scan(tmp_path / "rows.parquet"), da.from_array(X, chunks=(70, 4)),
        sp.csr_matrix(X),
    ]  # fmt: skip
    for kind in kinds:
        other = mixture(covariance_type=name).fit(kind)
        np.testing.assert_allclose(other.means_, fit.means_, rtol=1e-4, atol=1e-4, err_msg=type(kind).__name__)
        assert other.loglik_ == pytest.approx(fit.loglik_, rel=1e-8)
        np.testing.assert_allclose(other.predict_proba(kind), fit.predict_proba(X), atol=1e-4)


def test_float32_stays():
    X = rows().astype(np.float32)
    fit = mixture().fit(X)
    assert fit.means_.dtype == fit.covariances_.dtype == fit.predict_proba(X).dtype == fit.sample(2).dtype == np.float32
    assert fit.score_samples(X).dtype == np.float64


def test_weights_of_zero_leave_rows_out():
    X = rows()
    X[:5] = 1e6
    w = np.ones(300)
    w[:5] = 0.0
    fit = mixture().fit(X, sample_weight=w)
    np.testing.assert_allclose(fit.means_, mixture().fit(X[5:]).means_, rtol=1e-6)
    assert fit.n_samples_ == 295


# ---- missing entries ----------------------------------------------------------------------------------------


def with_missing(X, share=0.2, seed=7):
    """Incomplete rows, none of them missing in all columns."""
    gaps = np.random.default_rng(seed).random(X.shape) < share
    gaps[gaps.all(axis=1), 0] = False
    return np.where(gaps, np.nan, X)


@pytest.mark.parametrize("name", STRUCTURES)
def test_every_method_takes_missing_values(name):
    X = with_missing(rows())
    fit = mixture(covariance_type=name).fit(X)
    assert fit.converged_
    assert fit.score_samples(X).sum() == pytest.approx(fit.loglik_, rel=1e-10)
    assert fit.bic(X) == pytest.approx(fit.bic(), rel=1e-10)
    proba = fit.predict_proba(X)
    np.testing.assert_array_equal(fit.predict(X), proba.argmax(axis=1))
    filled, std = fit.impute(X, return_std=True)
    there = ~np.isnan(X)
    np.testing.assert_array_equal(filled[there], X[there])
    assert np.all(std[there] == 0.0)
    assert np.all(std[~there] > 0.0)
    for i in np.flatnonzero(~there.all(axis=1) & there.any(axis=1))[:5]:
        seen, gaps = np.flatnonzero(there[i]), np.flatnonzero(~there[i])
        given = fit.condition(list(seen), X[i, seen])
        np.testing.assert_allclose(filled[i, gaps], given.mean, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(std[i, gaps] ** 2, np.diag(given.covariance()), rtol=1e-8)


def test_imputed_entries_are_near_the_truth():
    X = rows(600, spread=8.0)
    Y = with_missing(X)
    gaps = np.isnan(Y)
    filled, std = mixture().fit(Y).impute(Y, return_std=True)
    z = (filled[gaps] - X[gaps]) / std[gaps]
    assert np.mean(z**2) == pytest.approx(1.0, abs=0.25)
    plain = np.broadcast_to(np.nanmean(Y, axis=0), X.shape)
    assert np.mean((filled - X)[gaps] ** 2) < 0.3 * np.mean((plain - X)[gaps] ** 2)


def test_rows_without_entries():
    X = with_missing(rows())
    X[[4, 9]] = np.nan
    with pytest.warns(DataWarning, match="rows have no observed entry"):
        fit = mixture().fit(X)
    there = ~np.isnan(X).all(axis=1)
    assert fit.n_samples_ == np.count_nonzero(there)
    assert fit.score_samples(X)[4] == pytest.approx(0.0, abs=1e-14)
    np.testing.assert_allclose(fit.predict_proba(X)[4], fit.weights_)
    np.testing.assert_allclose(fit.impute(X)[4], fit.model_.mean)
    assert fit.bic(X) == pytest.approx(fit.bic(X[there]))
    assert fit.icl(X) == pytest.approx(fit.icl(X[there]))


def test_frames_with_missing_values_stay_frames():
    frame = pd.DataFrame(with_missing(rows()), columns=list("abcd"), index=range(500, 800))
    fit = mixture().fit(frame)
    filled, std = fit.impute(frame, return_std=True)
    assert list(filled.columns) == list("abcd")
    assert filled.index.equals(frame.index)
    np.testing.assert_array_equal(std.to_numpy() > 0, frame.isna().to_numpy())
    frame["b"] = np.nan
    with pytest.raises(DataError, match="column 'b' of X has no observed entry"):
        mixture().fit(frame)
    single = with_missing(rows()).astype(np.float32)
    assert mixture().fit(single).impute(single).dtype == np.float32


# ---- bins ---------------------------------------------------------------------------------------------------


def test_pearsons_crabs(accuracy):
    fit = mixture(2, n_init=10).fit_binned(crabs.EDGES, crabs.COUNTS)
    what, system = "two Gaussians of Pearson's crabs", "SciPy, Nelder–Mead and BFGS"
    accuracy.at_least(f"{what}: log-likelihood", fit.loglik_, crabs.LOGLIK, system=system, slack=1e-5)
    accuracy.close(f"{what}: weights", fit.weights_, crabs.WEIGHTS, system=system, rtol=1e-3)
    accuracy.close(f"{what}: means", fit.means_.ravel(), crabs.MEANS, system=system, rtol=1e-5)
    deviations = np.sqrt(fit.covariances_.ravel())
    accuracy.close(f"{what}: deviations", deviations, crabs.DEVIATIONS, system=system, rtol=1e-3)
    assert (fit.n_samples_, fit.n_features_in_, fit.converged_) == (1000, 1, True)
    assert fit.bic() == pytest.approx(-2 * fit.loglik_ + 5 * np.log(1000))
    assert np.diff(fit.cdf(crabs.EDGES)) @ np.ones(29) == pytest.approx(1.0, abs=5e-3)
    counts, edges = np.histogram(fit.sample(4000).ravel(), bins=40)
    again = mixture(2).fit_binned(list(edges), list(counts))
    np.testing.assert_allclose(np.sort(again.means_.ravel()), np.sort(fit.means_.ravel()), atol=0.01)


@pytest.mark.parametrize(
    ("edges", "counts", "message"),
    [
        ([0, 1, 2], [1, 2, 3], r"edges has shape \(3,\) and counts \(3,\)"),
        ([0, 2, 1, 3], [1, 2, 3], "edges must ascend"),
        ([-np.inf, 0, np.inf], [1, 2], "at least 2 that are finite"),
        ([0, np.nan, 2], [1, 2], "edges must ascend"),
        ([0, 1, 2], [1, -1], "counts has entries that are negative"),
        ([0, 1, 2], [5, 0], "positive in 1 bins"),
        ([0, 1, 2, 3], [5, 0, 3], "n_components=3 must be at most 2, the number of bins with a count"),
    ],
)
def test_bad_bins(edges, counts, message):
    with pytest.raises((DataError, OptionError), match=message):
        mixture().fit_binned(edges, counts)


def test_bins_are_of_one_dimension():
    with pytest.raises(OptionError, match="needs at least 2 features"):
        mixture(1, covariance_type="ppca").fit_binned([0, 1, 2], [3, 4])
    with pytest.raises(ValueError, match="2 features"):
        mixture(1).fit_binned([0, 1, 2, 3], [3, 4, 3]).predict(np.zeros((3, 2)))


# ---- chunks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STRUCTURES)
def test_chunks_come_near_the_fit_of_all_rows(name):
    X = rows(12_000, spread=3.0)[np.random.default_rng(0).permutation(12_000)]
    parts = mixture(covariance_type=name).partial_fit(X[:300])
    whole = mixture(covariance_type=name, init=parts.model_).fit(X).score(X)
    short = [whole - parts.score(X)]
    for chunks in (np.split(X[300:], 39), np.split(X, 40)):
        for chunk in chunks:
            parts.partial_fit(chunk)
        short.append(whole - parts.score(X))
    assert short[1] < 0.2 * short[0]
    assert short[2] < 0.7 * short[1]
    assert short[2] < 5e-3
    assert (parts.n_samples_, parts.n_iter_) == (24_000, 80)
    assert parts.loglik_ / 24_000 == pytest.approx(whole, abs=0.05)


def test_with_decay_one_and_a_mixture_that_stands_chunks_are_merged():
    """One component has no responsibilities to learn, so every row counts the same."""
    X, parts = rows(400), mixture(1)
    for chunk in (X[:50], X[50:51], X[51:300], X[300:]):
        parts.partial_fit(chunk, decay=1.0)
    np.testing.assert_allclose(parts.means_[0], X.mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(parts.covariances_[0], np.cov(X.T, ddof=0), rtol=1e-9)
    weighted = mixture(1).partial_fit(X[:50]).partial_fit(X[50:], sample_weight=np.full(350, 2.0), decay=1.0)
    np.testing.assert_allclose(weighted.means_[0], np.concatenate([X, X[50:]]).mean(axis=0), rtol=1e-10)


@pytest.mark.parametrize("sum_of_weights", [1e-298, 1.0])
def test_weights_that_count_as_no_more_than_one_row(sum_of_weights):
    X = rows(100)
    w = np.full(len(X), sum_of_weights / len(X))
    for method in (mixture().fit, mixture().partial_fit):
        with pytest.raises(DataError, match=r"sample_weight sums to .*multiply the weights by the number of rows"):
            method(X, sample_weight=w)
    parts = mixture().fit(X).partial_fit(X[:5], sample_weight=w[:5])  # a chunk may count as little as it likes
    assert parts.n_iter_ == 2


def test_chunks_with_missing_values_and_after_a_fit(tmp_path):
    X = with_missing(rows(3000))
    fit = mixture().fit(X[:1500])
    before = fit.score(X)
    for chunk in np.split(X[1500:], 15):
        fit.partial_fit(chunk)
    assert fit.score(X) > before - 1e-3
    assert fit.n_samples_ == np.count_nonzero(~np.isnan(X).all(axis=1))
    with pytest.raises(OptionError, match="give them as X"):
        fit.bic()
    assert np.isfinite(fit.bic(X))
    fit.save(tmp_path / "mixture.safetensors")
    _, arrays, header = io.read(tmp_path / "mixture.safetensors")
    back = GaussianMixture._restored(arrays, header)
    np.testing.assert_array_equal(back.partial_fit(X[:100]).means_, fit.partial_fit(X[:100]).means_)


def test_bad_chunks():
    X = rows()
    fit = mixture().partial_fit(X[:150])
    with pytest.raises(OptionError, match=r"decay=0\.5"):
        fit.partial_fit(X, decay=0.5)
    with pytest.raises(ValueError, match="features"):
        fit.partial_fit(X[:, :3])
    with pytest.raises(DataError, match="no observed entry in any row"):
        fit.partial_fit(np.full((5, 4), np.nan))
    with pytest.raises(OptionError, match="was changed since the first chunk"):
        fit.set_params(covariance_type="diag").partial_fit(X)
    with pytest.raises(OptionError, match="n_components=3 must be at most 2"):
        mixture().partial_fit(X[:2])


# ---- warnings and errors ------------------------------------------------------------------------------------


def test_early_stop_says_by_how_much():
    with pytest.warns(ConvergenceWarning, match=r"stopped after 4 steps .* still to gain: about .*raise max_iter=4"):
        mixture(init="random", n_init=1, max_iter=4).fit(rows(spread=1.0))
    with pytest.warns(ConvergenceWarning, match="not known after so few steps"):
        mixture(init="random", n_init=1, max_iter=1).fit(rows(spread=1.0))


def test_interrupted_fit_keeps_the_best():
    def stop(done, total, what):
        if what.startswith("EM") and done == 4:
            raise KeyboardInterrupt

    X = rows(spread=1.0)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        fit = mixture(init="random", n_init=1, verbose=stop).fit(X)
    assert not fit.converged_
    assert np.all(np.isfinite(fit.score_samples(X)))


def test_progress_is_reported():
    told = []
    mixture(verbose=lambda done, total, what: told.append(what)).fit(rows())
    assert any(what.startswith("EM: step 2, log-likelihood") for what in told)


def test_collapse_names_the_component():
    X = np.concatenate([rows(), np.tile([[60.0, 60.0, 60.0, 60.0]], (40, 1))])
    with pytest.warns(DataWarning, match=r"1 of 4 components have collapsed.*\(60, 60, 60, 60\) of 40 rows"):
        fit = mixture(4, init="k-means").fit(X)
    assert np.isfinite(fit.loglik_)
    assert mixture(4, prior="conjugate").fit(X).converged_


def test_removal_names_the_component():
    X = rows()
    start = (np.full(2, 0.5), np.array([X.mean(axis=0), np.full(4, 1e4)]), np.tile(np.cov(X.T), (2, 1, 1)))
    with pytest.warns(DataWarning, match=r"component at \(1e\+04.* was removed; 1 are left"):
        fit = mixture(2, init=start).fit(X)
    assert fit.n_components_ == 1


def test_more_components_than_different_rows():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])[np.random.default_rng(0).integers(3, size=50)]
    with pytest.warns(DataWarning) as told:
        fit = mixture(5).fit(X)
    text = " ".join(str(warning.message) for warning in told)
    assert fit.n_components_ == 5 - text.count("was removed")
    assert "have collapsed" in text
    assert np.isfinite(fit.loglik_)


def test_constant_columns_are_named():
    X = pd.DataFrame(rows(), columns=list("abcd")).assign(b=3.0)
    with pytest.warns(DataWarning) as told:
        mixture().fit(X)
    assert any("constant ('b')" in str(warning.message) for warning in told)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components=0 must be at least 1"),
        ({"n_components": 301}, "n_components=301 must be at most 300, the number of rows"),
        ({"covariance_type": "fall"}, "did you mean 'full'"),
        ({"covariance_type": "ppca", "n_factors": 4}, "n_factors=4 must be at most 3, one less than"),
        ({"prior": "flat"}, "prior='flat' is not known"),
        ({"floor": 0.0}, "floor=0.0 must be a number above 0"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"max_iter": -1}, "max_iter=-1"),
        ({"reg_covar": -1.0}, "reg_covar=-1.0 must be a finite number from 0 on"),
        ({"warm_start": 1}, "warm_start=1 must be True or False"),
        ({"means_init": np.ones((2, 4))}, r"means_init has shape \(2, 4\); for this X and n_components it is \(3, 4\)"),
        ({"weights_init": [0.5, 0.2, 0.2]}, "weights_init=.* must be positive and sum to 1, not 0.9"),
        ({"precisions_init": -np.stack([np.eye(4)] * 3)}, "precisions_init must be positive definite"),
        ({"means_init": np.full((3, 4), np.nan)}, "means_init has entries that are NaN or infinite"),
        ({"init": np.ones((300, 3)), "weights_init": [0.5, 0.3, 0.2]}, "leave out init, or weights_init"),
        ({"n_init": 0}, "n_init=0"),
        ({"accelerate": "yes"}, "accelerate='yes' must be True or False"),
        ({"init": "k-mean"}, "did you mean 'k-means'"),
        ({"init": np.ones((3, 3))}, r"init has shape \(3, 3\); responsibilities of X and n_components are \(300, 3\)"),
        ({"init": -np.ones((300, 3))}, "negative"),
        ({"init": (np.ones(3), np.ones((3, 4)))}, "init is a tuple of 2"),
        ({"init": (np.ones(3), np.ones((3, 4)), np.ones((4, 4)))}, r"covariances of shape \(4, 4\); .* \(3, 4, 4\)"),
        ({"init": (np.ones(3), np.ones((3, 4)), np.zeros((3, 4, 4)))}, "not positive definite"),
        ({"init": (np.zeros(3), np.ones((3, 4)), np.zeros((3, 4, 4)))}, "positive"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(OptionError, match=message):
        mixture(**({"K": options.pop("n_components")} if "n_components" in options else {}), **options).fit(rows())


def test_bad_rows():
    X = rows()
    fit = mixture().fit(X)
    X[7, 2], X[9, 1] = np.inf, np.nan
    for method in (mixture().fit, fit.predict, fit.predict_proba, fit.score_samples, fit.impute, fit.partial_fit):
        with pytest.raises(DataError, match="contains infinity"):
            method(X)
    with pytest.raises(DataError, match="no variance"):
        mixture().fit(np.ones((30, 2)))


# ---- files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STRUCTURES)
def test_save_and_load(name, tmp_path):
    X = pd.DataFrame(rows().astype(np.float32), columns=list("abcd"))
    fit = mixture(covariance_type=name, n_factors=2).fit(X)
    fit.save(tmp_path / "mixture.safetensors")
    kind, arrays, header = io.read(tmp_path / "mixture.safetensors")
    assert kind == "GaussianMixture"
    back = GaussianMixture._restored(arrays, header)
    np.testing.assert_array_equal(back.score_samples(X), fit.score_samples(X))
    np.testing.assert_array_equal(back.covariances_, fit.covariances_)
    assert back.get_params() == fit.get_params()
    assert (back.loglik_, back.n_iter_, back.bic(), back.converged_) == (fit.loglik_, fit.n_iter_, fit.bic(), True)
    assert back.means_.dtype == np.float32
    np.testing.assert_array_equal(back.feature_names_in_, fit.feature_names_in_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fit)).predict(X), fit.predict(X))


def test_a_damaged_file_is_rejected(tmp_path):
    mixture().fit(rows()).save(tmp_path / "mixture.safetensors")
    data = bytearray((tmp_path / "mixture.safetensors").read_bytes())
    data[-3] ^= 1
    (tmp_path / "mixture.safetensors").write_bytes(bytes(data))
    with pytest.raises(ModelFileError, match="altered"):
        io.read(tmp_path / "mixture.safetensors")


def test_a_start_that_was_given_is_not_saved(tmp_path):
    X = rows()
    fit = mixture(init=mixture().fit(X).model_).fit(X)
    fit.save(tmp_path / "mixture.safetensors")
    back = GaussianMixture._restored(*io.read(tmp_path / "mixture.safetensors")[1:])
    assert back.init == "k-means++"
    np.testing.assert_array_equal(back.predict(X), fit.predict(X))


def test_a_file_is_of_the_structure_that_was_fitted(tmp_path):
    X = rows()
    X[3] = np.nan
    with pytest.warns(DataWarning, match="1 row has no observed entry"):
        fit = mixture(covariance_type="factor", n_factors=2).fit(X)
    fit.set_params(covariance_type="diag", n_factors=1).save(tmp_path / "mixture.safetensors")
    again = GaussianMixture._restored(*io.read(tmp_path / "mixture.safetensors")[1:])
    np.testing.assert_array_equal(again.covariances_, fit.covariances_)
    assert again._fitted.empty == 1
    assert again.covariance_type == "diag"


def test_responsibilities_of_empty_bins_are_left_out():
    edges, counts = np.arange(9.0), np.array([0, 4, 9, 5, 0, 3, 8, 4.0])
    R = np.eye(2)[[0, 0, 0, 0, 1, 1, 1, 1]]
    fit = GaussianMixture(2, init=R, max_iter=0).fit_binned(edges, counts)
    centres = edges[:-1] + 0.5
    means = [np.average(centres[part], weights=counts[part]) for part in (slice(4), slice(4, 8))]
    np.testing.assert_allclose(fit.means_.ravel(), means, rtol=1e-12)


def test_collapsed_components_are_as_large_as_their_weights():
    X = np.concatenate([rows(), np.full((4, 4), 60.0)])
    w = np.append(np.ones(300), np.full(4, 10.0))
    with pytest.warns(DataWarning, match=r"\(60, 60, 60, 60\) of 40 rows"):
        mixture(4, init="k-means").fit(X, sample_weight=w)


def test_rows_of_weight_zero_say_nothing_in_any_score():
    X = np.random.default_rng(0).standard_normal((60, 2))
    w = np.ones(60)
    w[:5] = 0.0
    ugly = X.copy()
    ugly[:2], ugly[2:5] = np.inf, np.nan
    found = GaussianMixture(2, random_state=0, n_init=2).fit(X[5:])
    for name in ("score", "aic", "bic", "icl"):
        assert getattr(found, name)(ugly, sample_weight=w) == pytest.approx(getattr(found, name)(X[5:]), rel=1e-12)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda Y, w, K, rng: Y[: K - 1], r"shape \(1, 3\).*\(2, 3\)"),
        (lambda Y, w, K, rng: Y[:K, :2], r"shape \(2, 2\).*\(2, 3\)"),
        (lambda Y, w, K, rng: Y[:K] * np.nan, "not finite"),
        (lambda Y, w, K, rng: "centres", "'str'"),
        (lambda Y, w, K, rng: None, r"shape \(\)"),
    ],
)
def test_centres_of_a_users_rule_are_checked(answer, words):
    X = np.random.default_rng(0).standard_normal((50, 3))
    with pytest.raises(OptionError, match=words):
        GaussianMixture(2, init=answer, random_state=0).fit(X)


@pytest.mark.parametrize("covariance_type", ["full", "tied"])
def test_the_number_of_threads_changes_no_bit_of_a_fit(covariance_type):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((6000, 12)) @ rng.standard_normal((12, 12)) + 2.0 * rng.integers(0, 3, 6000)[:, None]
    fits = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            fits.append(GaussianMixture(3, covariance_type=covariance_type, n_init=2, random_state=0).fit(X))
    np.testing.assert_array_equal(fits[0].means_, fits[1].means_)
    np.testing.assert_array_equal(fits[0].covariances_, fits[1].covariances_)
