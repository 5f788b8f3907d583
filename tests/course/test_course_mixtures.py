"""Items of the courses on mixtures, three lines or fewer each."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from eigenlens import GaussianMixture


def test_item_24_draw_a_label_then_a_row():
    gmm = GaussianMixture(2, random_state=0).fit(load_iris().data)
    X, y = gmm.sample(200_000, return_labels=True)
    assert_allclose(np.bincount(y) / len(y), gmm.weights_, atol=5e-3)
    for k in range(2):
        assert_allclose(X[y == k].mean(axis=0), gmm.means_[k], atol=0.01)
        assert_allclose(np.cov(X[y == k].T), gmm.covariances_[k], atol=0.02)
