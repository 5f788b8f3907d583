"""The part of a model file that classifiers share: classes, their prior and counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array


def pack_classes(estimator: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return arrays and header entries with the classes of a fitted classifier; a prior of one's own as a list."""
    prior = estimator.class_prior_
    header = {
        "parameters": {} if isinstance(estimator.prior, str | None) else {"prior": prior.tolist()},
        "classes": estimator.classes_.tolist(),
        "class_dtype": estimator.classes_.dtype.str,
        "rows": estimator.n_samples_,
    }
    return {"prior": prior, "counts": estimator.class_count_}, header


def restore_classes(estimator: Any, arrays: dict[str, Array], header: dict[str, Any]) -> None:
    """Give a classifier the classes of `pack_classes`."""
    estimator.classes_ = np.asarray(header["classes"], dtype=np.dtype(header["class_dtype"]))
    estimator.class_prior_, estimator._counts, estimator._rows = arrays["prior"], arrays["counts"], header["rows"]
