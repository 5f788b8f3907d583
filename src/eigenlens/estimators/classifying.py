"""What all classifiers by Bayes' rule share: labels, priors, and p(c | x) from ln p(x | c), in log space throughout.

A classifier is a class with `BayesRule` among its bases that keeps `classes_` and `class_prior_` and answers
`_log_likelihoods(X)`; `_draw(labels, rng)` lets it generate.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from eigenlens import checks
from eigenlens.arrays import Array, Like, is_tensor, to_numpy
from eigenlens.compiled.naive import winners
from eigenlens.data.encoded import encode
from eigenlens.errors import DataError, DataWarning, OptionError

__all__ = [
    "BayesRule",
    "Labels",
    "checked_prior",
    "chosen_class",
    "enough_classes",
    "labels_among",
    "labels_of",
    "log_normalised",
    "settled",
]

MOST_SLOTS = 1 << 16


class Labels(NamedTuple):
    """Classes (C,) in order, and which of them (n,), int32, each row has."""

    classes: Array
    codes: Array


# ---- labels ---------------------------------------------------------------------------------------------------


def labels_of(y: Any, X: Any = None, n_rows: int | None = None) -> Labels:
    """Labels y (n,): integers, text, booleans; a list, array, Series or Dask array. None is the label column of a scan.

    >>> labels_of(["b", "a", "b"])
    Labels(classes=array(['a', 'b'], dtype='<U1'), codes=array([1, 0, 1], dtype=int32))
    """
    values = _values(X.read_label() if y is None and hasattr(X, "read_label") else y)
    if n_rows is not None and len(values) != n_rows:
        raise DataError(f"y has {len(values)} labels, but X has {n_rows} rows: inconsistent numbers of samples.")
    return _coded(values)


def _values(y: Any) -> Array:
    if y is None:
        raise DataError("this classifier requires y to be passed, but the target y is None; give one label a row.")
    if hasattr(y, "dask"):
        y = y.compute()
    if is_tensor(y):
        y = to_numpy(y)
    elif type(y).__module__.split(".")[0] == "pyarrow":
        y = np.asarray(y)  # its own to_numpy refuses text
    elif hasattr(y, "to_numpy"):
        y = y.to_numpy()
    return np.asarray(column_or_1d(y, warn=True))


def _coded(values: Array) -> Labels:
    if values.dtype.kind in "iub":
        return _integers(values)
    if values.dtype.kind in "mMcV":
        raise DataError(
            f"y has dtype {values.dtype}; classes are text, integers or booleans: convert it, y.astype(str)."
        )
    missing = _missing(values)
    if missing.any():
        first = int(np.flatnonzero(missing)[0])
        raise DataError(
            f"Input y contains NaN: {int(missing.sum())} of {len(values)} labels are missing (first: row {first}); "
            "leave those rows out, or give them a class of their own."
        )
    if values.dtype.kind == "f":
        if np.isinf(values).any():
            raise DataError(f"Input y contains infinity or a value too large for {values.dtype!r}.")
        check_classification_targets(values)
    if values.dtype.kind in "fU":
        classes, codes = np.unique(values, return_inverse=True)
        return Labels(classes, codes.reshape(-1).astype(np.int32))
    return _objects(values)


def _missing(values: Array) -> Array:
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    return encode(values).codes < 0


def _integers(values: Array) -> Labels:
    """Without sorting, where the range is small."""
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    if high - low >= MOST_SLOTS:
        classes, codes = np.unique(values, return_inverse=True)
        return Labels(classes, codes.reshape(-1).astype(np.int32))
    wide = values.dtype if values.dtype == np.uint64 else np.dtype(np.int64)  # none that the difference overflows
    slots = (values.astype(wide, copy=False) - wide.type(low)).astype(np.intp, copy=False)
    present = np.bincount(slots, minlength=1) > 0
    classes = (np.flatnonzero(present).astype(wide) + wide.type(low)).astype(values.dtype)
    if present.all():
        return Labels(classes, slots.astype(np.int32))
    return Labels(classes, (np.cumsum(present) - 1).astype(np.int32)[slots])


def _objects(values: Array) -> Labels:
    codes, levels = encode(values)
    if levels and len({type(level) for level in levels}) == 1 and isinstance(levels[0], int | np.integer | np.bool_):
        return _integers(np.array(levels)[codes])
    try:
        order = sorted(range(len(levels)), key=levels.__getitem__)
    except TypeError:
        raise DataError("y mixes labels that have no order, such as text and numbers; make all of them text.") from None
    if not all(isinstance(level, str) for level in levels):
        check_classification_targets(values)
    place = np.empty(len(levels), dtype=np.int32)
    place[order] = np.arange(len(levels))
    ordered = [levels[k] for k in order]
    if all(isinstance(level, str) for level in levels):
        return Labels(np.array(ordered, dtype=str), place[codes])
    classes = np.empty(len(levels), dtype=object)
    classes[:] = ordered
    return Labels(classes, place[codes])


def labels_among(found: Labels, classes: Array) -> Array:
    """The codes (n,) of labels among known classes; a label that is none of them is an error."""
    places = {label: k for k, label in enumerate(classes.tolist())}
    odd = [label for label in found.classes.tolist() if label not in places]
    if odd:
        raise DataError(
            f"y holds the class {odd[0]!r} (and {len(odd) - 1} more), not among the {len(classes)} that are known "
            f"({', '.join(map(repr, classes.tolist()[:6]))}{', …' if len(classes) > 6 else ''}); name all classes in "
            "the first call, partial_fit(X, y, classes=[...]), or fit anew."
        )
    return np.array([places[label] for label in found.classes.tolist()], dtype=np.int32)[found.codes]


def enough_classes(labels: Labels, weight: Array | None) -> Labels:
    """The labels, without classes whose rows have no weight; two at least must be left."""
    total = np.bincount(labels.codes, weight, minlength=len(labels.classes))
    kept = total > 0.0
    if kept.sum() < 2:
        raise DataError(
            f"y has {int(kept.sum())} class ({', '.join(map(repr, labels.classes[kept].tolist()))}) in the rows that "
            "count; at least 2 classes are needed: give rows of another, or fit a density instead."
        )
    if kept.all():
        return labels
    place = np.where(kept, np.cumsum(kept) - 1, 0).astype(np.int32)
    return Labels(labels.classes[kept], place[labels.codes])


def chosen_class(classes: Array, name: str, value: Any, n: int) -> Array | None:
    """The number (n,) of a class that is named, or of one a row; None where none is."""
    if value is None:
        return None
    places = {label: k for k, label in enumerate(classes.tolist())}
    asked = [value] * n if np.ndim(value) == 0 else np.asarray(value).tolist()
    odd = [label for label in asked if label not in places]
    if odd or len(asked) != n:
        raise OptionError(f"{name}={value!r} must be one of the classes {classes.tolist()[:8]}, or one for each row.")
    return np.array([places[label] for label in asked], dtype=np.intp)


# ---- priors ---------------------------------------------------------------------------------------------------


def checked_prior(prior: Any, classes: Array, weight: Array) -> Array:
    """p(c) (C,): None for the shares of the rows' weight (C,), "uniform", one a class in order, or {class: p}.

    >>> checked_prior({"b": 0.25, "a": 0.75}, np.array(["a", "b"]), np.ones(2))
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


def log_normalised(joint: Array) -> Array:
    """ln p(c | x) (n, C) from ln p(x, c) (n, C): each row less the logarithm of the sum of its exponentials.

    >>> log_normalised(np.array([[-10000.0, -10001.0]]))
    array([[-0.3133, -1.3133]])
    """
    shifted = joint - joint.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def settled(joint: Array, log_prior: Array) -> tuple[Array, Array, int]:
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

    def _log_likelihoods(self, X: Any) -> Iterator[Array]:
        raise NotImplementedError

    def _draw(self, labels: Array, rng: np.random.Generator) -> Any:
        raise NotImplementedError

    def predict(self, X: Any) -> Array:
        """The likeliest class (n,) of each row: argmax ln p(c) + ln p(x | c); the first of equally likely ones."""
        check_is_fitted(self)
        best = np.concatenate([best for best, _ in self._settled(X)])
        return np.asarray(self.classes_.take(best))

    def predict_joint_log_proba(self, X: Any) -> Any:
        """ln p(x, c) = ln p(c) + ln p(x | c), (n, C)."""
        return self._gathered(X, lambda joint: joint)

    def predict_log_proba(self, X: Any) -> Any:
        """ln p(c | x) (n, C)."""
        return self._gathered(X, log_normalised)

    def predict_proba(self, X: Any) -> Any:
        """p(c | x) (n, C)."""
        return self._gathered(X, lambda joint: np.exp(log_normalised(joint)))

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
            best, joint, here = settled(joint, log_prior)
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
        return Like(X, np.dtype(np.float32) if "float32" in str(getattr(X, "dtype", "")) else np.dtype(np.float64))(
            found
        )
