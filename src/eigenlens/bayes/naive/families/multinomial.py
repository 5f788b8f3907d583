"""Blocks of counts: a rule that is linear in the rows, dense or sparse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eigenlens.arrays import Array, is_sparse, read_only
from eigenlens.bayes.naive.model import LinearRule
from eigenlens.data.table import numbers_of
from eigenlens.densities.multinomial import Multinomial
from eigenlens.errors import DataError

__all__ = ["MultinomialColumns", "entries_of", "filled", "product"]


@dataclass(frozen=True, eq=False)
class MultinomialColumns:
    """A block of counts, each row of class c a draw from a multinomial: ln p(x | c) = Σ_j x_j ln θ_cj.

    The coefficient N! / Π x_j!, the same in every class, is left out. Where a count is missing, the row is judged given
    the total of the others.

    Attributes:
        shares: θ (C, g), each line summing to one.
        trials: (C,) counts of a row, for draws.
        names: (g,) of the columns, for errors.
    """

    shares: Array
    trials: Array
    names: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        read_only(self, "shares", "trials")

    @cached_property
    def _logs(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.shares))

    def add_log(self, rows: Any, columns: Array, joint: Array) -> None:
        """Adds Σ_j x_j ln θ_cj to joint (n, C), by a product."""
        x, seen = entries_of(rows, columns)
        _require(x, lambda v: (v >= 0.0) & (v < np.inf), "a count", self.names)
        joint += product(x, self._logs)
        if seen is not None:
            joint -= x.sum(axis=1, keepdims=True) * _log_shown(seen @ self.shares.T)

    def terms(self, rows: Any, columns: Array) -> Array:
        """x_j ln θ_cj (n, g, C)."""
        found = numbers_of(rows, columns)
        seen = ~np.isnan(found)
        x = np.where(seen, found, 0.0)[:, :, None]
        with np.errstate(invalid="ignore"):
            logs = self._logs.T - _log_shown(seen @ self.shares.T)[:, None, :]
            return np.where(x == 0.0, 0.0, x * logs)

    def sample(self, labels: Array, rng: np.random.Generator) -> list[Array]:
        """Draws of as many counts a row as rows of the class had on average."""
        drawn = np.empty((len(labels), self.shares.shape[1]))
        for c in np.unique(labels):
            drawn[labels == c] = rng.multinomial(round(self.trials[c]), self.shares[c], size=int((labels == c).sum()))
        return list(drawn.T)

    def linear(self) -> LinearRule | None:
        """ln θ and 0."""
        return LinearRule(self._logs, np.zeros(len(self.shares))) if np.all(np.isfinite(self._logs)) else None

    def density(self, label: int, place: int) -> Multinomial:
        """The multinomial of the whole block in a class."""
        return Multinomial(self.shares[label])


def entries_of(rows: Any, columns: Array) -> tuple[Any, Array | None]:
    """Columns of a block, sparse where they are and without gaps, else dense with 0 for them, and which are there (or
    None where all are)."""
    if is_sparse(rows):
        part = rows if len(columns) == rows.shape[1] else rows[:, columns]
        if not np.isnan(part.data).any():
            return part, None
    x = numbers_of(rows, columns)
    return filled(x) if np.isnan(x).any() else (x, None)


def filled(x: Array) -> tuple[Array, Array]:
    """Entries (n, g) with 0 for gaps, and 1 where they are there."""
    gaps = np.isnan(x)
    return np.where(gaps, 0.0, x), (~gaps).astype(np.float64)


def _require(x: Any, test: Callable[[Array], Array], takes: str, names: tuple[Any, ...]) -> None:
    values = np.asarray(x.data if is_sparse(x) else x)
    taken = test(values)
    if not taken.all():
        columns = x.indices[~taken] if is_sparse(x) else np.nonzero(~taken)[1]
        name = repr(names[columns[0]]) if names else f"number {columns[0]} of its family"
        raise DataError(
            f"column {name} holds {values[~taken][0]:g} (and there are {columns.size - 1} more such values), which is "
            f"not {takes}, as in fit; replace it by NaN, a missing entry, or fit the column as 'categorical'."
        )


def product(x: Any, logs: Array) -> Array:
    """x (n, g) · logs (C, g), with 0 · −∞ = 0."""
    finite = np.where(np.isfinite(logs), logs, 0.0)
    found = np.asarray(x @ finite.T, dtype=np.float64)
    if finite is not logs and not np.all(np.isfinite(logs)):
        found[np.asarray((x != 0) @ (~np.isfinite(logs)).T.astype(np.float64)) > 0.0] = -np.inf
    return found


def _log_shown(shown: Array) -> Array:
    return np.asarray(np.log(np.where(shown > 0.0, np.minimum(shown, 1.0), 1.0)))
