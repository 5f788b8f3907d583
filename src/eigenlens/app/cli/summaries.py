"""What a fitted model comes to, in a line and a short table; the same as facts for --json."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eigenlens.views.tables import names_of
from eigenlens.views.values import VarianceTable

__all__ = ["Summary", "axis_names", "call", "summary"]

SHOWN = 12
"""The most lines of a table of columns."""

Summary = tuple[str, str, dict[str, Any]]


def summary(model: Any) -> Summary:
    """The line, the table and the facts of a fitted model."""
    for parent in type(model).__mro__:
        if parent.__name__ in SUMMARIES:
            return SUMMARIES[parent.__name__](model)
    return _classes(model) if hasattr(model, "classes_") else ("", "", {})


def call(model: Any) -> str:
    """The estimator as Python writes it, on one line."""
    return " ".join(repr(model).split())


STEMS = {"FactorAnalysis": "F", "LinearDiscriminant": "LD"}


def axis_names(model: Any, k: int) -> list[str]:
    """The names of k scores: PC1, …; F1, … of factors; LD1, … of discriminants."""
    return [f"{STEMS.get(type(model).__name__, 'PC')}{j + 1}" for j in range(k)]


def _variances(model: Any, total: float) -> Summary:
    shown = VarianceTable(np.asarray(model.explained_variance_, dtype=np.float64), total)
    k, held = shown.variances.size, float(shown.cumulative[-1]) if shown.variances.size else 0.0
    line = f"{k} component{'s' * (k != 1)} hold{'s' * (k == 1)} {held:.1f}% of the variance"
    facts = {"n_components": k, "explained_variance": shown.variances, "explained_variance_ratio": shown.shares / 100.0}
    return line, str(shown), facts


def _pca(model: Any) -> Summary:
    line, shown, facts = _variances(model, float(model.total_variance_))
    return f"{line} ({model.solver_.solver}: {model.solver_.reason})", shown, facts | _outcome(model)


def _kernel(model: Any) -> Summary:
    shares = np.asarray(model.explained_variance_ratio_, dtype=np.float64)
    total = float(np.sum(model.explained_variance_) / shares.sum()) if shares.sum() else 0.0
    line, shown, facts = _variances(model, total)
    facts |= {"gamma": model.gamma_, "approximation_error": model.approximation_error_}
    return f"{line} in feature space ({model.solver_.solver}: {model.solver_.reason})", shown, facts | _outcome(model)


def _ppca(model: Any) -> Summary:
    variances = np.asarray(model.explained_variance_, dtype=np.float64)
    total = float(variances.sum() + (model.n_features_in_ - variances.size) * model.noise_variance_)
    line, shown, facts = _variances(model, total)
    line += f", noise {model.noise_variance_:.4g}, log-likelihood {model.loglik_:,.2f}"
    return line, shown, facts | _likelihood(model) | {"noise_variance": model.noise_variance_}


def _factor(model: Any) -> Summary:
    k = model.n_components_
    line = f"{k} factor{'s' * (k != 1)}, log-likelihood {model.loglik_:,.2f}"
    names = names_of(model, model.n_features_in_)
    W, own = np.asarray(model.loadings_), np.asarray(model.uniquenesses_)
    lines = [[name, *(f"{w:.3f}" for w in row), f"{u:.3f}"] for name, row, u in zip(names, W, own, strict=True)]
    shown = aligned(["loadings", *axis_names(model, k), "uniqueness"], lines)
    return line, shown, _likelihood(model) | {"n_components": k, "loadings": W, "uniquenesses": own, "columns": names}


def _mixture(model: Any) -> Summary:
    weights, means = np.asarray(model.weights_), np.asarray(model.means_)
    names = names_of(model, model.n_features_in_)
    K, fit = weights.size, f"log-likelihood {model.loglik_:,.2f}, BIC {model.bic():,.2f}"
    line = f"{K} Gaussian{'s' * (K != 1)}, {fit}"
    lines = [
        [f"{i}", f"{w:.4f}", *(f"{m:.5g}" for m in mean[:6])]
        for i, (w, mean) in enumerate(zip(weights, means, strict=True))
    ]
    shown = aligned(["component", "weight", *(f"mean of {name}" for name in names[:6])], lines)
    return line, shown, _likelihood(model) | {"weights": weights, "means": means, "columns": names}


def _density(model: Any) -> Summary:
    h = np.atleast_1d(np.asarray(model.bandwidth_, dtype=np.float64))
    names = names_of(model, model.n_features_in_)
    spread = np.sqrt(np.diag(h)) if h.ndim == 2 else h
    lines = [[name, f"{each:.5g}"] for name, each in zip(names, spread, strict=True)]
    line = f"{model.n_samples_:,} kernels, {model.kernel}, bandwidth {model.bandwidth}"
    return line, aligned(["column", "bandwidth"], lines), {"bandwidth": model.bandwidth_, "columns": names}


def _classes(model: Any) -> Summary:
    classes = [str(each) for each in model.classes_]
    prior = getattr(model, "class_prior_", getattr(model, "priors_", getattr(model, "prior_", None)))
    shares = [""] * len(classes) if prior is None else [f"{p:.4f}" for p in np.asarray(prior)]
    facts = {"classes": classes, "prior": None if prior is None else np.asarray(prior)}
    listed = [list(pair) for pair in zip(classes, shares, strict=True)]
    return f"{len(classes)} classes", aligned(["class", "prior"], listed), facts


def _outcome(model: Any) -> dict[str, Any]:
    return {"solver": model.solver_.solver, "reason": model.solver_.reason, "converged": model.solver_.converged}


def _likelihood(model: Any) -> dict[str, Any]:
    facts = {"loglik": model.loglik_, "n_iter": model.n_iter_, "converged": model.converged_}
    return {name: getattr(value, "item", lambda value=value: value)() for name, value in facts.items()}


SUMMARIES: dict[str, Callable[[Any], Summary]] = {
    "PCA": _pca,
    "KernelPCA": _kernel,
    "ProbabilisticPCA": _ppca,
    "FactorAnalysis": _factor,
    "GaussianMixture": _mixture,
    "KernelDensity": _density,
}
"""Summaries by the class of the model; a classifier without one is described by its classes."""


def aligned(header: Sequence[str], lines: Sequence[Sequence[str]], most: int = SHOWN) -> str:
    """Columns of text, the first flush left, the others flush right; of a long table the first lines.

    >>> print(aligned(["name", "n"], [["a", "10"], ["bb", "5"]]))
    name   n
    a     10
    bb     5
    """
    shown = [list(header), *map(list, lines[:most])]
    widths = [max(len(line[j]) for line in shown) for j in range(len(header))]
    sides = [str.ljust, *[str.rjust] * (len(header) - 1)]
    text = [
        "  ".join(side(cell, w) for side, cell, w in zip(sides, line, widths, strict=True)).rstrip() for line in shown
    ]
    return "\n".join([*text, *([f"… {len(lines) - most} more"] if len(lines) > most else [])])
