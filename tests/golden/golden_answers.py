"""This module says what golden models are asked, and how their answers are kept and compared: by public names only.

`make.py` wrote down the answers of the version that saved the files; `test_golden_files.py` asks again.
"""

from __future__ import annotations

import copy
import dataclasses
import datetime
import gzip
import inspect
import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import safetensors.numpy
from scipy import sparse

import eigenlens

FILES = Path(__file__).parent / "files"
EXPECTED = Path(__file__).parent / "expected.safetensors.gz"

# ---- rows to ask about: literal numbers, so that they never change ------------------------------------------------

NAMES = ["länge", "幅", "poids (kg)", "β₁", "a b", "Ω"]
_HALF = np.array(
    [
        [0.31, -1.12, 0.47, 1.93, -0.25, 0.08],
        [-0.84, 0.59, -1.76, 0.22, 1.41, -0.67],
        [1.27, 0.16, 0.93, -0.38, -1.09, 1.55],
        [0.05, -0.43, -0.21, -1.64, 0.72, -1.18],
        [-1.58, 1.84, 1.35, 0.66, 0.19, 0.51],
    ]
)
ROWS = np.hstack([_HALF, _HALF[::-1]])
UNIT = np.round((ROWS + 2.0) / 4.0, 4)
ABSENT = np.array(
    [[0, 0, 1, 0, 0, 1], [1, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [0, 1, 0, 1, 0, 0]], dtype=bool
)
MISSING = np.where(np.hstack([ABSENT, ABSENT]), np.nan, ROWS)
COPIES = np.clip(np.rint(ROWS + 1.0), 0.0, 2.0)
LARGE = 2**60


def _people(drinks: list[Any], sizes: list[Any], kids: list[Any]) -> dict[str, Any]:
    return {
        "größe": [104.5, 171.25, None, 168.0, 181.5],
        "drink": drinks,
        "size": sizes,
        "kids": kids,
        "works": [True, False, True, True, False],
        "flag": [0.0, 1.0, 1.0, None, 0.0],
    }


def _people_pandas(columns: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(columns | {"size": pd.Categorical(columns["size"], categories=["S", "M", "L", "XL"])})


def _people_polars(columns: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(columns).with_columns(pl.col("size").cast(pl.Enum(["S", "M", "L", "XL"])))


KNOWN = _people(["tea", "Kaffee", None, "jus ☕", "tea"], ["S", "M", "L", None, "XL"], [0, 1, 2, 3, 1])
STRANGE = _people(["milk", "tea", "water", "Kaffee", None], ["XL", "L", "S", "M", "S"], [7, 2, 0, 9, 1])
NOON = datetime.datetime(2020, 2, 29, 12, 30)
LEVELS: dict[str, list[Any]] = {
    "bytes": [b"a", b"\xff\x00"],
    "tuples": [("a", 1), ("b", (2, 3))],
    "dates": [datetime.date(2020, 1, 1), datetime.date(2020, 2, 29)],
    "times": [NOON, NOON.replace(hour=13)],
    "mixed": [1, "1", 1.5],
    "floats": [0.1, float("inf")],
    "nothing": [True, False],
}


def level_frame(n: int) -> pd.DataFrame:
    """Return n rows whose columns are categories of odd types, each level in its turn."""
    columns = {}
    for step, (name, levels) in enumerate(LEVELS.items(), 1):
        values = np.empty(n, dtype=object)
        for i in range(n):
            values[i] = levels[(i // step) % len(levels)]
        categories = np.empty(len(levels), dtype=object)
        categories[:] = levels
        columns[name] = pd.Categorical(values, categories=pd.Index(categories, dtype=object, tupleize_cols=False))
    return pd.DataFrame(columns)


QUERIES: dict[str, Callable[[int], Any]] = {
    "rows": lambda d: ROWS[:, :d].copy(),
    "missing": lambda d: MISSING[:, :d].copy(),
    "float32": lambda d: ROWS[:, :d].astype(np.float32),
    "unit": lambda d: UNIT[:, :d].copy(),
    "sparse": lambda d: sparse.csr_array(np.where(np.abs(ROWS[:, :d]) > 0.5, ROWS[:, :d], 0.0)),
    "sparse counts": lambda d: sparse.csr_array(np.rint(np.abs(2.0 * ROWS[:, :d]))),
    "counts": lambda d: np.rint(np.abs(2.0 * ROWS[:, :d])),
    "copies": lambda d: np.where(np.hstack([ABSENT, ABSENT])[:, :d] & (ROWS[:, :d] > 0), np.nan, COPIES[:, :d]),
    "binary": lambda d: (ROWS[:, :d] > 0.0).astype(np.float64),
    "pandas": lambda d: pd.DataFrame(ROWS[:, :d], columns=NAMES[:d]),
    "pandas missing": lambda d: pd.DataFrame(MISSING[:, :d], columns=NAMES[:d]),
    "polars": lambda d: pl.DataFrame({name: ROWS[:, j] for j, name in enumerate(NAMES[:d])}),
    "kernel": lambda d: np.exp(-(np.subtract.outer(ROWS[:, 0], np.linspace(-1.0, 1.0, d)) ** 2)),
    "large integers": lambda d: np.array([[LARGE + 1, 3], [LARGE + 3, 5], [LARGE + 5, 3]]),
    "objects": lambda d: np.array([["a", 1.5], ["ß", 0.25], [None, 2.0], ["a", None]], dtype=object),
    "people": lambda d: _people_pandas(KNOWN),
    "strangers": lambda d: _people_pandas(STRANGE),
    "people polars": lambda d: _people_polars(KNOWN),
    "people arrow": lambda d: pa.table({name: pa.array(values) for name, values in KNOWN.items()}),
    "levels": lambda d: level_frame(6),
    "two-line names": lambda d: pd.DataFrame(
        ROWS[:, :d], columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)][:d])
    ),
}
"""Rows to ask about by name, as functions of the number of columns."""


# ---- what is asked --------------------------------------------------------------------------------------------------


def _values(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def _there_and_back(model: Any, X: Any) -> Any:
    return model.inverse_transform(model.transform(X))


def _orthogonal(model: Any, X: Any) -> Any:
    if not hasattr(model, "posterior"):
        raise AttributeError("only latent Gaussian models have another way back")
    return model.inverse_transform(model.transform(X), method="orthogonal")


def _of_one_column(model: Any, X: Any) -> Any:
    return model.marginal([0]).log_density(_values(X)[:, :1])


def _of_the_others(model: Any, X: Any) -> Any:
    condition = model.condition  # an AttributeError, before X is looked at
    values = _values(X)
    return condition([0], [values[0, 0]]).log_density(values[:, 1:])


def _densities(model: Any, X: Any) -> Any:
    if not isinstance(model, eigenlens.KernelDensity):
        raise AttributeError("density means something else here")
    return model.density(X)


def _going_on(model: Any, X: Any) -> Any:
    """Return what the model says after more rows: a file holds what `partial_fit` needs, for those that go on."""
    more = copy.deepcopy(model)
    classes = getattr(model, "classes_", None)
    if classes is not None:
        return more.partial_fit(X, classes[np.arange(X.shape[0]) % len(classes)]).predict_log_proba(X)
    more.partial_fit(X)
    return more.score_samples(X), more.n_samples_, getattr(more, "n_iter_", None)


OF_ROWS: dict[str, Callable[[Any, Any], Any]] = {
    **{
        name: lambda model, X, name=name: getattr(model, name)(X)
        for name in (
            "transform", "reconstruction_error", "contributions", "cos2", "score_samples", "posterior",
            "predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "decision_function", "explain",
            "cdf", "derivative", "denoise", "bic", "icl",
        )
    },
    "inverse_transform": _there_and_back,
    "inverse_transform orthogonal": _orthogonal,
    "scores bartlett": lambda model, X: model.scores(X, method="bartlett"),
    "impute": lambda model, X: model.impute(X, return_std=True),
    "density": _densities,
    "marginal": _of_one_column,
    "condition": _of_the_others,
    "partial_fit": _going_on,
}  # fmt: skip
"""What is asked about rows, by name."""


def _attributes(model: Any) -> dict[str, Any]:
    """Return the learned attributes, but for frozen models, whose fields are no promise."""
    names = {*dir(type(model)), *vars(model)} - {"model_", "densities_"}
    found = {}
    for name in sorted(name for name in names if name.endswith("_") and not name.startswith("_")):
        try:
            found[name] = getattr(model, name)
        except AttributeError:  # not of this fit
            continue
    return found


def _levels(model: Any) -> list[str]:
    if not isinstance(model, eigenlens.NaiveBayes):
        raise AttributeError("only naive Bayes has columns of levels")
    columns = range(model.n_features_in_)
    return [repr(getattr(model.density(j, model.classes_[0]), "levels", None)) for j in columns]


def _labelled(model: Any) -> dict[str, bool]:
    return {"return_labels": True} if hasattr(model, "classes_") else {}


OF_MODELS: dict[str, Callable[[Any], Any]] = {
    "attributes": _attributes,
    "sample": lambda model: model.sample(4, random_state=7, **_labelled(model)),
    "get_covariance": lambda model: model.get_covariance(),
    "get_precision": lambda model: model.get_precision(),
    "get_feature_names_out": lambda model: model.get_feature_names_out(),
    "correlations": lambda model: model.correlations(),
    "contributions of columns": lambda model: model.contributions(None),
    "goodness_of_fit": lambda model: model.goodness_of_fit(),
    "aic and bic": lambda model: (model.aic(), model.bic()),
    "ppf": lambda model: model.ppf([0.05, 0.5, 0.9]),
    "levels": _levels,
}
"""What is asked about a model alone, by name."""


def ask(model: Any, query: str, question: str) -> dict[str, Any]:
    """Return the arrays and texts of one answer, by their places in it; `query` is "" for a model alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (eigenlens.DataWarning, eigenlens.ConvergenceWarning))
        if not query:
            answer = OF_MODELS[question](model)
        else:
            answer = OF_ROWS[question](model, QUERIES[query](model.n_features_in_))
    return dict(_leaves(answer, ""))


def answers(model: Any, queries: list[str]) -> dict[str, Any]:
    """Return every answer that the model gives; those that it rejects, or has no method for, are left out."""
    asked = [("", name) for name in OF_MODELS] + [(query, name) for query in queries for name in OF_ROWS]
    found = {}
    for query, question in asked:
        try:
            leaves = ask(model, query, question)
        except (eigenlens.EigenlensError, AttributeError):
            continue
        found |= {f"{query}/{question}/{leaf}": value for leaf, value in leaves.items()}
    return found


# ---- answers as arrays and texts ------------------------------------------------------------------------------------


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Yield the arrays of numbers and the texts that an answer is made of, each with its place."""
    if dataclasses.is_dataclass(value):
        parts = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    elif isinstance(value, Mapping):
        parts = dict(value)
    elif hasattr(value, "columns"):
        names, columns = _columns(value)
        yield f"{place}.names", [type(value).__module__.split(".")[0], *map(str, names)]
        parts = {str(j): np.asarray(column) for j, column in enumerate(columns)}
    elif isinstance(value, tuple | list) and not all(isinstance(part, str) for part in value):
        parts = {str(i): part for i, part in enumerate(value)}
    else:
        yield place, _leaf(value)
        return
    for name, part in parts.items():
        yield from _leaves(part, f"{place}.{name}" if place else name)


def _columns(frame: Any) -> tuple[list[Any], list[Any]]:
    """Return the names and the columns of a frame of pandas, Polars or Arrow."""
    if hasattr(frame, "iloc"):
        return list(frame.columns), [frame.iloc[:, j] for j in range(frame.shape[1])]
    if hasattr(frame, "get_columns"):
        return frame.columns, frame.get_columns()
    return frame.column_names, frame.columns


def _leaf(value: Any) -> Any:
    """Return numbers as an array, anything else as JSON values: a text array as its kind and its entries."""
    if value is None or isinstance(value, str | list | tuple):
        return list(value) if isinstance(value, tuple) else value
    array = np.asarray(value)
    if array.dtype.kind in "fiub":
        return np.ascontiguousarray(array)
    if array.dtype.kind == "M":  # versions of pandas differ in the unit, and nanoseconds are no datetimes of Python
        array = array.astype("datetime64[us]")
    return [array.dtype.kind, [entry if isinstance(entry, str) else repr(entry) for entry in array.ravel().tolist()]]


def parameters(value: Any) -> Any:
    """Return the parameters of an estimator, or one of them, as JSON values."""
    if hasattr(value, "get_params"):
        given = value.get_params(deep=False)
        return {"class": type(value).__name__} | {name: parameters(given[name]) for name in sorted(given)}
    if dataclasses.is_dataclass(value):
        given = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {"class": type(value).__name__} | {name: parameters(entry) for name, entry in given.items()}
    if isinstance(value, Mapping):
        return {"pairs": [[parameters(key), parameters(entry)] for key, entry in value.items()]}
    if isinstance(value, tuple | list | np.ndarray):
        return [parameters(entry) for entry in value]
    return value if value is None or isinstance(value, str | bool | int | float) else repr(value)


def as_recorded(given: Any, recorded: Any) -> Any:
    """Return parameters as JSON values without those that are newer than the record and have their default values."""
    if isinstance(given, list) and isinstance(recorded, list) and len(given) == len(recorded):
        return [as_recorded(*pair) for pair in zip(given, recorded, strict=True)]
    if not isinstance(given, dict) or not isinstance(recorded, dict):
        return given
    name = str(given.get("class"))
    kind = getattr(eigenlens, name, None) or getattr(eigenlens.densities, name, None)
    defaults = {} if kind is None else inspect.signature(kind).parameters
    kept = {
        name: value
        for name, value in given.items()
        if name in recorded or name not in defaults or parameters(defaults[name].default) != value
    }
    return {name: as_recorded(value, recorded.get(name)) for name, value in kept.items()}


TOLERANCE = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-6}
LEAST = 1e-20
"""What is as small as this in numbers near 1 is rounding, such as the error of all components together."""

EXCEPTIONS = {
    "factor-analysis*/*get_precision/*": 1e-7,  # Heywood cases: subtraction had lost digits in the recorded answers
    "*/partial_fit/*": 1e-7,  # further steps of a search, which ends by a tolerance of its own
    "naive-bayes*kde*": 1e-8,  # sums of Gaussian kernels may have this error
    "bayes-classifier-ppca-all-on-a-line/*": 1e-6,  # a covariance that is singular but for a floor
}
"""Tolerances of answers that may differ more between processors and libraries, by `<model>/<query>/<question>/`."""


def tolerance(key: str) -> float:
    """Return the least relative tolerance of the numbers of an answer."""
    return max((tol for pattern, tol in EXCEPTIONS.items() if fnmatch(key, pattern)), default=0.0)


def difference(found: Any, expected: Any, least: float = 0.0) -> str:
    """Return what is different between two answers, "" for nothing: labels exactly, numbers up to rounding.

    Rounding is the dtype's tolerance, or `least`, times the number or the largest finite number of the array.
    """
    if not isinstance(expected, np.ndarray) or not isinstance(found, np.ndarray):
        same = type(found) is type(expected) and found == expected
        return "" if same else f"{found!r} is not {expected!r}"
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return f"{found.dtype}{found.shape} is not {expected.dtype}{expected.shape}"
    if expected.dtype in TOLERANCE:
        tol = max(TOLERANCE[expected.dtype], least)
        size = float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0))
        close = np.isclose(found, expected, rtol=tol, atol=tol * size + LEAST, equal_nan=True)
    else:
        close = np.asarray(found == expected)
    if close.all():
        return ""
    place = tuple(int(i[0]) for i in np.nonzero(~close)) if close.ndim else ()
    return f"{int((~close).sum())} of {close.size} numbers differ, first {found[place]!r} is not {expected[place]!r}"


# ---- what is expected, in one file ----------------------------------------------------------------------------------


def write_expected(records: Mapping[str, Mapping[str, Any]], path: Path = EXPECTED) -> None:
    """Write the records of all models: arrays by `<model>/<query>/<question>/<place>`, all else as JSON beside them."""
    arrays, rest = {}, {}
    for name, record in records.items():
        texts = {key: value for key, value in record["answers"].items() if not isinstance(value, np.ndarray)}
        arrays |= {f"{name}/{key}": value for key, value in record["answers"].items() if key not in texts}
        rest[name] = {**record, "answers": texts}
    data = safetensors.numpy.save(arrays, metadata={"records": json.dumps(rest)})
    path.write_bytes(gzip.compress(data, mtime=0))


def read_expected() -> dict[str, dict[str, Any]]:
    """Return class, parameters, queries and answers of each model by its name, of the first files and of later ones."""
    records: dict[str, dict[str, Any]] = {}
    for path in sorted(EXPECTED.parent.glob("expected*.safetensors.gz")):
        data = gzip.decompress(path.read_bytes())
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        records |= json.loads(header["__metadata__"]["records"])
        for key, array in safetensors.numpy.load(data).items():
            name, _, question = key.partition("/")
            records[name]["answers"][question] = array
    return records
