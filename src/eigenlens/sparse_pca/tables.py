"""Tables of sparse components."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from eigenlens.sparse_pca.model import SparseComponents
from eigenlens.tables.names import feature_names
from eigenlens.tables.values import ValueTable


def sparse_loadings(model: Any, names: Iterable[str] | None = None) -> ValueTable:
    """Return V √λ (d, k) of a fitted `SparsePCA` or of its model, 0 for the columns that a component does not use."""
    found: SparseComponents = getattr(model, "model_", model)
    numbers, shares = tuple(range(1, len(found.components) + 1)), 100.0 * found.variances / found.total
    return ValueTable("loading", feature_names(model, found.mean.size, names), numbers, shares, found.loadings, "SPC")
