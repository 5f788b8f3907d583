"""Latent Gaussian models: probabilistic PCA and factor analysis."""
