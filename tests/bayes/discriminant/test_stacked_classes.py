"""What is computed for all classes at once, against the same class by class."""

from __future__ import annotations

import numpy as np
import pytest

from eigenlens.bayes import class_moments
from eigenlens.bayes.class_moments import attach_classes, summarise_pooled
from eigenlens.bayes.class_triangles import _smallest_share
from eigenlens.bayes.discriminant.covariances import _have_density, has_density
from eigenlens.data.memory import ArraySource


def covariances(case: str) -> np.ndarray:
    """Three covariances of four columns; of the second one direction, or one column, has no variance."""
    rng = np.random.default_rng(0)
    found = []
    for c in range(3):
        X = rng.standard_normal((20, 4)) * [1.0, 1e-4, 1e4, 1.0]
        if c == 1 and case == "singular":
            X[:, 3] = X[:, 0]
        if c == 1 and case in ("column", "everywhere"):
            X[:, 2] = 0.0
        found.append(np.cov(X.T))
    if case == "not finite":
        found[1][0, 0] = np.nan
    return np.stack(found)


@pytest.mark.parametrize("case", ["plain", "singular", "column", "everywhere", "not finite"])
def test_densities_of_all_classes(case):
    C, means = covariances(case), np.ones((3, 4))
    constant = np.array([False, False, case == "everywhere", False])
    one_by_one = [has_density(each, mean, constant, 1e-9) for each, mean in zip(C, means, strict=True)]
    assert _have_density(C, means, constant, 1e-9).tolist() == one_by_one
    assert one_by_one == [True, case in ("plain", "everywhere"), True]


@pytest.mark.parametrize("case", ["plain", "singular", "column", "not finite"])
def test_smallest_share_of_all_classes(case):
    C = covariances(case)
    assert _smallest_share(C) == pytest.approx(min(_smallest_share(each[None]) for each in C), abs=1e-15)
    assert (_smallest_share(C) < 1e-12) == (case == "singular")


def test_pooled_moments_of_several_pieces(monkeypatch):
    """Classes that return in each piece, one that has no row, and one in the last piece alone."""
    rng = np.random.default_rng(1)
    X, codes = rng.standard_normal((90, 3)) + 1e3, np.r_[np.arange(60) % 2, np.full(30, 3)]
    for weight in (None, rng.integers(0, 3, 90).astype(float)):
        (block,) = attach_classes(ArraySource(X).weighted(weight), codes).blocks()
        whole = summarise_pooled(block, 4)
        with monkeypatch.context() as small:
            small.setattr(class_moments, "CLASS_PIECE_ENTRIES", 3 * 25)
            pieces = summarise_pooled(block, 4)
        w = np.ones(90) if weight is None else weight
        np.testing.assert_array_equal(pieces.weight, np.bincount(codes, w, minlength=4))
        for found in (whole, pieces):
            mean = np.zeros((4, 3))
            mean[[0, 1, 3]] = [np.average(X[codes == c], axis=0, weights=w[codes == c]) for c in (0, 1, 3)]
            scatter = (X - mean[codes]).T * w @ (X - mean[codes])
            np.testing.assert_allclose(found.mean, mean, rtol=1e-14)
            np.testing.assert_allclose(found.scatter, scatter, rtol=1e-10, atol=1e-9)
