"""Products K(X, Y) Q of a kernel matrix that is never stored, for tensors on any device.

A kernel is a function of two sets of rows with a `name`; the names in `FUSED` have kernels of their own on CUDA
devices, and all others, and float64, are evaluated panel by panel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from eigenlens.arrays import namespace, slices
from eigenlens.gpu.runtime import ROOMY, device_memory, runs_triton, shared_memory

PANEL_BYTES, MAX_PANEL_BYTES = 1 << 23, 1 << 30
"""Bytes of the kernel values that are made at a time: they fit a processor's cache; on a device they fill it."""

MAX_EXPONENT = 64.0
"""The largest gamma |x|² at which products of halves keep exponents to 1e-5; beyond, distances are made in float64."""

POINTS_IN_CACHE, MIN_PART_POINTS = 98_304, 2048
"""Points whose features and products stay in the cache of a device while all rows pass by, and the fewest per part."""

PARTIAL_BYTES = 1 << 28
"""Bytes of float32 sums over parts of the points, before they are added in float64."""

PROGRAMS = 2048
"""Programs that fill a device several times over."""

KERNEL_SCALE = 15.0
"""Kernel values up to 1 are multiplied by 2 to this power, so that small ones keep their digits in 16 bits."""

MAX_FUSED_DEGREE, MAX_FUSED_COLUMNS = 8, 256
"""The largest degree and the most columns for which a fused product is compiled: more do not fit the memory of a
multiprocessor."""

COLUMN_COUNTS = (16, 32, 64, 128)
"""Columns of Q for which products are compiled; more are multiplied in groups."""


def kernel_matmul(X: Any, Y: Any, Q: Any, kernel: Any) -> Any:
    """Return K(X, Y) Q (n, b) in float64 for rows X (n, d), Y (m, d) and Q (m, b); K is never stored.

    Float32 rows are multiplied as accurately as float32 is, about 1e-6 of ‖K‖ ‖Q‖; float64 ones in float64. Cost
    2 n m (d + b) flops and n m kernel values.
    """
    return KernelSums(X, Y, kernel).product(Q)


@dataclass(frozen=True, eq=False)
class KernelSums:
    """The matrix K(X, Y) as an operator on the device of its rows.

    Attributes:
        X: (n, d). Y: (m, d), which may be X itself. kernel: k(x, y).
        store: whether K is made once and kept where no product is fused: n m entries of memory.
    """

    X: Any
    Y: Any
    kernel: Any
    store: bool = False

    @cached_property
    def fused(self) -> Any:
        """The rows prepared for a fused product, or None where there is none for this kernel, dtype and device."""
        make = FUSED.get(getattr(self.kernel, "name", ""))
        return None if make is None or not runs_triton(self.X) else make(self.X, self.Y, self.kernel)

    @cached_property
    def _stored(self) -> Any:
        return self.kernel(self.X, self.Y)

    def product(self, Q: Any, precise: bool = True) -> Any:
        """Return K Q (n, b) in float64.

        Where not `precise`, a fused product rounds rows, kernel values and Q to 16 bits, at an error of about 3e-4 and
        less than half the time: the matrix is then that of the rounded rows, still positive definite.
        """
        if self.fused is None:
            return self._by_panels(Q)
        what = f"a product with a kernel matrix of {self.X.shape[0]} by {self.Y.shape[0]} rows"
        with device_memory(what, 3 * PARTIAL_BYTES + 16 * Q.shape[0] * Q.shape[1], "use fewer rows, or landmarks"):
            return self.fused(Q, precise)

    def _by_panels(self, Q: Any) -> Any:
        """Return K Q with one panel of rows at a time: the twin of the fused products."""
        xp = namespace(self.X)
        right = xp.asarray(Q, dtype=xp.float64, device=self.X.device)
        parts = []
        for part in slices(self.X.shape[0], self._panel_rows):
            K = self._stored[part, :] if self.store else self.kernel(self.X[part, :], self.Y)
            parts.append(xp.matmul(xp.astype(K, xp.float64), right))
        return parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)

    @property
    def _panel_rows(self) -> int:
        size = PANEL_BYTES if str(self.X.device) == "cpu" else MAX_PANEL_BYTES
        return max(16, size // (8 * max(1, int(self.Y.shape[0]))))


# ---- fused products -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Points:
    """Rows (n, d) about a centre times a factor, in halves (n', 64 c), padded to whole tiles.

    Attributes:
        halves: high and low. scale: the power of two in them. norms: |x|²/2 (n',) of the rounded and of exact rows.
    """

    halves: Any
    scale: float
    norms: tuple[Any, Any]
    n: int

    @classmethod
    def of(cls, X: Any, centre: Any, factor: float, bound: float) -> _Points:
        import torch

        from eigenlens.gpu.halves import LARGEST_EXPONENT, split

        n, d = X.shape
        scale = 2.0 ** (LARGEST_EXPONENT - 2 - math.frexp(max(bound * factor, 1e-30))[1])
        exact = (X.double() - centre) * factor
        halves = split(exact, (-(-n // 128) * 128, -(-d // 64) * 64), scale)
        pad = (0, len(halves.high) - n)
        coarse = (halves.high.double() / scale).square().sum(dim=1) / 2.0
        fine = torch.nn.functional.pad(exact.square().sum(dim=1) / 2.0, pad)
        return cls(halves, scale, (coarse, fine), n)


@dataclass(frozen=True, eq=False)
class _TensorCoreProduct:
    """K(X, Y) Q by tensor cores, for a function of dot products.

    Attributes:
        x, y: the rows. constant: of the polynomial. degree: its degree, 0 for the radial kernel. size: the largest
            modulus of a kernel value.
    """

    x: _Points
    y: _Points
    constant: float = 0.0
    degree: int = 0
    size: float = 1.0

    def __call__(self, Q: Any, precise: bool) -> Any:
        from eigenlens.gpu.triton_kernels import multiply_kernel

        shift = KERNEL_SCALE if not self.degree else 0.0
        norms = [(side.norms[precise] - shift / 2.0).float() for side in (self.x, self.y)]
        size = 2.0**KERNEL_SCALE / self.size
        columns, memory = self.x.halves.high.shape[1], shared_memory(self.x.halves.high)

        def launch(q: Any, out: Any, first: int, part: int) -> None:
            rows, tile, warps, stages = _tile_plan(columns // 64, out.shape[2], precise, memory)
            grid = (-(-self.x.n // rows), out.shape[0])
            multiply_kernel[grid](
                *self.x.halves[:2], norms[0], *self.y.halves[:2], norms[1], *q[:2], out,
                self.x.n, len(self.y.halves.high), first, part, 1.0 / (self.x.scale * self.y.scale),
                self.constant, size, RBF=not self.degree, DEGREE=self.degree, PRECISE=precise, CHUNKS=columns // 64,
                B=out.shape[2], ROWS=rows, COLUMNS=tile, num_warps=warps, num_stages=stages,
            )  # fmt: skip

        return _add_parts(launch, Q, self.x.n, len(self.y.halves.high)) / size


@dataclass(frozen=True, eq=False)
class _LaplacianProduct:
    """K(X, Y) Q of exp(−gamma |x − y|₁), for transposed rows X (d, n) and points Y (d, m')."""

    X: Any
    Y: Any
    gamma: float

    def __call__(self, Q: Any, precise: bool) -> Any:
        from eigenlens.gpu.triton_kernels import multiply_laplacian

        (d, n), m, size = self.X.shape, self.Y.shape[1], 2.0**KERNEL_SCALE

        def launch(q: Any, out: Any, first: int, part: int) -> None:
            multiply_laplacian[(-(-n // 64), out.shape[0])](
                self.X, self.Y, *q[:2], out, n, m, first, part, self.gamma / math.log(2.0), size,
                D=d, PRECISE=precise, B=out.shape[2], ROWS=64, COLUMNS=64, num_warps=4, num_stages=2,
            )  # fmt: skip

        return _add_parts(launch, Q, n, m) / size


def _tile_plan(chunks: int, b: int, precise: bool, memory: int) -> tuple[int, int, int, int]:
    """Return the rows and points per tile, the warps and the stages of the pipeline: the fastest on Hopper that fit.

    `memory` is that of a multiprocessor, in bytes.
    """
    if memory < ROOMY:
        return 64, 32, 4, 1
    if chunks > 1:
        return 128, 32, 8, 2
    if b > 64:
        return 128, 64, 8, 2 if precise else 3
    return (128, 64, 4, 2) if precise else (128, 64, 4, 3)


def _add_parts(launch: Callable[[Any, Any, int, int], None], Q: Any, n: int, m: int) -> Any:
    """Return the sums (n, b) of all parts of the m points, in float64: each part is added in float32 by itself."""
    import torch

    from eigenlens.gpu.halves import split_columns

    done = []
    for some in slices(Q.shape[1], COLUMN_COUNTS[-1]):
        columns = Q[:, some]
        b = next(size for size in COLUMN_COUNTS if size >= columns.shape[1])
        q = split_columns(columns, (m, b))
        part = _part_points(n, m)
        at_once = max(1, min(-(-m // part), PARTIAL_BYTES // (4 * n * b)))
        total = torch.zeros((n, b), dtype=torch.float64, device=Q.device)
        with torch.cuda.device(Q.device):
            for first in range(0, m, at_once * part):
                out = torch.empty((min(at_once, -(-(m - first) // part)), n, b), device=Q.device)
                launch(q, out, first, part)
                total += out[0] if len(out) == 1 else out.sum(dim=0, dtype=torch.float64)
        done.append(total[:, : columns.shape[1]] / q.scale)
    return done[0] if len(done) == 1 else torch.cat(done, dim=1)


def _part_points(n: int, m: int) -> int:
    """Return the points per part, a multiple of 128: few where there are too few rows to fill a device."""
    wanted = max(1, PROGRAMS // max(1, -(-n // 128)))
    return min(POINTS_IN_CACHE, max(MIN_PART_POINTS, math.ceil(m / wanted / 128) * 128))


def _radial(X: Any, Y: Any, kernel: Any) -> Any:
    """Return the fused product of exp(−gamma |x − y|²), or None where it would lose digits."""
    centre = Y.mean(dim=0, dtype=X.double().dtype)
    bound = _largest(X, Y, centre)
    if not (kernel.gamma * bound**2 <= MAX_EXPONENT and X.shape[1] <= MAX_FUSED_COLUMNS):
        return None
    x, y = _both(X, Y, centre, math.sqrt(2.0 * kernel.gamma / math.log(2.0)), bound)
    return _TensorCoreProduct(x, y)


def _polynomial(X: Any, Y: Any, kernel: Any) -> Any:
    """Return the fused product of (gamma x·y + coef0)^degree, or None where the degree is large."""
    bound = _largest(X, Y, 0.0)
    size = (kernel.gamma * bound**2 + abs(kernel.coef0)) ** kernel.degree
    if not (kernel.degree <= MAX_FUSED_DEGREE and X.shape[1] <= MAX_FUSED_COLUMNS and 1e-30 < size < 1e30):
        return None
    x, y = _both(X, Y, 0.0, math.sqrt(abs(kernel.gamma)), bound)
    return _TensorCoreProduct(x, y, kernel.coef0, kernel.degree, size) if kernel.gamma > 0.0 else None


def _laplacian(X: Any, Y: Any, kernel: Any) -> Any:
    """Return the fused product of exp(−gamma |x − y|₁)."""
    import torch

    points = torch.zeros((Y.shape[1], -(-Y.shape[0] // 128) * 128), device=Y.device)
    points[:, : Y.shape[0]] = Y.T
    return _LaplacianProduct(X.T.contiguous(), points, kernel.gamma)


def _largest(X: Any, Y: Any, centre: Any) -> float:
    """Return the largest |x − centre| of the rows of both."""
    sides = (X,) if X is Y else (X, Y)
    return math.sqrt(max(float((side.double() - centre).square().sum(dim=1).max()) for side in sides))


def _both(X: Any, Y: Any, centre: Any, factor: float, bound: float) -> tuple[_Points, _Points]:
    y = _Points.of(Y, centre, factor, bound)
    return (y if X is Y else _Points.of(X, centre, factor, bound)), y


FUSED: dict[str, Callable[[Any, Any, Any], Any]] = {"rbf": _radial, "poly": _polynomial, "laplacian": _laplacian}
"""Functions that prepare (X, Y, kernel) for a product in one kernel, by the kernel's name."""
