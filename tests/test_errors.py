"""Errors as values: a sentence made when they are raised, and fields that cross process boundaries."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import eigenlens as el


def rejected(estimator, X):
    with pytest.raises(el.OptionError) as caught:
        estimator.fit(X)
    return caught.value


def test_the_sentence_is_in_args_and_in_repr():
    error = rejected(el.PCA(99), np.eye(4)[:, :3])
    assert str(error).startswith("n_components=99 must be at most 3, the number of features")
    assert error.args == (str(error),)
    assert "n_components=99" in repr(error)


def test_the_sentence_does_not_change_with_the_value():
    bounds = [(8.0, 0.0)]
    error = rejected(el.KernelDensity(bandwidth=0.3, bounds=bounds), np.linspace(0.0, 1.0, 9)[:, None])
    before = str(error)
    bounds[0] = (0.0, 1.0)
    assert str(error) == before
    assert "(8.0, 0.0)" in before


def test_an_error_about_a_function_crosses_process_boundaries():
    error = rejected(el.KernelPCA(2, gamma=lambda x: x), np.eye(5))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (again.argument, again.what, again.fix) == ("gamma", error.what, error.fix)


def test_the_classes_can_be_made_without_a_message():
    assert str(el.DataError()) == ""


def test_failures_of_a_comparison_keep_no_rows_alive():
    found = el.compare({"kde": el.KernelDensity(), "gmm": el.GaussianMixture(1)}, np.array([[0.0], [np.nan]] * 9), cv=3)
    assert found.failures["kde"].startswith("in fold 1: ")
    assert found.causes["kde"].__traceback__ is None
