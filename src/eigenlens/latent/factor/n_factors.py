"""How many factors: parallel analysis, beside the rules of `choose_latent`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from eigenlens.data.memory import ArraySource
from eigenlens.data.rows import dense_rows
from eigenlens.data.source import Source
from eigenlens.latent.n_components import DIMENSION_RULES, DimensionChoice, FitEach
from eigenlens.linalg.operators import CentredRows
from eigenlens.linalg.resampling import parallel, permuted_spectra
from eigenlens.missing.result import observed_moments

__all__ = ["FACTOR_RULES", "choose_by_parallel_analysis"]

N_PERMUTATIONS = 40
NULL_QUANTILE = 0.95


def choose_by_parallel_analysis(
    fit_each: FitEach, source: Source, counts: Sequence[int], rng: np.random.Generator
) -> DimensionChoice:
    """As many factors as eigenvalues of the correlation matrix exceed those of shuffled columns; at least one.

    The 95% point of 40 permutations of each column (Horn 1965; Buja and Eyuboglu 1992). `values` of the answer are the
    eigenvalues less that point; large sources are judged by a sample of rows. Missing entries are the means of their
    columns here, shuffled or not, which shrinks all eigenvalues beyond the first alike.
    """
    X, weight = dense_rows(source, rng)
    gaps = np.isnan(X)
    if gaps.any():
        X = np.where(gaps, observed_moments(ArraySource(X)).mean, X)
    rows = CentredRows(ArraySource(X).weighted(weight), standardize=True)
    values = np.linalg.eigvalsh(rows.dense())[::-1]
    shuffled = permuted_spectra(X, N_PERMUTATIONS, rng, standardize=True, weight=weight)
    m = min(len(counts), shuffled.shape[1])
    excess = values[:m] - np.quantile(shuffled[:, :m], NULL_QUANTILE, axis=0)
    k = min(max(1, parallel(values, shuffled, NULL_QUANTILE)), m)
    return DimensionChoice("parallel", k, np.asarray(counts[:m]), excess, np.zeros(m))


FACTOR_RULES: dict[str, Callable[[FitEach, Source, Sequence[int], np.random.Generator], DimensionChoice]] = {
    **DIMENSION_RULES,
    "parallel": choose_by_parallel_analysis,
}
"""Rules for the number of factors, by name."""
