"""Rules for the number of factors: parallel analysis, beside those of `latent.n_components`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eigenlens.data.memory import ArraySource
from eigenlens.data.rows import dense_rows
from eigenlens.data.source import Source
from eigenlens.latent.n_components import DIMENSION_RULES, DimensionChoice, DimensionRule, FitEach
from eigenlens.linalg.operators import CentredRows
from eigenlens.linalg.resampling import parallel, permuted_spectra
from eigenlens.missing.result import fill_with_mean, observed_moments

N_PERMUTATIONS = 40
"""Permutations of each column: enough for the 95% point of eigenvalues."""

NULL_QUANTILE = 0.95
"""Eigenvalues must exceed this quantile of those of permuted columns (Buja and Eyuboglu 1992)."""


def choose_by_parallel_analysis(
    fit_each: FitEach, source: Source, counts: Sequence[int], rng: np.random.Generator
) -> DimensionChoice:
    """Choose as many factors as eigenvalues of the correlation matrix exceed those of permuted columns; at least one.

    They must exceed the 95% point of 40 permutations of each column (Horn 1965; Buja and Eyuboglu 1992). `values` of
    the result are the eigenvalues minus that point; of large sources a sample of rows is used. Missing entries are
    replaced by the means of their columns, permuted or not, which shrinks all eigenvalues beyond the first alike.
    """
    X, weight = dense_rows(source, rng)
    if np.isnan(X).any():
        X = fill_with_mean(X, observed_moments(ArraySource(X)).mean)
    rows = CentredRows(ArraySource(X).weighted(weight), standardize=True)
    values = np.linalg.eigvalsh(rows.dense())[::-1]
    shuffled = permuted_spectra(X, N_PERMUTATIONS, rng, standardize=True, weight=weight)
    m = min(len(counts), shuffled.shape[1])
    excess = values[:m] - np.quantile(shuffled[:, :m], NULL_QUANTILE, axis=0)
    k = min(max(1, parallel(values, shuffled, NULL_QUANTILE)), m)
    return DimensionChoice("parallel", k, np.asarray(counts[:m]), excess, np.zeros(m))


FACTOR_RULES: dict[str, DimensionRule] = {
    **DIMENSION_RULES,
    "parallel": choose_by_parallel_analysis,
}
"""Rules for the number of factors, by name."""
