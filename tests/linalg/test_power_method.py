"""The power method step by step: wrong options, and what is left after a few steps."""

from __future__ import annotations

import numpy as np
import pytest

from eigenlens import PCA, ConvergenceWarning, OptionError
from eigenlens.textbook import PowerMethod, power_path


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PowerMethod(max_iter=0), "max_iter=0 must be at least 1"),
        (lambda: PowerMethod(max_iter=2.5), "max_iter=2.5 must be an integer"),
        (lambda: PowerMethod([0.0, 0.0]), "start.* not all of them 0"),
        (lambda: PowerMethod([[1.0, 0.0]]), r"start has the shape \(1, 2\)"),
        (lambda: PowerMethod("ones"), "start='ones' must be a number"),
        (lambda: PCA(1, solver=PowerMethod(np.ones(3))).fit(np.eye(5)), "must be a vector of 5 numbers"),
        (lambda: power_path(np.eye(2), [1.0, 0.0], -1), "steps=-1 must be at least 0"),
        (lambda: power_path(np.ones((2, 3)), [1.0, 0.0], 1), r"A has the shape \(2, 3\)"),
        (lambda: power_path([[1.0, 2.0], [0.0, 1.0]], [1.0, 0.0], 1), "A is not symmetric"),
    ],
)
def test_wrong_options_of_the_power_method(call, message):
    with pytest.raises(OptionError, match=message):
        call()


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_the_variance_is_the_rayleigh_quotient_of_the_last_iterate(steps):
    rng = np.random.default_rng(0)
    X, start = rng.standard_normal((60, 5)) * [3.0, 2.0, 1.0, 1.0, 1.0], rng.standard_normal(5)
    path = power_path(np.cov(X.T), start, steps)
    with pytest.warns(ConvergenceWarning, match=f"stopped after {steps} iterations"):
        pca = PCA(1, solver=PowerMethod(start, max_iter=steps)).fit(X)
    np.testing.assert_allclose(np.abs(pca.components_[0] @ path.vectors[-1]), 1.0, rtol=1e-12)
    np.testing.assert_allclose(pca.explained_variance_, path.quotients[-1:], rtol=1e-12)
