"""Plots are drawn without a screen; figures are closed by the conftest of all tests."""

import matplotlib as mpl

mpl.use("Agg")
