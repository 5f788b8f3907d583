"""Explanations of predictions: the part of each feature in the log-odds of a row's class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.labels import class_positions
from eigenlens.densities.intervals import format_numbers
from eigenlens.errors import OptionError
from eigenlens.tables.text_table import titled_table


@dataclass(frozen=True, eq=False)
class Explanation:
    """The log-odds of each row, class a against class b: ln p(a | x) / p(b | x) = prior + Σ_j contribution_j.

    Attributes:
        names: (d,) the features. of: (n,) the class a of each row. against: (n,) its class b.
        contributions: (n, d) ln p(x_j | a) − ln p(x_j | b), 0 where the entry is missing.
        prior: (n,) ln p(a) − ln p(b).
        order: (n, d) the features of each row by the size of their contributions, the largest first.

    >>> terms = np.array([[[-1.0, -4.0], [-2.0, -1.5]]])
    >>> print(explain_terms(["height", "words"], np.array(["child", "adult"]), terms, np.zeros(2)))
    child against adult: log-odds 2.5
    feature  contribution
    height              3
    words            -0.5
    prior               0
    """

    names: tuple[Any, ...]
    of: Array
    against: Array
    contributions: Array
    prior: Array

    @property
    def log_odds(self) -> Array:
        """Return the log-odds (n,): all contributions and the prior."""
        return np.asarray(self.contributions.sum(axis=1) + self.prior)

    @property
    def order(self) -> Array:
        """Return the features (n, d) of each row by the size of their contributions, the largest first."""
        return np.argsort(-np.abs(self.contributions), axis=1, kind="stable")

    def row(self, i: int) -> list[tuple[Any, float]]:
        """Return (feature, contribution) of a row, the largest first."""
        return [(self.names[j], float(self.contributions[i, j])) for j in self.order[i]]

    def __str__(self) -> str:
        return "\n\n".join(self._text(i) for i in range(min(3, len(self.of))))

    def _text(self, i: int) -> str:
        rows = [*self.row(i), ("prior", float(self.prior[i]))]
        title = f"{self.of[i]} against {self.against[i]}: log-odds {format_numbers(self.log_odds[i : i + 1])[0]}"
        names, values = [str(name) for name, _ in rows], [f"{value:.4g}" for _, value in rows]
        return titled_table(title, ["feature", "contribution"], names, values)


def explain_terms(
    names: Any, classes: Array, terms: Array, log_prior: Array, of: Any = None, against: Any = None
) -> Explanation:
    """Return the explanation of rows with the terms ln p(x_j | c) (n, d, C): the most likely class against the next.

    `of` and `against` give other classes, for all rows or one per row. A row of density 0 in every class is explained
    by the prior.
    """
    joint = terms.sum(axis=1) + log_prior
    lost = ~(joint.max(axis=1) > -np.inf)
    if lost.any():
        terms, joint = np.where(lost[:, None, None], 0.0, terms), np.where(lost[:, None], log_prior, joint)
    rows = np.arange(len(terms))
    a, b = classes_to_compare(classes, joint, of, against)
    with np.errstate(invalid="ignore"):
        parts = terms[rows, :, a] - terms[rows, :, b]
    return Explanation(
        tuple(names), classes[a], classes[b], np.where(np.isnan(parts), 0.0, parts), log_prior[a] - log_prior[b]
    )


def classes_to_compare(classes: Array, joint: Array, of: Any, against: Any) -> tuple[Array, Array]:
    """Return two classes (n,) of each row by number: those given, else the most likely by ln p(x, c) and the next.

    >>> classes_to_compare(np.array(["x", "y", "z"]), np.array([[-1.0, -3.0, -2.0]]), None, "x")
    (array([2]), array([0]))
    """
    of = class_positions(classes, "of", of, len(joint))
    against = class_positions(classes, "against", against, len(joint))
    ranked = np.argsort(-joint, axis=1, kind="stable")
    first, second = ranked[:, 0], ranked[:, 1 % ranked.shape[1]]
    a = of if of is not None else first if against is None else np.where(first == against, second, first)
    b = against if against is not None else np.where(first == a, second, first)
    if of is not None and against is not None and np.any(a == b):
        raise OptionError("of and against name the same class", fix="give two that differ")
    return a, b
