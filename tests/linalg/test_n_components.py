"""How many components: each rule against a slow twin, known truths, and the laws it must obey."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sklearn.datasets
from scipy.special import gammaln
from sklearn.decomposition import _pca as sklearn_pca

from eigenlens import PCA, select_components
from eigenlens.errors import OptionError
from eigenlens.linalg import n_components as select
from eigenlens.linalg import resampling
from eigenlens.pca.select_components import ComponentTable, Suggestion

Array = Any


def eigenvalues(X: Array, standardize: bool = False) -> Array:
    centred = X - X.mean(axis=0)
    if standardize:
        centred /= X.std(axis=0, ddof=1)
    return np.linalg.svd(centred, compute_uv=False) ** 2 / (len(X) - 1)


def simulated(n: int, d: int, k: int, seed: int = 0) -> Array:
    """Rank k, every component twice as strong as it need be to be found, plus unit noise and a mean."""
    rng = np.random.default_rng(seed)
    strength = np.sqrt(8 * (1 + np.arange(k)) * max(1.0, math.sqrt(d / n)))
    directions = np.linalg.qr(rng.normal(size=(d, k)))[0] if k else np.zeros((d, 0))
    return (rng.normal(size=(n, k)) * strength) @ directions.T + rng.normal(size=(n, d)) + rng.normal(size=d)


RULES: dict[str, Callable[[Array], int]] = {
    "minka": lambda X: select.minka(eigenvalues(X), *X.shape)[0],
    "gavish-donoho": lambda X: select.gavish_donoho(eigenvalues(X), *X.shape),
    "parallel": lambda X: resampling.parallel(
        eigenvalues(X), resampling.permuted_spectra(X, 20, np.random.default_rng(1))
    ),
    "bi-cross-validation": lambda X: resampling.bi_cross_validation(X, 8, np.random.default_rng(2), rotations=2)[0],
}
"""The rules that look for noise, so that a simulation has a right answer for them."""


LARGE_ENOUGH = [(500, 30, 4), (60, 200, 3)]
"""Shapes at which the answer of the rules that draw at random does not hang on the draw."""


@pytest.fixture(params=RULES)
def rule(request: pytest.FixtureRequest) -> Callable[[Array], int]:
    return RULES[request.param]


# ---- truths and laws that all of them share ---------------------------------------------------------------


@pytest.mark.few(8)
@pytest.mark.parametrize(("n", "d", "k"), [(500, 30, 4), (60, 200, 3), (100, 100, 2), (101, 100, 2), (40, 40, 1)])
@pytest.mark.parametrize("seed", range(3))
def test_the_simulated_number_is_found(rule: Callable[[Array], int], n: int, d: int, k: int, seed: int) -> None:
    assert rule(simulated(n, d, k, seed)) == k


@pytest.mark.parametrize(("n", "d"), [(500, 30), (60, 200), (50, 50)])
@pytest.mark.parametrize("name", RULES)
def test_pure_noise_has_no_components(name: str, n: int, d: int) -> None:
    found = RULES[name](simulated(n, d, 0, seed=4))
    assert found == (1 if name == "minka" else 0)  # Minka's family of models starts at one


@pytest.mark.parametrize("factor", [1e6, 1e-6])
@pytest.mark.parametrize(("n", "d", "k"), LARGE_ENOUGH)
def test_units_do_not_matter(rule: Callable[[Array], int], factor: float, n: int, d: int, k: int) -> None:
    X = simulated(n, d, k)
    assert rule(factor * X) == rule(X) == k


@pytest.mark.parametrize(("n", "d", "k"), LARGE_ENOUGH)
def test_the_order_of_rows_and_columns_does_not_matter(rule: Callable[[Array], int], n: int, d: int, k: int) -> None:
    X = simulated(n, d, k)
    rng = np.random.default_rng(3)
    assert rule(X[rng.permutation(n)][:, rng.permutation(d)]) == k


@pytest.mark.parametrize(("n", "d", "k"), LARGE_ENOUGH)
def test_a_shift_does_not_matter(rule: Callable[[Array], int], n: int, d: int, k: int) -> None:
    assert rule(simulated(n, d, k) + 1e6) == k


@pytest.mark.parametrize(("n", "d"), [(80, 20), (15, 40)])
def test_exact_low_rank_is_all_kept(n: int, d: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, d))
    assert RULES["gavish-donoho"](X) == 3
    for dust in (0.0, 1e-15, 1e-13, 1e-11, 1e-9):
        assert RULES["bi-cross-validation"](X + dust * rng.normal(size=X.shape)) == 3


@pytest.mark.parametrize(("n", "d", "k"), LARGE_ENOUGH)
def test_the_answer_does_not_hang_on_the_split(n: int, d: int, k: int) -> None:
    X = simulated(n, d, k)
    answers = [resampling.bi_cross_validation(X, 8, np.random.default_rng(s), rotations=2)[0] for s in range(10)]
    assert answers == [k] * 10


# ---- share ------------------------------------------------------------------------------------------------


def slow_share(values: Array, total: float, target: float) -> int | None:
    return next((k for k in range(1, len(values) + 1) if math.fsum(values[:k]) >= target * total), None)


@pytest.mark.parametrize("target", [0.01, 0.3, 0.5, 0.9, 0.99, 0.999999])
def test_share_is_the_first_sum_that_reaches(target: float) -> None:
    values = np.sort(np.random.default_rng(0).exponential(size=300))[::-1]
    total = math.fsum(values)
    assert select.share(values, total, target) == slow_share(values, total, target)
    assert select.share(values[:5], total, target) == slow_share(values[:5], total, target)


def test_share_forgives_rounding_and_nothing_more() -> None:
    assert 0.6 + 0.3 < 0.9
    assert select.share(np.array([0.6, 0.3, 0.1]), 1.0, 0.9) == 2
    assert select.share(np.array([0.6, 0.3 - 1e-12, 0.1]), 1.0, 0.9) == 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_of_the_variance_takes_the_rank(dtype: Any) -> None:
    """The trace is summed in another order than the eigenvalues, so their sum misses it on either side."""
    for seed in range(20):
        values = np.sort(np.random.default_rng(seed).uniform(1, 9, size=50))[::-1].astype(dtype)
        padded = np.concatenate([values, np.zeros(10, dtype)])
        total = float(np.sum(padded[::-1], dtype=np.float64)) * (1 + (seed - 10) / 5 * float(np.finfo(dtype).eps))
        assert select.share(padded, total, 1.0) == 50


def test_share_of_integers_and_of_nothing() -> None:
    assert select.share(np.array([6, 3, 1]), 10, 0.9) == 2
    assert select.share(np.array([]), 1.0, 0.5) is None


# ---- Minka ------------------------------------------------------------------------------------------------


def slow_minka(lam: Array, N: int) -> Array:
    """The paper's formula, a double loop for each k; no ties, and only eigenvalues above zero."""
    D, evidence = len(lam), []
    for k in range(1, D):
        v = lam[k:].mean()
        hat = np.concatenate([lam[:k], np.full(D - k, v)])
        log_p = -k * math.log(2)
        for i in range(1, k + 1):
            log_p += gammaln((D - i + 1) / 2) - (D - i + 1) / 2 * math.log(math.pi)
        log_a = 0.0
        for i in range(k):
            for j in range(i + 1, D):
                log_a += math.log((1 / hat[j] - 1 / hat[i]) * (lam[i] - lam[j]) * N)
        m = D * k - k * (k + 1) / 2
        log_p += -N / 2 * np.log(lam[:k]).sum() - N * (D - k) / 2 * math.log(v)
        evidence.append(log_p + (m + k) / 2 * math.log(2 * math.pi) - log_a / 2 - k / 2 * math.log(N))
    return np.array(evidence)


REAL = {
    "iris": sklearn.datasets.load_iris,
    "wine": sklearn.datasets.load_wine,
    "breast cancer": sklearn.datasets.load_breast_cancer,
    "diabetes": sklearn.datasets.load_diabetes,
}


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("name", REAL)
def test_minka_agrees_with_scikit_learn_on_real_data(name: str, standardize: bool) -> None:
    X = REAL[name]().data
    lam = eigenvalues(X, standardize)
    k, evidence = select.minka(lam, *X.shape)
    theirs = [sklearn_pca._assess_dimension(lam, i, len(X)) for i in range(1, len(lam))]
    np.testing.assert_allclose(evidence, theirs, rtol=1e-9)
    assert k == sklearn_pca._infer_dimension(lam, len(X))


@pytest.mark.parametrize("seed", range(6))
def test_minka_agrees_with_scikit_learn_where_the_answer_is_close(seed: int) -> None:
    """Components near what can be found at all: there a slip in the formula would change k."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 15)) * np.concatenate([np.linspace(1.8, 1.3, 5), np.ones(10)])
    lam = eigenvalues(X)
    k, evidence = select.minka(lam, *X.shape)
    np.testing.assert_allclose(evidence, slow_minka(lam, 120), rtol=1e-11)
    assert k == sklearn_pca._infer_dimension(lam, 120)


@pytest.mark.parametrize(("n", "d"), [(12, 30), (30, 30), (8, 100)])
def test_minka_of_few_rows_is_that_of_the_transpose(n: int, d: int) -> None:
    X = simulated(n, d, 2)
    lam = eigenvalues(X)
    _, evidence = select.minka(lam, n, d)
    np.testing.assert_allclose(evidence, slow_minka(lam[: n - 1], d), rtol=1e-11)


def test_minka_takes_the_spectrum_with_or_without_its_zeros() -> None:
    X = simulated(20, 50, 2)
    lam = eigenvalues(X)
    for values in (
        lam[:19],
        lam,
        np.concatenate([lam[:19], np.zeros(31)]),
        np.append(lam[:19], [1e-10, -1e-17]),
    ):
        k, evidence = select.minka(values, 20, 50)
        assert (k, len(evidence)) == (2, 18)


@pytest.mark.parametrize("noise", [0.0, 1e-15, 1e-12, 1e-9, 1e-7, 1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize(("n", "d", "rank"), [(50, 10, 3), (2000, 10, 6), (200, 10, 9), (30, 60, 4), (15, 10, 7)])
def test_minka_finds_the_rank_with_a_trace_of_noise_and_with_none(n: int, d: int, rank: int, noise: float) -> None:
    rng = np.random.default_rng(n + d)
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) + noise * rng.standard_normal((n, d))
    assert PCA("mle").fit(X).n_components_ == rank
    assert select_components(X, rules=["mle"])["mle"].n_components == rank


def test_minka_ignores_constant_columns() -> None:
    X = simulated(300, 12, 3)
    assert PCA("mle").fit(np.column_stack([np.ones(300), X, np.zeros(300)])).n_components_ == 3


@pytest.mark.parametrize(
    ("spectrum", "k"),
    [
        ([1.0] * 40, 1),
        ([10.0] * 3 + [1.0] * 40, 3),
        ([10.0, 5.0, 5.0] + [1.0] * 40, 3),
        ([10.0, 5.0, 5.0, 1.0], 3),
        ([7.0, 2.0, 1.0, 1.0, 1.0, 1.0], 2),
    ],
)
@pytest.mark.parametrize("rounding", [0.0, 1e-13])
def test_ties_give_a_finite_and_sensible_evidence(spectrum: list[float], k: int, rounding: float) -> None:
    noise = rounding * np.random.default_rng(0).normal(size=len(spectrum))
    found, evidence = select.minka(np.sort(spectrum * (1 + noise))[::-1], 200, len(spectrum))
    assert np.isfinite(evidence).all()
    assert found == k


def test_an_angle_left_open_costs_nothing() -> None:
    """With all eigenvalues equal, directions are as uncertain as before the data.

    Left are the k variances, √(2π/N) each, and the k signs, of which the paper counts one of two.
    """
    _, evidence = select.minka(np.full(30, 2.0), 400, 30)
    np.testing.assert_allclose(np.diff(evidence), math.log(2 * math.pi / 400) / 2 - math.log(2), rtol=1e-7)


@pytest.mark.parametrize("values", [[], [3.0], [0.0, 0.0]])
def test_minka_without_a_choice_says_one(values: list[float]) -> None:
    k, evidence = select.minka(np.array(values), 10, max(len(values), 1))
    assert (k, len(evidence)) == (1, 0)


def test_minka_is_sane_for_two_thousand_features() -> None:
    phi = np.linspace(math.pi / 2, 0, 20_001)
    a, width = (1 - math.sqrt(0.4)) ** 2, 4 * math.sqrt(0.4)
    t = a + width * np.sin(phi) ** 2
    mass = np.cumsum((np.sin(phi) * np.cos(phi)) ** 2 / t)
    noise = np.interp((np.arange(1997) + 0.5) / 1997 * mass[-1], mass, t)  # Marchenko-Pastur quantiles
    lam = np.concatenate([[50.0, 30.0, 20.0], noise])
    k, evidence = select.minka(lam, 5000, 2000)
    assert k == 3
    assert np.isfinite(evidence).all()


# ---- Gavish and Donoho ------------------------------------------------------------------------------------


def test_the_threshold_of_a_square_matrix_in_closed_form() -> None:
    """β = 1 is the quarter circle, whose median is 2 sin(x/2), x + sin x = π/2: π/2 - x = cos(π/2 - x)."""
    dottie = 0.7390851332151607
    median = 2 * math.sin((math.pi / 2 - dottie) / 2)
    assert select._threshold(1.0) == pytest.approx(4 / math.sqrt(3) / median, rel=1e-12)


@pytest.mark.few(10)
@pytest.mark.parametrize("beta", np.linspace(0.02, 1, 50))
def test_the_threshold_is_near_the_published_cubic(beta: float) -> None:
    """Gavish and Donoho 2014 give the cubic as good to 0.02 for every β."""
    cubic = 0.56 * beta**3 - 0.95 * beta**2 + 1.82 * beta + 1.43
    assert select._threshold(beta) == pytest.approx(cubic, abs=0.02)


def test_the_threshold_of_very_long_matrices() -> None:
    """The law shrinks to the point 1 and λ* to √2, so that ω tends to √2."""
    assert select._threshold(1e-10) == pytest.approx(math.sqrt(2), abs=1e-4)


@pytest.mark.parametrize("beta", [0.1, 0.5, 1.0])
def test_the_median_is_that_of_noise(beta: float) -> None:
    noise = np.random.default_rng(0).normal(size=(round(1000 * beta), 1000)) / math.sqrt(1000)
    squares = np.linalg.svd(noise, compute_uv=False) ** 2
    assert np.median(squares) == pytest.approx(select._median(beta), rel=0.02)


@pytest.mark.parametrize(("n", "d"), [(101, 30), (31, 100), (41, 40), (40, 40)])
def test_gavish_donoho_counts_singular_values_above_the_threshold(n: int, d: int) -> None:
    X = simulated(n, d, 3)
    y = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[: min(n - 1, d)]
    tau = select._threshold(min(n - 1, d) / max(n - 1, d)) * np.median(y)
    assert select.gavish_donoho(y**2 / (n - 1), n, d) == sum(value > tau for value in y)


def test_centring_takes_one_row_off_the_shape() -> None:
    """4 rows are 3 after centring, a square: 2.7 is below ω(1) = 2.858, and above ω(3/4) = 2.495."""
    assert select.gavish_donoho(np.array([2.7, 1.0, 0.5]) ** 2, 4, 3) == 0
    assert select.gavish_donoho(np.array([2.7, 1.0, 0.5]) ** 2, 5, 3) == 1


def test_zeros_given_or_left_out_are_the_same() -> None:
    lam = eigenvalues(simulated(21, 60, 2))
    answers = {select.gavish_donoho(values, 21, 60) for values in (lam[:20], lam, np.append(lam[:20], np.zeros(40)))}
    assert answers == {2}


def test_no_variance_has_no_components() -> None:
    assert select.gavish_donoho(np.zeros(4), 10, 4) == 0
    assert select.gavish_donoho(np.array([]), 1, 4) == 0
    assert select.gavish_donoho(np.array([2.0]), 10, 1) == 0


# ---- Kaiser -----------------------------------------------------------------------------------------------


def test_kaiser_counts_what_exceeds_the_mean() -> None:
    X = sklearn.datasets.load_wine().data
    correlation = np.linalg.eigvalsh(np.corrcoef(X.T))[::-1]
    assert select.kaiser(correlation) == sum(correlation > 1) == 3
    assert select.kaiser(7 * correlation, mean=7 * correlation.mean()) == 3


def test_uncorrelated_columns_have_no_component_by_rounding() -> None:
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(40, 40)))[0]
    values = np.linalg.eigvalsh(Q @ Q.T)[::-1]
    assert values[0] > 1
    assert select.kaiser(values) == 0


# ---- parallel analysis ------------------------------------------------------------------------------------


def test_parallel_stops_at_the_first_failure() -> None:
    permuted = np.tile([2.0, 1.5, 1.0, 0.5], (10, 1))
    assert resampling.parallel(np.array([3.0, 1.6, 0.9, 0.8]), permuted) == 2
    assert resampling.parallel(np.array([2.0, 9.0, 9.0, 9.0]), permuted) == 0
    assert resampling.parallel(np.array([3.0, 3.0, 3.0, 3.0]), permuted) == 4
    assert resampling.parallel(np.array([3.0, 3.0]), permuted) == 2


def test_parallel_uses_the_quantile_of_each_column() -> None:
    permuted = np.column_stack([np.arange(101.0), np.arange(101.0) / 10])
    assert resampling.parallel(np.array([95.5, 9.4]), permuted) == 1
    assert resampling.parallel(np.array([95.5, 9.4]), permuted, quantile=0.9) == 2
    assert resampling.parallel(np.array([94.5, 9.4]), permuted) == 0


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize(("n", "d"), [(30, 6), (6, 30), (9, 9)])
def test_permuted_spectra_are_those_of_shuffled_columns(n: int, d: int, standardize: bool) -> None:
    """What shuffling may not change: the shape, the order, the trace. What it must: the rest."""
    X = simulated(n, d, 1) * np.linspace(1, 5, d)
    spectra = resampling.permuted_spectra(X, 7, np.random.default_rng(0), standardize)
    assert spectra.shape == (7, min(n, d))
    assert (np.diff(spectra, axis=1) <= 1e-12).all()
    variances = np.ones(d) if standardize else X.var(axis=0, ddof=1)
    np.testing.assert_allclose(spectra.sum(axis=1), variances.sum())
    assert len(np.unique(spectra[:, 0].round(9))) == 7


@pytest.mark.parametrize(("n", "d"), [(25, 4), (5, 12)])
def test_permuted_spectra_against_a_slow_twin(n: int, d: int) -> None:
    X = simulated(n, d, 1)
    spectra = resampling.permuted_spectra(X, 3, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    for spectrum in spectra:
        rng.uniform()  # the offset of the systematic sampling
        shuffled = np.column_stack([rng.permutation(column) for column in X.T])
        np.testing.assert_allclose(spectrum, eigenvalues(shuffled)[: min(n, d)], atol=1e-12)


@pytest.mark.parametrize("standardize", [False, True])
def test_whole_weights_are_repetitions(standardize: bool) -> None:
    X = simulated(12, 4, 1)
    weight = np.array([3, 0, 1, 2, 1, 1, 0, 5, 1, 1, 2, 1])
    weighted = resampling.permuted_spectra(X, 4, np.random.default_rng(0), standardize, weight)
    repeated = resampling.permuted_spectra(np.repeat(X, weight, axis=0), 4, np.random.default_rng(0), standardize)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12)


def test_fractional_weights_are_right_on_average() -> None:
    rng = np.random.default_rng(0)
    weight = rng.uniform(0, 3, size=50)
    n = round(weight.sum())
    counts = [np.bincount(resampling._systematic(weight, n, rng), minlength=50) for _ in range(2000)]
    exact = weight * n / weight.sum()
    assert (np.abs(counts - exact) < 1).all()
    np.testing.assert_allclose(np.mean(counts, axis=0), exact, atol=0.06)


def test_weights_that_leave_no_rows_are_rejected() -> None:
    with pytest.raises(OptionError, match="sums to 1"):
        resampling.permuted_spectra(np.ones((4, 2)), 3, np.random.default_rng(0), weight=np.full(4, 0.25))


def test_constant_columns_are_zero_not_nan() -> None:
    X = np.column_stack([simulated(20, 3, 1), np.full(20, 0.1), np.full(20, 1e9 / 3)])
    spectra = resampling.permuted_spectra(X, 3, np.random.default_rng(0), standardize=True)
    np.testing.assert_allclose(spectra.sum(axis=1), 3)
    assert np.isfinite(resampling.bi_cross_validation(X, 2, np.random.default_rng(0), standardize=True)[1]).all()


def test_float32_is_computed_in_float64() -> None:
    X = simulated(50, 5, 1).astype(np.float32)
    single = resampling.permuted_spectra(X, 2, np.random.default_rng(0))
    double = resampling.permuted_spectra(X.astype(np.float64), 2, np.random.default_rng(0))
    np.testing.assert_allclose(single, double, rtol=1e-13)


# ---- bi-cross-validation ----------------------------------------------------------------------------------


def slow_errors(
    X: Array, K: int, rng: np.random.Generator, folds: Any, rotations: int, standardize: bool, copies: Array
) -> Array:
    """Every block by its definition: pinv of the truncated SVD of D, an intercept from the held-in rows."""
    errors, (n, d) = np.zeros(K + 1), X.shape
    for _ in range(rotations):
        row_folds = np.array_split(rng.permutation(n), folds[0])
        column_folds = np.array_split(rng.permutation(d), folds[1])
        for rows in row_folds:
            for columns in column_folds:
                other_rows, other_columns = (
                    np.setdiff1d(np.arange(n), rows),
                    np.setdiff1d(np.arange(d), columns),
                )
                rows, other_rows = (np.repeat(part, copies[part]) for part in (np.unique(rows), other_rows))
                seen = X[other_rows]
                Y = (X - seen.mean(axis=0)) / (seen.std(axis=0, ddof=1) if standardize else 1.0)
                A, B = Y[np.ix_(rows, columns)], Y[np.ix_(rows, other_columns)]
                C, D = Y[np.ix_(other_rows, columns)], Y[np.ix_(other_rows, other_columns)]
                U, s, Vt = np.linalg.svd(D, full_matrices=False)
                for k in range(K + 1):
                    errors[k] += ((A - B @ np.linalg.pinv((U[:, :k] * s[:k]) @ Vt[:k]) @ C) ** 2).sum()
    return errors / (copies.sum() * d * rotations)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("folds", [(2, 2), (3, 4)])
@pytest.mark.parametrize(("n", "d"), [(30, 12), (12, 30), (13, 13)])
@pytest.mark.parametrize("weighted", [False, True])
def test_bi_cross_validation_by_its_definition(
    n: int, d: int, folds: tuple[int, int], standardize: bool, weighted: bool
) -> None:
    X = simulated(n, d, 2) * np.linspace(1, 4, d)
    weight = np.random.default_rng(1).integers(1, 4, size=n) if weighted else None
    k, errors = resampling.bi_cross_validation(X, 4, np.random.default_rng(0), folds, 2, standardize, weight)
    copies = np.ones(n, dtype=int) if weight is None else weight
    twin = slow_errors(X, 4, np.random.default_rng(0), folds, 2, standardize, copies)
    np.testing.assert_allclose(errors, twin, rtol=1e-10)
    assert k == np.argmin(twin)


def test_cross_validation_leaves_out_rows_of_weight_zero() -> None:
    X = simulated(200, 8, 2)
    X[100:] = np.random.default_rng(2).normal(scale=50.0, size=(100, 8))
    weight = np.repeat([1.0, 0.0], 100)
    alone = PCA("cv", random_state=0).fit(X[:100]).n_components_
    assert PCA("cv", random_state=0).fit(X, sample_weight=weight).n_components_ == alone
    assert select_components(X, rules=["cv"], sample_weight=weight, random_state=0)["cv"].n_components == alone
    assert PCA("cv", random_state=0).fit(X).n_components_ != alone


def test_without_components_the_error_is_that_of_the_mean() -> None:
    """Of unit noise, the mean of the other half is off by 1 + 2/n in expectation."""
    X = np.random.default_rng(0).normal(size=(400, 50))
    k, errors = resampling.bi_cross_validation(X, 0, np.random.default_rng(0))
    assert k == 0
    assert errors == pytest.approx([1 + 2 / 400], rel=0.02)


def test_bi_cross_validation_keeps_weak_directions_beside_strong_ones() -> None:
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(200, 3)) * [1e5, 1e2, 1.0]) @ np.linalg.qr(rng.normal(size=(20, 3)))[0].T
    k, _ = resampling.bi_cross_validation(X + 1e-2 * rng.normal(size=X.shape), 6, np.random.default_rng(1))
    assert k == 3


def test_the_small_svd_keeps_eight_decades() -> None:
    """A route through D'D would lose the last."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(200, 3)) * [1e8, 1e4, 1.0]) @ np.linalg.qr(rng.normal(size=(20, 3)))[0].T
    U, reciprocal, V = resampling._leading_svd(X, 3)
    np.testing.assert_allclose(1 / reciprocal, np.linalg.svd(X, compute_uv=False)[:3], rtol=1e-7)
    np.testing.assert_allclose(U.T @ U, np.eye(3), atol=1e-6)
    np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-12)


def test_the_number_tried_is_what_the_blocks_can_give() -> None:
    rng = np.random.default_rng(0)
    assert len(resampling.bi_cross_validation(simulated(7, 40, 1), 100, rng)[1]) == 1 + 2  # 3 rows held in, centred
    assert len(resampling.bi_cross_validation(simulated(40, 7, 1), 100, rng)[1]) == 1 + 3  # 3 columns held in
    assert resampling.bi_cross_validation(np.ones((2, 2)), 5, rng)[0] == 0


@pytest.mark.parametrize(("shape", "folds", "words"), [((9, 1), (2, 2), "1 columns"), ((2, 9), (3, 2), "2 rows")])
def test_too_few_rows_or_columns_to_split_are_named(shape: Any, folds: tuple[int, int], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        resampling.bi_cross_validation(np.ones(shape), 1, np.random.default_rng(0), folds)


def test_the_same_seed_gives_the_same_answer() -> None:
    X = simulated(40, 10, 2)
    first, second = (resampling.bi_cross_validation(X, 4, np.random.default_rng(9))[1] for _ in range(2))
    assert first.tobytes() == second.tobytes()


# ---- the table --------------------------------------------------------------------------------------------

TABLE = ComponentTable(
    (
        Suggestion("share of 90%", 55, 0.9004, "the 90% rule"),
        Suggestion("kaiser", 3, math.nan, "of <b>correlations</b>\n& more"),
        Suggestion("minka", 1234567890123, 1.0),
    )
)


def test_the_table_is_aligned() -> None:
    assert str(TABLE).splitlines() == [
        "rule             components   share  note",
        "share of 90%             55   90.0%  the 90% rule",
        "kaiser                    3          of <b>correlations</b> & more",
        "minka         1234567890123  100.0%",
    ]
    assert repr(TABLE) == str(TABLE)
    assert str(ComponentTable(())) == "rule  components  share  note"


def test_a_rule_is_found_by_name() -> None:
    assert TABLE["kaiser"].n_components == 3
    assert [row.rule for row in TABLE] == ["share of 90%", "kaiser", "minka"]
    assert len(TABLE) == 3
    with pytest.raises(OptionError, match="rule='cv' is not in this table, which has 'share of 90%', 'kaiser'"):
        TABLE["cv"]


def test_html_is_escaped() -> None:
    shown = TABLE._repr_html_()
    assert "<td>of &lt;b&gt;correlations&lt;/b&gt; &amp; more</td>" in shown
    assert shown.count("<tr>") == shown.count("</tr>") == 4


def test_the_table_is_a_value() -> None:
    assert ComponentTable(TABLE.rows) == TABLE
    with pytest.raises(AttributeError):
        TABLE.rows = ()  # type: ignore[misc]
