"""Kernel densities in several dimensions: coordinates in units of the bandwidth, then sums over tiles of points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from eigenlens.arrays import Array, Like, namespace, slices
from eigenlens.gpu.log_sums import SUMMABLE, DevicePoints
from eigenlens.kde.kernels import SmoothingKernel
from eigenlens.native.kernel_sums import FORMS, Cloud, cloud_sums

SPACE_PAIRS = 1 << 17
"""Pairs of queries and points per block, where pairs are summed one by one."""


@dataclass(frozen=True, eq=False)
class Space:
    """The sum Σ_i w_i Π_j K(u_ij) / (s_i^d |bandwidth|), u_i = (y − x_i) in units of s_i times the bandwidth.

    Attributes:
        points: (n, d). weights: (n,), positive. bandwidth: (d,), one per column, or the Gaussian's covariance H (d, d).
        kernel: K. scales: (n,) s_i, or None where they are one. tol: the relative error that sums may have.
    """

    points: Array
    weights: Array
    bandwidth: Array
    kernel: SmoothingKernel
    scales: Array | None
    tol: float

    def log_density(self, Y: Array) -> Array:
        """Return the logarithm of the sum (m,) at Y (m, d); −inf only where every K is 0."""
        U = self._in_units(Y)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            if self.kernel.name not in FORMS:
                return np.log(_profile_sums(self.cloud, U, self.kernel)) - self._log_volume
            exponent, value = cloud_sums(self.cloud, U, self.tol)
            constant = U.shape[1] * float(self.kernel.log_profile(np.zeros(1))[0])
            return np.asarray(exponent + np.log(value) + constant - self._log_volume)

    def device_log_density(self, Y: Any) -> Array:
        """Return `log_density` of rows Y (m, d) of a tensor, summed on its device; of forms in `SUMMABLE` alone."""
        like = Like(Y, np.dtype(np.float64))
        xp = namespace(Y)
        U = xp.astype(Y, xp.float64) - like(self._centre)
        U = U / like(self.bandwidth) if self._root is None else xp.matmul(U, like(np.linalg.inv(self._root).T))
        points = DevicePoints(self.cloud.points, self.cloud.weights, self.kernel.name, Y)
        constant = U.shape[1] * float(self.kernel.log_profile(np.zeros(1))[0])
        return np.asarray(points.log_sums(U) + constant - self._log_volume)

    @property
    def on_device(self) -> bool:
        """Whether sums can be taken on a device: every point has the same bandwidth, and the kernel never ends."""
        return self.scales is None and self.kernel.name in SUMMABLE

    def integral(self, Y: Array, low: Array) -> Array:
        """Return the integral of the sum from `low` (d,) to each row of Y (m, d), for one bandwidth per column."""
        cloud, out = self.cloud, np.zeros(len(Y))
        inverse = 1.0 if cloud.inverse is None else cloud.inverse[:, None]
        start = self.kernel.cdf((self._in_units(low[None, :]) - cloud.points) * inverse)
        step = max(1, SPACE_PAIRS // cloud.points.size)
        U = self._in_units(Y)
        for part in slices(len(Y), step):
            upto = self.kernel.cdf((U[part, None, :] - cloud.points) * inverse)
            out[part] = np.prod(np.maximum(upto - start, 0.0), axis=2) @ self.weights
        return out

    @cached_property
    def cloud(self) -> Cloud:
        """The points in units of the bandwidth, weighted by the inverse volume of their own scale."""
        s = self.scales
        weights = self.weights if s is None else self.weights * s ** -float(self.points.shape[1])
        return Cloud(self._in_units(self.points), weights, None if s is None else 1.0 / s, self.kernel.name)

    @cached_property
    def _centre(self) -> Array:
        return np.asarray(np.median(self.points, axis=0))  # a robust centre keeps the digits of most rows

    @cached_property
    def _root(self) -> Array | None:
        return np.linalg.cholesky(self.bandwidth) if self.bandwidth.ndim == 2 else None

    @cached_property
    def _log_volume(self) -> float:
        return float(np.sum(np.log(self.bandwidth if self._root is None else np.diag(self._root))))

    def _in_units(self, Y: Array) -> Array:
        deviations = Y - self._centre
        if self._root is None:
            return np.asarray(deviations / self.bandwidth)
        return np.ascontiguousarray(solve_triangular(self._root, deviations.T, lower=True).T)


def _profile_sums(cloud: Cloud, U: Array, kernel: SmoothingKernel) -> Array:
    """Return Σ w Π K(u) (m,) of a user's kernel, pair by pair."""
    out, step = np.empty(len(U)), max(1, SPACE_PAIRS // cloud.points.size)
    inverse = 1.0 if cloud.inverse is None else cloud.inverse[:, None]
    for part in slices(len(U), step):
        out[part] = np.prod(kernel.profile((U[part, None, :] - cloud.points) * inverse), axis=2) @ cloud.weights
    return out
