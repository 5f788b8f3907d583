"""The main plot of each model, which a notebook shows: what a fitted model says without rows.

Each function takes a fitted estimator and the axes of a figure that has no other, whose size it may change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, to_numpy
from eigenlens.bayes.naive.distributions import ColumnDistribution, column_distributions, count_contrasts
from eigenlens.bayes.naive.model import NaiveModel
from eigenlens.bayes.separating_columns import draw_class_rows, separating_columns
from eigenlens.densities.covariance import Full
from eigenlens.densities.gaussian import Gaussian
from eigenlens.densities.mixture import Mixture
from eigenlens.mixture.planes import mixture_on_plane
from eigenlens.plot import _style
from eigenlens.plot._components import draw_cells, draw_shares, loadings
from eigenlens.plot._kde import density, density_contours
from eigenlens.plot._latent_classes import profile
from eigenlens.plot._mixture import mixture, mixture_density
from eigenlens.tables.names import feature_names, shorten
from eigenlens.tables.values import VarianceTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_SHOWN_COLUMNS, MAX_PLACES, MAX_SHARES = 30, 12, 300
"""The largest numbers of columns with loadings, of places in a profile, and of components with a share."""

GRID_PLACES, MAX_DENSITY_POINTS = 60, 2_000
"""Places along each axis of the plane of a density, and the largest number of its rows that are drawn."""

MAX_PLANE_COST = 200_000_000
"""The largest K d³ of a mixture for which a plane is sought; of more the first two columns are drawn."""

MAX_SHOWN_CLASSES, MAX_SHOWN_CATEGORIES, MAX_SHOWN_COUNTS = 8, 8, 20
"""The largest numbers of classes, of categories of a column, and of columns of counts."""

MAX_DOUBLINGS = 4.0
"""The largest power of 2 by which the share of a count is shown to differ between classes."""


# ---- components and factors -----------------------------------------------------------------------------------


def main_shares(model: Any, ax: Axes) -> None:
    """Draw the share of the variance of each component, at least of those that reach the mark."""
    checks.has_components(model)
    values, shares = (_numbers(each) for each in (model.explained_variance_, model.explained_variance_ratio_))
    table = VarianceTable(values, float(values.sum() / shares.sum()))
    most = min(MAX_SHARES, max(MAX_SHOWN_COLUMNS, table.reaching() or values.size))
    draw_shares(ax, VarianceTable(values[:most], table.total))


def main_loadings(model: Any, ax: Axes) -> None:
    """Draw the loadings, of many columns the largest."""
    d, shown = model.n_features_in_, min(MAX_SHOWN_COLUMNS, model.n_features_in_)
    ax.figure.set_size_inches(6.0, max(2.5, 1.0 + 0.19 * shown))  # type: ignore[union-attr]
    loadings(model, top=shown if shown < d else None, ax=ax)


# ---- densities ------------------------------------------------------------------------------------------------


def main_density(model: Any, ax: Axes) -> None:
    """Draw a kernel density, of more columns than two that of the first two."""
    d = model.n_features_in_
    if d == 1:
        density(model, ax=ax)
        return
    few = len(model.model_.points) <= MAX_DENSITY_POINTS
    density_contours(model, columns=(0, 1), resolution=GRID_PLACES, points=few, ax=ax)


def main_mixture(model: Any, ax: Axes) -> None:
    """Draw the components of a Gaussian mixture as curves of one column, or as ellipses in a plane."""
    _draw_parts(model.model_, feature_names(model, model.n_features_in_), ax)


def main_profile(model: Any, ax: Axes) -> None:
    """Draw the profiles of latent classes, at the places where they differ most."""
    profile(model, most=MAX_PLACES, ax=ax)


def _draw_parts(found: Mixture, names: tuple[str, ...], ax: Axes) -> None:
    """Draw a mixture of one or two columns, or of more on the plane that separates its components best."""
    d, K = len(names), len(found.weights)
    if d > 2 and K > 1 and K * d**3 <= MAX_PLANE_COST:
        found, names = mixture_on_plane(found)
    if d == 1:
        mixture_density(found, names=names, ax=ax)
    else:
        mixture(found, names=names, ax=ax)


# ---- classes --------------------------------------------------------------------------------------------------


def main_classes(model: Any, ax: Axes) -> None:
    """Draw the Gaussian classes of a discriminant as curves along one direction, or as ellipses in a plane."""
    found, names = getattr(model.model_, "classes", model.model_), feature_names(model, model.n_features_in_)
    if len(names) > 2 and hasattr(model, "scalings_"):
        found, names = _on_discriminants(model)
    _draw_parts(found, names, ax)
    key = ax.get_legend()
    texts = [] if key is None else [text for text in key.get_texts() if ": " in text.get_text()]
    for text, name in zip(texts, _class_names(model), strict=False):
        text.set_text(f"{name}: {text.get_text().partition(': ')[2]}")
    if key is not None and key.get_title().get_text():
        key.set_title("class")


def _on_discriminants(model: Any) -> tuple[Mixture, tuple[str, ...]]:
    """Return the classes on the first two directions, or the only one, in units of their spread; and the names."""
    V, shares = _numbers(model.scalings_)[:, :2], 100.0 * _numbers(model.explained_variance_ratio_)
    means, q = (_numbers(model.means_) - _numbers(model.centre_)) @ V, V.shape[1]
    parts = tuple(Gaussian(mean, Full(np.eye(q))) for mean in means)
    names = [_style.component_label(j + 1, float(shares[j]), model.axis_stem) for j in range(q)]
    return Mixture(_numbers(model.class_prior_), parts), tuple(names)


def main_columns(model: Any, ax: Axes) -> None:
    """Draw the distribution of a column within each class, of the column that separates the classes best.

    Counts alone are drawn together, by how much more often each is counted in a class than in all.
    """
    if isinstance(getattr(model, "model_", None), NaiveModel) and _draw_counts(model, ax):
        return
    rows, codes = draw_class_rows(model)
    order, names, classes = separating_columns(rows, codes), feature_names(model, rows.shape[1]), _class_names(model)
    chosen = np.sort(np.argsort(-_numbers(model.class_prior_), kind="stable")[:MAX_SHOWN_CLASSES])
    if isinstance(getattr(model, "model_", None), NaiveModel):
        few, classes = model.model_.take(chosen), [classes[c] for c in chosen]
        tried = (column_distributions(few, rows, [j]) for j in order[:MAX_SHOWN_COLUMNS])
        found = next(each[0] for each in tried if each)  # columns of counts have none
        (_draw_bars if found.categories else _draw_curves)(found, classes, ax)
        _style.name_axes(ax, **{"y" if found.categories else "x": names[found.column]})
    else:
        several = {classes[c]: model.densities_[c] for c in chosen}
        density(several, column=order[0] if len(order) > 1 else None, rug=False, ax=ax)
        _style.name_axes(ax, names[order[0]])
    note = f"the column that separates the classes best, of {len(order)}" if len(order) > 1 else ""
    total = len(model.classes_)
    fewer = f"{len(chosen)} of {total} classes, the most probable" if len(chosen) < total else ""
    _style.write_note(ax, note, fewer)


def _draw_counts(model: Any, ax: Axes) -> bool:
    """Draw the counts whose shares differ most between classes as cells; return whether all columns are counts."""
    columns, contrasts = count_contrasts(model.model_)
    if len(columns) < model.n_features_in_:
        return False
    values = np.clip(np.nan_to_num(contrasts), -MAX_DOUBLINGS, MAX_DOUBLINGS)
    most = np.sort(np.argsort(-np.ptp(values, axis=0), kind="stable")[:MAX_SHOWN_COUNTS])
    chosen = np.sort(np.argsort(-_numbers(model.class_prior_), kind="stable")[:MAX_SHOWN_CLASSES])
    names, classes = feature_names(model, model.n_features_in_), _class_names(model)
    shown = [names[columns[j]] for j in most]
    what = "log₂ of a count's share in a class over its mean share"
    draw_cells(ax, values[np.ix_(chosen, most)].T, shown, [classes[c] for c in chosen], what=what)
    _style.write_note(ax, f"the {len(most)} of {len(columns)} counts that differ most")
    return True


def _draw_curves(found: ColumnDistribution, classes: list[str], ax: Axes) -> None:
    lines = []
    for c in range(len(classes)):
        color = _style.category_color(c)
        ax.fill_between(found.x, found.values[c], color=color, alpha=0.12, linewidth=0.0)
        lines.append(ax.plot(found.x, found.values[c], color=color, linewidth=1.6)[0])
    _style.style_axes(ax)
    ax.set_ylim(bottom=0.0)
    ax.set_ylabel("density")
    _style.draw_legend(ax, lines, classes, loc="best")


def _draw_bars(found: ColumnDistribution, classes: list[str], ax: Axes) -> None:
    """Draw bars of the probability of each category in each class, of many categories the most probable."""
    kept = np.sort(np.argsort(-found.values.max(axis=0), kind="stable")[:MAX_SHOWN_CATEGORIES])
    height = 0.8 / len(classes)
    places = np.arange(len(kept)) - 0.4 + 0.5 * height
    bars = [
        ax.barh(places + c * height, 100.0 * found.values[c, kept], height, color=_style.category_color(c))
        for c in range(len(classes))
    ]
    _style.style_axes(ax, "x")
    _style.name_bars(ax, [found.categories[j] for j in kept])
    ax.set_xlabel("% of the class")
    look: Any = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    _style.draw_legend(ax, bars, classes, **look)


def _class_names(model: Any) -> list[str]:
    return [shorten(label, 30) for label in np.asarray(model.classes_).tolist()]


def _numbers(values: Any) -> Array:
    return np.asarray(to_numpy(values), dtype=np.float64)


MAIN_PLOTS: dict[str, Callable[[Any, Axes], None]] = {
    "PCA": main_shares,
    "SparsePCA": main_loadings,
    "GenotypePCA": main_shares,
    "KernelPCA": main_shares,
    "ProbabilisticPCA": main_loadings,
    "FactorAnalysis": main_loadings,
    "GaussianMixture": main_mixture,
    "MixtureModel": main_profile,
    "KernelDensity": main_density,
    "NaiveBayes": main_columns,
    "BayesClassifier": main_columns,
    "LinearDiscriminant": main_classes,
    "QuadraticDiscriminant": main_classes,
}
"""The main plot of each model, by its name in the catalogue."""
