"""The check of the start of EM for probabilistic PCA."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.errors import OptionError
from eigenlens.latent.ppca.fit import EM_SOLVERS
from eigenlens.latent.ppca.plain_em import PPCAStart


def check_ppca_start(init: Any, d: int, n_components: Any, solver: str) -> PPCAStart | None:
    """Check init: None, or a pair of loadings W (d, k) without a column of zeros and a positive noise variance.

    >>> check_ppca_start((np.ones((3, 1)), 0.5), 3, 1, "em").noise
    0.5
    >>> check_ppca_start((np.ones((2, 1)), 0.5), 3, 1, "em")
    Traceback (most recent call last):
      ...
    eigenlens.errors.OptionError: init has loadings of shape (2, 1), but n_components=1 of 3 columns need (3, 1).
    """
    if init is None:
        return None
    if solver not in EM_SOLVERS:
        what, settings = f"is the start of EM, but solver={solver!r} may not need one", {"solver": "em"}
        raise OptionError(what, argument="init", fix="use {solver}", settings=settings)
    if not isinstance(init, tuple | list) or len(init) != 2:
        raise OptionError("must be a pair (W, sigma²): loadings and a noise variance", argument="init", value=init)
    W, noise = checks.numbers("init[0]", init[0]), checks.real("init[1]", init[1], 0.0)
    if W.shape != (d, n_components):
        needed = f"n_components={n_components!r} of {d} columns need ({d}, {n_components})"
        raise OptionError(f"has loadings of shape {W.shape}, but {needed}", argument="init")
    if not np.all(np.isfinite(W)) or not np.all(np.any(W != 0.0, axis=0)):
        what = "has loadings with a column of zeros, which EM never leaves, or entries that are not finite"
        raise OptionError(what, argument="init", fix="start from random loadings")
    return PPCAStart(W, noise)
