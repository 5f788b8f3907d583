"""Plain arrays of nonlinear components for plots and reports: scores, a component over the plane, denoised rows.

A model here is any fitted estimator with `transform` and `explained_variance_ratio_` (`KernelPCA`, `PCA`,
`LinearDiscriminant`, …), or the frozen `KernelComponents`. Components are counted from 1, and shares are per cent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, to_numpy
from eigenlens.data.coerce import as_source
from eigenlens.errors import DataError, OptionError
from eigenlens.kernel_pca.model import KernelComponents
from eigenlens.tables.names import axis_stem, feature_names, row_labels
from eigenlens.tables.rows import first_rows
from eigenlens.tables.values import ScoreTable

CONTOUR_MARGIN = 0.15
"""How far the plane extends beyond the rows, as a share of their range."""


@dataclass(frozen=True, eq=False)
class ContourTable:
    """One component's score over the plane of two columns.

    Attributes:
        component: its number, counted from 1. share: per cent of the variance in feature space. names: of the columns.
        rows: (n, 2). x: (p,) and y: (q,) the grid. values: (q, p), values[i, j] the score of (x[j], y[i]).
        stem: the letters before the component's number.
    """

    component: int
    share: float
    names: tuple[str, str]
    rows: Array
    x: Array
    y: Array
    values: Array
    stem: str = "PC"


@dataclass(frozen=True, eq=False)
class DenoisingTable:
    """The same rows in several panels: original, noisy, and denoised by models.

    Attributes:
        names: (p,) of the panels. labels: (n,) row names, or None. values: (p, n, d), the rows shown.
        original: the index of the panel that the others should equal, or None.
        errors: (p,) mean squared error of all N rows given, shown or not; NaN without an original, 0 for it.
        rows_given: N.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...] | None
    values: Array
    original: int | None
    errors: Array
    rows_given: int

    @property
    def limits(self) -> Array:
        """The min and max entry (n, 2) of each row: of its original, or of all panels without one."""
        shown = self.values if self.original is None else self.values[self.original][None]
        return np.stack([shown.min(axis=(0, 2)), shown.max(axis=(0, 2))], axis=1)


def embedding_scores(
    model: Any, X: Any, components: Sequence[int] | None = None, *, labels: Iterable[Any] | None = None
) -> ScoreTable:
    """Return the scores (n, m) of the rows of X on some components, as `transform` computes them.

    >>> from eigenlens import PCA
    >>> table = embedding_scores(PCA().fit([[0.0, 0.0], [3.0, 0.0], [0.0, 1.0], [3.0, 1.0]]), [[3.5, 0.5]], [1])
    >>> table.values, table.shares
    (array([[2.]]), array([90.]))
    """
    project, shares = _projection(model)
    chosen = _chosen("components", range(1, shares.size + 1) if components is None else components, shares.size)
    Z = project(X)
    index = [c - 1 for c in chosen]
    rotated = getattr(getattr(model, "model_", None), "rotation", None) is not None
    whitened = bool(getattr(model, "whiten", False)) or rotated
    return ScoreTable(row_labels(labels, len(Z)), chosen, shares[index], Z[:, index], whitened, axis_stem(model))


def contours(
    model: Any, X: Any, component: int = 1, *, names: Iterable[str] | None = None, resolution: int = 200
) -> ContourTable:
    """Return the score of one component on a grid over the plane of the rows of X (n, 2), with a margin.

    Cost: `resolution`² rows are projected, each against all fitted rows.

    >>> from eigenlens import PCA
    >>> X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 1.0], [3.0, 1.0]])
    >>> table = contours(PCA().fit(X), X, resolution=3)
    >>> table.x, table.values[0, [0, 2]]
    (array([-0.45,  1.5 ,  3.45]), array([-1.95,  1.95]))
    """
    project, shares = _projection(model)
    (number,) = _chosen("component", [component], shares.size)
    p = checks.integer("resolution", resolution, 2, checks.MAX_GRID)
    _check_plane(model)
    rows = first_rows(X)
    if rows.shape[1] != 2:
        raise DataError(f"X has {rows.shape[1]} columns; contour lines are drawn over a plane, so it must have 2")
    if not np.all(np.isfinite(rows)):
        raise DataError("X contains NaN or infinity", fix="leave those rows out, or impute them first")
    first, second = feature_names(model, 2, names)
    x, y = (_axis(column, p) for column in rows.T)
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    # A Source has no column names that would be compared with those of the fit.
    Z = project(as_source(grid))[:, number - 1].reshape(p, p)
    return ContourTable(number, float(shares[number - 1]), (first, second), rows, x, y, Z, axis_stem(model))


def denoising(
    panels: Mapping[str, Any],
    *,
    original: str | None = None,
    limit: int | None = None,
    labels: Iterable[Any] | None = None,
) -> DenoisingTable:
    """Return the first `limit` rows of each panel, and each panel's mean squared error over all of its rows.

    `original` names the panel that the others should equal; "original", if there is one of that name and none is given.

    >>> table = denoising({"original": [[1.0, 2.0]], "noisy": [[1.5, 1.0]]})
    >>> table.names, table.errors
    (('original', 'noisy'), array([0. , 0.625]))
    """
    if original is not None and not isinstance(original, str):
        raise OptionError(
            f"must be the name of a panel, not {type(original).__name__}",
            argument="original",
            fix="put the rows into panels as 'original'",
        )
    rows = _panels(panels)
    names = tuple(rows)
    known = original is not None or "original" in rows
    index = names.index(_known_panel(original or "original", names)) if known else None
    values = np.stack(list(rows.values()))
    n = values.shape[1]
    shown = n if limit is None else min(n, checks.integer("n_rows", limit, 1))
    errors = np.full(len(names), np.nan) if index is None else np.mean((values - values[index]) ** 2, axis=(1, 2))
    named = row_labels(labels, shown, at_least=True)
    return DenoisingTable(tuple(map(str, names)), named, values[:, :shown], index, errors, n)


def _projection(model: Any) -> tuple[Callable[[Any], Array], Array]:
    """Return a function from rows of any kind to scores (n, k), and the components' shares (k,) in per cent."""
    if isinstance(model, KernelComponents):
        return lambda X: np.asarray(model.scores(first_rows(X)), dtype=np.float64), 100.0 * model.ratio
    if not hasattr(model, "transform") or not hasattr(model, "explained_variance_ratio_"):
        what = f"of type {type(model).__name__} has no components"
        raise OptionError(what, argument="model", fix="give a fitted model with `transform`, such as PCA or KernelPCA")
    shares = 100.0 * np.asarray(to_numpy(model.explained_variance_ratio_), dtype=np.float64)
    # Rows that are whitened along the columns are turned back to the components.
    turn = to_numpy(model.components_).T if getattr(model, "whiten", False) == "zca" else None

    def project(X: Any) -> Array:
        Z = np.asarray(to_numpy(model.transform(X)), dtype=np.float64)
        return Z if turn is None else np.asarray(Z @ turn)

    return project, shares


def _chosen(argument: str, components: Iterable[int], k: int) -> tuple[int, ...]:
    bound = "the number of components that the model keeps"
    return checks.integers(argument, components, 1, k, bound)


def _check_plane(model: Any) -> None:
    kernel = getattr(model, "kernel", None)
    if getattr(kernel, "name", kernel) == "precomputed":
        what = "has no input space to draw over"
        raise OptionError(what, argument="kernel", value="precomputed", fix="fit the rows with a kernel by name")
    d = model.rows.shape[1] if isinstance(model, KernelComponents) else model.n_features_in_
    if d != 2:
        what = f"was fitted on {d} columns, but contour lines are drawn over a plane of 2"
        fix = "fit two columns, or plot the rows on two components with plot.embedding"
        raise OptionError(what, argument="model", fix=fix)


def _axis(column: Array, p: int) -> Array:
    """Return p points over the range of a column, with a margin on both sides."""
    low, high = float(column.min()), float(column.max())
    more = CONTOUR_MARGIN * (high - low) or 1.0
    return np.linspace(low - more, high + more, p)


def _panels(panels: Any) -> dict[str, Array]:
    """Return the panels as dense rows of one shape."""
    if not isinstance(panels, Mapping) or not panels:
        what = f"must be a dict with a name and rows (n, d) for each panel, not {type(panels).__name__}"
        raise OptionError(what, argument="panels")
    found = {name: _panel_rows(name, rows) for name, rows in panels.items()}
    first, shape = next((name, rows.shape) for name, rows in found.items())
    for name, rows in found.items():
        if rows.shape != shape:
            what = f"panels[{name!r}] has shape {rows.shape}, but panels[{first!r}] has {shape}"
            raise DataError(what, fix="give panels of equal shape")
        if not np.all(np.isfinite(rows)):
            what = f"panels[{name!r}] contains NaN or infinity"
            raise DataError(what, fix="leave those rows out of every panel")
    return found


def _panel_rows(name: Any, rows: Any) -> Array:
    try:
        return first_rows(rows)
    except DataError as error:  # which calls the rows X
        raise error.about(f"panels[{name!r}]") from None


def _known_panel(original: str, names: tuple[str, ...]) -> str:
    if original not in names:
        known = f"known: {', '.join(map(repr, names))}"
        raise OptionError("is not a panel", argument="original", value=original, fix=known)
    return original
