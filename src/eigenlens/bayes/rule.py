"""What all classifiers by Bayes' rule share: priors, and p(c | x) from ln p(x | c), in log space throughout.

A classifier is a class with `BayesRule` among its bases that keeps `classes_` and `class_prior_` and answers
`_log_likelihoods(X)`; `_draw(labels, rng)` lets it generate. `ClassCounts` keeps what it was fitted to.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from eigenlens import checks
from eigenlens.arrays import Array, Like, to_numpy
from eigenlens.errors import DataWarning, OptionError
from eigenlens.native.class_sums import winners

__all__ = [
    "BayesRule",
    "ClassCounts",
    "check_prior",
    "choose_classes",
    "log_posterior",
    "posterior",
    "sample_by_class",
]


# ---- priors ---------------------------------------------------------------------------------------------------


def check_prior(prior: Any, classes: Array, weight: Array) -> Array:
    """p(c) (C,): None for the shares of the rows' weight (C,), "uniform", one a class in order, or {class: p}.

    >>> check_prior({"b": 0.25, "a": 0.75}, np.array(["a", "b"]), np.ones(2))
    array([0.75, 0.25])
    """
    if prior is None:
        return np.asarray(weight / weight.sum())
    if isinstance(prior, str):
        checks.name("prior", prior, ["uniform"])
        return np.full(len(classes), 1.0 / len(classes))
    labels = classes.tolist()
    if isinstance(prior, Mapping):
        if set(prior) != set(labels):
            raise OptionError(f"prior names the classes {list(prior)}; it must name each of {labels} once.")
        prior = [prior[label] for label in labels]
    try:
        p = np.asarray(to_numpy(prior), dtype=np.float64)
    except (TypeError, ValueError):
        p = np.empty(0)
    if p.shape != (len(labels),) or not np.all(p >= 0.0):
        raise OptionError(
            f"prior={prior!r} must be None, 'uniform' or {len(labels)} probabilities, one for each of {labels[:8]}."
        )
    if abs(p.sum() - 1.0) > 1e-6:
        raise OptionError(f"prior={prior!r} must sum to 1, not {p.sum():.10g}: divide it by its sum.")
    return np.asarray(p / p.sum())


# ---- the rule -------------------------------------------------------------------------------------------------


def log_posterior(joint: Array) -> Array:
    """ln p(c | x) (n, C) from ln p(x, c) (n, C): each row less the logarithm of the sum of its exponentials.

    >>> log_posterior(np.array([[-10000.0, -10001.0]]))
    array([[-0.3133, -1.3133]])
    """
    shifted = _shifted(joint)
    return np.asarray(shifted - np.log(_sums(np.exp(shifted))))


def posterior(joint: Array) -> Array:
    """p(c | x) (n, C) from ln p(x, c) (n, C).

    >>> posterior(np.array([[-10000.0, -10001.0]]))
    array([[0.7311, 0.2689]])
    """
    shares = _shifted(joint)
    np.exp(shares, out=shares)
    return np.divide(shares, _sums(shares), out=shares)


def _shifted(joint: Array) -> Array:
    """ln p(x, c) (n, C) less the greatest of its row."""
    return np.asarray(joint - np.take_along_axis(joint, winners(joint)[:, None], axis=1))


def _sums(shares: Array) -> Array:
    """(n, 1); by a product, as NumPy's own sums are slow over rows of a few classes."""
    return np.asarray(shares @ np.ones((shares.shape[1], 1)))


def choose_classes(joint: Array, log_prior: Array) -> tuple[Array, Array, int]:
    """The likeliest class (n,), ln p(x, c) (n, C), and how many rows are possible in no class: these have the prior."""
    best = winners(joint)
    if np.all(joint[:, 0] > -np.inf):  # possible in one class is possible, and a column is read faster than a maximum
        return best, joint, 0
    top = joint[np.arange(len(best)), best]
    lost = ~(top > -np.inf)
    if not lost.any():
        return best, joint, 0
    joint = np.where(lost[:, None], log_prior, joint)
    return winners(joint), joint, int(lost.sum())


class BayesRule(ClassifierMixin):  # type: ignore[misc]
    """The methods of a classifier that knows ln p(x | c).

    Its `_log_likelihoods(X)` yields ln p(x | c) (b, C) of the rows of X, block by block, as arrays that may be changed.
    """

    classes_: Array
    class_prior_: Array
    _double = False  # probabilities of float32 rows in float64 too, as of one near 1 float32 keeps no digits

    def _log_likelihoods(self, X: Any) -> Iterator[Array]:
        raise NotImplementedError

    def _draw(self, labels: Array, rng: np.random.Generator) -> Any:
        raise NotImplementedError

    def predict(self, X: Any) -> Array:
        """The likeliest class (n,) of each row: argmax ln p(c) + ln p(x | c); the first of equally likely ones."""
        check_is_fitted(self)
        narrow = np.min_scalar_type(len(self.classes_))  # of many rows a byte each, until all are there
        best = np.concatenate([best.astype(narrow) for best, _ in self._settled(X)])
        return np.asarray(self.classes_.take(best))

    def predict_joint_log_proba(self, X: Any) -> Any:
        """ln p(x, c) = ln p(c) + ln p(x | c), (n, C)."""
        return self._gathered(X, lambda joint: joint)

    def predict_log_proba(self, X: Any) -> Any:
        """ln p(c | x) (n, C)."""
        return self._gathered(X, log_posterior)

    def predict_proba(self, X: Any) -> Any:
        """p(c | x) (n, C)."""
        return self._gathered(X, posterior)

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> tuple[Any, Array]:
        """Rows X (n_samples, d) drawn from the model, and their classes y (n_samples,)."""
        check_is_fitted(self)
        n = checks.integer("n_samples", n_samples, 1)
        rng = checks.generator(getattr(self, "random_state", None) if random_state is None else random_state)
        labels = rng.choice(len(self.classes_), size=n, p=self.class_prior_)
        return self._draw(labels, rng), np.asarray(self.classes_)[labels]

    # ---- parts ------------------------------------------------------------------------------------------

    def _settled(self, X: Any) -> Iterator[tuple[Array, Array]]:
        """The likeliest class and ln p(x, c) of each block; rows that are possible in no class have the prior."""
        with np.errstate(divide="ignore"):
            log_prior = np.log(self.class_prior_)
        lost, repeated = 0, log_prior
        for joint in self._log_likelihoods(X):
            if repeated.size < joint.size:  # NumPy is slow over rows of a few classes, quick over one long row
                repeated = np.tile(log_prior, len(joint))
            joint += repeated[: joint.size].reshape(joint.shape)
            best, joint, here = choose_classes(joint, log_prior)
            lost += here
            yield best, joint
        if lost:
            warnings.warn(
                f"{lost} rows have density 0 in every class, so nothing is known of their class but the prior; a "
                "positive smoothing, or densities without an end, avoids this.",
                DataWarning,
                stacklevel=3,
            )

    def _gathered(self, X: Any, function: Any) -> Any:
        check_is_fitted(self)
        found = np.concatenate([function(joint) for _, joint in self._settled(X)])
        single = not self._double and "float32" in str(getattr(X, "dtype", ""))
        return Like(X, np.dtype(np.float32 if single else np.float64))(found)


def sample_by_class(labels: Array, d: int, draw: Callable[[int, int], Array]) -> Array:
    """Rows (n, d) of the classes with these numbers (n,), from draw(c, m), m rows of a class."""
    rows = np.empty((len(labels), d))
    for c in np.unique(labels):
        mine = np.flatnonzero(labels == c)
        rows[mine] = draw(int(c), mine.size)
    return rows


class ClassCounts:
    """The rows that a classifier was fitted to, by class: Σw and p(c); more of them may come later."""

    classes_: Array
    class_prior_: Array
    prior: Any
    _counts: Array
    _rows: int

    def _count(self, codes: Array, weight: Array | None, more: bool = False) -> None:
        """Count rows of the classes with these numbers (n,), on top of those that were counted before if `more`."""
        each = np.ones(len(codes)) if weight is None else weight
        counts = np.bincount(codes, each, minlength=len(self.classes_)) + (self._counts if more else 0.0)
        self.class_prior_ = check_prior(self.prior, self.classes_, counts)
        self._counts, self._rows = counts, int(np.count_nonzero(each)) + (self._rows if more else 0)

    @property
    def class_count_(self) -> Array:
        """(C,) Σw of each class."""
        check_is_fitted(self)
        return self._counts

    @property
    def n_samples_(self) -> int:
        """The number of rows that count: of positive weight."""
        check_is_fitted(self)
        return self._rows
