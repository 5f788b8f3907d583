"""scikit-learn's own checks of the classifiers by Gaussian classes and by a density a class, in every setting."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from eigenlens import PCA, FactorAnalysis, ProbabilisticPCA
from eigenlens.bayes.classifier.estimator import BayesClassifier
from eigenlens.bayes.discriminant.estimator import LinearDiscriminant, QuadraticDiscriminant
from eigenlens.densities import GaussianFamily
from eigenlens.kde.estimator import KernelDensity
from eigenlens.mixture.estimator import GaussianMixture

DISCRIMINANTS = [
    *(LinearDiscriminant(shrinkage=shrinkage) for shrinkage in (None, 0.2, "ledoit-wolf", "ledoit-wolf-by-class")),
    *(QuadraticDiscriminant(shrinkage=shrinkage) for shrinkage in (None, "ledoit-wolf")),
    QuadraticDiscriminant(reg=0.1),
]

DENSITIES = [
    GaussianFamily(),
    GaussianFamily("diagonal"),
    GaussianFamily("spherical"),
    GaussianMixture(1, n_init=1),
    GaussianMixture(2, n_init=1, max_iter=10, covariance_type="diag"),
    KernelDensity(bandwidth=1.0),
    KernelDensity(bandwidth="silverman"),
    KernelDensity(),
    ProbabilisticPCA(1),
    FactorAnalysis(1, max_iter=20),
    PCA(1),
]


@pytest.mark.few(60)
@pytest.mark.filterwarnings("ignore::eigenlens.DataWarning")  # some classes have constant columns, or are in a plane
@pytest.mark.filterwarnings("ignore::eigenlens.ConvergenceWarning")
@parametrize_with_checks([*DISCRIMINANTS, *(BayesClassifier(density) for density in DENSITIES)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)
