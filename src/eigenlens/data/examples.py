"""Small data sets that travel with the package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import OptionError

__all__ = ["EXAMPLES", "Example", "load"]


@dataclass(frozen=True, eq=False)
class Example:
    """A table with its names.

    Attributes:
        name: what `load` calls it.
        data: (n, d) float64. rows: (n,) row names. columns: (d,) column names.
        about: one sentence on what it is and where it comes from.
    """

    name: str
    data: Array
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    about: str


def load(name: str) -> Example:
    """An embedded example by name.

    >>> food = load("uk-food")
    >>> food.data.shape, food.rows
    ((4, 17), ('England', 'N Ireland', 'Scotland', 'Wales'))
    """
    if name not in EXAMPLES:
        raise OptionError(f"name={name!r} is not an example; known: {', '.join(map(repr, EXAMPLES))}.")
    return EXAMPLES[name]()


_FOODS = {
    "Alcoholic drinks": (375, 135, 458, 475),
    "Beverages": (57, 47, 53, 73),
    "Carcase meat": (245, 267, 242, 227),
    "Cereals": (1472, 1494, 1462, 1582),
    "Cheese": (105, 66, 103, 103),
    "Confectionery": (54, 41, 62, 64),
    "Fats and oils": (193, 209, 184, 235),
    "Fish": (147, 93, 122, 160),
    "Fresh fruit": (1102, 674, 957, 1137),
    "Fresh potatoes": (720, 1033, 566, 874),
    "Fresh veg": (253, 143, 171, 265),
    "Other meat": (685, 586, 750, 803),
    "Other veg": (488, 355, 418, 570),
    "Processed potatoes": (198, 187, 220, 203),
    "Processed veg": (360, 334, 337, 365),
    "Soft drinks": (1374, 1506, 1572, 1256),
    "Sugars": (156, 139, 147, 175),
}


def _uk_food() -> Example:
    return Example(
        "uk-food",
        np.array(list(_FOODS.values()), dtype=np.float64).T,
        ("England", "N Ireland", "Scotland", "Wales"),
        tuple(_FOODS),
        "What people in four countries eat, in grams per person per week of 17 kinds of food (UK, DEFRA 1997).",
    )


EXAMPLES: dict[str, Callable[[], Example]] = {"uk-food": _uk_food}
"""Examples by name; a new one is a function and a line here."""
