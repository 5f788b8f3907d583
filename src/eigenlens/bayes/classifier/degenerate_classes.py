"""Fallbacks for classes whose own likelihood has no maximum: the spread within all classes replaces theirs.

A class of one row, one with a constant column, or one whose rows span too few dimensions does not determine its own
spread. A constant column has the pooled variance within all classes, independent of the other columns; a class that
cannot be fitted even so is a Gaussian about its mean with the pooled covariance within all classes, as in regularised
discriminant analysis with lambda = 1 (Friedman 1989). Columns that are constant in all rows are left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from eigenlens import checks
from eigenlens.arrays import Array, read_only
from eigenlens.bayes.class_moments import ClassDeviations, ClassMoments
from eigenlens.bayes.class_variances import VARIANCE_FLOOR, ClassVariances, replace_variances
from eigenlens.bayes.classifier.class_density import log_density, run_for_class, sample_density
from eigenlens.bayes.classifier.fit_per_class import fit_to_class, read_class_variances, require_density, try_fit
from eigenlens.bayes.discriminant.covariances import Shrinkage, covariance_within, has_density, read_classes
from eigenlens.bayes.discriminant.fit_missing import complete_classes
from eigenlens.data.source import Source
from eigenlens.densities.base import as_rows
from eigenlens.densities.covariance import Diagonal
from eigenlens.densities.gaussian import Gaussian, GaussianFamily
from eigenlens.errors import DataError, DataWarning, OptionError, join_limited, list_columns, warn_user
from eigenlens.latent.families import FactorFamily, PPCAFamily
from eigenlens.laws import Laws
from eigenlens.stats.moments import ColumnMoments, Moments


@dataclass(frozen=True, eq=False)
class InColumns:
    """A density of some columns, times independent Gaussians for the other columns that have a variance.

        p(x) = p(x_columns) Π_j N(x_j | mean_j, variances_j)

    Attributes:
        density: a fitted estimator or frozen density of the columns. columns: (o,).
        mean: (d,). variances: (d,), 0 in `columns` and where a column is left out.

    >>> inner = Gaussian(np.zeros(1), Diagonal(np.ones(1)))
    >>> both = InColumns(inner, np.array([1]), np.array([5.0, 0.0, 7.0]), np.array([1.0, 0.0, 0.0]))
    >>> both.log_density(np.array([[5.0, 0.0, 3.0], [np.nan, 0.0, 7.0]])) / np.log(2.0 * np.pi)
    array([-1. , -0.5])
    """

    laws: ClassVar[Laws] = {
        "mean": "(d) finite",
        "variances": "(d) not negative",
        "columns": "(o) integer, below d, ascending",
    }

    density: Any
    columns: Array
    mean: Array
    variances: Array

    def __post_init__(self) -> None:
        read_only(self, "mean", "variances")

    @cached_property
    def others(self) -> Array:
        """The columns (q,) that are independent Gaussians."""
        return np.flatnonzero(self.variances > 0.0)

    @cached_property
    def rest(self) -> Gaussian:
        """The Gaussian of the other columns."""
        return Gaussian(self.mean[self.others], Diagonal(self.variances[self.others]))

    def log_density(self, X: Any) -> Array:
        """Return ln p(x) (n,) of the observed entries of rows X (n, d)."""
        rows = as_rows(X, self.mean.size)
        found = log_density(self.density, rows[:, self.columns])
        return found + self.rest.log_density(rows[:, self.others]) if self.others.size else found

    def sample(self, n: int, rng: Any = None) -> Array:
        """Return n draws (n, d); a column that is left out has its mean."""
        rows, rng = np.tile(self.mean, (n, 1)), checks.generator(rng, "rng")
        rows[:, self.columns] = sample_density(self.density, n, rng)
        if self.others.size:
            rows[:, self.others] = self.rest.sample(n, rng)
        return rows


class ChosenColumns(Source):
    """A source with some of the columns of another, named as there, or else by their numbers."""

    def __init__(self, source: Source, columns: Array) -> None:
        self.source, self.columns = source.weighted(None), columns
        self.n_rows, self.n_features, self.dtype = source.n_rows, len(columns), source.dtype
        self.names = tuple(source.names[j] if source.names else str(j) for j in columns.tolist())
        self.weight, self.in_memory, self.reads_ahead = source.weight, source.in_memory, source.reads_ahead

    def rows(self) -> Iterator[Any]:
        """Yield the chosen columns of each block."""
        for rows in self.source.rows():
            yield rows[:, self.columns]


Failed = Mapping[int, DataError | OptionError]


@dataclass
class Fallbacks:
    """The fallbacks for classes without a density of their own.

    Attributes:
        left_out: the columns that are constant in all rows, by number.
        pooled_variance: for a class, by number, the columns in which it is constant and has the pooled variance.
        pooled_covariance: the classes, by number, that have the pooled covariance.
        clamped: whether the pooled covariance is singular, and clamped at the floor.
    """

    left_out: Array
    pooled_variance: dict[int, Array] = field(default_factory=dict)
    pooled_covariance: list[int] = field(default_factory=list)
    clamped: bool = False


# ---- members of a family, from statistics ---------------------------------------------------------------------


def fit_fallback_members(
    family: Any,
    statistics: ClassMoments,
    classes: Array,
    own: Mapping[int, Any],
    singular: tuple[int, ...],
    first: DataError,
    names: tuple[str, ...] | None,
) -> tuple[Any, ...]:
    """Return the member of the family for each class, where some could not be estimated; `own` are the others.

    Classes that are `singular` are so in the columns that vary in them too; `first` is the error of the first to fail.
    """
    if not all(isinstance(part, Moments | ColumnMoments) for part in statistics.parts):
        raise first
    variances = _require_spread(ClassVariances.of(statistics), family, first)
    kept, mean = np.flatnonzero(~variances.constant), variances.mean
    fallbacks, counts = Fallbacks(np.flatnonzero(variances.constant)), variances.weight.max(axis=1)
    if fallbacks.left_out.size:
        statistics = ClassMoments(tuple(part.subset(kept) for part in statistics.parts))
        variances, own = variances.subset(kept), {}
        if getattr(family, "names", None) is not None:
            family = replace(family, names=tuple(family.names[j] for j in kept))
    labels = enumerate(classes.tolist())
    made = [
        own[c] if c in own else _fit_member(family, c, statistics, variances, label, singular, fallbacks)
        for c, label in labels
    ]
    numbers = {c: kept[columns] for c, columns in fallbacks.pooled_variance.items()}
    _warn_about_fallbacks(replace(fallbacks, pooled_variance=numbers), type(family).__name__, classes, counts, names)
    return tuple(_place(density, kept, mean[c]) for c, density in enumerate(made))


def has_spread(family: Any, part: Any) -> bool:
    """Return whether the statistics of a class give a member of the family a spread of its own.

    A full covariance needs rows that span all dimensions; rounding would hide that in some orders of the columns. A
    latent family would clamp a constant column at a floor that depends on the other columns.
    """
    if isinstance(family, GaussianFamily) and family.covariance == "full" and isinstance(part, Moments):
        return not _is_singular(part)
    if not isinstance(family, FactorFamily | PPCAFamily) or np.any(family.prior):
        return True
    constant = ClassVariances.of(ClassMoments((part,))).constant_by_class
    return not bool(constant.any() if isinstance(family, FactorFamily) else constant.all())


def _is_singular(part: Moments) -> bool:
    return not has_density(part.scatter / part.weight, part.mean, np.zeros(part.mean.size, dtype=bool))


def _fit_member(
    family: Any,
    c: int,
    found: ClassMoments,
    variances: ClassVariances,
    label: Any,
    singular: tuple[int, ...],
    fallbacks: Fallbacks,
) -> Any:
    """Return the member for class number c from its own statistics, or from those of a fallback, which is recorded."""
    part, constant = found.parts[c], variances.constant_by_class[c]
    made = None if c in singular else _try_estimate(family, part, label)
    if made is not None:
        return made
    if c not in singular and 0 < constant.sum() < constant.size:
        made = _try_estimate(family, replace_variances(part, constant, variances.fallback), label)
    if made is not None:
        fallbacks.pooled_variance[c] = np.flatnonzero(constant)
    else:
        statistics, fallbacks.clamped = _replace_spread(part, found, variances)
        made = run_for_class(label, None, partial(family.estimate, statistics))
        fallbacks.pooled_covariance.append(c)
    return replace(made, fitted=None) if isinstance(made, Gaussian) else made


def _replace_spread(part: Any, statistics: ClassMoments, variances: ClassVariances) -> tuple[Any, bool]:
    """Return the statistics of a class with the spread within all classes, and whether that is clamped at the floor."""
    if not isinstance(part, Moments):
        everywhere = np.ones(part.mean.size, dtype=bool)
        return replace_variances(part, everywhere, variances.fallback), bool(variances.constant_within.any())
    covariance, clamped = covariance_within(statistics)
    return replace(part, scatter=part.weight * covariance.matrix()), clamped


def _try_estimate(family: Any, part: Any, label: Any) -> Any:
    """Return the member of the family with these statistics, or None if it has none."""
    try:
        if not has_spread(family, part):
            return None
        return run_for_class(label, None, partial(family.estimate, part))
    except DataError:
        return None


# ---- estimators, fitted to rows -------------------------------------------------------------------------------


def fit_fallback_estimators(
    fresh: list[Any], source: Source, codes: Array, classes: Array, statistics: list[Any], failed: Failed
) -> tuple[Any, ...]:
    """Return the density of each class, where some could not be fitted; `fresh` are unfitted estimators."""
    first, kind = next(iter(failed.values())), type(fresh[0]).__name__
    if getattr(fresh[0], "bounds", None) is not None:  # a Gaussian does not keep to bounds
        raise first
    variances = read_class_variances(source, codes, len(classes))
    if len(failed) == len(classes) and not _fits_rows_with_spread(fresh[0], variances):
        raise first
    variances, names = _require_spread(variances, fresh[0], first), source.names
    kept, mean = np.flatnonzero(~variances.constant), variances.mean
    fallbacks, counts = Fallbacks(np.flatnonzero(variances.constant)), variances.weight.max(axis=1)
    if fallbacks.left_out.size:
        source, variances = ChosenColumns(source, kept), variances.subset(kept)
        statistics, failed = try_fit([clone(estimator) for estimator in fresh], source, codes, classes)
    for c in failed:
        made = _fit_varying_columns(clone(fresh[c]), c, classes.tolist()[c], source, codes, variances)
        if made is not None:
            statistics[c], fallbacks.pooled_variance[c] = made, kept[variances.constant_by_class[c]]
        else:
            fallbacks.pooled_covariance.append(c)
    if fallbacks.pooled_covariance:
        _use_pooled_covariance(statistics, fallbacks, source, codes, classes, failed, variances)
    _warn_about_fallbacks(fallbacks, kind, classes, counts, names)
    return tuple(_place(density, kept, mean[c]) for c, density in enumerate(statistics))


def _fits_rows_with_spread(estimator: Any, variances: ClassVariances) -> bool:
    """Return whether rows in the same units that vary in every column can be fitted; if not, a parameter is wrong."""
    d, rng = variances.mean.shape[1], np.random.default_rng(0)
    scale = np.sqrt(np.where(variances.constant, 1.0, variances.total))
    rows = variances.mean.mean(axis=0) + scale * rng.standard_normal((max(60, 2 * d + 2), d))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            log_density(clone(estimator).fit(rows), rows[:1])
    except ValueError:
        return False
    return True


def _fit_varying_columns(
    estimator: Any, c: int, label: Any, source: Source, codes: Array, variances: ClassVariances
) -> Any:
    """Return the density of the columns that vary in a class, times that of the constant ones, or None."""
    constant = variances.constant_by_class[c]
    if not 0 < constant.sum() < constant.size:
        return None
    columns = np.flatnonzero(~constant)
    try:
        fit_to_class(estimator, "fit", ChosenColumns(source, columns), codes, c, label)
        require_density(estimator, columns.size, label)
    except (DataError, OptionError):
        return None
    return InColumns(estimator, columns, variances.mean[c], np.where(constant, variances.fallback, 0.0))


def _use_pooled_covariance(
    statistics: list[Any],
    fallbacks: Fallbacks,
    source: Source,
    codes: Array,
    classes: Array,
    failed: Failed,
    variances: ClassVariances,
) -> None:
    """Replace the densities of some classes in `statistics` by Gaussians with the covariance within all classes."""
    moments = _read_moments(source, codes, classes)
    for c in fallbacks.pooled_covariance:
        varies = not isinstance(moments, ClassDeviations) and not variances.constant_by_class[c].any()
        if varies and not _is_singular(moments.parts[c]):
            raise failed[c]  # for another reason than a lack of spread
    covariance, fallbacks.clamped = covariance_within(moments)
    for c in fallbacks.pooled_covariance:
        statistics[c] = Gaussian(moments.mean[c], covariance)


def _read_moments(source: Source, codes: Array, classes: Array) -> Any:
    """Read the moments of the classes, or their rows where these are few; by EM where they are incomplete."""
    with np.errstate(invalid="ignore", over="ignore"):
        found = read_classes(source, codes, len(classes), Shrinkage(), pooled=False)
        if np.all(np.isfinite(found.mean)):
            return found
        return complete_classes(source, codes, classes, Shrinkage(), pooled=True).moments


# ---- both -----------------------------------------------------------------------------------------------------


def _require_spread(variances: ClassVariances, density: Any, first: DataError | OptionError) -> ClassVariances:
    """Return the variances if they are known and some column varies within a class; else raise `first`."""
    known = (np.isfinite(variances.mean), np.isfinite(variances.variances), variances.weight)
    if not all(np.all(values) for values in known):
        raise first
    if variances.constant_within.all():
        raise _no_spread_error(type(density).__name__) from first
    return variances


def _place(density: Any, kept: Array, mean: Array) -> Any:
    """Return a density of the columns that are kept as one of all columns."""
    return density if len(kept) == mean.size else InColumns(density, kept, mean, np.zeros(mean.size))


def _no_spread_error(kind: str) -> DataError:
    """Return the error about classes none of which varies, such as classes of one row each."""
    return DataError(
        f"no column varies within any class, so the spread of a class is not known, and the likelihood of a {kind} has "
        "no maximum",
        fix="give more rows, check X and y, or give the spread: KernelDensity(bandwidth=number)",
    )


# ---- warnings -------------------------------------------------------------------------------------------------


def _warn_about_fallbacks(
    fallbacks: Fallbacks, kind: str, classes: Array, counts: Array, names: Sequence[str] | None = None
) -> None:
    """Warn once, naming classes and columns, their fallback, and what to do about it."""
    labels = [f"class {label!r} of {count:g} rows" for label, count in zip(classes.tolist(), counts, strict=True)]
    labels = [label.removesuffix("s") if count == 1.0 else label for label, count in zip(labels, counts, strict=True)]
    sentences = []
    if fallbacks.left_out.size:
        verb = "is" if len(fallbacks.left_out) == 1 else "are"
        sentences.append(f"{_name_columns(fallbacks.left_out, names)} {verb} constant in all rows and left out.")
    if fallbacks.pooled_variance:
        sentences.append(_describe_pooled_variance(fallbacks, kind, labels, names))
    if fallbacks.pooled_covariance:
        sentences.append(_describe_pooled_covariance(fallbacks, kind, labels))
    lacking = fallbacks.pooled_variance or fallbacks.pooled_covariance
    fix = "give such classes more rows, join them with others, or leave such columns out" if lacking else ""
    warn_user(DataWarning(" ".join(sentences), fix=fix))


def _describe_pooled_variance(fallbacks: Fallbacks, kind: str, labels: list[str], names: Sequence[str] | None) -> str:
    sizes = ((c, len(columns)) for c, columns in fallbacks.pooled_variance.items())
    cases = [f"{labels[c]} in {size} column{'s' * (size > 1)}" for c, size in sizes]
    first, columns = next(iter(fallbacks.pooled_variance.items()))
    cases[0] = f"{labels[first]} is constant in {_name_columns(columns, names)}"
    return (
        f"{join_limited(cases, of=' classes')}: there it has the pooled variance within all classes, and its {kind} is "
        "that of the other columns."
    )


def _describe_pooled_covariance(fallbacks: Fallbacks, kind: str, labels: list[str]) -> str:
    clamped = f", clamped at {VARIANCE_FLOOR:g} of the variances of all rows as it is singular too"
    own, each = ("its", "it") if len(fallbacks.pooled_covariance) == 1 else ("their", "each")
    cases = join_limited([labels[c] for c in fallbacks.pooled_covariance], of=" classes")
    return (
        f"{cases}: too little spread for a {kind} of {own} own; {each} is a Gaussian about its mean with the pooled "
        f"covariance within all classes{clamped if fallbacks.clamped else ''}."
    )


def _name_columns(columns: Array, names: Sequence[str] | None) -> str:
    return f"column{'s' * (len(columns) > 1)} {list_columns(columns, names)}"
