"""The page of a kernel PCA: the embedding, its dependence on the kernel width, linear PCA, and denoising."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from eigenlens.arrays import Array
from eigenlens.data.memory import ArraySource
from eigenlens.errors import EigenlensError
from eigenlens.pca.estimator import PCA
from eigenlens.pca.tables import image_side
from eigenlens.reporting.charts import Chart, axes_points, facts, frames, images, layer, marks, points
from eigenlens.reporting.rows import ShownRows

TRIED, FEWEST = 1_000, 4
"""Rows of the slider, one fit per width, and the smallest number of rows for it."""

FACTORS, FITTED = 10.0 ** np.linspace(-1.5, 1.5, 9), 4
"""Widths of the slider as multiples of the gamma of the fit, and which of them that is."""


def kernel_page(model: Any, rows: ShownRows) -> list[Chart]:
    """Return the charts of a fitted KernelPCA."""
    Z = np.asarray(model.transform(rows.given))
    charts = [_embedding("Embedding", Z, model), _variance(model)]
    # Of kernel values there are no columns to go back to, and too few rows have no components of their own.
    if model.kernel == "precomputed" or len(rows.X) < FEWEST:
        return [*charts, _about(model)]
    plain = PCA(min(2, *rows.X.shape), random_state=0)
    linear = _embedding("Linear PCA of the same rows", np.asarray(plain.fit_transform(rows.X)), plain, equal=True)
    widths = getattr(model, "gamma_", None) is not None and model.kernel in ("rbf", "laplacian")
    return [*charts, _widths(model, rows, linear) if widths else linear, *_denoising(model, rows), _about(model)]


def kernel_live(model: Any, rows: ShownRows, axes: Sequence[int]) -> list[Chart]:
    """Return the charts of a KernelPCA that follow each change: the embedding on some axes, and the variance."""
    Z = np.asarray(model.transform(rows.given))
    return [_embedding("Embedding", Z, model, axes), _variance(model), _about(model)]


def _about(model: Any) -> Chart:
    pairs = [("kernel", model.kernel), ("components", model.n_components_)]
    if getattr(model, "gamma_", None) is not None:
        pairs.append(("gamma", f"{model.gamma_:.6g}"))
    if model.approximation is not None:
        left_out = f"{model.approximation_error_:.2%} of the trace left out"
        pairs.append(("approximation", f"{model.approximation}, {left_out}"))
    return facts("The model", pairs)


def _variance(model: Any) -> Chart:
    shares = 100.0 * np.asarray(model.explained_variance_ratio_)[:30]
    names = [str(i) for i in range(1, len(shares) + 1)]
    layers = layer("bar", "share", x=names, y=shares), layer("line", "cumulative", x=names, y=np.cumsum(shares))
    about = "Shares of the variance in feature space."
    return marks("Variance", *layers, about=about, x="component", y="%")


def _embedding(title: str, Z: Array, model: Any, axes: Sequence[int] | None = None, **more: Any) -> Chart:
    """Return the scores on components, or on some of them, which are named with their shares of the variance."""
    shares = [f" ({share:.1%})" for share in model.explained_variance_ratio_[: Z.shape[1]]]
    shares += [""] * (Z.shape[1] - len(shares))
    names, chosen = [f"component {j + 1}{share}" for j, share in enumerate(shares)], list(axes or range(len(shares)))
    return axes_points(title, Z[:, chosen], [names[j] for j in chosen], **more)


def _widths(model: Any, rows: ShownRows, linear: Chart) -> Chart:
    """Return the embedding for kernels from narrow to wide, of a sample if rows are many, beside linear PCA."""
    gammas = model.gamma_ * FACTORS
    n, chosen = len(rows.X), rows.draw(TRIED)
    steps = []
    for gamma in gammas:
        fitted = clone(model).set_params(
            gamma=float(gamma), sigma=None, n_components=min(2, model.n_components_), approximation=None, random_state=0
        )
        Z = np.full((n, 2), np.nan)
        found = np.asarray(fitted.fit_transform(rows.X[chosen]))
        Z[chosen, : found.shape[1]] = found
        steps.append((f"{gamma:.3g}", [_embedding(f"Kernel PCA, gamma {gamma:.3g}", Z, fitted), linear]))
    about = "Small gamma comes near linear PCA; large gamma sees only close neighbours."
    about += "" if n <= TRIED else f" {TRIED:,} rows drawn at random."
    return frames("Embedding by width", "gamma", steps, start=FITTED, fitted=FITTED, about=about)


def _denoising(model: Any, rows: ShownRows) -> list[Chart]:
    """Return rows before and after denoising: as images if they are images, else on their first two columns."""
    d, side = rows.X.shape[1], image_side(rows.X)
    try:
        if side:
            return [_images(model, rows, side)]
        return [_plane(model, rows)] if d > 1 else []
    except EigenlensError as error:
        return [facts("Denoising", paragraphs=[f"There are no denoised rows: {error}"])]


def _images(model: Any, rows: ShownRows, side: int, count: int = 8) -> Chart:
    rng = np.random.default_rng(0)
    clean = rows.X[:count]
    noisy = clean + 0.5 * rows.X.std() * rng.standard_normal(clean.shape)
    made = np.asarray(model.denoise(noisy if not rows.named else ArraySource(noisy)))
    states = (("", clean), (", noisy", noisy), (", denoised", made))
    shown = [(rows.name(i) + words, row) for words, state in states for i, row in enumerate(state)]
    about = "Rows, the same rows with noise of half their standard deviation, and their reconstructions."
    return images("Denoising", shown, (side, side), len(clean), clean) | {"about": about}


def _plane(model: Any, rows: ShownRows) -> Chart:
    """Return the rows beside their pre-images, in the plane of the first two columns."""
    n, chosen = len(rows.X), rows.draw(TRIED)
    made = np.full((n, 2), np.nan)
    made[chosen] = np.asarray(model.denoise(rows.take(chosen).given))[:, :2]
    before = np.where(np.isnan(made), np.nan, rows.X[:, :2])
    names = rows.labels[:2]
    span = _span(np.concatenate([before[chosen], made[chosen]]))
    charts = [
        points(word, Z[:, 0], Z[:, 1], *names, equal=True, span=span)
        for word, Z in (("Rows as they are", before), ("Denoised", made))
    ]
    about = f"Rows, and the points whose images lie closest to their projections onto {model.n_components_} components."
    about += "" if n <= TRIED else f" {TRIED:,} rows drawn at random."
    about += "" if rows.X.shape[1] == 2 else " The first two columns."
    return frames("Denoising", "", [("", charts)], about=about)


def _span(Z: Array) -> Chart:
    """Return a range that covers all points (n, 2) with a margin, so that compared charts share a scale."""
    low, high = np.nanmin(Z, axis=0), np.nanmax(Z, axis=0)
    more = 0.07 * np.where(high > low, high - low, 1.0)
    return {axis: [float(low[j] - more[j]), float(high[j] + more[j])] for j, axis in enumerate("xy")}
