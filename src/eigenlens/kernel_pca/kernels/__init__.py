"""Kernel functions k(x, y) and their Gram matrices."""
