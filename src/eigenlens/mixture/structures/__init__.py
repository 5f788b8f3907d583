"""Covariance structures of the components of a mixture, one kind per module."""
