"""Kernels k(x, y) by name: `KERNELS` is the one list of them, and a new kernel is one class and one entry in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from eigenlens import checks
from eigenlens.errors import OptionError
from eigenlens.kernel_pca.kernels.base import Kernel
from eigenlens.kernel_pca.kernels.cosine import Cosine
from eigenlens.kernel_pca.kernels.custom import Custom
from eigenlens.kernel_pca.kernels.laplacian import Laplacian
from eigenlens.kernel_pca.kernels.linear import Linear
from eigenlens.kernel_pca.kernels.polynomial import Polynomial
from eigenlens.kernel_pca.kernels.precomputed import Precomputed
from eigenlens.kernel_pca.kernels.rbf import RBF
from eigenlens.kernel_pca.kernels.sigmoid import Sigmoid

KERNELS: dict[str, type[Kernel]] = {
    kind.name: kind for kind in (Linear, Polynomial, RBF, Laplacian, Sigmoid, Cosine, Precomputed)
}
"""Every kernel that has a name; its dataclass fields are the options it takes."""

KERNEL_ALIASES = {"polynomial": "poly", "gaussian": "rbf"}
"""Other names of these kernels, which scikit-learn's pairwise kernels and textbooks have."""


def make_kernel(
    kernel: str | Callable[..., Any],
    gamma: float = 1.0,
    degree: int = 3,
    coef0: float = 1.0,
    parameters: Mapping[str, Any] | None = None,
) -> Kernel:
    """Return the named kernel with those of the options that it takes, or that of a callable k(X, Y, **parameters).

    Fields of a named kernel other than gamma, degree and coef0 come from `parameters`; those with a default may be
    left out.

    >>> make_kernel("rbf", gamma=0.5), make_kernel("cosine")
    (RBF(gamma=0.5), Cosine())
    """
    own = dict(parameters or {})
    kernel = checks.choice("kernel", kernel, KERNELS, takes="X, Y")
    if isinstance(kernel, str):
        shared = {"gamma": float(gamma), "degree": int(degree), "coef0": float(coef0)}
        takes = kernel_options(KERNELS[kernel])
        _check_parameters(kernel, own, [option for option in takes if option not in shared])
        return KERNELS[kernel](**{option: value for option, value in (shared | own).items() if option in takes})
    if isinstance(kernel, Kernel):
        _check_parameters(kernel.name, own, [])
        return kernel
    return Custom(kernel, own)


def kernel_options(kind: type[Kernel]) -> dict[str, bool]:
    """Return the options of a kernel by name, each with whether it must be given.

    >>> kernel_options(RBF)
    {'gamma': True}
    """
    found = fields(kind)  # type: ignore[arg-type]
    return {option.name: option.default is MISSING and option.default_factory is MISSING for option in found}


def _check_parameters(name: str, given: Mapping[str, Any], known: list[str]) -> None:
    """Check that a kernel takes all parameters given, and that none which it needs is missing."""
    listed = ", ".join(map(repr, known))
    unknown = [option for option in given if option not in known]
    if unknown:
        fix = f"it takes {listed}" if known else "it takes none; gamma, degree and coef0 are arguments of their own"
        what = f"has {', '.join(map(repr, unknown))}, which kernel={name!r} does not take"
        raise OptionError(what, argument="kernel_params", value=dict(given), fix=fix)
    required = kernel_options(KERNELS[name]) if known else {}
    missing = [option for option in known if required[option] and option not in given]
    if missing:
        what = f"lacks {', '.join(map(repr, missing))}, which kernel={name!r} needs"
        raise OptionError(what, argument="kernel_params", value=dict(given), fix=f"give a dict with {listed}")
