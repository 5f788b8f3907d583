"""The recipe for a covariance structure: one class and one entry, and mixtures take it everywhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose

from eigenlens import GaussianMixture, load, select_mixture
from eigenlens.densities import Diagonal, Gaussian
from eigenlens.errors import OptionError
from eigenlens.mixture.structures import COVARIANCE_STRUCTURES
from eigenlens.mixture.structures.base import IndependentStructure, diagonal_terms


@dataclass(frozen=True)
class TiedDiagonal(IndependentStructure):
    """Components that share the variances v (d,) of their columns (EEI in mclust)."""

    def estimate(self, moments, floor, start):
        total = moments.weight.sum(axis=-1)[..., None, None]
        return {"variances": np.maximum(moments.square.sum(axis=-2, keepdims=True) / total, floor)}

    def terms(self, weights, means, arrays):
        return diagonal_terms(weights, means, arrays["variances"])

    def components(self, means, arrays):
        return tuple(Gaussian(mean, Diagonal(arrays["variances"][0])) for mean in means)

    def arrays(self, components):
        return {"variances": self.covariances(components)[None]}

    def covariances(self, components):
        return components[0].covariance.variances

    def covariance_shape(self, d, K):
        return (d,)

    def from_covariances(self, covariances):
        return {"variances": covariances[None]}

    def n_parameters(self, d, K):
        return d

    def prior_rows(self, d, K):
        return (d + 4.0 + K) / K, 1.0 / K

    def start_coordinates(self, covariance):
        return (1.0 / np.sqrt(covariance),)


@pytest.fixture(autouse=True)
def entry(monkeypatch):
    monkeypatch.setitem(COVARIANCE_STRUCTURES, "tied-diag", TiedDiagonal)


def rows(missing=0.0):
    rng = np.random.default_rng(0)
    means = np.array([[0.0, 0.0, 0.0], [6.0, -20.0, 0.5]])
    X = means[rng.integers(0, 2, 400)] + rng.standard_normal((400, 3)) * [1.0, 4.0, 0.1]
    X[:, :2][rng.random((400, 2)) < missing] = np.nan
    return X


def test_maximum_likelihood_of_complete_rows():
    X = rows()
    mixture = GaussianMixture(2, covariance_type="tied-diag", random_state=0).fit(X)
    assert mixture.converged_
    assert mixture.covariances_.shape == (3,)
    R = mixture.predict_proba(X)
    within = np.einsum("nk,nkd->d", R, (X[:, None] - mixture.means_) ** 2) / len(X)
    assert_allclose(mixture.covariances_, within, rtol=1e-4)  # the fixed point of EM
    assert mixture.loglik_ < GaussianMixture(2, covariance_type="diag", random_state=0).fit(X).loglik_


def test_missing_values():
    X = rows(missing=0.2)
    mixture = GaussianMixture(2, covariance_type="tied-diag", random_state=0).fit(X)
    complete = GaussianMixture(2, covariance_type="tied-diag", random_state=0).fit(rows())
    assert mixture.converged_
    assert_allclose(mixture.means_, complete.means_, atol=1.0)
    assert not np.isnan(mixture.impute(X)).any()


def test_save_and_load(tmp_path):
    X = rows()
    mixture = GaussianMixture(2, covariance_type="tied-diag", random_state=0).fit(X)
    mixture.save(tmp_path / "mixture.safetensors")
    again = load(tmp_path / "mixture.safetensors")
    assert_allclose(again.score_samples(X), mixture.score_samples(X), rtol=1e-13)
    assert again.partial_fit(X[:50]).covariances_.shape == (3,)


def test_selection_has_it_beside_the_others():
    table = select_mixture(rows(), [1, 2, 3], ["tied-diag", "diag", "full"], random_state=0)
    assert (table.types[0], table.components[0]) == ("tied-diag", 2)  # the rows are drawn from it


def test_prior_and_given_starts():
    X = rows()
    start = np.full(2, 0.5), X[:2], X.var(axis=0)
    mixture = GaussianMixture(2, covariance_type="tied-diag", init=start, prior="conjugate").fit(X)
    assert np.all(np.diff(mixture.loglik_path_) >= 0.0)


def test_errors_list_the_registry():
    with pytest.raises(OptionError, match="'tied-diag'"):
        GaussianMixture(2, covariance_type="tied-dag").fit(rows())
