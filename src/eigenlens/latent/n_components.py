"""Rules for the number of latent dimensions: the smallest BIC, or the best likelihood of held-out rows.

Both serve every model that can be fitted with 1, 2, … dimensions in turn. They stop once `MAX_WORSE_IN_A_ROW` more
dimensions in a row were no better. For factors there are parallel analysis and Velicer's minimum average partial too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.memory import ArraySource
from eigenlens.data.rows import dense_rows, random_folds, row_count, select_rows
from eigenlens.data.source import Block, Source, accumulate
from eigenlens.errors import DataError, OptionError
from eigenlens.laws import Laws
from eigenlens.linalg.n_components import N_PERMUTATIONS
from eigenlens.linalg.operators import CentredRows
from eigenlens.linalg.resampling import parallel, permuted_spectra
from eigenlens.missing.result import LatentFit, fill_with_mean, free_parameters, observed_moments
from eigenlens.resources import interruptible_call

N_FOLDS = 5
"""The number of folds of cross-validation."""

MAX_WORSE_IN_A_ROW = 5
"""A rule stops after this many numbers of dimensions in a row that are no better than the best before them."""

MAX_DENSE_ENTRIES = 1 << 21
"""Held-out rows are made dense in pieces of at most this many entries (16 MB)."""

MIN_ROWS = 4
"""With fewer rows a fold would leave fewer than three to fit."""

NULL_QUANTILE = 0.95
"""Eigenvalues must exceed this quantile of those of permuted columns (Buja and Eyuboglu 1992)."""

MIN_PARTIAL_VARIANCE = 1e-10
"""What components leave of a variable of variance 1 is rounding if it is no more than this."""

FitEach = Callable[[Source, Sequence[int]], Iterator[LatentFit]]
"""Yields fits of a source for increasing numbers of dimensions, each made on request; it may end early."""


@dataclass(frozen=True, eq=False)
class DimensionChoice:
    """The chosen number of latent dimensions, and the comparison behind it.

    Attributes:
        rule: the name of the rule. k: the number chosen.
        counts: (m,) numbers of dimensions compared.
        values: (m,) BIC of each, or the average squared partial correlation (the smallest is best); or mean log density
            per held-out row, or the eigenvalue beyond those of permuted columns (the largest is best).
        errors: (m,) standard errors of the latter over the folds; zeros for BIC.
        fit: the best fit, if it was made on all rows.
        interrupted: whether the user stopped the comparison; the best of those compared by then is chosen.
    """

    laws: ClassVar[Laws] = {
        "k": "not negative",
        "counts": "(c) integer, not negative, ascending",
        "values": "(c) any",
        "errors": "(c) any",
    }

    rule: str
    k: int
    counts: Array
    values: Array
    errors: Array
    fit: LatentFit | None = None
    interrupted: bool = False


DimensionRule = Callable[[FitEach, Source, Sequence[int], np.random.Generator], DimensionChoice]
"""Chooses among numbers of dimensions: (fits on request, rows, numbers to compare, random generator) → choice."""


def choose_by_bic(
    fit_each: FitEach, source: Source, counts: Sequence[int], rng: np.random.Generator
) -> DimensionChoice:
    """Choose the number of dimensions with the smallest −2 log-likelihood + parameters log Σw (Schwarz 1978).

    If the user interrupts it, the best of those fitted by then is chosen, or the first as it stood. Cost: one fit per
    number.
    """
    values: list[float] = []
    best, interrupted = None, False
    try:
        for k, fit in zip(counts, fit_each(source, counts), strict=False):
            if fit.interrupted and values:
                raise KeyboardInterrupt
            values.append(fit.bic(free_parameters(source.n_features, k, scalar_noise=fit.scalar_noise)))
            best = fit if values[-1] == min(values) else best
            if fit.interrupted:
                raise KeyboardInterrupt
            if _is_no_better(-np.asarray(values)):
                break
    except KeyboardInterrupt:
        if best is None:
            raise
        interrupted = True
    tried = np.asarray(counts[: len(values)])
    k = int(tried[np.argmin(values)])
    return DimensionChoice("bic", k, tried, np.asarray(values), np.zeros(len(values)), best, interrupted)


def choose_by_likelihood(
    fit_each: FitEach, source: Source, counts: Sequence[int], rng: np.random.Generator
) -> DimensionChoice:
    """Choose the number of dimensions with the largest likelihood of held-out rows, by cross-validation in five folds.

    A fold is a set of row weights, so that every source can be split; rows of weight 0 are in none. If the user
    interrupts it, the best of those compared by then is chosen; before all folds have been fitted with a first number
    there is none, and the interrupt is raised. Cost: five fits and five passes per number.
    """
    n = row_count(source)
    weight = np.ones(n) if source.weight is None else source.weight
    fold = _folds(weight, rng)
    kept = [np.where(fold == i, 0.0, weight) for i in range(fold.max() + 1)]
    table: list[Array] = []
    interrupted = False
    try:
        running = [map(_require_finished, _fit_fold(fit_each, source, w, counts)) for w in kept]
        for fits in zip(*running, strict=False):
            table.append(
                np.array([_held_out_density(source, weight - w, fit) for w, fit in zip(kept, fits, strict=True)])
            )
            if _is_no_better(np.mean(table, axis=1)):
                break
    except KeyboardInterrupt:
        if not table:
            raise
        interrupted = True
    values, errors = np.mean(table, axis=1), np.std(table, axis=1, ddof=1) / np.sqrt(len(kept))
    tried = np.asarray(counts[: len(table)])
    return DimensionChoice("cv", int(tried[np.argmax(values)]), tried, values, errors, None, interrupted)


def _folds(weight: Array, rng: np.random.Generator) -> Array:
    """Return the fold of each row (n,), from 0, of about equal size; −1 for a row of weight 0.

    >>> np.bincount(_folds(np.array([1.0, 0.0, 2.0, 1.0, 1.0, 1.0, 0.5]), np.random.default_rng(0)) + 1)
    array([1, 2, 1, 1, 1, 1])
    """
    positive = weight > 0.0
    n = int(np.count_nonzero(positive))
    if n < MIN_ROWS:
        what = (
            f"needs at least {MIN_ROWS} rows with positive weight, to leave some out and fit the others, and there "
            f"are {n}"
        )
        raise DataError(what, argument="n_components", value="cv", fix="give a number")
    fold = np.full(weight.size, -1)
    fold[positive] = random_folds(n, min(N_FOLDS, n), rng)
    return fold


def _fit_fold(fit_each: FitEach, source: Source, kept: Array, counts: Sequence[int]) -> Iterator[LatentFit]:
    """Yield the fits of the rows with weights `kept`; an error about these alone says so."""
    try:
        yield from fit_each(source.weighted(kept), counts)
    except (DataError, OptionError) as error:
        next(iter(fit_each(source, counts)))  # if all rows have the same fault, this raises its own error
        raise type(error)(
            f"leaves out some rows at a time, and the other {np.count_nonzero(kept)} cannot be fitted by themselves: "
            f"{error} All rows can",
            argument="n_components",
            value="cv",
            fix="use 'bic' or a number, or leave out columns that hardly vary or are hardly ever observed",
        ) from error


def _require_finished(fit: LatentFit) -> LatentFit:
    """Return the fit; one that the user interrupted ends the comparison."""
    if fit.interrupted:
        raise KeyboardInterrupt
    return fit


def _is_no_better(values: Array) -> bool:
    return bool(len(values) > MAX_WORSE_IN_A_ROW and np.argmax(values) < len(values) - MAX_WORSE_IN_A_ROW)


def _held_out_density(source: Source, weight: Array, fit: LatentFit) -> float:
    """Return the mean log density of the rows, weighted by `weight`."""
    return accumulate(source.weighted(weight), partial(_loglik, model=fit.model)) / float(weight.sum())


def _loglik(block: Block, model: Any) -> float:
    """Return Σ w log p(x observed) over the rows of a block with positive weight, made dense piece by piece."""
    positive = np.flatnonzero(block.weight)
    step, total = max(1, MAX_DENSE_ENTRIES // block.rows.shape[1]), 0.0
    for start in range(0, positive.size, step):
        some = positive[start : start + step]
        total += float(block.weight[some] @ model.log_density(dense(select_rows(block.rows, some))))
    return total


def choose_by_parallel_analysis(
    fit_each: FitEach, source: Source, counts: Sequence[int], rng: np.random.Generator
) -> DimensionChoice:
    """Choose as many factors as eigenvalues of the correlation matrix exceed those of permuted columns; at least one.

    They must exceed the 95% point of 40 permutations of each column (Horn 1965; Buja and Eyuboglu 1992). `values` of
    the result are the eigenvalues minus that point; of large sources a sample of rows is used. Missing entries are
    replaced by the means of their columns, permuted or not, which shrinks all eigenvalues beyond the first alike.
    """
    X, weight = _filled_rows(source, rng)
    rows = CentredRows(ArraySource(X).weighted(weight), standardize=True)
    values = interruptible_call(np.linalg.eigvalsh, rows.dense())[::-1]
    shuffled = permuted_spectra(X, N_PERMUTATIONS, rng, standardize=True, weight=weight)
    m = min(len(counts), shuffled.shape[1])
    excess = values[:m] - np.quantile(shuffled[:, :m], NULL_QUANTILE, axis=0)
    k = min(max(1, parallel(values, shuffled, NULL_QUANTILE)), m)
    return DimensionChoice("parallel", k, np.asarray(counts[:m]), excess, np.zeros(m))


def _filled_rows(source: Source, rng: np.random.Generator) -> tuple[Array, Array | None]:
    """Return the rows, or a sample of many, with missing entries replaced by the means of their columns."""
    X, weight = dense_rows(source, rng)
    if np.isnan(X).any():
        X = fill_with_mean(X, observed_moments(ArraySource(X)).mean)
    return X, weight


def choose_by_map(
    fit_each: FitEach, source: Source, counts: Sequence[int], rng: np.random.Generator
) -> DimensionChoice:
    """Choose the number of factors with the smallest average squared partial correlation (Velicer 1976).

    Missing entries are replaced by the means of their columns; of large sources a sample of rows is used.
    """
    X, weight = _filled_rows(source, rng)
    R = CentredRows(ArraySource(X).weighted(weight), standardize=True).dense()
    return choose_by_partial_correlations(R, counts)


def choose_by_partial_correlations(R: Array, counts: Sequence[int]) -> DimensionChoice:
    """Choose by Velicer's minimum average partial of a correlation matrix R (d, d); at least one factor.

    >>> choose_by_partial_correlations(np.full((5, 5), 0.5) + 0.5 * np.eye(5), [1, 2, 3]).k
    1
    """
    tried = np.asarray([m for m in counts if m < len(R) - 1], dtype=np.intp)
    if not tried.size:
        what = f"'map' needs partial correlations, which {len(R)} columns do not have"
        raise OptionError(what, within="n_components", fix="give a number, or more columns")
    values = average_partials(R)[tried]
    tried, values = tried[np.isfinite(values)], values[np.isfinite(values)]
    if not tried.size:
        what = "'map' needs partial correlations, and one component leaves a column without variance"
        raise OptionError(
            what, within="n_components", fix="give a number, or leave out columns that follow from others"
        )
    return DimensionChoice("map", int(tried[np.argmin(values)]), tried, values, np.zeros(len(tried)))


def average_partials(R: Array) -> Array:
    """Return the mean squared correlation of the variables given their first m components, m = 0, …, d − 2.

    With C_m = R − Σ_{l ≤ m} λ_l v_l v_lᵀ, it is Σ_{i≠j} c_ij² / (c_ii c_jj) / (d (d − 1)) (Velicer 1976). It falls as
    long as components take out what variables have in common, and grows once they take out single variables. Where a
    variable has nothing left it is infinite.

    >>> average_partials(np.full((3, 3), 0.5) + 0.5 * np.eye(3))
    array([0.25, 0.25])
    """
    d = len(R)
    values, V = interruptible_call(np.linalg.eigh, R)
    found = np.full(d - 1, np.inf)
    C = np.array(R)
    for m in range(d - 1):
        left = C.diagonal()
        if left.min() <= MIN_PARTIAL_VARIANCE:
            break
        squares = C * C / np.outer(left, left)
        found[m] = (squares.sum() - d) / (d * (d - 1.0))
        C = C - values[-1 - m] * np.outer(V[:, -1 - m], V[:, -1 - m])
    return found


DIMENSION_RULES: dict[str, DimensionRule] = {"bic": choose_by_bic, "cv": choose_by_likelihood}
"""Rules for the number of latent dimensions, by name."""

FACTOR_RULES: dict[str, DimensionRule] = {
    **DIMENSION_RULES,
    "parallel": choose_by_parallel_analysis,
    "map": choose_by_map,
}
"""Rules for the number of factors, by name."""
