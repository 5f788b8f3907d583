"""Names and numbers that users of other packages bring along: each is accepted, or the message says what it is here."""

from __future__ import annotations

from inspect import signature

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.naive_bayes import GaussianNB

import eigenlens
from eigenlens import PCA, KernelDensity, NaiveBayes, catalogue
from eigenlens.estimator.names_elsewhere import CLASSES_ELSEWHERE, PARAMETERS_ELSEWHERE, PARAMETERS_WITHOUT_COUNTERPART

IRIS, SPECIES = load_iris(return_X_y=True)
X = IRIS[:, 0] + np.random.default_rng(0).normal(0.0, 0.02, 150)  # the rules warn of rounded numbers


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("rectangular", "box"),
        ("uniform", "box"),
        ("tophat", "box"),
        ("tri", "triangular"),
        ("linear", "triangular"),
        ("epa", "epanechnikov"),
        ("exponential", "laplace"),
        ("optcosine", "cosine"),
    ],
)
def test_kernels(theirs, ours):
    found = [KernelDensity(kernel=kernel, bandwidth=0.3).fit(X).density(X) for kernel in (theirs, ours)]
    assert_array_equal(*found)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("nrd0", "silverman"),
        ("nrd", "scott"),
        ("ucv", "lscv"),
        ("SJ", "sheather-jones"),
        ("SJ-dpi", "sheather-jones-dpi"),
        ("ISJ", "isj"),
    ],
)
def test_bandwidth_rules(theirs, ours):
    h = eigenlens.bandwidth(X, ours)
    assert eigenlens.bandwidth(X, theirs) == h
    assert KernelDensity(bandwidth=theirs).fit(X).bandwidth_ == h
    given, named = (NaiveBayes("kde", bandwidth=rule).fit(X[:, None], SPECIES) for rule in (theirs, ours))
    assert_array_equal(given.predict_proba(X[:, None]), named.predict_proba(X[:, None]))


def test_solvers():
    for theirs, ours in {"full": "svd", "tsqr": "svd", "arpack": "lanczos", "covariance_eigh": "covariance"}.items():
        assert PCA(2, solver=theirs).fit(IRIS).solver_.solver == ours


def test_classes_of_other_packages_are_named():
    with pytest.raises(AttributeError, match=r'no attribute \'GaussianNB\'; use NaiveBayes\("gaussian"\)$'):
        eigenlens.GaussianNB
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        eigenlens.nothing
    for name, here in CLASSES_ELSEWHERE.items():
        assert name not in eigenlens.__all__
        assert here.split("(")[0].split()[0] in eigenlens.__all__


@pytest.mark.parametrize(
    ("model", "theirs", "ours"),
    [
        ("PCA", "svd_solver", "solver"),
        ("KernelPCA", "eigen_solver", "solver"),
        ("GaussianMixture", "init_params", "init"),
        ("KernelDensity", "bw", "bandwidth"),
        ("KernelDensity", "atol", "tol"),
        ("PCA", "rescale_with_mean", "center"),
        ("NaiveBayes", "alpha", "smoothing"),
        ("QuadraticDiscriminant", "reg_param", "reg"),
        ("FactorAnalysis", "n_factors", "n_components"),
    ],
)
def test_parameters_of_other_packages_are_named(model, theirs, ours):
    with pytest.raises(TypeError, match=rf"{model}\(\) got an unexpected .* '{theirs}'; its name here is {ours}$"):
        getattr(eigenlens, model)(**{theirs: 1})


def test_parameters_that_may_be_left_out():
    with pytest.raises(TypeError, match="'copy'; leave it out"):
        PCA(2, copy=False)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'nothing'$"):
        PCA(2, nothing=1)


def test_every_parameter_elsewhere_is_none_of_ours():
    models = [getattr(eigenlens, name) for name in catalogue.MODELS]
    known = {name for model in models for name in signature(model).parameters}
    assert set(PARAMETERS_ELSEWHERE.values()) <= known
    assert not PARAMETERS_WITHOUT_COUNTERPART & known
    assert not (PARAMETERS_ELSEWHERE.keys() & known) - {"n_factors"}  # a parameter of mixtures


def test_subclasses_have_parameters_of_their_own():
    class Named(PCA):
        def __init__(self, svd_solver="full"):
            super().__init__(2, solver=svd_solver)
            self.svd_solver = svd_solver

    class Any(PCA):
        def __init__(self, **options):
            super().__init__(solver=options["svd_solver"])

    assert Named(svd_solver="svd").solver == Any(svd_solver="svd").solver == "svd"
    assert next(iter(signature(PCA).parameters)) == "n_components"


def test_drawn_rows_print_as_an_array():
    rows = eigenlens.GaussianMixture(2, random_state=0).fit(IRIS).sample(2)
    assert repr(rows) == repr(np.asarray(rows))


def test_gaussian_nb_by_an_added_variance():
    X, y = load_digits(return_X_y=True)
    ours = NaiveBayes("gaussian", floor=0.0, added_variance=1e-9 * X.var(axis=0).max()).fit(X, y)
    assert_allclose(ours.predict_proba(X), GaussianNB().fit(X, y).predict_proba(X), atol=1e-12)


def test_added_variances_matter_where_columns_differ_in_scale():
    """The page on other packages has these differences."""
    found = []
    for load in (load_iris, load_wine, load_breast_cancer):
        X, y = load(return_X_y=True)
        difference = NaiveBayes("gaussian").fit(X, y).predict_proba(X) - GaussianNB().fit(X, y).predict_proba(X)
        found.append(np.abs(difference).max())
    assert_allclose(found, [3.2e-8, 0.00476, 0.9998], rtol=0.02)


# ---- divisors, as the page on other packages states them ----------------------------------------------------------

ROWS = [0, 50, 70, 100, 119]
SCORES = [
    [8.06179978300268, 0.300420621378782],
    [1.45927545096749, 0.028543764329813],
    [3.71589614655352, 1.04451442075532],
    [7.83947398574142, 2.13973344882461],
    [4.76453568848635, 2.15573719691612],
]
POSTERIOR = [
    [1, 3.89635792768648e-22, 2.61116827494812e-42],
    [1.96973175506606e-18, 0.999889412240982, 0.000110587759018098],
    [7.40811758162482e-28, 0.253228224738179, 0.746771775261821],
    [7.50307535787337e-52, 7.12730304524438e-09, 0.999999992872697],
    [1.59851089004596e-33, 0.220798984305314, 0.779201015694686],
]


def test_naive_bayes_of_e1071_divides_by_n_less_one():
    """R 4: predict(e1071::naiveBayes(Species ~ ., iris), iris[c(1, 51, 71, 101, 120), ], type = "raw")."""
    rule = NaiveBayes("gaussian").fit(IRIS, SPECIES)
    assert_allclose(np.sqrt(rule.var_[:, 0] * 50 / 49), [0.352489687213451, 0.516171147063863, 0.635879593274432])


def test_discriminants_of_mass_divide_by_n_less_the_classes():
    """R 4: predict(MASS::lda(Species ~ ., iris), iris[c(1, 51, 71, 101, 120), ])$x and $posterior."""
    lda = eigenlens.LinearDiscriminant().fit(IRIS, SPECIES)
    scores = np.abs(lda.transform(IRIS[ROWS])) * np.sqrt(147 / 150)
    assert_allclose(scores, SCORES, rtol=1e-9)
    log_odds = lda.decision_function(IRIS[ROWS])  # equal priors: all of it is divided by the variance
    p = np.exp((log_odds - log_odds.max(axis=1, keepdims=True)) * 147 / 150)
    assert_allclose(p / p.sum(axis=1, keepdims=True), POSTERIOR, rtol=1e-8, atol=1e-30)


def test_scores_of_kernlab_are_longer_and_its_eigenvalues_shorter():
    """R 4: kpca(~., iris[, 1:4], kernel = "rbfdot", kpar = list(sigma = 0.2), features = 3), eig and rotated."""
    model = eigenlens.KernelPCA(3, gamma=0.2).fit(IRIS)
    assert_allclose(model.eigenvalues_ / 150, [0.32483773296899, 0.119060866239529, 0.0354473602433124], rtol=1e-9)
    rotated = [
        [10.0979791656324, 0.692997265933915, 1.1296932965396],
        [9.80577882574642, 0.444228718369613, 0.0081646717485086],
    ]
    assert_allclose(np.abs(model.transform(IRIS[:2])) * np.sqrt(150), rotated, rtol=1e-6)
