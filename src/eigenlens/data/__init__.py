"""Rows in: sources and what they are made of."""
