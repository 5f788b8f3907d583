"""The page of probabilistic PCA and factor analysis: fit, factors, noise and imputed values."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import clone

from eigenlens.arrays import Array
from eigenlens.data.memory import ArraySource
from eigenlens.errors import EigenlensError
from eigenlens.latent import tables as latent_tables
from eigenlens.reporting.charts import (
    Chart,
    axes_points,
    facts,
    heat,
    layer,
    likelihood_path_chart,
    loading_heat,
    marks,
    table_chart,
)
from eigenlens.reporting.rows import ShownRows

MAX_BARS, MAX_LISTED, MAX_IMPUTED, MAX_DRAWN = 40, 2_000, 200, 40
"""The largest numbers of columns in a chart and in a table, and of imputed values listed and drawn."""

HIDDEN_SHARE, MAX_TRIED_ROWS, MAX_REFITTED = 0.1, 5_000, 40_000
"""The share of entries hidden, the largest number of rows tried, and of entries for which the model is refitted."""

Z95 = float(ndtri(0.975))


def latent_page(model: Any, rows: ShownRows) -> list[Chart]:
    """Return the charts of a fitted ProbabilisticPCA or FactorAnalysis."""
    Z = np.asarray(model.transform(ArraySource(rows.X)))
    charts = [_about(model, rows), *likelihood_path_chart(np.asarray(model.loglik_path_)), _scores(Z)]
    charts += [*_factors(model, rows), *_errors(model, rows)]
    charts += [_noise(model, rows), _communalities(model, rows)]
    if np.isnan(rows.X).any():
        charts += _imputed(model, rows)
    return [*charts, _coverage(model, rows)]


def _about(model: Any, rows: ShownRows) -> Chart:
    pairs = [
        ("latent dimensions", model.n_components_),
        ("log-likelihood", f"{model.loglik_:.6g}"),
        ("AIC, BIC", f"{model.aic():.6g}, {model.bic():.6g}"),
        ("steps", f"{model.n_iter_}, {'converged' if model.converged_ else 'not converged'}"),
        ("solver", model.solver_),
    ]
    if np.ndim(model.noise_variance_) == 0:
        pairs.insert(1, ("noise variance", f"{float(model.noise_variance_):.6g}"))
    return facts("The model", [*pairs, *_goodness(model, rows)])


def _goodness(model: Any, rows: ShownRows) -> list[tuple[str, str]]:
    """Return the goodness of fit of a factor analysis."""
    if not hasattr(model, "goodness_of_fit") or np.isnan(rows.X).any():
        return []
    try:
        found = model.goodness_of_fit()
    except EigenlensError:  # after partial fits, or of many columns, the rows are needed
        return []
    if not np.isfinite(found.chi2):
        return []
    test = f"chi² {found.chi2:.4g}, {found.df} degrees of freedom, p = {found.p:.3g}"
    near = f"{found.rmsea:.3f} (90% interval {found.rmsea_low:.3f} to {found.rmsea_high:.3f}), {found.tli:.3f}"
    return [("do so many factors suffice?", test), ("RMSEA, TLI", near)]


def _scores(Z: Array) -> Chart:
    about = "The expected latent values of each row, given what is observed of it."
    return axes_points("Latent values", Z, [f"factor {j + 1}" for j in range(Z.shape[1])], about, equal=True)


def _factors(model: Any, rows: ShownRows) -> list[Chart]:
    """Return the loadings before and after rotation, and the correlations of the rotated factors."""
    noise = latent_tables.noise(model, names=rows.labels)
    spread = np.sqrt(noise.noise + noise.common)
    if model.n_components_ < 2:
        return [_loadings("Loadings", latent_tables.latent_loadings(model, names=rows.labels), spread)]
    found = latent_tables.rotation(model, names=rows.labels)
    charts = [
        _loadings("Loadings before rotation", found.before, spread),
        _loadings(f"Loadings after {found.name}", found.after, spread),
    ]
    k = len(found.correlations)
    if not np.allclose(found.correlations, np.eye(k), atol=1e-8):
        names = [f"F{j + 1}" for j in range(k)]
        charts.append(heat("Correlations of factors", found.correlations, names, names, what="correlation"))
    return charts


def _loadings(title: str, found: Any, spread: Array) -> Chart:
    """Return loadings divided by the standard deviations (d,) of their columns, so that large units do not dominate."""
    values = found.values / np.where(spread > 0.0, spread, 1.0)[:, None]
    factors = [f"{found.stem}{j}" for j in found.components]
    about = "By how many of its standard deviations a column moves when a factor moves by one."
    return loading_heat(title, values, found.names, factors, what="standardised loading", about=about)


def _errors(model: Any, rows: ShownRows) -> list[Chart]:
    """Return loadings and uniquenesses of a factor analysis with their standard errors, as a table."""
    whole = ArraySource(rows.X) if np.isnan(rows.X).any() and not rows.sampled and rows.weight is None else None
    found = latent_tables.factor_errors_if_quick(model, whole)
    if found is None:
        return []
    columns: dict[str, Any] = {"column": list(rows.labels)}
    W, own = np.asarray(model.loadings_), np.asarray(model.uniquenesses_)
    shown = [*zip(found.factors, W.T, found.loadings.T, strict=True), ("uniqueness", own, found.uniquenesses)]
    for name, values, errors in shown:
        columns |= {name: values, f"error of {name}": errors}
    about = "Estimates and their standard errors: the true value is within two of them in about 95% of samples."
    return [table_chart("Loadings with standard errors", columns, about)]


def _noise(model: Any, rows: ShownRows) -> Chart:
    found = latent_tables.noise(model, names=rows.labels)
    order = np.argsort(-found.shares)[:MAX_BARS]
    bars = layer("bar", x=[found.names[j] for j in order], y=found.shares[order])
    about = (
        "The share of each column's variance that is specific to it; the rest, its communality, is due to the factors."
    )
    return marks("Noise by column", bars, about=about, y="% of its variance")


def _communalities(model: Any, rows: ShownRows) -> Chart:
    found = latent_tables.noise(model, names=rows.labels)
    shared = 100.0 - found.shares
    order = np.argsort(-shared, kind="stable")[:MAX_LISTED]
    columns = {
        "column": [found.names[j] for j in order], "communality %": shared[order],
        "uniqueness %": found.shares[order], "noise variance": found.noise[order],
    }  # fmt: skip
    about = "The share of each column's variance that the factors explain, largest first."
    return table_chart("Communalities", columns, about)


def _imputed(model: Any, rows: ShownRows) -> list[Chart]:
    """Return the first imputed values with their intervals, drawn in standard deviations and listed."""
    where = np.argwhere(np.isnan(rows.X))[:MAX_IMPUTED]
    some = np.unique(where[:, 0])
    filled, std = model.impute(ArraySource(rows.X[some]), return_std=True)
    place = np.searchsorted(some, where[:, 0]), where[:, 1]
    mean, reach = np.asarray(filled)[place], Z95 * np.asarray(std)[place]
    named, of = [rows.name(int(i)) for i in where[:, 0]], [rows.labels[j] for j in where[:, 1]]
    columns = {
        "entry": np.arange(1, len(named) + 1), "row": named, "column": of, "imputed": mean,
        "low (95%)": mean - reach, "high (95%)": mean + reach,
    }  # fmt: skip
    total = int(np.isnan(rows.X).sum())
    about = f"The first {len(where)} of {total:,} missing values, with 95% intervals."
    middle, scale = np.nanmean(rows.X, axis=0)[where[:, 1]], np.nanstd(rows.X, axis=0)[where[:, 1]]
    scale = np.where(scale > 0.0, scale, 1.0)
    y, half = ((mean - middle) / scale)[:MAX_DRAWN], (reach / scale)[:MAX_DRAWN]
    titles = [f"{a}, {b}: {v:.4g} ± {w:.3g}" for a, b, v, w in zip(named, of, mean, reach, strict=True)][:MAX_DRAWN]
    names = [str(i + 1) for i in range(len(y))]
    dots = layer("interval", x=names, y=y, low=y - half, high=y + half, title=titles)
    level = layer("rule-y", y=[0.0], text=["mean of the column"], colour="grey", dash=True)
    words = (
        f"The first {len(y)} missing values with 95% intervals, in standard deviations of their columns from the mean."
    )
    label = "standard deviations of the column from its mean"
    drawn = marks("Imputed entries, with intervals", level, dots, about=words, y=label)
    return [drawn, table_chart("Imputed entries", columns, about)]


def _coverage(model: Any, rows: ShownRows) -> Chart:
    """Return the coverage of intervals for known entries that were hidden from the model."""
    rng = np.random.default_rng(0)
    X = rows.X[np.sort(rng.permutation(len(rows.X))[:MAX_TRIED_ROWS])]
    hidden = (rng.random(X.shape) < HIDDEN_SHARE) & ~np.isnan(X)
    shown = np.where(hidden, np.nan, X)
    judge, words = _without(model, shown, rows)
    filled, std = judge.impute(ArraySource(shown), return_std=True)
    off = np.abs((np.asarray(filled)[hidden] - X[hidden]) / np.asarray(std)[hidden])
    levels = np.linspace(0.05, 0.99, 48)
    limits = ndtri(0.5 + 0.5 * levels)
    came = 100.0 * (off[:, None] <= limits).mean(axis=0) if off.size else np.full(len(levels), np.nan)
    even = layer("line", "exactly calibrated", x=100.0 * levels, y=100.0 * levels, colour="grey", dash=True)
    curve = layer("line", "this model", x=100.0 * levels, y=came)
    within = 100.0 * float(np.mean(off <= Z95)) if off.size else np.nan
    about = (
        f"{off.size:,} known entries were hidden ({words}): how many of them fell into intervals of each level; "
        f"{within:.1f}% into those of 95%. Below the line the intervals are too narrow."
    )
    return marks("Held-out coverage", even, curve, about=about, x="level of the interval (%)", y="entries inside (%)")


def _without(model: Any, shown: Array, rows: ShownRows) -> tuple[Any, str]:
    """Return the model refitted without the hidden entries if that is quick, and a sentence on it."""
    seen = "the fit had seen them"
    if rows.sampled or shown.size > MAX_REFITTED or rows.weight is not None:
        return model, seen
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return clone(model).fit(ArraySource(shown)), "from a fit of their own, too"
    except (EigenlensError, ValueError):  # a column with nothing left, say
        return model, seen
