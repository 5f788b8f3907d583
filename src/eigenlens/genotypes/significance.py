"""Significance of components of genotypes by the Tracy–Widom law.

Without structure, the relationship matrix of n people is a Wishart matrix of n′ independent markers, fewer than the
variants where these are linked (Patterson, Price and Reich 2006, PLoS Genet. 2, e190). Given that the components before
are real, the next eigenvalue is the largest of a matrix with one dimension fewer, and its statistic has the law F₁.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eigenlens.arrays import Array
from eigenlens.stats.tracy_widom import tracy_widom_sf


@dataclass(frozen=True, eq=False)
class SignificanceTable:
    """The test of each component, given those before it.

    Attributes:
        statistic: (k,) Tracy–Widom statistics, NaN of the last components, after which too few eigenvalues remain.
        p_value: (k,) their p-values.
        markers: (k,) the effective number of independent markers, NaN if the eigenvalues that remain are equal.

    >>> SignificanceTable(np.array([9.0, 1.5, 3.0]), np.array([1e-9, 0.02, 1e-3]), np.ones(3)).leading(0.01)
    1
    """

    statistic: Array
    p_value: Array
    markers: Array

    @property
    def p_texts(self) -> list[str]:
        """(k,) the p-values as text; those too small for floating point are bounded.

        >>> SignificanceTable(np.array([200.0]), np.array([0.0]), np.ones(1)).p_texts
        ['< 1e-300']
        """
        return ["–" if np.isnan(p) else f"{p:.2g}" if p >= 1e-300 else "< 1e-300" for p in self.p_value]

    def leading(self, level: float = 0.01) -> int:
        """Return how many components, from the first on, have a p-value below the level without interruption."""
        above = np.flatnonzero(~(self.p_value < level))
        return int(above[0]) if above.size else len(self.p_value)


def component_significance(values: Array, total: float, squares: float, n: int) -> SignificanceTable:
    """Return the tests of the leading eigenvalues (k,) of a relationship matrix of n people.

    total: the sum of all eigenvalues, the trace. squares: the sum of their squares. With q = n − 1 eigenvalues at
    first, one fewer for each component before,

        n′ = (q + 2) (Σλ)² / (q Σλ² − (Σλ)²),   x = (q λ₁ / Σλ − μ) / σ,   a = √(n′ − 1), b = √q,
        μ = (a + b)² / n′,   σ = (a + b) / n′ · (1 / a + 1 / b)^(1/3)

    (eqs. 5–10). A component without as many eigenvalues after it has NaN.
    """
    before, before_squares = (np.concatenate([[0.0], np.cumsum(each)[:-1]]) for each in (values, values**2))
    q = n - 1.0 - np.arange(len(values))
    rest, rest_squares = total - before, squares - before_squares
    with np.errstate(divide="ignore", invalid="ignore"):
        markers = (q + 2.0) * rest**2 / (q * rest_squares - rest**2)
        a, b = np.sqrt(markers - 1.0), np.sqrt(q)
        mu, sigma = (a + b) ** 2 / markers, (a + b) / markers * (1.0 / a + 1.0 / b) ** (1.0 / 3.0)
        statistic = (q * values / rest - mu) / sigma
    statistic = np.where((q >= 2) & np.isfinite(statistic), statistic, np.nan)
    return SignificanceTable(statistic, tracy_widom_sf(statistic), np.where(np.isfinite(markers), markers, np.nan))
