"""The solvers one by one: small singular values, ties, the automatic choice, and the parts they are made of."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from eigenlens.data.memory import ArraySource
from eigenlens.data.source import Source
from eigenlens.errors import OptionError
from eigenlens.linalg import covariance as covariance_module
from eigenlens.linalg import operators, symmetric
from eigenlens.linalg.lanczos import lanczos
from eigenlens.linalg.operators import CentredRows, Matrix
from eigenlens.linalg.power import power
from eigenlens.linalg.randomized import randomized
from eigenlens.linalg.solve import SOLVERS, SpectralProblem, choose_solver, solve
from eigenlens.linalg.spectrum import Outcome, Requested, Spectrum, orient
from eigenlens.linalg.svd import triangular_factor
from eigenlens.linalg.symmetric import leading_eigenpairs


def jacobi_singular_values(X):
    """Singular values of the centred X by one-sided Jacobi rotations in extended precision: slow, right to 1e-15."""
    A = X.astype(np.longdouble)
    A = A - A.mean(axis=0)
    A = A - A.mean(axis=0)
    if A.shape[0] < A.shape[1]:
        A = A.T.copy()
    for _ in range(30):
        largest = np.longdouble(0)
        for i, j in itertools.combinations(range(A.shape[1]), 2):
            a, b, c = A[:, i] @ A[:, i], A[:, j] @ A[:, j], A[:, i] @ A[:, j]
            if a == 0 or b == 0 or abs(c) <= 1e-19 * np.sqrt(a * b):
                continue
            largest = max(largest, abs(c) / np.sqrt(a * b))
            zeta = (b - a) / (2 * c)
            t = (1 if zeta >= 0 else -1) / (abs(zeta) + np.sqrt(1 + zeta * zeta))
            cosine = 1 / np.sqrt(1 + t * t)
            A[:, i], A[:, j] = cosine * (A[:, i] - t * A[:, j]), cosine * (t * A[:, i] + A[:, j])
        if largest < 1e-17:
            break
    return np.sort(np.sqrt((A * A).sum(axis=0)).astype(np.float64))[::-1]


def ill_conditioned(n, d, offset, smallest=1e-9, seed=0):
    rng = np.random.default_rng(seed)
    rank = min(n - 1, d)
    U = np.linalg.qr(rng.standard_normal((n, rank)))[0]
    V = np.linalg.qr(rng.standard_normal((d, rank)))[0]
    return np.sqrt(n) * (U * np.logspace(0, np.log10(smallest), rank)) @ V.T + offset


def singular_values(X, solver, weight=None, standardize=False, k=None):
    rows = CentredRows(ArraySource(X).weighted(weight), standardize=standardize)
    k = min(X.shape[0] - 1, X.shape[1]) if k is None else k
    spectrum = solve(rows, Requested.count(k, k), solver, rng=np.random.default_rng(0))
    return np.sqrt(spectrum.values * rows.divisor), spectrum


class TestSmallSingularValues:
    def test_the_reference_itself(self):
        """Jacobi against the values a matrix was built with, to the rounding of its entries."""
        X = ill_conditioned(300, 8, 0.0, 1e-3)
        X -= X.mean(axis=0)
        np.testing.assert_allclose(
            jacobi_singular_values(X), np.linalg.svd(X - X.mean(axis=0), compute_uv=False), rtol=1e-11
        )

    @pytest.mark.parametrize("solver", ["svd", "auto"])
    @pytest.mark.parametrize("shape", [(500, 12), (12, 60), (20, 20)])
    @pytest.mark.parametrize("offset", [0.0, 1.0, 1e3])
    def test_nine_decades_are_kept(self, solver, shape, offset):
        X = ill_conditioned(*shape, offset)
        found, spectrum = singular_values(X, solver)
        expected = jacobi_singular_values(X)[: found.size]
        assert expected[-1] < 1.1e-9 * expected[0]
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert spectrum.outcome.solver == "svd"

    def test_the_automatic_choice_says_why_it_left_the_covariance(self):
        _, spectrum = singular_values(ill_conditioned(500, 12, 0.0), "auto")
        assert "covariance loses" in spectrum.outcome.reason
        _, spectrum = singular_values(ill_conditioned(500, 12, 0.0), "auto", k=1)
        assert spectrum.outcome.solver == "covariance"

    def test_what_the_covariance_loses(self):
        """Squaring halves the digits: good to 1e-6 of the largest with a few digits, nothing at 1e-9."""
        X = ill_conditioned(500, 12, 0.0)
        found, _ = singular_values(X, "covariance")
        expected = jacobi_singular_values(X)
        error = np.abs(found / expected - 1.0)
        assert error[expected > 1e-3 * expected[0]].max() < 1e-9
        assert error[-1] > 1e-3

    def test_weighted(self):
        X = ill_conditioned(200, 10, 10.0)
        weight = np.tile([1.0, 2.0, 3.0, 0.0], 50)
        found, _ = singular_values(X, "svd", weight)
        expected = jacobi_singular_values(np.repeat(X, weight.astype(int), axis=0))
        np.testing.assert_allclose(found, expected, rtol=1e-6)

    def test_standardised_columns_of_very_different_scale(self):
        """Scales are not ill-conditioning: after standardising, the spectrum is that of the unscaled columns."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((300, 8))
        scaled = X * np.logspace(0, -12, 8)
        found, _ = singular_values(scaled, "auto", standardize=True)
        expected, _ = singular_values(X, "auto", standardize=True)
        np.testing.assert_allclose(found, expected, rtol=1e-10)

    def test_axes_of_small_values_are_right_too(self):
        X = ill_conditioned(500, 12, 1e3)
        _, spectrum = singular_values(X, "svd")
        C = (X - X.mean(axis=0)).astype(np.longdouble)
        C -= C.mean(axis=0)
        lengths = np.linalg.norm(np.asarray(C @ spectrum.vectors.astype(np.longdouble), dtype=float), axis=0)
        np.testing.assert_allclose(lengths, np.sqrt(spectrum.values * 499.0), rtol=1e-5)


class TestTies:
    """Eigenvalues of multiplicity 1 … 20, with eigengaps around them."""

    @pytest.mark.parametrize("solver", [lanczos, randomized, power])
    @pytest.mark.parametrize("multiplicity", [1, 2, 8, 9, 15, 20])
    def test_every_copy_is_found(self, solver, multiplicity):
        rng = np.random.default_rng(multiplicity)
        values = np.concatenate([[5.0, 4.0], np.full(multiplicity, 2.0), 0.9 ** np.arange(150)])
        Q = np.linalg.qr(rng.standard_normal((values.size, values.size)))[0]
        k = multiplicity + 3
        spectrum = solver(Matrix((Q * values) @ Q.T), Requested.count(k, values.size), 1e-9, rng)
        np.testing.assert_allclose(spectrum.values, values[:k], rtol=1e-9)
        np.testing.assert_allclose(spectrum.vectors.T @ spectrum.vectors, np.eye(k), atol=1e-9)
        assert spectrum.outcome.converged

    @pytest.mark.parametrize("solver", ["lanczos", "randomized"])
    def test_the_identity_matrix(self, solver):
        """All eigenvalues equal: any orthonormal set will do, at once."""
        spectrum = SOLVERS[solver](Matrix(np.eye(60)), Requested.count(5, 60), 1e-9, np.random.default_rng(0))
        np.testing.assert_allclose(spectrum.values, 1.0, rtol=1e-12)
        np.testing.assert_allclose(spectrum.vectors.T @ spectrum.vectors, np.eye(5), atol=1e-12)


class TestIterations:
    @pytest.mark.parametrize("solver", [lanczos, randomized])
    def test_slow_decay_is_not_left_several_per_cent_wrong(self, solver):
        """The case where a plain randomised range finder is wrong by 7%."""
        rng = np.random.default_rng(0)
        values = 1.0 / np.sqrt(np.arange(1.0, 301.0))
        Q = np.linalg.qr(rng.standard_normal((300, 300)))[0]
        spectrum = solver(Matrix((Q * values) @ Q.T), Requested.count(20, 300), 1e-8, rng)
        assert spectrum.outcome.converged
        np.testing.assert_allclose(spectrum.values, values[:20], rtol=1e-9)

    @pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 12, 17, 40, 100])
    @pytest.mark.parametrize("solver", [lanczos, randomized, power])
    def test_all_of_a_small_matrix(self, size, solver):
        rng = np.random.default_rng(size)
        values = np.linspace(1.0, 2.0, size)[::-1] if size < 20 else 0.8 ** np.arange(size)
        k = size if size < 20 else size // 4
        Q = np.linalg.qr(rng.standard_normal((size, size)))[0]
        spectrum = solver(Matrix((Q * values) @ Q.T), Requested.count(k, size), 1e-9, rng)
        np.testing.assert_allclose(spectrum.values, values[:k], rtol=1e-9)

    @pytest.mark.parametrize("rank", [1, 5, 8, 11, 49])
    @pytest.mark.parametrize("solver", [lanczos, randomized])
    def test_more_pairs_than_the_rank(self, rank, solver):
        """A Krylov space that is used up must not invent eigenvalues."""
        rng = np.random.default_rng(rank)
        values = np.append(0.95 ** np.arange(rank), np.zeros(200 - rank))
        Q = np.linalg.qr(rng.standard_normal((200, 200)))[0]
        spectrum = solver(Matrix((Q * values) @ Q.T), Requested.count(rank + 3, 200), 1e-9, rng)
        np.testing.assert_allclose(spectrum.values, values[: rank + 3], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(spectrum.vectors.T @ spectrum.vectors, np.eye(rank + 3), atol=1e-9)

    def test_power_deflates(self):
        spectrum = power(Matrix(np.diag([1.0, 9.0, 4.0])), Requested.count(3, 3), 1e-10, np.random.default_rng(0))
        np.testing.assert_allclose(spectrum.values, [9.0, 4.0, 1.0], rtol=1e-9)
        np.testing.assert_allclose(spectrum.vectors, np.eye(3)[:, [1, 2, 0]], atol=1e-8)
        assert spectrum.outcome.iterations > 3

    @pytest.mark.parametrize("solver", ["lanczos", "randomized", "power"])
    def test_the_same_seed_gives_the_same_bits(self, solver):
        X = np.random.default_rng(0).standard_normal((80, 30)) * 0.8 ** np.arange(30)
        rows = [
            solve(CentredRows(ArraySource(X)), Requested.count(3, 30), solver, rng=np.random.default_rng(5))
            for _ in range(2)
        ]
        assert np.array_equal(rows[0].vectors, rows[1].vectors)

    @pytest.mark.parametrize("solver", ["lanczos", "randomized", "power"])
    def test_a_rule_that_needs_the_whole_spectrum_is_rejected(self, solver):
        rows = CentredRows(ArraySource(np.random.default_rng(0).standard_normal((20, 4))))
        wanted = Requested(4, 4, lambda values, total: 2, needs_all=True)
        with pytest.raises(OptionError, match=rf"solver='{solver}'.*needs all of them.*'covariance'"):
            solve(rows, wanted, solver)


class TestDenseParts:
    @pytest.mark.parametrize("d", [5, 299, 320])
    @pytest.mark.parametrize("many", [False, True])
    def test_leading_eigenpairs_against_numpy(self, d, many):
        rng = np.random.default_rng(d)
        A = rng.standard_normal((d, d + 10))
        A = A @ A.T
        k = d // 2 if many else 3
        values, leading, V = leading_eigenpairs(A, Requested.count(k, d), all_values=True)
        expected = np.linalg.eigvalsh(A)[::-1]
        alone = leading_eigenpairs(A, Requested.count(k, d))
        np.testing.assert_array_equal(alone[0][:k], leading)
        np.testing.assert_array_equal(alone[2], V)
        np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-11 * expected[0])
        np.testing.assert_allclose(leading, expected[:k], rtol=1e-9, atol=1e-11 * expected[0])
        assert np.linalg.norm(A @ V - V * leading) < 1e-11 * expected[0] * k
        np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-11)

    @pytest.mark.parametrize("multiplicity", [2, 20, 60])
    def test_ties_in_the_reduced_form(self, multiplicity, monkeypatch):
        """The path of large matrices, made to take a small one: ties split the tridiagonal form."""
        monkeypatch.setattr(symmetric, "MAX_DIVIDE_AND_CONQUER", 10)
        values = np.append(np.full(multiplicity, 3.0), 0.5 ** np.arange(120))
        Q = np.linalg.qr(np.random.default_rng(0).standard_normal((values.size, values.size)))[0]
        A = (Q * values) @ Q.T
        k = min(multiplicity, values.size // 6 - 1)
        _, leading, V = leading_eigenpairs(A, Requested.count(k, values.size))
        np.testing.assert_allclose(leading, 3.0, rtol=1e-12)
        np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-10)
        assert np.linalg.norm(A @ V - 3.0 * V) < 1e-11

    @pytest.mark.parametrize("block_rows", [None, 10])
    def test_few_of_many_by_lanczos_inside_covariance_and_gram(self, block_rows, monkeypatch):
        monkeypatch.setattr(covariance_module, "MAX_LAPACK_SIZE", 50)
        monkeypatch.setattr(operators, "COLUMN_BLOCK", 17)
        rng = np.random.default_rng(0)
        X = rng.standard_normal((120, 100)) * 0.9 ** np.arange(100)
        expected = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:3] ** 2 / 119.0
        for solver in ("covariance", "gram"):
            rows = CentredRows(ArraySource(X, block_rows=block_rows))
            spectrum = solve(rows, Requested.count(3, 100), solver, rng=rng)
            np.testing.assert_allclose(spectrum.values, expected, rtol=1e-9)
            assert spectrum.outcome.iterations > 0
            assert spectrum.outcome.solver == solver

    @pytest.mark.parametrize("shape", [(50, 6), (6, 6), (2000, 5)])
    @pytest.mark.parametrize("deficient", [False, True])
    def test_the_triangle_squares_to_the_covariance(self, shape, deficient):
        X = np.random.default_rng(0).standard_normal(shape) + 100.0
        if deficient:
            X[:, -1] = X[:, 0]
        R = triangular_factor(CentredRows(ArraySource(X, block_rows=7)))
        assert np.array_equal(R, np.triu(R))
        np.testing.assert_allclose(R.T @ R, np.cov(X.T), rtol=1e-10, atol=1e-12)

    def test_operator_products_against_dense(self):
        rng = np.random.default_rng(0)
        X, w = rng.standard_normal((40, 6)) * 3.0 + 50.0, rng.uniform(0.0, 2.0, 40)
        rows = CentredRows(ArraySource(X, block_rows=9).weighted(w), standardize=True)
        S = np.cov(X.T, aweights=w, ddof=0) * w.sum() / (w.sum() - 1.0)
        S /= np.sqrt(np.outer(S.diagonal(), S.diagonal()))
        C = (X - w @ X / w.sum()) / rows.scale * np.sqrt(w / (w.sum() - 1.0))[:, None]
        V, U = rng.standard_normal((6, 3)), rng.standard_normal((40, 2))
        np.testing.assert_allclose(rows.dense(), S, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(rows.matmat(V), S @ V, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(rows.rmatmat(U), C.T @ U, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(rows.gram(), C @ C.T, rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(np.vstack(list(rows.centred_blocks())), C, rtol=1e-11, atol=1e-13)
        assert rows.trace == pytest.approx(6.0, rel=1e-12)


class TestNullSpace:
    @pytest.mark.parametrize("solver", ["covariance", "gram", "svd"])
    def test_axes_without_variance_are_the_same_for_every_solver(self, solver):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((9, 2)) @ rng.standard_normal((2, 5))
        spectrum = solve(CentredRows(ArraySource(X)), Requested.count(5, 5), solver)
        twin = solve(CentredRows(ArraySource(X)), Requested.count(5, 5), "svd")
        assert spectrum.values[2:].max() <= 1e-14 * spectrum.values[0]
        np.testing.assert_allclose(spectrum.vectors, twin.vectors, atol=1e-8)
        np.testing.assert_allclose(spectrum.vectors.T @ spectrum.vectors, np.eye(5), atol=1e-12)


class TestOrient:
    def test_the_largest_entry_is_positive(self):
        V = np.linalg.qr(np.random.default_rng(0).standard_normal((20, 6)))[0]
        turned = orient(V)
        assert np.all(turned[np.abs(turned).argmax(axis=0), np.arange(6)] > 0.0)
        assert np.array_equal(np.abs(turned), np.abs(V))
        assert np.array_equal(orient(-V), turned)

    def test_ties_go_to_the_first_whatever_the_rounding(self):
        for wobble in (-1e-9, 0.0, 1e-9):
            v = np.array([[-1.0 - wobble], [1.0 + wobble]]) / np.sqrt(2.0)
            assert orient(v)[0, 0] > 0.0

    def test_nothing_to_orient(self):
        assert orient(np.empty((4, 0))).shape == (4, 0)
        assert orient(np.zeros((3, 1))).tolist() == [[0.0], [0.0], [0.0]]


class TestChoice:
    @pytest.mark.parametrize(
        ("problem", "solver"),
        [
            (SpectralProblem(1_000_000, 100, 10), "covariance"),
            (SpectralProblem(20_000, 2_000, 2_000), "covariance"),
            (SpectralProblem(5_000, 5_000, 50), "lanczos"),
            (SpectralProblem(5_000, 5_000, 500), "covariance"),
            (SpectralProblem(20_000, 5_000, 50), "covariance"),
            (SpectralProblem(500, 100_000, 20), "gram"),
            (SpectralProblem(100, 200, 3), "gram"),
            (SpectralProblem(100, 199, 3), "covariance"),
            (SpectralProblem(500, 100_000, 20, columns=False), "lanczos"),
            (SpectralProblem(10_000, 15_000, 20), "lanczos"),
            (SpectralProblem(10_000, 15_000, 2_000), "gram"),
            (SpectralProblem(100_000, 50_000, 20), "lanczos"),
            (SpectralProblem(200_000, 20_000, 50, density=0.002), "lanczos"),
            (SpectralProblem(200_000, 2_000, 50, density=0.002), "covariance"),
            (SpectralProblem(20_000, 10_000, 5_000, density=0.002), "covariance"),
        ],
    )
    def test_table(self, problem, solver):
        name, reason = choose_solver(problem)
        assert name == solver
        assert name in SOLVERS
        assert reason

    def test_a_callable_is_a_solver(self):
        def first_axis(rows, wanted, tol, rng):
            return Spectrum(np.array([2.0]), np.eye(rows.size)[:, :1], rows.trace, Outcome("mine"))

        rows = CentredRows(ArraySource(np.random.default_rng(0).standard_normal((10, 3))))
        spectrum = solve(rows, Requested.count(1, 3), first_axis)
        assert spectrum.outcome.solver == "mine"
        assert spectrum.values.tolist() == [2.0]

    def test_covariance_takes_one_pass(self):
        class Counted(Source):
            n_rows, n_features, dtype, passes = 30, 4, np.dtype(np.float64), 0

            def rows(self):
                self.passes += 1
                yield np.random.default_rng(0).standard_normal((30, 4))

        source = Counted()
        spectrum = solve(CentredRows(source), Requested.count(2, 4), "auto")
        assert source.passes == spectrum.outcome.passes == 1


def test_lanczos_of_huge_values_does_not_overflow():
    rng = np.random.default_rng(3)
    G = rng.normal(size=(40, 40))
    S = G @ G.T
    small, huge = (lanczos(Matrix(factor * S), Requested.count(3, 40), 1e-10, rng) for factor in (1.0, 1e300))
    np.testing.assert_allclose(huge.values, 1e300 * small.values, rtol=1e-9)
    assert huge.outcome.converged
