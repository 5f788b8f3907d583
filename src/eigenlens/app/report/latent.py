"""The page of probabilistic PCA and factor analysis: fit, factors, noise, and what is known of missing entries."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from eigenlens.app.report.charts import Chart, facts, heat, layer, marks, points, table
from eigenlens.app.report.rows import ShownRows
from eigenlens.arrays import Array
from eigenlens.data.memory import ArraySource
from eigenlens.views import latent_tables

__all__ = ["latent_page"]

CELLS, ENTRIES, HIDDEN, TRIED = 40, 60, 0.1, 5_000
"""The most columns in a heat map and entries with intervals; the share of entries hidden, of so many rows at most."""


def latent_page(model: Any, rows: ShownRows) -> list[Chart]:
    """All charts of a fitted ProbabilisticPCA or FactorAnalysis."""
    source = ArraySource(rows.X)  # a Source carries no column names to be compared with those of the fit
    Z = np.asarray(model.transform(source))
    charts = [_about(model), _path(model), _scores(Z)]
    charts += _factors(model, rows)
    charts.append(_noise(model, rows))
    if np.isnan(rows.X).any():
        charts.append(_imputed(model, rows))
    return [*charts, _coverage(model, rows)]


def _about(model: Any) -> Chart:
    pairs = [
        ("latent dimensions", model.n_components_),
        ("log-likelihood", f"{model.loglik_:.6g}"),
        ("AIC, BIC", f"{model.aic():.6g}, {model.bic():.6g}"),
        ("steps", f"{model.n_iter_}, {'converged' if model.converged_ else 'not converged'}"),
        ("solver", model.solver_),
    ]
    if np.ndim(model.noise_variance_) == 0:
        pairs.insert(1, ("noise variance", f"{float(model.noise_variance_):.6g}"))
    return facts("The model", pairs)


def _path(model: Any) -> Chart:
    path = np.asarray(model.loglik_path_)
    steps = layer("line", x=np.arange(1, len(path) + 1), y=path), layer("dot", x=np.arange(1, len(path) + 1), y=path)
    about = "The log-likelihood after each step; it never falls."
    return marks("Likelihood path", *steps, about=about, x={"label": "step"}, y={"label": "log-likelihood"})


def _scores(Z: Array) -> Chart:
    second = Z[:, 1] if Z.shape[1] > 1 else np.zeros(len(Z))
    about = "The expected latent values of each row, given what is observed of it."
    return points("Latent values", Z[:, 0], second, "factor 1", "factor 2" if Z.shape[1] > 1 else "", about, equal=True)


def _factors(model: Any, rows: ShownRows) -> list[Chart]:
    """Loadings as they were found and as a rotation leaves them, and how the rotated factors go together."""
    if model.n_components_ < 2:
        return [_loadings("Loadings", latent_tables.loadings(model, names=rows.names))]
    found = latent_tables.rotation(model, names=rows.names)
    charts = [
        _loadings("Loadings before rotation", found.before),
        _loadings(f"Loadings after {found.name}", found.after),
    ]
    k = len(found.correlations)
    if not np.allclose(found.correlations, np.eye(k), atol=1e-8):
        names = [f"F{j + 1}" for j in range(k)]
        charts.append(heat("Correlations of factors", found.correlations, names, names, what="correlation"))
    return charts


def _loadings(title: str, found: Any) -> Chart:
    chosen = np.sort(np.argsort(-np.abs(found.values).max(axis=1))[:CELLS])
    factors = [f"{found.stem}{j}" for j in found.components]
    return heat(title, found.values[chosen], [found.names[j] for j in chosen], factors, what="loading")


def _noise(model: Any, rows: ShownRows) -> Chart:
    found = latent_tables.noise(model, names=rows.names)
    order = np.argsort(-found.shares)[:CELLS]
    bars = layer("bar", x=[found.names[j] for j in order], y=found.shares[order])
    about = "What of each column's variance is its own; the rest, its communality, is shared through the factors."
    return marks("Noise by column", bars, about=about, x={"type": "band"}, y={"label": "% of its variance"})


def _imputed(model: Any, rows: ShownRows) -> Chart:
    """The first missing entries with their intervals, in standard deviations of their columns."""
    where = np.argwhere(np.isnan(rows.X))[:ENTRIES]
    some = np.unique(where[:, 0])
    filled, std = model.impute(ArraySource(rows.X[some]), return_std=True)
    place = np.searchsorted(some, where[:, 0]), where[:, 1]
    mean, spread = np.asarray(filled)[place], np.asarray(std)[place]
    columns = {
        "row": [rows.name(int(i)) for i in where[:, 0]], "column": [rows.names[j] for j in where[:, 1]],
        "imputed": mean, "low (95%)": mean - 1.96 * spread, "high (95%)": mean + 1.96 * spread,
    }  # fmt: skip
    about = f"The first {len(where)} missing entries, with intervals that hold the truth in 95 of 100 cases."
    return table("Imputed entries", columns, about)


def _coverage(model: Any, rows: ShownRows) -> Chart:
    """Entries that are known are hidden, and compared with the intervals that the model gives them."""
    rng = np.random.default_rng(0)
    X = rows.X[np.sort(rng.permutation(len(rows.X))[:TRIED])]
    hidden = (rng.random(X.shape) < HIDDEN) & ~np.isnan(X)
    filled, std = model.impute(ArraySource(np.where(hidden, np.nan, X)), return_std=True)
    off = np.abs((np.asarray(filled)[hidden] - X[hidden]) / np.asarray(std)[hidden])
    levels = np.linspace(0.05, 0.99, 48)
    limits = ndtri(0.5 + 0.5 * levels)
    came = 100.0 * (off[:, None] <= limits).mean(axis=0) if off.size else np.full(len(levels), np.nan)
    even = layer("line", "exactly calibrated", x=100.0 * levels, y=100.0 * levels, colour="#888888", dash=True)
    curve = layer("line", "this model", x=100.0 * levels, y=came)
    about = (
        f"{off.size:,} known entries were hidden in turn: how many of them fell into intervals of each level. "
        "Below the line the model is too sure of itself."
    )
    axes = {"label": "level of the interval (%)"}, {"label": "entries inside (%)"}
    return marks("Calibration of imputed intervals", even, curve, about=about, x=axes[0], y=axes[1])
