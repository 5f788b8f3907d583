"""Sparse principal components: directions of large variance that use few columns."""
