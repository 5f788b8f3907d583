"""The recipe for a kernel: one class whose fields are its options, and one entry in `KERNELS`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import eigenlens
from eigenlens import KernelPCA
from eigenlens.errors import ModelFileError, OptionError
from eigenlens.kernel_pca.kernels import KERNELS
from eigenlens.kernel_pca.kernels.distances import constant_vector, squared_distances


@dataclass(frozen=True)
class Matern:
    """k(x, y) of the Matérn family for nu = 1/2 and 3/2, with u = √gamma |x − y|."""

    gamma: float
    nu: float = 0.5
    name: ClassVar[str] = "matern"
    identity: ClassVar[bool] = False
    definite: ClassVar[bool] = True

    def __call__(self, X, Y):
        u = np.sqrt(2.0 * self.nu * self.gamma * squared_distances(X, Y))
        return np.exp(-u) if self.nu == 0.5 else (1.0 + u) * np.exp(-u)

    def diagonal(self, X):
        return constant_vector(X, 1.0)


def by_hand(X, Y):
    u = np.sqrt(3.0 * 0.2 * ((X[:, None] - Y[None]) ** 2).sum(axis=-1))
    return (1.0 + u) * np.exp(-u)


@pytest.fixture(autouse=True)
def entry(monkeypatch):
    monkeypatch.setitem(KERNELS, "matern", Matern)


X = np.random.default_rng(0).standard_normal((60, 3))
OPTIONS = {"kernel": "matern", "gamma": 0.2, "kernel_params": {"nu": 1.5}}


def test_a_kernel_takes_a_parameter_of_its_own():
    model = KernelPCA(4, **OPTIONS).fit(X)
    own = KernelPCA(4, kernel=by_hand).fit(X)
    assert model.model_.kernel == Matern(0.2, 1.5)
    np.testing.assert_allclose(model.eigenvalues_, own.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(np.abs(model.transform(X[:5])), np.abs(own.transform(X[:5])), atol=1e-10)
    assert KernelPCA(4, kernel="matern").fit(X).model_.kernel == Matern(1.0 / 3.0, 0.5)


@pytest.mark.parametrize("more", [{}, {"approximation": "rpcholesky", "n_landmarks": 40, "random_state": 0}])
def test_it_is_saved_and_loaded(more, tmp_path, monkeypatch):
    model = KernelPCA(4, preimage="ridge", **OPTIONS, **more).fit(X)
    path = tmp_path / "matern.safetensors"
    model.save(path)
    loaded = eigenlens.load(path)
    assert loaded.get_params()["kernel_params"] == {"nu": 1.5}
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    np.testing.assert_array_equal(loaded.denoise(X[:3]), model.denoise(X[:3]))
    monkeypatch.delitem(KERNELS, "matern")
    with pytest.raises(ModelFileError, match="'matern' is not known"):
        eigenlens.load(path)


def test_names_that_it_does_not_take_are_errors():
    with pytest.raises(OptionError, match=r"'mu', which kernel='matern' does not take; it takes 'nu'"):
        KernelPCA(2, kernel="matern", kernel_params={"mu": 1.5}).fit(X)
    with pytest.raises(OptionError, match="gamma, degree and coef0 are arguments of their own"):
        KernelPCA(2, kernel="rbf", kernel_params={"gamma": 1.5}).fit(X)


def test_options_without_a_default_must_be_given(monkeypatch):
    @dataclass(frozen=True)
    class Needy:
        nu: float
        name: ClassVar[str] = "needy"
        identity: ClassVar[bool] = False
        definite: ClassVar[bool] = True
        __call__, diagonal = Matern.__call__, Matern.diagonal

    monkeypatch.setitem(KERNELS, "needy", Needy)
    with pytest.raises(OptionError, match="lacks 'nu', which kernel='needy' needs"):
        KernelPCA(2, kernel="needy").fit(X)
