"""The default gamma, 1/d, is for columns of unit variance: where the kernel sees nothing, a warning says so."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, load_wine

from eigenlens import KernelPCA, datasets
from eigenlens.errors import DataWarning

ROWS = np.random.default_rng(0).standard_normal((200, 5))


@pytest.mark.parametrize("options", [{}, {"kernel": "laplacian"}, {"approximation": "nystroem", "n_landmarks": 50}])
def test_rows_in_large_and_in_small_units(options):
    for unit, found in ((1000.0, "the identity"), (1e-4, "constant")):
        with pytest.warns(DataWarning, match=rf"1/d = 0.2, makes the kernel matrix nearly {found}.*gamma='median'"):
            KernelPCA(1, random_state=0, **options).fit(ROWS * unit)


def test_one_column_in_other_units_is_enough():
    with pytest.warns(DataWarning, match="standardize=True"):
        KernelPCA(2).fit(load_wine().data)


@pytest.mark.parametrize("unit", [0.05, 0.3, 1.0, 3.0])
def test_ordinary_rows_give_no_warning(unit):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelPCA(2).fit(ROWS * unit)
        KernelPCA(2).fit(load_iris().data)
        KernelPCA(2).fit(load_digits().data / 16.0)
        KernelPCA(2).fit(datasets.load("two-circles").data)
        KernelPCA(2).fit(sparse.random(300, 40, 0.1, random_state=0))


def test_what_it_advises_helps():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shares = [
            KernelPCA(2, random_state=0, **options).fit(load_wine().data).explained_variance_ratio_.sum()
            for options in ({"gamma": "median"}, {"standardize": True})
        ]
    with pytest.warns(DataWarning):
        default = KernelPCA(2).fit(load_wine().data).explained_variance_ratio_.sum()
    assert min(shares) > 5.0 * default


def test_a_gamma_that_was_chosen_is_not_questioned():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for options in ({"gamma": 0.2}, {"sigma": 1.0}, {"gamma": "scale"}, {"kernel": "poly"}, {"kernel": "linear"}):
            KernelPCA(1, **options).fit(ROWS * 100.0)


def test_rows_of_weight_zero_are_not_looked_at():
    X = np.concatenate([ROWS, np.full((10, 5), 1e6)])
    X[-5:] = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelPCA(1, approximation="nystroem", n_landmarks=20, random_state=0).fit(
            X[:-5], sample_weight=np.repeat([1.0, 0.0], [200, 5])
        )
