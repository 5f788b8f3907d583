"""Probabilistic PCA of columns over their standard deviations, as a model in the units of the columns.

In these the noise differs between columns, sigma² s_j², and the loadings are W_j s_j; the latent values are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from eigenlens.data.column_scale import divide_source
from eigenlens.data.source import Source
from eigenlens.latent.ppca.fit import fit_each_ppca, fit_ppca
from eigenlens.missing.result import LatentFit
from eigenlens.missing.standardize import column_units


def fit_standardized_ppca(source: Source, k: int, **options: Any) -> LatentFit:
    """Fit columns over their standard deviations as `fit_ppca` does, and return the model in the units of the columns.

    >>> import numpy as np
    >>> from eigenlens.data.memory import ArraySource
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> a, b = (fit_standardized_ppca(ArraySource(X * [1.0, 1.0, unit]), 1).model.noise for unit in (1.0, 10.0))
    >>> (b / a).round(3)
    array([  1.,   1., 100.])
    """
    units = column_units(source)
    return fit_ppca(divide_source(source, units.scale), k, **options).scaled(units.scale, units.log_scale)


def fit_each_standardized_ppca(source: Source, counts: Sequence[int], **options: Any) -> Iterator[LatentFit]:
    """Yield the same for increasing numbers of latent dimensions, as `fit_each_ppca` does."""
    units = column_units(source)
    for fit in fit_each_ppca(divide_source(source, units.scale), counts, **options):
        yield fit.scaled(units.scale, units.log_scale)
