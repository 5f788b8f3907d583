"""Laws of PCA: what algebra says must happen when the rows are moved, cut, weighted, merged or drawn from the model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, sparse
from scipy.stats import multivariate_normal, special_ortho_group

from eigenlens import PCA
from eigenlens.data.memory import ArraySource
from eigenlens.linalg.solve import SOLVERS

NAMES = ["auto", *SOLVERS]
EXACT = ["auto", "covariance", "gram", "svd"]


def rows(n=120, d=6, seed=0):
    rng = np.random.default_rng(seed)
    mix = special_ortho_group.rvs(d, random_state=seed) if d > 1 else np.eye(1)
    return rng.standard_normal((n, d)) * 0.6 ** np.arange(d) @ mix + rng.standard_normal(d)


def pca(solver="auto", **options):
    options = {"n_components": 3, "random_state": 0, "tol": 1e-11, **options}
    return PCA(solver=solver, **options)


class TestEquivariance:
    @pytest.mark.parametrize("solver", NAMES)
    def test_shift(self, solver):
        X, c = rows(), np.linspace(-30.0, 40.0, 6)
        a, b = pca(solver).fit(X), pca(solver).fit(X + c)
        np.testing.assert_allclose(b.mean_, a.mean_ + c, rtol=1e-12)
        np.testing.assert_allclose(b.explained_variance_, a.explained_variance_, rtol=1e-10)
        np.testing.assert_allclose(b.components_, a.components_, atol=1e-7)
        np.testing.assert_allclose(b.transform(X + c), a.transform(X), atol=1e-7)

    @pytest.mark.parametrize("factor", [-3.0, 1e-6, 1e6])
    def test_scale(self, factor):
        X = rows()
        a, b = pca().fit(X), pca().fit(X * factor)
        np.testing.assert_allclose(b.explained_variance_, a.explained_variance_ * factor**2, rtol=1e-10)
        np.testing.assert_allclose(b.components_, a.components_, atol=1e-9)
        np.testing.assert_allclose(b.noise_variance_, a.noise_variance_ * factor**2, rtol=1e-9)
        assert b.score(X * factor) == pytest.approx(a.score(X) - 6 * np.log(abs(factor)), rel=1e-9)

    @pytest.mark.parametrize("solver", NAMES)
    def test_rotation(self, solver):
        X, Q = rows(), special_ortho_group.rvs(6, random_state=5)
        a, b = pca(solver).fit(X), pca(solver).fit(X @ Q)
        np.testing.assert_allclose(b.explained_variance_, a.explained_variance_, rtol=1e-10)
        np.testing.assert_allclose(np.abs(np.sum(b.components_ * (a.components_ @ Q), axis=1)), 1.0, rtol=1e-10)
        np.testing.assert_allclose(b.score_samples(X @ Q), a.score_samples(X), rtol=1e-8)

    @pytest.mark.parametrize("solver", NAMES)
    def test_units_do_not_matter_when_standardised(self, solver):
        X = rows()
        units = np.array([1e-3, 1.0, 50.0, 1e4, 2.0, 0.3])
        a = pca(solver, standardize=True).fit(X)
        b = pca(solver, standardize=True).fit(X * units - 7.0)
        np.testing.assert_allclose(b.explained_variance_, a.explained_variance_, rtol=1e-9)
        np.testing.assert_allclose(b.components_, a.components_, atol=1e-7)
        np.testing.assert_allclose(b.scale_, a.scale_ * units, rtol=1e-10)

    @pytest.mark.parametrize("solver", EXACT)
    def test_order_of_rows_and_columns(self, solver):
        X = rows()
        p, q = np.random.default_rng(0).permutation(120), np.random.default_rng(1).permutation(6)
        a, b = pca(solver).fit(X), pca(solver).fit(X[p][:, q])
        np.testing.assert_allclose(b.explained_variance_, a.explained_variance_, rtol=1e-11)
        np.testing.assert_allclose(np.abs(b.components_), np.abs(a.components_[:, q]), atol=1e-9)


class TestOffsets:
    """Unit variance far from zero: the same variances as centred, to 1e-6 (float64 + 1e8) and 1e-4 (float32 + 1e3)."""

    CASES = pytest.mark.parametrize(("dtype", "offset", "rtol"), [(np.float64, 1e8, 1e-6), (np.float32, 1e3, 1e-4)])

    @staticmethod
    def pair(dtype, offset, shape=(4000, 10)):
        X = np.random.default_rng(0).standard_normal(shape)
        X[:, 0] *= 1.5
        X[:, 1] *= 1.2
        return X, (X + offset).astype(dtype)

    @CASES
    @pytest.mark.parametrize("solver", NAMES)
    @pytest.mark.parametrize("standardize", [False, True])
    def test_fit(self, dtype, offset, rtol, solver, standardize):
        X, far = self.pair(dtype, offset, (800, 10))
        tol = 1e-9 if dtype == np.float64 else 1e-5
        a = pca("svd", standardize=standardize, n_components=2).fit(X)
        b = pca(solver, standardize=standardize, n_components=2, tol=tol).fit(far)
        np.testing.assert_allclose(b.explained_variance_, a.explained_variance_, rtol=rtol)
        assert b.total_variance_ == pytest.approx(a.total_variance_, rel=rtol)
        assert b.noise_variance_ == pytest.approx(a.noise_variance_, rel=rtol)
        assert b.explained_variance_.dtype == dtype

    @CASES
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_wide_and_any_order(self, dtype, offset, rtol, order):
        X, far = self.pair(dtype, offset, (30, 200))
        a, b = pca().fit(X), pca().fit(np.asarray(far, order=order))
        np.testing.assert_allclose(b.explained_variance_, a.explained_variance_, rtol=rtol)

    @CASES
    def test_partial_fit(self, dtype, offset, rtol):
        X, far = self.pair(dtype, offset)
        a, b = pca().fit(X), pca()
        for piece in np.array_split(far, 7):
            b.partial_fit(piece)
        np.testing.assert_allclose(b.explained_variance_, a.explained_variance_, rtol=rtol)

    @CASES
    @pytest.mark.parametrize("solver", ["auto", "covariance", "gram", "svd", "lanczos"])
    def test_a_dense_column_among_sparse_ones(self, dtype, offset, rtol, solver):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((600, 10)) * (rng.random((600, 10)) < 0.2)
        X[:, 4] = 2.0 * rng.standard_normal(600)
        far = X.copy()
        far[:, 4] += offset
        tol = 1e-9 if dtype == np.float64 else 1e-5
        a = pca("svd").fit(X)
        b = pca(solver, tol=tol).fit(sparse.csr_matrix(far.astype(dtype)))
        np.testing.assert_allclose(b.explained_variance_, a.explained_variance_, rtol=rtol)

    @CASES
    def test_scores_and_reconstructions(self, dtype, offset, rtol):
        """float32 scores far from zero keep the digits that the rows have."""
        X, far = self.pair(dtype, offset, (300, 10))
        b = pca().fit(far)
        C = far.astype(np.float64) - far.astype(np.float64).mean(axis=0)
        expected = C @ np.asarray(b.components_, dtype=np.float64).T
        np.testing.assert_allclose(b.transform(far), expected, atol=1e-5)
        assert b.transform(far).dtype == dtype
        np.testing.assert_allclose(
            b.reconstruction_error(far).mean(), pca().fit(X).reconstruction_error(X).mean(), rtol=1e-3
        )


class TestNoise:
    def test_fewer_rows_than_columns(self):
        """100 rows of 2000 columns, rank 3 and noise 1: the d − k divisor is right, min(n, d) − k is 20 times off."""
        rng = np.random.default_rng(0)
        W = rng.standard_normal((2000, 3)) * 2.0
        X, new = (rng.standard_normal((100, 3)) @ W.T + rng.standard_normal((100, 2000)) for _ in range(2))
        for solver in ("auto", "gram", "svd", "lanczos"):
            fitted = PCA(3, solver=solver, random_state=0).fit(X)
            assert fitted.noise_variance_ == pytest.approx(1.0, rel=0.05)
        wrong = (fitted.total_variance_ - fitted.explained_variance_.sum()) / (100 - 3)
        assert wrong > 15.0
        V, values = fitted.components_, fitted.explained_variance_
        R = new - fitted.mean_
        Z = R @ V.T
        rest = (R * R).sum(axis=1) - (Z * Z).sum(axis=1)
        log_det = np.log(values).sum() + (2000 - 3) * np.log(wrong)
        theirs = -0.5 * (2000 * np.log(2 * np.pi) + log_det + (Z * Z / values).sum(axis=1) + rest / wrong)
        assert np.isfinite(fitted.score(new))
        assert fitted.score(new) > theirs.mean() + 500.0

    @pytest.mark.parametrize("solver", NAMES)
    @pytest.mark.parametrize("shape", [(80, 10), (10, 80)])
    def test_noise_is_the_mean_discarded_eigenvalue(self, solver, shape):
        X = rows(*shape)
        fitted = pca(solver, n_components=2).fit(X)
        values = np.append(np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2 / (shape[0] - 1.0), np.zeros(80))
        assert fitted.noise_variance_ == pytest.approx(values[2 : shape[1]].sum() / (shape[1] - 2), rel=1e-9)


class TestEckartYoung:
    @pytest.mark.parametrize("solver", NAMES)
    @pytest.mark.parametrize("standardize", [False, True])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_the_error_is_the_sum_of_the_discarded_eigenvalues(self, solver, standardize, weighted):
        X = rows()
        w = np.random.default_rng(1).uniform(0.0, 3.0, len(X)) if weighted else None
        everything = PCA(standardize=standardize, solver="svd").fit(X, sample_weight=w)
        fitted = pca(solver, n_components=2, standardize=standardize).fit(X, sample_weight=w)
        total = fitted.reconstruction_error(X, per_row=False, sample_weight=w)
        assert total == pytest.approx(everything.explained_variance_[2:].sum(), rel=1e-9)
        back = fitted.inverse_transform(fitted.transform(X))
        per_row = (((X - back) / fitted.scale_) ** 2).sum(axis=1)
        np.testing.assert_allclose(fitted.reconstruction_error(X), per_row, rtol=1e-8)

    def test_no_other_plane_is_nearer(self):
        X, rng = rows(), np.random.default_rng(2)
        best = pca(n_components=2).fit(X).reconstruction_error(X).sum()
        C = X - X.mean(axis=0)
        for _ in range(50):
            Q = np.linalg.qr(rng.standard_normal((6, 2)))[0]
            assert ((C - C @ Q @ Q.T) ** 2).sum() > best

    def test_all_components_lose_nothing(self):
        X = rows(8, 20)
        fitted = PCA().fit(X)
        np.testing.assert_allclose(fitted.inverse_transform(fitted.transform(X)), X, atol=1e-12)


class TestDensity:
    @pytest.mark.parametrize("whiten", [False, True])
    @pytest.mark.parametrize("standardize", [False, True])
    @pytest.mark.parametrize("k", [1, 3, 6])
    def test_it_is_the_normal_with_get_covariance(self, whiten, standardize, k):
        X = rows() * np.array([1.0, 10.0, 0.1, 1.0, 3.0, 1.0])
        fitted = PCA(k, whiten=whiten, standardize=standardize).fit(X)
        twin = multivariate_normal(fitted.mean_, fitted.get_covariance())
        np.testing.assert_allclose(fitted.score_samples(X), twin.logpdf(X), rtol=1e-9)
        assert fitted.score(X) == pytest.approx(twin.logpdf(X).mean(), rel=1e-10)
        np.testing.assert_allclose(fitted.get_precision() @ fitted.get_covariance(), np.eye(6), atol=1e-8)

    def test_all_components_give_the_sample_covariance(self):
        X = rows()
        for options in ({}, {"whiten": True}, {"standardize": True}):
            np.testing.assert_allclose(PCA(**options).fit(X).get_covariance(), np.cov(X.T), rtol=1e-9, atol=1e-12)

    def test_weighted_score(self):
        X, w = rows(), np.random.default_rng(0).integers(0, 4, 120)
        fitted = pca().fit(X, sample_weight=w)
        assert fitted.score(X, sample_weight=w) == pytest.approx(fitted.score(np.repeat(X, w, axis=0)), rel=1e-12)

    def test_it_integrates_to_one_on_a_line(self):
        fitted = PCA().fit(rows(50, 1))
        area, _ = integrate.quad(lambda x: np.exp(fitted.score_samples([[x]])[0]), -30, 30, points=[fitted.mean_[0]])
        assert area == pytest.approx(1.0, abs=1e-8)

    @pytest.mark.parametrize("standardize", [False, True])
    def test_it_integrates_to_one_in_the_plane(self, standardize):
        fitted = PCA(1, standardize=standardize).fit(rows(50, 2))
        sd = np.sqrt(fitted.get_covariance().diagonal())
        axes = [np.linspace(m - 9 * s, m + 9 * s, 401) for m, s in zip(fitted.mean_, sd, strict=True)]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
        cell = np.prod([a[1] - a[0] for a in axes])
        assert np.exp(fitted.score_samples(grid)).sum() * cell == pytest.approx(1.0, abs=1e-6)

    @pytest.mark.parametrize("whiten", [False, True])
    def test_samples_have_the_models_moments(self, whiten):
        fitted = PCA(2, standardize=True, whiten=whiten).fit(rows() * np.array([1.0, 10.0, 0.1, 1.0, 3.0, 1.0]))
        X = fitted.sample(100_000, random_state=1)
        C = fitted.get_covariance()
        sd = np.sqrt(C.diagonal())
        assert np.abs((X.mean(axis=0) - fitted.mean_) / sd).max() < 0.015
        np.testing.assert_allclose(np.cov(X.T) / np.outer(sd, sd), C / np.outer(sd, sd), atol=0.02)
        assert np.array_equal(X[:5], fitted.sample(100_000, random_state=1)[:5])


class TestWhitening:
    @pytest.mark.parametrize("solver", NAMES)
    @pytest.mark.parametrize("weighted", [False, True])
    def test_unit_variance_scores(self, solver, weighted):
        X = rows()
        w = np.random.default_rng(0).uniform(0.5, 2.0, 120) if weighted else np.ones(120)
        fitted = pca(solver, whiten=True).fit(X, sample_weight=w if weighted else None)
        Z = fitted.transform(X)
        np.testing.assert_allclose((Z * w[:, None]).T @ Z / (w.sum() - 1.0), np.eye(3), atol=1e-6)

    def test_it_is_a_property_of_the_scores_alone(self):
        X = rows()
        plain, white = pca().fit(X), pca(whiten=True).fit(X)
        np.testing.assert_array_equal(white.get_covariance(), plain.get_covariance())
        np.testing.assert_array_equal(white.components_, plain.components_)
        np.testing.assert_array_equal(white.score_samples(X), plain.score_samples(X))
        np.testing.assert_allclose(
            white.inverse_transform(white.transform(X)), plain.inverse_transform(plain.transform(X)), rtol=1e-9
        )

    def test_an_axis_without_variance_is_zero_not_infinite(self):
        X = rows(4, 10)
        Z = PCA(4, whiten=True).fit(X).transform(X)
        assert np.all(np.isfinite(Z))
        np.testing.assert_allclose(np.cov(Z[:, :3].T), np.eye(3), atol=1e-9)


class TestPieces:
    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("standardize", [False, True])
    def test_partial_fit_of_random_pieces_is_fit(self, seed, weighted, standardize):
        rng = np.random.default_rng(seed)
        X = rows(seed=seed) + 100.0
        w = rng.uniform(0.1, 3.0, len(X)) if weighted else np.ones(len(X))
        whole = pca("covariance", standardize=standardize).fit(X, sample_weight=w if weighted else None)
        parts = pca(standardize=standardize)
        for piece in np.split(np.arange(len(X)), np.sort(rng.choice(np.arange(1, len(X)), 6, replace=False))):
            parts.partial_fit(X[piece], sample_weight=w[piece] if weighted else None)
        same_model(parts, whole)
        assert parts.n_samples_ == whole.n_samples_ == 120

    def test_a_single_first_row_is_enough_to_begin(self):
        X = rows()
        parts = pca()
        for row in X[:20]:
            parts.partial_fit(row[None, :])
        parts.partial_fit(X[20:])
        same_model(parts, pca().fit(X))

    def test_partial_fit_goes_on_after_fit(self):
        X = rows()
        same_model(pca().fit(X[:70]).partial_fit(X[70:]), pca().fit(X))

    @pytest.mark.parametrize("standardize", [False, True])
    def test_merge(self, standardize):
        X = rows()
        a, b = (pca(standardize=standardize).fit(part) for part in (X[:30], X[30:]))
        same_model(a.merge(b), pca(standardize=standardize).fit(X))
        assert b.n_samples_ == 90

    def test_merging_commutes_and_associates(self):
        X = rows()
        parts = [X[:20], X[20:70], X[70:]]
        a, b, c = (pca().fit(part) for part in parts)
        left = a.merge(b).merge(c)
        a, b, c = (pca().fit(part) for part in parts)
        same_model(c.merge(b.merge(a)), left)

    @pytest.mark.parametrize("block_rows", [1, 2, 17, 64, 1000])
    @pytest.mark.parametrize("standardize", [False, True])
    @pytest.mark.parametrize("solver", EXACT)
    def test_blocks_of_any_size(self, block_rows, standardize, solver):
        X = rows()
        options = {"standardize": standardize}
        blocks = pca(solver, **options).fit(ArraySource(X, block_rows=block_rows))
        same_model(blocks, pca(solver, **options).fit(X))
        np.testing.assert_allclose(
            blocks.transform(ArraySource(X, block_rows=block_rows)), blocks.transform(X), atol=1e-12
        )


class TestWeights:
    @pytest.mark.parametrize("solver", NAMES)
    @pytest.mark.parametrize("standardize", [False, True])
    def test_three_is_three_copies(self, solver, standardize):
        X, w = rows(60), np.random.default_rng(0).integers(0, 4, 60)
        options = {"standardize": standardize}
        weighted = pca(solver, **options).fit(X, sample_weight=w)
        copies = pca(solver, **options).fit(np.repeat(X, w, axis=0))
        same_model(weighted, copies, axes=1e-7)

    def test_rules_count_copies_too(self):
        X, w = rows(60), np.random.default_rng(0).integers(0, 4, 60)
        for rule in ("mle", "gavish-donoho", "kaiser", 0.9):
            a = PCA(rule).fit(X, sample_weight=w)
            b = PCA(rule).fit(np.repeat(X, w, axis=0))
            assert a.n_components_ == b.n_components_

    def test_the_number_of_rows_with_positive_weight(self):
        X, w = rows(60), np.tile([0.0, 1.0, 2.0], 20)
        assert pca().fit(X, sample_weight=w).n_samples_ == 40

    def test_a_common_factor_of_large_weights_changes_little_but_the_divisor(self):
        X = rows()
        a, b = pca().fit(X), pca().fit(X, sample_weight=np.full(120, 10.0))
        np.testing.assert_allclose(b.explained_variance_ * 1199 / 1200, a.explained_variance_ * 119 / 120, rtol=1e-10)


class TestSigns:
    def test_the_entry_of_largest_modulus_is_positive(self):
        for solver in NAMES:
            V = pca(solver).fit(rows()).components_
            assert np.all(V[np.arange(3), np.abs(V).argmax(axis=1)] > 0.0)

    @pytest.mark.parametrize("seed", range(6))
    @pytest.mark.parametrize("solver", NAMES)
    def test_exact_ties_in_two_standardised_columns(self, seed, solver):
        """Two standardised columns always have axes (1, ±1)/√2: rounding must not pick the sign."""
        X = np.random.default_rng(seed).standard_normal((30, 2)) @ np.array([[1.0, -0.4], [0.0, 0.5]])
        V = pca(solver, n_components=2, standardize=True).fit(X).components_
        np.testing.assert_allclose(V, np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2.0), atol=1e-9)

    def test_signs_survive_reversing_the_data(self):
        X = rows()
        np.testing.assert_allclose(pca().fit(-X).components_, pca().fit(X).components_, atol=1e-10)


def same_model(a, b, rtol=1e-10, axes=1e-9):
    np.testing.assert_allclose(a.mean_, b.mean_, rtol=rtol)
    np.testing.assert_allclose(a.scale_, b.scale_, rtol=rtol)
    np.testing.assert_allclose(a.explained_variance_, b.explained_variance_, rtol=rtol)
    np.testing.assert_allclose(a.components_, b.components_, atol=axes)
    assert a.total_variance_ == pytest.approx(b.total_variance_, rel=rtol)
    assert a.noise_variance_ == pytest.approx(b.noise_variance_, rel=1e-8)
