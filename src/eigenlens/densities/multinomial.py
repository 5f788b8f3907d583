"""The multinomial density of rows of counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import gammaln, xlogy

from eigenlens import checks
from eigenlens.arrays import Array, is_sparse, read_only, to_numpy
from eigenlens.data.number_array import number_matrix
from eigenlens.data.source import Block, accumulate
from eigenlens.densities.base import Columns, as_rows, check_columns, known_values, other_columns
from eigenlens.densities.discrete import probability_table
from eigenlens.densities.fitting import (
    check_smoothing,
    number_block,
    numeric_source,
    positive_weight_block,
    pseudo_counts,
)
from eigenlens.densities.intervals import (
    Fitted,
    check_names,
    check_record,
    column_labels,
    proportion_intervals,
    smoothed_count,
)
from eigenlens.errors import DataError, OptionError
from eigenlens.stats.counts import CountTotals, log_factorials

MAX_TRIALS = 2**62
"""The largest number of trials, whose counts are 64-bit integers."""


@dataclass(frozen=True, eq=False)
class Multinomial:
    """Counts x (d,) of N independent trials, each of which falls into cell j with probability p_j.

        ln P(x) = ln N! − Σ_j ln x_j! + Σ_j x_j ln p_j

    Attributes:
        probabilities: p (d,). They may sum to less than 1 if trials is given: the rest is a hidden cell.
        trials: N of every row; or None, and each row has its density given its own total.
        fitted: the record of `fit`, or None.

    A missing count (NaN) is marginalised: with N known, it joins the hidden cell; otherwise the row has its density
    given the total of its observed counts. Negative and fractional counts, and a wrong total, have log density −inf.

    >>> print(Multinomial.fit([[3, 1, 0], [1, 2, 1]]))
    Multinomial, n = 8, log-likelihood -3.9233
    category  probability  std. error       low     high
    0                 0.5     0.17678   0.21522  0.78478
    1               0.375     0.17116   0.13684  0.69426
    2               0.125     0.11693  0.022417  0.47089
    >>> np.exp(Multinomial(np.array([0.5, 0.5])).log_density([[1, 1], [2, 0]]))
    array([0.5 , 0.25])
    """

    probabilities: Array
    trials: int | None = None
    fitted: Fitted | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "probabilities", checks.numbers("probabilities", self.probabilities))
        read_only(self, "probabilities")
        check_record(self.fitted, self.probabilities.size)
        if self.trials is not None:
            checks.integer("trials", self.trials, 0, MAX_TRIALS)
        p, total = self.probabilities, float(self.probabilities.sum())
        short = self.trials is not None and total < 1.0
        if p.ndim != 1 or not np.all(p >= 0.0) or not (short or abs(total - 1.0) <= 1e-9 or not p.size):
            what = f"must be a list of numbers, none negative, that sum to 1, not {total:.10g}"
            raise OptionError(what, argument="probabilities", value=p.tolist())

    @classmethod
    def fit(
        cls, X: Any, sample_weight: Any = None, *, smoothing: float | Sequence[float] = 0.0, trials: int | None = None
    ) -> Multinomial:
        """Fit p_j = (n_j + smoothing) / (Σ n_j + d smoothing), n_j the total of column j.

        Args:
            X: (n, d) counts, dense, sparse, a frame or a Source; (d,) is one row. Whole numbers, none missing.
            sample_weight: (n,), a weight of 3 counting as three rows.
            smoothing: 0 for maximum likelihood; a number, or one per column (a Dirichlet prior).
            trials: the total of every row, if all are equal and it is part of the model.
        """
        source = numeric_source(_one_row(X), sample_weight)
        family = MultinomialFamily(smoothing, trials, source.names)
        return family.estimate(accumulate(source, family.summarise))

    def log_density(self, X: Any) -> Array:
        """Return ln P(x) (n,) of rows of counts X (n, d), dense or sparse."""
        d = self.probabilities.size
        if is_sparse(X) and X.ndim == 2 and X.shape[1] == d and X.dtype.kind in "fiub":
            return self._sparse(number_matrix(X).astype(np.float64))
        rows = as_rows(X if d == 1 else _one_row(X), d)
        seen = ~np.isnan(rows)
        x = np.where(seen, rows, 0.0)
        hidden = self._hidden + (~seen) @ self.probabilities
        bad = np.any((x < 0.0) | (x != np.floor(x)), axis=1)
        x[bad] = 0.0
        found = self._log_given(x, xlogy(x, self.probabilities).sum(axis=1), hidden)
        return np.where(bad, -np.inf, np.where(seen.any(axis=1), found, 0.0))

    def sample(self, n: int, rng: Any = None, trials: int | None = None) -> Array:
        """Draw n rows (n, d) of `trials` trials each; `trials` is needed where the model does not have it."""
        rng = checks.generator(rng, "rng")
        n = checks.sample_size("n", n, self.probabilities.size + 1, 0)
        N = self.trials if trials is None else checks.integer("trials", trials, 0, MAX_TRIALS)
        if N is None:
            what = ": the number of trials of a row is not part of this model"
            raise OptionError(what, argument="trials", value=None, fix="pass trials, here or to fit")
        p = np.append(self.probabilities, self._hidden)
        return np.asarray(rng.multinomial(N, p / p.sum(), size=n)[:, :-1])

    def marginal(self, columns: Columns) -> Multinomial:
        """Return the density of the counts of these columns; with trials, the others join the hidden cell."""
        p = self.probabilities[check_columns(columns, self.probabilities.size)]
        return Multinomial(p, self.trials) if self.trials is not None else Multinomial(_shares(p))

    def condition(self, columns: Columns, values: Any) -> Multinomial:
        """Return the density of the other columns, p_m / (1 − Σ p_o), with the N − Σ x_o trials that are left."""
        rest = other_columns(columns, self.probabilities.size)
        seen, given = known_values(columns, values, self.probabilities.size)
        if np.any((given < 0.0) | (given != np.floor(given)) | np.isinf(given)):
            raise OptionError("must be counts: whole numbers from 0 on", argument="values", value=given.tolist())
        if self.trials is None:
            return self.marginal(rest)
        left = self.trials - int(given.sum())
        if left < 0:
            raise OptionError(f"sum to more than trials={self.trials}", argument="values", value=given.tolist())
        unknown = self._hidden + self.probabilities[other_columns(seen, self.probabilities.size)].sum()
        return Multinomial(self.probabilities[rest] / (unknown or 1.0), left)

    def standard_errors(self) -> Array:
        """Return √(p_j (1 − p_j) / n) (d,), n all trials and those that smoothing added."""
        return np.asarray(np.sqrt(self.probabilities * (1.0 - self.probabilities) / smoothed_count(self)))

    def confidence_intervals(self, level: float = 0.95, method: Any = "wilson") -> Array:
        """Return limits (d, 2) for each probability on its own; methods in `intervals.PROPORTION_INTERVALS`."""
        return proportion_intervals(self.probabilities, smoothed_count(self), level, method)

    def __str__(self) -> str:
        names = column_labels(self.fitted.names if self.fitted is not None else None, self.probabilities.size)
        if self.fitted is None:
            return probability_table(self, names, self.probabilities, None, None)
        return probability_table(self, names, self.probabilities, self.standard_errors(), self.confidence_intervals())

    # ---- parts ------------------------------------------------------------------------------------------

    @property
    def _hidden(self) -> float:
        """The probability of the hidden cell; a rest that is rounding is 0."""
        rest = 1.0 - float(self.probabilities.sum())
        return rest if self.trials is not None and rest > 1e-12 else 0.0

    def _log_given(self, x: Any, logs: Array, hidden: Array | float) -> Array:
        """Return ln P (n,) of rows of counts with Σ x ln p = logs; hidden trials have probability `hidden`."""
        shown = np.asarray(x.sum(axis=1)).ravel()
        inner = logs - log_factorials(x)
        if self.trials is None:
            return np.asarray(inner + gammaln(shown + 1.0) - xlogy(shown, 1.0 - hidden))
        left = self.trials - shown
        outer = gammaln(self.trials + 1.0) - gammaln(np.maximum(left, 0.0) + 1.0)
        return np.where(left < 0.0, -np.inf, inner + outer + xlogy(np.maximum(left, 0.0), hidden))

    def _sparse(self, rows: Any) -> Array:
        row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        logs = np.bincount(row, xlogy(rows.data, self.probabilities[rows.indices]), minlength=rows.shape[0])
        bad = np.bincount(row, (rows.data < 0.0) | (rows.data != np.floor(rows.data)), minlength=rows.shape[0]) > 0
        return np.where(bad, -np.inf, self._log_given(abs(rows), logs, self._hidden))


@dataclass(frozen=True)
class MultinomialFamily:
    """Multinomial densities: totals of columns to shares. The options are those of `Multinomial.fit`."""

    smoothing: float | Sequence[float] = 0.0
    trials: int | None = None
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.trials is not None:
            checks.integer("trials", self.trials, 0, MAX_TRIALS)
        check_smoothing(self.smoothing)
        object.__setattr__(self, "names", check_names(self.names))

    def summarise(self, block: Block) -> CountTotals:
        """Return the totals of a block of rows; entries that are not counts, and other totals than `trials`, raise."""
        return _check_and_count(number_block(block), self.trials)

    def estimate(self, statistics: CountTotals) -> Multinomial:
        """Return the density with the smoothed shares of the columns."""
        checks.instance("statistics", statistics, CountTotals, "give those of summarise")
        added = pseudo_counts(self.smoothing, statistics.total.size)
        n = float(statistics.total.sum())
        total = n + float(added.sum())
        if total <= 0.0:
            what = "X has no counts above 0, so the shares are not known"
            raise DataError(what, fix="{smoothing} gives a prior", settings={"smoothing": 1})
        p = (statistics.total + added) / total
        loglik = statistics.coefficient + float(xlogy(statistics.total, p).sum())
        return Multinomial(p, self.trials, Fitted(n, loglik, p.size - 1, total - n, self.names))


def _check_and_count(block: Block, trials: int | None) -> CountTotals:
    """Return the totals of a block after a check that its entries are counts; a row of weight 0 is absent."""
    block = positive_weight_block(block)
    entries = np.ravel(to_numpy(block.rows.data if is_sparse(block.rows) else block.rows))
    bad = entries[~((entries >= 0.0) & (entries == np.floor(entries)) & np.isfinite(entries))]
    if bad.size:
        what = f"X has {bad[0]:g} (and {bad.size - 1} more that are not counts); whole numbers from 0 on are needed"
        raise DataError(what, fix="leave those rows out, or use Gaussian")
    totals = np.ravel(to_numpy(block.rows.sum(axis=1)))
    if trials is not None and np.any(totals != trials):
        what = f"X has a row of {totals[totals != trials][0]:g} counts, not trials={trials}"
        raise DataError(what, fix="leave trials out")
    return CountTotals.of(block)


def _one_row(X: Any) -> Any:
    """Return counts (d,) of one row as (1, d), other X unchanged."""
    if is_sparse(X) or hasattr(X, "collect_schema") or hasattr(X, "columns"):  # lazy frames warn of the latter
        return X
    flat = getattr(X, "ndim", 0) == 1 or (isinstance(X, list | tuple) and not any(hasattr(x, "__len__") for x in X))
    return np.reshape(to_numpy(X), (1, -1)) if flat else X


def _shares(p: Array) -> Array:
    total = p.sum()
    return p / total if total > 0.0 else np.full(p.size, 1.0 / max(1, p.size))
