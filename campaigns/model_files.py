"""Model files that were changed on purpose, with right checksums: each is a model, or a clear error.

A case fits a small model, saves it, changes one thing in the file (an array, an entry of the header, the envelope or
the container), makes every checksum right again, and loads it. There are two kinds of changes: what no model can have
(`BREAKS`: another shape, a NaN, a text for a number, …) must be rejected or change no answer, and what another model
may have (`VALUES`: a larger number, another order) must be rejected where a law forbids it (`LAWS`).
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
import struct
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import eigenlens
from campaigns.base import Outcome, Result, case_rng
from campaigns.fitted_models import MODELS, answers, fitted
from eigenlens.errors import ModelFileError

LIMIT = 60.0

DTYPES = {"F64": "f8", "F32": "f4", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1", "U8": "u1", "BOOL": "?"}
STORED = {np.dtype(kind): name for name, kind in DTYPES.items()}


# ---- files by hand --------------------------------------------------------------------------------------------------


class Content:
    """What a file holds: its envelope, its arrays, and what the container says of each, if not the truth."""

    def __init__(self, data: bytes) -> None:
        end = 8 + struct.unpack("<Q", data[:8])[0]
        entries = json.loads(data[8:end])
        self.envelope: dict[str, Any] = json.loads(entries.pop("__metadata__")["eigenlens"])
        self.arrays = {
            name: np.frombuffer(data[end + a : end + b], DTYPES[entry["dtype"]]).reshape(entry["shape"]).copy()
            for name, entry in sorted(entries.items())
            for a, b in [entry["data_offsets"]]
        }
        self.claims: dict[str, dict[str, Any]] = {}
        self.text: str | None = None

    def to_bytes(self) -> bytes:
        """Return the file, with right offsets and a right digest."""
        entries, body = {}, b""
        for name, array in sorted(self.arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0])):
            offsets = [len(body), len(body) + array.nbytes]
            entries[name] = {"dtype": STORED[array.dtype], "shape": list(array.shape), "data_offsets": offsets}
            entries[name] |= self.claims.get(name, {})
            body += array.tobytes()
        self.envelope["digest"] = self._digest()
        text = self.text or json.dumps(self.envelope, separators=(",", ":"))
        head = json.dumps({"__metadata__": {"eigenlens": text}} | entries, separators=(",", ":")).encode()
        head += b" " * (-len(head) % 8)
        return struct.pack("<Q", len(head)) + head + body

    def _digest(self) -> str:
        claims = {key: value for key, value in self.envelope.items() if key != "digest"}
        sha = hashlib.sha256(json.dumps(claims, sort_keys=True, separators=(",", ":")).encode() + b"\n")
        for name, array in sorted(self.arrays.items()):
            said = self.claims.get(name, {})
            kind = np.dtype(DTYPES.get(said.get("dtype", ""), array.dtype)).name
            about = [name, kind, said.get("shape", list(array.shape))]
            sha.update(json.dumps(about, separators=(",", ":")).encode() + b"\n" + array.tobytes())
        return sha.hexdigest()


@cache
def original(name: str) -> bytes:
    """Return the file of a fitted model."""
    with tempfile.TemporaryDirectory() as folder:
        fitted(name).save(Path(folder) / "model.safetensors")
        return (Path(folder) / "model.safetensors").read_bytes()


@cache
def expectations(name: str) -> dict[str, Any]:
    """Return what the unchanged file answers."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        path.write_bytes(original(name))
        return dict(answers(name, eigenlens.load(path)))


# ---- changes of arrays ----------------------------------------------------------------------------------------------


def _entry(value: float) -> Callable[[Any, Any], Any]:
    """Return a change of one entry of an array to a value."""

    def change(array: Any, rng: np.random.Generator) -> Any:
        if not array.size or (array.dtype.kind != "f" and not np.isfinite(value)):
            return None
        changed = array.copy()
        with np.errstate(all="ignore"):
            changed.flat[rng.integers(array.size)] = np.float64(value).astype(array.dtype)
        return changed

    return change


def _order(array: Any, rng: np.random.Generator) -> Any:
    return array[rng.permutation(len(array))] if array.ndim and len(array) > 1 else None


def _retyped(array: Any, rng: np.random.Generator) -> Any:
    kind = str(rng.choice([each for each in ("f8", "f4", "i8", "i4", "u1", "?") if np.dtype(each) != array.dtype]))
    with np.errstate(all="ignore"):
        return array.astype(kind)


ARRAY_BREAKS: dict[str, Callable[[Any, Any], Any]] = {
    "NaN": _entry(np.nan),
    "inf": _entry(np.inf),
    "-inf": _entry(-np.inf),
    "all NaN": lambda array, rng: np.full_like(array, np.nan) if array.dtype.kind == "f" and array.size else None,
    "one less": lambda array, rng: array[:-1] if array.ndim and len(array) else None,
    "one more": lambda array, rng: np.concatenate([array, array[-1:]]) if array.ndim and len(array) else None,
    "one column less": lambda array, rng: array[..., :-1] if array.ndim > 1 and array.shape[-1] else None,
    "one column more": lambda array, rng: np.concatenate([array, array[..., -1:]], -1) if array.ndim > 1 else None,
    "first only": lambda array, rng: array[:1] if array.ndim and len(array) > 1 else None,
    "empty": lambda array, rng: array.ravel()[:0] if array.size else None,
    "0-d": lambda array, rng: array.ravel()[0].reshape(()) if array.ndim and array.size else None,
    "flat": lambda array, rng: array.ravel() if array.ndim > 1 else None,
    "one axis more": lambda array, rng: array[None],
    "transposed": lambda array, rng: array.T.copy() if array.ndim == 2 and array.shape != array.T.shape else None,
    "dtype": _retyped,
}
"""Changes that no model can have; None where the array has no such change."""

ARRAY_VALUES: dict[str, Callable[[Any, Any], Any]] = {
    "negative": lambda array, rng: -array if array.dtype.kind in "fi" and array.any() else None,
    "one negative": lambda array, rng: _entry(-1.5)(array, rng) if array.dtype.kind in "fi" else None,
    "zero": lambda array, rng: np.zeros_like(array) if array.any() else None,
    "one zero": _entry(0.0),
    "huge": _entry(1e300),
    "large integer": lambda array, rng: _entry(2.0**31 - 1)(array, rng),
    "tiny": _entry(1e-300),
    "smallest": _entry(5e-324),
    "largest": _entry(1.7e308),
    "square overflows": _entry(1e155),
    "times 3": lambda array, rng: (array * 3).astype(array.dtype),
    "reversed": lambda array, rng: array[::-1].copy() if array.ndim and len(array) > 1 else None,
    "other order": _order,
    "noise": lambda array, rng: array + rng.normal(size=array.shape) if array.dtype == np.float64 else None,
}
"""Changes that another model may have, where no law forbids it."""


# ---- changes of the header ------------------------------------------------------------------------------------------


def _nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


HEADER_BREAKS: dict[str, Any] = {
    "null": None,
    "true": True,
    "text": "something else",
    "empty text": "",
    "list": [],
    "object": {},
    "odd object": {"a": 1},
    "float of words": {"$float": "nine"},
    "nan": {"$float": "nan"},
    "inf": {"$float": "inf"},
    "deep": "DEEP",
    "-1": -1,
    "huge integer": 2**70,
    "huge": 1e308,
    "half": 0.5,
}
HEADER_VALUES: dict[str, Any] = {"0": 0, "1": 1, "2": 2, "7": 7, "2**31": 2**31, "1e308": 1e308}


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of all values within a JSON value."""
    if path:
        yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from _paths(inner, (*path, key))


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


# ---- cases ----------------------------------------------------------------------------------------------------------


class Case:
    """One change of one file: the file's name, what was changed and how, the bytes, and whether no model can be so."""

    def __init__(self, seed: int, number: int) -> None:
        self.rng = case_rng(seed, number)
        self.model = str(self.rng.choice(list(MODELS)))
        self.content, self.breaks, self.entry, self.change = Content(original(self.model)), True, "", ""
        kinds = [self.change_array] * 9 + [self.change_header] * 9 + [self.change_envelope, self.change_container]
        while not self.change:
            kinds[self.rng.integers(len(kinds))]()
        self.data = self.content.to_bytes()

    def __str__(self) -> str:
        return f"{self.model}: {self.entry} {self.change}"

    def _pick(self, options: Any) -> Any:
        return options[self.rng.integers(len(options))]

    def change_array(self) -> None:
        """Change, remove, add or exchange arrays."""
        arrays = self.content.arrays
        if not arrays:
            return
        self.entry, kind = self._pick(sorted(arrays)), self.rng.random()
        if kind < 0.05:
            del arrays[self.entry]
            self.change = "removed"
        elif kind < 0.1:
            arrays[f"{self.entry}_more"], self.change = arrays[self.entry], "copied"
        elif kind < 0.2 and len(arrays) > 1:
            other = self._pick([name for name in sorted(arrays) if name != self.entry])
            arrays[self.entry], arrays[other] = arrays[other], arrays[self.entry]
            self.change, self.breaks = f"exchanged with {other}", arrays[self.entry].shape != arrays[other].shape
        else:
            self.breaks = self.rng.random() < 0.6
            table = ARRAY_BREAKS if self.breaks else ARRAY_VALUES
            self._apply(self._pick(list(table)), table)

    def _apply(self, change: str, table: dict[str, Any]) -> None:
        before = self.content.arrays[self.entry]
        after = table[change](before, self.rng)
        if after is None or (
            after.dtype == before.dtype and np.array_equal(before, after, equal_nan=before.dtype.kind == "f")
        ):
            return
        self.content.arrays[self.entry], self.change = np.ascontiguousarray(after).reshape(after.shape), change

    def change_header(self) -> None:
        """Replace, remove or exchange entries of the header, anywhere within it."""
        header = self.content.envelope["header"]
        path = self._pick(list(_paths(header)))
        place, old, kind = _at(header, path[:-1]), _at(header, path), self.rng.random()
        self.entry = f"header{''.join(f'[{key!r}]' for key in path)}={json.dumps(old)[:40]}"
        if kind < 0.1:
            del place[path[-1]]
            self.change = "removed"
        elif kind < 0.15 and isinstance(place, list):
            place.append(copy.deepcopy(old))
            self.change = "repeated"
        else:
            self.breaks = self.rng.random() < 0.75
            table = HEADER_BREAKS if self.breaks else HEADER_VALUES
            name = self._pick(list(table))
            new = _nested(self._pick([20, 300, 900])) if table[name] == "DEEP" else table[name]
            if type(new) is type(old) or (isinstance(old, int | float) and isinstance(new, int | float)):
                self.breaks = False  # of the right type: whether the value is possible, laws say
            if json.dumps(new) != json.dumps(old):
                place[path[-1]], self.change = new, name

    def change_envelope(self) -> None:
        """Change the class, the format or the version."""
        envelope = self.content.envelope
        names = sorted(
            {"PCA", "KernelDensity", "GaussianMixture", "NaiveBayes", "FactorAnalysis", "Nothing", "dict", ""}
        )
        changes = [
            ("kind", self._pick([each for each in names if each != envelope["kind"]])),
            ("kind", self._pick([None, 3, ["PCA"]])),
            ("format", self._pick([0, -1, True, 2, 2**70, "1", None, 1.0])),
            ("version", self._pick([None, 1, "", "9" * 1000])),
            ("header", self._pick([None, [], {}, "x", 1])),
            ("more", 1),
        ]
        self.entry, value = self._pick(changes)
        envelope[self.entry], self.change = value, f"is {str(value)[:30]!r}"
        self.breaks = self.entry not in ("version", "more")

    def change_container(self) -> None:
        """Let the container say something else of an array than what is there."""
        arrays = self.content.arrays
        self.entry = self._pick(sorted(arrays))
        shape, size = list(arrays[self.entry].shape), arrays[self.entry].nbytes
        claims: list[dict[str, Any]] = [
            {"shape": [2**40, *shape]}, {"shape": [-1, *shape]}, {"shape": [0, 2**62]}, {"shape": [2**32, 2**32]},
            {"shape": [1.0]}, {"shape": None}, {"dtype": "F8_E5M2"}, {"dtype": "BF16"}, {"dtype": "X"}, {"dtype": 3},
            {"data_offsets": [0, 2**62]}, {"data_offsets": [2**62, 2**62 + size]}, {"data_offsets": [size, 0]},
            {"data_offsets": None}, {"data_offsets": [-8, size - 8]}, {"data_offsets": [0]},
        ]  # fmt: skip
        claim = self._pick(claims)
        if claim.get("shape") == [0, 2**62]:
            arrays[self.entry] = arrays[self.entry].ravel()[:0]
        self.content.claims[self.entry], self.change = claim, f"claims {claim}"


LAWS: list[tuple[str, str]] = [
    (r"(?!lda|qda|bayes).*:(scale|bandwidths?|scales|feature_weight|edges)", "negative|zero"),
    (r"(?!lda|qda|bayes).*:(scale|bandwidths?|scales|feature_weight)", "one negative|one zero"),
    (r"(pca|lda|qda):(components|axes)", "zero|times 3|noise|huge|one negative"),
    (r".*:(variances|eigenvalues|along|column_variances|noise|uniquenesses)", "negative|one negative"),
    (r".*:(noise|uniquenesses|along|covariances|entries|spread)", "zero"),
    (r"(pca|kpca):(eigenvalues|variances)", "reversed"),
    (r".*:(prior|probabilities)|gmm:weights", "negative|one negative|huge|zero|times 3|noise"),
    (r".*:(covariances|entries|spread|square|scatter|counts|weights?|rows_shape)", "negative"),
    (r".*:(y|columns|rows_indices|rows_indptr|constant|held)", "negative|large integer|times 3"),
    (r".*:edges", "reversed|other order"),
    (r"(ppca|fa):(noise|uniquenesses)", "smallest|largest"),
    (r"(fa|pca):turn", "huge|largest|smallest|square overflows|times 3"),
    (r"(?!kde-matrix).*:bandwidths?", "smallest|largest|tiny|huge|square overflows"),
]
"""Kinds of models and the last parts of names of arrays; and the changes of `ARRAY_VALUES` that none can have there."""

OTHER_MODELS: list[tuple[str, str]] = [
    (r"(ppca|fa|bayes):loadings", "one column (more|less)"),
    (r"kde:bounds", "-?inf"),
    (r"nb:values", "NaN|all NaN"),
    (r".*:residuals", "empty"),
    (r"kpca:scale", "removed"),
    (r".*:header\['parameters'\].*'\$\$estimator'\].*", ".*"),
    (r".*:header\['parameters'\].*", "removed"),
    (r".*:header\['parameters'\].*", "null"),
    *(
        (rf".*:header\['parameters'\]\['({names})'\]", others)
        for names, others in (
            ("random_state", "huge integer"),
            ("shrinkage|n_landmarks", "half"),
            ("gamma|sigma|bandwidth|max_memory", "half|huge|huge integer"),
            ("max_nodes", "huge integer"),
            ("rotation_options", "object"),
            ("kernel_params", "(odd )?object"),
        )
    ),
    (r"kde:header\['parameters'\]\['bounds'\].*", "half|huge"),
    (r"bayes:header\['family'\]\[1\]\['sigma'\].*", "half|huge|huge integer"),
    (r".*:header\['(groups|fields)'\].*|.*:header\['classes'\].*", ".*"),
]
"""Changes of `ARRAY_BREAKS` and `HEADER_BREAKS` that other models have nevertheless: fewer latent dimensions, a column
without a bound, a missing value, an accuracy that is not known, columns in other units, options of an
estimator for later fits, which checks them itself (also options of a kernel that it does not take, which files of the
first format have), the default of an option, options that take values of
several types, categories and names of columns."""


def forbidden(case: Case) -> bool:
    """Return whether no model can have a change."""
    # One entry of a matrix may be in other units than the rest, so that model has a kind of its own.
    kind = case.model if case.model == "kde-matrix" else case.model.partition("-")[0]
    last = case.entry.partition("=")[0].rpartition(".")[2]
    listed = OTHER_MODELS if case.breaks else LAWS
    found = any(re.fullmatch(at, f"{kind}:{last}") and re.fullmatch(how, case.change) for at, how in listed)
    if case.breaks:
        return not found
    return found and case.content.arrays[case.entry].size > 1


def describe(seed: int, number: int) -> str:
    """Return what is changed."""
    return f"python -m campaigns model-files --seed {seed} --first {number} --cases 1 --show"


def run_case(seed: int, number: int) -> Result:
    """Load a changed file, ask the model about rows, and judge the result."""
    case = Case(seed, number)
    call = f"{describe(seed, number)}  # {case}"
    try:
        return _result(case, call)
    except Exception as error:  # of the model that was loaded
        return Result(Outcome.FOREIGN, call, f"{type(error).__name__} after the load: {error}")


def _result(case: Case, call: str) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "changed.safetensors"
        path.write_bytes(case.data)
        try:
            model = eigenlens.load(path)
        except ModelFileError as error:
            named = "changed.safetensors" in str(error)
            return Result(Outcome.CLEAR if named else Outcome.VAGUE, call, str(error))
        except eigenlens.EigenlensError as error:
            return Result(Outcome.VAGUE, call, f"{type(error).__name__}: {error}")
        except Exception as error:
            return Result(Outcome.FOREIGN, call, f"{type(error).__name__}: {error}")
    found, expected = dict(answers(case.model, model)), expectations(case.model)
    for question, answer in found.items():
        if _nan_count(answer) > _nan_count(expected[question]):
            return Result(Outcome.NAN, call, f"{question} has NaN")
    differs = [question for question, answer in found.items() if not _same(answer, expected[question])]
    if differs and forbidden(case):
        return Result(Outcome.WRONG, call, f"accepted; other answers: {', '.join(differs)}")
    return Result(Outcome.OK, call, f"other answers: {', '.join(differs)}" if differs else "equal")


def _nan_count(answer: Any) -> int:
    array = np.asarray(answer) if isinstance(answer, np.ndarray | float) else np.zeros(0)
    return int(np.isnan(array).sum()) if array.dtype.kind == "f" else 0


def _same(answer: Any, expected: Any) -> bool:
    if not isinstance(answer, np.ndarray):
        return repr(answer) == repr(expected)
    if answer.shape != np.shape(expected) or answer.dtype != expected.dtype:
        return False
    if answer.dtype.kind != "f":
        return bool(np.array_equal(answer, expected))
    return bool(np.allclose(answer, expected, rtol=1e-9, atol=1e-12, equal_nan=True))
