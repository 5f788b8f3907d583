"""Gaussian mixture models."""
