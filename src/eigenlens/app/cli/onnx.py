"""A linear projection as an ONNX graph: (x − mean) V in float64."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from eigenlens.app.cli.errors import refuse
from eigenlens.arrays import Array
from eigenlens.errors import MissingExtra

__all__ = ["PROJECTIONS", "write_projection"]

OPSET = 17
TOLERANCE = 1e-8
"""How far ONNX may be from `transform`, over the largest score."""


def _principal(model: Any) -> tuple[Array, Array]:
    V = (np.asarray(model.components_, dtype=np.float64) / np.asarray(model.scale_, dtype=np.float64)).T
    if model.whiten:
        deviation = np.sqrt(np.asarray(model.explained_variance_, dtype=np.float64))
        V = V * np.where(deviation > 0.0, 1.0 / np.where(deviation > 0.0, deviation, 1.0), 0.0)
    return np.asarray(model.mean_, dtype=np.float64), V


def _latent(model: Any) -> tuple[Array, Array]:
    V = np.asarray(model.model_.latent_map, dtype=np.float64)
    turn = model._turn
    return np.asarray(model.model_.mean, dtype=np.float64), V if turn is None else V @ turn


def _discriminant(model: Any) -> tuple[Array, Array]:
    d = model.n_features_in_
    zero = np.asarray(model.transform(np.zeros((1, d))), dtype=np.float64)
    V = np.asarray(model.transform(np.eye(d)), dtype=np.float64) - zero
    mu = np.linalg.lstsq(V.T, -zero[0], rcond=None)[0]
    return mu, V


PROJECTIONS: dict[str, Callable[[Any], tuple[Array, Array]]] = {
    "PCA": _principal,
    "ProbabilisticPCA": _latent,
    "FactorAnalysis": _latent,
    "LinearDiscriminant": _discriminant,
}
"""The mean (d,) and the map V (d, k) of linear projections, by class."""


def write_projection(model: Any, path: Path) -> str:
    """Write the projection, and compare it with `transform` on rows around the mean; a note on what was done."""
    name = type(model).__name__
    if name not in PROJECTIONS:
        refuse(f"a {name} is no linear projection, and only these are exported to ONNX", "write .json or .csv", "data")
    try:
        onnx = importlib.import_module("onnx")
    except ImportError as error:
        raise MissingExtra("onnx", extra="onnx", need="writing ONNX") from error
    mu, V = PROJECTIONS[name](model)
    onnx.save(_graph(onnx, mu, V, name), str(path))
    return _checked(model, mu, V, path)


def _graph(onnx: Any, mu: Array, V: Array, name: str) -> Any:
    helper, kind = onnx.helper, onnx.TensorProto.DOUBLE
    arrays = [onnx.numpy_helper.from_array(mu[None, :], "mean"), onnx.numpy_helper.from_array(V, "V")]
    nodes = [
        helper.make_node("Sub", ["X", "mean"], ["centred"]),
        helper.make_node("MatMul", ["centred", "V"], ["scores"]),
    ]
    rows = helper.make_tensor_value_info("X", kind, ["n", V.shape[0]])
    scores = helper.make_tensor_value_info("scores", kind, ["n", V.shape[1]])
    graph = helper.make_graph(nodes, f"eigenlens-{name}", [rows], [scores], arrays)
    made = helper.make_model(graph, producer_name="eigenlens", opset_imports=[helper.make_opsetid("", OPSET)])
    made.ir_version = 8  # read by every runtime of the last years
    onnx.checker.check_model(made)
    return made


def _checked(model: Any, mu: Array, V: Array, path: Path) -> str:
    try:
        onnxruntime = importlib.import_module("onnxruntime")
    except ImportError:
        return "not checked: onnxruntime is not installed"
    rng = np.random.default_rng(0)
    spread = (
        np.sqrt(np.maximum(np.diag(np.asarray(model.get_covariance())), 0.0))
        if hasattr(model, "get_covariance")
        else 1.0
    )
    X = mu + spread * rng.standard_normal((16, mu.size))
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"X": X})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # X has no column names here
        wanted = np.asarray(model.transform(X), dtype=np.float64)
    error = float(np.abs(found - wanted).max() / max(1e-300, np.abs(wanted).max()))
    if not error < TOLERANCE:
        refuse(f"the ONNX file disagrees with the model by {error:.1e} of the largest score", "report this", "fault")
    return f"checked with onnxruntime: error {error:.0e}"
