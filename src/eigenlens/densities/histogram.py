"""The histogram as a density: constant within bins, fitted by counting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, dense, read_only
from eigenlens.data.source import Block, FieldSums, Source, accumulate
from eigenlens.densities.base import Columns, as_rows, only_column
from eigenlens.densities.bins import BIN_RULE_ALIASES, BIN_RULES, MAX_BINS, SortedValues
from eigenlens.densities.fitting import (
    check_smoothing,
    number_block,
    numeric_source,
    positive_weight_block,
    pseudo_counts,
)
from eigenlens.densities.intervals import Fitted, check_record, format_numbers, proportion_intervals, smoothed_count
from eigenlens.densities.product import Product
from eigenlens.errors import DataError, OptionError
from eigenlens.laws import Laws
from eigenlens.tables.text_table import titled_table


@dataclass(frozen=True, eq=False)
class Histogram:
    """A density of one column that is constant within bins: f(x) = p_k / (e_{k+1} − e_k) for e_k ≤ x < e_{k+1}.

    Attributes:
        edges: e (K + 1,), ascending; the last bin holds its upper edge too.
        probabilities: p (K,) of the bins, which sum to 1.
        fitted: the record of `fit`, or None.

    The log density is −inf outside the bins and within empty ones; that of a missing value (NaN) is 0.

    >>> six = Histogram.fit([-2.1, -1.3, -0.4, 1.9, 5.1, 6.2], bins=[-4, -2, 0, 2, 4, 6, 8])
    >>> six.heights * 12  # 1/12 for each value, in bins of width 2
    array([1., 2., 1., 0., 1., 1.])
    >>> six.cdf([0.0, 7.0]), six.log_density([1.0, 3.0])
    (array([0.5   , 0.9167]), array([-2.4849,    -inf]))
    """

    laws: ClassVar[Laws] = {"edges": "(b+1) ascending", "probabilities": "(b) not negative, sum 1"}

    edges: Array
    probabilities: Array
    fitted: Fitted | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("edges", "probabilities"):
            object.__setattr__(self, name, checks.numbers(name, getattr(self, name)))
        read_only(self, "edges", "probabilities")
        _check_edges("edges", self.edges)
        check_record(self.fitted)
        p = self.probabilities
        if p.shape != (self.edges.size - 1,):
            what = f"has shape {p.shape}, and there are {self.edges.size - 1} bins between the edges"
            raise OptionError(what, argument="probabilities", fix="give one per bin")
        if not (np.all(p >= 0.0) and abs(p.sum() - 1.0) <= 1e-9):
            what = f"must not be negative and sum to 1, not {p.sum():.10g}"
            raise OptionError(what, argument="probabilities", fix="divide them by their sum")

    @classmethod
    def fit(
        cls,
        x: Any,
        sample_weight: Any = None,
        *,
        bins: int | str | Sequence[float] | Array = "freedman-diaconis",
        bounds: tuple[float, float] | None = None,
        smoothing: float | Sequence[float] = 0.0,
    ) -> Histogram:
        """Fit p_k = (n_k + smoothing) / (n + K smoothing), n_k the weight of the values in bin k: maximum likelihood.

        Args:
            x: (n,) values: a list, array, Series, tensor, Dask array or Source of one column. NaN is left out.
            sample_weight: (n,), a weight of 3 counting as three values.
            bins: their number; their edges (K + 1,), equally far apart or not; or a rule for bins of one width:
                "freedman-diaconis" (NumPy's "fd" too), "scott", "knuth" (Knuth 2006) or "cv" (cross-validation,
                Rudemo 1982).
            bounds: (low, high), the ends of bins of one width; None for the smallest and the largest value.
            smoothing: 0 for maximum likelihood; values added to every bin, so that none within the ends is empty.
        """
        source = numeric_source(x, sample_weight)
        if source.n_features != 1:
            what = f"has {source.n_features} columns; a histogram has one"
            raise DataError(what, argument="x", fix="choose one, or use KernelDensity or a Product of histograms")
        family = HistogramFamily(_resolve_edges(source, bins, bounds), smoothing)
        return family.estimate(accumulate(source, family.summarise))

    @property
    def widths(self) -> Array:
        """The widths (K,) of the bins."""
        return np.diff(self.edges)

    @property
    def centres(self) -> Array:
        """The middles (K,) of the bins."""
        return 0.5 * (self.edges[1:] + self.edges[:-1])

    @property
    def heights(self) -> Array:
        """The density (K,) within each bin."""
        return np.asarray(self.probabilities / self.widths)

    def log_density(self, X: Any) -> Array:
        """Return ln f(x) (n,) of values X (n,) or (n, 1)."""
        x = as_rows(X, 1)[:, 0]
        with np.errstate(divide="ignore"):
            logs = np.log(np.concatenate([[0.0], self.heights, [0.0]]))
        return np.where(np.isnan(x), 0.0, logs[_bin_numbers(self.edges, x) + 1])

    def sample(self, n: int, rng: Any = None) -> Array:
        """Draw n rows (n, 1): a bin by its probability, and a value within it, all alike."""
        rng = checks.generator(rng, "rng")
        k = rng.choice(
            self.probabilities.size,
            size=checks.sample_size("n", n, 1, 0),
            p=self.probabilities / self.probabilities.sum(),
        )
        return np.asarray(self.edges[k] + self.widths[k] * rng.random(n))[:, None]

    def cdf(self, x: Any) -> Array:
        """Return P(X ≤ x) (n,), linear within bins; NaN for NaN."""
        return np.asarray(np.interp(as_rows(x, 1, "x")[:, 0], self.edges, self._cumulative()))

    def ppf(self, probability: Any) -> Array:
        """Return the smallest x (n,) with P(X ≤ x) = probability; NaN for NaN."""
        share = as_rows(probability, 1, "probability")[:, 0]
        if np.any((share < 0.0) | (share > 1.0)):
            raise OptionError("must be from 0 to 1", argument="probability", value=probability)
        below, p = self._cumulative(), self.probabilities
        k = np.clip(np.searchsorted(below, share, side="left") - 1, 0, p.size - 1)
        within = np.divide(share - below[k], p[k], out=np.zeros(share.shape), where=p[k] > 0.0)
        return np.where(np.isnan(share), np.nan, self.edges[k] + self.widths[k] * np.clip(within, 0.0, 1.0))

    def marginal(self, columns: Columns) -> Histogram | Product:
        """Return the density itself, for column 0."""
        return self if only_column(columns) else Product(())

    def condition(self, columns: Columns, values: Any) -> Histogram | Product:
        """Return the density of no columns, once the only one is known."""
        return Product(()) if only_column(columns) else self

    def standard_errors(self) -> Array:
        """Return those of the heights, √(p_k (1 − p_k) / n) over the width (K,), n with what smoothing added."""
        p = self.probabilities
        return np.asarray(np.sqrt(p * (1.0 - p) / smoothed_count(self)) / self.widths)

    def confidence_intervals(self, level: float = 0.95, method: Any = "wilson") -> Array:
        """Return limits (K, 2) of each height on its own; methods in `intervals.PROPORTION_INTERVALS`."""
        return proportion_intervals(self.probabilities, smoothed_count(self), level, method) / self.widths[:, None]

    def __str__(self) -> str:
        names = [f"{low:.5g} to {high:.5g}" for low, high in zip(self.edges[:-1], self.edges[1:], strict=True)]
        columns = {"probability": self.probabilities, "height": self.heights}
        title = f"Histogram of {len(names)} bins"
        if self.fitted is not None:
            title += f", n = {self.fitted.weight:g}, log-likelihood {self.fitted.loglik:.5g}"
            columns["std. error"] = self.standard_errors()
        return titled_table(title, ("bin", *columns), names, *map(format_numbers, columns.values()))

    def _cumulative(self) -> Array:
        below = np.concatenate([[0.0], np.cumsum(self.probabilities)])
        return np.asarray(below / below[-1])


@dataclass(frozen=True, eq=False)
class BinCounts(FieldSums):
    """The weight (K,) of the values in each bin, and of those outside all bins; counts of two blocks add."""

    weight: Array
    outside: float


@dataclass(frozen=True, eq=False)
class HistogramFamily:
    """Histograms with the same bins: counts to shares.

    Attributes:
        edges: (K + 1,) of the bins. smoothing: values added to every bin.

    >>> family = HistogramFamily([0.0, 1.0, 2.0])
    >>> two = [family.summarise(Block(np.array(x)[:, None])) for x in ([0.5, 1.5], [0.1, 2.0])]
    >>> family.estimate(two[0] + two[1]).probabilities
    array([0.5, 0.5])
    """

    laws: ClassVar[Laws] = {"edges": "(K) ascending", "smoothing": "() not negative | (B) not negative"}

    edges: Any
    smoothing: float | Sequence[float] = 0.0

    def __post_init__(self) -> None:
        _check_edges("edges", checks.numbers("edges", self.edges))
        check_smoothing(self.smoothing)

    def summarise(self, block: Block) -> BinCounts:
        """Return the counts of a block of one column; missing values are left out."""
        edges = _check_edges("edges", checks.numbers("edges", self.edges))
        x, w = _values(number_block(block), "block")
        k = _bin_numbers(edges, x)
        inside = (k >= 0) & (k < edges.size - 1)
        return BinCounts(np.bincount(k[inside], w[inside], edges.size - 1), float(w[~inside].sum()))

    def estimate(self, statistics: BinCounts) -> Histogram:
        """Return the histogram with the smoothed shares of the bins."""
        checks.instance("statistics", statistics, BinCounts, "give those of summarise")
        edges, counts = np.asarray(self.edges, dtype=np.float64), statistics.weight
        if statistics.outside > 0.0:
            reach = f"whose edges reach from {edges[0]:g} to {edges[-1]:g}"
            what = f"x has {statistics.outside:g} values outside the bins, {reach}"
            raise DataError(what, fix="widen the bins, or leave those values out")
        n, added = float(counts.sum()), pseudo_counts(self.smoothing, counts.size)
        total = n + float(added.sum())
        if total <= 0.0:
            what = "x has no value that is not missing and has positive weight"
            raise DataError(what, fix="{smoothing} gives a prior", settings={"smoothing": 1})
        p, some = (counts + added) / total, counts > 0.0
        loglik = float(counts[some] @ np.log(p[some] / np.diff(edges)[some]))
        return Histogram(edges, p, Fitted(n, loglik, p.size - 1, total - n))


def _values(block: Block, argument: str = "x") -> tuple[Array, Array]:
    """Return the values (n,) that are not missing and have positive weight, and their weights (n,)."""
    present = positive_weight_block(block)
    x = dense(present.rows)
    if x.shape[1] != 1:
        raise DataError(f"has {x.shape[1]} columns; a histogram has one", argument=argument, fix="choose one")
    seen = ~np.isnan(x[:, 0])
    w = np.ones(len(x)) if present.weight is None else np.asarray(present.weight, dtype=np.float64)
    return x[seen, 0], w[seen]


def _bin_numbers(edges: Array, x: Array) -> Array:
    """Return the bin (n,) of each value, −1 below the first and K above the last; the last edge is in the last bin."""
    k = np.searchsorted(edges, x, side="right") - 1
    return np.where(x == edges[-1], edges.size - 2, k)


def _resolve_edges(source: Source, bins: Any, bounds: Any) -> Array:
    """Return the edges of the bins: as given, or for a number or a rule from the values of the source."""
    if not callable(bins) and checks.is_list(bins):
        if bounds is not None:
            raise OptionError(
                "has no effect where bins holds the edges", argument="bounds", value=bounds, fix="omit it"
            )
        return _check_edges("bins", checks.numbers("bins", bins))
    rule = (
        checks.choice("bins", bins, BIN_RULES, BIN_RULE_ALIASES, "x, low, high")
        if isinstance(bins, str) or callable(bins)
        else None
    )
    count = checks.integer("bins", bins, 1, MAX_BINS) if rule is None else 0
    parts = [_values(block) for block in source.blocks()]
    x = SortedValues.of(*map(np.concatenate, zip(*parts, strict=True)))
    if not len(x.values):
        raise DataError(
            "has no value that is not missing and has positive weight", argument="x", fix="give more values"
        )
    low, high = _ends(x, bounds)
    if rule is not None:
        count = checks.integer("bins", (rule if callable(rule) else BIN_RULES[rule])(x, low, high), 1, MAX_BINS)
    return np.linspace(low, high, count + 1)


def _ends(x: SortedValues, bounds: Any) -> tuple[float, float]:
    """Return the ends of bins of one width: the bounds, or the smallest and the largest value."""
    if bounds is not None:
        ends = checks.numbers("bounds", bounds)
        if ends.size != 2:
            raise OptionError(f"holds {ends.size} numbers", argument="bounds", value=bounds, fix="give (low, high)")
        low, high = _check_edges("bounds", ends).tolist()
        return low, high
    low, high = float(x.values[0]), float(x.values[-1])
    if not (np.isfinite(low) and np.isfinite(high)):
        raise DataError("has infinite values", argument="x", fix="leave them out")
    if not low < high:
        raise DataError(f"every value of x is {low:g}, so bins have no width", fix="give bounds, or the edges as bins")
    return low, high


def _check_edges(argument: str, edges: Array) -> Array:
    """Return edges (K + 1,) once they are finite and ascend; bounds are two of them."""
    if edges.ndim != 1 or edges.size < 2 or not np.all(np.isfinite(edges)) or not np.all(np.diff(edges) > 0.0):
        raise OptionError(
            "must hold at least two finite numbers in ascending order", argument=argument, value=edges.tolist()
        )
    return edges
