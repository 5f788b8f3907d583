"""Bad rows and bad options: a clear error that names argument and value, or a warned answer; never a silent NaN."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import eigenlens
from eigenlens import PCA
from eigenlens.errors import DataError, DataWarning, EigenlensError, OptionError, SourceChanged
from eigenlens.linalg.solve import SOLVERS

NAMES = ["auto", *SOLVERS]
RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 4)) * [2.0, 1.5, 1.0, 0.5] + 10.0


def spoilt(value, row=7, column=2):
    bad = X.copy()
    bad[row, column] = value
    return bad


KINDS = {
    "numpy": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_matrix,
    "pandas": lambda X: pd.DataFrame(X, columns=list("abcd")),
    "polars": lambda X: pl.DataFrame(X, schema=list("abcd")),
}


class TestEntries:
    @pytest.mark.parametrize("solver", NAMES)
    @pytest.mark.parametrize("kind", ["numpy", "csr"])
    @pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
    def test_every_solver_rejects(self, solver, kind, value, word):
        with pytest.raises(DataError, match=rf"X contains {word}: 1 entry in 1 of 4 columns \('2'\)"):
            PCA(2, solver=solver, random_state=0).fit(KINDS[kind](spoilt(value)))

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
    def test_every_kind_of_rows_is_rejected(self, kind, value, word):
        column = "'c'" if kind in ("pandas", "polars") else "'2'"
        with pytest.raises(DataError, match=rf"X contains {word}: 1 entry in 1 of 4 columns \({column}\)"):
            PCA(2).fit(KINDS[kind](spoilt(value)))

    @pytest.mark.parametrize("standardize", [False, True])
    @pytest.mark.parametrize("n_components", [None, 0.9, "mle", "parallel", "cv"])
    def test_fit_with_any_rule(self, standardize, n_components):
        with pytest.raises(DataError, match="X contains NaN"):
            PCA(n_components, standardize=standardize).fit(spoilt(np.nan))

    @pytest.mark.parametrize("shape", [(40, 3), (5, 60)])
    def test_a_column_of_nothing_but_nan(self, shape):
        bad = RNG.standard_normal(shape)
        bad[:, 1] = np.nan
        with pytest.raises(DataError, match=rf"NaN: {shape[0]} entries in 1 of {shape[1]} columns \('1'\)"):
            PCA(2).fit(bad)

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        "method", ["transform", "score_samples", "reconstruction_error", "cos2", "contributions", "score"]
    )
    @pytest.mark.filterwarnings("ignore::RuntimeWarning")
    def test_after_the_fit(self, kind, method):
        pca = PCA(2).fit(KINDS[kind](X))
        for value, word in ((np.nan, "NaN"), (np.inf, "infinity")):
            with pytest.raises(DataError, match=f"X contains {word}"):
                getattr(pca, method)(KINDS[kind](spoilt(value)))

    def test_partial_fit_rejects_and_keeps_what_it_had(self):
        pca = PCA(2).partial_fit(X)
        before = pca.components_.copy()
        with pytest.raises(DataError, match="X contains NaN"):
            pca.partial_fit(spoilt(np.nan))
        np.testing.assert_array_equal(pca.components_, before)
        assert pca.n_samples_ == 30

    def test_inverse_transform_of_nan(self):
        Z = PCA(2).fit(X).transform(X)
        Z[3, 1] = np.nan
        with pytest.raises(DataError, match="NaN"):
            PCA(2).fit(X).inverse_transform(Z)

    def test_bootstrap_and_select(self):
        with pytest.raises(DataError, match="X contains NaN"):
            PCA(2).fit(X).bootstrap(spoilt(np.nan), n=5)
        with pytest.raises(DataError, match="X contains NaN"):
            eigenlens.select_components(spoilt(np.nan))

    @pytest.mark.parametrize("solver", NAMES)
    @pytest.mark.parametrize("kind", ["numpy", "csr"])
    @pytest.mark.filterwarnings("ignore::RuntimeWarning")
    def test_finite_entries_whose_squares_overflow(self, solver, kind):
        with pytest.raises(DataError, match=r"as large as .*e\+\d+.*overflow.*divide"):
            PCA(2, solver=solver, random_state=0).fit(KINDS[kind](X * 1e200))

    def test_overflow_warns_of_nothing_else(self):
        """The error is the message: NumPy's overflow warnings beside it would only puzzle."""
        with pytest.raises(DataError, match="overflow"):
            PCA(2).fit(X * 1e200)

    def test_float32_rows_whose_variances_overflow_float32(self):
        """Squares of 1e30 fit into float64 but not into float32: an infinite variance must not pass in silence."""
        big = (X * 1e30).astype(np.float32)
        try:
            found = PCA(2).fit(big)
        except DataError as error:
            assert "large" in str(error)  # noqa: PT017 - either answer is fine, an infinity is not
        else:
            assert np.all(np.isfinite(found.explained_variance_))

    @pytest.mark.parametrize("solver", ["auto", "covariance", "gram", "svd"])
    def test_tiny_entries_are_no_zero(self, solver):
        found = PCA(2, solver=solver).fit(X * 1e-140)
        np.testing.assert_allclose(found.explained_variance_, PCA(2).fit(X).explained_variance_ * 1e-280, rtol=1e-8)


class TestShapes:
    @pytest.mark.parametrize(
        "empty",
        [
            np.empty((0, 4)),
            np.empty((4, 0)),
            [],
            [[]],
            sparse.csr_matrix((0, 3)),
            pl.DataFrame(),
            pd.DataFrame(columns=["a"], dtype=float),
        ],
    )
    def test_empty(self, empty):
        with pytest.raises(ValueError, match=r"(?i)0 (sample|feature|row|column)|shape|empty|no rows|at least"):
            PCA().fit(empty)

    @pytest.mark.parametrize("solver", NAMES)
    @pytest.mark.parametrize("k", [None, 1])
    def test_one_row(self, solver, k):
        with pytest.raises(DataError, match=r"X has 1 sample .*at least 2 rows"):
            PCA(k, solver=solver).fit(X[:1])

    def test_partial_fit_of_one_row_asked_too_early(self):
        with pytest.raises(DataError, match="at least 2 rows"):
            PCA(1).partial_fit(X[:1]).components_

    @pytest.mark.parametrize("solver", NAMES)
    def test_one_column(self, solver):
        pca = PCA(solver=solver, random_state=0).fit(X[:, :1])
        assert pca.components_.tolist() == [[1.0]]
        assert pca.explained_variance_[0] == pytest.approx(X[:, 0].var(ddof=1), rel=1e-12)
        assert pca.noise_variance_ == 0.0
        assert np.isfinite(pca.score(X[:, :1]))

    @pytest.mark.parametrize("solver", NAMES)
    def test_two_rows(self, solver):
        pca = PCA(1, solver=solver, random_state=0).fit(X[:2])
        assert pca.explained_variance_[0] == pytest.approx(((X[0] - X[1]) ** 2).sum() / 2, rel=1e-10)

    @pytest.mark.parametrize("bad", [np.ones(5), np.ones((2, 3, 4)), 3.0])
    def test_wrong_number_of_dimensions(self, bad):
        with pytest.raises(ValueError, match=r"(?i)2D|dim 3|dimension|two"):
            PCA().fit(bad)

    @pytest.mark.parametrize(
        "bad",
        [
            np.array([["a", "b"], ["c", "d"]]),
            np.array([[1.0, "x"], [2.0, "y"]], dtype=object),
            [[1.0, "x"], [2.0, 3.0]],
            pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}),
            pl.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}),
        ],
    )
    def test_text(self, bad):
        with pytest.raises(ValueError, match=r"(?i)string|numeric|number|text|convert"):
            PCA().fit(bad)

    @pytest.mark.parametrize(
        "make",
        [np.asarray, sparse.csr_matrix, lambda X: pl.DataFrame({"a": [1, 2], "when": [pl.date(2020, 1, 1)] * 2})],
    )
    def test_complex_numbers_and_dates(self, make):
        with pytest.raises((ValueError, TypeError), match=r"(?i)complex|numeric|number|date|dtype"):
            PCA().fit(make(np.ones((4, 2)) * 1j))

    def test_datetimes(self):
        with pytest.raises((ValueError, TypeError), match=r"(?i)datetime|numeric|dtype"):
            PCA().fit(np.array([["2020-01-01", "2020-01-02"]] * 3, dtype="datetime64[D]"))

    def test_extended_precision_says_what_to_do(self):
        with pytest.raises(DataError, match=r"dtype (longdouble|float128).*float64"):
            PCA().fit(X.astype(np.longdouble))

    def test_objects_that_are_numbers(self):
        np.testing.assert_allclose(PCA(2).fit(X.astype(object)).components_, PCA(2).fit(X).components_, atol=1e-12)

    def test_booleans_are_numbers(self):
        B = X > 10.0
        np.testing.assert_allclose(PCA(2).fit(B).components_, PCA(2).fit(B.astype(float)).components_, atol=1e-12)

    def test_none_and_nonsense(self):
        for bad in (None, "rows.csv", object()):
            with pytest.raises((ValueError, TypeError)):
                PCA().fit(bad)


class TestConstantColumns:
    FLAT = np.column_stack([X, np.full(30, 0.1), np.full(30, 1e9 + 0.3), np.zeros(30)])

    @pytest.mark.parametrize("solver", NAMES)
    def test_plain(self, solver):
        pca = PCA(4, solver=solver, random_state=0).fit(self.FLAT)
        np.testing.assert_allclose(pca.explained_variance_, PCA(4).fit(X).explained_variance_, rtol=1e-9)
        np.testing.assert_allclose(pca.components_[:, 4:], 0.0, atol=1e-8)
        assert np.all(np.isfinite(pca.correlations()))

    @pytest.mark.parametrize("solver", NAMES)
    def test_standardised_columns_are_named_in_a_warning(self, solver):
        with pytest.warns(DataWarning, match=r"3 of 7 columns are constant \(4, 5, 6\)"):
            pca = PCA(4, solver=solver, standardize=True, random_state=0).fit(self.FLAT)
        np.testing.assert_allclose(
            pca.explained_variance_, PCA(4, standardize=True).fit(X).explained_variance_, rtol=1e-9
        )
        assert pca.total_variance_ == pytest.approx(4.0, rel=1e-10)
        np.testing.assert_array_equal(pca.scale_[4:], 1.0)
        assert np.all(np.isfinite(pca.transform(self.FLAT)))

    def test_names_of_a_frame(self):
        frame = pd.DataFrame({"a": X[:, 0], "flat": 3.0, "b": X[:, 1]})
        with pytest.warns(DataWarning, match=r"1 of 3 columns are constant \('flat'\)"):
            PCA(1, standardize=True).fit(frame)

    def test_sparse_columns_without_entries(self):
        S = sparse.csr_matrix(np.column_stack([X, np.zeros(30)]))
        with pytest.warns(DataWarning, match=r"1 of 5 columns"):
            pca = PCA(2, standardize=True).fit(S)
        assert np.all(np.isfinite(pca.components_))

    @pytest.mark.parametrize("solver", NAMES)
    @pytest.mark.parametrize("standardize", [False, True])
    def test_nothing_varies(self, solver, standardize):
        with pytest.warns(DataWarning, match="columns are constant"):
            pca = PCA(2, solver=solver, standardize=standardize, random_state=0).fit(np.full((9, 3), 4.0))
        assert pca.explained_variance_.tolist() == [0.0, 0.0]
        assert pca.explained_variance_ratio_.tolist() == [0.0, 0.0]
        assert np.all(np.isfinite(pca.transform(np.full((2, 3), 4.0))))
        with pytest.raises(OptionError, match="no density"):
            pca.score(np.full((2, 3), 4.0))

    def test_constant_under_the_weights(self):
        """A column that varies only in rows of weight zero is constant."""
        w = np.append(np.zeros(5), np.ones(25))
        Y = X.copy()
        Y[5:, 3] = 2.0
        with pytest.warns(DataWarning, match=r"1 of 4 columns are constant \(3\)"):
            pca = PCA(2, standardize=True).fit(Y, sample_weight=w)
        assert pca.scale_[3] == 1.0


class TestOptions:
    @pytest.mark.parametrize("solver", NAMES)
    @pytest.mark.parametrize("k", [-1, 5, True, 1.5, -0.1, 0.0, np.nan, np.inf, "foo", "MLE", [2], (1, 2), {}])
    def test_n_components(self, k, solver):
        with pytest.raises(OptionError, match="n_components=") as error:
            PCA(k, solver=solver).fit(X)
        assert repr(k) in str(error.value) or str(k) in str(error.value)

    def test_n_components_names_the_bound_that_counts(self):
        with pytest.raises(OptionError, match="n_components=5 must be at most 4, the number of features"):
            PCA(5).fit(X)
        with pytest.raises(OptionError, match="n_components=4 must be at most 3, the number of rows"):
            PCA(4).fit(X[:3])
        with pytest.raises(OptionError, match=r"'foo' is not known.*'mle'"):
            PCA("foo").fit(X)
        with pytest.raises(OptionError, match="did you mean 'parallel'"):
            PCA("paralel").fit(X)

    def test_partial_fit_checks_too(self):
        with pytest.raises(OptionError, match="n_components=9 must be at most 4"):
            PCA(9).partial_fit(X)
        with pytest.raises(OptionError, match="solver='fast'"):
            PCA(2, solver="fast").partial_fit(X)

    def test_partial_fit_may_have_fewer_rows_than_components_for_a_while(self):
        pca = PCA(4).partial_fit(X[:2])
        assert pca.partial_fit(X[2:]).components_.shape == (4, 4)

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"solver": "lanczoz"}, "solver='lanczoz'.*'lanczos'"),
            ({"solver": None}, "solver=None"),
            ({"solver": 3}, "solver=3"),
            ({"tol": -1.0}, r"tol=-1\.0 must be"),
            ({"tol": np.nan}, "tol=nan"),
            ({"tol": "small"}, "tol='small'"),
            ({"missing": "drop"}, "missing='drop'"),
            ({"random_state": "seed"}, "random_state='seed'"),
            ({"random_state": -1}, "random_state=-1"),
            ({"random_state": 1.5}, r"random_state=1\.5"),
            ({"verbose": "loud"}, "verbose='loud'"),
            ({"standardize": "yes"}, "standardize='yes'"),
            ({"whiten": "yes"}, "whiten='yes'"),
        ],
    )
    def test_others(self, options, words):
        with pytest.raises(OptionError, match=words):
            PCA(2, **options).fit(X)

    def test_of_methods(self):
        pca = PCA(2).fit(X)
        with pytest.raises(OptionError, match="n_samples=0 must be at least 1"):
            pca.sample(0)
        with pytest.raises(OptionError, match="n=1 must be at least 2"):
            pca.bootstrap(X, n=1)
        with pytest.raises(OptionError, match="share"):
            eigenlens.select_components(X, share=1.5)
        with pytest.raises(OptionError, match="rules='mel'"):
            eigenlens.select_components(X, rules=["mel"])
        with pytest.raises((OptionError, EigenlensError), match=r"what='axes'|axes"):
            pca.bootstrap(X, n=3).interval("axes")
        with pytest.raises(OptionError, match=r"level=1\.5"):
            pca.bootstrap(X, n=3).interval("variances", 1.5)

    def test_supplementary_columns(self):
        pca = PCA(2).fit(X)
        with pytest.raises(DataError, match=r"columns\['a'\] has 29 rows, but the fit had 30"):
            pca.supplementary({"a": np.arange(29)})
        with pytest.raises(DataError, match="not remembered"):
            PCA(2).partial_fit(X).supplementary({"a": np.arange(30)})
        flat = pca.supplementary({"flat": np.ones(30)})
        assert np.all(np.isfinite(flat.correlations))
        missing = np.arange(30.0)
        missing[4] = np.nan
        keep = np.arange(30) != 4
        expected = np.corrcoef(missing[keep], pca.transform(X)[keep, 0])[0, 1]
        assert pca.supplementary({"a": missing}).correlations[0, 0] == pytest.approx(expected, rel=1e-10)

    def test_several_categorical_columns_keep_their_order(self):
        sides = np.where(X[:, 0] > 10.0, "above", "below")
        names = ["zeta", "alpha", "mid", "beta", "omega", "gamma"]
        assert list(PCA(2).fit(X).supplementary(dict.fromkeys(names, sides)).categories) == names

    def test_a_category_called_numeric_hides_nothing(self):
        sides = np.where(X[:, 0] > 10.0, "above", "below")
        placed = PCA(2).fit(X).supplementary({"numeric": sides, "x": X[:, 1]})
        assert placed.names == ("x",)
        assert list(placed.categories) == ["numeric"]

    def test_a_level_without_weight_is_left_out(self):
        w = np.append(np.zeros(5), np.ones(25))
        levels = np.array(["gone"] * 5 + ["a"] * 10 + ["b"] * 15)
        placed = PCA(2).fit(X, sample_weight=w).supplementary({"level": levels}).categories["level"]
        assert placed.levels == ("a", "b")
        assert np.all(np.isfinite(placed.coordinates))
        assert np.all(np.isfinite(placed.v_test))


class TestWeights:
    @pytest.mark.parametrize("solver", NAMES)
    @pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
    def test_entries(self, solver, bad):
        w = np.ones(30)
        w[4] = bad
        with pytest.raises(DataError, match=r"sample_weight is (-1|nan|inf) at index 4.*finite and not negative"):
            PCA(2, solver=solver).fit(X, sample_weight=w)

    @pytest.mark.parametrize("method", ["fit", "partial_fit", "fit_transform"])
    def test_length(self, method):
        with pytest.raises(DataError, match="sample_weight has 29 entries, but X has 30 rows"):
            getattr(PCA(2), method)(X, sample_weight=np.ones(29))

    def test_shape_and_kind(self):
        with pytest.raises(DataError, match="2 dimensions"):
            PCA(2).fit(X, sample_weight=np.ones((30, 1)))
        with pytest.raises(DataError, match="sample_weight is a list; it must hold numbers"):
            PCA(2).fit(X, sample_weight=["heavy"] * 30)

    @pytest.mark.parametrize("solver", NAMES)
    def test_nothing_counts(self, solver):
        with pytest.raises(DataError, match=r"weight|at least 2 rows"):
            PCA(2, solver=solver).fit(X, sample_weight=np.zeros(30))

    @pytest.mark.parametrize("solver", NAMES)
    def test_one_row_counts(self, solver):
        with pytest.raises(DataError, match=r"at least 2 rows"):
            PCA(1, solver=solver).fit(X, sample_weight=np.eye(30)[3] * 5.0)

    @pytest.mark.parametrize("solver", NAMES)
    @pytest.mark.parametrize("total", [1.0, 0.5])
    def test_normalised_to_one(self, solver, total):
        """Weights count copies: a sum of one leaves no degree of freedom, and the error says so."""
        with pytest.raises(DataError, match=r"sample_weight sums to (1|0\.5).*exceed 1.*multiply"):
            PCA(1, solver=solver).fit(X, sample_weight=np.full(30, total / 30))

    def test_score_and_error(self):
        pca = PCA(2).fit(X)
        for method in (pca.score, pca.contributions):
            with pytest.raises(DataError, match="sample_weight has 3 entries"):
                method(X, sample_weight=np.ones(3))
        with pytest.raises(DataError, match="sample_weight"):
            pca.score(X, sample_weight=np.zeros(30))

    @pytest.mark.parametrize("rows", [1, 30])
    def test_total_error_needs_two_rows(self, rows):
        pca = PCA(2).fit(X)
        if rows == 30:
            assert np.isfinite(pca.reconstruction_error(X, per_row=False))
        else:
            with pytest.raises((DataError, OptionError)):
                pca.reconstruction_error(X[:1], per_row=False)


class TestOtherColumns:
    @pytest.mark.parametrize(
        "method",
        ["transform", "score", "score_samples", "reconstruction_error", "cos2", "contributions", "partial_fit"],
    )
    def test_another_number(self, method):
        pca = PCA(2).fit(X)
        for other in (X[:, :3], sparse.csr_matrix(X[:, :3])):
            with pytest.raises(ValueError, match="X has 3 features, but PCA is expecting 4 features"):
                getattr(pca, method)(other)

    def test_other_names(self, tmp_path):
        frame = pd.DataFrame(X, columns=list("abcd"))
        pca = PCA(2).fit(frame)
        with pytest.raises(ValueError, match="feature names"):
            pca.transform(frame[list("bacd")])
        pl.DataFrame(X, schema=list("abce")).write_parquet(tmp_path / "other.parquet")
        with pytest.raises(DataError, match=r"fitted on: X lacks 'd'; new are 'e'"):
            pca.transform(eigenlens.scan(tmp_path / "other.parquet"))

    def test_scores_of_another_width(self):
        pca = PCA(2).fit(X)
        for bad in (np.ones((5, 3)), np.ones(2)):
            with pytest.raises(DataError, match="scores have 2 columns"):
                pca.inverse_transform(bad)

    def test_merge(self):
        with pytest.raises(OptionError, match="other has 3 features, but this PCA has 4"):
            PCA(2).fit(X).merge(PCA(2).fit(X[:, :3]))
        with pytest.raises(OptionError, match="merge needs the moments"):
            PCA(2).fit(X).merge(PCA(2, solver="svd").fit(RNG.standard_normal((3, 4))))
        with pytest.raises(NotFittedError):
            PCA(2).fit(X).merge(PCA(2))

    @pytest.mark.parametrize("empty", [np.empty((0, 4)), sparse.csr_matrix((0, 4))])
    def test_no_rows_to_transform(self, empty):
        with pytest.raises(ValueError, match=r"(?i)0 sample|at least|0 rows"):
            PCA(2).fit(X).transform(empty)


class TestBeforeFit:
    @pytest.mark.parametrize(
        "ask",
        [
            lambda p: p.transform(X),
            lambda p: p.inverse_transform(X),
            lambda p: p.score(X),
            lambda p: p.score_samples(X),
            lambda p: p.reconstruction_error(X),
            lambda p: p.get_covariance(),
            lambda p: p.get_precision(),
            lambda p: p.sample(2),
            lambda p: p.correlations(),
            lambda p: p.contributions(),
            lambda p: p.contributions(X),
            lambda p: p.cos2(),
            lambda p: p.cos2(X),
            lambda p: p.supplementary({"a": X[:, 0]}),
            lambda p: p.bootstrap(X),
            lambda p: p.save("nowhere"),
            lambda p: p.merge(p),
            lambda p: p.get_feature_names_out(),
        ],
    )
    def test_not_fitted(self, ask, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(NotFittedError):
            ask(PCA(2))
        assert os.listdir(tmp_path) == []

    def test_a_failed_fit_is_no_fit(self):
        pca = PCA(2)
        with pytest.raises(DataError):
            pca.fit(spoilt(np.nan))
        with pytest.raises(NotFittedError):
            pca.transform(X)


class TestFiles:
    def test_a_missing_folder(self, tmp_path):
        with pytest.raises((EigenlensError, OSError), match="nowhere"):
            PCA(2).fit(X).save(tmp_path / "nowhere" / "a.safetensors")

    def test_a_callable_cannot_be_saved(self, tmp_path):
        with pytest.raises(OptionError, match=r"n_components=.*callable"):
            PCA(lambda values, rows, rng: 2).fit(X).save(tmp_path / "a")
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npy"])
    @pytest.mark.parametrize("what", ["vanishes", "changes"])
    @pytest.mark.parametrize("solver", ["svd", "lanczos", "power"])
    def test_between_passes(self, tmp_path, suffix, what, solver):
        """The progress callback pulls the rug after the first pass."""
        path = tmp_path / f"rows{suffix}"
        write(path, X)
        first = []

        def pull(done, total, label):
            first.append(label)
            if len(first) == 1:
                path.unlink()
                if what == "changes":
                    write(path, X + 1.0)
                    os.utime(path, (1, 1))

        with pytest.raises(SourceChanged, match=rf"rows\{suffix}"):
            PCA(2, solver=solver, random_state=0, verbose=pull).fit(eigenlens.scan(path))

    @pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npy"])
    def test_between_fit_and_transform(self, tmp_path, suffix):
        path = tmp_path / f"rows{suffix}"
        write(path, X)
        source = eigenlens.scan(path)
        pca = PCA(2).fit(source)
        path.unlink()
        with pytest.raises(SourceChanged, match=r"rows"):
            pca.transform(source)

    @pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npy"])
    def test_missing_numbers_in_files(self, tmp_path, suffix):
        write(tmp_path / f"rows{suffix}", spoilt(np.nan))
        name = "'2'" if suffix == ".npy" else "'c'"
        with pytest.raises(DataError, match=rf"X contains NaN: 1 entry in 1 of 4 columns \({name}\)"):
            PCA(2).fit(eigenlens.scan(tmp_path / f"rows{suffix}"))

    def test_a_file_of_one_row(self, tmp_path):
        write(tmp_path / "rows.csv", X[:1])
        with pytest.raises(DataError, match="at least 2 rows"):
            PCA(1).fit(eigenlens.scan(tmp_path / "rows.csv"))

    def test_k_against_the_rows_of_a_file(self, tmp_path):
        write(tmp_path / "rows.csv", X[:3])
        with pytest.raises(OptionError, match="n_components=4 must be at most 3, the number of rows"):
            PCA(4).fit(eigenlens.scan(tmp_path / "rows.csv"))


def write(path, rows):
    if path.suffix == ".npy":
        np.save(path, rows)
        return
    frame = pl.DataFrame(rows, schema=list("abcd")).fill_nan(None)
    (frame.write_csv if path.suffix == ".csv" else frame.write_parquet)(path)


@pytest.mark.parametrize("series", [pd.Series, pl.Series])
@pytest.mark.parametrize("model", [eigenlens.PCA(1), eigenlens.NaiveBayes(), eigenlens.LinearDiscriminant()])
def test_a_series_is_rejected_with_the_way_out(series, model):
    with pytest.raises(eigenlens.DataError, match=r"X is a Series, a single column.* give a table, X\.to_frame\(\)"):
        clone(model).fit(series(np.arange(6.0)), [0, 0, 0, 1, 1, 1])
