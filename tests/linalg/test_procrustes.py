"""Procrustes analysis against SciPy's, and in simple cases."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import procrustes as scipy_procrustes
from scipy.stats import ortho_group

from eigenlens import DataError, procrustes


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_it_is_that_of_scipy(k):
    rng = np.random.default_rng(k)
    Y = rng.standard_normal((30, k))
    Z = Y @ ortho_group.rvs(k, random_state=0) if k > 1 else -Y
    Z = 2.5 * Z + rng.standard_normal((30, k)) + 7.0
    found = procrustes(Z, Y)
    lost = scipy_procrustes(Y, Z)[2]  # 1 - r², of points of unit size
    assert found.correlation**2 == pytest.approx(1.0 - lost, rel=1e-12)
    about = Y - Y.mean(axis=0)
    assert np.sum((found.rows - Y) ** 2) == pytest.approx(lost * np.sum(about**2), rel=1e-10)
    np.testing.assert_allclose(found.rotation @ found.rotation.T, np.eye(k), atol=1e-12)


def test_a_known_motion_is_found_and_undone():
    rng = np.random.default_rng(0)
    Z, R = rng.standard_normal((20, 3)), ortho_group.rvs(3, random_state=1)
    found = procrustes(Z, 0.2 * Z @ R - 4.0)
    np.testing.assert_allclose(found.rotation, R, atol=1e-12)
    assert (found.scale, found.correlation) == (pytest.approx(0.2), pytest.approx(1.0))
    np.testing.assert_allclose(procrustes(Z, Z @ R, scale=False).rows, Z @ R, atol=1e-12)


def test_errors():
    with pytest.raises(DataError, match=r"points has shape \(3, 2\), but the target \(3, 1\)"):
        procrustes(np.eye(3)[:, :2], np.ones((3, 1)))
    with pytest.raises(DataError, match="no direction"):
        procrustes(np.ones((3, 2)), np.eye(3)[:, :2])
    with pytest.raises(DataError, match="target has shape"):
        procrustes(np.eye(2), [[1.0, np.nan], [0.0, 1.0]])
