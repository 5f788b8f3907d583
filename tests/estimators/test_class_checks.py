"""scikit-learn's own checks of the classifiers by Gaussian classes and by a density a class, in every setting."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from eigenlens import FactorAnalysis, ProbabilisticPCA
from eigenlens.densities import GaussianFamily
from eigenlens.estimators.bayes import BayesClassifier
from eigenlens.estimators.discriminant import LinearDiscriminant, QuadraticDiscriminant
from eigenlens.estimators.kernel_density import KernelDensity
from eigenlens.estimators.mixture import GaussianMixture

DISCRIMINANTS = [
    *(LinearDiscriminant(shrinkage=shrinkage) for shrinkage in (None, 0.2, "ledoit-wolf", "ledoit-wolf-by-class")),
    *(QuadraticDiscriminant(shrinkage=shrinkage) for shrinkage in (None, "ledoit-wolf")),
    QuadraticDiscriminant(reg=0.1),
]

DENSITIES = [
    GaussianFamily(),
    GaussianFamily("diagonal"),
    GaussianMixture(1, n_init=1),
    KernelDensity(bandwidth=1.0),
    ProbabilisticPCA(1),
    FactorAnalysis(1, max_iter=20),
]

ONE_ROW = "a class of these rows has one row only, three times: it has no spread, and no such density"
ONE_VALUE = "a column of these rows has one value in a class, where the likelihood of such a density has no maximum"
GAPS = "the density is fitted to whole rows, but rows to be classified may have gaps"

EQUIVALENCE = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
WEIGHTS = ("check_sample_weights_shape", "check_sample_weights_not_overwritten")


def not_possible(classifier):
    """Checks that ask for a density of rows that have none, and why."""
    density = getattr(classifier, "density", None)
    if density is None:
        return {}
    found = {} if isinstance(density, KernelDensity) else dict.fromkeys(EQUIVALENCE, ONE_ROW)
    if not isinstance(density, KernelDensity | GaussianMixture):
        found |= dict.fromkeys(WEIGHTS, ONE_VALUE)
    if isinstance(density, KernelDensity) or density == GaussianFamily():
        found["check_estimators_nan_inf"] = GAPS
    return found


@pytest.mark.filterwarnings("ignore::eigenlens.DataWarning")  # some classes have constant columns, or are in a plane
@pytest.mark.filterwarnings("ignore::eigenlens.ConvergenceWarning")
@parametrize_with_checks(
    [*DISCRIMINANTS, *(BayesClassifier(density) for density in DENSITIES)], expected_failed_checks=not_possible
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)
