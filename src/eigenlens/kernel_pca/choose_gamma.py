"""The width of a kernel by cross-validation of how well a few components reconstruct held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, dense
from eigenlens.data.coerce import as_source, require_finite
from eigenlens.data.column_range import require_range
from eigenlens.data.rows import dense_rows
from eigenlens.errors import DataError
from eigenlens.kernel_pca.fit import fit_kernel_pca
from eigenlens.kernel_pca.gamma import resolve_gamma
from eigenlens.kernel_pca.kernels.rbf import RBF
from eigenlens.kernel_pca.model import KernelComponents
from eigenlens.kernel_pca.preimage import find_preimages

MEDIAN_MULTIPLES = tuple(2.0**power for power in range(-5, 6))
"""Multiples of the median heuristic that are tried by default."""

MAX_CHOICE_ROWS = 2000
"""Rows that are used; of more, a random sample. Every gamma and fold costs a Gram matrix of these."""

GAMMA_CRITERIA = ("feature", "input")


@dataclass(frozen=True, eq=False)
class GammaChoice:
    """The reconstruction error of held-out rows for each gamma.

    Attributes:
        gammas: (g,) ascending.
        feature: (g,) |phi(x) − P phi(x)|² over |phi(x) − mean|², each summed over the held-out rows: the share of
            the variance in feature space that k components do not explain.
        input: (g,) the same share in input space, |x − x̂|² over |x − mean|², with x̂ the pre-image of P phi(x).
        best: the gamma with the smallest error by the chosen criterion.
    """

    gammas: Array
    feature: Array
    input: Array
    best: float

    def __str__(self) -> str:
        lines = [f"{'gamma':>10}  {'feature':>8}  {'input':>8}"]
        for gamma, feature, given in zip(self.gammas, self.feature, self.input, strict=True):
            lines.append(f"{gamma:10.4g}  {feature:8.4f}  {given:8.4f}{'  <' if gamma == self.best else ''}")
        return "\n".join(lines)


def choose_gamma(
    X: Any,
    n_components: int,
    gammas: Sequence[float] | None = None,
    *,
    criterion: str = "input",
    cv: int = 5,
    random_state: Any = None,
) -> GammaChoice:
    """Choose the gamma of the RBF kernel with which k components reconstruct held-out rows best.

    For every gamma and fold, kernel PCA is fitted to the other folds and the rows of this one are projected. In
    feature space the error is |phi(x) − mean|² − |z|², which costs nothing more; but as gamma falls, phi becomes linear
    in x and its variance lies in few directions, so from k = d on, and often before, this error prefers the smallest
    gamma tried. The error in input space, by pre-images, has a proper minimum (Alam and Fukumizu 2014,
    "Hyperparameter selection in kernel PCA") and is the default. Both are returned.

    Args:
        X: rows (n, d) of any kind, without missing values.
        n_components: k, the same for every gamma.
        gammas: values to try; None for the median heuristic times 2⁻⁵ … 2⁵.
        criterion: "input" or "feature".
        cv: the number of folds.
        random_state: seed of the folds.

    Cost: len(gammas) times cv fits of about 2000 rows: of more, a random sample is used.

    >>> t = np.linspace(0.0, 6.0, 90)
    >>> ring = np.column_stack([np.cos(t), np.sin(t), 0.3 * np.cos(2.0 * t)])
    >>> choose_gamma(ring, 2, [0.001, 0.05, 100.0], random_state=0).best
    0.05
    """
    rng, k = checks.generator(random_state), checks.integer("n_components", n_components, 1)
    checks.name("criterion", criterion, GAMMA_CRITERIA)
    source = require_range(as_source(X))
    rows, _ = dense_rows(source, rng, MAX_CHOICE_ROWS * source.n_features)
    require_finite(source, rows)
    folds = np.array_split(rng.permutation(len(rows)), checks.integer("cv", cv, 2, len(rows), "the number of rows"))
    fewest = len(rows) - max(map(len, folds))
    checks.integer("n_components", k, 1, fewest - 1, "the rows of a fold's fit less one")
    tried = np.sort([checks.real("gammas", gamma, 0.0) for gamma in _candidates(rows, gammas, rng)])
    errors = np.array([_errors(rows, folds, float(gamma), k, rng) for gamma in tried])
    best = tried[np.argmin(errors[:, GAMMA_CRITERIA.index(criterion)])]
    return GammaChoice(tried, errors[:, 0], errors[:, 1], float(best))


def _candidates(rows: Array, gammas: Sequence[float] | None, rng: np.random.Generator) -> Sequence[float]:
    if gammas is None:
        median = resolve_gamma("median", rows, None, rng)
        return [median * step for step in MEDIAN_MULTIPLES]
    given = checks.listed("gammas", gammas)
    if not given:
        raise DataError("is empty", argument="gammas", fix="give at least one number, or None")
    return given


def _errors(rows: Array, folds: list[Array], gamma: float, k: int, rng: np.random.Generator) -> Array:
    """Return the shares (2,) of the held-out variance, in feature and input space, that k components leave."""
    sums = np.zeros((2, 2))
    for test in folds:
        train = np.delete(rows, test, axis=0)
        model = fit_kernel_pca(train, RBF(gamma), k, rng=rng).model
        sums += _error_and_variance(model, rows[test], train.mean(axis=0))
    return np.asarray(sums[0] / sums[1])


def _error_and_variance(model: KernelComponents, X: Array, mean: Array) -> Array:
    """Return sums of squared errors and of squared distances from the mean (2, 2), in feature and in input space."""
    whole, left = model.squared_distances(X)
    back = dense(find_preimages(model, model.scores(X)).rows)
    return np.array([[left.sum(), ((X - back) ** 2).sum()], [whole.sum(), ((X - mean) ** 2).sum()]])
