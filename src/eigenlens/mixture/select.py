"""Selection of the number of components and the covariance structure: all candidate mixtures in one table."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, read_only
from eigenlens.catalogue import estimator_class
from eigenlens.comparison.compare import compare
from eigenlens.data.coerce import as_source
from eigenlens.data.source import progress_callback
from eigenlens.errors import ConvergenceWarning, DataWarning, EigenlensError, OptionError
from eigenlens.estimator.resume import resumable
from eigenlens.estimator.rows import column_as_table, validate_rows
from eigenlens.mixture.estimator import GaussianMixture
from eigenlens.mixture.options import check_mixture_options
from eigenlens.mixture.structures import COVARIANCE_STRUCTURES

SELECTION_CRITERIA: dict[str, float] = {"bic": 1.0, "aic": 1.0, "icl": 1.0, "held_out": -1.0}
"""Criteria by name, with the sign that makes the smallest the best."""

CRITERION_TITLES = {"bic": "BIC", "aic": "AIC", "icl": "ICL", "held_out": "held-out"}

DEFAULT_TYPES = ("spherical", "diag", "tied", "full")
DEFAULT_TYPES_1D = ("tied", "full")
"""The structures compared by default, in several columns and in one, where the others are equal to these."""


@dataclass(frozen=True, eq=False)
class MixtureSelection:
    """Mixtures compared by one criterion, best first; those with a collapsed component, and failures, come last.

    Attributes:
        criterion: "bic", "aic", "icl" or "held_out".
        types: (m,) covariance structures, "independent" for columns of any family. components: (m,) numbers K.
        loglik, parameters: (m,) of the fits. bic, aic, icl: (m,), smaller is better.
        held_out: (m,) mean log density of a row that was left out of the fit, larger is better; NaN without cv.
        held_out_errors: (m,) their standard errors. seconds: (m,) of a fit to all rows.
        usable: (m,) whether the fit succeeded and no component collapsed: an unbounded likelihood is not comparable.
        remarks: {row: the reason of its failure, or the warnings of its fit}.
        best: the fitted `GaussianMixture` or `MixtureModel` of the first row; None if all failed.
    """

    criterion: str
    types: tuple[str, ...]
    components: Array
    loglik: Array
    parameters: Array
    bic: Array
    aic: Array
    icl: Array
    held_out: Array
    held_out_errors: Array
    seconds: Array
    usable: Array
    remarks: Mapping[int, str] = field(default_factory=dict)
    best: Any = None

    def __post_init__(self) -> None:
        read_only(self, "components", *COLUMNS, "usable")

    @property
    def values(self) -> Array:
        """The criterion (m,)."""
        return np.asarray(getattr(self, self.criterion))

    @property
    def title_of_types(self) -> str:
        """The title of the column `types` in tables: those of columns of any family, or of covariances."""
        return "columns" if PRODUCT in self.types else "covariance"

    def __str__(self) -> str:
        shown = [name for name in CRITERION_TITLES if np.isfinite(getattr(self, name)).any()]
        titles = [f"{CRITERION_TITLES[name] + ('*' if name == self.criterion else ''):>11}" for name in shown]
        header = f"{self.title_of_types:<11} {'K':>3} {'parameters':>10} {'loglik':>12}"
        lines = [f"{header} {' '.join(titles)} {'fit s':>7}".rstrip()]
        for i, name in enumerate(self.types):
            start = f"{name:<11} {self.components[i]:>3}"
            if not np.isfinite(self.loglik[i]):
                lines.append(f"{start} failed: {self.remarks[i]}")
                continue
            numbers = " ".join(f"{_number(getattr(self, column)[i], column)}" for column in shown)
            end = f"  {self.remarks[i]}" if i in self.remarks else ""
            lines.append(
                f"{start} {int(self.parameters[i]):>10} {self.loglik[i]:>12.4f} {numbers} {self.seconds[i]:>7.3g}{end}"
            )
        return "\n".join(lines)

    __repr__ = __str__


COLUMNS = ("loglik", "parameters", "bic", "aic", "icl", "held_out", "held_out_errors", "seconds")
"""The numbers of each row of the table."""


def _number(value: float, column: str) -> str:
    return f"{value:>11.4f}" if column == "held_out" else f"{value:>11.2f}"


@resumable
def select_mixture(
    X: Any,
    n_components: int | Iterable[int] = range(1, 10),
    covariance_types: str | Iterable[str] | None = None,
    criterion: str = "bic",
    *,
    cv: int | None = None,
    sample_weight: Any = None,
    random_state: Any = None,
    verbose: Any = False,
    features: Any = None,
    checkpoint: Any = None,
    **options: Any,
) -> MixtureSelection:
    """Fit mixtures over numbers of components and covariance structures, and compare them by one criterion.

    BIC tends to the right number of components as rows grow, ICL also requires that they lie apart, AIC and held-out
    rows favour the best prediction (Biernacki, Celeux and Govaert 2000; Fraley and Raftery 2002).

    Args:
        X: rows (n, d) of any kind, or (n,) for one column; NaN is missing.
        n_components: numbers K. covariance_types: names; None for "spherical", "diag", "tied" and "full".
        criterion: "bic", "aic", "icl", or "held_out", which needs cv.
        cv: the number of folds for the log-likelihood of held-out rows; None for none.
        sample_weight: (n,). random_state: a seed, the same for every fit. verbose: True for a bar, or a callable.
        features: None for Gaussian mixtures; otherwise the families of columns of `MixtureModel`, "auto" for example,
            whose fits are compared over numbers of components alone.
        checkpoint: a path, or a `Checkpoint`, from which the same call resumes if its process was killed.
        options: of `GaussianMixture`: n_init, prior, n_factors, max_iter, …; or of `MixtureModel`. They hold
            for every fit, those of the folds too: fewer starts would miss the maxima of some.

    An option that no fit takes, or a failure of all of several fits, is an error. A fit that fails, or whose components
    collapse, stays in the table and comes last. If it is interrupted, the table has what was compared by then. Cost:
    one fit for each pair, and cv more.

    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0.0, 1.0, (200, 2)), rng.normal(6.0, 1.0, (100, 2))])
    >>> table = select_mixture(X, range(1, 4), ["spherical", "full"], random_state=0)
    >>> table.types[0], table.components[0], table.best.weights_.round(2)
    ('spherical', np.int64(2), array([0.67, 0.33]))
    """
    checks.name("criterion", criterion, SELECTION_CRITERIA)
    if criterion == "held_out" and cv is None:
        what = "needs rows to hold out"
        raise OptionError(what, argument="criterion", value=criterion, fix="give {cv}", settings={"cv": 5})
    if cv is not None:
        checks.integer("cv", cv, 2)
    X = column_as_table(X)
    if features is None:
        pairs = _pairs(n_components, covariance_types, as_source(X).n_features)
        _check_common(X, sample_weight, options)
    else:
        pairs, options = _family_pairs(n_components, covariance_types), options | {"features": features}
        _check_families(X, sample_weight, options)
    rows = list[_Row]()
    with progress_callback(verbose) as progress:
        for i, (name, K) in enumerate(pairs):
            if progress is not None:
                progress(i, len(pairs), f"mixtures: {name}, {K} components")
            estimator = _candidate(name, K, random_state, options)
            held_out = partial(_cross_validate, cv=cv, random_state=random_state)
            try:
                rows.append(_fit_row(name, estimator, X, sample_weight, held_out))
            except KeyboardInterrupt:  # before there was a mixture to keep
                if not rows:
                    raise
                rows.append(_Row(name, K, dict.fromkeys(COLUMNS, np.nan), remark="interrupted", interrupted=True))
            if rows[-1].interrupted:
                break
    _raise_common(rows)
    return _table(criterion, rows)


PRODUCT = "independent"
"""The structure of mixtures of any family: columns are independent within a component."""


def _candidate(name: str, K: int, random_state: Any, options: dict[str, Any]) -> Any:
    """Return the estimator of one row of the table."""
    if name == PRODUCT:  # of a package above this one
        return estimator_class("MixtureModel")(K, random_state=random_state, **options)
    return GaussianMixture(K, covariance_type=name, random_state=random_state, **options)


def _family_pairs(n_components: Any, covariance_types: Any) -> list[tuple[str, int]]:
    if covariance_types is not None:
        what = "belongs to Gaussian mixtures, and features are given"
        raise OptionError(what, argument="covariance_types", value=covariance_types, fix="leave out one of the two")
    return [(PRODUCT, K) for _, K in _pairs(n_components, "diag", 2)]


def _check_common(X: Any, sample_weight: Any, options: dict[str, Any]) -> None:
    """Check options that no fit would take, before any is tried; whether `init` is valid depends on the fit."""
    known = {name: value for name, value in options.items() if name != "init"}
    estimator = GaussianMixture(**known)
    check_mixture_options(estimator, validate_rows(estimator, X, sample_weight, reset=True))


def _check_families(X: Any, sample_weight: Any, options: dict[str, Any]) -> None:
    """Fit one component, which is quick: what is wrong with X or the options of `MixtureModel` is an error here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _candidate(PRODUCT, 1, None, options).fit(X, sample_weight=sample_weight)


def _raise_common(rows: list[_Row]) -> None:
    """Raise the first error where every one of several fits failed: there is nothing to compare."""
    first = rows[0].error
    if first is not None and len(rows) > 1 and all(row.error is not None for row in rows):
        raise first


def _pairs(n_components: Any, covariance_types: Any, d: int) -> list[tuple[str, int]]:
    numbers = checks.listed("n_components", n_components) if checks.is_list(n_components) else [n_components]
    known = DEFAULT_TYPES if d > 1 else DEFAULT_TYPES_1D
    given = known if covariance_types is None else covariance_types
    names = [given] if isinstance(given, str) else checks.listed("covariance_types", given)
    if not numbers or not names:
        raise OptionError("n_components and covariance_types must name at least one of each")
    checked = [checks.integer("n_components", K, 1) for K in numbers]
    return [(checks.name("covariance_types", name, COVARIANCE_STRUCTURES), K) for name in names for K in checked]


@dataclass(frozen=True, eq=False)
class _Row:
    """One fit, and its numbers, which are NaN where it failed."""

    name: str
    K: int
    numbers: dict[str, float]
    usable: bool = False
    remark: str = ""
    estimator: Any = None
    interrupted: bool = False
    error: EigenlensError | None = None


def _fit_row(name: str, estimator: Any, X: Any, sample_weight: Any, cross_validate: Callable[..., Any]) -> _Row:
    K, nothing = estimator.n_components, dict.fromkeys(COLUMNS, np.nan)
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimator.fit(X, sample_weight=sample_weight)
        seconds = time.perf_counter() - start
        numbers = _criteria(estimator, X, sample_weight) | {"seconds": seconds}
        held_out, failure = cross_validate(estimator, X, sample_weight)
    except EigenlensError as error:  # one failure must not lose the other fits
        return _Row(name, K, nothing, remark=str(error), error=error)
    remark = "; ".join(filter(None, (*_short_messages(estimator, caught), failure)))
    fit = estimator._fitted
    return _Row(name, K, nothing | numbers | held_out, not fit.clamped, remark, estimator, fit.interrupted)


def _criteria(estimator: Any, X: Any, sample_weight: Any) -> dict[str, float]:
    parameters = float(estimator._n_parameters)
    found = {"loglik": estimator.loglik_, "parameters": parameters, "bic": estimator.bic(), "aic": estimator.aic()}
    return found | {"icl": estimator.icl(X, sample_weight)}


def _cross_validate(
    estimator: Any, X: Any, sample_weight: Any, cv: int | None, random_state: Any
) -> tuple[dict[str, float], str]:
    if cv is None:
        return {}, ""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # the fit to all rows has the same warnings, and they are reported
        warnings.simplefilter("ignore", DataWarning)
        table = compare({"": estimator}, X, cv=cv, sample_weight=sample_weight, random_state=random_state)
    if table.failures:
        return {}, f"held out: failed {table.failures['']}"
    return {"held_out": float(table.means[0]), "held_out_errors": float(table.errors[0])}, ""


def _short_messages(estimator: Any, caught: list[warnings.WarningMessage]) -> list[str]:
    """Return the warnings of a fit in few words."""
    fit = estimator._fitted
    messages = ["collapsed"] if fit.clamped else []
    K = estimator.n_components_
    messages += [f"only {K} components left"] if estimator.n_components > K else []
    messages += ["interrupted"] if fit.interrupted else [] if fit.converged else ["not converged"]
    known = (ConvergenceWarning, DataWarning)
    return messages + [str(warning.message) for warning in caught if not issubclass(warning.category, known)]


def _table(criterion: str, rows: list[_Row]) -> MixtureSelection:
    sign = SELECTION_CRITERIA[criterion]

    def rank(row: _Row) -> tuple[bool, bool, float]:
        value = sign * row.numbers[criterion]
        return not np.isfinite(value), not row.usable, value if np.isfinite(value) else 0.0

    order = sorted(rows, key=rank)
    columns = {name: np.array([row.numbers[name] for row in order]) for name in COLUMNS}
    return MixtureSelection(
        criterion=criterion,
        types=tuple(row.name for row in order),
        components=np.array([row.K for row in order]),
        usable=np.array([row.usable for row in order]),
        remarks={i: row.remark for i, row in enumerate(order) if row.remark},
        best=order[0].estimator,
        **columns,
    )
