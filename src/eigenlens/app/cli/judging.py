"""Predicted classes held against those that a table says: how many are right, and which are taken for which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.app.cli.aligning import aligned
from eigenlens.arrays import Array

__all__ = ["Judged", "judge", "spelled", "weighted_mean"]


@dataclass(frozen=True, eq=False)
class Judged:
    """Classes by their names, true (rows) and predicted (columns).

    Attributes:
        true: names of the rows of `counts`, classes that the model does not know last. predicted: of its columns.
        counts: (t, p) Σ w of the rows of a class that were taken for another. right: (n,) 1.0 where they agree.
        accuracy, error: the share that is right, and its standard error.
    """

    true: list[str]
    predicted: list[str]
    counts: Array
    right: Array
    accuracy: float
    error: float

    def __str__(self) -> str:
        most = 12
        header = ["true \\ predicted", *self.predicted[:most], *(["…"] if len(self.predicted) > most else [])]
        lines = [
            [name, *(f"{count:,.6g}" for count in row[:most]), *([""] if len(self.predicted) > most else [])]
            for name, row in zip(self.true, self.counts, strict=True)
        ]
        return aligned(header, lines)

    @property
    def line(self) -> str:
        """The accuracy in words."""
        return f"accuracy {self.accuracy:.6g} ± {self.error:.2g}"

    @property
    def facts(self) -> dict[str, Any]:
        """The same for --json."""
        table = {"true": self.true, "predicted": self.predicted, "counts": self.counts}
        return {"accuracy": self.accuracy, "standard_error": self.error, "confusion": table}


def judge(classes: Any, predicted: Any, label: Array, weight: Array | None) -> Judged:
    """Compare predicted classes (n,) with labels (n,) by their names.

    >>> found = judge([0, 1], np.array([0, 1, 1]), np.array([0.0, 1.0, 0.0]), None)
    >>> found.counts.tolist(), round(found.accuracy, 3)
    ([[1.0, 1.0], [0.0, 1.0]], 0.667)
    """
    known, said, true = ([*map(spelled, np.asarray(each).tolist())] for each in (classes, predicted, label))
    names = list(dict.fromkeys([*known, *sorted(set(true) - set(known))]))
    rows, columns = ({name: i for i, name in enumerate(each)} for each in (names, known))
    counts = np.zeros((len(names), len(known)))
    w = np.ones(len(true)) if weight is None else weight
    np.add.at(counts, ([rows[name] for name in true], [columns[name] for name in said]), w)
    right = np.array([a == b for a, b in zip(true, said, strict=True)], dtype=np.float64)
    return Judged(names, known, counts, right, *weighted_mean(right, weight))


def spelled(value: Any) -> str:
    """A class by its name: 1 and 1.0 are one class, and a gap is none.

    >>> spelled(1.0), spelled(1), spelled("a"), spelled(None)
    ('1', '1', 'a', '(missing)')
    """
    if value is None or value != value or value == "":
        return "(missing)"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def weighted_mean(values: Array, weight: Array | None) -> tuple[float, float]:
    """The weighted mean and its standard error."""
    w = np.ones(len(values)) if weight is None else weight
    mean, n = float(np.average(values, weights=w)), float(w.sum())
    return mean, float(np.sqrt(np.average((values - mean) ** 2, weights=w) / max(n - 1.0, 1.0)))
