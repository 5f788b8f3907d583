"""Tables of sparse components."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.sparse_pca.model import SparseComponents
from eigenlens.tables.names import feature_names
from eigenlens.tables.values import ValueTable


def sparse_loadings(model: Any, names: Iterable[str] | None = None) -> ValueTable:
    """Return V √λ (d, k) of a fitted `SparsePCA` or of its model, 0 for the columns that a component does not use."""
    found: SparseComponents = getattr(model, "model_", model)
    numbers, shares = tuple(range(1, len(found.components) + 1)), 100.0 * found.variances / found.total
    return ValueTable("loading", feature_names(model, found.mean.size, names), numbers, shares, found.loadings, "SPC")


def component_terms(model: SparseComponents, names: Sequence[str], most: int | None = None) -> list[str]:
    """Return each component (k,) as a sum of its columns, the largest first, and of many only `most`.

    >>> V = np.array([[0.0, 0.6, -0.8]])
    >>> component_terms(SparseComponents(np.zeros(3), np.ones(3), V, np.ones(1), np.ones(1), 3.0, 10.0), "abc")
    ['-0.80 c, +0.60 b']
    """
    return [_terms(v, names, most) for v in model.components]


def _terms(v: Array, names: Sequence[str], most: int | None) -> str:
    order = [j for j in np.argsort(-np.abs(v), kind="stable") if v[j]]
    shown = ", ".join(f"{v[j]:+.2f} {names[j]}" for j in order[:most])
    return shown if most is None or len(order) <= most else f"{shown}, …"
