"""Numbers as text where each row of a table has a unit of its own, as loadings have that of their column."""

from __future__ import annotations

import numpy as np

from eigenlens.arrays import Array

MAX_DECIMALS = 9
"""The largest number of decimals; smaller numbers are written as powers of ten."""


def format_rows(values: Array, least: int = 0) -> list[list[str]]:
    """Return numbers (r, c) as text, with three digits of the largest in each row, or `least` decimals if more.

    >>> format_rows(np.array([[342.4, -1.5], [0.0251, -0.00004], [2.5e-12, 0.0]]))
    [['342', '-2'], ['0.0251', '0.0000'], ['2.50e-12', '0.00e+00']]
    """
    largest = np.nanmax(np.abs(values), axis=1, initial=0.0)
    with np.errstate(divide="ignore"):
        needed = np.where(largest > 0.0, 2.0 - np.floor(np.log10(largest)), 0.0)
    decimals = [max(least, int(each)) for each in needed]
    return [
        [_without_sign_of_zero(f"{value:.{count}f}" if count <= MAX_DECIMALS else f"{value:.2e}") for value in row]
        for row, count in zip(values.tolist(), decimals, strict=True)
    ]


def _without_sign_of_zero(text: str) -> str:
    return text.removeprefix("-") if not text.strip("-0.") else text


def align_points(column: list[str]) -> list[str]:
    """Return numbers as text with blanks at their ends, so that flush right their points stand under each other.

    >>> align_points(["342", "0.0251", "–"])
    ['342     ', '0.0251', '–     ']
    """
    tails = [len(text) - len(text.partition(".")[0]) for text in column]
    longest = max(tails, default=0)
    return [text + " " * (longest - tail) for text, tail in zip(column, tails, strict=True)]
