"""Linear projections as ONNX graphs: (x − mean) V in float64, with the rule softmax(C x + b) of a linear classifier."""

from __future__ import annotations

import importlib
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.catalogue import entry_of, import_part
from eigenlens.cli.errors import fail
from eigenlens.errors import MissingExtra

OPSET = 17
TOLERANCE = 1e-8
"""The largest difference between ONNX and `transform` that passes the check, relative to the largest score."""


def principal_projection(model: Any) -> tuple[Array, Array]:
    """Return (μ, V) with scores (x - μ) V of a PCA, with its scaling and whitening."""
    return np.asarray(model.model_.mean), model.model_.score_map(model.whiten)


def sparse_projection(model: Any) -> tuple[Array, Array]:
    """Return (μ, V) with scores (x - μ) V of sparse components."""
    return np.asarray(model.model_.mean), model.model_.score_map


def latent_projection(model: Any) -> tuple[Array, Array]:
    """Return (μ, V) with scores (x - μ) V of a PPCA or factor analysis."""
    V = np.asarray(model.model_.latent_map, dtype=np.float64)
    turn = model._rotation_matrix
    return np.asarray(model.model_.mean, dtype=np.float64), V if turn is None else V @ turn


def discriminant_projection(model: Any) -> tuple[Array, Array]:
    """Return (μ, V) with scores (x - μ) V of a linear discriminant, measured on unit vectors."""
    d = model.n_features_in_
    zero = np.asarray(model.transform(np.zeros((1, d))), dtype=np.float64)
    V = np.asarray(model.transform(np.eye(d)), dtype=np.float64) - zero
    mu = np.linalg.lstsq(V.T, -zero[0], rcond=None)[0]
    return mu, V


def write_projection(model: Any, path: Path) -> str:
    """Write the projection, and compare it with the model on rows around the mean; return a note on the check."""
    entry = entry_of(model)
    if entry is None or not entry.projection:
        what = f"a {type(model).__name__} is not a linear projection, and only these are exported to ONNX"
        fail(what, "write .json or .csv", "data")
    try:
        onnx = importlib.import_module("onnx")
    except ImportError as error:
        raise MissingExtra("onnx", extra="onnx", need="writing ONNX") from error
    mu, V = import_part(entry.projection)(model)
    onnx.save(_graph(onnx, mu, V, model), str(path))
    return _check_graph(model, mu, path)


def _graph(onnx: Any, mu: Array, V: Array, model: Any) -> Any:
    helper, kind = onnx.helper, onnx.TensorProto.DOUBLE
    arrays = [onnx.numpy_helper.from_array(mu[None, :], "mean"), onnx.numpy_helper.from_array(V, "V")]
    nodes = [
        helper.make_node("Sub", ["X", "mean"], ["centred"]),
        helper.make_node("MatMul", ["centred", "V"], ["scores"]),
    ]
    rows = helper.make_tensor_value_info("X", kind, ["n", V.shape[0]])
    outputs = [helper.make_tensor_value_info("scores", kind, ["n", V.shape[1]])]
    if hasattr(model, "classes_"):
        more = _rule(onnx, mu, model)
        nodes, outputs, arrays = nodes + more[0], outputs + more[1], arrays + more[2]
    graph = helper.make_graph(nodes, f"eigenlens-{type(model).__name__}", [rows], outputs, arrays)
    made = helper.make_model(graph, producer_name="eigenlens", opset_imports=[helper.make_opsetid("", OPSET)])
    made.ir_version = 8  # the oldest version that has these operators, for older runtimes
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    helper.set_model_props(made, {"columns": json.dumps(names, ensure_ascii=False)})
    onnx.checker.check_model(made)
    return made


def _rule(onnx: Any, mu: Array, model: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Return softmax(C (x − mean) + C mean + b) and the most likely class: nodes, outputs, constants."""
    helper, C = onnx.helper, np.asarray(model.coef_, dtype=np.float64)
    b = np.asarray(model.intercept_, dtype=np.float64)
    if len(C) == 1:  # with two classes, the second against the first
        C, b = np.vstack([np.zeros_like(C), C]), np.append(0.0, b)
    constants = {"C": C.T, "b": (C @ mu + b)[None, :], "classes": _classes(model)}
    nodes = [
        helper.make_node("MatMul", ["centred", "C"], ["slopes"]),
        helper.make_node("Add", ["slopes", "b"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["probabilities"], axis=1),
        helper.make_node("ArgMax", ["logits"], ["place"], axis=1, keepdims=0),
        helper.make_node("Gather", ["classes", "place"], ["label"], axis=0),
    ]
    arrays = [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()]
    kinds = {"probabilities": onnx.TensorProto.DOUBLE, "label": arrays[-1].data_type}
    shapes: dict[str, list[Any]] = {"probabilities": ["n", len(C)], "label": ["n"]}
    return nodes, [helper.make_tensor_value_info(name, kinds[name], shapes[name]) for name in shapes], arrays


def _classes(model: Any) -> Array:
    """Return the classes: integers as integers, all others as text."""
    classes = np.asarray(model.classes_)
    return classes.astype(np.int64) if classes.dtype.kind in "iu" else np.array([str(each) for each in classes], object)


def _check_graph(model: Any, mu: Array, path: Path) -> str:
    try:
        onnxruntime = importlib.import_module("onnxruntime")
    except ImportError:
        return "not checked: onnxruntime is not installed"
    X = mu + _spread(model) * np.random.default_rng(0).standard_normal((16, mu.size))
    found = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"X": X})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # X has no column names here
        wanted = [model.transform(X)] + ([model.predict_proba(X)] if len(found) > 1 else [])
        agree = len(found) == 1 or np.array_equal(np.asarray(found[2]).astype(str), model.predict(X).astype(str))
    pairs = [(one, np.asarray(other)) for one, other in zip(found, wanted, strict=False)]
    error = max(float(np.abs(one - other).max() / max(1e-300, np.abs(other).max())) for one, other in pairs)
    if not (error < TOLERANCE and agree):
        fail(
            f"the ONNX file disagrees with the model by {error:.1e} of the largest score",
            "report this",
            "internal error",
        )
    return f"checked with onnxruntime: error {error:.0e}"


def _spread(model: Any) -> Any:
    covariance = model.get_covariance() if hasattr(model, "get_covariance") else getattr(model, "covariance_", None)
    return 1.0 if covariance is None else np.sqrt(np.maximum(np.diag(np.asarray(covariance)), 0.0))
