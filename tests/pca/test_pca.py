"""`PCA` as a scikit-learn estimator: conventions, choices of k, saving, bootstrap, and the table of rules."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

import eigenlens
from eigenlens import PCA
from eigenlens.errors import ConvergenceWarning, DataError, DataWarning, ModelFileError, OptionError
from eigenlens.linalg.n_components import N_COMPONENTS_RULES
from eigenlens.linalg.procrustes import procrustes_rotation
from eigenlens.linalg.solve import SOLVERS
from eigenlens.native.runtime import active

NAMES = ["auto", *SOLVERS]


def rows(n=100, d=6, k=2, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((n, k)) * np.linspace(3.0, 2.0, k)
    axes = np.linalg.qr(np.random.default_rng(99).standard_normal((d, k)))[0]
    return scores @ axes.T + noise * rng.standard_normal((n, d)) + 5.0


@pytest.mark.few(60)
@parametrize_with_checks(
    [
        PCA(),
        PCA(n_components=1),
        PCA(n_components=0.9, standardize=True),
        PCA(n_components=1, whiten=True, solver="svd"),
        PCA(n_components=1, solver="gram"),
        PCA(n_components=1, center=False),
        PCA(n_components=1, solver="lanczos", random_state=0),
        PCA(n_components=1, solver="randomized", random_state=0),
    ]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


class TestAttributes:
    @pytest.mark.parametrize("solver", NAMES)
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_shapes_and_dtypes(self, solver, dtype):
        X = rows().astype(dtype)
        pca = PCA(2, solver=solver, random_state=0, tol=1e-9 if dtype == np.float64 else 1e-5).fit(X)
        shapes = {
            "components_": (2, 6), "explained_variance_": (2,), "explained_variance_ratio_": (2,),
            "singular_values_": (2,), "mean_": (6,), "scale_": (6,), "loadings_": (6, 2),
        }  # fmt: skip
        for name, shape in shapes.items():
            assert getattr(pca, name).shape == shape, name
            assert getattr(pca, name).dtype == dtype, name
        for array in (pca.transform(X), pca.inverse_transform(pca.transform(X)), pca.fit_transform(X)):
            assert array.dtype == dtype
        assert pca.n_components_ == 2
        assert pca.n_samples_ == 100
        assert pca.n_features_in_ == 6
        assert pca.solver_.solver in SOLVERS

    def test_they_hang_together(self):
        X = rows()
        pca = PCA(3).fit(X)
        C = X - X.mean(axis=0)
        s = np.linalg.svd(C, compute_uv=False)
        np.testing.assert_allclose(pca.singular_values_, s[:3], rtol=1e-10)
        np.testing.assert_allclose(pca.explained_variance_, s[:3] ** 2 / 99, rtol=1e-10)
        np.testing.assert_allclose(pca.explained_variance_ratio_, s[:3] ** 2 / (s**2).sum(), rtol=1e-10)
        np.testing.assert_allclose(pca.loadings_, pca.components_.T * np.sqrt(pca.explained_variance_), rtol=1e-12)
        assert pca.total_variance_ == pytest.approx(np.trace(np.cov(X.T)), rel=1e-12)
        assert pca.noise_variance_ == pytest.approx((s[3:] ** 2).sum() / 99 / 3, rel=1e-9)
        np.testing.assert_allclose(pca.transform(X), C @ pca.components_.T, atol=1e-10)
        np.testing.assert_allclose(
            pca.correlations(), np.corrcoef(np.hstack([X, pca.transform(X)]).T)[:6, 6:], atol=1e-10
        )
        np.testing.assert_allclose(pca.contributions().sum(axis=0), 100.0)
        np.testing.assert_allclose(pca.contributions(X).sum(axis=0), 100.0)

    def test_results_do_not_depend_on_the_number_of_threads(self):
        X = np.random.default_rng(0).standard_normal((30_000, 20)) + 3.0
        found = []
        for limit in (1, 2):
            with threadpool_limits(limit):
                found.append(PCA(3, solver="covariance").fit(X))
        np.testing.assert_allclose(found[0].explained_variance_, found[1].explained_variance_, rtol=1e-13)
        first, second = (fit._moments.scatter for fit in found)
        assert np.array_equal(first, second) or active() == "numpy"  # BLAS adds in an order of its own
        np.testing.assert_allclose(first, second, atol=1e-9)

    def test_a_second_fit_forgets_the_first(self):
        X = rows()
        pca = PCA(2).fit(pd.DataFrame(X[:50], columns=list("abcdef")))
        pca.fit(X[:, :4])
        assert pca.n_features_in_ == 4
        assert not hasattr(pca, "feature_names_in_")
        np.testing.assert_array_equal(pca.components_, PCA(2).fit(X[:, :4]).components_)

    def test_changing_the_views_does_not_change_the_model(self):
        X = rows()
        pca = PCA(2).fit(X)
        before = pca.transform(X)
        for name in ("components_", "mean_", "explained_variance_", "scale_"):
            view = getattr(pca, name)
            if view.flags.writeable:
                view[...] = 0.0
        np.testing.assert_array_equal(pca.transform(X), before)

    def test_failure_to_converge_is_reported(self, monkeypatch):
        X = np.random.default_rng(0).standard_normal((400, 60))
        monkeypatch.setattr("eigenlens.linalg.randomized.MAX_FILTER_PRODUCTS", 2)
        with pytest.warns(ConvergenceWarning, match=r"'randomized' stopped after \d+ iterations.*tol=1e-12"):
            PCA(3, solver="randomized", tol=1e-12, random_state=0).fit(X)


class TestNumberOfComponents:
    @pytest.mark.few(20)
    @pytest.mark.parametrize("share", [0.05, 0.5, 0.9, 0.99, 0.999999])
    @pytest.mark.parametrize("solver", NAMES)
    @pytest.mark.parametrize("shape", [(150, 30), (30, 80)])
    def test_a_share_of_variance(self, share, solver, shape):
        X = np.random.default_rng(0).standard_normal(shape) * 0.8 ** np.arange(shape[1])
        s = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
        expected = int(np.argmax(np.cumsum(s) >= share * s.sum())) + 1
        pca = PCA(share, solver=solver, random_state=0).fit(X)
        assert pca.n_components_ == expected
        assert pca.explained_variance_ratio_.sum() >= share
        s /= shape[0] - 1
        np.testing.assert_allclose(pca.explained_variance_, s[:expected], rtol=1e-8, atol=1e-9 * s[0])

    @pytest.mark.parametrize("rule", N_COMPONENTS_RULES)
    @pytest.mark.parametrize("shape", [(150, 10), (30, 80)])
    @pytest.mark.parametrize("solver", ["auto", "covariance", "gram", "svd"])
    def test_rules_find_two(self, rule, shape, solver):
        """Two strong components in little noise: every rule sees them, and the model has them exactly."""
        X = rows(*shape, noise=0.1)
        pca = PCA(rule, solver=solver, random_state=0).fit(X)
        assert pca.n_components_ == 2
        s = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2 / (shape[0] - 1)
        np.testing.assert_allclose(pca.explained_variance_, s[:2], rtol=1e-9)

    @pytest.mark.parametrize("rule", N_COMPONENTS_RULES)
    @pytest.mark.parametrize("seed", range(4))
    def test_a_rule_is_asked_once_and_of_the_whole_spectrum(self, rule, seed):
        """Slowly decaying spectra, where cutting and asking again would give another answer."""
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((60, 8)) * 0.7 ** np.arange(8) @ np.linalg.qr(rng.standard_normal((8, 8)))[0]
        pca = PCA(rule, random_state=0).fit(X)
        table = eigenlens.select_components(X, rules=[rule], random_state=0)
        assert pca.n_components_ == max(1, table[rule].n_components)
        assert np.all(pca.explained_variance_ > 0.0)
        assert table[rule].n_components == 0 or pca.explained_variance_ratio_.sum() == pytest.approx(table[rule].share)

    def test_none_and_one(self):
        X = rows()
        assert PCA().fit(X).n_components_ == 6
        assert PCA(1.0).fit(X).n_components_ == 6
        assert PCA().fit(X[:4]).n_components_ == 4
        assert PCA(np.int64(2)).fit(X).n_components_ == 2

    def test_a_callable(self):
        X = rows()
        assert PCA(lambda values, rows, rng: int((values > 1.0).sum())).fit(X).n_components_ == 2

    def test_the_table(self):
        table = eigenlens.select_components(rows(200, 12, 3, noise=0.2), random_state=0)
        assert {row.rule for row in table} == {"90% of variance", *N_COMPONENTS_RULES}
        assert {table[rule].n_components for rule in N_COMPONENTS_RULES} == {3}
        for row in table:
            assert 0.9 < row.share < 1.0
            assert row.note
        assert "gavish-donoho" in str(table)
        assert eigenlens.select_components(rows(), rules=["mle"], share=0.5).rows[1].rule == "mle"

    def test_the_table_with_weights_and_sparse_rows(self):
        X, w = rows(60, 8, 2, noise=0.2), np.random.default_rng(0).integers(1, 4, 60)
        a = eigenlens.select_components(X, sample_weight=w, random_state=0, standardize=True)
        b = eigenlens.select_components(sparse.csr_matrix(np.repeat(X, w, axis=0)), random_state=0, standardize=True)
        for rule in ("90% of variance", "mle", "gavish-donoho", "kaiser"):
            assert a[rule].n_components == b[rule].n_components
            assert a[rule].share == pytest.approx(b[rule].share, rel=1e-9)

    def test_partial_fit_with_rules(self):
        X = rows(noise=0.1)
        for rule in (0.9, "mle", "gavish-donoho", "kaiser"):
            parts = PCA(rule).partial_fit(X[:40]).partial_fit(X[40:])
            assert parts.n_components_ == PCA(rule).fit(X).n_components_
        with pytest.raises(OptionError, match="after partial_fit or fit_covariance only their moments"):
            PCA("parallel").partial_fit(X).components_


class TestScikitLearn:
    def test_clone_and_parameters(self):
        pca = PCA(2, standardize=True, whiten=True, solver="svd", tol=1e-8, random_state=3)
        twin = clone(pca.fit(rows()))
        assert twin.get_params() == pca.get_params()
        assert not hasattr(twin, "_model")
        assert "solver='svd'" in repr(pca)

    @pytest.mark.parametrize("copying", [copy.deepcopy, lambda pca: pickle.loads(pickle.dumps(pca))])
    @pytest.mark.parametrize("partial", [False, True])
    def test_copies_predict_the_same_bits(self, copying, partial):
        X = rows()
        pca = PCA(2).partial_fit(X) if partial else PCA(2).fit(X)
        twin = copying(pca)
        assert np.array_equal(twin.transform(X), pca.transform(X))
        assert np.array_equal(twin.score_samples(X), pca.score_samples(X))

    def test_pipeline(self):
        X = rows()
        y = X @ np.arange(6.0)
        pipe = make_pipeline(StandardScaler(), PCA(4), LinearRegression()).fit(X, y)
        assert pipe.score(X, y) > 0.9
        by_hand = PCA(4).fit_transform(StandardScaler().fit_transform(X))
        np.testing.assert_allclose(pipe[:-1].transform(X), by_hand, atol=1e-9)

    def test_grid_search_by_held_out_density_with_routed_weights(self):
        X = rows(300, 8, 3)
        w = np.random.default_rng(0).integers(1, 4, 300).astype(float)
        with sklearn.config_context(enable_metadata_routing=True):
            pca = PCA(random_state=0).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
            search = GridSearchCV(pca, {"n_components": [1, 2, 3, 5]}, cv=3).fit(X, sample_weight=w)
            assert search.best_params_ == {"n_components": 3}
            np.testing.assert_allclose(
                search.best_estimator_.explained_variance_,
                PCA(3).fit(X, sample_weight=w).explained_variance_,
                rtol=1e-9,
            )
            fold = np.arange(100)  # the first of three unshuffled folds
            rest = np.arange(100, 300)
            twin = PCA(3).fit(X[rest], sample_weight=w[rest]).score(X[fold], sample_weight=w[fold])
            assert search.cv_results_["split0_test_score"][2] == pytest.approx(twin, rel=1e-9)

    def test_routing_through_a_pipeline(self):
        X = rows()
        w = np.random.default_rng(0).uniform(0.5, 2.0, 100)
        with sklearn.config_context(enable_metadata_routing=True):
            pipe = make_pipeline(PCA(2).set_fit_request(sample_weight=True)).fit(X, sample_weight=w)
        np.testing.assert_allclose(pipe[0].components_, PCA(2).fit(X, sample_weight=w).components_, atol=1e-12)

    @pytest.mark.parametrize(("container", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
    def test_set_output(self, container, kind):
        X = pd.DataFrame(rows(), columns=list("abcdef"), index=[f"r{i}" for i in range(100)])
        out = PCA(2).set_output(transform=container).fit(X).transform(X)
        assert isinstance(out, kind)
        assert list(out.columns) == ["pca0", "pca1"]
        np.testing.assert_array_equal(np.asarray(out), PCA(2).fit(X).transform(X))
        if container == "pandas":
            assert out.index.tolist() == X.index.tolist()

    def test_names(self):
        pca = PCA(3).fit(pd.DataFrame(rows(), columns=list("abcdef")))
        assert pca.get_feature_names_out().tolist() == ["pca0", "pca1", "pca2"]
        assert pca.feature_names_in_.tolist() == list("abcdef")

    def test_y_is_ignored(self):
        X = rows()
        np.testing.assert_array_equal(PCA(2).fit(X, np.arange(100)).components_, PCA(2).fit(X).components_)


class TestSaving:
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize(
        "options", [{}, {"standardize": True, "whiten": True}, {"solver": "svd"}, {"n_components": 0.8}]
    )
    def test_round_trip_bit_for_bit(self, tmp_path, options, dtype):
        X = rows().astype(dtype)
        pca = PCA(**{"n_components": 2, "random_state": 7, **options}).fit(X)
        pca.save(tmp_path / "pca.safetensors")
        twin = eigenlens.load(tmp_path / "pca.safetensors")
        assert isinstance(twin, PCA)
        assert twin.get_params() == pca.get_params()
        for function in ("transform", "score_samples", "reconstruction_error", "cos2", "contributions"):
            ours, theirs = getattr(twin, function)(X), getattr(pca, function)(X)
            assert np.array_equal(ours, theirs), function
            assert ours.dtype == theirs.dtype, function
        assert np.array_equal(twin.inverse_transform(pca.transform(X)), pca.inverse_transform(pca.transform(X)))
        assert np.array_equal(twin.get_covariance(), pca.get_covariance())
        assert np.array_equal(twin.sample(3, random_state=0), pca.sample(3, random_state=0))
        assert twin.components_.dtype == dtype
        assert str(twin.solver_) == str(pca.solver_)
        assert twin.n_samples_ == 100
        assert twin.n_features_in_ == 6

    def test_names_and_going_on_after_loading(self, tmp_path):
        X = rows()
        frame = pd.DataFrame(X, columns=list("abcdef"))
        PCA(2).fit(frame[:60]).save(tmp_path / "a")
        twin = eigenlens.load(tmp_path / "a")
        assert twin.feature_names_in_.tolist() == list("abcdef")
        twin.partial_fit(frame[60:])
        np.testing.assert_allclose(twin.components_, PCA(2).fit(X).components_, atol=1e-9)
        other = eigenlens.load(tmp_path / "a").merge(PCA(2).fit(frame[60:]))
        np.testing.assert_allclose(other.explained_variance_, twin.explained_variance_, rtol=1e-10)

    def test_after_partial_fit(self, tmp_path):
        X = rows()
        PCA(2).partial_fit(X).save(tmp_path / "a")
        np.testing.assert_allclose(eigenlens.load(tmp_path / "a").components_, PCA(2).fit(X).components_, atol=1e-12)

    def test_a_loaded_model_saves_again(self, tmp_path):
        PCA(2).fit(rows()).save(tmp_path / "a")
        eigenlens.load(tmp_path / "a").save(tmp_path / "b")
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()

    @pytest.mark.parametrize(
        "options",
        [
            {"n_components": np.int64(2)},
            {"n_components": np.float64(0.9)},
            {"random_state": np.random.default_rng(0)},
            {"standardize": np.True_},
        ],
    )
    def test_parameters_of_numpys_kinds(self, tmp_path, options):
        pca = PCA(**{"n_components": 2, **options}).fit(rows())
        pca.save(tmp_path / "a")
        assert np.array_equal(eigenlens.load(tmp_path / "a").components_, pca.components_)

    def test_a_truncated_file_is_rejected(self, tmp_path):
        PCA(2).fit(rows()).save(tmp_path / "a")
        data = (tmp_path / "a").read_bytes()
        (tmp_path / "a").write_bytes(data[:-9])
        with pytest.raises(ModelFileError):
            eigenlens.load(tmp_path / "a")


class TestBootstrap:
    @pytest.mark.long
    def test_intervals_cover_the_truth_about_as_often_as_they_say(self):
        """Eigenvalue 9 of N(0, diag(9, 4, 1, 1)), 60 samples of 200 rows: 95% intervals, so about 57 hits."""
        hits = 0
        for seed in range(60):
            X = np.random.default_rng(seed).standard_normal((200, 4)) * [3.0, 2.0, 1.0, 1.0]
            low, high = PCA(2).fit(X).bootstrap(X, n=100, random_state=seed).interval("variances")
            hits += low[0] <= 9.0 <= high[0]
        assert 49 <= hits <= 60

    def test_shapes_and_seed(self):
        X = rows()
        pca = PCA(2).fit(X)
        a, b = (pca.bootstrap(X, n=20, random_state=1) for _ in range(2))
        assert a.variances.shape == a.ratios.shape == (20, 2)
        assert a.components.shape == (20, 2, 6)
        assert a.loadings.shape == (20, 6, 2)
        assert np.array_equal(a.components, b.components)
        low, high = a.interval("loadings", 0.9)
        assert low.shape == (6, 2)
        assert np.all(low <= high)
        assert not np.array_equal(a.variances, pca.bootstrap(X, n=20, random_state=2).variances)

    def test_a_replicate_is_the_fit_of_drawn_rows(self):
        X = rows()
        found = PCA(6).fit(X).bootstrap(X, n=5, random_state=3)
        counts = np.random.default_rng(3).multinomial(100, np.full(100, 0.01))
        twin = PCA(6).fit(np.repeat(X, counts, axis=0))
        np.testing.assert_allclose(found.variances[0], twin.explained_variance_, rtol=1e-9)

    def test_axes_are_aligned_to_the_fitted_ones(self):
        """Two nearly equal eigenvalues: unaligned axes would turn at random within their plane."""
        X = np.random.default_rng(0).standard_normal((300, 5)) * [3.0, 2.95, 0.3, 0.2, 0.1]
        pca = PCA(2).fit(X)
        found = pca.bootstrap(X, n=50, random_state=0)
        cosines = np.einsum("rkd,kd->rk", found.components, pca.components_)
        assert cosines.min() > 0.99
        np.testing.assert_allclose(
            np.einsum("rkd,rld->rkl", found.components, found.components),
            np.broadcast_to(np.eye(2), (50, 2, 2)),
            atol=1e-9,
        )

    def test_rotation_is_the_best_rotation(self):
        rng = np.random.default_rng(0)
        target, other = (np.linalg.qr(rng.standard_normal((7, 3)))[0].T for _ in range(2))
        best = np.linalg.norm(procrustes_rotation(other, target) @ other - target)
        for _ in range(200):
            R = np.linalg.qr(rng.standard_normal((3, 3)))[0]
            assert np.linalg.norm(R @ other - target) >= best - 1e-12
        turned = -target[[2, 0, 1]]
        np.testing.assert_allclose(procrustes_rotation(turned, target) @ turned, target, atol=1e-12)

    def test_aligned_loadings_are_those_of_the_replicate(self):
        """W Wᵀ of a replicate must not change when its axes are rotated: loadings are rotated as a whole."""
        X = np.random.default_rng(0).standard_normal((200, 4)) * [3.0, 2.0, 0.5, 0.5]
        found = PCA(2).fit(X).bootstrap(X, n=5, random_state=3)
        counts = np.random.default_rng(3).multinomial(200, np.full(200, 1 / 200))
        twin = PCA(2).fit(np.repeat(X, counts, axis=0)).loadings_
        np.testing.assert_allclose(found.loadings[0] @ found.loadings[0].T, twin @ twin.T, rtol=1e-8, atol=1e-8)

    def test_weighted_and_standardised(self):
        X, w = rows(), np.random.default_rng(0).integers(1, 4, 100)
        pca = PCA(2, standardize=True).fit(X, sample_weight=w)
        low, high = pca.bootstrap(X, n=60, sample_weight=w, random_state=0).interval("ratios")
        assert np.all(low < pca.explained_variance_ratio_)
        assert np.all(pca.explained_variance_ratio_ < high)


class TestProgress:
    def test_a_callback_hears_of_every_pass(self):
        heard = []
        PCA(2, verbose=lambda done, total, what: heard.append((done, total, what))).fit(rows())
        assert heard[-1][0] == heard[-1][1] == 100
        assert heard[-1][2]

    def test_a_bar_goes_to_standard_error(self, capfd):
        PCA(2, verbose=True).fit(rows())
        out, error = capfd.readouterr()
        assert out == ""
        assert "moments" in error


# ---- missing entries ----------------------------------------------------------------------------------------


def with_missing(X, share=0.2):
    return np.where(np.random.default_rng(1).random(X.shape) < share, np.nan, X)


@pytest.mark.parametrize("share", [0.0, 0.2])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_of_weight_zero_may_hold_anything(share, value):
    X, weight = with_missing(rows(), share), np.ones(100)
    bad, weight[[3, 50]] = X.copy(), 0.0
    bad[[3, 50], 2:] = value
    pca = PCA(2, missing="em").fit(bad, sample_weight=weight)
    twin = PCA(2, missing="em").fit(np.delete(X, [3, 50], axis=0))
    np.testing.assert_allclose(pca.components_, twin.components_, atol=1e-10)
    assert pca.n_samples_ == twin.n_samples_ == 98


def test_infinity_in_a_row_that_counts():
    X = with_missing(rows())
    X[0, 0] = np.inf
    with pytest.raises(DataError, match="infinity"):
        PCA(2, missing="em").fit(X)


def test_constant_columns_with_missing_values_have_nothing_to_model():
    X = np.ones((5, 3))
    X[0, 0] = np.nan
    with pytest.raises(DataError, match="no variance"):
        PCA(1, missing="em").fit(X)


@pytest.mark.parametrize("k", [2, 6])
def test_incomplete_rows_have_the_density_of_what_is_there(k):
    X = with_missing(rows())
    pca = PCA(k, missing="em", standardize=True).fit(X)
    C, found = pca.get_covariance(), pca.score_samples(X)
    for x, density in zip(X[:30], found, strict=False):
        seen = ~np.isnan(x)
        expected = multivariate_normal(pca.mean_[seen], C[np.ix_(seen, seen)]).logpdf(x[seen]) if seen.any() else 0.0
        assert density == pytest.approx(expected, rel=1e-9)
    assert pca.score(X) == pytest.approx(found.mean())


def test_rows_without_an_entry_do_not_count():
    X = with_missing(rows())
    X[[4, 9]] = np.nan
    with pytest.warns(DataWarning, match=r"2 rows have no observed entry .*; their scores are 0"):
        pca = PCA(2, missing="em").fit(X)
    assert pca.n_samples_ == 98
    np.testing.assert_allclose(pca.transform(X)[[4, 9]], 0.0, atol=1e-12)
    X[9] = X[8]
    with pytest.warns(DataWarning, match=r"1 row has no observed entry .*; its scores are 0"):
        PCA(2, missing="em").fit(X)
    np.testing.assert_allclose(
        pca.components_, PCA(2, missing="em").fit(np.delete(X, [4, 9], axis=0)).components_, atol=1e-6
    )


def test_no_number_is_every_axis():
    X = with_missing(rows())
    every, six = PCA(missing="em").fit(X), PCA(6, missing="em").fit(X)
    np.testing.assert_allclose(every.explained_variance_, six.explained_variance_, rtol=1e-10)
    assert every.n_components_ == 6


def test_an_interrupt_with_missing_entries_is_reported():
    def stop(done, total, what):
        if "step 4," in what:
            raise KeyboardInterrupt

    with pytest.warns(
        ConvergenceWarning, match=r"stopped after [34] steps.*: the user stopped it\. .*is kept"
    ) as caught:
        pca = PCA(2, missing="em", verbose=stop).fit(with_missing(rows()))
    assert "residual" not in str(caught[0].message)
    assert pca.transform(rows()).shape == (100, 2)


def test_tags_say_whether_missing_values_are_taken():
    assert get_tags(PCA(missing="em")).input_tags.allow_nan
    assert not get_tags(PCA()).input_tags.allow_nan


@pytest.mark.parametrize(("alias", "name"), [("full", "svd"), ("arpack", "lanczos"), ("covariance_eigh", "covariance")])
def test_solvers_have_the_names_of_scikit_learn_too(alias, name):
    X = np.random.default_rng(0).standard_normal((50, 6))
    ours, named = PCA(2, solver=alias, random_state=0).fit(X), PCA(2, solver=name, random_state=0).fit(X)
    assert ours.solver_.solver == name
    assert np.array_equal(ours.components_, named.components_)
    assert ours.get_params()["solver"] == alias


@pytest.mark.parametrize("solver", ["lanczos", "randomized", "power"])
def test_a_tolerance_of_zero_is_what_rounding_allows(solver):
    """The default of scikit-learn's "arpack"."""
    X = np.random.default_rng(0).standard_normal((50, 6)) * np.arange(1.0, 7.0)
    found = PCA(2, solver=solver, tol=0.0, random_state=0).fit(X)
    np.testing.assert_allclose(found.explained_variance_, np.linalg.eigvalsh(np.cov(X.T))[:-3:-1], rtol=1e-13)


def test_supplementary_columns_of_any_container():
    """A frame whose columns have numbers for names, here as many as there are rows, is read by column."""
    X = np.random.default_rng(0).standard_normal((4, 4))
    pca, groups = PCA(2).fit(X), ["a", "b", "a", "b"]
    for columns in (pd.DataFrame(X), pl.DataFrame(X), X, X.tolist()):
        np.testing.assert_allclose(pca.supplementary(columns).correlations, pca.correlations(), atol=1e-12)
    for column in (pd.Series(groups), pl.Series(groups), groups):
        (found,) = pca.supplementary(column).categories.values()
        assert found.levels == ("a", "b")
    with pytest.raises(DataError, match=r"columns have shape \(\); give \(n,\)"):
        pca.supplementary(3.0)


@pytest.mark.parametrize("units", [(1e-150, 1.0, 1.0, 1.0), (1.0, 1e-75, 1e75, 1.0), (1e-20, 1.0, 1e20, 1e10)])
def test_columns_in_very_different_units_keep_their_digits(units):
    """With units so far apart, variances are those of each column given the columns of larger units."""
    X = np.random.default_rng(1).standard_normal((200, 4)) @ np.random.default_rng(2).standard_normal((4, 4))
    order = np.argsort(-np.array(units), kind="stable")
    R = np.linalg.qr((X - X.mean(axis=0))[:, order])[1]
    scale = np.array(units)[order]
    blocks = np.split(np.arange(4), np.flatnonzero(np.diff(scale)) + 1)
    wanted = [np.linalg.svd(R[np.ix_(b, b)], compute_uv=False) * scale[b[0]] for b in blocks]
    found = PCA().fit(X * np.array(units))
    np.testing.assert_allclose(found.singular_values_, np.concatenate(wanted), rtol=1e-9)
    np.testing.assert_allclose(found.components_ @ found.components_.T, np.eye(4), atol=1e-14)
