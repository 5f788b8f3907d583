"""Parts that every scikit-learn estimator of the package shares."""
