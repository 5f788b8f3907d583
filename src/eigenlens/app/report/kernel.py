"""The page of a kernel PCA: the embedding, what the width of the kernel does to it, linear PCA beside it, denoising."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from eigenlens.app.report.charts import Chart, facts, frames, images, layer, marks, points
from eigenlens.app.report.rows import ShownRows
from eigenlens.arrays import Array
from eigenlens.estimators import PCA

__all__ = ["kernel_page"]

TRIED, GAMMAS = 1_000, 9
"""Rows and widths of the slider: each is a fit of its own."""


def kernel_page(model: Any, rows: ShownRows) -> list[Chart]:
    """All charts of a fitted KernelPCA."""
    Z = np.asarray(model.transform(rows.X))
    charts = [_about(model), _variance(model), _embedding("Embedding", Z)]
    charts.append(
        _embedding("Linear PCA of the same rows", np.asarray(PCA(min(2, rows.X.shape[1])).fit_transform(rows.X)))
    )
    if getattr(model, "gamma_", None) is not None and model.kernel in ("rbf", "laplacian"):
        charts.append(_widths(model, rows))
    side = round(rows.X.shape[1] ** 0.5)
    if side * side == rows.X.shape[1] and side >= 6 and model.kernel != "precomputed":
        charts.append(_denoised(model, rows, side))
    return charts


def _about(model: Any) -> Chart:
    pairs = [("kernel", model.kernel), ("components", model.n_components_)]
    if getattr(model, "gamma_", None) is not None:
        pairs.append(("gamma", f"{model.gamma_:.6g}"))
    if model.approximation is not None:
        pairs.append(
            ("approximation", f"{model.approximation}, {model.approximation_error_:.2%} of the trace left out")
        )
    return facts("The model", pairs)


def _variance(model: Any) -> Chart:
    shares = 100.0 * np.asarray(model.explained_variance_ratio_)[:30]
    names = [str(i) for i in range(1, len(shares) + 1)]
    layers = layer("bar", "share", x=names, y=shares), layer("line", "cumulative", x=names, y=np.cumsum(shares))
    about = "Shares of the variance in feature space."
    return marks("Variance", *layers, about=about, x={"label": "component", "type": "band"}, y={"label": "%"})


def _embedding(title: str, Z: Array) -> Chart:
    second = Z[:, 1] if Z.shape[1] > 1 else np.zeros(len(Z))
    return points(title, Z[:, 0], second, "component 1", "component 2" if Z.shape[1] > 1 else "")


def _widths(model: Any, rows: ShownRows) -> Chart:
    """The embedding for kernels from narrow to wide, of the first rows where there are many."""
    gammas = model.gamma_ * np.geomspace(0.03, 30.0, GAMMAS)
    n = len(rows.X)
    chosen = np.arange(n) if n <= TRIED else np.sort(np.random.default_rng(0).permutation(n)[:TRIED])
    steps = []
    for gamma in gammas:
        fitted = clone(model).set_params(
            gamma=float(gamma), n_components=min(2, model.n_components_), approximation=None
        )
        Z = np.full((n, 2), np.nan)
        found = np.asarray(fitted.fit_transform(rows.X[chosen]))
        Z[chosen, : found.shape[1]] = found
        steps.append((f"{gamma:.3g}", [_embedding("", Z)]))
    about = "Small gamma comes near linear PCA; large gamma sees only close neighbours."
    about += "" if n <= TRIED else f" {TRIED:,} rows drawn at random."
    return frames("Embedding by width", "gamma", steps, start=GAMMAS // 2, about=about)


def _denoised(model: Any, rows: ShownRows, side: int, count: int = 8) -> Chart:
    rng = np.random.default_rng(0)
    clean = rows.X[:count]
    noisy = clean + 0.5 * rows.X.std() * rng.standard_normal(clean.shape)
    made = np.asarray(model.denoise(noisy))
    pictures = {f"row {i + 1}": row for i, row in enumerate(clean)}
    pictures |= {f"noisy {i + 1}": row for i, row in enumerate(noisy)}
    pictures |= {f"denoised {i + 1}": row for i, row in enumerate(made)}
    return images("Denoising", pictures, (side, side), len(clean))
