"""`ProbabilisticPCA` as users meet it: every kind of X, missing values everywhere, files, warnings and errors."""

from __future__ import annotations

import pickle
import tracemalloc
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from eigenlens import PCA, ConvergenceWarning, DataError, DataWarning, OptionError, load, scan
from eigenlens import model_file as io
from eigenlens.data.memory import ArraySource
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.errors import ModelFileError
from eigenlens.estimator.rows import _impute_chunk
from eigenlens.latent.factor.estimator import FactorAnalysis
from eigenlens.latent.options import warn_latent_fit
from eigenlens.latent.ppca.estimator import ProbabilisticPCA
from eigenlens.missing.result import LatentFit
from references import tobamovirus


def rows(n=200, d=6, k=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, k)) @ rng.standard_normal((k, d)) * 2.0 + 0.7 * rng.standard_normal((n, d)) + 3.0


def with_missing(X, share=0.2, seed=1):
    M = X.copy()
    M[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return M


@pytest.mark.parametrize("solver", ["auto", "em"])
def test_scikit_learns_own_checks(solver):
    check_estimator(ProbabilisticPCA(1, solver=solver, random_state=0), on_skip=None)


# ---- what was learned ---------------------------------------------------------------------------------------


def test_attributes():
    X = tobamovirus.DATA
    ppca, pca = ProbabilisticPCA(2).fit(X), PCA(2).fit(X)
    noise, best = tobamovirus.MAXIMA[2]
    assert ppca.noise_variance_ == pytest.approx(noise, rel=1e-12)
    assert ppca.loglik_ == pytest.approx(best, abs=1e-9)
    assert ppca.loglik_path_.tolist() == [ppca.loglik_]
    assert (ppca.n_iter_, ppca.converged_, ppca.n_components_, ppca.n_samples_) == (1, True, 2, 38)
    assert (ppca.solver_.solver, ppca.solver_.reason) == ("closed-form", "X has no missing entries")
    np.testing.assert_allclose(ppca.explained_variance_, pca.explained_variance_ * 37 / 38, rtol=1e-12)
    np.testing.assert_allclose(ppca.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=1e-12)
    np.testing.assert_allclose(ppca.components_, pca.components_, atol=1e-12)
    np.testing.assert_allclose(ppca.mean_, X.mean(axis=0))
    assert ppca.loadings_.shape == (18, 2)
    assert ppca.selection_ is None


def test_the_density():
    X = rows()
    ppca = ProbabilisticPCA(2).fit(X)
    C = ppca.get_covariance()
    twin = multivariate_normal(ppca.mean_, C).logpdf(X)
    np.testing.assert_allclose(ppca.score_samples(X), twin, rtol=1e-11)
    assert ppca.score(X) == pytest.approx(twin.mean(), rel=1e-12)
    assert ppca.loglik_ == pytest.approx(twin.sum(), rel=1e-12)
    w = np.arange(200.0)
    assert ppca.score(X, sample_weight=w) == pytest.approx(np.average(twin, weights=w), rel=1e-12)
    np.testing.assert_allclose(ppca.get_precision() @ C, np.eye(6), atol=1e-10)
    parameters = 6 + 6 * 2 - 1 + 1
    assert ppca.aic() == pytest.approx(ppca.aic(X)) == pytest.approx(-2 * twin.sum() + 2 * parameters)
    assert ppca.bic() == pytest.approx(ppca.bic(X)) == pytest.approx(-2 * twin.sum() + np.log(200) * parameters)


def test_samples_reproduce_the_covariance():
    ppca = ProbabilisticPCA(2, random_state=0).fit(rows())
    S = ppca.sample(100_000)
    np.testing.assert_allclose(np.cov(S.T), ppca.get_covariance(), atol=0.15)
    np.testing.assert_array_equal(ppca.sample(3), ppca.sample(3, random_state=0))
    assert not np.array_equal(ppca.sample(3), ppca.sample(3, random_state=1))


def test_posterior_and_both_ways_back():
    X = rows()
    ppca = ProbabilisticPCA(2).fit(X)
    Z, covariance = ppca.posterior(X)
    W, noise = ppca.loadings_, ppca.noise_variance_
    M = W.T @ W + noise * np.eye(2)
    np.testing.assert_allclose(Z, (X - ppca.mean_) @ W @ np.linalg.inv(M), atol=1e-10)
    np.testing.assert_allclose(covariance, noise * np.linalg.inv(M), atol=1e-12)
    np.testing.assert_allclose(ppca.transform(X), Z, atol=1e-10)
    np.testing.assert_allclose(ppca.fit_transform(X), Z, atol=1e-10)
    pca = PCA(2).fit(X)
    projected = pca.inverse_transform(pca.transform(X))
    np.testing.assert_allclose(ppca.inverse_transform(Z, method="orthogonal"), projected, atol=1e-9)
    drawn_in = ppca.inverse_transform(Z)
    np.testing.assert_allclose(drawn_in, Z @ W.T + ppca.mean_, atol=1e-10)
    assert np.sum((drawn_in - ppca.mean_) ** 2) < np.sum((projected - ppca.mean_) ** 2)


# ---- missing values ------------------------------------------------------------------------------------------------


def test_intervals_of_imputed_entries_cover():
    """20% missing at random: 95% intervals hold 95 ± 1% of the truth."""
    X = rows(4000, 10, 3)
    M = with_missing(X)
    ppca = ProbabilisticPCA(3).fit(M)
    filled, deviation = ppca.impute(M, return_std=True)
    missing = np.isnan(M)
    z = (X - filled)[missing] / deviation[missing]
    assert abs(np.mean(np.abs(z) < 1.959964) - 0.95) < 0.01
    assert abs(np.mean(np.abs(z) < 0.674490) - 0.50) < 0.015
    assert np.std(z) == pytest.approx(1.0, abs=0.03)
    np.testing.assert_array_equal(filled[~missing], X[~missing])
    assert not deviation[~missing].any()


def test_imputing_beats_the_mean_and_mu_is_not_the_mean_of_what_is_seen():
    """Entries go missing where another column is large: the likelihood sees through that, column means do not."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((4000, 1)) @ np.ones((1, 4)) + 0.3 * rng.standard_normal((4000, 4))
    M = X.copy()
    M[X[:, 0] > 0.0, 3] = np.nan
    ppca = ProbabilisticPCA(1).fit(M)
    assert np.nanmean(M[:, 3]) < -0.6
    assert abs(ppca.mean_[3]) < 0.05
    missing = np.isnan(M)
    error = (ppca.impute(M) - X)[missing]
    assert np.sqrt(np.mean(error**2)) < 0.4


def test_missing_values_in_new_rows_of_a_complete_fit():
    X = rows()
    ppca = ProbabilisticPCA(2).fit(X)
    M = with_missing(X[:20])
    assert np.isnan(M).any(axis=1).any()
    assert not np.isnan(M).any(axis=1).all()
    Z, covariance = ppca.posterior(M)
    assert covariance.shape == (20, 2, 2)
    np.testing.assert_allclose(ppca.transform(M), Z, atol=1e-10)
    whole = ~np.isnan(M).any(axis=1)
    np.testing.assert_allclose(Z[whole], ppca.transform(X[:20])[whole], atol=1e-10)
    np.testing.assert_allclose(ppca.impute(M)[:, 0], ppca.model_.impute(M)[:, 0])
    assert ppca.score(M) > ppca.score(X[:20])  # fewer entries, each with a density below one


def test_rows_without_an_entry():
    M = np.vstack([with_missing(rows()), np.full((2, 6), np.nan)])
    with pytest.warns(DataWarning, match="2 rows have no observed entry"):
        ppca = ProbabilisticPCA(2).fit(M)
    assert ppca.loglik_ == pytest.approx(ProbabilisticPCA(2).fit(M[:-2]).loglik_, rel=1e-12)
    assert ppca.n_samples_ == 200
    np.testing.assert_array_equal(ppca.transform(M)[-2:], 0.0)
    np.testing.assert_allclose(ppca.impute(M)[-1], ppca.mean_)


# ---- every kind of X ----------------------------------------------------------------------------------------


def dask_array(X):
    da = pytest.importorskip("dask.array")
    return da.from_array(X, chunks=(70, 4))


def tensor(X):
    torch = pytest.importorskip("torch")
    return torch.tensor(X)


KINDS = {
    "fortran": np.asfortranarray,
    "sparse": sp.csr_array,
    "frame": lambda X: pd.DataFrame(X, columns=list("abcdef")),
    "dask": dask_array,
    "torch": tensor,
    "source": lambda X: ArraySource(X, block_rows=37),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.0, 0.2])
def test_every_kind_of_rows(kind, share):
    X = with_missing(rows(), share)
    here, there = ProbabilisticPCA(2).fit(X), ProbabilisticPCA(2).fit(KINDS[kind](X))
    same = KINDS[kind](X)
    assert there.loglik_ == pytest.approx(here.loglik_, rel=1e-11)
    np.testing.assert_allclose(np.asarray(there.loadings_), here.loadings_, atol=1e-7)
    np.testing.assert_allclose(np.asarray(there.transform(same)), here.transform(X), atol=1e-7)
    for a, b in zip(there.impute(same, return_std=True), here.impute(X, return_std=True), strict=True):
        np.testing.assert_allclose(np.asarray(a), b, atol=1e-7)
    expected = here.posterior(X)[1]
    if kind == "dask":  # lazy, so that every row has a covariance: whether entries are missing is not known yet
        expected = np.broadcast_to(expected, (len(X), 2, 2))
    np.testing.assert_allclose(np.asarray(there.posterior(same)[1]), expected, atol=1e-7)
    assert there.score(same) == pytest.approx(here.score(X), rel=1e-10)
    if kind in ("dask", "torch"):
        assert type(there.transform(same)) is type(same)
        assert type(there.impute(same)) is type(same)


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_single_precision_in_and_out(share):
    X = with_missing(rows(), share).astype(np.float32)
    ppca = ProbabilisticPCA(2).fit(X)
    exact = ProbabilisticPCA(2).fit(X.astype(np.float64))
    Z = ppca.transform(X)
    results = [Z, ppca.inverse_transform(Z), *ppca.impute(X, return_std=True), *ppca.posterior(X), ppca.loadings_]
    results += [ppca.mean_, ppca.get_covariance(), ppca.get_precision(), ppca.sample(2), ppca.explained_variance_]
    assert all(result.dtype == np.float32 for result in results)
    np.testing.assert_allclose(Z, exact.transform(X.astype(np.float64)), atol=1e-4)
    assert ppca.loglik_ == pytest.approx(exact.loglik_, rel=1e-6)


def test_names_pipelines_and_output():
    frame = pd.DataFrame(with_missing(rows()), columns=list("abcdef"))
    ppca = ProbabilisticPCA(2).set_output(transform="pandas").fit(frame)
    assert list(ppca.transform(frame).columns) == ["probabilisticpca0", "probabilisticpca1"]
    assert list(ppca.feature_names_in_) == list("abcdef")
    with pytest.raises(ValueError, match="feature names"):
        ppca.transform(frame[list("fedcba")])
    assert make_pipeline(StandardScaler(), ProbabilisticPCA(2)).fit_transform(frame.to_numpy()).shape == (200, 2)
    assert clone(ProbabilisticPCA(2, tol=1e-3)).tol == 1e-3


@pytest.mark.parametrize("solver", ["closed-form", "em", "accelerated-em"])
def test_weights(solver):
    X, w = rows(60), np.random.default_rng(3).integers(0, 4, 60)
    options = {"solver": solver, "random_state": 0}
    a = ProbabilisticPCA(2, **options).fit(X, sample_weight=w)
    b = ProbabilisticPCA(2, **options).fit(np.repeat(X, w, axis=0))
    assert a.loglik_ == pytest.approx(b.loglik_, rel=1e-9)
    np.testing.assert_allclose(a.loadings_, b.loadings_, atol=1e-4)


def test_em_by_name_is_repeatable_and_agrees():
    X = rows()
    a, b = (ProbabilisticPCA(2, solver="accelerated-em", random_state=7).fit(X) for _ in range(2))
    np.testing.assert_array_equal(a.loadings_, b.loadings_)
    assert a.loglik_ == pytest.approx(ProbabilisticPCA(2).fit(X).loglik_, abs=1e-7)
    assert (a.solver_.solver, a.solver_.reason) == ("accelerated-em", "asked for")
    assert a.n_iter_ == len(a.loglik_path_) == a.solver_.iterations


# ---- the number of dimensions, progress, interrupts ---------------------------------------------------------


@pytest.mark.parametrize("rule", ["bic", "cv"])
def test_the_number_of_dimensions(rule):
    X = rows(600, 10, 3, seed=4)
    ppca = ProbabilisticPCA(rule, random_state=0).fit(X)
    assert ppca.n_components_ == ppca.selection_.k == 3
    assert ppca.loglik_ == pytest.approx(ProbabilisticPCA(3).fit(X).loglik_, rel=1e-10)
    assert ppca.selection_.counts[0] == 1


def test_progress_says_the_likelihood():
    said = []
    for X in (rows(), with_missing(rows())):
        ProbabilisticPCA(
            2, solver="accelerated-em", random_state=0, verbose=lambda *said_now: said.append(said_now)
        ).fit(X)
    steps = [what for _, _, what in said if what.startswith("EM: step")]
    assert steps[0].startswith("EM: step 1, log-likelihood -")


def test_an_interrupt_keeps_the_best_so_far():
    def stop(done, total, what):
        if what.startswith("EM: step 4"):
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match=r"interrupted after 4 steps.*tol=1e-12"):
        ppca = ProbabilisticPCA(2, solver="accelerated-em", random_state=0, verbose=stop).fit(rows())
    assert ppca.loglik_path_.size == 4
    assert ppca.transform(rows()).shape == (200, 2)


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_stopping_early_is_warned_of(share):
    with pytest.warns(ConvergenceWarning, match=r"stopped after 3 steps.*to be gained: about .*raise max_iter=3"):
        ppca = ProbabilisticPCA(2, solver="accelerated-em", max_iter=3, random_state=0).fit(with_missing(rows(), share))
    assert not ppca.converged_


# ---- files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_save_and_restore(tmp_path, share):
    frame = pd.DataFrame(with_missing(rows(), share).astype(np.float32), columns=list("abcdef"))
    ppca = ProbabilisticPCA("bic", random_state=0).fit(frame)
    ppca.save(tmp_path / "ppca.safetensors")
    kind, arrays, header = io.read(tmp_path / "ppca.safetensors")
    assert kind == "ProbabilisticPCA"
    again = ProbabilisticPCA._restored(arrays, header)
    np.testing.assert_array_equal(again.transform(frame), ppca.transform(frame))
    for a, b in zip(again.impute(frame, return_std=True), ppca.impute(frame, return_std=True), strict=True):
        np.testing.assert_array_equal(a, b)
    assert again.get_params() == ppca.get_params()
    assert again.loadings_.dtype == np.float32
    for name in ("loglik_", "n_iter_", "converged_", "n_samples_", "n_components_", "noise_variance_"):
        assert getattr(again, name) == getattr(ppca, name)
    np.testing.assert_array_equal(again.loglik_path_, ppca.loglik_path_)
    assert again.solver_.reason == ppca.solver_.reason
    assert list(again.feature_names_in_) == list("abcdef")
    assert again.bic() == ppca.bic()
    np.testing.assert_array_equal(again.selection_.values, ppca.selection_.values)
    with pytest.raises(ModelFileError):
        io.read(tmp_path / "nothing.safetensors")


def test_pickle():
    ppca = ProbabilisticPCA(2).fit(with_missing(rows()))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ppca)).loadings_, ppca.loadings_)


# ---- bad input ----------------------------------------------------------------------------------------------


def bad(**options):
    return lambda X: ProbabilisticPCA(**{"n_components": 2} | options).fit(X)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (bad(n_components=6), OptionError, "n_components=6 must be at most 5, one less than the number of features"),
        (bad(n_components=-1), OptionError, "n_components=-1 must be at least 0"),
        (bad(n_components=0.5), OptionError, "n_components=0.5 must be an integer"),
        (bad(n_components="bik"), OptionError, "did you mean 'bic'"),
        (bad(solver="closed"), OptionError, "did you mean 'closed-form'"),
        (bad(tol=0.0), OptionError, "tol=0.0"),
        (bad(max_iter=0), OptionError, "max_iter=0 must be at least 1"),
        (bad(random_state=-1), OptionError, "random_state=-1"),
        (lambda X: bad()(X[:, :1]), DataError, "n_features = 1"),
        (lambda X: bad()(X[:3]), OptionError, "the 3 rows fill only 2 of 6 dimensions"),
        (lambda X: bad()(np.ones((9, 4))), DataError, "no variance"),
        (lambda X: bad()(X[:, [0, 1, 0, 1]]), OptionError, "fill only 2 of 4 dimensions"),
        (lambda X: bad()(np.where(np.arange(6) == 3, np.nan, X)), DataError, "column 3 of X has no observed entry"),
        (lambda X: bad()(np.where(X.max() == X, np.inf, X)), DataError, "infinity"),
        (lambda X: bad(solver="closed-form")(with_missing(X)), DataError, "needs complete rows"),
    ],
)
def test_errors_say_what_to_do(call, error, message):
    with pytest.raises(error, match=message):
        call(rows())


def test_new_rows_that_cannot_be_used():
    ppca = ProbabilisticPCA(2).fit(rows())
    X = rows(5)
    X[1, 1], X[2, 2] = np.inf, np.nan
    for method in (ppca.transform, ppca.impute, ppca.score, ppca.score_samples, ppca.posterior):
        with pytest.raises(DataError, match="infinity: 1 entry"):
            method(X)
    with pytest.raises(ValueError, match="7 features"):
        ppca.transform(np.ones((2, 7)))
    with pytest.raises(DataError, match="2 columns"):
        ppca.inverse_transform(np.ones((2, 3)))
    with pytest.raises(DataError, match="NaN or infinity"):
        ppca.inverse_transform(np.full((2, 2), np.nan))
    with pytest.raises(OptionError, match="did you mean 'orthogonal'"):
        ppca.inverse_transform(np.ones((2, 2)), method="ortogonal")
    with pytest.raises(OptionError, match="return_std=1"):
        ppca.impute(X, return_std=1)


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_a_constant_column_is_named(share):
    frame = pd.DataFrame(rows(), columns=list("abcdef")).assign(c=5.0)
    if share:
        frame.iloc[::7, 0] = np.nan
    with pytest.warns(DataWarning, match=r"1 of 6 columns are constant \('c'\)"):
        ppca = ProbabilisticPCA(2).fit(frame)
    assert abs(ppca.loadings_[2]).max() < 1e-6
    assert ppca.mean_[2] == pytest.approx(5.0)


def test_a_good_fit_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for X in (rows(), with_missing(rows())):
            ProbabilisticPCA(2).fit(X).score(X)


# ---- before fit ---------------------------------------------------------------------------------------------


def public(kind):
    """Public names of an estimator that fitting gives a meaning to: properties that end in _, and methods of rows."""
    settings = {
        "axis_stem",
        "fit",
        "fit_covariance",
        "fit_transform",
        "get_params",
        "set_params",
        "set_output",
        "get_metadata_routing",
    }
    settings |= set(kind._get_param_names())
    names = [name for name in dir(kind) if not name.startswith("_") and name not in settings]
    return [name for name in names if not name.startswith("set_")]


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in (ProbabilisticPCA, FactorAnalysis) for name in public(kind)]
)
def test_nothing_is_there_before_fit(kind, name, tmp_path):
    given = {"save": (tmp_path / "model.safetensors",), "sample": (2,), "inverse_transform": (np.ones((2, 1)),)}
    without = {"get_covariance", "get_precision", "goodness_of_fit", "get_feature_names_out", "aic", "bic", "omega"}

    def ask():
        found = getattr(kind(1), name)
        return found(*given.get(name, () if name in without else (np.ones((3, 4)),)))

    with pytest.raises(NotFittedError, match="not fitted yet"):
        ask()
    assert not hasattr(kind(1), "loglik_")


def test_there_are_names_to_test():
    assert {"selection_", "solver_", "loadings_", "n_iter_", "posterior", "bic"} <= set(public(ProbabilisticPCA))
    assert {"communalities_", "factor_correlations_", "scores", "scale_"} <= set(public(FactorAnalysis))


# ---- weights ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_information_criteria_of_weighted_rows(share):
    X, w = with_missing(rows(), share), np.random.default_rng(5).integers(0, 4, 200).astype(float)
    ppca = ProbabilisticPCA(2).fit(X, sample_weight=w)
    copies = np.repeat(X, w.astype(int), axis=0)
    assert ppca.bic() == pytest.approx(ppca.bic(X, sample_weight=w), rel=1e-10)
    assert ppca.aic() == pytest.approx(ppca.aic(X, sample_weight=w), rel=1e-10)
    assert ppca.bic(X, w) == pytest.approx(ppca.bic(copies), rel=1e-10)
    assert ppca.bic(X) != pytest.approx(ppca.bic(X, w), rel=1e-3)
    with pytest.raises(OptionError, match="sample_weight belongs to the rows of X"):
        ppca.bic(sample_weight=w)


def test_rows_without_an_entry_do_not_count_in_bic():
    M = with_missing(rows())
    ppca = ProbabilisticPCA(2).fit(M)
    assert ppca.bic(np.vstack([M, np.full((50, 6), np.nan)])) == pytest.approx(ppca.bic(), rel=1e-10)


@pytest.mark.parametrize("solver", ["auto", "closed-form", "em", "accelerated-em"])
def test_rows_of_weight_zero_may_be_missing(solver):
    X, w = rows(), np.ones(200)
    w[:30] = 0.0
    spoilt = np.where(w[:, None] == 0.0, np.nan, X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ppca = ProbabilisticPCA(2, solver=solver, random_state=0).fit(spoilt, sample_weight=w)
    left = ProbabilisticPCA(2, solver=solver, random_state=0).fit(X[30:])
    assert ppca.loglik_ == pytest.approx(left.loglik_, rel=1e-12)
    assert (ppca.n_samples_, ppca.solver_.solver) == (170, left.solver_.solver)
    assert ppca.score(spoilt, sample_weight=w) == pytest.approx(left.score(X[30:]), rel=1e-12)
    assert ppca.bic(spoilt, w) == pytest.approx(ppca.bic(), rel=1e-10)
    np.testing.assert_array_equal(ppca.transform(spoilt)[:30], 0.0)


# ---- frames, files, sparse rows -----------------------------------------------------------------------------


def test_a_pandas_frame_comes_back_with_its_index():
    frame = pd.DataFrame(with_missing(rows()), columns=list("abcdef"), index=pd.date_range("2024-01-01", periods=200))
    ppca = ProbabilisticPCA(2).fit(frame)
    plain = ppca.model_.impute(frame.to_numpy(), return_std=True)
    for found, values in zip(ppca.impute(frame, return_std=True), plain, strict=True):
        pd.testing.assert_frame_equal(found, pd.DataFrame(values, index=frame.index, columns=frame.columns))
    numbered = frame.set_axis(range(6), axis="columns")
    assert ProbabilisticPCA(2).fit(numbered.to_numpy()).impute(numbered).columns.tolist() == list(range(6))


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_other_frames_come_back_as_they_are(library):
    pytest.importorskip(library)
    import narwhals.stable.v2 as nw

    M = with_missing(rows()).astype(np.float32)
    frame = nw.from_dict({name: M[:, j] for j, name in enumerate("abcdef")}, backend=library).to_native()
    ppca = ProbabilisticPCA(2).fit(frame)
    filled, deviation = ppca.impute(frame, return_std=True)
    assert type(filled) is type(deviation) is type(frame)
    back = nw.from_native(filled, eager_only=True)
    assert back.columns == list("abcdef")
    assert set(back.schema.values()) == {nw.Float32()}
    np.testing.assert_allclose(back.to_numpy(), ppca.model_.impute(M.astype(np.float64)), rtol=1e-6)


@pytest.mark.parametrize("ending", ["npy", "parquet"])
def test_rows_of_a_file(tmp_path, ending):
    M = with_missing(rows())
    path = tmp_path / f"rows.{ending}"
    if ending == "npy":
        np.save(path, M)
    else:
        pd.DataFrame(M, columns=list("abcdef")).to_parquet(path)
    source = scan(path)
    there, here = ProbabilisticPCA(2).fit(source), ProbabilisticPCA(2).fit(M)
    assert there.bic(source) == pytest.approx(here.bic(), rel=1e-10)
    for a, b in zip(there.posterior(source), here.posterior(M), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-7)
    for a, b in zip(there.impute(source, return_std=True), here.impute(M, return_std=True), strict=True):
        assert type(a) is np.ndarray
        np.testing.assert_allclose(a, b, atol=1e-7)
    assert there.sample(3).shape == (3, 6)


def test_incomplete_sparse_rows_are_dense_a_few_at_a_time():
    """Every row is incomplete, so each must be made dense; never all of them at once."""
    X = sp.random(20_000, 500, density=0.01, random_state=0, format="csr").tolil()
    X[:, 3] = np.nan
    X = X.tocsr()
    ppca = ProbabilisticPCA(1, random_state=0)
    ppca.fit(rows(40, 500, 1))
    tracemalloc.start()
    Z = ppca.transform(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.8 * 8 * 20_000 * 500
    np.testing.assert_allclose(Z[:50], ppca.model_.posterior(X[:50].toarray())[0], atol=1e-10)


# ---- how a fit ended ----------------------------------------------------------------------------------------


def ended(how):
    model = LinearGaussian(np.zeros(2), np.ones((2, 1)), 1.0)
    return LatentFit(model, -1.0, (-2.0, -1.0), 2, False, 1e-3, 5.0, 5, solver="accelerated-em", ended=how)


def test_the_way_out_depends_on_how_it_ended():
    source = ArraySource(rows(5, 2, 1))
    with pytest.warns(ConvergenceWarning, match=r"2 steps.*rounding hides further gains, so more steps would not help"):
        warn_latent_fit(ended("rounding"), source, 1e-12, 7)
    with pytest.warns(ConvergenceWarning, match=r"raise max_iter=7, or tol"):
        warn_latent_fit(ended("max_iter"), source, 1e-12, 7)


def test_the_gain_still_to_come_is_reported():
    source = ArraySource(rows(5, 2, 1))
    reports = {
        1e-3: "about 1.0e-03, above tol=1e-12",
        1e-14: "about 1.0e-14, within tol=1e-12",
        np.inf: "not known after so few steps",
    }
    for gain, words in reports.items():
        with pytest.warns(ConvergenceWarning, match=f"interrupted after 2 steps.*{words}") as caught:
            warn_latent_fit(replace(ended("interrupted"), residual=gain, interrupted=True), source, 1e-12, 7)
        assert "inf" not in str(caught[0].message)


@pytest.mark.long
def test_noise_at_its_floor_is_warned_of():
    source = ArraySource(rows(5, 2, 1))
    with pytest.warns(DataWarning, match=r"Heywood case: the noise variance.*more rows are needed"):
        warn_latent_fit(replace(ended("converged"), converged=True, floored=True), source, 1e-12, 7)
    X = load_iris().data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X[np.arange(4) % 3 == np.random.default_rng(5).integers(0, 3, 150)[:, None]] = np.nan
    with pytest.warns(DataWarning, match=r"Heywood case: the noise variance.*use fewer components or more rows"):
        ppca = ProbabilisticPCA(3).fit(X)
    assert ppca.converged_


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_too_few_rows_to_leave_some_out(share):
    with pytest.raises(DataError, match=r"'cv' needs at least 4 rows.*there are 3"):
        ProbabilisticPCA("cv", random_state=0).fit(with_missing(rows(3), share))


def test_a_column_that_a_fold_does_not_see():
    M = with_missing(rows())
    M[1:, 2] = np.nan
    M[0, 2] = 1.0
    with pytest.raises(DataError, match=r"'cv' leaves out some rows.*column 2 .*no observed entry.*All rows can"):
        ProbabilisticPCA("cv", random_state=0).fit(M)


def test_an_interrupt_before_all_folds_goes_on():
    def stop(done, total, what):
        if "step 2," in what:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ProbabilisticPCA("cv", random_state=0, verbose=stop).fit(with_missing(rows()))


@pytest.mark.long
def test_folds_do_not_make_every_start():
    steps = {"cv": 0, "all": 0}

    def count(name):
        def note(done, total, what):
            steps[name] += "step 1," in what

        return note

    M = with_missing(rows(60, 4))
    tried = ProbabilisticPCA("cv", random_state=0, verbose=count("cv")).fit(M).selection_.counts.size
    ProbabilisticPCA(1, verbose=count("all")).fit(M)
    assert steps["cv"] == 5 * tried + steps["all"]  # a start a fold, and all of them at the end
    assert steps["all"] > 1


def test_complete_rows_are_imputed_as_copies():
    X = rows()
    ppca = ProbabilisticPCA(2).fit(X)
    for filled in (ppca.impute(X), _impute_chunk(X, ppca.model_, 0)):
        assert not np.shares_memory(filled, X)
        np.testing.assert_array_equal(filled, X)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Heywood")
@pytest.mark.parametrize("kind", [ProbabilisticPCA, FactorAnalysis])
@pytest.mark.parametrize("rule", ["bic", "cv"])
def test_an_interrupted_choice_keeps_the_best_tried(kind, rule, tmp_path):
    """Stopped a few fits after the first, on incomplete rows, where each fit is an iteration."""
    M, done = with_missing(rows(120, 8, 4, seed=6), 0.1), []

    def stop(_, total, what):
        if what.startswith(("EM: step 1,", "EM: start 1, step 1,")):
            done.append(what)
            if len(done) > (2 if rule == "bic" else 10):
                done.clear()
                raise KeyboardInterrupt

    model = kind(rule, random_state=0, verbose=stop)
    with pytest.warns(ConvergenceWarning, match=rf"by n_components='{rule}' was interrupted when 1.* had been tried"):
        model.fit(M)
    assert model.selection_.interrupted
    assert model.n_components_ == model.selection_.k == model.selection_.counts[-1]
    assert model.transform(M).shape == (120, model.n_components_)
    model.set_params(verbose=False).save(tmp_path / "cut.safetensors")
    assert load(tmp_path / "cut.safetensors").selection_.interrupted
