"""The parameter `standardize`: columns divided by their standard deviations for a fit, and the fit in their own units.

A model of y = x / s, with s the standard deviations, is a model of x: its means and loadings are multiplied by s, its
variances by s², and log p(x) = log p(y) − Σ_j log s_j over the observed entries. The frozen models do this in closed
form (`scaled`), so that whatever is computed from them is in the units of the columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.data.coerce import require_finite
from eigenlens.data.column_scale import divide_source
from eigenlens.data.source import Source, accumulate
from eigenlens.errors import OptionError
from eigenlens.missing.result import complete_or_observed, constant_column_indices
from eigenlens.missing.units import Units
from eigenlens.stats.moments import ColumnMoments


def column_units(source: Source) -> Units:
    """Return means and standard deviations of the columns, in one pass, or in two where entries are missing.

    The divisor is Σw of the observed entries, that of maximum likelihood; constant columns have the deviation 1.

    >>> from eigenlens.data.memory import ArraySource
    >>> column_units(ArraySource(np.array([[1.0, 7.0], [5.0, 7.0], [np.nan, 7.0]]))).scale
    array([2., 1.])
    """
    columns = complete_or_observed(source, _complete_moments, lambda rows, observed: observed)
    square = columns.square.copy()  # a variance that is rounding of the mean is none
    square[list(constant_column_indices(columns.mean, square / columns.weight))] = 0.0
    return Units.of(ColumnMoments(columns.weight, columns.mean, square))


def _complete_moments(source: Source) -> ColumnMoments:
    with np.errstate(all="ignore"):  # entries that are not finite show up in the result, and are explained below
        columns = accumulate(source, ColumnMoments.of, label="standard deviations")
    require_finite(source, columns.square)
    return columns


class StandardizedColumns:
    """The parameter `standardize` of an estimator: fits to columns over `scale_`, reported in their own units."""

    standardize: bool
    n_features_in_: int
    _scale: Array | None = None

    def _standardize(self, source: Source) -> tuple[Source, Units | None]:
        """Return the rows that are fitted, and the units of their columns; the source itself and None if not asked."""
        if not checks.boolean("standardize", self.standardize):
            return source, None
        units = column_units(source)
        return divide_source(source, units.scale), units

    def _require_own_units(self, method: str) -> None:
        """Raise an error for a method that cannot know the standard deviations of all rows."""
        if checks.boolean("standardize", self.standardize):
            what = f"{{standardize}} needs the standard deviations of all rows, which {method} does not know"
            fix = "use fit, or divide the columns by known numbers first"
            raise OptionError(what, fix=fix, settings={"standardize": True})

    @property
    def scale_(self) -> Any:
        """The standard deviations (d,) by which columns were divided, with divisor Σw; ones if not standardised."""
        estimator: Any = self
        like, _ = estimator._like, estimator.model_  # after `partial_fit` they may be computed with the model
        return like(np.ones(self.n_features_in_) if self._scale is None else self._scale)
