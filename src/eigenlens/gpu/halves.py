"""Float32 numbers as sums of two 16-bit ones, which tensor cores multiply exactly and several times faster.

x · 2^e = high + low up to 2⁻²⁴ of x, and a product is high·high + high·low + low·high: as accurate as float32.
"""

from __future__ import annotations

from typing import Any, NamedTuple

LARGEST_EXPONENT = 14
"""Numbers are scaled below 2 to this power: 16-bit floats end at 2¹⁶, and their smallest steps lie 2³⁸ below."""


class Halves(NamedTuple):
    """A matrix A (n, c) as (high + low) / scale, each padded with zeros; scale (c,) or a number is a power of two."""

    high: Any
    low: Any
    scale: Any


def power_of_two(bound: Any) -> Any:
    """Return the power of two (...) that brings numbers up to `bound` (...) below 2^LARGEST_EXPONENT.

    1 where the bound is 0 or not finite: such columns have nothing to scale, or become NaN.
    """
    import torch

    exponent = torch.frexp(bound.double())[1]
    scale = torch.ldexp(torch.ones_like(bound, dtype=torch.float64), (LARGEST_EXPONENT - exponent).clamp(-120, 120))
    return torch.where(torch.isfinite(bound) & (bound > 0.0), scale, 1.0)


def split(A: Any, shape: tuple[int, int], scale: Any) -> Halves:
    """Return the halves of A (n, c) times scale, padded with zeros to this shape."""
    import torch

    high, low = (torch.zeros(shape, dtype=torch.float16, device=A.device) for _ in range(2))
    inside = slice(None, A.shape[0]), slice(None, A.shape[1])
    scaled = A.float() * (scale if isinstance(scale, float) else scale.float())  # exact: a power of two
    high[inside] = scaled
    low[inside] = scaled - high[inside]
    return Halves(high, low, scale)


def split_columns(A: Any, shape: tuple[int, int]) -> Halves:
    """Return the halves of A (n, c), each column scaled by its own power of two."""
    import torch

    return split(A, shape, power_of_two(torch.linalg.vector_norm(A, float("inf"), dim=0)))
