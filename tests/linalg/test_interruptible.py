"""Long calls of libraries leave the main thread free, and have the bits of SciPy's own wrappers."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest

from eigenlens.linalg import symmetric, unlocked_lapack
from eigenlens.linalg.symmetric import _vectors
from eigenlens.resources import interruptible

SYMMETRIC = np.random.default_rng(0).normal(size=(40, 40))
SYMMETRIC = SYMMETRIC + SYMMETRIC.T


def test_work_and_its_errors_come_back():
    assert interruptible(lambda: threading.current_thread().name) == "eigenlens-interruptible"
    assert interruptible(lambda: threading.current_thread().name, entries=10) == "MainThread"
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        interruptible(lambda: np.ones(1) / np.zeros(1))


def test_other_threads_do_their_own_work():
    names = []
    thread = threading.Thread(target=lambda: names.append(interruptible(lambda: threading.current_thread().name)))
    thread.start()
    thread.join()
    assert names == [thread.name]


def test_an_interrupt_does_not_wait_for_the_work():
    released, ended = threading.Event(), threading.Event()

    def work() -> None:
        signal.raise_signal(signal.SIGINT)
        released.wait(60.0)
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        interruptible(work)
    assert not ended.is_set()  # it goes on by itself
    released.set()
    assert ended.wait(60.0)


@pytest.mark.parametrize("k", [4, 40])
def test_bits_are_those_of_the_wrappers_of_scipy(k, monkeypatch):
    for name, count in {"dsytrd": 10, "dsterf": 4, "dstemr": 21}.items():
        assert unlocked_lapack._routine(name, count) is not None, "SciPy has other signatures: the wrappers do the work"
    found = []
    for size in (1, 1000):
        monkeypatch.setattr(unlocked_lapack, "MIN_UNLOCKED_SIZE", size)
        reduced, *rest = unlocked_lapack.tridiagonal_form(SYMMETRIC)
        values = unlocked_lapack.tridiagonal_eigenvalues(*rest[:2])
        found.append((np.tril(reduced), *rest, values, *_vectors(reduced, *rest, k)))
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))
    values, vectors = found[0][5:]
    np.testing.assert_allclose(SYMMETRIC @ vectors, vectors * values, atol=1e-12)


def test_a_routine_of_another_signature_is_left_to_scipy():
    assert unlocked_lapack._routine("dsytrd", 11) is None
    assert unlocked_lapack._routine("no such routine", 3) is None


@pytest.mark.parametrize("size", [1, 1000])
def test_a_routine_that_fails_is_an_error(size, monkeypatch):
    monkeypatch.setattr(unlocked_lapack, "MIN_UNLOCKED_SIZE", size)
    for spoilt in (np.nan, np.inf):
        diagonal, off = np.ones(50), np.full(49, 0.1)
        diagonal[3] = spoilt
        with pytest.raises(np.linalg.LinAlgError, match=r"dsterf .* 50 columns"):
            unlocked_lapack.tridiagonal_eigenvalues(diagonal, off)
        with pytest.raises(np.linalg.LinAlgError, match=r"dstevd .* 50 columns"):
            unlocked_lapack.divide_and_conquer(diagonal, off)


def test_a_matrix_too_large_for_divide_and_conquer_has_its_vectors_one_by_one(monkeypatch):
    monkeypatch.setattr(symmetric, "MAX_DIVIDED_SIZE", 10)
    monkeypatch.setattr(unlocked_lapack, "MAX_DIVIDED_SIZE", 10)
    d = len(SYMMETRIC)
    reduced, *rest = unlocked_lapack.tridiagonal_form(SYMMETRIC)
    values, vectors = _vectors(reduced, *rest, d)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(SYMMETRIC)[::-1], atol=1e-12)
    np.testing.assert_allclose(SYMMETRIC @ vectors, vectors * values, atol=1e-12)
    with pytest.raises(np.linalg.LinAlgError, match="at most 10 columns"):
        unlocked_lapack.divide_and_conquer(*rest[:2])
    assert 1 + 4 * 46_338 + 46_338**2 < 2**31 <= 1 + 4 * 46_339 + 46_339**2
