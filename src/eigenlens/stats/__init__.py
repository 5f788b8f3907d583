"""Mergeable statistics of rows."""
