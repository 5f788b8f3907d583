"""Densities for classes whose own likelihood has no maximum: what all classes vary by stands in.

A class of one row, one with a column of one value, or one whose rows fill too few dimensions says nothing of some of
its spread. A column of one value is given the variance within all classes, apart from the others; what cannot be fitted
even so is a Gaussian about the mean of the class with the covariance within all classes, as in regularised discriminant
analysis with lambda = 1 (Friedman 1989). Columns that are constant in all rows are left out, for every class.

What is said about classes whose rows leave their density without a maximum.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from eigenlens.arrays import Array
from eigenlens.bayes.class_moments import ClassMoments, ClassRows
from eigenlens.bayes.classifier.class_density import log_density, run_for_class
from eigenlens.bayes.classifier.column_subset import ChosenColumns, InColumns
from eigenlens.bayes.classifier.fit_per_class import fit_to_class, read_class_variances, require_density, try_fit
from eigenlens.bayes.discriminant.covariances import VARIANCE_FLOOR, Shrinkage, has_density
from eigenlens.bayes.discriminant.fit import fit_covariance_within, read_classes
from eigenlens.bayes.discriminant.fit_missing import complete_classes
from eigenlens.bayes.discriminant.options import name_class_columns
from eigenlens.bayes.pooled_variance import ClassVariances, replace_spread, replace_variances
from eigenlens.data.source import Source
from eigenlens.densities.gaussian import Gaussian, GaussianFamily
from eigenlens.errors import DataError, DataWarning, OptionError
from eigenlens.estimator.rows import join_limited
from eigenlens.latent.families import FactorFamily, PPCAFamily
from eigenlens.stats.moments import ColumnMoments, Moments

__all__ = [
    "Fallbacks",
    "fit_fallback_estimators",
    "fit_fallback_members",
    "has_spread",
    "no_spread_error",
    "warn_about_fallbacks",
]

Failed = Mapping[int, DataError | OptionError]


# ---- members of a family, from statistics ---------------------------------------------------------------------


def fit_fallback_members(
    family: Any,
    found: ClassMoments,
    classes: Array,
    own: Mapping[int, Any],
    singular: tuple[int, ...],
    first: DataError,
    names: tuple[str, ...] | None,
) -> tuple[Any, ...]:
    """The member of the family for each class, some of which could not be estimated as they are; `own` are the others.

    Those that are `singular` are so in the columns that vary in them too; `first` is the error of the first to fail.
    """
    if not all(isinstance(part, Moments | ColumnMoments) for part in found.parts):
        raise first
    spread = _required(ClassVariances.of(found), family, first)
    kept, mean = np.flatnonzero(~spread.constant), spread.mean
    amends, counts = Fallbacks(np.flatnonzero(spread.constant)), spread.weight.max(axis=1)
    if amends.columns.size:
        found, spread, own = ClassMoments(tuple(p.subset(kept) for p in found.parts)), spread.part(kept), {}
        family = replace(family, names=tuple(family.names[j] for j in kept)) if _named(family) else family
    labels = enumerate(classes.tolist())
    made = [own[c] if c in own else _member(family, c, found, spread, label, singular, amends) for c, label in labels]
    lent = {c: kept[columns] for c, columns in amends.lent.items()}
    warn_about_fallbacks(replace(amends, lent=lent), type(family).__name__, classes, counts, names)
    return tuple(_placed(density, kept, mean[c]) for c, density in enumerate(made))


def has_spread(family: Any, part: Any) -> bool:
    """Whether the statistics of a class give a member of the family a spread of its own.

    A full covariance needs rows that fill all dimensions, which rounding would let it have in some orders of columns. A
    latent family would hold a column of one value at a floor that goes by the other columns.
    """
    if isinstance(family, GaussianFamily) and family.covariance == "full" and isinstance(part, Moments):
        return not _is_singular(part)
    if not isinstance(family, FactorFamily | PPCAFamily) or np.any(family.prior):
        return True
    flat = ClassVariances.of(ClassMoments((part,))).flat
    return not bool(flat.any() if isinstance(family, FactorFamily) else flat.all())


def _is_singular(part: Moments) -> bool:
    return not has_density(part.scatter / part.weight, part.mean, np.zeros(part.mean.size, dtype=bool))


def _named(family: Any) -> bool:
    return getattr(family, "names", None) is not None


def _member(
    family: Any,
    c: int,
    found: ClassMoments,
    spread: ClassVariances,
    label: Any,
    singular: tuple[int, ...],
    amends: Fallbacks,
) -> Any:
    """The member for class number c by its own statistics, or with what all classes lend it."""
    part, flat = found.parts[c], spread.flat[c]
    made = None if c in singular else _estimated(family, part, label)
    if made is not None:
        return made
    if c not in singular and 0 < flat.sum() < flat.size:
        made = _estimated(family, replace_variances(part, flat, spread.lent), label)
    if made is not None:
        amends.lent[c] = np.flatnonzero(flat)
    else:
        statistics, amends.held = replace_spread(part, found, spread)
        made = run_for_class(label, None, partial(family.estimate, statistics))
        amends.pooled.append(c)
    return replace(made, fitted=None) if isinstance(made, Gaussian) else made


def _estimated(family: Any, part: Any, label: Any) -> Any:
    try:
        if not has_spread(family, part):
            return None
        return run_for_class(label, None, partial(family.estimate, part))
    except DataError:
        return None


# ---- estimators, fitted to rows -------------------------------------------------------------------------------


def fit_fallback_estimators(
    fresh: list[Any], source: Source, codes: Array, classes: Array, found: list[Any], failed: Failed
) -> tuple[Any, ...]:
    """The density of each class, some of which could not be fitted as they are; `fresh` are unfitted ones."""
    first, kind = next(iter(failed.values())), type(fresh[0]).__name__
    if getattr(fresh[0], "bounds", None) is not None:  # no Gaussian keeps to them
        raise first
    spread = read_class_variances(source, codes, len(classes))
    if len(failed) == len(classes) and not _fits_rows_with_spread(fresh[0], spread):
        raise first
    spread, names = _required(spread, fresh[0], first), source.names
    kept, mean = np.flatnonzero(~spread.constant), spread.mean
    amends, counts = Fallbacks(np.flatnonzero(spread.constant)), spread.weight.max(axis=1)
    if amends.columns.size:
        source, spread = ChosenColumns(source, kept), spread.part(kept)
        found, failed = try_fit([clone(estimator) for estimator in fresh], source, codes, classes)
    for c, label in enumerate(classes.tolist()):
        if c in failed:
            made = _of_varying_columns(clone(fresh[c]), c, label, source, codes, spread)
            if made is not None:
                found[c], amends.lent[c] = made, kept[spread.flat[c]]
            else:
                amends.pooled.append(c)
    if amends.pooled:
        found, amends.held = _with_pooled(found, amends.pooled, source, codes, classes, failed, spread)
    warn_about_fallbacks(amends, kind, classes, counts, names)
    return tuple(_placed(density, kept, mean[c]) for c, density in enumerate(found))


def _fits_rows_with_spread(estimator: Any, spread: ClassVariances) -> bool:
    """Whether rows of the same units that vary in every column can be fitted: else its parameters are at fault."""
    d, rng = spread.mean.shape[1], np.random.default_rng(0)
    scale = np.sqrt(np.where(spread.constant, 1.0, spread.total))
    rows = spread.mean.mean(axis=0) + scale * rng.standard_normal((max(60, 2 * d + 2), d))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            log_density(clone(estimator).fit(rows), rows[:1])
    except ValueError:
        return False
    return True


def _of_varying_columns(
    estimator: Any, c: int, label: Any, source: Source, codes: Array, spread: ClassVariances
) -> Any:
    """The density of the columns that vary in a class, beside those of one value; None if there is none."""
    flat = spread.flat[c]
    if not 0 < flat.sum() < flat.size:
        return None
    columns = np.flatnonzero(~flat)
    chosen = ChosenColumns(source, columns)
    try:
        fit_to_class(estimator, "fit", chosen, codes, c, label)
        require_density(estimator, columns.size, label)
    except (DataError, OptionError):
        return None
    return InColumns(estimator, columns, spread.mean[c], np.where(flat, spread.lent, 0.0))


def _with_pooled(
    found: list[Any],
    pooled: list[int],
    source: Source,
    codes: Array,
    classes: Array,
    failed: Failed,
    spread: ClassVariances,
) -> tuple[list[Any], bool]:
    """The densities, those of some classes with the covariance within all, and whether that is held at the floor."""
    moments = _moments(source, codes, classes)
    for c in pooled:
        if not isinstance(moments, ClassRows) and not spread.flat[c].any() and not _is_singular(moments.parts[c]):
            raise failed[c]  # for another reason than want of spread
    covariance, held = fit_covariance_within(moments)
    means = moments.mean
    return [Gaussian(means[c], covariance) if c in pooled else density for c, density in enumerate(found)], held


def _moments(source: Source, codes: Array, classes: Array) -> Any:
    """Moments of the classes, or their rows where these are few; by EM where they have gaps."""
    called = name_class_columns(source, classes)
    with np.errstate(invalid="ignore", over="ignore"):
        found = read_classes(source, codes, len(classes), Shrinkage(), pooled=False)
        if np.all(np.isfinite(found.mean)):
            return found
        return complete_classes(source, codes, len(classes), Shrinkage(), pooled=True, called=called).moments


# ---- both -----------------------------------------------------------------------------------------------------


def _required(spread: ClassVariances, density: Any, first: DataError | OptionError) -> ClassVariances:
    """The spread, if something is known of it: `first` says what is wrong if not."""
    if not np.all(np.isfinite(spread.mean)) or not np.all(np.isfinite(spread.variances)) or not np.all(spread.weight):
        raise first
    if spread.still.all():
        raise no_spread_error(type(density).__name__) from first
    return spread


def _placed(density: Any, kept: Array, mean: Array) -> Any:
    """A density of the columns that are kept as one of all of them."""
    return density if len(kept) == mean.size else InColumns(density, kept, mean, np.zeros(mean.size))


@dataclass
class Fallbacks:
    """What classes were given in the place of a density of their own.

    Attributes:
        columns: the columns (d,) that are constant in all rows, and left out.
        lent: for a class, by number, the columns in which it has one value, and a variance from all classes.
        pooled: the classes that have the covariance within all classes. held: whether it is singular.
    """

    columns: Array
    lent: dict[int, Array] = field(default_factory=dict)
    pooled: list[int] = field(default_factory=list)
    held: bool = False


def warn_about_fallbacks(
    amends: Fallbacks, kind: str, classes: Array, counts: Array, names: Sequence[str] | None = None
) -> None:
    """One warning that names classes and columns, what stands in the place of their density, and the way out."""
    labels = [f"class {label!r} of {count:g} rows" for label, count in zip(classes.tolist(), counts, strict=True)]
    labels = [label.removesuffix("s") if count == 1.0 else label for label, count in zip(labels, counts, strict=True)]
    said = []
    if amends.columns.size:
        said.append(f"{_columns(amends.columns, names)} constant in all rows and left out.")
    if amends.lent:
        sizes = ((c, len(columns)) for c, columns in amends.lent.items())
        cases = [f"{labels[c]} in {size} column{'s' * (size > 1)}" for c, size in sizes]
        first, columns = next(iter(amends.lent.items()))
        cases[0] = f"{labels[first]} has one value in {_listed(columns, names)}"
        said.append(
            f"{join_limited(cases, of=' classes')}: there it is given the variance within all classes, and its {kind} "
            "is that of the other columns."
        )
    if amends.pooled:
        held = f", held at {VARIANCE_FLOOR:g} of the variances of all rows as it is singular too" if amends.held else ""
        own, each = ("its", "it") if len(amends.pooled) == 1 else ("their", "each")
        said.append(
            f"{join_limited([labels[c] for c in amends.pooled], of=' classes')}: too little spread for a {kind} of "
            f"{own} own; {each} is given a Gaussian about its mean, with the covariance within all classes{held}."
        )
    if amends.lent or amends.pooled:
        said.append("Give such classes more rows, join them with others, or leave such columns out.")
    warnings.warn(" ".join(said), DataWarning, stacklevel=2)


def no_spread_error(kind: str) -> DataError:
    """The error about classes of one row each, or the like."""
    return DataError(
        f"no column varies within any class, so nothing says how far the rows of a class spread, and a {kind} has no "
        "maximum of its likelihood; give more rows, check X and y, or give the spread: KernelDensity(bandwidth=number)."
    )


def _columns(columns: Array, names: Sequence[str] | None) -> str:
    return f"{_listed(columns, names)} {'is' if len(columns) == 1 else 'are'}"


def _listed(columns: Array, names: Sequence[str] | None) -> str:
    chosen = [repr(str(names[j])) if names is not None else str(j) for j in np.asarray(columns).tolist()]
    return f"column{'s' * (len(chosen) > 1)} {join_limited(chosen)}"
