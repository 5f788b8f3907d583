"""The start of EM that the parameters of a `GaussianMixture` ask for, checked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, to_numpy
from eigenlens.data.rows import row_count
from eigenlens.data.source import Source
from eigenlens.densities.mixture import Mixture
from eigenlens.errors import OptionError
from eigenlens.mixture.starts import (
    CENTRE_RULE_ALIASES,
    CENTRE_RULES,
    CentreRule,
    StartParts,
    StartRule,
    from_centres,
    from_means,
    from_mixture,
    from_responsibilities,
)
from eigenlens.mixture.structures.base import CovarianceArrays, CovarianceStructure

PART_NAMES = ("weights_init", "means_init", "precisions_init")
"""The parameters that give a part of the start, under scikit-learn's names."""


def gives_start(estimator: Any) -> bool:
    """Return whether the user gave a start or a part of it, so that components have an order."""
    return _is_given(estimator.init) or bool(_given_parts(estimator))


def _is_given(init: Any) -> bool:
    return not isinstance(init, str) and not callable(init)


def _given_parts(estimator: Any) -> list[str]:
    return [name for name in PART_NAMES if getattr(estimator, name) is not None]


def make_start_rule(
    estimator: Any, structure: CovarianceStructure, K: int, source: Source, scale: Array | None = None
) -> StartRule:
    """Return the rule for the starts of EM, by `init` or by those parts of a start that are given.

    EM is that of columns over `scale` (d,), where that is given; means are given in the units of the columns.
    """
    init, n_init, d = (
        estimator.init,
        checks.integer("n_init", estimator.n_init, 1, checks.MAX_STARTS),
        source.n_features,
    )
    parts = _check_parts(estimator, structure, K, d)
    if scale is not None:
        _reject_covariances(estimator)
        parts = parts if parts.means is None else replace(parts, means=parts.means / scale)
    if not _is_given(init):
        chosen = checks.choice("init", init, CENTRE_RULES, CENTRE_RULE_ALIASES, "rows, weights, K, rng")
        rule = _checked_rule(chosen) if callable(chosen) else CENTRE_RULES[chosen]
        return _from_parts(parts, structure) or from_centres(rule, n_init, parts)
    if given := _given_parts(estimator):
        raise OptionError("is a start already", argument="init", fix=f"leave out init, or {' and '.join(given)}")
    if isinstance(init, Mixture):
        return from_mixture(_check_init_structure(structure, init, K, d, estimator.covariance_type))
    if isinstance(init, tuple):
        return from_mixture(_from_arrays(structure, init, K, d))
    return from_responsibilities(_check_responsibilities(init, K, source), source.weight)


def _reject_covariances(estimator: Any) -> None:
    """Raise an error for covariances given in the units of the columns, in which they may have another structure."""
    for name in ("init", "precisions_init"):
        if isinstance(value := getattr(estimator, name), Mixture | tuple) or (name != "init" and value is not None):
            what = "has covariances in the units of the columns, but {standardize} fits others"
            fix = "give means_init, or responsibilities (n, K) as init"
            raise OptionError(what, argument=name, fix=fix, settings={"standardize": True})


# ---- parts of a start ---------------------------------------------------------------------------------------


def _from_parts(parts: StartParts, structure: CovarianceStructure) -> StartRule | None:
    """Return the rule for a start that the parts fix: all of it, or its means; None where centres are guessed."""
    if parts.means is None:
        return None
    if parts.weights is None or parts.arrays is None:
        return from_means(parts)
    return from_mixture(Mixture(parts.weights, structure.components(parts.means, parts.arrays)))


def _check_parts(estimator: Any, structure: CovarianceStructure, K: int, d: int) -> StartParts:
    shapes = ((K,), (K, d), structure.covariance_shape(d, K))
    weights, means, precisions = (
        _check_part(name, getattr(estimator, name), shape) for name, shape in zip(PART_NAMES, shapes, strict=True)
    )
    if weights is not None and (not np.all(weights > 0.0) or abs(weights.sum() - 1.0) > 1e-6):
        what = f"must be positive and sum to 1, not {weights.sum():.10g}"
        raise OptionError(what, argument="weights_init", value=weights.tolist()[:8], fix="divide it by its sum")
    weights = None if weights is None else weights / weights.sum()
    return StartParts(weights, means, None if precisions is None else _invert(precisions, structure))


def _check_part(name: str, value: Any, shape: tuple[int, ...]) -> Array | None:
    if value is None:
        return None
    found = checks.numbers(name, value)
    if found.shape != shape:
        raise OptionError(f"has shape {found.shape}; for this X and n_components it is {shape}", argument=name)
    if not np.all(np.isfinite(found)):
        raise OptionError("has entries that are NaN or infinite", argument=name)
    return found


def _invert(precisions: Array, structure: CovarianceStructure) -> CovarianceArrays:
    """Return the covariances of precisions that the user gives in the shape of `precisions_`."""
    lowest = np.linalg.eigvalsh(precisions).min() if structure.joint else precisions.min()
    if structure.joint and not np.allclose(precisions, np.swapaxes(precisions, -1, -2), rtol=1e-8):
        raise OptionError("must be symmetric", argument="precisions_init", fix="if that is rounding, use (P + P.T) / 2")
    if not lowest > 0.0:
        what = "must be positive definite" if structure.joint else "must be positive"
        raise OptionError(what, argument="precisions_init")
    return structure.from_covariances(np.linalg.inv(precisions) if structure.joint else 1.0 / precisions)


# ---- init ---------------------------------------------------------------------------------------------------


def _checked_rule(rule: CentreRule) -> CentreRule:
    """Return a user's rule for the centres with its answers checked."""

    def centres(Y: Array, weight: Array, K: int, rng: np.random.Generator) -> Array:
        answer = rule(Y, weight, K, rng)
        try:
            found = np.asarray(to_numpy(answer), dtype=np.float64)
        except (TypeError, ValueError):
            raise OptionError(f"returned {type(answer).__name__!r}, not an array of numbers", argument="init") from None
        if found.shape != (K, Y.shape[1]) or not np.all(np.isfinite(found)):
            kind = (
                f"centres of shape {found.shape}" if found.shape != (K, Y.shape[1]) else "centres that are not finite"
            )
            fix = f"init(rows, weights, K, generator) must return K={K} finite centres ({K}, {Y.shape[1]})"
            raise OptionError(f"returned {kind}", argument="init", fix=fix)
        return found

    return centres


def _check_init_structure(structure: CovarianceStructure, init: Mixture, K: int, d: int, name: str) -> Mixture:
    try:
        arrays = structure.arrays(init.components)
    except AttributeError:
        what = f"is a Mixture whose components are not of covariance_type={name!r}"
        raise OptionError(what, argument="init", fix="give (weights, means, covariances) instead") from None
    _check_init_shapes({"weights": (init.weights, (K,)), "means": (init.means, (K, d))})
    return Mixture(init.weights, structure.components(init.means, arrays))


def _from_arrays(structure: CovarianceStructure, init: tuple[Any, ...], K: int, d: int) -> Mixture:
    if len(init) != 3:
        raise OptionError(f"is a tuple of {len(init)}; it must be (weights, means, covariances)", argument="init")
    weights, means, covariances = (checks.numbers("init", part) for part in init)
    shape = structure.covariance_shape(d, K)
    _check_init_shapes({"weights": (weights, (K,)), "means": (means, (K, d)), "covariances": (covariances, shape)})
    if not np.all(weights > 0.0):
        raise OptionError(f"has the weights {weights.tolist()[:8]}; they must be positive", argument="init")
    mixture = Mixture(weights / weights.sum(), structure.components(means, structure.from_covariances(covariances)))
    try:
        constants = mixture.terms.log_constants if mixture.terms is not None else weights
    except np.linalg.LinAlgError:
        constants = np.full(K, np.nan)
    if not np.all(np.isfinite(constants)):
        what = "has covariances that are not positive definite"
        raise OptionError(what, argument="init", fix="add to their diagonals")
    return mixture


def _check_init_shapes(arrays: dict[str, tuple[Array, tuple[int, ...]]]) -> None:
    for name, (array, shape) in arrays.items():
        if array.shape != shape:
            what = f"has {name} of shape {array.shape}; for this X and n_components it is {shape}"
            raise OptionError(what, argument="init")
        if not np.all(np.isfinite(array)):
            raise OptionError(f"has {name} that are NaN or infinite", argument="init")


def _check_responsibilities(init: Any, K: int, source: Source) -> Array:
    """Return responsibilities (n, K), none negative, each row scaled to sum to 1."""
    shares, n = checks.numbers("init", init), row_count(source)
    if shares.shape != (n, K):
        what = f"has shape {shares.shape}; responsibilities of X and n_components are ({n}, {K})"
        raise OptionError(what, argument="init")
    if not np.all(shares >= 0.0) or not np.all(np.isfinite(shares)) or not np.all(shares.any(axis=1)):
        raise OptionError("has responsibilities that are negative, not finite, or all 0 in a row", argument="init")
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
