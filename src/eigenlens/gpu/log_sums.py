"""Logarithms of kernel density sums in several dimensions, for queries on a device."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eigenlens.arrays import Array, namespace, slices, to_numpy
from eigenlens.gpu.runtime import device_memory, runs_triton

SUMMABLE = {"gaussian": False, "laplace": True}
"""Forms of kernels with an unbounded support, and whether their exponent is a sum of moduli, not of squares."""

FACTORS = {"gaussian": math.sqrt(0.5 / math.log(2.0)), "laplace": 1.0 / math.log(2.0)}
"""Factors that turn exponentials into powers of two."""

PANEL_ENTRIES = 1 << 24
"""Pairs of queries and points that are worked on at a time where no kernel is fused."""

MAX_FUSED_DIMENSIONS, TILE_ROWS, TILE_POINTS = 8, 32, 128
"""The most columns for which sums are compiled, and the sides of their tiles."""

POINTS_AT_ONCE = 1 << 20
"""Points whose terms are added in float32; the sums over more are added in float64."""

TINY_SUM = 1e-20
"""A sum below this has lost terms, and is taken again in float64, relative to its largest one."""

FAR = 1e18
"""The coordinate of points that fill up a tile: so far away that they add nothing."""


@dataclass(frozen=True, eq=False)
class DevicePoints:
    """Points (n, d) in units of the bandwidth with positive weights, on the device of the queries `near`.

    Float32 queries get sums with a relative error of about 1e-6, float64 ones in float64.
    """

    points: Array
    weights: Array
    form: str
    near: Any

    def log_sums(self, U: Any) -> Array:
        """Return ln Σ_i w_i K(u_j − x_i) (m,) for queries U (m, d) in float64, without the constant of K."""
        scaled = U * FACTORS[self.form]
        if runs_triton(self.near) and U.shape[1] <= MAX_FUSED_DIMENSIONS:
            needed = 16 * (U.shape[0] + len(self.points)) * U.shape[1]
            with device_memory("a kernel density", needed, "give fewer rows at a time"):
                exponent, value = self._fused(scaled)
        else:
            exponent, value = self._by_panels(scaled)
        return np.asarray(np.log(to_numpy(value)) - math.log(2.0) * to_numpy(exponent))

    @cached_property
    def _tensors(self) -> tuple[Any, Any]:
        xp = namespace(self.near)
        points = np.ascontiguousarray(self.points * FACTORS[self.form])
        weights = xp.asarray(np.array(self.weights), device=self.near.device)
        return xp.asarray(points, device=self.near.device), weights

    def _by_panels(self, U: Any) -> tuple[Any, Any]:
        """Return the exponent s and the value of sums value · 2^−s (m,): the twin of the fused sums."""
        xp, (points, weights) = namespace(U), self._tensors
        found = []
        for part in slices(U.shape[0], max(1, PANEL_ENTRIES // max(1, len(self.points)))):
            s = xp.zeros((part.stop - part.start, len(self.points)), dtype=xp.float64, device=U.device)
            for j in range(U.shape[1]):
                u = U[part, j][:, None] - points[:, j][None, :]
                s += xp.abs(u) if SUMMABLE[self.form] else u * u
            least = xp.min(s, axis=1)
            found.append((least, xp.sum(weights * 2.0 ** (least[:, None] - s), axis=1)))
        exponents, values = zip(*found, strict=True)
        return xp.concat(exponents), xp.concat(values)

    # ---- in one kernel ----------------------------------------------------------------------------------

    @cached_property
    def _prepared(self) -> tuple[Any, Any, float]:
        """The points (2d, n') as high and low float32 parts, their weights over the largest, and that."""
        import torch

        points, weights = self._tensors
        pad = (0, -len(points) % TILE_POINTS)
        high_low = torch.nn.functional.pad(_high_low(points), pad, value=FAR)
        largest = float(weights.max())
        return high_low, torch.nn.functional.pad((weights / largest).float(), pad), largest

    def _fused(self, U: Any) -> tuple[Any, Any]:
        """Return exponent and value as `_by_panels` does; tiny sums, of rows far from every point, by that."""
        import torch

        exponent, value = torch.zeros(len(U), dtype=torch.float64, device=U.device), self._sums(U)
        tiny = torch.nonzero(~(value > TINY_SUM))[:, 0]
        if len(tiny):
            exponent[tiny], value[tiny] = self._by_panels(U[tiny])
        return exponent, value

    def _sums(self, U: Any) -> Any:
        """Return Σ w 2^−s (m,) in float64; terms are added in float32 for some of the points at a time."""
        import torch

        from eigenlens.gpu.triton_kernels import add_exponentials

        X, (points, weights, largest) = _high_low(U), self._prepared
        n, m = X.shape[1], points.shape[1]
        total = torch.zeros(n, dtype=torch.float64, device=X.device)
        with torch.cuda.device(X.device):
            for part in slices(m, POINTS_AT_ONCE):
                out = torch.empty(n, device=X.device)
                add_exponentials[(-(-n // TILE_ROWS),)](
                    X, points, weights, out, n, m, part.start, part.stop, ABSOLUTE=SUMMABLE[self.form],
                    D=U.shape[1], ROWS=TILE_ROWS, COLUMNS=TILE_POINTS, num_warps=4, num_stages=1,
                )  # fmt: skip
                total += out
        return total * largest


def _high_low(U: Any) -> Any:
    """Return float64 rows U (m, d) as (2d, m) float32 numbers, whose sums in pairs they are."""
    import torch

    high = U.T.float()
    return torch.cat([high, (U.T - high.double()).float()]).contiguous()
