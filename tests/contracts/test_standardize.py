"""What `standardize` promises in every model that has it: units change nothing but units, whatever holds the rows."""

from __future__ import annotations

import importlib.util

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.covariance import LedoitWolf
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import eigenlens
from eigenlens import (
    PCA,
    BayesClassifier,
    FactorAnalysis,
    GaussianMixture,
    KernelDensity,
    KernelPCA,
    LinearDiscriminant,
    ProbabilisticPCA,
    QuadraticDiscriminant,
    compare,
    load,
)
from eigenlens.arrays import to_numpy
from eigenlens.catalogue import MODELS, estimator_class
from eigenlens.errors import DataError, OptionError

COLUMNS = ["a", "b", "c", "d"]
UNITS = np.array([1.0, 1000.0, 1e-3, 7.0])
LOG_UNITS = float(np.log(UNITS).sum())


def table(n=240, missing=0.0):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 1)) * [2.0, 1.0, 1.5, -1.0] + rng.standard_normal((n, 4)) + [3.0, 0.0, 9.0, 1.0]
    X[n // 2 :] += [4.0, -3.0, 0.0, 2.0]
    X[rng.random((n, 4)) < missing] = np.nan
    return X


def labels(n=240):
    return np.repeat(["first", "second"], n // 2)


DENSITIES = {
    "ppca": ProbabilisticPCA(2),
    "ppca-bic": ProbabilisticPCA("bic"),
    "ppca-cv": ProbabilisticPCA("cv", random_state=0),
    "ppca-em": ProbabilisticPCA(1, solver="em", random_state=0),
    **{
        f"mixture-{name}": GaussianMixture(2, covariance_type=name, random_state=0)
        for name in ("full", "tied", "diag", "spherical", "ppca", "factor")
    },
    "kde": KernelDensity(bandwidth=0.4),
    "kde-columns": KernelDensity(bandwidth=[0.4, 0.3, 0.5, 0.6], kernel="epanechnikov"),
    "kde-matrix": KernelDensity(bandwidth=0.1 * np.eye(4) + 0.05),
    "kde-rule": KernelDensity(bandwidth="silverman"),
    "factors": FactorAnalysis(1),
}
CLASSIFIERS = {
    "linear": LinearDiscriminant(shrinkage=0.5, target="identity"),
    "linear-rule": LinearDiscriminant(shrinkage="ledoit-wolf", target="identity"),
    "quadratic": QuadraticDiscriminant(reg=0.3),
    "quadratic-shrunk": QuadraticDiscriminant(shrinkage=0.4, target="identity"),
    "bayes": BayesClassifier(GaussianMixture(1, covariance_type="spherical", standardize=True, random_state=0)),
}
KERNELS = {
    "rbf": KernelPCA(3),
    "laplacian": KernelPCA(3, kernel="laplacian", preimage="ridge"),
    "linear-kernel": KernelPCA(3, kernel="linear"),
    "landmarks": KernelPCA(3, approximation="rpcholesky", n_landmarks=60, random_state=0),
    "median": KernelPCA(3, gamma="median", random_state=0),
}


def standardized(estimator):
    made = clone(estimator)
    return made.set_params(standardize=True) if "standardize" in made.get_params() else made


def fit_in_units(estimator, X, *y):
    """The same model of rows in two units."""
    return standardized(estimator).fit(X, *y), standardized(estimator).fit(X * UNITS, *y)


# ---- units change nothing but units -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", DENSITIES)
def test_densities_are_in_the_units_of_the_columns(name):
    X = table()
    one, other = fit_in_units(DENSITIES[name], X)
    assert_allclose(other.score_samples(X * UNITS) + LOG_UNITS, one.score_samples(X), rtol=1e-6, atol=1e-6)
    assert_allclose(other.sample(9, random_state=1) / UNITS, one.sample(9, random_state=1), rtol=1e-5, atol=1e-6)
    assert_allclose(other.scale_ / UNITS, one.scale_, rtol=1e-12)
    if name != "factors":  # whose deviations are those of the model
        assert_allclose(one.scale_, X.std(axis=0), rtol=1e-12)
    if hasattr(one, "loglik_"):
        assert_allclose(one.loglik_, one.score_samples(X).sum(), rtol=1e-9)
        assert_allclose([one.aic(), one.bic()], [one.aic(X), one.bic(X)], rtol=1e-9)
        assert_allclose(other.loglik_ + len(X) * LOG_UNITS, one.loglik_, rtol=1e-8)
        assert np.all(np.diff(other.loglik_path_) >= -1e-9 * abs(other.loglik_))


@pytest.mark.parametrize("name", [name for name in DENSITIES if not name.startswith("kde")])
def test_missing_values_are_left_out_of_the_deviations_and_filled_in_in_units(name):
    if name == "ppca-cv":
        pytest.skip("the same fits as those of the other numbers of dimensions")
    X = table(missing=0.1)
    one, other = fit_in_units(DENSITIES[name], X)
    if name != "factors":
        assert_allclose(one.scale_, np.nanstd(X, axis=0), rtol=1e-12)
    filled, deviation = one.impute(X, return_std=True)
    again, its_deviation = other.impute(X * UNITS, return_std=True)
    assert_allclose(again / UNITS, filled, rtol=1e-4, atol=1e-4)
    assert_allclose(its_deviation / UNITS, deviation, rtol=1e-3, atol=1e-4)
    assert_allclose(one.loglik_, one.score_samples(X).sum(), rtol=1e-8)
    observed = (~np.isnan(X)).sum(axis=0) @ np.log(UNITS)
    assert_allclose(other.loglik_ + observed, one.loglik_, rtol=1e-6)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_are_in_the_units_of_the_columns(name):
    X, y = table(), labels()
    one, other = fit_in_units(CLASSIFIERS[name], X, y)
    joint = one.predict_joint_log_proba(X)
    assert_allclose(other.predict_joint_log_proba(X * UNITS) + LOG_UNITS, joint, rtol=1e-8, atol=1e-8)
    if name != "bayes":
        assert_allclose(other.means_ / UNITS, one.means_, rtol=1e-9)
        assert_allclose(one.means_[0], X[y == "first"].mean(axis=0), rtol=1e-9)
    if name.startswith("linear"):
        assert_allclose(other.coef_ * UNITS, one.coef_, rtol=1e-7, atol=1e-9)
        assert_allclose(other.covariance_ / np.outer(UNITS, UNITS), one.covariance_, rtol=1e-8, atol=1e-10)
        assert_allclose(other.transform(X * UNITS), one.transform(X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["linear", "linear-rule", "quadratic", "quadratic-shrunk"])
def test_discriminants_of_incomplete_rows(name):
    X, y = table(missing=0.1), labels()
    one, other = fit_in_units(CLASSIFIERS[name], X, y)
    assert_allclose(other.predict_proba(X * UNITS), one.predict_proba(X), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_components_do_not_depend_on_units_and_pre_images_have_them(name):
    X = table()
    one, other = fit_in_units(KERNELS[name], X)
    assert_allclose(other.transform(X * UNITS), one.transform(X), rtol=1e-5, atol=1e-6)
    assert_allclose(other.reconstruction_error(X * UNITS), one.reconstruction_error(X), rtol=1e-5, atol=1e-6)
    Z = one.transform(X[:20])
    assert_allclose(other.inverse_transform(Z) / UNITS, one.inverse_transform(Z), rtol=1e-3, atol=1e-3)
    assert_allclose(other.denoise(X[:20] * UNITS) / UNITS, one.denoise(X[:20]), rtol=1e-3, atol=1e-3)


# ---- standardised by hand, and undone ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ppca", "mixture-spherical", "mixture-ppca", "mixture-full", "kde", "kde-matrix"])
def test_densities_are_those_of_rows_standardised_by_hand(name):
    X = table()
    scaler = StandardScaler(with_mean=False).fit(X)
    one, other = standardized(DENSITIES[name]).fit(X), clone(DENSITIES[name]).fit(scaler.transform(X))
    by_hand = other.score_samples(scaler.transform(X)) - np.log(scaler.scale_).sum()
    close = {"rtol": 1e-6, "atol": 1e-6} if name.startswith("mixture") else {"rtol": 1e-10, "atol": 1e-10}  # EM ends
    assert_allclose(one.score_samples(X), by_hand, **close)
    drawn = other.sample(5, random_state=0) * scaler.scale_
    assert_allclose(one.sample(5, random_state=0), drawn, **close)


@pytest.mark.parametrize("name", ["linear", "quadratic", "quadratic-shrunk"])
def test_classifiers_are_pipelines_with_a_scaler(name):
    X, y = table(), labels()
    pipeline = make_pipeline(StandardScaler(), clone(CLASSIFIERS[name])).fit(X, y)
    assert_allclose(
        standardized(CLASSIFIERS[name]).fit(X, y).predict_proba(X), pipeline.predict_proba(X), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("n", [30, 120])
@pytest.mark.parametrize("model", [LinearDiscriminant(), QuadraticDiscriminant()], ids=["linear", "quadratic"])
def test_discriminants_of_few_rows_and_of_another_estimator_are_pipelines_with_a_scaler(model, n):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    X = (rng.standard_normal((n, 40)) + 0.5 * y[:, None]) * np.logspace(-3.0, 3.0, 40)
    for options in ({"shrinkage": 0.3, "target": "identity"}, {"covariance_estimator": LedoitWolf()}):
        plain = clone(model).set_params(**options)
        pipeline = make_pipeline(StandardScaler(), plain).fit(X, y)
        found = clone(plain).set_params(standardize=True).fit(X, y)
        assert_allclose(found.predict_proba(X), pipeline.predict_proba(X), rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("name", ["rbf", "laplacian", "linear-kernel"])
def test_kernel_components_are_pipelines_with_a_scaler(name):
    X = table()
    pipeline = make_pipeline(StandardScaler(), clone(KERNELS[name])).fit(X)
    one = standardized(KERNELS[name]).fit(X)
    assert_allclose(one.transform(X), pipeline.transform(X), rtol=1e-8, atol=1e-9)
    if name != "laplacian":
        Z = pipeline.transform(X[:30])
        assert_allclose(one.inverse_transform(Z), pipeline.inverse_transform(Z), rtol=1e-5, atol=1e-5)


def test_probabilistic_components_are_those_of_the_correlation_matrix():
    X = table()
    pca, ppca = PCA(2, standardize=True).fit(X), ProbabilisticPCA(2, standardize=True).fit(X)
    assert_allclose(ppca.components_, pca.components_, atol=1e-9)
    assert_allclose(ppca.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=1e-9)
    assert_allclose(ppca.noise_variance_, pca.noise_variance_, rtol=1e-9)  # each relative to its own unit
    assert_allclose(ppca.scale_, pca.scale_ * np.sqrt(239 / 240), rtol=1e-12)  # divisors n and n − 1
    assert_allclose(np.diag(ppca.get_covariance()).sum(), (ppca.model_.loadings**2).sum() + ppca.model_.noise.sum())
    assert ppca.truncated(1).loglik_ == pytest.approx(ProbabilisticPCA(1, standardize=True).fit(X).loglik_, rel=1e-12)


def test_a_covariance_matrix_in_place_of_rows():
    X = table()
    rows = ProbabilisticPCA(2, standardize=True).fit(X)
    S = ProbabilisticPCA(2, standardize=True).fit_covariance(np.cov(X.T, bias=True), len(X), X.mean(axis=0))
    assert_allclose(S.score_samples(X), rows.score_samples(X), rtol=1e-9)
    assert_allclose([S.loglik_, S.bic()], [rows.loglik_, rows.bic()], rtol=1e-11)
    assert_allclose(S.scale_, rows.scale_, rtol=1e-12)


def test_spherical_components_have_a_variance_per_column():
    X = table()
    mixture = GaussianMixture(2, covariance_type="spherical", standardize=True, random_state=0).fit(X)
    assert mixture.covariances_.shape == (2, 4)
    in_deviations = mixture.covariances_ / mixture.scale_**2
    assert_allclose(in_deviations, np.repeat(in_deviations[:, :1], 4, axis=1), rtol=1e-12)
    assert_allclose(mixture.precisions_, 1.0 / mixture.covariances_, rtol=1e-12)


def test_bandwidths_are_multiples_of_the_deviations():
    X = table()
    kde = KernelDensity(bandwidth=0.25, standardize=True).fit(X)
    assert_allclose(kde.bandwidth_, 0.25 * X.std(axis=0), rtol=1e-12)
    one = KernelDensity(bandwidth=0.5, standardize=True, bounds=(0.0, None)).fit(np.abs(X[:, 0]))
    assert one.bandwidth_ == pytest.approx(0.5 * np.abs(X[:, 0]).std(), rel=1e-12)
    assert one.cdf([-1.0])[0] == 0.0
    assert one.ppf(0.5) == pytest.approx(np.median(np.abs(X[:, 0])), rel=0.2)


def test_densities_are_compared_in_the_same_units():
    X = table()
    models = {"mixture": DENSITIES["mixture-spherical"], "ppca": DENSITIES["ppca"], "kde": DENSITIES["kde"]}
    tables = [compare({n: standardized(m) for n, m in models.items()}, rows, random_state=0) for rows in (X, X * UNITS)]
    assert tables[0].names == tables[1].names
    assert_allclose(tables[1].means + LOG_UNITS, tables[0].means, rtol=1e-6)


# ---- rows, weights, constant columns, files ---------------------------------------------------------------------


def containers(folder):
    X = np.round(8.0 * table()) / 8.0
    pl.DataFrame(X, schema=COLUMNS).write_csv(folder / "rows.csv")
    yield "float32", X.astype(np.float32)
    yield "fortran", np.asfortranarray(X)
    yield "frame", pl.DataFrame(X, schema=COLUMNS)
    yield "file", eigenlens.scan(folder / "rows.csv", block_rows=50)
    yield "sparse", sparse.csr_matrix(X)
    if importlib.util.find_spec("dask"):
        import dask.array as da

        yield "dask", da.from_array(X, chunks=(70, 2))
    if importlib.util.find_spec("torch"):
        import torch

        yield "tensor", torch.asarray(X)


@pytest.mark.parametrize("name", ["ppca", "mixture-spherical", "kde", "rbf", "landmarks", "linear", "quadratic"])
def test_rows_of_every_kind(name, tmp_path):
    X, y = np.round(8.0 * table()) / 8.0, labels()
    model = (DENSITIES | KERNELS | CLASSIFIERS)[name]
    score = "score_samples" if name in DENSITIES else "transform" if name in KERNELS else "predict_proba"
    target = [y] if name in CLASSIFIERS else []
    expected = getattr(standardized(model).fit(X, *target), score)(X)
    for kind, rows in containers(tmp_path):
        single = kind == "float32"
        found = standardized(model).fit(rows, *target)
        tolerance = {"rtol": 1e-2, "atol": 2e-3} if single else {"rtol": 1e-6, "atol": 1e-7}
        assert_allclose(to_numpy(getattr(found, score)(rows)), expected, err_msg=kind, **tolerance)
        assert_allclose(to_numpy(found.scale_), X.std(axis=0), rtol=1e-6, err_msg=kind)
        assert str(found.scale_.dtype).endswith("float32" if single else "float64")


def all_models():
    return {name: DENSITIES[name] for name in ("ppca", "mixture-spherical", "mixture-ppca", "kde")} | {
        name: (CLASSIFIERS | KERNELS)[name] for name in ("linear", "quadratic", "rbf")
    }


@pytest.mark.parametrize("name", all_models())
def test_weights_count_as_copies(name):
    X, y = table(60), labels(60)
    w = np.random.default_rng(1).integers(0, 3, 60)
    X[w == 0] = 1e9
    target = (y, np.repeat(y, w)) if name in CLASSIFIERS else (None, None)
    weighted = standardized(all_models()[name]).fit(X, target[0], sample_weight=w.astype(float))
    copied = standardized(all_models()[name]).fit(np.repeat(X, w, axis=0), target[1])
    assert_allclose(weighted.scale_, copied.scale_, rtol=1e-10)
    score = "transform" if name == "rbf" else "predict_proba" if name in CLASSIFIERS else "score_samples"
    assert_allclose(
        np.abs(getattr(weighted, score)(X[w > 0])), np.abs(getattr(copied, score)(X[w > 0])), rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("name", all_models())
@pytest.mark.filterwarnings("ignore:.*constant")
def test_a_constant_column_has_the_scale_one(name):
    X, y = table(), labels()
    X[:, 2] = 0.1  # not a binary fraction: rounding must not become its deviation
    target = [y] if name in CLASSIFIERS else []
    model = standardized(all_models()[name]).fit(X, *target)
    assert model.scale_[2] == 1.0
    assert_allclose(model.scale_[[0, 1, 3]], X.std(axis=0)[[0, 1, 3]], rtol=1e-12)


@pytest.mark.parametrize("name", DENSITIES | CLASSIFIERS | KERNELS)
def test_files_keep_the_scale(name, tmp_path):
    X, y = table(), labels()
    model = standardized((DENSITIES | CLASSIFIERS | KERNELS)[name]).fit(X, *([y] if name in CLASSIFIERS else []))
    model.save(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    score = "transform" if name in KERNELS else "predict_proba" if name in CLASSIFIERS else "score_samples"
    assert np.array_equal(getattr(again, score)(X), getattr(model, score)(X))
    if name != "bayes":
        assert np.array_equal(again.scale_, model.scale_)
        assert again.standardize
    if name == "ppca":
        assert again.truncated(1).bic() == model.truncated(1).bic()
        assert again.noise_variance_ == model.noise_variance_


def test_names_and_frames_come_back():
    X = table(missing=0.05)
    frame = pl.DataFrame(X, schema=COLUMNS)
    model = ProbabilisticPCA(1, standardize=True).fit(frame)
    assert list(model.feature_names_in_) == COLUMNS
    assert model.impute(frame).columns == COLUMNS
    named = model.set_output(transform="polars").transform(frame)
    assert named.columns == ["probabilisticpca0"]


@pytest.mark.parametrize("name", all_models())
def test_entries_whose_squares_overflow_are_an_error(name):
    with pytest.raises(DataError, match=r"overflow|outside the range"), np.errstate(all="ignore"):
        standardized(all_models()[name]).fit(table() * 1e200, *([labels()] if name in CLASSIFIERS else []))


@pytest.mark.parametrize("name", ["linear", "linear-rule", "quadratic", "quadratic-shrunk"])
def test_discriminants_learn_from_chunks_exactly(name):
    X, y = table(), labels()
    order = np.random.default_rng(2).permutation(len(X))
    whole, chunks = standardized(CLASSIFIERS[name]).fit(X, y), standardized(CLASSIFIERS[name])
    for part in np.array_split(order, 3):
        chunks.partial_fit(X[part], y[part], classes=["first", "second"])
    assert_allclose(chunks.scale_, X.std(axis=0), rtol=1e-12)
    assert_allclose(chunks.predict_joint_log_proba(X), whole.predict_joint_log_proba(X), rtol=1e-9)
    assert_allclose(chunks.means_, whole.means_, rtol=1e-10)


def test_a_mixture_says_that_it_does_not_know_the_deviations():
    with pytest.raises(OptionError, match="standard deviations of all rows"):
        GaussianMixture(2, standardize=True).partial_fit(table())
    with pytest.raises(OptionError, match="fit_binned"):
        GaussianMixture(standardize=True).fit_binned([0.0, 1.0, 2.0], [3, 4])
    with pytest.raises(OptionError, match="precomputed"):
        KernelPCA(2, kernel="precomputed", standardize=True).fit(np.eye(5))


def test_starts_of_a_mixture_are_in_the_units_of_the_columns():
    X = table()
    free = GaussianMixture(2, covariance_type="spherical", standardize=True, random_state=0).fit(X)
    given = GaussianMixture(2, covariance_type="spherical", standardize=True, means_init=free.means_).fit(X)
    assert_allclose(given.means_, free.means_, rtol=1e-3, atol=1e-3)
    with pytest.raises(OptionError, match="responsibilities"):
        GaussianMixture(2, standardize=True, init=(free.weights_, free.means_, np.stack([np.eye(4)] * 2))).fit(X)
    again = clone(free).set_params(warm_start=True).fit(X).fit(X)
    assert again.n_iter_ < free.n_iter_ + 2
    assert again.loglik_ >= free.loglik_ - 1e-6


def test_every_model_that_has_it_is_here():
    have = {name for name in MODELS if hasattr(estimator_class(name), "standardize")}
    tested = {type(model).__name__ for model in (DENSITIES | CLASSIFIERS | KERNELS).values()} - {"BayesClassifier"}
    assert have - {"PCA", "SparsePCA"} == tested
    assert all(hasattr(estimator_class(name), "scale_") for name in have)
