"""Names of the columns and labels of the rows that a table shows, and long names made short."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from eigenlens.errors import DataError, OptionError


def feature_names(model: Any, d: int, names: Iterable[str] | None = None) -> tuple[str, ...]:
    """Return the names of the d columns: those given, those of a fitted model, or x0, x1, … as scikit-learn has it."""
    from eigenlens import checks  # imported here: the command line starts without NumPy

    known = getattr(model, "feature_names_in_", None) if names is None else names
    found = tuple(f"x{j}" for j in range(d)) if known is None else tuple(map(str, checks.listed("names", known)))
    if len(found) != d:
        what = f"has {len(found)} entries, but there are {d} columns"
        raise OptionError(what, argument="names", fix="give one name per column")
    return found


ROTATED_STEMS = {"PC": "RC"}
"""The names of axes that change with a rotation: rotated components are not principal any more."""


def axis_stem(model: Any) -> str:
    """Return the letters before the number of one of a model's axes: "PC", "F" of factors, "LD" of discriminants.

    An estimator has them as its class attribute `axis_stem`; a user's own may too. Rotated components are "RC".
    """
    stem = str(getattr(type(model), "axis_stem", "PC"))
    return stem if getattr(model, "rotation", None) is None else ROTATED_STEMS.get(stem, stem)


def axis_names(model: Any, k: int) -> list[str]:
    """Return the names of k scores: PC1, …; F1, … of factors; LD1, … of discriminants.

    >>> from eigenlens import FactorAnalysis
    >>> axis_names(FactorAnalysis(2), 2)
    ['F1', 'F2']
    """
    return [f"{axis_stem(model)}{j + 1}" for j in range(k)]


def text_of(value: Any) -> str:
    """Return a label as text, "" where it is missing.

    >>> [text_of(value) for value in ("nan", float("nan"), None, 1.5)]
    ['nan', '', '', '1.5']
    """
    text = str(value)
    return "" if text in MISSING_WORDS and not isinstance(value, str) else text


MISSING_WORDS = ("None", "nan", "NaT", "<NA>")
"""How Python, NumPy and pandas write a value that is missing."""


def row_labels(labels: Iterable[Any] | None, n: int, *, at_least: bool = False) -> tuple[str, ...] | None:
    """Return one label per row as text, or None; with `at_least`, labels of rows that are not shown may follow."""
    if labels is None:
        return None
    from eigenlens import checks  # imported here: the command line starts without NumPy

    found = tuple(map(text_of, checks.listed("labels", labels)))
    if len(found) < n or (len(found) > n and not at_least):
        what = f"has {len(found)} entries, but X has {n} rows"
        raise DataError(what, argument="labels", fix="give one label per row")
    return found[:n]


MAX_NAME_LETTERS = 160


def shorten(name: Any, most: int = MAX_NAME_LETTERS) -> str:
    """Return a name of at most `most` characters, without its middle: its ends are the most informative.

    >>> shorten("petal length as measured in the field", 20)
    'petal leng…the field'
    """
    text = str(name).encode("utf-8", "replace").decode("utf-8")  # names of files may hold bytes that are not text
    return text if len(text) <= most else f"{text[: most // 2]}…{text[len(text) - (most - 1) // 2 :]}"


def shorten_names(names: Sequence[str], most: int) -> list[str]:
    """Return distinct names of at most `most` characters: where the ends of long ones are equal, their middles.

    Of a common beginning, as much is kept as there is room for.

    >>> shorten_names(["a house on hill 1 of the old town", "a house on hill 2 of the old town", "ours"], 10)
    ['…n hill 1…', '…n hill 2…', 'ours']
    >>> shorten_names(["setosa", "versicolor"], 10)
    ['setosa', 'versicolor']
    """
    made = [shorten(name, most) for name in names]
    if len(set(made)) == len(set(names)):
        return made
    long = [name for name in names if len(name) > most]
    start, end = _shared(long), _shared([name[_shared(long) :][::-1] for name in long])
    apart = max(len(name) - start - end for name in long)
    start -= min(start, max(0, most - 2 - apart))
    return [shorten(name) if len(name) <= most else _middle(name, start, end, most) for name in names]


def _middle(name: str, start: int, end: int, most: int) -> str:
    kept = shorten(name[start : len(name) - end], most - 2)
    return f"{'…' * bool(start)}{kept}{'…' * bool(end)}"


def _shared(names: Sequence[str]) -> int:
    """Return the length of the common beginning of all names."""
    for i, letters in enumerate(zip(*names, strict=False)):
        if len(set(letters)) > 1:
            return i
    return min(map(len, names), default=0)
