"""The parameters of `SparsePCA`, checked once."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.errors import OptionError


def check_nonzero(n_components: Any, n_nonzero: Any, d: int) -> tuple[int, ...]:
    """Return the largest number of columns of each component: as given, one number for all, or √d rounded up.

    >>> check_nonzero(3, [5, 2, 2], 13), check_nonzero(2, None, 13)
    ((5, 2, 2), (4, 4))
    """
    k = checks.integer("n_components", n_components, 1, d, "the number of columns")
    given: Any = int(np.ceil(np.sqrt(d))) if n_nonzero is None else n_nonzero
    if not checks.is_list(given):
        return (checks.integer("n_nonzero", given, 1, d, "the number of columns"),) * k
    given = checks.listed("n_nonzero", given)
    if len(given) != k:
        what = f"has {len(given)} numbers for {k} components"
        raise OptionError(what, argument="n_nonzero", value=given, fix="give one number, or one per component")
    return checks.integers("n_nonzero", given, 1, d, "the number of columns")


def check_max_nodes(max_nodes: Any) -> int | None:
    """Return the largest number of nodes of the search, or None for any."""
    return None if max_nodes is None else checks.integer("max_nodes", max_nodes, 0)
