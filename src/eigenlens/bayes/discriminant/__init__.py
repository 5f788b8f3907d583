"""Linear and quadratic discriminant analysis: Gaussian classes with a common covariance or one each."""
