"""Rows in either memory order, or a view with steps, are the same rows: no estimate and no warning differs."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from eigenlens import (
    PCA,
    BayesClassifier,
    FactorAnalysis,
    GaussianMixture,
    KernelDensity,
    KernelPCA,
    LinearDiscriminant,
    NaiveBayes,
    ProbabilisticPCA,
    QuadraticDiscriminant,
)

ORDERS = {
    "column-major": np.asfortranarray,
    "every other row and column": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
}
GAPS = {
    "pca": PCA(2, missing="em"),
    "ppca": ProbabilisticPCA(2),
    "fa": FactorAnalysis(2),
    "mixture": GaussianMixture(2, covariance_type="diag", random_state=0, n_init=2),
    "mixture, full": GaussianMixture(1),
    "naive Bayes": NaiveBayes(),
    "Bayes": BayesClassifier(ProbabilisticPCA(2)),
}
COMPLETE = {
    "pca": PCA(2),
    "kernel pca": KernelPCA(2),
    "kde": KernelDensity(bandwidth="scott"),
    "lda": LinearDiscriminant(),
    "qda": QuadraticDiscriminant(),
    **{f"{name}, no gaps": model for name, model in GAPS.items()},
}
METHODS = ("transform", "score_samples", "impute", "predict_proba", "predict")


def rows(gaps):
    """20 columns, so that patterns of missing values take several bytes."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 3)) @ rng.normal(size=(3, 20)) + rng.normal(size=(120, 20)) + 2.0 * y[:, None]
    return np.where(rng.random(X.shape) < (0.1 if gaps else 0.0), np.nan, X), y


@pytest.mark.few(20)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("model", "gaps"),
    [
        *[pytest.param(model, True, id=f"{name}, gaps") for name, model in GAPS.items()],
        *[pytest.param(model, False, id=name) for name, model in COMPLETE.items()],
    ],
)
def test_memory_order_does_not_matter(model, gaps, order):
    X, y = rows(gaps)
    other = ORDERS[order](X)
    assert not other.flags.c_contiguous
    np.testing.assert_array_equal(X, other)
    first, second = clone(model).fit(X, y), clone(model).fit(other, y)
    asked = [name for name in METHODS if hasattr(first, name)]
    assert asked
    for name in asked:
        expected = getattr(first, name)(X)
        np.testing.assert_allclose(getattr(second, name)(other), expected, rtol=1e-6, atol=1e-7, err_msg=name)
