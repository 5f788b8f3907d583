"""Any density estimator as a column of naive Bayes: one copy of it is fitted per class and column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.bayes.classifier.class_density import log_density, sample_density
from eigenlens.bayes.classifier.storage import pack_density, unpack_density
from eigenlens.bayes.naive.families.base import NaiveOptions
from eigenlens.bayes.naive.families.per_class_density import (
    ClassRows,
    DensityPerClass,
    KeptRowsFactor,
    fit_per_class,
    weighted_moments,
)
from eigenlens.data.column_kinds import Field
from eigenlens.densities.base import as_rows
from eigenlens.densities.covariance import Diagonal
from eigenlens.densities.gaussian import Gaussian
from eigenlens.errors import DataError, ModelFileError, OptionError
from eigenlens.estimator.base import require_uninterrupted
from eigenlens.layout import pack, unpack


def is_density_estimator(value: Any) -> bool:
    """Return whether a value is an estimator with the log density of rows, such as `KernelDensity()`."""
    return not isinstance(value, type) and all(hasattr(value, name) for name in ("fit", "score_samples", "get_params"))


@dataclass(frozen=True, eq=False)
class EstimatedDensity:
    """A fitted density estimator of one column, as a density."""

    estimator: Any

    def log_density(self, X: Any) -> Array:
        """Return ln p(x) (n,) of a column; 0 for a missing or infinite entry, which the caller decides."""
        rows = as_rows(X, 1)
        finite, found = np.isfinite(rows[:, 0]), np.zeros(len(rows))
        if finite.any():
            found[finite] = log_density(self.estimator, rows[finite])
        return found

    def sample(self, n: int, rng: Any = None) -> Array:
        """Draw n values (n, 1)."""
        return sample_density(self.estimator, n, checks.generator(rng, "rng"))


@dataclass(frozen=True)
class EstimatorFactor(KeptRowsFactor):
    """The family of a density estimator, of which each column and class has a fitted copy."""

    estimator: Any

    def estimate(self, statistics: ClassRows, fields: tuple[Field, ...], options: NaiveOptions) -> DensityPerClass:
        """Return the densities of fitted copies; a class without entries in a column has that of all rows."""
        weighted = bool(np.any(statistics.weight != 1.0))
        if weighted and not has_fit_parameter(self.estimator, "sample_weight"):
            what = f"holds {self.estimator!r}, whose fit takes no sample_weight, but one is given"
            raise OptionError(what, argument="features", fix="leave out the weights, or use a family by name")

        def fit(x: Array, w: Array, everywhere: tuple[Array, Array]) -> Any:
            values, weights = (x, w) if len(x) else everywhere
            try:
                return EstimatedDensity(self._fit_copy(values, weights if weighted else None))
            except DataError:
                if values.min() < values.max():
                    raise
                return _point_density(values, weights, everywhere)

        return fit_per_class(statistics, fields, fit)

    def _fit_copy(self, x: Array, weight: Array | None) -> Any:
        copy = clone(self.estimator)
        if copy.get_params(deep=False).get("random_state", 0) is None:
            copy.set_params(random_state=0)  # a fit of naive Bayes draws nothing: the same rows give the same rule
        return require_uninterrupted(copy.fit(x[:, None], **({} if weight is None else {"sample_weight": weight})))

    def pack(self, statistics: ClassRows, conditional: DensityPerClass) -> tuple[dict[str, Array], Any]:
        """Return the rows and the fitted estimators, each as in a file of its own."""
        arrays, about = pack(statistics, self.layout)[0], []
        for j, column in enumerate(conditional.densities):
            for c, density in enumerate(column):
                kind, parts, header = pack_density(getattr(density, "estimator", density))
                arrays |= {f"density{j}_{c}.{name}": array for name, array in parts.items()}
                about.append([kind, header])
        return arrays, [statistics.classes, about]

    def unpack(
        self, arrays: Mapping[str, Array], header: Any, fields: tuple[Field, ...], options: NaiveOptions, C: int
    ) -> tuple[ClassRows, DensityPerClass]:
        """Return the stored rows and estimators."""
        places = [f"density{j}_{c}" for j in range(len(fields)) for c in range(C)]
        if not isinstance(header, list) or len(header) != 2 or header[0] != C or len(header[1]) != len(places):
            raise ModelFileError(f"must have the densities of {len(fields)} columns in {C} classes")
        pairs = zip(places, header[1], strict=True)
        found = [unpack_density(place, dict(arrays), stored, 1) for place, stored in pairs]
        densities: list[Any] = [EstimatedDensity(one) if hasattr(one, "score_samples") else one for one in found]
        columns = tuple(tuple(densities[j * C : (j + 1) * C]) for j in range(len(fields)))
        statistics = unpack(self.layout, arrays, {}, {"C": C, "g": len(fields)}, classes=C)
        return statistics, DensityPerClass(columns)


def _point_density(values: Array, weights: Array, everywhere: tuple[Array, Array]) -> Gaussian:
    """Return the density of equal values, which no rule fits: a Gaussian of the column's deviation over √n.

    It is that of "kde" in this case. In a constant column its variance is 1 in every class.
    """
    variance = weighted_moments(*everywhere)[1]
    variance = variance / max(1.0, float(weights.sum())) if variance > 0.0 else 1.0
    return Gaussian(values[:1], Diagonal(np.array([variance])))
