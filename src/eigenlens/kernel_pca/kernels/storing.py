"""Kernels as a name and numbers, for files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields

from eigenlens.errors import ModelFileError
from eigenlens.kernel_pca.kernels.fourier import FourierFeatures
from eigenlens.kernel_pca.kernels.mercer import KERNELS, Kernel, built

__all__ = ["STORABLE", "from_dict", "to_dict"]

STORABLE: dict[str, type[Kernel]] = KERNELS | {FourierFeatures.name: FourierFeatures}
"""What a model in a file may hold: every kernel that has a name, and what stands in the place of one."""


def to_dict(kernel: Kernel) -> tuple[str, dict[str, float]]:
    """The name of a kernel and its numbers, for a file.

    >>> from eigenlens.kernel_pca.kernels.mercer import RBF
    >>> to_dict(Gaussian(0.5))
    ('rbf', {'gamma': 0.5})
    """
    if STORABLE.get(kernel.name) is not type(kernel):
        raise ModelFileError(
            f"kernel={kernel!r} is a callable, and a file holds numbers, not code; save a model with one of the named "
            f"kernels: {', '.join(map(repr, KERNELS))}."
        )
    return kernel.name, asdict(kernel)  # type: ignore[call-overload]


def from_dict(name: str, numbers: Mapping[str, float]) -> Kernel:
    """The kernel of `to_dict`; numbers that it does not take are left aside.

    >>> from eigenlens.kernel_pca.kernels.mercer import Polynomial
    >>> from_dict(*to_dict(Polynomial(gamma=0.5, coef0=1.0, degree=3)))
    Polynomial(gamma=0.5, coef0=1.0, degree=3)
    """
    if name not in STORABLE:
        raise ModelFileError(f"the kernel {name!r} is not known; known: {', '.join(map(repr, STORABLE))}.")
    wanted = [option.name for option in fields(STORABLE[name])]  # type: ignore[arg-type]
    if missing := [option for option in wanted if option not in numbers]:
        raise ModelFileError(f"the kernel {name!r} needs {', '.join(missing)}, which the file does not hold.")
    return built(STORABLE[name], numbers)
