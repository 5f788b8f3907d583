"""Sums of products of smoothing kernels over points in space."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.compiled.runtime import kernels, threads

__all__ = ["FORMS", "Cloud", "cloud_sums", "cloud_sums_numpy"]

PAIRS = 1 << 17

SCALES = {"gaussian": math.sqrt(0.5 / math.log(2.0)), "laplace": 1.0 / math.log(2.0)}
"""What makes powers of two of the exponentials."""


def _product(profile: Callable[[Array], Array]) -> Callable[[Array], tuple[Array, Array]]:
    """Level 0, and the product of the profile over the last axis."""
    return lambda u: (np.zeros(u.shape[:-1]), np.prod(profile(u), axis=-1))


def _bell(p: int) -> Callable[[Array], Array]:
    return lambda u: np.where(np.abs(u) <= 1.0, ((1.0 - np.abs(u)) * (1.0 + np.abs(u))) ** p, 0.0)


def _wave(u: Array) -> Array:
    return np.sin(0.5 * np.pi * np.maximum(1.0 - np.abs(u), 0.0))


FORMS: dict[str, Callable[[Array], tuple[Array, Array]]] = {
    "gaussian": lambda u: (-0.5 * np.sum(u * u, axis=-1), np.ones(u.shape[:-1])),
    "laplace": lambda u: (-np.sum(np.abs(u), axis=-1), np.ones(u.shape[:-1])),
    "box": _product(_bell(0)),
    "epanechnikov": _product(_bell(1)),
    "triangular": _product(lambda u: np.maximum(1.0 - np.abs(u), 0.0)),
    "biweight": _product(_bell(2)),
    "triweight": _product(_bell(3)),
    "cosine": _product(_wave),
}
"""The kernel of differences u (…, d) as (logarithm, factor), without its constant."""


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points (n, d) in units of the bandwidth, ready for many sums.

    Attributes:
        points: (n, d).
        weights: (n,), positive.
        inverse: (n,) of the points' own scales, or None where they are one.
        form: one of `FORMS`.
    """

    points: Array
    weights: Array
    inverse: Array | None
    form: str

    @cached_property
    def packed(self) -> Any:
        """In the layout of the compiled kernel."""
        points = np.ascontiguousarray(self.points * SCALES.get(self.form, 1.0))
        return kernels.tiles(points, np.ascontiguousarray(self.weights), self.inverse)


def cloud_sums(cloud: Cloud, Y: Array, tol: float) -> tuple[Array, Array]:
    """Level and value (m,): Σ_i w_i Π_j K(r_i (y_j − x_ij)) = value · exp(level) for queries Y (m, d).

    Points and queries are put in an order in which neighbours fill small boxes; boxes too far apart are left out, at a
    relative error of at most tol. Sums so small that they would underflow are made again relative to the nearest
    point. Cost at most n m (2d + 20) flops; nothing of size n m is held.

    >>> cloud = Cloud(np.zeros((1, 2)), np.ones(1), None, "gaussian")
    >>> level, value = cloud_sums(cloud, np.array([[1.0, 1.0], [300.0, 400.0]]), 1e-8)
    >>> level + np.log(value)
    array([-1.0e+00, -1.25e+05])
    """
    if kernels is None:
        return cloud_sums_numpy(cloud, Y, tol)
    sums = np.empty((2, len(Y)))
    queries = np.ascontiguousarray(Y * SCALES.get(cloud.form, 1.0))
    kernels.tile_sums(cloud.packed, queries, cloud.form, tol, sums, threads())
    return -math.log(2.0) * sums[0], sums[1]


def cloud_sums_numpy(cloud: Cloud, Y: Array, tol: float) -> tuple[Array, Array]:
    """The twin of `cloud_sums`: every pair, in blocks; tol is not used."""
    level, value = np.empty(len(Y)), np.empty(len(Y))
    step = max(1, PAIRS // cloud.points.size)
    inverse = 1.0 if cloud.inverse is None else cloud.inverse[:, None]
    for start in range(0, len(Y), step):
        part = slice(start, start + step)
        power, factor = FORMS[cloud.form]((Y[part, None, :] - cloud.points) * inverse)
        level[part] = power.max(axis=1)
        value[part] = (np.exp(power - level[part, None]) * factor) @ cloud.weights
    return level, value
