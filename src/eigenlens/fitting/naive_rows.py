"""Kernel densities and mixtures as columns of naive Bayes: families that need the rows themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from eigenlens.arrays import Array
from eigenlens.compiled import each_alone, threads
from eigenlens.data.memory import ArraySource
from eigenlens.data.mixed import Field, numbers_of
from eigenlens.errors import DataError
from eigenlens.fitting.bandwidth import BANDWIDTHS
from eigenlens.fitting.mixture import MixtureOptions, fit_mixture
from eigenlens.fitting.mixture_starts import from_centres, from_mixture, seeds
from eigenlens.fitting.naive_options import NaiveOptions
from eigenlens.models.covariances import Diagonal
from eigenlens.models.density import Density
from eigenlens.models.gaussian import Gaussian
from eigenlens.models.kernel_density import KernelEstimate
from eigenlens.models.mixture import Mixture
from eigenlens.models.naive_densities import DensityColumns

__all__ = ["CLASS_BANDWIDTHS", "KeptRows", "KernelFactor", "MixtureFactor", "class_bandwidth"]


def john_langley(x: Array, weight: Array) -> float:
    """h = (max − min) / √n (John and Langley 1995, section 3.2, in units of the range).

    Narrower in many rows than rules for the density itself, which pays for a class; ties do not make it nothing.
    """
    return float((x.max() - x.min()) / np.sqrt(weight.sum()))


CLASS_BANDWIDTHS: dict[str, Callable[[Array, Array], float]] = {"john-langley": john_langley, **BANDWIDTHS}
"""Rules by name: that of classifiers, and those of densities."""

SPACING = 1.0 / 6.0
"""The least bandwidth, in mean distances of neighbouring values of a column, as in Weka: ties are no peaks."""

STARTS = 4
"""Guesses from which EM of a mixture starts."""


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Columns of labelled rows that count; halves merge to the whole.

    Attributes:
        values: (n, g), NaN where missing. y: (n,) classes. weight: (n,). classes: C.
    """

    values: Array
    y: Array
    weight: Array
    classes: int

    @classmethod
    def of(cls, values: Array, y: Array, weight: Array | None, C: int) -> Self:
        """The rows of a block that have a weight."""
        kept = slice(None) if weight is None or np.all(weight > 0.0) else np.flatnonzero(weight > 0.0)
        w = np.ones(len(y)) if weight is None else weight
        return cls(np.array(values[kept], dtype=np.float64), y[kept], w[kept], C)

    def __add__(self, other: Self) -> Self:
        pairs = ((self.values, other.values), (self.y, other.y), (self.weight, other.weight))
        values, y, weight = (np.concatenate(pair) for pair in pairs)
        return type(self)(values, y, weight, self.classes)

    def column(self, j: int, c: int | None = None) -> tuple[Array, Array]:
        """The values that are there of a column, in a class or in all, and their weights."""
        x = self.values[:, j]
        kept = ~np.isnan(x) if c is None else ~np.isnan(x) & (self.y == c)
        return x[kept], self.weight[kept]

    def packed(self) -> dict[str, Array]:
        """The rows by name."""
        return {"values": self.values, "y": self.y, "weight": self.weight}

    @classmethod
    def unpacked(cls, arrays: Mapping[str, Array], C: int) -> Self:
        """The rows of `packed`."""
        return cls(arrays["values"], arrays["y"], arrays["weight"], C)


@dataclass(frozen=True)
class KernelFactor:
    """Each class has a kernel density of its rows in each column."""

    takes_text = False
    keeps_rows = True

    def summarise(self, rows: Any, columns: Array, y: Array, weight: Array | None, C: int) -> KeptRows:
        """The rows."""
        return KeptRows.of(numbers_of(rows, columns), y, weight, C)

    def estimate(self, statistics: KeptRows, fields: tuple[Field, ...], options: NaiveOptions) -> DensityColumns:
        """Bandwidths by the rule, for each class and column on their own; one density is a thread's work."""
        rule = CLASS_BANDWIDTHS[options.bandwidth] if isinstance(options.bandwidth, str) else options.bandwidth

        def fit(x: Array, w: Array, everywhere: tuple[Array, Array]) -> KernelEstimate:
            h = class_bandwidth(x, w, everywhere, rule)
            return KernelEstimate(x if len(x) else everywhere[0], h, w if len(x) else everywhere[1])

        return _by_column(statistics, fields, fit)

    def pack(self, statistics: KeptRows, conditional: DensityColumns) -> tuple[dict[str, Array], Any]:
        """The rows and the bandwidths (g, C)."""
        kept: list[list[Any]] = [list(column) for column in conditional.densities]
        bandwidths = np.array([[density.bandwidth[0] for density in column] for column in kept])
        return statistics.packed() | {"bandwidths": bandwidths}, statistics.classes

    def unpack(
        self, arrays: Mapping[str, Array], header: Any, fields: tuple[Field, ...], options: NaiveOptions
    ) -> tuple[KeptRows, DensityColumns]:
        """The rows, and densities of the bandwidths that were found."""
        statistics, given = KeptRows.unpacked(arrays, header), arrays["bandwidths"]
        found = []
        for j in range(len(fields)):
            parts = [statistics.column(j, c) for c in range(header)]
            parts = [part if len(part[0]) else statistics.column(j) for part in parts]
            found.append(tuple(KernelEstimate(x, h, w) for (x, w), h in zip(parts, given[j], strict=True)))
        return statistics, DensityColumns(tuple(found))


def class_bandwidth(x: Array, w: Array, everywhere: tuple[Array, Array], rule: Any) -> float:
    """The bandwidth of the rows x (n,) of a class, `everywhere` being those of all classes: by a rule or a number.

    Rows that are all equal give no bandwidth: then it is s / √n, s the standard deviation of the column. None is below
    a sixth of the mean distance between neighbouring values of the column. So it goes with the units.
    """
    if not callable(rule):
        return float(rule)
    values, weights = (x, w) if len(x) else everywhere
    all_values, all_weights = everywhere
    different = np.unique(all_values)
    if different.size < 2:
        return 1.0
    least = SPACING * (different[-1] - different[0]) / (different.size - 1)
    if values.min() < values.max():
        return max(float(rule(values, weights)), float(least))
    mean = np.average(all_values, weights=all_weights)
    deviation = np.sqrt(np.average((all_values - mean) ** 2, weights=all_weights))
    return max(float(deviation / np.sqrt(max(1.0, weights.sum()))), float(least))


@dataclass(frozen=True)
class MixtureFactor:
    """Each class has a mixture of Gaussians in each column, BIC choosing how many."""

    takes_text = False
    keeps_rows = True

    def summarise(self, rows: Any, columns: Array, y: Array, weight: Array | None, C: int) -> KeptRows:
        """The rows."""
        return KeptRows.of(numbers_of(rows, columns), y, weight, C)

    def estimate(self, statistics: KeptRows, fields: tuple[Field, ...], options: NaiveOptions) -> DensityColumns:
        """Mixtures of 1, 2, … Gaussians, max_components at most, for as long as BIC falls."""

        def fit(x: Array, w: Array, everywhere: tuple[Array, Array]) -> Density:
            return _mixture(x, w, everywhere, options)

        return _by_column(statistics, fields, fit)

    def pack(self, statistics: KeptRows, conditional: DensityColumns) -> tuple[dict[str, Array], Any]:
        """The rows, and weights, means and variances (g, C, 3, K), weight 0 where there are fewer than K."""
        kept: list[Any] = [density for column in conditional.densities for density in column]
        K = max(len(density.weights) for density in kept)
        table = np.zeros((len(kept), 3, K))
        for line, density in zip(table, kept, strict=True):
            variances = [part.covariance.matrix()[0, 0] for part in density.components]
            line[:, : len(density.weights)] = density.weights, density.means[:, 0], variances
        return statistics.packed() | {"mixtures": table}, statistics.classes

    def unpack(
        self, arrays: Mapping[str, Array], header: Any, fields: tuple[Field, ...], options: NaiveOptions
    ) -> tuple[KeptRows, DensityColumns]:
        """The rows, and the mixtures that were found."""
        found = [_normals(line[0][line[0] > 0.0], line[1], line[2]) for line in arrays["mixtures"]]
        columns = tuple(tuple(found[start : start + header]) for start in range(0, len(found), header))
        return KeptRows.unpacked(arrays, header), DensityColumns(columns)


def _mixture(x: Array, w: Array, everywhere: tuple[Array, Array], options: NaiveOptions) -> Mixture:
    if not len(x):
        x, w = everywhere
    mean = np.average(everywhere[0], weights=everywhere[1])
    total = float(np.average((everywhere[0] - mean) ** 2, weights=everywhere[1]))
    least = options.floor * total if total > 0.0 else 1.0
    middle = float(np.average(x, weights=w))
    variance = float(np.average((x - middle) ** 2, weights=w))
    one = _normals(np.ones(1), np.array([middle]), np.array([max(variance, least)]))
    if variance <= least:
        return one
    source = ArraySource(x[:, None]).weighted(w)
    floor = min(0.5, max(options.floor, 1e-4))
    fitting = MixtureOptions("diag", starting=from_centres(seeds, STARTS), floor=floor, tol=1e-6, max_iter=200)
    best, mixture = float(2.0 * np.log(w.sum()) - 2.0 * (w @ one.log_density(x))), one
    for K in range(2, min(options.max_components, np.unique(x).size // 2) + 1):
        fit = fit_mixture(source, K, fitting, np.random.default_rng(K))
        if fit.bic() >= best:
            break
        best, mixture = fit.bic(), fit.model
    if mixture is one:
        return one
    to_the_end = replace(fitting, starting=from_mixture(mixture), tol=1e-11, max_iter=2000)
    return fit_mixture(source, len(mixture.weights), to_the_end, np.random.default_rng(0)).model


def _normals(weights: Array, means: Array, variances: Array) -> Mixture:
    parts = zip(means, variances, strict=True)
    kept = [Gaussian(np.array([m]), Diagonal(np.array([v]))) for m, v in parts][: len(weights)]
    return Mixture(weights, tuple(kept))


def _by_column(statistics: KeptRows, fields: tuple[Field, ...], fit: Callable[..., Any]) -> DensityColumns:
    """`fit` of the rows of each class and column; a class without rows there is given none, and all of the column."""
    _refuse_nonfinite(statistics, fields)
    everywhere = [statistics.column(j) for j in range(len(fields))]
    for field, (x, _) in zip(fields, everywhere, strict=True):
        if not len(x):
            raise DataError(f"column {field.name!r} has no entry at all, so it has no density: leave it out.")
    pairs = [(j, c) for j in range(len(fields)) for c in range(statistics.classes)]
    with each_alone(threads()) as each:
        found = list(each(lambda pair: fit(*statistics.column(*pair), everywhere[pair[0]]), pairs))
    C = statistics.classes
    return DensityColumns(tuple(tuple(found[j * C : (j + 1) * C]) for j in range(len(fields))))


def _refuse_nonfinite(statistics: KeptRows, fields: tuple[Field, ...]) -> None:
    bad = np.flatnonzero(np.isinf(statistics.values).any(axis=0))
    if bad.size:
        raise DataError(
            f"Input X contains infinity in column {fields[bad[0]].name!r}; replace it by NaN, which is a missing entry."
        )
