"""Kernel density estimation in one and several dimensions."""
