"""Frozen values: what algorithms return."""
