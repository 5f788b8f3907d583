"""Probabilistic PCA, in closed form and by EM."""
