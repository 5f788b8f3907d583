"""The plot of a comparison: dots and bars are where the table puts them."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from eigenlens.comparison.compare import Comparison
from eigenlens.errors import DataError, OptionError
from eigenlens.plot._comparison import comparison


def table(**changes):
    parts = {
        "names": ("mixture", "$kde$", "box", "broken"),
        "means": np.array([-4.2, -4.3, -np.inf, np.nan]),
        "errors": np.array([0.06, 0.04, np.nan, np.nan]),
        "behind": np.array([0.0, 0.1, np.inf, np.nan]),
        "behind_errors": np.array([0.0, 0.03, np.nan, np.nan]),
        "fit_seconds": np.array([0.07, 0.008, 0.001, np.nan]),
        "values": np.zeros((4, 5)),
        "folds": np.arange(5),
        "weight": np.ones(5),
        "failures": {"broken": "in fold 1: ValueError: too few rows"},
    }
    return Comparison(**(parts | changes))


def test_dots_and_bars_are_those_of_the_table():
    ax = comparison(table(), level=0.9)
    dots, bars = ax.collections[-1], ax.collections[0]
    assert_allclose(dots.get_offsets(), [[0.0, 0.0], [-0.1, 1.0]])
    half = norm.ppf(0.95) * 0.03
    assert_allclose(bars.get_segments()[1][:, 0], [-0.1 - half, -0.1 + half])
    assert [text.get_text() for text in ax.get_yticklabels()] == ["mixture", "$kde$"]
    assert ax.yaxis_inverted()
    assert any("-4.300" in text.get_text() and "0.008 s" in text.get_text() for text in ax.texts)
    ax.figure.canvas.draw()


def test_comparisons_that_cannot_be_drawn_are_reported():
    said = comparison(table()).get_title(loc="left")
    assert said == "box: density zero at a held-out row; broken: failed"


def test_given_axes_are_used():
    ax = plt.figure().add_subplot()
    assert comparison(table(), ax=ax) is ax


def test_nothing_to_draw():
    nothing = np.full(4, np.nan)
    with pytest.raises(DataError, match="nothing to draw"):
        comparison(table(means=nothing, behind=nothing))
    with pytest.raises(OptionError, match="level"):
        comparison(table(), level=95)
