"""`SparsePCA` in a model file."""

from __future__ import annotations

from typing import Any

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.layout import Layout, entry, pack, unpack
from eigenlens.sparse_pca.model import SparseComponents
from eigenlens.sparse_pca.options import check_max_nodes, check_nonzero

SPARSE_LAYOUT = Layout(
    SparseComponents, arrays=["mean", "scale", "components", "variances", "bounds"], header=["total", "weight"]
)


def pack_fit(estimator: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the model and the number of rows."""
    arrays, header = pack(estimator.model_, SPARSE_LAYOUT)
    return arrays, header | {"n_samples": estimator.n_samples_, "n_nodes": estimator.n_nodes_}


def restore_fit(estimator: Any, arrays: dict[str, Array], header: dict[str, Any]) -> None:
    """Give an estimator the fit of `pack_fit`."""
    estimator._model = unpack(SPARSE_LAYOUT, arrays, header)
    estimator.n_samples_, estimator.n_nodes_ = entry(header, "n_samples"), entry(header, "n_nodes")
    estimator.n_features_in_ = estimator._model.mean.size
    checks.boolean("standardize", estimator.standardize)
    check_nonzero(estimator.n_components, estimator.n_nonzero, estimator.n_features_in_)
    check_max_nodes(estimator.max_nodes)
