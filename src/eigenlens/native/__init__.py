"""Kernels in C++, their twins in NumPy, and the choice between the two.

Each kernel has a twin that is its reference in the tests and its fallback: without a compiler, or with
EIGENLENS_KERNELS=numpy in the environment, the package does the same work through BLAS.
"""
