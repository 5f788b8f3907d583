"""Covariance structures of the components of a mixture.

| name      | covariances                 | free parameters           | in mclust |
|-----------|-----------------------------|---------------------------|-----------|
| full      | C_k                         | K d (d + 1) / 2           | VVV       |
| tied      | C for all                   | d (d + 1) / 2             | EEE       |
| diag      | diag(v_k)                   | K d                       | VVI       |
| spherical | v_k I                       | K                         | VII       |
| ppca      | W_k W_kᵀ + v_k I, q columns | K (d q − q (q − 1)/2 + 1) |           |
| factor    | W_k W_kᵀ + diag(v_k)        | K (d q − q (q − 1)/2 + d) |           |
"""

from __future__ import annotations

from typing import Any

from eigenlens.mixture.structures.base import CovarianceStructure
from eigenlens.mixture.structures.diagonal import DiagonalStructure, SphericalStructure
from eigenlens.mixture.structures.factor import FactorStructure
from eigenlens.mixture.structures.full import FullStructure, TiedStructure
from eigenlens.mixture.structures.ppca import PPCAStructure

COVARIANCE_STRUCTURES: dict[str, type[Any]] = {
    "full": FullStructure,
    "tied": TiedStructure,
    "diag": DiagonalStructure,
    "spherical": SphericalStructure,
    "ppca": PPCAStructure,
    "factor": FactorStructure,
}
"""Structures by name: frozen dataclasses; a field `n_factors` is the number of latent dimensions."""


def has_factors(name: str) -> bool:
    """Return whether the structure of this name has latent dimensions.

    >>> has_factors("ppca"), has_factors("full")
    (True, False)
    """
    return "n_factors" in getattr(COVARIANCE_STRUCTURES[name], "__dataclass_fields__", {})


def make_structure(name: str, n_factors: int = 1) -> CovarianceStructure:
    """Return the structure of this name; one without latent dimensions does not depend on n_factors.

    >>> make_structure("factor", 2)
    FactorStructure(n_factors=2)
    """
    kind = COVARIANCE_STRUCTURES[name]
    made: CovarianceStructure = kind(n_factors) if has_factors(name) else kind()
    return made


def structure_name(structure: CovarianceStructure) -> tuple[str, int]:
    """Return the name and the number of latent dimensions from which `make_structure` made a structure."""
    name = next(name for name, kind in COVARIANCE_STRUCTURES.items() if type(structure) is kind)
    return name, int(getattr(structure, "n_factors", 1))
