"""The few C++ kernels, their NumPy twins, and the choice between the two.

Each kernel has a twin that is its reference in the tests and its fallback: without a compiler, or with
EIGENLENS_KERNELS=numpy in the environment, the package does the same work through BLAS.
"""

from eigenlens.native.gram import (
    Points,
    Upper,
    gaussian_gram,
    gaussian_gram_numpy,
    gaussian_values,
    gaussian_values_numpy,
    symmetric_product,
    symmetric_product_numpy,
)
from eigenlens.native.moments import NARROW, moments_about, moments_about_numpy, symmetric
from eigenlens.native.runtime import active, kernels, readable
from eigenlens.native.sparse import normal_product, normal_product_numpy

__all__ = [
    "NARROW",
    "Points",
    "Upper",
    "active",
    "gaussian_gram",
    "gaussian_gram_numpy",
    "gaussian_values",
    "gaussian_values_numpy",
    "kernels",
    "moments_about",
    "moments_about_numpy",
    "normal_product",
    "normal_product_numpy",
    "readable",
    "symmetric",
    "symmetric_product",
    "symmetric_product_numpy",
]
