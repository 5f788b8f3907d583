"""Gamma by cross-validation against the errors worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from eigenlens.errors import DataError, OptionError
from eigenlens.kernel_pca.choose_gamma import choose_gamma


def ring(n=90, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0.0, 2.0 * np.pi, n)
    return np.column_stack([np.cos(t), np.sin(t), 0.3 * np.cos(2 * t)]) + noise * rng.standard_normal((n, 3))


def share_left(train, held, gamma, k):
    """The feature-space error of held-out rows by explicit projection on eigenvectors."""
    n = len(train)
    C = np.eye(n) - 1.0 / n
    lam, U = np.linalg.eigh(C @ rbf_kernel(train, gamma=gamma) @ C)
    A = U[:, ::-1][:, :k] / np.sqrt(lam[::-1][:k])
    cross, mean = rbf_kernel(held, train, gamma=gamma), rbf_kernel(train, gamma=gamma).mean(axis=0)
    Z = (cross - cross.mean(axis=1, keepdims=True) - mean + mean.mean()) @ A
    whole = 1.0 - 2.0 * cross.mean(axis=1) + mean.mean()
    return (whole - (Z**2).sum(axis=1)).sum(), whole.sum()


def test_the_error_in_feature_space():
    X, rng = ring(), np.random.default_rng(3)
    choice = choose_gamma(X, 3, [0.1, 2.0], cv=3, random_state=3)
    folds = np.array_split(rng.permutation(len(X)), 3)
    for gamma, found in zip(choice.gammas, choice.feature, strict=True):
        parts = np.array([share_left(np.delete(X, held, axis=0), X[held], gamma, 3) for held in folds])
        assert found == pytest.approx(parts[:, 0].sum() / parts[:, 1].sum(), rel=1e-8)


def test_the_input_criterion_has_a_minimum_inside():
    """A ring in three dimensions, two components: neither the linear limit nor isolated points do best."""
    choice = choose_gamma(ring(), 2, random_state=0)
    assert choice.gammas[0] < choice.best < choice.gammas[-1]
    assert choice.best == choice.gammas[choice.input.argmin()]
    assert choice.input.min() < choice.input[0]


def test_the_feature_criterion_prefers_the_smallest():
    choice = choose_gamma(ring(), 4, criterion="feature", random_state=0)
    assert choice.best == choice.gammas[0]
    assert np.all(np.diff(choice.feature) > 0.0)


def test_it_prints_as_a_table():
    choice = choose_gamma(ring(), 2, [0.5, 1.0], cv=3, random_state=0)
    lines = str(choice).splitlines()
    assert lines[0].split() == ["gamma", "feature", "input"]
    assert sum(line.endswith("<") for line in lines) == 1


def test_bad_input():
    X = ring()
    with pytest.raises(OptionError, match="gammas"):
        choose_gamma(X, 2, [0.5, -1.0])
    with pytest.raises(DataError, match="gammas is empty"):
        choose_gamma(X, 2, [])
    with pytest.raises(OptionError, match="n_components=80 must be at most 71"):
        choose_gamma(X, 80)
    with pytest.raises(OptionError, match="cv=1"):
        choose_gamma(X, 2, cv=1)
    with pytest.raises(OptionError, match="criterion='output'"):
        choose_gamma(X, 2, criterion="output")
    X[3, 1] = np.nan
    with pytest.raises(DataError, match="NaN"):
        choose_gamma(X, 2)
