"""The laws of stored values: each word rejects what it says, sizes agree, and every stored value has a law."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import fields

import numpy as np
import pytest

import eigenlens
from eigenlens.errors import ModelFileError
from eigenlens.laws import ARRAY_WORDS, ENTRY_WORDS, TYPE_WORDS, check_law, check_laws, require
from eigenlens.layout import Layout, _stored_names

HALF = np.sqrt(0.5)
EXAMPLES = {
    "any": ("(*)", [np.nan, np.inf], None),
    "not NaN": ("(*)", [np.inf, 1.0], [np.nan]),
    "not infinite": ("(*)", [np.nan, 1.0], [-np.inf]),
    "finite": ("(*)", [-1.0, 0.0], [np.inf]),
    "positive": ("(*)", [1e-300], [1.0, 0.0]),
    "of a finite square": ("(*)", [-1e152], [1e154]),
    "infinite or of a finite square": ("(*) not NaN,", [-np.inf, 1e152], [1e154]),
    "between 1e-300 and 1e300": ("(*)", [1e-300, 1e300], [1e-301]),
    "0 or of a finite inverse square": ("(*)", [0.0, -1e-152], [1e-154]),
    "not negative": ("(*)", [0.0], [1.0, -1e-9]),
    "above 1": ("(*)", [1.1], [1.0]),
    "at most 1": ("(*)", [1.0, -3.0], [1.1]),
    "0 or 1": ("(*)", [0.0, 1.0], [0.5]),
    "descending": ("(*)", [3.0, 1.0, 1.0], [1.0, 2.0]),
    "never decreasing": ("(*)", [1.0, 1.0, 3.0], [2.0, 1.0]),
    "ascending": ("(*)", [1.0, 3.0], [1.0, 1.0]),
    "sum 1": ("(*)", [0.25, 0.75], [0.25, 0.76]),
    "orthonormal rows": ("(k, d)", [[HALF, HALF, 0.0], [0.0, 0.0, 1.0]], [[HALF, HALF, 0.0], [HALF, HALF, 0.0]]),
    "orthonormal columns": ("(d, k)", [[HALF, 0.0], [HALF, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.1, 1.0], [0.0, 0.0]]),
    "unit rows": ("(k, d)", [[HALF, HALF], [HALF, HALF]], [[1.0, 0.1]]),
    "unit columns": ("(k, d)", [[HALF, 1.0], [HALF, 0.0]], [[1.0, 1.0], [0.1, 0.0]]),
    "regular": ("(k, k)", [[1.0, 1.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]),
    "covariance": ("(d, d)", [[1.0, 1.0], [1.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]]),
    "positive definite": ("(d, d)", [[1.0, 0.9], [0.9, 1.0]], [[1.0, 1.0], [1.0, 1.0]]),
}
"""A shape for each word, values that obey it, and values that do not."""


@pytest.mark.parametrize("word", [*ENTRY_WORDS, *ARRAY_WORDS])
def test_a_word_rejects_what_it_says(word: str) -> None:
    shape, right, wrong = EXAMPLES[word]
    check_law("entry", f"{shape} {word}", np.array(right), {})
    if wrong is not None:
        with pytest.raises(ModelFileError, match=f"'entry' .*{word}"):
            check_law("entry", f"{shape} {word}", np.array(wrong), {})


@pytest.mark.parametrize("change", ["asymmetric", "negative", "NaN"])
def test_matrices_that_are_no_covariances(change: str) -> None:
    C = np.array([[2.0, 0.5], [0.5, 1.0]])
    C[0, 1] = {"asymmetric": 0.6, "negative": 0.5, "NaN": np.nan}[change]
    with pytest.raises(ModelFileError):
        check_law("C", "(d, d) covariance", -C if change == "negative" else C, {})


def test_orthonormal_rows_are_known_without_their_products() -> None:
    rng = np.random.default_rng(3)
    Q = np.linalg.qr(rng.normal(size=(200, 50)))[0].T
    check_law("V", "(k, d) orthonormal rows", Q, {})
    check_law("V", "(k, d) orthonormal rows", Q.astype(np.float32).astype(np.float64), {})
    for i, j in [(0, 0), (17, 120), (49, 199)]:
        V = Q.copy()
        V[i, j] += 1e-3
        with pytest.raises(ModelFileError, match="orthonormal rows"):
            check_law("V", "(k, d) orthonormal rows", V, {})


@pytest.mark.parametrize(("word", "right", "wrong"), [
    ("integer", np.arange(3), np.arange(3.0)),
    ("single or double", np.zeros(2, np.float32), np.zeros(2, np.int64)),
    ("number", np.zeros(2, np.int64), np.zeros(2, bool)),
    ("boolean", np.zeros(2, bool), np.zeros(2)),
    ("", np.zeros(2), np.zeros(2, np.float32)),
])  # fmt: skip
def test_types(word: str, right: np.ndarray, wrong: np.ndarray) -> None:
    assert word == "" or word in TYPE_WORDS
    check_law("x", f"(*) {word}", right, {})
    with pytest.raises(ModelFileError, match=f"'x' has the type {wrong.dtype}"):
        check_law("x", f"(*) {word}", wrong, {})


def test_letters_are_one_size_throughout() -> None:
    laws = {"mean": "(d) finite", "axes": "(k, d) finite", "values": "(k) finite", "edges": "(k+1) ascending"}
    good = {"mean": np.zeros(3), "axes": np.ones((2, 3)), "values": np.ones(2), "edges": np.arange(3.0)}
    assert check_laws(laws, good) == {"d": 3, "k": 2}
    for name, other in [
        ("mean", np.zeros(1)),
        ("axes", np.ones((3, 2))),
        ("values", np.ones(1)),
        ("edges", np.ones(2)),
    ]:
        with pytest.raises(ModelFileError, match="has shape"):
            check_laws(laws, good | {name: other})


def test_a_square_has_one_size() -> None:
    with pytest.raises(ModelFileError, match=r"'C' has shape \(2, 3\)"):
        check_law("C", "(d, d) finite", np.ones((2, 3)), {})


def test_alternatives_differ_by_shape() -> None:
    law = "() positive | (d) positive | (d, d) covariance"
    for value in (np.array(2.0), np.ones(3), np.eye(3)):
        check_law("noise", law, value, {"d": 3})
    with pytest.raises(ModelFileError, match=r"needs \(\) or \(3,\) or \(3, 3\)"):
        check_law("noise", law, np.ones(2), {"d": 3})


def test_numbers_of_columns_are_below_their_count() -> None:
    check_law("columns", "(o) integer, below d", np.array([0, 2]), {"d": 3})
    for wrong in (3, -1):
        with pytest.raises(ModelFileError, match=rf"'columns' holds {wrong} at \[1\], and must be from 0 to 2"):
            check_law("columns", "(o) integer, below d", np.array([0, wrong]), {"d": 3})


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ModelFileError, match="lacks 'b', 'c'"):
        require({"a": 1}, "a", "b", "c")


def layouts() -> dict[str, Layout]:
    found = {}
    for module in pkgutil.walk_packages(eigenlens.__path__, "eigenlens."):
        if module.name.endswith(("storage", "multinomial", "gaussian", "per_class_density")):
            for name, value in vars(importlib.import_module(module.name)).items():
                parts = [value, getattr(value, "layout", None)]
                found |= {f"{module.name}.{name}": each for each in parts if isinstance(each, Layout)}
    return found


@pytest.mark.parametrize("name", sorted(layouts()))
def test_every_stored_array_and_number_has_a_law(name: str) -> None:
    layout = layouts()[name]
    types = {each.name: str(each.type) for each in fields(layout.kind)}
    stored = {own for own, _ in _stored_names(layout.arrays)}
    stored |= {own for own, _ in _stored_names(layout.header) if types[own] in ("int", "float")}
    assert stored - set(getattr(layout.kind, "laws", {})) == set()


def test_laws_are_those_of_fields() -> None:
    for layout in layouts().values():
        assert set(getattr(layout.kind, "laws", {})) <= {each.name for each in fields(layout.kind)}
