"""How many latent dimensions: the least BIC, or the best likelihood of rows that were held out.

Both serve every model of which fits with 1, 2, … dimensions can be had in turn. They stop looking once `PATIENCE` more
dimensions in a row were no better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.rows import row_count, select_rows
from eigenlens.data.source import Block, Source, accumulate
from eigenlens.errors import DataError, OptionError
from eigenlens.missing.result import LatentFit, free_parameters

__all__ = ["RULES", "Choice", "FitEach", "choose_by_bic", "choose_by_likelihood"]

FOLDS = 5
PATIENCE = 5
PIECE = 1 << 21
LEAST_ROWS = 4
"""With fewer rows a fold would leave less than three to fit."""

FitEach = Callable[[Source, Sequence[int]], Iterator[LatentFit]]
"""Fits of a source for ascending numbers of dimensions, each made when it is asked for; it may end early."""


@dataclass(frozen=True, eq=False)
class Choice:
    """What was compared, and what won.

    Attributes:
        rule: "bic" or "cv". k: the number chosen.
        counts: (m,) numbers of dimensions compared.
        values: (m,) BIC of each (the least is best), or mean log density of a held-out row (the largest is best).
        errors: (m,) standard errors of the latter over the folds; zeros for BIC.
        fit: the fit that won, where it was made on all rows.
        interrupted: whether the user stopped the comparison; the best of those compared by then won.
    """

    rule: str
    k: int
    counts: Array
    values: Array
    errors: Array
    fit: LatentFit | None = None
    interrupted: bool = False


def choose_by_bic(fit_each: FitEach, source: Source, counts: Sequence[int], rng: np.random.Generator) -> Choice:
    """The number of dimensions of least −2 log-likelihood + parameters log Σw (Schwarz 1978). Cost: a fit a number.

    Interrupted by the user, it is the best of those fitted by then, or the first as far as it got.
    """
    values: list[float] = []
    best, interrupted = None, False
    try:
        for k, fit in zip(counts, fit_each(source, counts), strict=False):
            if fit.interrupted and values:
                raise KeyboardInterrupt
            values.append(fit.bic(free_parameters(source.n_features, k, scalar_noise=np.ndim(fit.model.noise) == 0)))
            best = fit if values[-1] == min(values) else best
            if fit.interrupted:
                raise KeyboardInterrupt
            if _no_better(-np.asarray(values)):
                break
    except KeyboardInterrupt:
        if best is None:
            raise
        interrupted = True
    tried = np.asarray(counts[: len(values)])
    k = int(tried[np.argmin(values)])
    return Choice("bic", k, tried, np.asarray(values), np.zeros(len(values)), best, interrupted)


def choose_by_likelihood(fit_each: FitEach, source: Source, counts: Sequence[int], rng: np.random.Generator) -> Choice:
    """The number of dimensions under which rows left out of the fit are likeliest, by cross-validation in five folds.

    A fold is a set of row weights, so that every source can be split; rows of weight 0 are in none. Cost: five fits and
    five passes a number. Interrupted by the user, it is the best of those compared by then; without a first number that
    all folds have been fitted with there is none, and the interrupt goes on.
    """
    n = row_count(source)
    weight = np.ones(n) if source.weight is None else source.weight
    fold = _folds(weight, rng)
    kept = [np.where(fold == i, 0.0, weight) for i in range(fold.max() + 1)]
    table: list[Array] = []
    interrupted = False
    try:
        running = [map(_whole, _of_a_fold(fit_each, source, w, counts)) for w in kept]
        for fits in zip(*running, strict=False):
            table.append(np.array([_held_out(source, weight - w, fit) for w, fit in zip(kept, fits, strict=True)]))
            if _no_better(np.mean(table, axis=1)):
                break
    except KeyboardInterrupt:
        if not table:
            raise
        interrupted = True
    values, errors = np.mean(table, axis=1), np.std(table, axis=1, ddof=1) / np.sqrt(len(kept))
    tried = np.asarray(counts[: len(table)])
    return Choice("cv", int(tried[np.argmax(values)]), tried, values, errors, None, interrupted)


def _folds(weight: Array, rng: np.random.Generator) -> Array:
    """The fold of each row (n,), from 0, of like numbers of rows that count; −1 for a row of weight 0.

    >>> np.bincount(_folds(np.array([1.0, 0.0, 2.0, 1.0, 1.0, 1.0, 0.5]), np.random.default_rng(0)) + 1)
    array([1, 2, 1, 1, 1, 1])
    """
    counts = weight > 0.0
    n = int(np.count_nonzero(counts))
    if n < LEAST_ROWS:
        raise DataError(
            f"n_components='cv' needs at least {LEAST_ROWS} rows that count, to leave some out and fit the others, but "
            f"n_samples={n}; give a number."
        )
    fold = np.full(weight.size, -1)
    fold[counts] = rng.permutation(n) % min(FOLDS, n)
    return fold


def _of_a_fold(fit_each: FitEach, source: Source, kept: Array, counts: Sequence[int]) -> Iterator[LatentFit]:
    """The fits of the rows that `kept` counts; what is wrong with these alone is not said of all."""
    try:
        yield from fit_each(source.weighted(kept), counts)
    except (DataError, OptionError) as error:
        next(iter(fit_each(source, counts)))  # where all rows have the same fault, this says so
        raise type(error)(
            f"n_components='cv' leaves out some rows at a time, and the other {np.count_nonzero(kept)} cannot be "
            f"fitted by themselves: {error} All rows can: use 'bic' or a number, or leave out columns that hardly vary "
            "or are hardly ever observed."
        ) from error


def _whole(fit: LatentFit) -> LatentFit:
    """The fit; one that was cut short ends the comparison."""
    if fit.interrupted:
        raise KeyboardInterrupt
    return fit


def _no_better(values: Array) -> bool:
    return bool(len(values) > PATIENCE and np.argmax(values) < len(values) - PATIENCE)


def _held_out(source: Source, weight: Array, fit: LatentFit) -> float:
    """The mean log density of the rows that `weight` counts."""
    return accumulate(source.weighted(weight), partial(_loglik, model=fit.model)) / float(weight.sum())


def _loglik(block: Block, model: Any) -> float:
    """Σ w log p(x observed) of a block, of the rows that count, dense a piece at a time."""
    counted = np.flatnonzero(block.weight)
    step, total = max(1, PIECE // block.rows.shape[1]), 0.0
    for start in range(0, counted.size, step):
        some = counted[start : start + step]
        total += float(block.weight[some] @ model.log_density(dense(select_rows(block.rows, some))))
    return total


RULES: dict[str, Callable[[FitEach, Source, Sequence[int], np.random.Generator], Choice]] = {
    "bic": choose_by_bic,
    "cv": choose_by_likelihood,
}
"""Rules for the number of latent dimensions, by name."""
