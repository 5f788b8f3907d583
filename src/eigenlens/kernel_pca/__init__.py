"""Kernel principal component analysis, exact and by landmarks or random features."""
