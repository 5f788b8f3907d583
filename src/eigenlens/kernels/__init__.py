"""Kernels k(x, y), the width of those that have one, and their Gram matrices as operators."""
