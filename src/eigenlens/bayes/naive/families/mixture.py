"""Mixtures of Gaussians: one per column in each class, with the number of components chosen by BIC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.naive.families.base import NaiveOptions
from eigenlens.bayes.naive.families.per_class_density import (
    ClassRows,
    DensityPerClass,
    KeptRowsFactor,
    check_values,
    fit_per_class,
    weighted_moments,
)
from eigenlens.data.column_kinds import Field
from eigenlens.data.memory import ArraySource
from eigenlens.densities.base import Density
from eigenlens.densities.covariance import Diagonal
from eigenlens.densities.gaussian import Gaussian
from eigenlens.densities.mixture import Mixture
from eigenlens.errors import ModelFileError
from eigenlens.laws import check_law, require
from eigenlens.layout import pack, unpack
from eigenlens.mixture.fit import MixtureOptions, fit_mixture
from eigenlens.mixture.starts import from_centres, from_mixture, k_means_plus_plus

MAX_SQUARABLE = 1e153
"""The largest number whose square is a finite variance."""

N_STARTS = 4
"""Starts of EM: in one dimension few local maxima are left after four."""


@dataclass(frozen=True)
class MixtureFactor(KeptRowsFactor):
    """The family of mixtures of Gaussians."""

    def estimate(self, statistics: ClassRows, fields: tuple[Field, ...], options: NaiveOptions) -> DensityPerClass:
        """Return mixtures of 1, 2, … Gaussians, at most max_components, for as long as BIC falls.

        They are fitted in a unit near the standard deviation of the column, so that squares neither overflow nor
        underflow whatever its own unit is.
        """

        def fit(x: Array, w: Array, everywhere: tuple[Array, Array]) -> Density:
            rows, weight = everywhere
            unit = _unit(rows, weight)
            return _in_units(_mixture(x / unit, w, (rows / unit, weight), options), unit)

        check_values(
            statistics, fields, lambda x: np.abs(x) > MAX_SQUARABLE, "infinity, or a number whose square overflows,"
        )
        return fit_per_class(statistics, fields, fit)

    def pack(self, statistics: ClassRows, conditional: DensityPerClass) -> tuple[dict[str, Array], Any]:
        """Return the rows, and weights, means and variances (g C, 3, K), weight 0 where there are fewer than K."""
        kept: list[Any] = [density for column in conditional.densities for density in column]
        K = max(len(density.weights) for density in kept)
        table = np.zeros((len(kept), 3, K))
        for line, density in zip(table, kept, strict=True):
            line[:, : len(density.weights)] = density.weights, density.means[:, 0], _variances(density)
        return pack(statistics, self.layout)[0] | {"mixtures": table}, statistics.classes

    def unpack(
        self, arrays: Mapping[str, Array], header: Any, fields: tuple[Field, ...], options: NaiveOptions, C: int
    ) -> tuple[ClassRows, DensityPerClass]:
        """Return the stored rows and mixtures."""
        require(arrays, "mixtures")
        statistics = unpack(self.layout, arrays, {}, {"C": C, "g": len(fields)}, classes=C)
        check_law("mixtures", "(p, 3, *) finite", arrays["mixtures"], {"p": C * len(fields)})
        weights, _, variances = np.swapaxes(arrays["mixtures"], 0, 1)
        if np.any(weights < 0.0) or np.any(variances[weights > 0.0] <= 0.0):
            raise ModelFileError("'mixtures' has weights or variances that are negative")
        found = [_normals(line[0][line[0] > 0.0], line[1], line[2]) for line in arrays["mixtures"]]
        columns = tuple(tuple(found[start : start + C]) for start in range(0, len(found), C))
        return statistics, DensityPerClass(columns)


def _unit(x: Array, w: Array) -> float:
    """Return a power of two near the standard deviation of x (n,), by which dividing is exact."""
    top = float(np.abs(x).max(initial=0.0))
    size = 2.0 ** np.frexp(top)[1] if top > 0.0 else 1.0  # whose squares cannot overflow
    deviation = np.sqrt(weighted_moments(x / size, w)[1])
    return float(size * 2.0 ** np.frexp(deviation)[1]) if deviation > 0.0 else float(size)


def _in_units(mixture: Mixture, unit: float) -> Mixture:
    """Return a mixture of x / unit as that of x."""
    return _normals(mixture.weights, mixture.means[:, 0] * unit, np.array(_variances(mixture)) * unit * unit)


def _variances(mixture: Mixture) -> list[float]:
    components: Any = mixture.components
    return [float(part.covariance.matrix()[0, 0]) for part in components]


def _mixture(x: Array, w: Array, everywhere: tuple[Array, Array], options: NaiveOptions) -> Mixture:
    """Return the mixture of the rows x (n,) of a class; the floor of its variances is a share of that `everywhere`."""
    if not len(x):
        x, w = everywhere
    total = weighted_moments(*everywhere)[1]
    least = options.floor * total if total > 0.0 else 1.0
    middle, variance = weighted_moments(x, w)
    one = _normals(np.ones(1), np.array([middle]), np.array([max(variance, least)]))
    return one if variance <= least else _best_mixture(x, w, one, options)


def _best_mixture(x: Array, w: Array, one: Mixture, options: NaiveOptions) -> Mixture:
    """Return one Gaussian, or the first mixture whose BIC the next does not lower, then fitted to a tight tolerance."""
    source = ArraySource(x[:, None]).weighted(w)
    floor = min(0.5, max(options.floor, 1e-4))
    starting = from_centres(k_means_plus_plus, N_STARTS)
    fitting = MixtureOptions("diag", starting=starting, floor=floor, tol=1e-6, max_iter=1000)
    best, mixture = float(2.0 * np.log(w.sum()) - 2.0 * (w @ one.log_density(x))), one
    for K in range(2, min(options.max_components, np.unique(x).size // 2) + 1):
        fit = fit_mixture(source, K, fitting, np.random.default_rng(K))
        if fit.bic() >= best:
            break
        best, mixture = fit.bic(), fit.model
    if mixture is one:
        return one
    final = replace(fitting, starting=from_mixture(mixture), tol=1e-11, max_iter=2000)
    return fit_mixture(source, len(mixture.weights), final, np.random.default_rng(0)).model


def _normals(weights: Array, means: Array, variances: Array) -> Mixture:
    parts = zip(means, variances, strict=True)
    kept = [Gaussian(np.array([m]), Diagonal(np.array([v]))) for m, v in parts][: len(weights)]
    return Mixture(weights, tuple(kept))
