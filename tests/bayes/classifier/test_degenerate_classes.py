"""`BayesClassifier` where the density of a class has no maximum: its fallbacks, laws, files and errors."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal, norm

from eigenlens import (
    PCA,
    DataError,
    DataWarning,
    FactorAnalysis,
    OptionError,
    ProbabilisticPCA,
    QuadraticDiscriminant,
    load,
    scan,
)
from eigenlens.bayes.classifier.degenerate_classes import InColumns
from eigenlens.bayes.classifier.estimator import BayesClassifier
from eigenlens.densities import Gaussian, GaussianFamily
from eigenlens.kde.estimator import KernelDensity
from eigenlens.latent.families import FactorFamily, PPCAFamily
from eigenlens.mixture.estimator import GaussianMixture
from eigenlens.stats.moments import Moments

FLOOR = 1e-8

DENSITIES = {
    "full": GaussianFamily(),
    "diagonal": GaussianFamily("diagonal"),
    "spherical": GaussianFamily("spherical"),
    "gaussian": GaussianMixture(1, n_init=1, random_state=0),
    "mixture": GaussianMixture(2, n_init=1, random_state=0),
    "silverman": KernelDensity(bandwidth="silverman"),
    "plug-in": KernelDensity(),
    "box": KernelDensity(kernel="box", bandwidth="scott"),
    "ppca": ProbabilisticPCA(1),
    "factor": FactorAnalysis(1),
    "pca": PCA(1),
}

pytestmark = pytest.mark.filterwarnings("ignore:.*Heywood")  # one factor for rows of one is all there is


def data(n=120, d=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.standard_normal((n, 1)) * np.linspace(1.0, -0.8, d) + 0.7 * rng.standard_normal((n, d))
    return (X + 1.5 * rng.standard_normal((3, d))[y]) * np.linspace(1.0, 50.0, d) + 3.0, y


def single():
    """Rows of three classes, and one of a fourth."""
    X, y = data()
    return X, np.where(np.arange(len(y)) == 5, 9, y)


def flat():
    """One column is constant in class 1."""
    X, y = data()
    X[y == 1, 2] = 4.0
    return X, y


def pooled(X, y):
    """The covariance within all classes, by hand."""
    residuals = np.concatenate([X[y == c] - X[y == c].mean(axis=0) for c in np.unique(y)])
    return residuals.T @ residuals / len(X)


def log_normal(X, mean, C):
    """Also where C is too near to singular for SciPy."""
    Z = np.linalg.solve(np.linalg.cholesky(C), (X - mean).T)
    return -0.5 * (len(mean) * np.log(2 * np.pi) + np.linalg.slogdet(C)[1] + np.sum(Z**2, axis=0))


def fit_and_warn(model, *arguments, **options):
    """The fitted model and its one warning."""
    with pytest.warns(DataWarning) as caught:
        model.fit(*arguments, **options)
    message = [str(warning.message) for warning in caught if "Heywood" not in str(warning.message)]
    assert len(message) == 1, message
    return model, message[0]


# ---- fallbacks of a class ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in DENSITIES if name not in ("diagonal", "spherical")])
def test_a_class_of_one_row_is_a_gaussian_with_the_covariance_within_all(name):
    X, y = single()
    found, message = fit_and_warn(BayesClassifier(DENSITIES[name]), X, y)
    twin = multivariate_normal(X[5], pooled(X, y)).logpdf(X)
    assert_allclose(found.predict_joint_log_proba(X)[:, 3], twin + np.log(1 / 120), rtol=1e-9)
    assert "class 9 of 1 row: too little spread" in message
    assert "covariance within all classes; give such classes more rows" in message
    assert "more rows" in message
    assert np.all(np.isfinite(found.predict_proba(X)))
    # The other classes are what they are without the one.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        others = BayesClassifier(DENSITIES[name], prior="uniform").fit(X[y < 9], y[y < 9])
    likelihoods = found.predict_joint_log_proba(X) - np.log(found.class_prior_)
    assert_allclose(likelihoods[:, :3], others.predict_joint_log_proba(X) + np.log(3.0), rtol=1e-8)


def test_families_lend_within_their_structure():
    X, y = single()
    S = pooled(X, y)
    for name, C in (("diagonal", np.diag(S.diagonal())), ("spherical", np.eye(4) * S.diagonal().mean())):
        found, _ = fit_and_warn(BayesClassifier(DENSITIES[name]), X, y)
        twin = multivariate_normal(X[5], C).logpdf(X)
        assert_allclose(found.predict_joint_log_proba(X)[:, 3], twin + np.log(1 / 120), rtol=1e-9)
        assert found.densities_[3].fitted is None  # it is no maximum, so it has no standard errors


@pytest.mark.parametrize("name", ["full", "diagonal", "gaussian", "mixture", "silverman", "plug-in", "box", "factor"])
def test_a_constant_column_has_the_variance_within_all_classes(name):
    X, y = flat()
    found, message = fit_and_warn(BayesClassifier(DENSITIES[name]), X, y)
    assert "class 1 of 40 rows is constant in column 2" in message
    assert f"its {type(DENSITIES[name]).__name__} is that of the other columns" in message
    others = [0, 1, 3]
    alone = BayesClassifier(DENSITIES[name]).fit(X[:, others], y).predict_joint_log_proba(X[:, others])[:, 1]
    column = norm(4.0, np.sqrt(pooled(X, y)[2, 2])).logpdf(X[:, 2])
    assert_allclose(found.predict_joint_log_proba(X)[:, 1], alone + column, rtol=1e-8)


def test_densities_that_can_do_with_a_constant_column_are_left_alone():
    X, y = flat()
    BayesClassifier(DENSITIES["spherical"]).fit(X, y)
    with pytest.warns(DataWarning, match=r"class 1 \(40 rows\): 1 of 4 columns are constant"):
        found = BayesClassifier(ProbabilisticPCA(1)).fit(X, y)
    assert isinstance(found.densities_[1], ProbabilisticPCA)
    with pytest.warns(DataWarning, match=r"class 1 \(40 rows\): 1 of 4 columns are constant"):
        found = BayesClassifier(GaussianMixture(1, n_init=1, covariance_type="spherical")).fit(X, y)
    assert isinstance(found.densities_[1], GaussianMixture)
    numbers = BayesClassifier(KernelDensity(bandwidth=1.0)).fit(*single())
    assert isinstance(numbers.densities_[3], KernelDensity)  # a kernel with a width needs no spread


def test_rows_that_fill_too_few_dimensions():
    X, y = data()
    X[y == 2] = X[y == 2][:, [0, 1, 2, 0]]  # the last column follows from the first
    found, message = fit_and_warn(BayesClassifier(GaussianFamily()), X, y)
    assert "class 2 of 40 rows: too little spread for a GaussianFamily" in message
    twin = multivariate_normal(X[y == 2].mean(axis=0), pooled(X, y)).logpdf(X)
    assert_allclose(found.predict_joint_log_proba(X)[:, 2], twin + np.log(1 / 3), rtol=1e-9)


def test_latent_families_get_the_pooled_variance_as_others_do():
    X, y = flat()
    y = np.where(np.arange(len(y)) == 5, 9, y)
    found, message = fit_and_warn(BayesClassifier(FactorFamily(1)), X, y)
    assert "class 1 of 40 rows is constant in column 2" in message
    assert "class 9 of 1 row" in message
    assert_allclose(found.densities_[1].covariance().diagonal()[2], pooled(X, y)[2, 2], rtol=1e-6)
    within = FactorFamily(1).estimate(Moments(1.0, X[5], pooled(X, y)))
    assert_allclose(found.predict_joint_log_proba(X)[:, 3], within.log_density(X) - np.log(120), rtol=1e-8)
    one, _ = fit_and_warn(BayesClassifier(PPCAFamily(1)), *single())
    within = PPCAFamily(1).estimate(Moments(1.0, X[5], pooled(*single())))
    assert_allclose(one.predict_joint_log_proba(X)[:, 3], within.log_density(X) - np.log(120), rtol=1e-8)


@pytest.mark.parametrize("name", ["full", "diagonal", "silverman", "factor", "gaussian"])
def test_columns_that_no_class_varies_in_are_clamped_at_a_floor(name):
    X, y = data()
    X[:, 1] = y * 2.0
    kept = [0, 2, 3]
    found, _ = fit_and_warn(BayesClassifier(DENSITIES[name]), X, y)
    assert_array_equal(found.predict(X), y)
    column = norm(2.0, np.sqrt(FLOOR * X[:, 1].var())).logpdf(X[:, 1])
    alone = BayesClassifier(DENSITIES[name]).fit(X[:, kept], y).predict_joint_log_proba(X[:, kept])[:, 1]
    assert_allclose(found.predict_joint_log_proba(X)[:, 1], alone + column, rtol=1e-8)


@pytest.mark.parametrize("name", ["full", "diagonal", "gaussian", "silverman", "plug-in", "factor"])
def test_columns_that_are_constant_in_all_rows_are_left_out(name):
    X, y = data()
    wide = np.insert(X, [1, 3], [7.0, -2.0], axis=1)
    found, message = fit_and_warn(BayesClassifier(DENSITIES[name]), pd.DataFrame(wide, columns=list("abcdef")), y)
    assert message == "columns 'b', 'e' are constant in all rows and left out."
    plain = BayesClassifier(DENSITIES[name]).fit(X, y).predict_joint_log_proba(X)
    other = pd.DataFrame(wide + np.array([0, 5, 0, 0, -9, 0]), columns=list("abcdef"))  # what they are says nothing
    assert_allclose(found.predict_joint_log_proba(other), plain, rtol=1e-10)
    rows = found.sample(20, random_state=0)
    assert_array_equal(rows[:, [1, 4]], np.tile([7.0, -2.0], (20, 1)))


@pytest.mark.parametrize("name", ["full", "silverman"])
def test_everything_at_once(name, tmp_path):
    X, y = flat()
    y = np.where(np.arange(len(y)) == 5, 9, y)
    X = np.insert(X, 0, 1.0, axis=1)
    found, message = fit_and_warn(BayesClassifier(DENSITIES[name]), pd.DataFrame(X, columns=list("abcde")), y)
    assert (
        message.index("column 'a' is constant")
        < message.index("constant in column 'd'")
        < message.index("class 9 of 1 row")
    )
    twin = multivariate_normal(X[5, 1:], pooled(X[:, 1:], y)).logpdf(X[:, 1:])
    assert_allclose(found.predict_joint_log_proba(pd.DataFrame(X, columns=list("abcde")))[:, 3], twin - np.log(120))
    found.save(tmp_path / "model")
    frame = pd.DataFrame(X, columns=list("abcde"))
    assert_array_equal(load(tmp_path / "model").predict_log_proba(frame), found.predict_log_proba(frame))


def test_more_columns_than_rows():
    X, y = data(n=30, d=40)
    found, message = fit_and_warn(BayesClassifier(GaussianFamily()), X, y)
    assert "clamped at 1e-08 of the variances of all rows as it is singular too" in message
    C = pooled(X, y) + np.diag(FLOOR * X.var(axis=0))
    twin = log_normal(X, X[y == 0].mean(axis=0), C)
    assert_allclose(found.predict_joint_log_proba(X)[:, 0], twin + np.log(1 / 3), rtol=1e-6)
    # By the products of the rows, where no matrix of columns is made.
    one = np.where(np.arange(30) == 0, 9, y)
    wide, _ = fit_and_warn(BayesClassifier(PCA(1)), X, one)
    C = pooled(X, one) + np.diag(FLOOR * X.var(axis=0))
    assert_allclose(wide.predict_joint_log_proba(X[:1])[0, 3], log_normal(X[:1], X[0], C)[0] - np.log(30))


# ---- laws ---------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::eigenlens.DataWarning")
@pytest.mark.parametrize("rows", [single, flat], ids=["single", "flat"])
@pytest.mark.parametrize("name", DENSITIES)
def test_weights_are_copies(name, rows):
    X, y = rows()
    w = np.random.default_rng(1).integers(0, 4, len(y))
    w[5] = 3
    weighted = BayesClassifier(DENSITIES[name]).fit(X, y, sample_weight=w)
    copies = BayesClassifier(DENSITIES[name]).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_allclose(weighted.predict_log_proba(X), copies.predict_log_proba(X), rtol=1e-6, atol=1e-6)


@pytest.mark.filterwarnings("ignore::eigenlens.DataWarning")
@pytest.mark.parametrize("rows", [single, flat], ids=["single", "flat"])
@pytest.mark.parametrize("name", ["full", "diagonal", "gaussian", "silverman", "plug-in", "factor"])
def test_units_and_the_order_of_columns_change_nothing(name, rows):
    X, y = rows()
    order, scale = [2, 0, 3, 1], np.array([1e-3, 1.0, 1e4, 7.0])
    found = BayesClassifier(DENSITIES[name]).fit(X, y).predict_log_proba(X)
    other = BayesClassifier(DENSITIES[name]).fit((X * scale)[:, order], y)
    assert_allclose(other.predict_log_proba((X * scale)[:, order]), found, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rows", [single, flat], ids=["single", "flat"])
@pytest.mark.parametrize("name", ["full", "diagonal"])
def test_partial_fit_is_exact(name, rows):
    X, y = rows()
    X = np.insert(X, 2, 6.0, axis=1)
    whole, message = fit_and_warn(BayesClassifier(DENSITIES[name]), X, y)
    parts = BayesClassifier(DENSITIES[name])
    for part in np.array_split(np.argsort(y, kind="stable"), 4):
        parts.partial_fit(X[part], y[part], classes=np.unique(y))
    with pytest.warns(DataWarning) as caught:
        found = parts.predict_log_proba(X)
    assert [str(warning.message) for warning in caught] == [message]
    assert_allclose(found, whole.predict_log_proba(X), rtol=1e-8, atol=1e-8)
    rng = np.random.default_rng(3)
    more, labels = rng.standard_normal((40, 5)) + X.mean(axis=0), np.repeat(np.unique(y)[-2:], 20)
    parts.partial_fit(more, labels)  # with rows enough, every class has a density of its own
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        again = BayesClassifier(DENSITIES[name]).fit(np.concatenate([X, more]), np.concatenate([y, labels]))
        assert_allclose(parts.predict_log_proba(X), again.predict_log_proba(X), rtol=1e-7, atol=1e-7)


@pytest.mark.filterwarnings("ignore::eigenlens.DataWarning")
@pytest.mark.parametrize("name", ["full", "silverman", "mixture"])
def test_every_kind_of_rows(name, tmp_path):
    X, y = flat()
    y = np.where(np.arange(len(y)) == 5, 9, y)
    X = np.insert(X, 1, 6.0, axis=1)
    np.save(tmp_path / "rows.npy", X)
    plain = BayesClassifier(DENSITIES[name]).fit(X, y).predict_log_proba(X)
    for rows in (sp.csr_matrix(X), scan(tmp_path / "rows.npy", block_rows=17), pd.DataFrame(X)):
        found = BayesClassifier(DENSITIES[name]).fit(rows, y)
        assert_allclose(found.predict_log_proba(rows), plain, rtol=1e-6, atol=1e-6)


@pytest.mark.filterwarnings("ignore::eigenlens.DataWarning")
@pytest.mark.parametrize("rows", [single, flat], ids=["single", "flat"])
@pytest.mark.parametrize("name", DENSITIES)
def test_samples_and_files(name, rows, tmp_path):
    X, y = rows()
    found = BayesClassifier(DENSITIES[name]).fit(X, y)
    found.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert_allclose(again.predict_log_proba(X), found.predict_log_proba(X), rtol=1e-9, atol=1e-9)
    drawn, labels = found.sample(4000, random_state=0, return_labels=True)
    assert_allclose(again.sample(4000, random_state=0), drawn, rtol=1e-9)
    assert type(again.density) is type(DENSITIES[name])
    if rows is flat:
        mine = drawn[labels == 1]
        assert_allclose(mine.mean(axis=0), X[y == 1].mean(axis=0), atol=0.15 * X.std(axis=0).max())
        if isinstance(found.densities_[1], InColumns):
            assert mine[:, 2].std() == pytest.approx(np.sqrt(pooled(X, y)[2, 2]), rel=0.1)


@pytest.mark.filterwarnings("ignore::eigenlens.DataWarning")
def test_a_file_of_classes_that_all_have_the_covariance_within(tmp_path):
    X, y = data(n=12)
    X[:, 1:] = X[:, :1]  # every class is on a line
    found = BayesClassifier(ProbabilisticPCA(1, max_iter=77)).fit(X, y)
    assert all(isinstance(density, Gaussian) for density in found.densities_)
    found.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert (again.density.n_components, again.density.max_iter) == (1, 77)
    assert_array_equal(again.predict_log_proba(X), found.predict_log_proba(X))


# ---- missing values -----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::eigenlens.DataWarning")
@pytest.mark.parametrize("name", ["full", "silverman", "ppca", "factor"])
def test_missing_values_in_rows_to_be_classified(name):
    X, y = flat()
    X = np.insert(X, 0, 2.0, axis=1)
    y = np.where(np.arange(len(y)) == 5, 9, y)
    found = BayesClassifier(DENSITIES[name], prior="uniform").fit(X, y)
    Z = X[:4].copy()
    Z[0, 3] = Z[1, [1, 2, 4]] = Z[2] = np.nan
    joint = found.predict_joint_log_proba(Z)
    S = pooled(X, y)
    keep = [1, 2, 4]
    assert_allclose(
        joint[0, 3], multivariate_normal(X[5, keep], S[np.ix_(keep, keep)]).logpdf(X[0, keep]) - np.log(4), rtol=1e-8
    )
    if name in ("full", "silverman", "factor"):
        assert_allclose(joint[1, 1], norm(4.0, np.sqrt(S[3, 3])).logpdf(X[1, 3]) - np.log(4), rtol=1e-8)
    assert_allclose(found.predict_proba(Z)[2], 0.25)


def test_incomplete_rows_in_fit_beside_a_class_of_one_row():
    X, y = single()
    Z = X.copy()
    Z[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    Z[5] = X[5]
    for density in (ProbabilisticPCA(1), GaussianMixture(1, n_init=1)):
        found, message = fit_and_warn(BayesClassifier(density), Z, y)
        assert "class 9 of 1 row" in message
        assert np.all(np.isfinite(found.predict_proba(Z)))
        near = multivariate_normal(X[5], pooled(X, y)).logpdf(X) - np.log(120)
        assert_allclose(found.predict_joint_log_proba(X)[:, 3], near, atol=3.0)  # a tenth of the entries less
    family, _ = fit_and_warn(BayesClassifier(GaussianFamily()), Z, y)
    assert_allclose(family.predict_joint_log_proba(X)[:, 3], near, atol=3.0)


@pytest.mark.filterwarnings("ignore::eigenlens.DataWarning")
def test_missing_values_in_fit_of_constant_columns():
    X, y = flat()
    Z = X.copy()
    Z[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    for name in ("full", "diagonal", "factor", "silverman"):
        found = BayesClassifier(DENSITIES[name]).fit(Z, y)
        assert np.all(np.isfinite(found.predict_log_proba(X)[:, 1]))
        assert found.score(X, y) > 0.7


def test_incomplete_rows_in_fit_that_fill_too_few_dimensions():
    X, y = data()
    X[y == 2] = X[y == 2][:, [0, 1, 2, 0]]
    X = np.insert(X, 0, 2.0, axis=1)
    Z = X.copy()
    Z[::7, 2] = np.nan
    found, message = fit_and_warn(BayesClassifier(GaussianFamily()), Z, y)
    assert "column 0 is constant in all rows" in message
    assert "class 2 of 40 rows: too little spread" in message
    near = multivariate_normal(X[y == 2, 1:].mean(axis=0), pooled(X, y)[1:, 1:]).logpdf(X[:, 1:]) - np.log(3)
    assert_allclose(found.predict_joint_log_proba(X)[:, 2], near, rtol=0.1)


@pytest.mark.parametrize("name", ["full", "factor family", "diagonal"])
def test_a_constant_column_with_missing_values_has_the_pooled_variance_of_the_observed_entries(name):
    X, y = flat()
    X[y == 1, 2] = 3.3  # no short number: rounding shows
    X[::9, 2] = X[1::9, 0] = np.nan
    X = np.insert(X, 1, 7.0, axis=1)
    density = {"factor family": FactorFamily(1)} | DENSITIES
    found, message = fit_and_warn(BayesClassifier(density[name]), X, y)
    assert "class 1 of 40 rows is constant in column 3" in message
    assert "too little spread" not in message
    column = [X[y == c, 3][~np.isnan(X[y == c, 3])] for c in range(3)]
    near = sum(np.sum((x - x.mean()) ** 2) for x in column) / sum(map(len, column))
    drawn = found.sample(6000, random_state=0, return_labels=True)
    assert drawn[0][drawn[1] == 1, 3].var() == pytest.approx(near, rel=0.1)


# ---- rounding, which must not decide ------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::eigenlens.DataWarning")
@pytest.mark.parametrize("seed", range(6))
def test_rows_that_fill_too_few_dimensions_do_so_in_every_order_of_columns(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], [4, 2, 3])
    X = (rng.standard_normal((9, 4)) + 1e3 * rng.standard_normal(4)) * 10.0 ** rng.integers(-8, 9, 4)
    X[y == 2, 1] = X[y == 2, 1][0]
    plain = BayesClassifier(GaussianFamily()).fit(X, y).predict_joint_log_proba(X)
    for _ in range(8):
        order = rng.permutation(4)
        found = BayesClassifier(GaussianFamily()).fit(X[:, order], y)
        assert_allclose(found.predict_joint_log_proba(X[:, order]), plain, rtol=1e-5)


@pytest.mark.filterwarnings("ignore::eigenlens.DataWarning")
@pytest.mark.parametrize("model", [BayesClassifier(GaussianFamily()), QuadraticDiscriminant()], ids=["bayes", "qda"])
def test_sparse_rows_whose_column_varies_by_rounding_alone(model):
    X, y = data()
    X[:, 1] = np.array([1.1, 2.3, 5.7])[y] / 3.0
    y[:2] = y[2] if isinstance(model, QuadraticDiscriminant) else 9
    X[:2, 1] = X[2, 1]
    dense = model.fit(X, y).predict_log_proba(X)
    assert_allclose(model.fit(sp.csr_matrix(X), y).predict_log_proba(X), dense, rtol=1e-6, atol=1e-6)


# ---- warnings -----------------------------------------------------------------------------------------------


def test_what_several_classes_have_in_common_is_warned_of_once_with_names():
    X, y = data()
    X[y < 2, 1] = 3.0
    X[y == 2, 3] = 1.0
    frame = pd.DataFrame(X, columns=["height", "width", "depth", "age"])
    _, message = fit_and_warn(BayesClassifier(ProbabilisticPCA(1)), frame, y)
    assert message == (
        "class 0 (40 rows): 1 of 4 columns are constant ('width'); they are taken for columns without noise, so leave "
        "them out. Similar warnings apply to class 1 (40 rows), class 2 (40 rows)."
    )


def test_warnings_that_differ_stay_apart_and_at_the_line_that_asked():
    X, y = data()
    X[y == 1, 1] = 3.0

    class Talking(ProbabilisticPCA):
        def fit(self, X, y=None):
            if np.mean(X[:, 0]) < 0.0:
                warnings.warn("something else", DataWarning, stacklevel=2)
            return super().fit(X)

    X[:, 0] += np.where(y == 2, -1e3, 1e3)
    with pytest.warns(DataWarning) as caught:
        BayesClassifier(Talking(1)).fit(X, y)
    message = [str(warning.message) for warning in caught]
    assert message[0].startswith("class 1 (40 rows): 1 of 4 columns are constant (1)")
    assert message[1] == "class 2 (40 rows): something else."
    assert len(message) == 2
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.filterwarnings("ignore::eigenlens.DataWarning")
def test_fitted_densities_have_no_names_so_that_arrays_can_be_given_to_them():
    X, y = flat()
    frame = pd.DataFrame(X, columns=list("abcd"))
    for name in ("ppca", "gaussian", "silverman", "factor", "pca"):
        found = BayesClassifier(DENSITIES[name]).fit(frame, y)
        assert not hasattr(found.densities_[0], "feature_names_in_")
        assert_allclose(found.predict_log_proba(frame), BayesClassifier(DENSITIES[name]).fit(X, y).predict_log_proba(X))


def test_many_classes_are_counted_not_listed():
    X, y = data(n=400)
    y = np.arange(400) % 8
    X[y > 0, 2] = 4.0
    _, message = fit_and_warn(BayesClassifier(GaussianFamily()), pd.DataFrame(X, columns=list("abcd")), y)
    assert message.startswith("class 1 of 50 rows is constant in column 'c', class 2 of 50 rows in 1 column, ")
    assert "class 5 of 50 rows in 1 column and 2 more classes: there it has" in message


# ---- errors that stay ---------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*columns are constant")
@pytest.mark.parametrize("name", ["full", "diagonal", "spherical", "gaussian", "silverman", "ppca", "factor", "pca"])
def test_no_spread_at_all(name):
    X = np.repeat([[0.0, 1.0], [2.0, 5.0], [3.0, -1.0]], 3, axis=0)
    with pytest.raises(DataError, match="no column varies within any class"):
        BayesClassifier(DENSITIES[name]).fit(X, np.repeat([0, 1, 2], 3))


def test_parameters_at_fault_are_named_however_few_rows_a_class_has():
    X, y = data(n=9, d=6)
    for density, message in (
        (KernelDensity(bandwidth=-1.0), "bandwidth=-1.0"),
        (KernelDensity(bandwidth="scot"), "scot"),
        (ProbabilisticPCA(9), "n_components=9"),
        (GaussianMixture(1, covariance_type="round"), "round"),
    ):
        with pytest.raises(OptionError, match=message):
            BayesClassifier(density).fit(X, y)
    single_rows = np.where(np.arange(9) == 0, 9, y)
    with pytest.raises((DataError, OptionError), match="class 9"):  # no Gaussian keeps to bounds
        BayesClassifier(KernelDensity(bandwidth="scott", bounds=(-1e3, 1e3))).fit(X, single_rows)


@pytest.mark.filterwarnings("ignore:.*components have collapsed")
def test_too_many_components_for_a_class_with_spread_is_an_error():
    X, y = data(d=2)
    few = np.where(np.arange(120) < 4, 9, y)
    with pytest.raises(OptionError, match=r"class 9 \(4 rows\): n_components=6"):
        BayesClassifier(GaussianMixture(6, n_init=1, random_state=0)).fit(X, few)


def test_classes_with_a_fallback_do_not_continue():
    X, y = single()
    found, _ = fit_and_warn(BayesClassifier(GaussianMixture(1, n_init=1)), X, y)
    with pytest.raises(OptionError, match="without a density of their own"):
        found.partial_fit(X, y)
