"""Items of the courses that need data: each takes three lines of the library or fewer."""

from __future__ import annotations

import numpy as np
import pytest

from eigenlens import PCA, KernelPCA, datasets


def test_item_30_trees_have_one_size():
    trees = datasets.load("trees")
    pca = PCA(1, standardize=True).fit(trees.data[:, :2])
    # Two standardised columns of correlation r have the components (1, 1)/√2 and (1, −1)/√2 of variances 1 ± r.
    r = np.corrcoef(trees.data[:, :2].T)[0, 1]
    np.testing.assert_allclose(pca.components_, [[np.sqrt(0.5), np.sqrt(0.5)]], atol=1e-12)
    assert pca.explained_variance_ratio_[0] == pytest.approx((1.0 + r) / 2.0, abs=1e-12)
    size = pca.transform(trees.data[:, :2])[:, 0]
    assert np.corrcoef(size, trees.data[:, 2])[0, 1] > 0.85


def test_item_75_data_on_a_curve():
    arc = datasets.load("arc")
    straight = PCA(1).fit(arc.data).reconstruction_error(arc.data)
    bent = np.sum((KernelPCA(3, kernel="rbf", gamma=1.0).fit(arc.data).denoise(arc.data) - arc.data) ** 2, axis=1)
    assert straight.mean() > 10.0 * bent.mean()
