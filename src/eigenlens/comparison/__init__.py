"""Comparison of densities by the log-likelihood of held-out rows."""
