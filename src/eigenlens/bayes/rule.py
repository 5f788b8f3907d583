"""Bayes' rule, shared by all classifiers: priors, and p(c | x) from ln p(x | c), in log space throughout.

A classifier has `BayesRule` among its bases, keeps `classes_` and `_prior`, and implements `_log_likelihoods(X)`
and, to sample, `_draw(labels, rng)`. `ClassCounts` keeps the weight of each class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from eigenlens import checks
from eigenlens.arrays import Array, Like, to_numpy
from eigenlens.bayes.labels import encode_labels, unknown_class
from eigenlens.data.categories import category_positions
from eigenlens.data.coerce import rereadable
from eigenlens.data.rows import mean_over_rows
from eigenlens.errors import DataError, OptionError, warn_user
from eigenlens.estimator.rows import per_row, rows_dtype
from eigenlens.estimator.sampled_rows import sampled_rows
from eigenlens.native.class_sums import decide, label_counts, winners
from eigenlens.resources import in_slices

SLICE_ROWS = 1 << 17
"""Rows whose classes a thread looks up at a time."""

# ---- priors ---------------------------------------------------------------------------------------------------


def check_prior(prior: Any, classes: Array, weight: Array) -> Array:
    """Return p(c) (C,): None for the shares of the weight (C,), "uniform", one per class in order, or {class: p}.

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
            raise OptionError(f"names the classes {list(prior)}; it must name each of {labels} once", argument="prior")
        prior = [prior[label] for label in labels]
    try:
        p = checks.numbers("prior", prior)
    except OptionError:
        p = np.empty(0)
    if p.shape != (len(labels),) or not np.all(p >= 0.0):
        what = f"must be None, 'uniform' or {len(labels)} probabilities, one for each of {labels[:8]}"
        raise OptionError(what, argument="prior", value=prior)
    if abs(p.sum() - 1.0) > 1e-6:
        what = f"must sum to 1, not {p.sum():.10g}"
        raise OptionError(what, argument="prior", value=prior, fix="divide it by its sum")
    return np.asarray(p / p.sum())


# ---- the rule -------------------------------------------------------------------------------------------------


def log_posterior(joint: Array) -> Array:
    """Return ln p(c | x) (n, C) from ln p(x, c) (n, C): each row less the logarithm of the sum of its exponentials.

    >>> log_posterior(np.array([[-10000.0, -10001.0]]))
    array([[-0.3133, -1.3133]])
    """
    shifted = _shifted(joint)
    return np.asarray(shifted - np.log(_sums(np.exp(shifted))))


def posterior(joint: Array) -> Array:
    """Return p(c | x) (n, C) from ln p(x, c) (n, C).

    >>> posterior(np.array([[-10000.0, -10001.0]]))
    array([[0.7311, 0.2689]])
    """
    shares = _shifted(joint)
    np.exp(shares, out=shares)
    return np.divide(shares, _sums(shares), out=shares)


def log_sum_and_posterior(joint: Array) -> tuple[Array, Array]:
    """Return ln p(x) (n,) and p(c | x) (n, C) from ln p(x, c) (n, C); zeros for a row of density 0 in every class.

    >>> log_sum_and_posterior(np.array([[-10000.0, -10001.0], [-np.inf, -np.inf]]))
    (array([-9999.6867,       -inf]), array([[0.7311, 0.2689], [0.    , 0.    ]]))
    """
    top = np.take_along_axis(joint, winners(joint)[:, None], axis=1)
    shares = joint - np.maximum(top, np.finfo(np.float64).min)
    np.exp(shares, out=shares)
    total = _sums(shares)
    with np.errstate(divide="ignore"):
        logs = (top + np.log(total))[:, 0]
    return logs, np.divide(shares, np.where(total > 0.0, total, 1.0), out=shares)


def _shifted(joint: Array) -> Array:
    """Return ln p(x, c) (n, C) less the largest value of its row, so that exponentials do not overflow."""
    return np.asarray(joint - np.take_along_axis(joint, winners(joint)[:, None], axis=1))


def _sums(shares: Array) -> Array:
    """Return the sums (n, 1) of rows, by a product: NumPy's own sums are slow over rows of a few classes."""
    return np.asarray(shares @ np.ones((shares.shape[1], 1)))


def _choose_classes(joint: Array, log_prior: Array) -> tuple[Array, Array, int]:
    """Return the most likely class (n,), ln p(x, c) (n, C), and the number of rows that are possible in no class.

    joint (n, C) holds ln p(x | c) and is changed in place. Rows of density 0 in every class have the prior.
    """
    best, largest, smallest = decide(joint, log_prior)
    if not largest < np.inf:  # NaN and infinity
        what = "has entries so large that the densities of their rows overflow"
        raise DataError(what, argument="X", fix="divide the columns by a constant before the fit")
    if smallest > -np.inf:
        return best, joint, 0
    lost = joint[np.arange(len(best)), best] == -np.inf
    joint = np.where(lost[:, None], log_prior, joint)
    return winners(joint), joint, int(lost.sum())


def _take(classes: Array, best: Array) -> Array:
    """Return the classes (n,) of their numbers (n,)."""
    out = np.empty(best.shape, dtype=classes.dtype)

    def fill(part: slice) -> None:
        classes.take(best[part], out=out[part], mode="clip")  # the other modes would make a copy first

    in_slices(fill, best.size, SLICE_ROWS)
    return out


def _class_count(classifier: Any) -> int:
    return len(classifier.classes_)


def _probability_dtype(classifier: Any, X: Any) -> Any:
    return np.float64 if classifier._double else rows_dtype(X)


class BayesRule(ClassifierMixin):  # type: ignore[misc]
    """The methods of a classifier whose `_log_likelihoods(X)` yields ln p(x | c) (b, C), block by block.

    The arrays that it yields are changed in place.
    """

    classes_: Array
    _prior: Array
    _like: Like
    _double = False  # whether float32 rows have float64 probabilities: near 1, float32 keeps no digits

    def _log_likelihoods(self, X: Any) -> Iterator[Array]:
        raise NotImplementedError

    def _draw(self, labels: Array, rng: np.random.Generator) -> Any:
        raise NotImplementedError

    @per_row(dtype=lambda self, source: self.classes_.dtype)
    def predict(self, X: Any) -> Any:
        """Return the most likely class (n,) of each row: argmax ln p(c) + ln p(x | c); of equal ones the first."""
        check_is_fitted(self)
        narrow = np.min_scalar_type(len(self.classes_))  # one byte per row until all blocks are read
        best = np.concatenate([best.astype(narrow) for best, _ in self._decisions(X)])
        return _take(np.asarray(self.classes_), best)

    @per_row(_class_count, _probability_dtype)
    def predict_joint_log_proba(self, X: Any) -> Any:
        """Return ln p(x, c) = ln p(c) + ln p(x | c), (n, C)."""
        return self._collect(X, lambda joint: joint)

    @per_row(_class_count, _probability_dtype)
    def predict_log_proba(self, X: Any) -> Any:
        """Return ln p(c | x) (n, C)."""
        return self._collect(X, log_posterior)

    @per_row(_class_count, _probability_dtype)
    def predict_proba(self, X: Any) -> Any:
        """Return p(c | x) (n, C)."""
        return self._collect(X, posterior)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of the rows, by weight, whose class is predicted.

        y has one class per row; if it is None, the label column of a scan X. Classes unknown to the fit count as wrong.
        """
        check_is_fitted(self)
        X = rereadable(X)
        predicted = to_numpy(self.predict(X))
        labels = encode_labels(y, X, len(predicted))
        positions = category_positions(np.asarray(self.classes_).tolist(), labels.classes.tolist())
        if len(predicted) and np.all(positions < 0):
            raise unknown_class(self.classes_, "y", labels.classes.tolist(), "give y as in the fit")
        weight = checks.weights(sample_weight, len(predicted))
        known = positions[labels.codes]
        right = (known >= 0) & (predicted == np.asarray(self.classes_).take(known))
        return mean_over_rows(right, weight)

    def sample(self, n_samples: int = 1, *, random_state: Any = None, return_labels: bool = False) -> Any:
        """Draw rows (n_samples, d) from the model; with return_labels also the class (n_samples,) of each.

        A column that had no observed entry in the fit is missing in all of them, with a warning.
        `X, y = classifier.sample(n)`, without return_labels, is an error.
        """
        check_is_fitted(self)
        n = checks.sample_size("n_samples", n_samples, self.n_features_in_)
        labelled = checks.boolean("return_labels", return_labels)
        rng = checks.generator(getattr(self, "random_state", None) if random_state is None else random_state)
        labels = rng.choice(len(self.classes_), size=n, p=self._prior / self._prior.sum())
        drawn = self._draw(labels, rng)
        return (drawn, self._like.exact(np.asarray(self.classes_)[labels])) if labelled else sampled_rows(drawn)

    @property
    def class_prior_(self) -> Any:
        """The prior p(c) (C,)."""
        return self._like.exact(self._prior)

    @property
    def class_log_prior_(self) -> Any:
        """The logarithm ln p(c) (C,) of the prior."""
        with np.errstate(divide="ignore"):
            return self._like.exact(np.log(self._prior))

    # ---- parts ------------------------------------------------------------------------------------------

    def _decisions(self, X: Any) -> Iterator[tuple[Array, Array]]:
        """Yield the most likely class and ln p(x, c) of each block; rows of density 0 in every class have the prior."""
        with np.errstate(divide="ignore"):
            log_prior = np.log(self._prior)
        lost = 0
        for joint in self._log_likelihoods(X):
            best, joint, here = _choose_classes(joint, log_prior)
            lost += here
            yield best, joint
        if lost:
            warn_user(
                f"{lost} rows have density 0 in every class, so that only the prior decides; a positive smoothing, or "
                "densities of unbounded support, avoid this.",
            )

    def _collect(self, X: Any, function: Any) -> Array:
        check_is_fitted(self)
        found = np.concatenate([function(joint) for _, joint in self._decisions(X)])
        return found.astype(_probability_dtype(self, X), copy=False)


def sample_by_class(labels: Array, d: int, draw: Callable[[int, int], Array]) -> Array:
    """Return rows (n, d) of the classes labels (n,), from draw(c, m), which draws m rows of a class."""
    rows = np.empty((len(labels), d))
    for c in np.unique(labels):
        mine = np.flatnonzero(labels == c)
        rows[mine] = draw(int(c), mine.size)
    return rows


class ClassCounts:
    """A classifier that keeps the weight of each class, to which `partial_fit` may add."""

    classes_: Array
    prior: Any
    _prior: Array
    _counts: Array
    _rows: int
    _like: Like

    def _count(self, codes: Array, weight: Array | None, more: bool = False) -> None:
        """Count rows of the classes codes (n,), in addition to those counted before if `more`."""
        counts = label_counts(codes, weight, len(self.classes_)) + (self._counts if more else 0.0)
        rows = len(codes) if weight is None else int(np.count_nonzero(weight))
        self._prior = check_prior(self.prior, self.classes_, counts)
        self._counts, self._rows = counts, rows + (self._rows if more else 0)

    @property
    def class_count_(self) -> Any:
        """Return Σ w (C,) of each class."""
        return self._like.exact(self._counts)

    @property
    def n_samples_(self) -> int:
        """Return the number of rows with positive weight."""
        check_is_fitted(self)
        return self._rows
