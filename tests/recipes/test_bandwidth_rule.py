"""The recipe for a bandwidth rule: one function, and one entry in `BANDWIDTH_RULES`, for one and several columns."""

from __future__ import annotations

import numpy as np
import pytest

import eigenlens
from eigenlens import KernelDensity
from eigenlens.errors import OptionError
from eigenlens.kde.bandwidth import BANDWIDTH_RULES, BandwidthRule
from eigenlens.kde.bandwidth.multivariate import normal_reference


def tenth_of_range(x, weight):
    return 0.1 * float(np.ptp(x))


X = np.random.default_rng(0).uniform(size=(80, 3)) * [1.0, 2.0, 5.0]
WIDENED = normal_reference(80, 3) / normal_reference(80, 1)


@pytest.fixture(autouse=True)
def entry(monkeypatch):
    monkeypatch.setitem(BANDWIDTH_RULES, "mine", BandwidthRule(tenth_of_range))


def test_in_one_column():
    wanted = 0.1 * np.ptp(X[:, 0])
    assert eigenlens.bandwidth(X[:, 0], "mine") == pytest.approx(wanted, rel=1e-14)
    assert KernelDensity(bandwidth="mine").fit(X[:, :1]).bandwidth_ == pytest.approx(wanted, rel=1e-14)


def test_in_several_columns():
    wanted = WIDENED * 0.1 * np.ptp(X, axis=0)
    np.testing.assert_allclose(eigenlens.bandwidth(X, "mine"), wanted, rtol=1e-14)
    for options in ({}, {"bounds": (0.0, 5.0)}):
        np.testing.assert_allclose(KernelDensity(bandwidth="mine", **options).fit(X).bandwidth_, wanted, rtol=1e-14)
    box = KernelDensity(bandwidth="mine", kernel="box").fit(X).bandwidth_
    np.testing.assert_allclose(box, eigenlens.bandwidth(X, "mine", kernel="box"), rtol=1e-14)
    np.testing.assert_allclose(box / wanted, box[0] / wanted[0], rtol=1e-14)


def test_with_a_form_of_its_own_for_several_columns(monkeypatch):
    monkeypatch.setitem(BANDWIDTH_RULES, "mine", BandwidthRule(tenth_of_range, lambda X, weight, product: np.eye(3)))
    np.testing.assert_array_equal(KernelDensity(bandwidth="mine").fit(X).bandwidth_, np.eye(3))


def test_errors_list_it():
    with pytest.raises(OptionError, match=r"'sheather-jones-dpi', .*'mine'"):
        KernelDensity(bandwidth="other").fit(X)
    with pytest.raises(OptionError, match="did you mean 'mine'"):
        eigenlens.bandwidth(X, "minee")
