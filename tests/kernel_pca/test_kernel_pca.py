"""`KernelPCA`: against scikit-learn and PCA, its routes against each other, its laws, and its bad inputs."""

from __future__ import annotations

import pickle

import dask.array
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.decomposition
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_circles
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import eigenlens
from eigenlens import PCA, KernelPCA
from eigenlens.errors import DataError, DataWarning, ModelFileError, OptionError, ResourceError
from eigenlens.kernel_pca.features import APPROXIMATIONS
from eigenlens.kernel_pca.fit import GRAM_SOLVERS
from eigenlens.kernel_pca.kernels import KERNELS

SHARED = {
    "linear": {},
    "poly": {"gamma": 0.1, "coef0": 1.0, "degree": 3},
    "rbf": {"gamma": 0.1},
    "sigmoid": {"gamma": 0.01, "coef0": 0.5},
    "cosine": {},
}
ALL = {**SHARED, "laplacian": {"gamma": 0.2}}
ITERATIVE = ["lanczos", "randomized"]
RANDOM = dict.fromkeys(
    ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"],
    "landmarks are drawn, and rows in another order draw others: weights count as copies in their law",
)
quiet = pytest.mark.filterwarnings("ignore:kernel='sigmoid' is not positive semidefinite")


def rows(n=120, d=5, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 2.0).astype(dtype)


def slow(K, weight=None):
    """Eigenvalues and unit eigenvectors of the centred Gram matrix, by explicit centring and numpy.linalg.eigh."""
    w = np.ones(len(K)) if weight is None else weight
    C = np.eye(len(K)) - np.outer(np.ones(len(K)), w / w.sum())
    lam, U = np.linalg.eigh(np.sqrt(w)[:, None] * (C @ K @ C.T) * np.sqrt(w))
    return lam[::-1], U[:, ::-1]


@pytest.mark.few(60)
@parametrize_with_checks(
    [
        KernelPCA(n_components=1),
        KernelPCA(),
        KernelPCA(n_components=1, kernel="linear", solver="lanczos", random_state=0),
        KernelPCA(n_components=1, kernel="poly", solver="randomized", random_state=0),
        KernelPCA(n_components=1, approximation="rpcholesky", n_landmarks=1, random_state=0),
    ],
    expected_failed_checks=lambda estimator: RANDOM if estimator.approximation else {},
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


class TestAgainstScikitLearn:
    @quiet
    @pytest.mark.parametrize("solver", GRAM_SOLVERS)
    @pytest.mark.parametrize("kernel", SHARED)
    def test_every_kernel_that_both_have(self, kernel, solver):
        X, new, options = rows(), rows(30, seed=1), SHARED[kernel]
        ours = KernelPCA(4, kernel=kernel, solver=solver, random_state=0, **options).fit(X)
        theirs = sklearn.decomposition.KernelPCA(4, kernel=kernel, eigen_solver="dense", **options).fit(X)
        np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-8)
        Z, expected = ours.transform(new), theirs.transform(new)
        turn = np.sign((Z * expected).sum(axis=0))
        np.testing.assert_allclose(Z * turn, expected, atol=1e-8 * np.abs(expected).max())
        U = ours.eigenvectors_
        np.testing.assert_allclose(np.abs(U), np.abs(theirs.eigenvectors_), atol=1e-8)
        np.testing.assert_allclose(U.T @ U, np.eye(4), atol=1e-9)

    def test_a_kernel_of_the_users_own(self):
        """The laplacian kernel, which they do not have by name."""
        ours = KernelPCA(4, kernel="laplacian", gamma=0.2).fit(rows())
        theirs = sklearn.decomposition.KernelPCA(4, kernel="precomputed", eigen_solver="dense")
        Z = theirs.fit_transform(laplacian_kernel(rows(), gamma=0.2))
        np.testing.assert_allclose(np.abs(ours.transform(rows())), np.abs(Z), atol=1e-8)
        own = KernelPCA(4, kernel=laplacian_kernel, kernel_params={"gamma": 0.2}).fit(rows())
        np.testing.assert_allclose(own.transform(rows()), ours.transform(rows()), atol=1e-9)

    def test_all_components(self):
        X = rows(60)
        ours, theirs = (module.KernelPCA(kernel="rbf", gamma=0.5) for module in (eigenlens, sklearn.decomposition))
        assert ours.fit(X).n_components_ == theirs.fit(X).eigenvalues_.size == 59
        np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-8)


class TestAgainstPCA:
    """The linear kernel is PCA: scores with their signs, variances, reconstruction."""

    @pytest.mark.parametrize("mean", [0.0, 1e8])
    @pytest.mark.parametrize("solver", GRAM_SOLVERS)
    def test_linear(self, solver, mean):
        X = rows() + mean
        pca, kernel = PCA(3).fit(X), KernelPCA(3, kernel="linear", solver=solver, random_state=0).fit(X)
        tolerance = 1e-9 if mean == 0.0 else 1e-6  # the rows themselves are rounded to 1e-8
        np.testing.assert_allclose(kernel.explained_variance_, pca.explained_variance_, rtol=tolerance)
        np.testing.assert_allclose(kernel.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=tolerance)
        Z = pca.transform(X)
        np.testing.assert_allclose(kernel.transform(X), Z, atol=10 * tolerance)
        np.testing.assert_allclose(kernel.fit_transform(X), Z, atol=10 * tolerance)
        back = pca.inverse_transform(Z)
        for preimage in ("fixed-point", "mds", "ridge"):
            kernel.set_params(preimage=preimage)
            np.testing.assert_allclose(kernel.inverse_transform(Z), back, atol=10 * tolerance)
            np.testing.assert_allclose(kernel.denoise(X), back, atol=10 * tolerance)

    @pytest.mark.parametrize("approximation", ["rpcholesky", "nystroem"])
    def test_linear_by_landmarks(self, approximation):
        X = rows()
        pca = PCA(3).fit(X)
        kernel = KernelPCA(3, kernel="linear", approximation=approximation, n_landmarks=20, random_state=0).fit(X)
        assert kernel.n_landmarks_ <= 6
        assert kernel.approximation_error_ < 1e-10
        np.testing.assert_allclose(kernel.explained_variance_, pca.explained_variance_, rtol=1e-8)
        np.testing.assert_allclose(np.abs(kernel.transform(X)), np.abs(pca.transform(X)), atol=1e-7)


class TestRoutes:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("solver", ITERATIVE)
    def test_exact_matrix_free_and_precomputed_agree(self, solver, weighted):
        X, new = rows(1500), rows(20, seed=1)
        w = np.random.default_rng(3).uniform(0.2, 3.0, 1500) if weighted else None
        dense = KernelPCA(5, gamma=0.1, solver="dense").fit(X, sample_weight=w)
        held = KernelPCA(5, gamma=0.1, solver=solver, random_state=0).fit(X, sample_weight=w)
        free = KernelPCA(5, gamma=0.1, solver=solver, random_state=0, max_memory="12.5MB").fit(X, sample_weight=w)
        given = KernelPCA(5, kernel="precomputed", solver=solver, random_state=0)
        given.fit(rbf_kernel(X, gamma=0.1), sample_weight=w)
        assert "would take" in free.solver_.reason
        assert "would take" not in held.solver_.reason
        for other in (held, free, given):
            np.testing.assert_allclose(other.eigenvalues_, dense.eigenvalues_, rtol=1e-10)
            values = rbf_kernel(new, X, gamma=0.1) if other is given else new
            np.testing.assert_allclose(other.transform(values), dense.transform(new), atol=1e-7)

    def test_scikit_learns_name_of_a_solver(self):
        model = KernelPCA(2, gamma=0.1, solver="arpack", random_state=0).fit(rows())
        assert model.solver_.solver == "lanczos"
        assert model.solver == "arpack"

    def test_the_trace_needs_no_further_eigenvalues(self):
        K = rbf_kernel(rows(), gamma=0.1)
        lam, _ = slow(K)
        model = KernelPCA(2, gamma=0.1, solver="lanczos", random_state=0).fit(rows())
        np.testing.assert_allclose(model.explained_variance_ratio_, lam[:2] / lam.sum(), rtol=1e-9)

    @pytest.mark.parametrize("solver", GRAM_SOLVERS)
    def test_a_share_of_the_variance(self, solver):
        lam, _ = slow(rbf_kernel(rows(), gamma=0.1))
        k = int(np.argmax(np.cumsum(lam) / lam.sum() >= 0.8)) + 1
        model = KernelPCA(0.8, gamma=0.1, solver=solver, random_state=0).fit(rows())
        assert model.n_components_ == k
        assert model.explained_variance_ratio_.sum() >= 0.8 > model.explained_variance_ratio_[:-1].sum()

    def test_more_components_than_columns(self):
        model = KernelPCA(40, gamma=0.1).fit(rows(120, 3))
        assert model.transform(rows(10, 3)).shape == (10, 40)
        assert list(model.get_feature_names_out()[:2]) == ["kernelpca0", "kernelpca1"]

    def test_what_was_decided_is_recorded(self):
        small, large = KernelPCA(2).fit(rows()), KernelPCA(2, random_state=0).fit(rows(700))
        assert (small.solver_.solver, large.solver_.solver) == ("dense", "lanczos")
        assert "n=120 is small" in str(small.solver_)
        assert large.solver_.residuals.max() < 1e-9

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("solver", GRAM_SOLVERS)
    def test_a_fitted_row_transforms_to_its_score(self, solver, dtype):
        X = rows(dtype=dtype)
        model = KernelPCA(6, gamma=0.1, solver=solver, random_state=0)
        Z = model.fit_transform(X)
        assert Z.dtype == model.transform(X).dtype == dtype
        tolerance = 1e-8 if dtype == np.float64 else 2e-5
        np.testing.assert_allclose(model.transform(X), Z, atol=tolerance)
        # lam |alpha|² = 1, and the scores have the variances they should have
        np.testing.assert_allclose((Z**2).sum(axis=0), model.eigenvalues_, rtol=tolerance)
        np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=tolerance)

    def test_float32_eigenvalues(self):
        X = rows(600, dtype=np.float32)
        lam, _ = slow(rbf_kernel(X.astype(np.float64), gamma=0.1))
        model = KernelPCA(5, gamma=0.1, solver="lanczos", random_state=0).fit(X)
        np.testing.assert_allclose(model.model_.eigenvalues, lam[:5], rtol=1e-7)


class TestLaws:
    @pytest.mark.parametrize("kernel", ALL)
    @quiet
    @pytest.mark.parametrize("solver", GRAM_SOLVERS)
    def test_a_weight_counts_copies(self, kernel, solver):
        X, counts = rows(90), np.random.default_rng(1).integers(0, 4, 90)
        options = {"kernel": kernel, "solver": solver, "random_state": 0, **ALL[kernel]}
        weighted = KernelPCA(3, **options).fit(X, sample_weight=counts)
        copied = KernelPCA(3, **options).fit(np.repeat(X, counts, axis=0))
        np.testing.assert_allclose(weighted.eigenvalues_, copied.eigenvalues_, rtol=1e-9)
        np.testing.assert_allclose(weighted.explained_variance_, copied.explained_variance_, rtol=1e-9)
        np.testing.assert_allclose(weighted.transform(X), copied.transform(X), atol=1e-7)
        fitted = KernelPCA(3, **options).fit_transform(X, sample_weight=counts)
        np.testing.assert_allclose(fitted, weighted.transform(X), atol=1e-7)

    def test_a_shift_changes_nothing_for_kernels_of_distances(self):
        for kernel in ("rbf", "laplacian"):
            near, far = (KernelPCA(3, kernel=kernel, gamma=0.1).fit(rows() + mean) for mean in (0.0, 1e6))
            np.testing.assert_allclose(far.eigenvalues_, near.eigenvalues_, rtol=1e-7)
            np.testing.assert_allclose(far.transform(rows() + 1e6), near.transform(rows()), atol=1e-6)

    def test_the_same_seed_gives_the_same_answer(self):
        for options in ({"solver": "lanczos"}, {"approximation": "rpcholesky", "n_landmarks": 30}):
            one, two = (KernelPCA(3, random_state=5, **options).fit_transform(rows()) for _ in range(2))
            assert np.array_equal(one, two)

    def test_signs(self):
        """The score of largest modulus is positive."""
        Z = KernelPCA(8, gamma=0.1).fit_transform(rows())
        assert np.all(Z[np.abs(Z).argmax(axis=0), np.arange(8)] > 0.0)


class TestApproximations:
    def test_the_certificate(self):
        X = rows(200)
        model = KernelPCA(3, gamma=0.1, approximation="rpcholesky", n_landmarks=40, random_state=0).fit(X)
        R = model.model_.rows
        K, C = rbf_kernel(X, gamma=0.1), rbf_kernel(X, R, gamma=0.1)
        residual = np.trace(K - C @ np.linalg.solve(rbf_kernel(R, gamma=0.1), C.T))
        assert model.approximation_error_ == pytest.approx(residual / np.trace(K), rel=1e-8)
        assert len(R) == model.n_landmarks_ == 40

    def test_an_error_can_be_asked_for(self):
        model = KernelPCA(3, gamma=0.05, approximation="rpcholesky", n_landmarks=0.01, random_state=0).fit(rows(400))
        assert 0.0 < model.approximation_error_ <= 0.01
        assert model.n_landmarks_ < 400
        exact = KernelPCA(3, gamma=0.05).fit(rows(400))
        np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=0.01)

    @pytest.mark.parametrize("approximation", ["rpcholesky", "nystroem"])
    def test_all_rows_as_landmarks_are_exact(self, approximation):
        X, options = rows(80), {"gamma": 0.5}
        exact = KernelPCA(4, **options).fit(X)
        model = KernelPCA(4, approximation=approximation, n_landmarks=80, random_state=0, **options).fit(X)
        np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-9)
        np.testing.assert_allclose(model.explained_variance_ratio_, exact.explained_variance_ratio_, rtol=1e-8)
        np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(exact.transform(X)), atol=1e-6)

    @pytest.mark.parametrize("approximation", APPROXIMATIONS)
    def test_files_give_the_answer_of_arrays(self, approximation, tmp_path):
        X = rows(500)
        np.save(tmp_path / "x.npy", X)
        pl.DataFrame(X, schema=[f"x{j}" for j in range(5)]).write_parquet(tmp_path / "x.parquet", row_group_size=70)
        options = {"gamma": 0.1, "approximation": approximation, "n_landmarks": 30, "random_state": 0}
        expected = KernelPCA(3, **options).fit_transform(X)
        for name in ("x.npy", "x.parquet"):
            source = eigenlens.scan(tmp_path / name, block_rows=77)
            model = KernelPCA(3, **options).fit(source)
            np.testing.assert_allclose(model.transform(source), expected, atol=1e-8)
            assert model.n_samples_ == 500

    def test_dask_arrays_by_passes(self):
        X = rows(300)
        options = {"gamma": 0.1, "approximation": "rpcholesky", "n_landmarks": 30, "random_state": 0}
        lazy = dask.array.from_array(X, chunks=(70, 5))
        model = KernelPCA(3, **options).fit(lazy)
        Z = model.transform(lazy)
        assert isinstance(Z, dask.array.Array)
        np.testing.assert_allclose(
            Z.compute(scheduler="synchronous"), KernelPCA(3, **options).fit_transform(X), atol=1e-8
        )

    def test_there_are_no_eigenvectors(self):
        model = KernelPCA(2, approximation="nystroem", n_landmarks=20, random_state=0).fit(rows())
        with pytest.raises(AttributeError, match="exists after an exact fit"):
            _ = model.eigenvectors_


class TestKindsOfRows:
    @quiet
    @pytest.mark.parametrize("kernel", ALL)
    def test_sparse_rows(self, kernel):
        X = rows() * (rows(seed=4) > 1.0)
        model = KernelPCA(3, kernel=kernel, **ALL[kernel])
        dense, thin = clone(model).fit(X), clone(model).fit(sparse.csr_matrix(X))
        np.testing.assert_allclose(thin.eigenvalues_, dense.eigenvalues_, rtol=1e-9)
        np.testing.assert_allclose(thin.transform(sparse.csr_matrix(X)), dense.transform(X), atol=1e-8)
        np.testing.assert_allclose(dense.transform(sparse.csr_matrix(X)), dense.transform(X), atol=1e-8)

    def test_frames_and_set_output(self):
        frame = pd.DataFrame(rows(), columns=list("abcde"))
        model = KernelPCA(2, gamma=0.1).set_output(transform="pandas")
        Z = model.fit_transform(frame)
        assert list(Z.columns) == ["kernelpca0", "kernelpca1"]
        assert list(model.feature_names_in_) == list("abcde")
        expected = KernelPCA(2, gamma=0.1).fit(rows()).transform(rows())
        np.testing.assert_allclose(model.transform(pl.DataFrame(frame.to_dict("list"))).to_numpy(), expected, atol=1e-9)

    @pytest.mark.parametrize("solver", GRAM_SOLVERS)
    @pytest.mark.parametrize("name", ["float64", "float32"])
    def test_tensors(self, solver, name):
        torch = pytest.importorskip("torch")
        X = rows(dtype=name)
        model = KernelPCA(3, gamma=0.1, solver=solver, random_state=0)
        Z = model.fit_transform(torch.from_numpy(X))
        expected = clone(model).fit(X)
        tolerance = 1e-8 if name == "float64" else 1e-4
        assert isinstance(Z, torch.Tensor)
        assert Z.dtype == getattr(torch, name)
        np.testing.assert_allclose(Z.numpy(), expected.transform(X), atol=tolerance)
        np.testing.assert_allclose(model.transform(torch.from_numpy(X)).numpy(), expected.transform(X), atol=tolerance)
        np.testing.assert_allclose(
            expected.transform(torch.from_numpy(X)).numpy(), expected.transform(X), atol=tolerance
        )
        np.testing.assert_allclose(model.transform(X), expected.transform(X), atol=tolerance)

    def test_a_scan_is_gathered_for_an_exact_fit(self, tmp_path):
        np.save(tmp_path / "x.npy", rows())
        model = KernelPCA(2, gamma=0.1).fit(eigenlens.scan(tmp_path / "x.npy", block_rows=31))
        np.testing.assert_allclose(model.eigenvalues_, KernelPCA(2, gamma=0.1).fit(rows()).eigenvalues_, rtol=1e-12)

    def test_integers_and_other_dtypes_at_transform(self):
        X = np.round(rows()).astype(int)
        model = KernelPCA(2, gamma=0.1).fit(X)
        np.testing.assert_allclose(model.transform(X.astype(np.float32)), model.transform(X), atol=1e-6)


class TestCircles:
    """Two concentric circles: what PCA cannot separate."""

    @pytest.mark.parametrize(
        "options", [{"kernel": "poly", "degree": 2, "gamma": 1.0}, {"kernel": "rbf", "gamma": 3.0}], ids=["poly", "rbf"]
    )
    def test_a_linear_classifier_goes_from_chance_to_perfect(self, options):
        X, y = make_circles(400, factor=0.4, noise=0.05, random_state=0)
        plain = cross_val_score(make_pipeline(PCA(2), LogisticRegression()), X, y).mean()
        curved = cross_val_score(make_pipeline(KernelPCA(5, **options), LogisticRegression()), X, y).mean()
        assert plain < 0.6
        assert curved > 0.99


class TestBack:
    def test_denoising_digits_beats_pca_at_its_best(self):
        """8×8 digits with Gaussian noise of deviation 4: clean digits to learn from, others to clean."""
        digits = load_digits().data
        order = np.random.default_rng(7).permutation(len(digits))
        train, clean = digits[order[:700]], digits[order[700:900]]
        noisy = clean + 4.0 * np.random.default_rng(8).standard_normal(clean.shape)

        def error(found):
            return float(np.mean((found - clean) ** 2))

        linear = (PCA(k).fit(train) for k in range(2, 64))
        best = min(error(pca.inverse_transform(pca.transform(noisy))) for pca in linear)
        model = KernelPCA(64, gamma="median", random_state=0).fit(train)
        assert error(model.denoise(noisy)) < 0.9 * best
        for preimage in ("mds", "ridge"):
            assert error(model.set_params(preimage=preimage).denoise(noisy)) < best

    def test_fewer_components_for_denoising(self):
        X = rows()
        model, few = KernelPCA(30, gamma=0.1).fit(X), KernelPCA(5, gamma=0.1).fit(X)
        np.testing.assert_allclose(model.denoise(X[:10], n_components=5), few.denoise(X[:10]), atol=1e-5)

    @pytest.mark.parametrize("preimage", ["fixed-point", "mds", "ridge"])
    def test_landmark_models_go_back_too(self, preimage):
        X = rows(200)
        model = KernelPCA(
            0.99, gamma=0.02, approximation="rpcholesky", n_landmarks=100, preimage=preimage, random_state=0
        )
        back = model.fit(X).inverse_transform(model.transform(X))
        assert np.mean((back - X) ** 2) < 0.1 * X.var()

    def test_what_cannot_go_back_says_so(self):
        X = rows()
        with pytest.raises(OptionError, match="has no rows in input space"):
            KernelPCA(2, kernel="precomputed").fit(rbf_kernel(X)).inverse_transform(np.zeros((1, 2)))
        with pytest.raises(OptionError, match="approximation='fourier' keeps frequencies"):
            KernelPCA(2, approximation="fourier", n_landmarks=20).fit(X).denoise(X)
        with pytest.raises(OptionError, match="preimage='fixed-point'"):
            KernelPCA(2, kernel="cosine").fit(X).inverse_transform(np.zeros((1, 2)))


class TestFiles:
    @pytest.mark.parametrize(
        "options",
        [
            {"gamma": "median"},
            {"kernel": "linear"},
            {"kernel": "poly", "degree": 2},
            {"approximation": "rpcholesky", "n_landmarks": 20},
            {"approximation": "fourier", "n_landmarks": 20},
        ],
        ids=["rbf", "linear", "poly", "landmarks", "fourier"],
    )
    def test_saved_and_loaded(self, options, tmp_path):
        frame = pd.DataFrame(rows(), columns=list("abcde"))
        model = KernelPCA(3, random_state=0, **options).fit(frame)
        model.save(tmp_path / "m.safetensors")
        other = eigenlens.load(tmp_path / "m.safetensors")
        assert isinstance(other, KernelPCA)
        np.testing.assert_allclose(other.transform(frame), model.transform(frame), rtol=1e-12, atol=1e-13)
        assert other.get_params() == model.get_params()
        assert str(other.solver_) == str(model.solver_)
        assert other.gamma_ == model.gamma_
        assert list(other.feature_names_in_) == list("abcde")

    def test_sparse_models_and_pickles(self, tmp_path):
        X = sparse.random(80, 6, density=0.4, random_state=0, format="csr")
        model = KernelPCA(3, gamma=1.0).fit(X)
        model.save(tmp_path / "m.safetensors")
        for other in (eigenlens.load(tmp_path / "m.safetensors"), pickle.loads(pickle.dumps(model))):
            assert np.array_equal(other.transform(X), model.transform(X))

    def test_a_callable_is_rejected_and_nothing_is_written(self, tmp_path):
        model = KernelPCA(2, kernel=lambda X, Y: X @ Y.T).fit(rows())
        with pytest.raises((OptionError, ModelFileError), match="callable"):
            model.save(tmp_path / "m.safetensors")
        assert not list(tmp_path.iterdir())


class TestBadInput:
    def test_a_kernel_matrix_that_is_not_symmetric(self):
        K = rbf_kernel(rows())
        K[3, 5] += 0.1
        with pytest.raises(DataError, match=r"not symmetric: X\[3, 5\]"):
            KernelPCA(2, kernel="precomputed").fit(K)

    def test_a_kernel_matrix_that_is_not_square(self):
        with pytest.raises(DataError, match=r"shape \(120, 5\)"):
            KernelPCA(2, kernel="precomputed").fit(rows())

    @pytest.mark.parametrize("solver", GRAM_SOLVERS)
    def test_an_indefinite_kernel_matrix(self, solver):
        A = np.random.default_rng(0).standard_normal((80, 80))
        lam = slow(A + A.T)[0]
        with pytest.warns(
            DataWarning, match=rf"smallest eigenvalue of the centred Gram matrix is {lam.min():.4g}, the la"
        ):
            model = KernelPCA(2, kernel="precomputed", solver=solver, random_state=0).fit(A + A.T)
        np.testing.assert_allclose(model.eigenvalues_, lam[:2], rtol=1e-8)

    @pytest.mark.parametrize("solver", GRAM_SOLVERS)
    def test_the_smallest_eigenvalue_is_named_also_with_weights_and_without_a_positive_one(self, solver):
        rng = np.random.default_rng(1)
        Q, w = np.linalg.qr(rng.standard_normal((90, 90)))[0], rng.uniform(0.5, 2.0, 90)
        K = (Q * np.r_[9.0, 4.0, np.full(87, 0.01), -8.79]) @ Q.T  # one negative eigenvalue among many of one size
        s = np.sqrt(w)
        smallest = np.linalg.eigvalsh(s[:, None] * (K + K.T) / 2.0 * s)[0]
        with pytest.warns(DataWarning, match=f"eigenvalue of the Gram matrix is {smallest:.4g}"):
            KernelPCA(1, kernel="precomputed", center=False, solver=solver, random_state=0).fit(
                (K + K.T) / 2.0, None, w
            )
        with pytest.raises(DataError, match=r"no positive eigenvalue.* its smallest eigenvalue is -3"):
            KernelPCA(1, kernel="precomputed", solver=solver, random_state=0).fit(-3.0 * np.eye(90))

    def test_the_matrix_given_is_left_as_it_was(self):
        K = rbf_kernel(rows())
        before = K.copy()
        for solver in GRAM_SOLVERS:
            KernelPCA(2, kernel="precomputed", solver=solver, random_state=0).fit(K)
            assert np.array_equal(K, before)

    @pytest.mark.parametrize("solver", GRAM_SOLVERS)
    def test_an_indefinite_kernel_is_warned_of(self, solver):
        with pytest.warns(DataWarning, match="kernel='sigmoid' is not positive semidefinite"):
            KernelPCA(2, kernel="sigmoid", gamma=1.0, coef0=-1.0, solver=solver, random_state=0).fit(rows())

    def test_a_callable_of_the_wrong_shape(self):
        with pytest.raises(DataError, match="must return the matrix of values"):
            KernelPCA(2, kernel=lambda X, Y: X @ X[:1].T).fit(rows())

    @pytest.mark.parametrize("gamma", [0.0, -1.0, np.nan, np.inf, "wide", True])
    def test_gamma(self, gamma):
        with pytest.raises(OptionError, match="gamma"):
            KernelPCA(2, gamma=gamma).fit(rows())

    @pytest.mark.parametrize("solver", GRAM_SOLVERS)
    @pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
    def test_rows_that_do_not_vary(self, kernel, solver):
        with pytest.raises(DataError, match=r"no variance|does not vary|the same"):
            KernelPCA(1, kernel=kernel, solver=solver, random_state=0).fit(np.full((30, 3), 7.0))

    @pytest.mark.parametrize("solver", GRAM_SOLVERS)
    def test_components_beyond_the_rank(self, solver):
        with pytest.raises(OptionError, match="n_components=6 must be at most 3, the rank"):
            KernelPCA(6, kernel="linear", solver=solver, random_state=0).fit(rows(50, 3))
        with pytest.raises(OptionError, match="n_components=121 must be at most 120, the number of rows"):
            KernelPCA(121).fit(rows())

    def test_a_matrix_too_large_for_the_memory(self):
        with pytest.raises(ResourceError, match="approximation='rpcholesky'"):
            KernelPCA(max_memory="100 kB").fit(rows())
        with pytest.raises(ResourceError, match="approximation='rpcholesky'"):
            KernelPCA(2, max_memory=1000).fit(rows(700))

    @pytest.mark.parametrize("value", ["many", "4 G", -1, True, "1.2.3GB"])
    def test_max_memory(self, value):
        with pytest.raises(OptionError, match="max_memory"):
            KernelPCA(2, max_memory=value).fit(rows())

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_entries_that_are_not_finite(self, bad):
        X = rows()
        X[3, 1] = bad
        for model in (KernelPCA(2), KernelPCA(2, approximation="rpcholesky", n_landmarks=10)):
            with pytest.raises(DataError, match="X contains"):
                model.fit(X)
        with pytest.raises(DataError, match="X contains"):
            KernelPCA(2).fit(rows()).transform(X)

    def test_names_are_checked(self):
        for options in ({"kernel": "rfb"}, {"solver": "arpac"}, {"approximation": "fast"}, {"preimage": "best"}):
            with pytest.raises(OptionError, match=f"{next(iter(options))}="):
                KernelPCA(2, **options).fit(rows())

    def test_shapes_of_scores(self):
        model = KernelPCA(2).fit(rows())
        with pytest.raises(DataError, match="scores have 2 columns"):
            model.inverse_transform(np.zeros((3, 3)))
        with pytest.raises(OptionError, match="n_components=3 must be at most 2"):
            model.denoise(rows(), n_components=3)


def test_pipelines_and_grids():
    X, y = make_circles(120, factor=0.4, noise=0.05, random_state=0)
    grid = GridSearchCV(
        make_pipeline(KernelPCA(3), LogisticRegression()), {"kernelpca__gamma": [0.01, 3.0]}, cv=3, error_score="raise"
    )
    assert grid.fit(X, y).best_params_ == {"kernelpca__gamma": 3.0}


def test_progress_is_reported():
    seen = []
    KernelPCA(2, kernel="poly", verbose=lambda done, total, what: seen.append((done, total, what))).fit(rows())
    assert seen[-1] == (120, 120, "Gram matrix")


def test_every_kernel_is_among_those_compared():
    assert set(KERNELS) == {*ALL, "precomputed"}


class TestHardCases:
    @pytest.mark.parametrize("n", [2, 10, 600])
    @pytest.mark.parametrize("k", [None, 1, 0.5])
    @pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian", "poly", "cosine"])
    def test_rows_that_are_all_the_same(self, kernel, k, n):
        X = np.zeros((n, 3)) if kernel == "cosine" else np.full((n, 3), 3.7)
        with pytest.raises(DataError, match=r"no variance|the same"):
            KernelPCA(k, kernel=kernel, random_state=0).fit(X)

    @pytest.mark.parametrize("k", [None, 1])
    def test_matrices_without_variance_or_sense(self, k):
        with pytest.raises(DataError, match="no variance"):
            KernelPCA(k, kernel="precomputed").fit(np.ones((10, 10)))
        with pytest.raises(DataError, match="not positive semidefinite"):
            KernelPCA(k, kernel="precomputed").fit(-np.eye(10))

    def test_weights_that_leave_too_little(self):
        w = np.zeros(60)
        w[0] = 5.0
        with pytest.raises(DataError, match="1 sample of positive weight, but a component needs at least 2"):
            KernelPCA().fit(rows(60), sample_weight=w)
        for total in (0.5, 1.0):
            with pytest.raises(DataError, match="the sum must exceed 1"):
                KernelPCA(2).fit(rows(60), sample_weight=np.full(60, total / 60))

    @pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "cosine", "sigmoid"])
    @pytest.mark.filterwarnings("ignore::RuntimeWarning")
    def test_entries_whose_squares_overflow(self, kernel):
        with pytest.raises(DataError, match="overflow"):
            KernelPCA(2, kernel=kernel, gamma=1.0 if kernel == "rbf" else None).fit(rows(60) * 1e200)

    @pytest.mark.long
    @pytest.mark.parametrize("solver", GRAM_SOLVERS)
    @pytest.mark.parametrize("scale", [1e-3, 1e-4])
    def test_float32_rows_in_small_units(self, solver, scale):
        """A kernel that is nearly constant: float32 entries near 1 would have lost what makes it vary."""
        X = (np.random.default_rng(0).standard_normal((600, 3)) * scale).astype(np.float32)
        lam, _ = slow(rbf_kernel(X.astype(np.float64), gamma=1 / 3))
        model = KernelPCA(2, gamma=1 / 3, solver=solver, random_state=0).fit(X)
        np.testing.assert_allclose(model.model_.eigenvalues, lam[:2], rtol=1e-5)
        assert model.transform(X).dtype == np.float32
        np.testing.assert_allclose(model.transform(X), model.fit_transform(X), atol=1e-4 * np.sqrt(lam[0]))

    def test_landmarks_of_float32_rows_in_small_units(self):
        X = np.random.default_rng(0).standard_normal((400, 3)).astype(np.float32)
        options = {"gamma": 1e-5, "approximation": "rpcholesky", "n_landmarks": 30, "random_state": 0}
        narrow, wide = KernelPCA(3, **options).fit(X), KernelPCA(3, **options).fit(X.astype(np.float64))
        size = np.sqrt(wide.eigenvalues_ / 400)
        np.testing.assert_allclose(np.abs(narrow.transform(X)) / size, np.abs(wide.transform(X)) / size, atol=1e-5)

    @pytest.mark.parametrize("size", [1e6, 1e9])
    def test_an_outlier_costs_no_digits(self, size):
        X = np.random.default_rng(0).standard_normal((100, 3))
        X[0] = size
        lam, _ = slow(rbf_kernel(np.vstack([np.full(3, 1e3), X[1:]]), gamma=0.5))  # as far as the kernel can see
        np.testing.assert_allclose(KernelPCA(5, gamma=0.5).fit(X).eigenvalues_, lam[:5], rtol=1e-10)

    def test_the_model_keeps_its_own_rows(self):
        X = rows()
        model = KernelPCA(2, gamma=0.1).fit(X)
        before = model.transform(X[:5])
        asked = X[:5].copy()
        X[:] = 0.0
        assert np.array_equal(model.transform(asked), before)

    def test_linear_float32_far_from_zero_in_float64(self):
        X = np.round(rows(dtype=np.float32) * 100.0) + np.float32(1e5)
        model, pca = KernelPCA(2, kernel="linear").fit(X), PCA(2).fit(X.astype(np.float64))
        np.testing.assert_allclose(
            model.transform(X.astype(np.float64)), pca.transform(X.astype(np.float64)), atol=1e-3
        )

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    @pytest.mark.parametrize("preimage", ["fixed-point", "mds", "ridge"])
    @pytest.mark.parametrize("kernel", ["rbf", "linear"])
    def test_denoising_rows_that_are_not_finite(self, kernel, preimage, bad):
        model, X = KernelPCA(3, kernel=kernel, preimage=preimage).fit(rows()), rows(5)
        X[2, 1] = bad
        with pytest.raises(DataError, match="X contains"):
            model.denoise(X)

    def test_shares_of_an_indefinite_kernel(self):
        with pytest.warns(DataWarning, match="not positive semidefinite"):
            model = KernelPCA(kernel="sigmoid", gamma=0.2, coef0=1.0).fit(rows(200))
        assert model.explained_variance_ratio_.sum() == pytest.approx(1.0, abs=1e-6)
        with pytest.warns(DataWarning, match="not positive semidefinite"):
            few = KernelPCA(0.9, kernel="sigmoid", gamma=0.2, coef0=1.0).fit(rows(200))
        assert few.explained_variance_ratio_.sum() >= 0.9

    def test_a_polynomial_that_is_no_kernel(self):
        with pytest.warns(DataWarning, match="not positive semidefinite"):
            ours = KernelPCA(3, kernel="poly", coef0=-3.0, degree=2).fit(rows())
        K = (rows() @ rows().T / 5.0 - 3.0) ** 2
        np.testing.assert_allclose(ours.eigenvalues_, slow(K)[0][:3], rtol=1e-9)

    def test_a_matrix_rounded_to_float32_is_a_kernel_still(self):
        K = rbf_kernel(rows(700), gamma=0.1).astype(np.float32).astype(np.float64)
        for solver in GRAM_SOLVERS:
            KernelPCA(2, kernel="precomputed", solver=solver, random_state=0).fit(K)

    @pytest.mark.long
    def test_a_share_that_needs_many_goes_to_the_dense_solver(self):
        X = rows(900, 12)
        model = KernelPCA(0.99, gamma=0.05, random_state=0).fit(X)
        lam, _ = slow(rbf_kernel(X, gamma=0.05))
        assert model.n_components_ == int(np.argmax(np.cumsum(lam) >= 0.99 * lam.sum())) + 1
        assert model.solver_.solver == "dense"

    def test_a_failed_fit_is_no_fit(self):
        model = KernelPCA(2, kernel="precomputed")
        with pytest.raises(DataError):
            model.fit(-np.eye(40))
        assert not hasattr(model, "model_")

    def test_frames_of_scores_go_back(self):
        frame = pd.DataFrame(rows(), columns=list("abcde"))
        model = KernelPCA(5, gamma=0.02).set_output(transform="pandas")
        Z = model.fit_transform(frame)
        expected = KernelPCA(5, gamma=0.02).fit(rows()).inverse_transform(Z.to_numpy())
        np.testing.assert_allclose(model.inverse_transform(Z), expected)
        np.testing.assert_allclose(model.inverse_transform(Z.to_numpy().tolist()), expected)

    def test_fourier_features_may_outnumber_the_rows(self):
        model = KernelPCA(3, approximation="fourier", n_landmarks=500, random_state=0).fit(rows())
        assert model.n_landmarks_ == 500

    def test_the_number_of_rows_of_a_stream(self, tmp_path):
        pl.DataFrame(rows(400)).write_csv(tmp_path / "x.csv")
        source = eigenlens.scan(tmp_path / "x.csv")
        model = KernelPCA(2, approximation="rpcholesky", n_landmarks=30, random_state=0).fit(source)
        assert model.n_samples_ == 400

    def test_exact_stays_exact_after_set_params(self):
        model = KernelPCA(2).fit(rows()).set_params(approximation="nystroem")
        assert model.eigenvectors_.shape == (120, 2)

    def test_callables(self):
        with pytest.raises(DataError, match="called once with two matrices"):
            KernelPCA(2, kernel=lambda a, b: a @ b).fit(rows())
        with pytest.raises(OptionError, match="kernel_params=3"):
            KernelPCA(2, kernel=lambda a, b: a @ b.T, kernel_params=3).fit(rows())
        torch = pytest.importorskip("torch")
        model = KernelPCA(2, kernel=lambda a, b: np.asarray(a) @ np.asarray(b).T).fit(torch.from_numpy(rows()))
        assert isinstance(model.transform(torch.from_numpy(rows())), torch.Tensor)

    def test_memory_in_binary_units(self):
        assert eigenlens.checks.memory("max_memory", "1GiB") == 1 << 30


@pytest.mark.parametrize("approximation", [None, "rpcholesky"])
@pytest.mark.parametrize("kernel", [*ALL, lambda X, Y: np.exp(-np.abs(X[:, None] - Y).sum(axis=2))])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@quiet
def test_new_rows_must_be_finite_even_where_a_kernel_has_a_limit(kernel, approximation, value):
    if kernel == "sigmoid" and approximation:
        pytest.skip("landmarks need a positive definite kernel")
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((40, 3)), columns=["a", "b", "c"])
    landmarks = {"approximation": approximation, "n_landmarks": 20} if approximation else {}
    model = KernelPCA(2, kernel=kernel, **ALL.get(kernel, {}), **landmarks, random_state=0)
    new = X[:5].copy()
    new.loc[3, "b"] = value
    with pytest.raises(DataError, match="'b'"):
        model.fit(X).transform(new)
    with pytest.raises(DataError):
        model.fit(X.to_numpy()).transform(dask.array.from_array(new.to_numpy(), chunks=(2, 3))).compute()


@pytest.mark.parametrize("options", [{}, {"kernel": "laplacian"}, {"solver": "dense"}])
def test_exact_solvers_need_no_seed(options):
    """Random starts decide only digits beyond the tolerance: they are the same in every run."""
    X = np.random.default_rng(0).standard_normal((900, 5))
    first, second = (KernelPCA(4, **options).fit(X) for _ in range(2))
    assert np.array_equal(first.eigenvalues_, second.eigenvalues_)
    assert np.array_equal(first.transform(X[:20]), second.transform(X[:20]))
