"""The laws of stored values: shapes, types, signs and sums, stated beside the fields of a class, and checked at a load.

A law is a text: the shape in letters, then words, of which `WORDS` has all. Equal letters are equal sizes, "*" is any.

    laws = {"components": "(k, d) orthonormal rows", "variances": "(k) not negative, descending", "total": "positive"}

Relations between fields are functions, by the sentence that a file with another one is reported with.

    relations = {"'variances' have a sum above 'total'": lambda model: model.variances.sum() <= model.total}

"|" separates alternatives of different shapes, "(d) positive | (d, d) covariance". Arrays hold finite float64 unless a
word says otherwise. Every check costs O(size), except of a
matrix that is factored for use anyway.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import ModelFileError

Laws = Mapping[str, str]
"""Laws of values by the names of these."""

Relations = Mapping[str, Callable[[Any], Any]]
"""Whether relations hold between the fields of a value, by what is wrong where they do not."""

SUM_TOLERANCE, ORTHONORMAL_TOLERANCE, ORDER_TOLERANCE = 1e-6, 1e-6, 1e-9
"""How far sums may be from 1 and products from 0 or 1, and values above the one before, as a share of the largest."""


MAX_CONDITION = 1e12
"""Matrices of a larger condition number are taken to be singular."""

MAX_ROOT = 1e153
"""Numbers below this have squares, and sums of a hundred squares, that are finite."""


PATH_RELATIONS: Relations = {
    "'path' has more steps than 'n_iter'": lambda fit: len(fit.path) <= fit.n_iter + 1,
}
"""What holds of the log-likelihood after each accepted step of an iteration, and the number of all steps."""


def _is_finite(x: Array) -> Array:
    return np.isfinite(x) if x.dtype.kind == "f" else np.ones(x.shape, dtype=bool)


def _is_descending(x: Array) -> bool:
    return bool(np.all(np.diff(x) <= ORDER_TOLERANCE * np.abs(x).max(initial=0.0)))


def _has_orthonormal_rows(V: Array) -> bool:
    """Return whether V Vᵀ = I, by its product with a random vector: V Vᵀ itself would cost more than reading V."""
    g = np.random.default_rng(0).standard_normal(len(V))
    return bool(np.all(np.abs(V @ (V.T @ g) - g) <= ORTHONORMAL_TOLERANCE * (1.0 + np.linalg.norm(g))))


def _has_unit_rows(V: Array) -> bool:
    return bool(np.all(np.abs(np.einsum("ij,ij->i", V, V) - 1.0) <= ORTHONORMAL_TOLERANCE))


def _is_regular(T: Array) -> bool:
    """Return whether a matrix (k, k) can be inverted without losing all digits."""
    return not T.size or bool(np.linalg.cond(T) < MAX_CONDITION)


def _is_covariance(C: Array) -> bool:
    """Return whether matrices (..., d, d) are symmetric with c_ij² ≤ c_ii c_jj."""
    variance = np.einsum("...ii->...i", C)
    deviation = np.sqrt(np.maximum(variance, 0.0))
    most = deviation[..., :, None] * deviation[..., None, :]
    symmetric = np.abs(C - np.swapaxes(C, -2, -1)) <= SUM_TOLERANCE * most
    return bool(np.all(variance >= 0.0) and np.all(symmetric) and np.all(np.abs(C) <= most * (1.0 + SUM_TOLERANCE)))


def _is_positive_definite(C: Array) -> bool:
    """Return whether matrices (..., d, d) are covariances that can be factored, at the cost d³ / 3 of a first use."""
    try:
        return _is_covariance(C) and bool(np.all(np.isfinite(np.linalg.cholesky(C))))
    except np.linalg.LinAlgError:
        return False


ENTRY_WORDS: dict[str, Callable[[Array], Array]] = {
    "any": lambda x: np.ones(x.shape, dtype=bool),
    "not NaN": lambda x: ~np.isnan(x),
    "not infinite": lambda x: ~np.isinf(x),
    "finite": _is_finite,
    "positive": lambda x: x > 0.0,
    "of a finite square": lambda x: np.abs(x) < np.float64(MAX_ROOT),
    "0 or of a finite inverse square": lambda x: (x == 0.0) | (np.abs(x) > np.float64(1.0 / MAX_ROOT)),
    "between 1e-300 and 1e300": lambda x: (x >= 1e-300) & (x <= 1e300),
    "infinite or of a finite square": lambda x: np.isinf(x) | (np.abs(x) < np.float64(MAX_ROOT)),
    "not negative": lambda x: x >= 0.0,
    "above 1": lambda x: x > 1.0,
    "at most 1": lambda x: x <= 1.0,
    "0 or 1": lambda x: (x == 0.0) | (x == 1.0),
}
"""Words about each entry."""

ARRAY_WORDS: dict[str, Callable[[Array], bool]] = {
    "descending": _is_descending,
    "never decreasing": lambda x: _is_descending(-x),
    "ascending": lambda x: bool(np.all(np.diff(x) > 0)),
    "sum 1": lambda x: bool(abs(x.sum() - 1.0) <= SUM_TOLERANCE),
    "orthonormal rows": _has_orthonormal_rows,
    "orthonormal columns": lambda x: _has_orthonormal_rows(x.T),
    "unit rows": _has_unit_rows,
    "unit columns": lambda x: _has_unit_rows(x.T),
    "regular": _is_regular,
    "covariance": _is_covariance,
    "positive definite": _is_positive_definite,
}
"""Words about an array as a whole."""

TYPE_WORDS: dict[str, str] = {"integer": "iu", "single or double": "f", "number": "fiu", "boolean": "b"}
"""Words about the kinds of dtypes that an array may have, in place of float64."""

WORDS = (*ENTRY_WORDS, *ARRAY_WORDS, *TYPE_WORDS, "below <letter>")
"""All words of laws."""


def check_law(name: str, law: str, value: Any, sizes: dict[str, int]) -> None:
    """Raise a `ModelFileError` that names the entry unless its value obeys the law; letters get their sizes.

    >>> sizes = {}
    >>> check_law("variances", "(k) not negative, descending", np.array([2.0, 1.0]), sizes)
    >>> sizes
    {'k': 2}
    >>> check_law("mean", "(k) finite", np.zeros(3), sizes)
    Traceback (most recent call last):
      ...
    eigenlens.errors.ModelFileError: 'mean' has shape (3,), and the rest of the file needs (2,).
    """
    array, alternatives = np.asarray(value), [_parse(each) for each in law.split(" | ")]
    fitting = [each for each in alternatives if _fits(array.shape, each[0], sizes)]
    if not fitting:
        needed = " or ".join(_describe(shape, sizes) for shape, _ in alternatives)
        raise ModelFileError(f"{name!r} has shape {array.shape}, and the rest of the file needs {needed}")
    shape, words = fitting[0]
    _check_type(name, array, words)
    sizes |= {letter: size for letter, size in zip(shape, array.shape, strict=True) if letter.isalpha()}
    for word in words if {"any", "not NaN", "not infinite"} & set(words) else ("finite", *words):
        _check_word(name, word, array, sizes)


def check_laws(laws: Laws, values: Mapping[str, Any], sizes: dict[str, int] | None = None) -> dict[str, int]:
    """Check those of the values that have a law, none of them None, and return the sizes of the letters."""
    known = {} if sizes is None else sizes
    for name, law in laws.items():
        if values.get(name) is not None:
            check_law(name, law, values[name], known)
    return known


def check_relations(value: Any) -> None:
    """Raise a `ModelFileError` unless the relations that the class of a value states hold between its fields."""
    for what, holds in getattr(type(value), "relations", {}).items():
        with np.errstate(all="ignore"):
            if not np.all(holds(value)):
                raise ModelFileError(what)


def require(values: Mapping[str, Any], *names: str) -> None:
    """Raise an error that names the entries that a file lacks."""
    missing = [name for name in names if name not in values]
    if missing:
        raise ModelFileError(f"lacks {', '.join(map(repr, missing))}")


def _parse(law: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the letters of the shape and the words; a law without a shape is that of a number."""
    shape, words = re.fullmatch(r"(?:\(([^)]*)\))?\s*(.*)", law.strip()).groups()  # type: ignore[union-attr]
    letters = tuple(each.strip() for each in (shape or "").split(",") if each.strip())
    return letters, tuple(word.strip() for word in words.split(",") if word.strip())


def _size(letter: str, sizes: Mapping[str, int]) -> int | None:
    """Return the size that a letter, a number, or a letter and a number have; None where it is not known."""
    name, _, more = letter.partition("+")
    known = int(name) if name.isdigit() else sizes.get(name)
    return None if known is None else known + int(more or 0)


def _fits(shape: tuple[int, ...], letters: tuple[str, ...], sizes: Mapping[str, int]) -> bool:
    if len(shape) != len(letters):
        return False
    known = dict(sizes)
    for size, letter in zip(shape, letters, strict=True):
        if _size(letter, known) not in (None, size):
            return False
        known[letter] = size
    return True


def _describe(letters: tuple[str, ...], sizes: Mapping[str, int]) -> str:
    found = [_size(letter, sizes) for letter in letters]
    shown = [letter if size is None else str(size) for letter, size in zip(letters, found, strict=True)]
    return f"({', '.join(shown)}{',' if len(shown) == 1 else ''})"


def _check_type(name: str, array: Array, words: tuple[str, ...]) -> None:
    kinds = [TYPE_WORDS[word] for word in words if word in TYPE_WORDS]
    right = any(array.dtype.kind in kind for kind in kinds) if kinds else array.dtype == np.float64
    if not right:
        needed = " or ".join(word for word in words if word in TYPE_WORDS) or "float64"
        raise ModelFileError(f"{name!r} has the type {array.dtype}, and must be {needed}")


def _check_word(name: str, word: str, array: Array, sizes: Mapping[str, int]) -> None:
    if word in ARRAY_WORDS:
        with np.errstate(all="ignore"):
            if not ARRAY_WORDS[word](array):
                raise ModelFileError(f"{name!r} does not have the property {word!r}, which its model has")
        return
    if word in TYPE_WORDS:
        return
    inside = _below(word, array, sizes) if word.startswith("below ") else ENTRY_WORDS[word](array)
    if not np.all(inside):
        at = np.argwhere(~inside)[0].tolist()
        where = f" at {at}" if at else ""
        raise ModelFileError(f"{name!r} holds {array[tuple(at)]}{where}, and must be {_in_words(word, sizes)}")


def _below(word: str, array: Array, sizes: Mapping[str, int]) -> Array:
    return np.asarray((array >= 0) & (array < sizes[word.removeprefix("below ")]))


def _in_words(word: str, sizes: Mapping[str, int]) -> str:
    return f"from 0 to {sizes[word.removeprefix('below ')] - 1}" if word.startswith("below ") else word
