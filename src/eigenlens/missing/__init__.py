"""Maximum likelihood estimation of linear-Gaussian models from incomplete rows."""
