"""The gate of Gaussian mixtures, and what is said about a fit that deserves a second look."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, to_numpy
from eigenlens.data.source import Source
from eigenlens.densities.mixture import Mixture
from eigenlens.errors import ConvergenceWarning, DataError, DataWarning, OptionError
from eigenlens.estimator.rows import count_rows
from eigenlens.mixture.fit import MixtureFit, MixtureOptions
from eigenlens.mixture.prior import PRIORS
from eigenlens.mixture.starts import CENTRE_RULES, StartRule, from_centres, from_mixture, from_responsibilities
from eigenlens.mixture.structures.base import CovarianceStructure
from eigenlens.mixture.structures.families import COVARIANCE_STRUCTURES

__all__ = ["check_bins", "check_mixture_options", "check_total_weight", "resolve_columns", "warn_mixture_fit"]

LATENT = ("ppca", "factor")


def check_mixture_options(estimator: Any, source: Source, *, starts: bool = True) -> tuple[int, MixtureOptions]:
    """The parameters of a `GaussianMixture`, checked once: K, and the options of `fit_mixture`.

    Without `starts`, for a mixture that goes on, `init` is not looked at.
    """
    K, d = checks.integer("n_components", estimator.n_components, 1), source.n_features
    structure = checks.name("covariance_type", estimator.covariance_type, COVARIANCE_STRUCTURES)
    bound = f"one less than the number of features, for covariance_type={structure!r}"
    most = d - 1 if structure in LATENT else None
    if most == 0:
        raise OptionError(f"covariance_type={structure!r} needs at least 2 features, but X has 1 feature(s).")
    n_factors = checks.integer("n_factors", estimator.n_factors, 1, most, bound)
    made = COVARIANCE_STRUCTURES[structure](n_factors)
    given = {"starting": _make_start_rule(estimator, made, K, source)} if starts else {}
    return K, MixtureOptions(
        **given,
        structure=structure,
        n_factors=n_factors,
        prior="none" if estimator.prior is None else checks.name("prior", estimator.prior, PRIORS),
        floor=checks.real("floor", estimator.floor, 0.0, 1.0),
        tol=checks.real("tol", estimator.tol, 0.0),
        max_iter=checks.integer("max_iter", estimator.max_iter, 1),
        accelerate=checks.boolean("accelerate", estimator.accelerate),
        in_order=_is_given(estimator.init),
    )


def check_total_weight(source: Source) -> None:
    """Refuse weights that count as no more than one row: likelihoods and criteria by them would mean nothing."""
    w = source.weight
    if w is not None and np.count_nonzero(w) > 1 and not w.sum() > 1.0:
        raise DataError(
            f"sample_weight sums to {w.sum():g}, but a weight counts copies of its row, so the sum must exceed 1; "
            "multiply the weights by the number of rows."
        )


def _is_given(init: Any) -> bool:
    return not isinstance(init, str) and not callable(init)


def _make_start_rule(estimator: Any, structure: CovarianceStructure, K: int, source: Source) -> StartRule:
    init, n_init, d = estimator.init, checks.integer("n_init", estimator.n_init, 1), source.n_features
    if not _is_given(init):
        centres = checks.choice("init", init, CENTRE_RULES)
        return from_centres(centres if callable(centres) else CENTRE_RULES[centres], n_init)
    if isinstance(init, Mixture):
        return from_mixture(_check_init_structure(structure, init, K, d, estimator.covariance_type))
    if isinstance(init, tuple):
        return from_mixture(_from_arrays(structure, init, K, d))
    return from_responsibilities(_check_responsibilities(init, K, source), source.weight)


def _check_init_structure(structure: CovarianceStructure, init: Mixture, K: int, d: int, name: str) -> Mixture:
    try:
        spread = structure.arrays(init.components)
    except AttributeError:
        raise OptionError(
            f"init is a Mixture whose components are not of covariance_type={name!r}; give "
            "(weights, means, covariances) instead."
        ) from None
    _check_init_shapes({"weights": (init.weights, (K,)), "means": (init.means, (K, d))})
    return Mixture(init.weights, structure.components(init.means, spread))


def _from_arrays(structure: CovarianceStructure, init: tuple[Any, ...], K: int, d: int) -> Mixture:
    if len(init) != 3:
        raise OptionError(f"init is a tuple of {len(init)}; it must be (weights, means, covariances).")
    weights, means, covariances = (np.asarray(to_numpy(part), dtype=np.float64) for part in init)
    shape = structure.shape(d, K)
    _check_init_shapes({"weights": (weights, (K,)), "means": (means, (K, d)), "covariances": (covariances, shape)})
    if not np.all(weights > 0.0):
        raise OptionError(f"init has the weights {weights.tolist()[:8]}; they must be positive.")
    mixture = Mixture(weights / weights.sum(), structure.components(means, structure.given(covariances)))
    try:
        levels = mixture.terms.levels if mixture.terms is not None else weights
    except np.linalg.LinAlgError:
        levels = np.full(K, np.nan)
    if not np.all(np.isfinite(levels)):
        raise OptionError("init has covariances that are not positive definite; add to their diagonals.")
    return mixture


def _check_init_shapes(arrays: dict[str, tuple[Array, tuple[int, ...]]]) -> None:
    for name, (array, shape) in arrays.items():
        if array.shape != shape:
            raise OptionError(f"init has {name} of shape {array.shape}; for this X and n_components it is {shape}.")
        if not np.all(np.isfinite(array)):
            raise OptionError(f"init has {name} that are NaN or infinite.")


def _check_responsibilities(init: Any, K: int, source: Source) -> Array:
    """Responsibilities (n, K): not negative, and each row sums to 1, or is made to."""
    shares, n = np.asarray(to_numpy(init), dtype=np.float64), count_rows(source)
    if shares.shape != (n, K):
        raise OptionError(f"init has shape {shares.shape}; responsibilities of X and n_components are ({n}, {K}).")
    if not np.all(shares >= 0.0) or not np.all(np.isfinite(shares)) or not np.all(shares.any(axis=1)):
        raise OptionError("init has responsibilities that are negative, not finite, or all 0 in a row.")
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def resolve_columns(estimator: Any, columns: Any) -> list[int]:
    """Columns by number or name, each once, as numbers.

    >>> resolve_columns(type("Fitted", (), {"n_features_in_": 3}), [2, 0])
    [2, 0]
    """
    d = estimator.n_features_in_
    names = list(getattr(estimator, "feature_names_in_", []))
    given = [columns] if isinstance(columns, str | int | np.integer) else list(columns)
    for column in given:
        if column not in names and not (isinstance(column, int | np.integer) and 0 <= column < d):
            known = f"names {names[:8]} or " if names else ""
            raise OptionError(f"columns has {column!r}; columns are {known}numbers from 0 to {d - 1}.")
    found = [names.index(column) if column in names else int(column) for column in given]
    if not found or len(set(found)) < len(found):
        raise OptionError(f"columns={given!r} must name at least one column, and each once.")
    return found


def check_bins(edges: Any, counts: Any, n_components: Any) -> tuple[Array, Array]:
    """Edges (m + 1,) that ascend, the outer ones perhaps infinite, and counts (m,), none negative."""
    ends, weight = (np.asarray(to_numpy(part), dtype=np.float64) for part in (edges, counts))
    if ends.ndim != 1 or weight.shape != (max(0, ends.size - 1),):
        raise DataError(
            f"edges has shape {ends.shape} and counts {weight.shape}; they must be (m + 1,) and (m,), a count a bin."
        )
    inner = ends[1:-1]
    if not np.all(np.diff(ends) > 0.0) or not np.all(np.isfinite(inner)) or np.count_nonzero(np.isfinite(ends)) < 2:
        raise DataError("edges must ascend, with at least 2 that are finite; only the first and last may be infinite.")
    if not np.all((weight >= 0.0) & np.isfinite(weight)):
        raise DataError("counts has entries that are negative, NaN or infinite; they must be numbers of rows.")
    filled = int(np.count_nonzero(weight))
    if filled < 2:
        raise DataError(f"counts is positive in {filled} bins; at least 2 are needed to know of any spread.")
    checks.integer("n_components", n_components, 1, filled, "the number of bins with a count")
    return ends, weight


# ---- a second look ------------------------------------------------------------------------------------------


_Message = tuple[str, type[Warning]]


def warn_mixture_fit(fit: MixtureFit, source: Source, tol: float, max_iter: int) -> None:
    """Warn the caller of `fit` of what deserves a second look: an early stop, components or columns without spread."""
    climbed = _convergence_messages(fit, tol, max_iter) if fit.path else []
    for message, kind in (*climbed, *_component_messages(fit), *_row_messages(fit, source)):
        warnings.warn(message, kind, stacklevel=3)


def _convergence_messages(fit: MixtureFit, tol: float, max_iter: int) -> Iterator[_Message]:
    about = f"about {fit.gap:.1e}" if np.isfinite(fit.gap) else "not known after so few steps"
    short = f"log-likelihood a row still to gain: {about}, tol={tol:g}"
    if fit.interrupted:
        yield f"fit was interrupted after {fit.n_iter} steps; the best mixture is kept ({short}).", ConvergenceWarning
    elif not fit.converged:
        yield f"EM stopped after {fit.n_iter} steps ({short}); raise max_iter={max_iter}, or tol.", ConvergenceWarning


def _component_messages(fit: MixtureFit) -> Iterator[_Message]:
    for lost in fit.lost:
        yield (
            f"the component at {_point(lost.mean)} had no rows left after {lost.step} steps and was removed; "
            f"{len(fit.model.weights)} are left. Ask for fewer, or give prior='conjugate'.",
            DataWarning,
        )
    if fit.held:
        sizes = fit.model.weights * fit.weight
        which = [f"{k} at {_point(fit.model.means[k])} of {sizes[k]:.4g} rows" for k in fit.held[:5]]
        yield (
            f"{len(fit.held)} of {len(sizes)} components have collapsed: in some direction their rows have no spread, "
            f"and they are held at the least variance that floor allows (component {', '.join(which)}). Give "
            "prior='conjugate', or fewer components.",
            DataWarning,
        )


def _row_messages(fit: MixtureFit, source: Source) -> Iterator[_Message]:
    if fit.empty:
        yield f"{fit.empty} rows of X have no observed entry (NaN in every column) and were left out.", DataWarning
    if fit.constant:
        names = [repr(source.names[j]) if source.names else str(j) for j in fit.constant[:5]]
        yield (
            f"{len(fit.constant)} of {source.n_features} columns are constant ({', '.join(names)}), so their density "
            "is as high as floor allows; leave them out.",
            DataWarning,
        )


def _point(mean: Sequence[float] | Array) -> str:
    shown = ", ".join(f"{value:.4g}" for value in mean[:4])
    return f"({shown}{', …' if len(mean) > 4 else ''})"
