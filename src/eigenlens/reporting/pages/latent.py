"""The page of probabilistic PCA and factor analysis: fit, factors, noise and imputed values."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
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
    frames,
    heat,
    layer,
    loading_heat,
    marks,
    table_chart,
)
from eigenlens.reporting.pages.likelihood_path import likelihood_path_chart
from eigenlens.reporting.rows import ShownRows
from eigenlens.tables.text_table import count_noun

MAX_BARS, MAX_LISTED, MAX_IMPUTED, MAX_DRAWN = 40, 2_000, 200, 40
"""The largest numbers of columns in a chart and in a table, and of imputed values listed and drawn."""

HIDDEN_SHARE, MAX_TRIED_ROWS, MAX_REFITTED = 0.1, 5_000, 40_000
"""The share of entries hidden, the largest number of rows tried, and of entries for which the model is refitted."""

Z95 = float(ndtri(0.975))


def latent_page(model: Any, rows: ShownRows) -> list[Chart]:
    """Return the charts of a fitted ProbabilisticPCA or FactorAnalysis."""
    found = latent_tables.factor_table(model, names=rows.labels)
    scores = [_scores(np.asarray(model.transform(ArraySource(rows.X))), found)] if rows.total else []
    main = [*scores, _loadings(found)]
    charts = [*(main[::-1] if found.factors[0].startswith("F") else main), _variances(found), *_fit(model, rows)]
    charts += [*_rotation(model, rows), *_errors(model, rows), _noise(model, rows), _communalities(model, rows)]
    if np.isnan(rows.X).any():
        charts += _imputed(model, rows)
    path = likelihood_path_chart(np.asarray(model.loglik_path_))
    coverage = [_coverage(model, rows)] if rows.total else []
    return [*charts, *coverage, *path, _about(model)]


def latent_live(
    model: Any, rows: ShownRows, Z: Array, which: Array, axes: Sequence[int], spectrum: Array
) -> list[Chart]:
    """Return the charts of a ProbabilisticPCA or FactorAnalysis that cost little more than the latent values Z (m, k).

    rows, which, axes: as of `pca_live`; a spectrum is not shown.
    """
    found = latent_tables.factor_table(model, names=rows.labels)
    scores, loadings = _scores(Z, found, axes), _loadings(found)
    main = [loadings, scores] if found.factors[0].startswith("F") else [scores, loadings]
    charts = [*main, _variances(found), *_fit(model, replace(rows, total=len(rows.X) + 1)), *_rotation(model, rows)]
    return [*charts, _noise(model, rows), _communalities(model, rows), _about(model)]


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


def _fit(model: Any, rows: ShownRows) -> list[Chart]:
    """Return the test that the factors suffice and the indices of fit; nothing where they are not known."""
    found = latent_tables.fit_indices(model, None if rows.sampled else ArraySource(rows.X), rows.weight)
    if found is None or not np.isfinite(found.p):
        return []
    lines = [
        (
            "chi²",
            f"{found.chi2:.2f}",
            f"{found.df} degrees of freedom, p = {found.p:.3g}: a small p is evidence against {{k}}",
        ),
        (
            "RMSEA",
            f"{found.rmsea:.3f}",
            f"90% interval {found.rmsea_low:.3f} to {found.rmsea_high:.3f}; below 0.05 is close",
        ),
        ("TLI", f"{found.tli:.3f}", "above 0.95 is good"),
        ("AIC", f"{found.aic:.1f}", "the smallest is best, of several numbers of factors"),
        ("BIC", f"{found.bic:.1f}", "as AIC, with a larger penalty"),
    ]
    names, values, words = zip(*lines, strict=True)
    meanings = [each.format(k=count_noun(model.n_components_, "factor")) for each in words]
    return [table_chart("Fit of the model", {"index": names, "value": values, "how to read it": meanings})]


def _scores(Z: Array, found: latent_tables.FactorTable, axes: Sequence[int] | None = None) -> Chart:
    about = "The expected latent values of each row, given what is observed of it."
    labels = [f"{name} ({share:.1f}%)" for name, share in zip(found.factors, found.shares, strict=True)]
    if axes is not None:
        Z, labels = Z[:, axes], [labels[j] for j in axes]
    return axes_points("Latent values", Z, labels, about, equal=True)


THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Sizes below which loadings are hidden; the page is opened at the second."""


def _loadings(found: latent_tables.FactorTable) -> Chart:
    about = "By how many of its standard deviations a column moves when a factor moves by one"
    return _sorted_loadings("Loadings", found.loadings, found.names, found.factors, about)


def _sorted_loadings(title: str, loadings: Array, names: Sequence[str], factors: Sequence[str], about: str) -> Chart:
    """Return a slider over the smallest loading (d, k) that is shown: a table, sorted by factor and size."""
    sizes = np.abs(loadings).max(axis=1)
    kept = set(np.argsort(-sizes, kind="stable")[:MAX_BARS].tolist())
    order = np.array([j for j in latent_tables.order_by_factor(loadings) if j in kept])
    values, shown = loadings[order], [names[j] for j in order]
    steps = []
    for least in THRESHOLDS:
        seen = np.abs(values) >= least
        texts = [f"{v:.2f}" if there else "" for v, there in zip(values.ravel(), seen.ravel(), strict=True)]
        cells = heat("", np.where(seen, values, 0.0), shown, factors, what="loading", texts=texts, top=1.0)
        steps.append((f"{least:g}" if least else "0 (all are shown)", [cells]))
    about += "; sorted by factor and size."
    about += f" The {MAX_BARS} columns that move most." if len(names) > MAX_BARS else ""
    return frames(title, "hide below", steps, start=1, about=about)


def _variances(found: latent_tables.FactorTable) -> Chart:
    layers = [
        layer("bar", "share of each", x=found.factors, y=found.shares),
        layer("line", "cumulative", x=found.factors, y=np.cumsum(found.shares), colour="#e69f00"),
        layer("dot", x=found.factors, y=np.cumsum(found.shares), colour="#e69f00"),
    ]
    factors = found.factors[0].startswith("F")
    about = "How much of the variance of all columns, each divided by its standard deviation, a factor explains."
    about = about if factors else "How much of the variance of all columns a component explains; the rest is noise."
    title = f"Variance by {'factor' if factors else 'component'}"
    return marks(title, *layers, about=about, y="% of the variance")


def _rotation(model: Any, rows: ShownRows) -> list[Chart]:
    """Return the loadings before a rotation, or after one that the model does not have, and correlations of factors."""
    if model.n_components_ < 2:
        return []
    found, noise = latent_tables.rotation(model, names=rows.labels), latent_tables.noise(model, names=rows.labels)
    spread = np.sqrt(noise.noise + noise.common)
    rotated = getattr(model, "rotation", None) is not None
    other = found.before if rotated else found.after
    values = other.values / np.where(spread > 0.0, spread, 1.0)[:, None]
    factors = [f"{other.stem}{j}" for j in other.components]
    if rotated:
        how: Chart = {"what": "standardised loading", "about": "The loadings of the canonical form."}
        charts = [loading_heat("Loadings before rotation", values, other.names, factors, standardised=True, **how)]
    else:
        about = f"The same model with its factors rotated by {found.name}"
        charts = [_sorted_loadings(f"After {found.name}", values, other.names, factors, about)]
    k = len(found.correlations)
    if rotated and not np.allclose(found.correlations, np.eye(k), atol=1e-8):
        names = [f"F{j + 1}" for j in range(k)]
        charts.append(heat("Correlations of factors", found.correlations, names, names, what="correlation"))
    return charts


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
    return [table_chart("Loadings with standard errors", columns, about) | {"lines": True}]


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
