"""What is said about classes whose rows leave their density without a maximum."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import DataError, DataWarning
from eigenlens.estimators.rows import few
from eigenlens.fitting.discriminant_covariances import FLOOR

__all__ = ["Amends", "no_spread", "warn_about_amends"]


@dataclass
class Amends:
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


def warn_about_amends(
    amends: Amends, kind: str, classes: Array, counts: Array, names: Sequence[str] | None = None
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
            f"{few(cases, of=' classes')}: there it is given the variance within all classes, and its {kind} is that "
            "of the other columns."
        )
    if amends.pooled:
        held = f", held at {FLOOR:g} of the variances of all rows as it is singular too" if amends.held else ""
        own, each = ("its", "it") if len(amends.pooled) == 1 else ("their", "each")
        said.append(
            f"{few([labels[c] for c in amends.pooled], of=' classes')}: too little spread for a {kind} of {own} own; "
            f"{each} is given a Gaussian about its mean, with the covariance within all classes{held}."
        )
    if amends.lent or amends.pooled:
        said.append("Give such classes more rows, join them with others, or leave such columns out.")
    warnings.warn(" ".join(said), DataWarning, stacklevel=2)


def no_spread(kind: str) -> DataError:
    """The error about classes of one row each, or the like."""
    return DataError(
        f"no column varies within any class, so nothing says how far the rows of a class spread, and a {kind} has no "
        "maximum of its likelihood; give more rows, check X and y, or give the spread: KernelDensity(bandwidth=number)."
    )


def _columns(columns: Array, names: Sequence[str] | None) -> str:
    return f"{_listed(columns, names)} {'is' if len(columns) == 1 else 'are'}"


def _listed(columns: Array, names: Sequence[str] | None) -> str:
    chosen = [repr(str(names[j])) if names is not None else str(j) for j in np.asarray(columns).tolist()]
    return f"column{'s' * (len(chosen) > 1)} {few(chosen)}"
