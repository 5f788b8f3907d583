"""The densities of classes: estimators cloned and fitted to the rows of each, or families that read all in one pass."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from eigenlens.arrays import Array, to_numpy
from eigenlens.data.resolve import as_source, explain_nonfinite
from eigenlens.data.source import Block, Source, accumulate
from eigenlens.errors import DataError, EigenlensError, OptionError
from eigenlens.estimators.rows import count_rows, dense_blocks, rows_of
from eigenlens.fitting.class_rows import ClassMoments, class_summary, labelled
from eigenlens.fitting.sampling import picked, take_rows

__all__ = [
    "Estimated", "OfFamily", "can_go_on", "checked_density", "densities_of", "densities_with", "drawn", "finite_blocks",
    "is_family", "log_density", "takes_gaps",
    "without_infinity",
]  # fmt: skip


def is_family(density: Any) -> bool:
    """Whether it makes densities of statistics that merge."""
    return hasattr(density, "summarise") and hasattr(density, "estimate")


def can_go_on(density: Any) -> bool:
    """Whether more rows can be added to what was fitted."""
    return is_family(density) or hasattr(density, "partial_fit")


def takes_gaps(density: Any) -> bool:
    """Whether it can be fitted to rows with missing entries: by what it says, or by what a family makes of a gap."""
    if not is_family(density):
        tags = getattr(density, "__sklearn_tags__", None)
        return tags is not None and bool(tags().input_tags.allow_nan)
    try:
        return not _lost(density.summarise(Block(np.array([[np.nan, 1.0], [2.0, 5.0], [3.0, 4.0]]))))
    except (ValueError, TypeError, AttributeError, IndexError):  # of a family for other rows than these
        return False


def _lost(part: Any) -> bool:
    """Whether statistics have taken up a value that is not finite."""
    return hasattr(part, "mean") and not bool(np.all(np.isfinite(part.mean)))


def checked_density(density: Any) -> Any:
    """`density` if it is a family, or an estimator that has a density."""
    known = is_family(density) or (hasattr(density, "fit") and hasattr(density, "score_samples"))
    if known and not isinstance(density, type):
        return density
    raise OptionError(
        f"density={density!r} must be a density estimator with fit and score_samples, such as GaussianMixture(1), "
        "KernelDensity() or ProbabilisticPCA(2), or a Family, such as GaussianFamily()."
    )


@dataclass(frozen=True, eq=False)
class Estimated:
    """Fitted estimators, one a class."""

    densities: tuple[Any, ...]
    can_go_on: bool = True


@dataclass(frozen=True, eq=False)
class OfFamily:
    """A family and the statistics of each class; the densities are made when they are first asked for."""

    family: Any
    statistics: ClassMoments
    classes: Array
    can_go_on: bool = True

    @cached_property
    def densities(self) -> tuple[Any, ...]:
        """The member of the family for each class."""
        made = []
        for label, part in zip(self.classes.tolist(), self.statistics.parts, strict=True):
            if part is None:
                raise DataError(f"class {label!r} has no rows yet.")
            made.append(_of_class(label, None, partial(self.family.estimate, part)))
        return tuple(made)


def densities_of(
    density: Any, source: Source, codes: Array, classes: Array, seeds: np.random.Generator | None = None
) -> Estimated | OfFamily:
    """A density for each class of a source; those that draw are seeded by `seeds`, if not by themselves."""
    if is_family(density):
        kept = _read(density, source, codes, classes)
        kept.densities  # noqa: B018  what cannot be estimated should fail here
        return kept
    fresh = [_seeded(clone(density), seeds) for _ in classes]
    return Estimated(tuple(_fitted(fresh, "fit", source, codes, classes)))


def densities_with(
    before: Any, density: Any, source: Source, codes: Array, classes: Array, seeds: np.random.Generator | None = None
) -> Estimated | OfFamily:
    """Those of `before` with further rows, or None before the first."""
    if is_family(density):
        found = _read(density, source, codes, classes)
        return found if before is None else OfFamily(density, before.statistics + found.statistics, classes)
    parts = [_seeded(clone(density), seeds) for _ in classes] if before is None else before.densities
    return Estimated(tuple(_fitted(parts, "partial_fit", source, codes, classes)))


def _seeded(estimator: Any, seeds: np.random.Generator | None) -> Any:
    """The estimator, with a seed from `seeds` if it takes one and has none."""
    given = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    if seeds is None or given.get("random_state", seeds) is not None:
        return estimator
    return estimator.set_params(random_state=int(seeds.integers(2**31)))


def _read(family: Any, source: Source, codes: Array, classes: Array) -> OfFamily:
    summarise = partial(class_summary, n_classes=len(classes), moments=family.summarise)
    with np.errstate(invalid="ignore", over="ignore"):
        statistics = accumulate(labelled(source, codes), summarise, None, "reading classes")
    if any(_lost(part) for part in statistics.parts if part is not None):
        raise explain_nonfinite(source)
    return OfFamily(family, statistics, classes)


def _fitted(parts: Sequence[Any], method: str, source: Source, codes: Array, classes: Array) -> Iterator[Any]:
    for c, (label, estimator) in enumerate(zip(classes.tolist(), parts, strict=True)):
        mine = np.flatnonzero(codes == c if source.weight is None else (codes == c) & (source.weight > 0.0))
        if mine.size:
            X, weight = _rows_of_class(source, mine)
            given = {} if weight is None else {"sample_weight": _accepted(estimator, weight)}
            _of_class(label, mine.size, partial(getattr(estimator, method), X, **given))
        yield estimator


def _rows_of_class(source: Source, mine: Array) -> tuple[Any, Array | None]:
    """Rows as an array if they are in memory, else as a source that picks them out of each pass."""
    weight = None if source.weight is None else source.weight[mine]
    if source.in_memory:
        return take_rows(source, mine, count_rows(source)), weight
    return Some(source, mine), weight


class Some(Source):
    """Some of the rows of a source, in its order."""

    def __init__(self, source: Source, which: Array) -> None:
        self.source, self.which = source.weighted(None), which
        self.n_rows, self.n_features, self.dtype = len(which), source.n_features, source.dtype
        self.reads_ahead = source.reads_ahead

    def rows(self) -> Iterator[Any]:
        """The chosen rows of each block."""
        start = 0
        for rows in self.source.rows():
            stop = start + rows.shape[0]
            low, high = np.searchsorted(self.which, [start, stop])
            if high > low:
                yield picked(rows, self.which[low:high] - start)
            start = stop


def _accepted(estimator: Any, weight: Array) -> Array:
    if not has_fit_parameter(estimator, "sample_weight"):
        raise OptionError(f"sample_weight is given, but density={estimator!r} takes none in fit.")
    return weight


def _of_class(label: Any, rows: int | None, work: Callable[[], Any]) -> Any:
    """What `work` gives; its errors are told with the class they belong to."""
    count = "" if rows is None else f" ({rows} rows)"
    try:
        return work()
    except EigenlensError as error:
        raise type(error)(f"class {label!r}{count}: {error}") from error
    except ValueError as error:
        raise DataError(f"class {label!r}{count}: {error}") from error


# ---- rows to be classified ------------------------------------------------------------------------------------


def finite_blocks(estimator: Any, X: Any) -> Iterator[Array]:
    """Dense float64 pieces of the rows of X for a fitted estimator; NaN is a missing entry, infinity an error."""
    check_is_fitted(estimator)
    return map(without_infinity, dense_blocks(rows_of(estimator, X)))


def without_infinity(rows: Array) -> Array:
    """The rows, if they hold no infinity."""
    if np.isinf(rows).any():
        raise explain_nonfinite(as_source(rows))
    return rows


# ---- what a rule wants of a density -----------------------------------------------------------------------------


def log_density(density: Any, rows: Array) -> Array:
    """ln p(x) (n,) of dense rows (n, d), with gaps where the density can do without entries."""
    if not hasattr(density, "score_samples"):
        return np.asarray(density.log_density(rows))
    gaps = np.isnan(rows).any(axis=1)
    frozen = getattr(density, "model_", None)
    if not gaps.any() or not hasattr(frozen, "marginal"):
        return np.asarray(to_numpy(density.score_samples(rows)), dtype=np.float64)
    found = np.empty(len(rows))
    if not gaps.all():
        found[~gaps] = to_numpy(density.score_samples(rows[~gaps]))
    found[gaps] = _of_gaps(density, frozen, rows[gaps])
    return found


def _of_gaps(density: Any, frozen: Any, rows: Array) -> Array:
    try:
        return np.asarray(to_numpy(density.score_samples(rows)), dtype=np.float64)
    except DataError:  # an estimator that refuses gaps, with a model that does not
        return np.asarray(frozen.log_density(rows))


def drawn(density: Any, n: int, rng: np.random.Generator) -> Array:
    """n draws (n, d)."""
    if not hasattr(density, "score_samples"):
        return np.asarray(density.sample(n, rng))
    if not hasattr(density, "sample"):
        raise OptionError(f"{density!r} cannot draw rows: it has no sample.")
    own = isinstance(density, type) or type(density).__module__.startswith("eigenlens.")
    given: dict[str, Any] = {}
    if "random_state" in inspect.signature(density.sample).parameters:
        given["random_state"] = rng if own else int(rng.integers(2**31))
    rows = density.sample(n, **given)
    return np.asarray(to_numpy(rows[0] if isinstance(rows, tuple) else rows), dtype=np.float64)
