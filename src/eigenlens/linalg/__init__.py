"""Operators, solvers and the spectra they find."""
