"""Newton steps by products with the Hessian: what they leave out."""

from __future__ import annotations

import numpy as np

from eigenlens.optim.trust_region import newton_step


def test_a_flat_direction_is_left_out():
    """A slope along it is nothing but rounding, and a step along it could be of any length."""
    H, g = np.diag([-1.0, -4.0, -1e-13]), np.array([1.0, 4.0, 1e-14])
    options = {"radius": 10.0, "tol": 0.0, "share": 1e-15}
    np.testing.assert_allclose(newton_step(g, lambda v: H @ v, np.copy, **options).change, [1.0, 1.0, 0.1], atol=1e-3)
    found = newton_step(g, lambda v: H @ v, np.copy, **options, flat=1e-10)
    np.testing.assert_allclose(found.change, [1.0, 1.0, 0.0], atol=1e-10)
    assert not found.bounded
