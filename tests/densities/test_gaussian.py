"""The Gaussian and its covariance structures, against SciPy, dense algebra, 50 digits and the textbook."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import chi2, multivariate_normal, norm, t

from eigenlens.data.memory import ArraySource
from eigenlens.densities import Diagonal, Full, Gaussian, LinearGaussian, Spherical
from eigenlens.densities.covariance import dependent_column
from eigenlens.densities.gaussian import GAUSSIAN_FITS
from eigenlens.errors import DataError, OptionError


def spread(d, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d, d + 2))
    return A @ A.T / d


STRUCTURED = {
    "full": lambda d: Full(spread(d)),
    "diagonal": lambda d: Diagonal(spread(d).diagonal()),
    "spherical": lambda d: Spherical(1.7, d),
}


def model(kind="full", d=5):
    return Gaussian(np.random.default_rng(1).standard_normal(d), STRUCTURED[kind](d))


def test_every_structure_has_its_names():
    assert set(STRUCTURED) == set(GAUSSIAN_FITS)


@pytest.mark.parametrize("d", [1, 2, 7, 60])
@pytest.mark.parametrize("kind", STRUCTURED)
def test_a_structure_is_its_matrix(kind, d):
    C = STRUCTURED[kind](d)
    M = C.matrix()
    X = np.random.default_rng(2).standard_normal((6, d))
    assert C.size == d
    np.testing.assert_array_equal(C.variances, M.diagonal())
    assert C.log_determinant == pytest.approx(np.linalg.slogdet(M)[1], abs=1e-10)
    np.testing.assert_allclose(
        (C.whiten(X) ** 2).sum(axis=1), np.einsum("ij,ij->i", X @ np.linalg.inv(M), X), rtol=1e-9
    )
    colour = C.colour(np.eye(d))
    np.testing.assert_allclose(colour.T @ colour, M, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(C.whiten(C.colour(X)), X, atol=1e-10)
    some = np.arange(d)[::-2]
    part = C.part(some)
    assert type(part) is type(C)
    np.testing.assert_array_equal(part.matrix(), M[np.ix_(some, some)])


@pytest.mark.parametrize("kind", STRUCTURED)
def test_density_with_missing_values_row_by_row(kind):
    m = model(kind)
    rng = np.random.default_rng(3)
    X = m.sample(200, rng)
    X[rng.random(X.shape) < 0.3] = np.nan
    X[0] = np.nan
    M = m.covariance.matrix()
    for row, found in zip(X, m.log_density(X), strict=True):
        o = ~np.isnan(row)
        twin = multivariate_normal(m.mean[o], M[np.ix_(o, o)]).logpdf(row[o]) if o.any() else 0.0
        assert found == pytest.approx(twin, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("kind", STRUCTURED)
def test_imputed_entries_row_by_row(kind):
    m = model(kind)
    rng = np.random.default_rng(4)
    X = m.sample(100, rng)
    missing = rng.random(X.shape) < 0.4
    missing[0], missing[1] = True, False
    Y = np.where(missing, np.nan, X)
    filled, deviation = m.impute(Y, return_std=True)
    np.testing.assert_array_equal(filled[~missing], X[~missing])
    np.testing.assert_array_equal(deviation[~missing], 0.0)
    np.testing.assert_array_equal(m.impute(Y), filled)
    assert np.isnan(Y[missing]).all()
    M = m.covariance.matrix()
    for row, gap, mean, std in zip(Y, missing, filled, deviation, strict=True):
        gain = np.linalg.solve(M[np.ix_(~gap, ~gap)], M[np.ix_(~gap, gap)]).T
        np.testing.assert_allclose(mean[gap], m.mean[gap] + gain @ (row - m.mean)[~gap], atol=1e-10)
        left = M[np.ix_(gap, gap)] - gain @ M[np.ix_(~gap, gap)]
        np.testing.assert_allclose(std[gap] ** 2, left.diagonal(), atol=1e-10)


def test_conditioning_twice_is_conditioning_once():
    m = model("full", 6)
    x = m.sample(1, np.random.default_rng(5))[0]
    once = m.condition([4, 1, 2], x[[4, 1, 2]])
    twice = m.condition([1], x[[1]]).condition([1, 3], x[[2, 4]])  # columns 0, 2, 3, 4, 5 are left after the first
    np.testing.assert_allclose(once.mean, twice.mean, atol=1e-11)
    np.testing.assert_allclose(once.covariance.matrix(), twice.covariance.matrix(), atol=1e-11)


def test_pieces_change_nothing(monkeypatch):
    from eigenlens.densities import gaussian

    m = model()
    X = m.sample(50, np.random.default_rng(6))
    X[np.random.default_rng(7).random(X.shape) < 0.3] = np.nan
    whole = (m.log_density(X), *m.impute(X, return_std=True))
    monkeypatch.setattr(gaussian, "PATTERN_ENTRIES", 12)
    for a, b in zip(whole, (m.log_density(X), *m.impute(X, return_std=True)), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_ill_conditioned_against_fifty_digits():
    """Scales from 1e-8 to 1e8, and a correlation of 1 − 1e-9: Cholesky does not mind units."""
    mpmath = pytest.importorskip("mpmath")
    scale = np.array([1e-8, 1.0, 1e8])
    R = np.array([[1.0, 1.0 - 1e-9, 0.3], [1.0 - 1e-9, 1.0, 0.3], [0.3, 0.3, 1.0]])
    C = R * np.outer(scale, scale)
    x = scale * [0.5, 0.50003, -1.0]
    with mpmath.workdps(50):
        A, v = mpmath.matrix(C.tolist()), mpmath.matrix(x.tolist())
        exact = -(3 * mpmath.log(2 * mpmath.pi) + mpmath.log(mpmath.det(A)) + (v.T * mpmath.lu_solve(A, v))[0]) / 2
    # eps over 1 − r² is 1e-7: what the rounding of C's entries themselves leaves of the answer
    assert Gaussian(np.zeros(3), Full(C)).log_density(x[None])[0] == pytest.approx(float(exact), rel=1e-7)


def test_far_rows_and_huge_units():
    m = Gaussian(np.zeros(2), Full(np.array([[1e-200, 0.0], [0.0, 1e200]])))
    found = m.log_density(np.array([[1e-100, 1e100], [0.0, 1e160]]))
    assert found[0] == pytest.approx(-np.log(2 * np.pi) - 1.0)
    assert found[1] == pytest.approx(-0.5e120)


def test_many_dimensions():
    """2,000 columns, full: the determinant itself underflows; 200,000 columns, diagonal: no square matrix."""
    C = Full(1e-3 * (np.eye(2000) + 0.5))
    x = Gaussian(np.zeros(2000), C).log_density(np.zeros((1, 2000)))[0]
    assert np.linalg.det(C.entries) == 0.0
    logdet = 2000 * np.log(1e-3) + np.log1p(2000 * 0.5)
    assert x == pytest.approx(-0.5 * (2000 * np.log(2 * np.pi) + logdet), rel=1e-12)
    wide = Gaussian(np.zeros(200_000), Diagonal(np.full(200_000, 2.0)))
    assert wide.log_density(np.full((1, 200_000), np.nan))[0] == 0.0
    assert wide.condition(range(10), np.zeros(10)).sample(1, np.random.default_rng(0)).shape == (1, 199_990)


@pytest.mark.parametrize(
    ("C", "column"),
    [
        ([[1.0, 1.0], [1.0, 1.0]], "column 1 has no variance that"),
        ([[0.0, 0.0], [0.0, 1.0]], "column 0 has none"),
        ([[1.0, 0.5, 1.5], [0.5, 1.0, 1.5], [1.5, 1.5, 3.0 * (1 + 1e-16)]], "column 2"),
    ],
)
def test_a_singular_covariance_is_rejected(C, column):
    with pytest.raises(OptionError, match=f"singular: {column}"):
        Gaussian(np.zeros(len(C)), Full(np.array(C))).log_density(np.zeros((1, len(C))))


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_parameters_must_be_finite(odd):
    for made in (
        lambda: Full([[1.0, odd], [odd, 1.0]]),
        lambda: Diagonal([1.0, odd]),
        lambda: Spherical(odd, 2),
        lambda: Gaussian([0.0, odd], Spherical(1.0, 2)),
        lambda: LinearGaussian([0.0, odd], [[1.0], [1.0]], 1.0),
        lambda: LinearGaussian([0.0, 1.0], [[1.0], [odd]], 1.0),
        lambda: LinearGaussian([0.0, 1.0], [[1.0], [1.0]], odd),
    ):
        with pytest.raises(OptionError, match=f"has {odd:g}, and its numbers must be finite"):
            made()


def test_variances_of_nothing_are_rejected():
    with pytest.raises(OptionError, match="variance 0 of column 1 must be above 0"):
        Gaussian(np.zeros(2), Diagonal(np.array([1.0, 0.0]))).log_density(np.zeros((1, 2)))
    with pytest.raises(OptionError, match=r"variance=-1\.0 must be above 0"):
        Spherical(-1.0, 2).whiten(np.zeros((1, 2)))


def test_sizes_must_agree():
    with pytest.raises(OptionError, match=r"shape \(3,\).*size 2"):
        Gaussian(np.zeros(3), Spherical(1.0, 2))
    with pytest.raises(OptionError, match="values has 1 entries for 2 columns"):
        model().condition([0, 1], [3.0])
    with pytest.raises(DataError, match=r"shape \(4, 3\), and the density has 5 columns"):
        model().log_density(np.zeros((4, 3)))
    with pytest.raises(DataError, match=r"shape \(5,\), and the density has 5 columns"):
        model().log_density(np.zeros(5))


@pytest.mark.parametrize("kind", STRUCTURED)
def test_infinite_entries_have_no_density(kind):
    m = model(kind, 3)
    rows = np.array([[np.inf, 0.0, 0.0], [np.inf, -np.inf, np.inf], [0.0, np.nan, -np.inf], [0.0, 0.0, 0.0]])
    assert np.isneginf(m.log_density(rows)).tolist() == [True, True, True, False]


def test_a_frozen_value():
    m = model()
    with pytest.raises(AttributeError):
        m.mean = 0.0
    with pytest.raises(ValueError, match="read-only"):
        m.mean[0] = 1.0
    with pytest.raises(OptionError, match="cdf needs one dimension, and this Gaussian has 5"):
        m.cdf([0.0])


def test_the_dependent_column_is_the_first():
    A = np.random.default_rng(8).standard_normal((5, 5))
    A[:, 3] = A[:, 0] - 2.0 * A[:, 1]
    assert dependent_column(A.T @ A) == 3
    assert dependent_column(spread(5)) is None


# ---- fitting ---------------------------------------------------------------------------------------------------

X = (
    np.random.default_rng(9).standard_normal((40, 3)) @ np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    + 5.0
)


def test_the_estimates_are_the_textbooks():
    S = np.cov(X.T, ddof=0)
    full, diagonal, shared = (Gaussian.fit(X, covariance=kind) for kind in ("full", "diagonal", "spherical"))
    np.testing.assert_allclose(full.mean, X.mean(axis=0))
    np.testing.assert_allclose(full.covariance.matrix(), S)
    np.testing.assert_allclose(diagonal.covariance.variances, S.diagonal())
    assert shared.covariance.variance == pytest.approx(S.diagonal().mean())
    assert full.fitted.loglik == pytest.approx(multivariate_normal(X.mean(axis=0), S).logpdf(X).sum())
    assert [m.fitted.free for m in (full, diagonal, shared)] == [9, 6, 4]
    assert full.fitted.bic == pytest.approx(9 * np.log(40) - 2 * full.fitted.loglik)
    assert full.fitted.aic == pytest.approx(18 - 2 * full.fitted.loglik)


def test_standard_errors_by_simulation():
    """The spread of estimates over 4,000 samples of 200 rows; that determines a standard error to 1.1%."""
    truth = Gaussian(np.array([1.0, -2.0]), Full(np.array([[2.0, 0.8], [0.8, 1.0]])))
    rng = np.random.default_rng(10)
    draws = truth.sample(200 * 4000, rng).reshape(4000, 200, 2)
    means = draws.mean(axis=1)
    rest = draws - means[:, None]
    covariances = np.einsum("sni,snj->sij", rest, rest) / 200
    errors = Gaussian(truth.mean, truth.covariance, Gaussian.fit(draws[0]).fitted).standard_errors()
    np.testing.assert_allclose(errors.mean, means.std(axis=0), rtol=0.05)
    np.testing.assert_allclose(errors.covariance, covariances.std(axis=0), rtol=0.05)


def test_errors_of_variances_alone():
    n, v = 40, X.var(axis=0)
    np.testing.assert_allclose(Gaussian.fit(X, covariance="diagonal").standard_errors().covariance, v * np.sqrt(2 / n))
    shared = Gaussian.fit(X, covariance="spherical").standard_errors()
    np.testing.assert_allclose(shared.covariance, np.full(3, v.mean() * np.sqrt(2 / (3 * n))))
    np.testing.assert_allclose(shared.mean, np.full(3, np.sqrt(v.mean() / n)))


def test_exact_intervals_are_students_and_chi_squared():
    x = X[:, 0]
    found = Gaussian.fit(x).confidence_intervals(0.9)
    twin = t.interval(0.9, 39, x.mean(), x.std(ddof=1) / np.sqrt(40))
    np.testing.assert_allclose(found.mean[0], twin, rtol=1e-10)
    square = x.var() * 40
    np.testing.assert_allclose(
        found.variances[0], [square / chi2(39).ppf(0.95), square / chi2(39).ppf(0.05)], rtol=1e-10
    )
    shared = Gaussian.fit(X, covariance="spherical").confidence_intervals(0.9)
    square = X.var(axis=0).sum() * 40
    np.testing.assert_allclose(
        shared.variances[1], [square / chi2(117).ppf(0.95), square / chi2(117).ppf(0.05)], rtol=1e-10
    )
    np.testing.assert_allclose(
        shared.mean[1], t.interval(0.9, 117, X[:, 1].mean(), np.sqrt(square / 117 / 40)), rtol=1e-10
    )


def test_wald_intervals():
    m = Gaussian.fit(X)
    found, errors = m.confidence_intervals(0.8, "wald"), m.standard_errors()
    z = norm.ppf(0.9)
    np.testing.assert_allclose(found.mean, np.c_[m.mean - z * errors.mean, m.mean + z * errors.mean])
    v, e = m.covariance.variances, errors.covariance.diagonal()
    np.testing.assert_allclose(found.variances, np.c_[v - z * e, v + z * e])


@pytest.mark.long
def test_intervals_cover_as_often_as_they_say():
    rng = np.random.default_rng(11)
    hits = np.array([_covers(rng.normal(3.0, 2.0, 6)) for _ in range(2000)]).mean(axis=0)
    assert np.all(np.abs(hits - 0.9) < 4 * np.sqrt(0.09 / 2000))


def _covers(x):
    found = Gaussian.fit(x).confidence_intervals(0.9)
    return [low <= truth <= high for (low, high), truth in ((found.mean[0], 3.0), (found.variances[0], 4.0))]


def test_missing_values_in_columns_count_column_by_column():
    Y = X.copy()
    Y[:10, 0] = np.nan
    Y[5:7] = np.nan
    m = Gaussian.fit(Y, covariance="diagonal")
    np.testing.assert_allclose(m.mean, np.nanmean(Y, axis=0))
    np.testing.assert_allclose(m.covariance.variances, np.nanvar(Y, axis=0))
    np.testing.assert_allclose(m.standard_errors().mean, np.sqrt(np.nanvar(Y, axis=0) / [30, 38, 38]))
    assert m.fitted.loglik == pytest.approx(m.log_density(Y).sum())
    with pytest.raises(DataError, match=r"some missing values.*GaussianMixture"):
        Gaussian.fit(Y)
    whole_rows = np.where(np.isnan(Y).any(axis=1)[:, None], np.nan, Y)
    np.testing.assert_allclose(Gaussian.fit(whole_rows).covariance.matrix(), np.cov(X[10:].T, ddof=0))


def test_whatever_the_rows_come_in():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    twin = Gaussian.fit(X)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for rows in (
        X.tolist(),
        np.asfortranarray(X),
        frame,
        pl.from_pandas(frame),
        sparse.csr_matrix(X),
        ArraySource(X, block_rows=7),
    ):
        np.testing.assert_allclose(Gaussian.fit(rows).covariance.matrix(), twin.covariance.matrix(), rtol=1e-10)
    x = X[:, 0]
    gap = [*x.tolist(), None]
    for column in (
        x,
        x.tolist(),
        gap,
        pd.Series(gap),
        pd.Series(gap, dtype="Float64", name="a"),
        pl.Series(gap),
        frame[["a"]],
    ):
        np.testing.assert_allclose(Gaussian.fit(column).mean, x.mean())
    assert Gaussian.fit(frame).fitted.names == ("a", "b", "c")


def test_large_means_lose_no_digits():
    far = Gaussian.fit(X + 1e9).covariance.matrix()
    np.testing.assert_allclose(far, Gaussian.fit(X + 1e9 - 1e9).covariance.matrix(), rtol=1e-12)


def test_a_fitted_gaussian_prints_itself():
    pd = pytest.importorskip("pandas")
    lines = str(Gaussian.fit(pd.DataFrame(X, columns=["height", "mass", "age"]))).splitlines()
    assert lines[0].startswith("Gaussian, n = 40, log-likelihood -")
    assert lines[1].split()[:3] == ["column", "mean", "std."]
    assert [line.split()[0] for line in lines[2:]] == ["height", "mass", "age"]
    assert float(lines[2].split()[1]) == pytest.approx(X[:, 0].mean(), rel=1e-4)
    assert (
        len(str(Gaussian.fit(np.random.default_rng(0).standard_normal((9, 300)), covariance="diagonal")).splitlines())
        < 30
    )
    assert str(model("diagonal", 2)).splitlines()[1].split() == ["column", "mean", "variance"]


@pytest.mark.parametrize(
    ("rows", "kind", "said"),
    [
        (np.ones((5, 2)), "full", "column '0' .and 1 more. is constant"),
        (np.c_[np.arange(5.0), np.full(5, 1e6 / 3)], "diagonal", "column '1' is constant"),
        (np.ones((5, 2)), "spherical", "each column is constant"),
        (np.arange(6.0).reshape(2, 3) ** 2, "full", "2 rows of 3 columns is singular: column '1' follows"),
        (
            np.c_[np.arange(9.0), np.arange(9.0) ** 2, np.arange(9.0) + np.arange(9.0) ** 2],
            "full",
            "column '2' follows",
        ),
        ([[1.0, np.inf], [2.0, 3.0]], "full", "infinity"),
        ([[1.0, np.nan], [2.0, np.nan]], "diagonal", "column '1' has no observed entry"),
        (np.full((3, 2), np.nan), "full", "no row with an observed entry"),
        ([3.0], "full", "is constant"),
    ],
)
def test_rows_that_cannot_be_fitted(rows, kind, said):
    with pytest.raises(DataError, match=said):
        Gaussian.fit(rows, covariance=kind)


@pytest.mark.parametrize("kind", STRUCTURED)
def test_rounding_is_no_variance(kind):
    """Merging blocks of one value leaves 1e-50 of squares: a column of thirds is constant all the same."""
    rows = ArraySource(np.full((1000, 1), 1 / 3), block_rows=7)
    with pytest.raises(DataError, match="is constant"):
        Gaussian.fit(rows, np.random.default_rng(0).uniform(0.0, 3.0, 1000), covariance=kind)


def test_options_that_cannot_be():
    with pytest.raises(OptionError, match="covariance='diag' is not known; did you mean 'diagonal'"):
        Gaussian.fit(X, covariance="diag")
    with pytest.raises(OptionError, match="method='wilson' is not known"):
        Gaussian.fit(X).confidence_intervals(method="wilson")
    with pytest.raises(OptionError, match="level=95"):
        Gaussian.fit(X).confidence_intervals(95)
    with pytest.raises(OptionError, match=r"not fitted to rows.*Gaussian.fit"):
        model().standard_errors()
    with pytest.raises(DataError, match="sample_weight has 3 entries"):
        Gaussian.fit(X, [1.0, 2.0, 3.0])


class TestPlainArrays:
    def test_a_matrix_variances_and_one_variance(self):
        C = np.array([[2.0, 0.5], [0.5, 1.0]])
        assert isinstance(Gaussian([0.0, 1.0], C).covariance, Full)
        assert isinstance(Gaussian([0.0, 1.0], [2.0, 1.0]).covariance, Diagonal)
        assert isinstance(Gaussian([0.0, 1.0], 2.0).covariance, Spherical)
        np.testing.assert_array_equal(
            Gaussian([0.0, 1.0], C).log_density([[1.0, 1.0]]), Gaussian([0.0, 1.0], Full(C)).log_density([[1.0, 1.0]])
        )
        assert Gaussian(1.0, 4.0).cdf([1.0]).tolist() == [0.5]

    @pytest.mark.parametrize("wrong", [np.eye(3), "full", [1.0, 2.0, 3.0], np.ones((1, 2, 2))])
    def test_arrays_that_are_none(self, wrong):
        with pytest.raises(OptionError, match=r"covariance must be a matrix \(2, 2\)"):
            Gaussian([0.0, 1.0], wrong)

    def test_a_matrix_that_is_not_symmetric(self):
        with pytest.raises(OptionError, match="not symmetric"):
            Gaussian([0.0, 1.0], [[2.0, 1.0], [0.0, 2.0]])


class TestKnownDeviation:
    x = np.random.default_rng(7).normal(3.0, 2.0, (50, 2))

    def test_the_means_are_estimated_and_nothing_else(self):
        found = Gaussian.fit(self.x, sigma=[2.0, 3.0])
        np.testing.assert_allclose(found.mean, self.x.mean(axis=0))
        np.testing.assert_allclose(found.covariance.variances, [4.0, 9.0])
        loglik = norm(self.x.mean(axis=0), [2.0, 3.0]).logpdf(self.x).sum()
        assert (found.fitted.free, found.fitted.loglik) == (2, pytest.approx(loglik))
        errors = found.standard_errors()
        np.testing.assert_allclose(errors.mean, np.array([2.0, 3.0]) / np.sqrt(50.0))
        assert not errors.covariance.any()

    def test_the_interval_is_that_of_the_normal_distribution(self):
        limits = Gaussian.fit(self.x[:, 0], sigma=2.0).confidence_intervals(0.9)
        m = self.x[:, 0].mean()
        np.testing.assert_allclose(limits.mean[0], norm(m, 2.0 / np.sqrt(50.0)).interval(0.9))
        np.testing.assert_allclose(limits.variances, [[4.0, 4.0]])
        assert "n = 50" in str(Gaussian.fit(self.x, sigma=2.0))

    def test_missing_values_weights_and_constant_columns(self):
        gaps = self.x.copy()
        gaps[::3, 1] = np.nan
        found = Gaussian.fit(gaps, np.arange(50.0), sigma=2.0)
        seen = ~np.isnan(gaps[:, 1])
        assert found.mean[1] == pytest.approx(np.average(gaps[seen, 1], weights=np.arange(50.0)[seen]))
        assert Gaussian.fit([3.0, 3.0], sigma=1.0).mean.tolist() == [3.0]

    @pytest.mark.parametrize("sigma", [0.0, -1.0, np.nan, [1.0, 2.0, 3.0], "one"])
    def test_deviations_that_are_none(self, sigma):
        with pytest.raises(OptionError, match="sigma"):
            Gaussian.fit(self.x, sigma=sigma)


def test_an_indefinite_matrix_is_named_as_such():
    with pytest.raises(OptionError, match=r"is not positive semidefinite \(its smallest eigenvalue is -1\): column 1"):
        Gaussian([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]]).log_density([[0.0, 0.0]])
