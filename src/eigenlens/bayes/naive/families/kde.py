"""Kernel densities: one per column in each class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.bayes.naive.families.base import NaiveOptions
from eigenlens.bayes.naive.families.per_class_density import (
    ClassRows,
    DensityPerClass,
    KeptRowsFactor,
    fit_per_class,
    weighted_moments,
)
from eigenlens.data.column_kinds import Field
from eigenlens.errors import DataError
from eigenlens.kde.bandwidth import BANDWIDTH_RULES, check_rule_result
from eigenlens.kde.kernels import SMOOTHING_KERNELS, smoothing_kernel
from eigenlens.kde.model import KernelEstimate
from eigenlens.laws import check_law, require
from eigenlens.layout import pack, unpack


def john_langley(x: Array, weight: Array) -> float:
    """Return h = (max − min) / √n (John and Langley 1995, section 3.2, in units of the range).

    For many rows this is narrower than the rules for a density on its own, which classifies better; ties do not make
    it 0.
    """
    return float((x.max() - x.min()) / np.sqrt(weight.sum()))


CLASS_BANDWIDTHS: dict[str, Callable[[Array, Array], float]] = {"john-langley": john_langley, **BANDWIDTH_RULES}
"""Bandwidth rules by name: that of classifiers, and those of densities."""


@dataclass(frozen=True)
class KdeFactor(KeptRowsFactor):
    """The family of kernel densities."""

    def estimate(self, statistics: ClassRows, fields: tuple[Field, ...], options: NaiveOptions) -> DensityPerClass:
        """Return kernel densities with bandwidths by the rule, for each class and column on its own."""
        kernel = smoothing_kernel(options.kernel)
        width = kernel.canonical() / SMOOTHING_KERNELS["gaussian"].canonical()  # rules are stated for the Gaussian
        rule = CLASS_BANDWIDTHS[options.bandwidth] if isinstance(options.bandwidth, str) else options.bandwidth

        def fit(x: Array, w: Array, everywhere: tuple[Array, Array]) -> KernelEstimate:
            h = class_bandwidth(x, w, everywhere, rule) * (width if callable(rule) else 1.0)
            return KernelEstimate(x if len(x) else everywhere[0], h, w if len(x) else everywhere[1], kernel)

        return fit_per_class(statistics, fields, fit)

    def pack(self, statistics: ClassRows, conditional: DensityPerClass) -> tuple[dict[str, Array], Any]:
        """Return the rows and the bandwidths (g, C)."""
        kept: list[list[Any]] = [list(column) for column in conditional.densities]
        bandwidths = np.array([[density.bandwidth[0] for density in column] for column in kept])
        return pack(statistics, self.layout)[0] | {"bandwidths": bandwidths}, statistics.classes

    def unpack(
        self, arrays: Mapping[str, Array], header: Any, fields: tuple[Field, ...], options: NaiveOptions, C: int
    ) -> tuple[ClassRows, DensityPerClass]:
        """Return the stored rows, and their densities with the stored bandwidths."""
        require(arrays, "bandwidths")
        sizes = {"C": C, "g": len(fields)}
        statistics, given = unpack(self.layout, arrays, {}, sizes, classes=C), arrays["bandwidths"]
        check_law("bandwidths", "(g, C) positive, of a finite square, 0 or of a finite inverse square", given, sizes)
        found, kernel = [], smoothing_kernel(options.kernel)
        for j in range(len(fields)):
            parts = [statistics.column(j, c) for c in range(C)]
            parts = [part if len(part[0]) else statistics.column(j) for part in parts]
            found.append(tuple(KernelEstimate(x, h, w, kernel) for (x, w), h in zip(parts, given[j], strict=True)))
        return statistics, DensityPerClass(tuple(found))


def class_bandwidth(x: Array, w: Array, everywhere: tuple[Array, Array], rule: Any) -> float:
    """Return the bandwidth of the rows x (n,) of a class, by a rule or a number; `everywhere` has those of all classes.

    No rule has a bandwidth for rows that are all equal: then it is s / √n, s the standard deviation of the column.
    Where values occur more than once, each represents all that would be rounded to it, so that ties are not peaks:
    h² = (that of the rule)² + r² / 12, r the mean distance between neighbouring values of the column.
    """
    if not callable(rule):
        return float(rule)
    values, weights = (x, w) if len(x) else everywhere
    different = np.unique(everywhere[0])
    if different.size < 2:
        return 1.0
    rounded = different.size < everywhere[1].sum()  # weights are copies
    r = (different[-1] - different[0]) / (different.size - 1) if rounded else 0.0
    varies = bool(values.min() < values.max())
    with np.errstate(over="ignore"):  # an infinite one is an error below
        deviation = np.sqrt(weighted_moments(*everywhere)[1])
    if varies:
        h = check_rule_result(rule, rule(values, weights), 1).item()
    else:
        h = deviation / np.sqrt(max(1.0, weights.sum()))
    found = float(np.hypot(h, r / np.sqrt(12.0)))
    if not found <= checks.MAX_WIDTH:
        what, fix = "has a column whose deviations are too large to be squared", "divide it by a constant"
        raise DataError(what, argument="X", fix=fix)
    return found
