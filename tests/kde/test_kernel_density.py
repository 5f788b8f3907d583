"""`KernelDensity` as users meet it: every kind of X, rules, bounds, missing values in scored rows, files, errors."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import gaussian_kde, kstest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity as Peer
from sklearn.utils.estimator_checks import check_estimator

from eigenlens import DataError, OptionError
from eigenlens import model_file as io
from eigenlens.data.memory import ArraySource
from eigenlens.kde.bandwidth import BANDWIDTH_RULES, bandwidth
from eigenlens.kde.estimator import KernelDensity
from eigenlens.kde.kernels import SMOOTHING_KERNELS

PEERS = {
    "gaussian": "gaussian",
    "box": "tophat",
    "epanechnikov": "epanechnikov",
    "triangular": "linear",
    "cosine": "cosine",
    "laplace": "exponential",
}
"""scikit-learn's names of the same kernels."""


def column(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(0.0, 1.0, n // 2), rng.gamma(3.0, 1.0, n - n // 2)])[:, None]


def rows(n=200, d=3, seed=1):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ (np.eye(d) + 0.5) + [5.0, 0.0, -3.0][:d]


@pytest.mark.filterwarnings("ignore:.*many equal values:eigenlens.errors.DataWarning")
@pytest.mark.parametrize("options", [{}, {"kernel": "epanechnikov", "bandwidth": 0.7}, {"adaptive": True}])
def test_scikit_learns_own_checks(options):
    check_estimator(KernelDensity(**options), on_skip=None)


# ---- against others -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", PEERS)
def test_one_column_as_scikit_learn_has_it(kernel):
    x, w = column(), np.random.default_rng(2).uniform(0.5, 2.0, 300)
    y = np.linspace(-4.0, 9.0, 200)[:, None]
    peer = Peer(kernel=PEERS[kernel], bandwidth=0.6, rtol=1e-13).fit(x, sample_weight=w)
    ours = KernelDensity(kernel=kernel, bandwidth=0.6).fit(x, sample_weight=w)
    np.testing.assert_allclose(ours.density(y), np.exp(peer.score_samples(y)), atol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_matrix_as_scipy_has_it(d):
    X = rows(d=d)
    peer = gaussian_kde(X.T)
    ours = KernelDensity(bandwidth=peer.covariance).fit(X)
    np.testing.assert_allclose(ours.density(X[:50] + 0.1), peer((X[:50] + 0.1).T), rtol=1e-7)
    scott = KernelDensity(bandwidth="scott").fit(X)
    if d > 1:
        np.testing.assert_allclose(scott.bandwidth_, peer.covariance, rtol=1e-10)


# ---- bandwidths ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", BANDWIDTH_RULES)
def test_rules_of_one_column(rule):
    x = column()
    kde = KernelDensity(bandwidth=rule).fit(x)
    assert kde.bandwidth_ == pytest.approx(bandwidth(x, rule))
    assert isinstance(kde.bandwidth_, float)
    wide = KernelDensity(bandwidth=rule).fit(1000.0 * x)
    assert wide.bandwidth_ == pytest.approx(1000.0 * kde.bandwidth_, rel=1e-6)


@pytest.mark.parametrize("kernel", SMOOTHING_KERNELS)
def test_a_rule_smooths_alike_with_every_kernel(kernel):
    """Canonical bandwidths: the densities of two kernels differ far less than either from the data."""
    x = column(2000)
    y = np.linspace(-3.0, 8.0, 300)[:, None]
    ours, gauss = KernelDensity(kernel=kernel).fit(x), KernelDensity().fit(x)
    ratio = SMOOTHING_KERNELS[kernel].canonical() / SMOOTHING_KERNELS["gaussian"].canonical()
    assert ours.bandwidth_ == pytest.approx(ratio * gauss.bandwidth_, rel=1e-12)
    assert np.abs(ours.density(y) - gauss.density(y)).mean() < 0.06 * gauss.density(y).mean()


def test_rules_of_several_columns():
    X = rows()
    assert KernelDensity().fit(X).bandwidth_.shape == (3,)
    H = KernelDensity(bandwidth="silverman").fit(X).bandwidth_
    assert H.shape == (3, 3)
    product = KernelDensity(bandwidth="silverman", bounds=(-50.0, None)).fit(X).bandwidth_
    np.testing.assert_allclose(product, np.sqrt(np.diag(H)))  # bounds want one bandwidth a column
    ratio = SMOOTHING_KERNELS["biweight"].canonical(3) / SMOOTHING_KERNELS["gaussian"].canonical(3)
    biweight = KernelDensity(bandwidth="silverman", kernel="biweight").fit(X).bandwidth_
    np.testing.assert_allclose(biweight, ratio * np.sqrt(np.diag(H)), rtol=1e-10)


def test_a_rule_of_the_users():
    kde = KernelDensity(bandwidth=lambda x, weight: 0.123).fit(column())
    assert kde.bandwidth_ == 0.123


def test_weights_are_copies_for_rules_too():
    x, copies = column(80), np.random.default_rng(3).integers(0, 4, 80)
    for rule in ("silverman", "scott"):
        a = KernelDensity(bandwidth=rule, adaptive=True).fit(x, sample_weight=copies)
        b = KernelDensity(bandwidth=rule, adaptive=True).fit(np.repeat(x, copies, axis=0))
        assert a.bandwidth_ == pytest.approx(b.bandwidth_, rel=1e-9)
        np.testing.assert_allclose(a.score_samples(x), b.score_samples(x), rtol=1e-8)
        assert a.n_samples_ == np.count_nonzero(copies)


# ---- methods ------------------------------------------------------------------------------------------------


def test_scores():
    x, w = column(), np.arange(300.0)
    kde = KernelDensity().fit(x)
    values = kde.score_samples(x)
    assert kde.score(x) == pytest.approx(values.mean())
    assert kde.score(x, sample_weight=w) == pytest.approx(np.average(values, weights=w))
    np.testing.assert_allclose(kde.density(x), np.exp(values))
    assert np.isfinite(kde.score_samples([[1e8]])).all()


def test_one_column_all_round():
    kde = KernelDensity(random_state=0).fit(column())
    q = np.array([[0.1, 0.5], [0.9, 0.99]])
    y = kde.ppf(q)
    assert y.shape == (2, 2)
    np.testing.assert_allclose(kde.cdf(y.reshape(-1, 1)), q.ravel(), atol=1e-12)
    draws = kde.sample(5000)
    assert kstest(draws[:, 0], lambda v: kde.cdf(v[:, None])).pvalue > 1e-3
    np.testing.assert_array_equal(draws, kde.sample(5000))
    assert not np.array_equal(draws, kde.sample(5000, random_state=1))
    step = 1e-5
    slope = (kde.density([[1.0 + step]]) - kde.density([[1.0 - step]])) / (2 * step)
    np.testing.assert_allclose(kde.derivative([[1.0]]), slope, atol=1e-7)


@pytest.mark.parametrize("boundary", ["reflect", "renormalize"])
def test_bounds(boundary):
    x = np.random.default_rng(4).exponential(size=(2000, 1))
    kde = KernelDensity(bounds=(0.0, None), boundary=boundary).fit(x)
    assert kde.score_samples([[-0.1]])[0] == -np.inf
    assert kde.density([[-0.1], [0.0]])[0] == 0.0
    assert kde.density([[0.0]])[0] > 1.5 * KernelDensity().fit(x).density([[0.0]])[0] * (
        0.5 + 0.4 * (boundary == "reflect")
    )
    grid = np.linspace(0.0, 30.0, 60_001)
    assert np.trapezoid(kde.density(grid[:, None]), grid) == pytest.approx(1.0, abs=1e-6)
    assert kde.sample(3000, random_state=0).min() >= 0.0
    assert kde.ppf(0.0) == 0.0
    assert kde.cdf([[-1.0], [0.0]]).tolist() == [0.0, 0.0]


def test_bounds_of_several_columns():
    X = np.abs(rows(d=2))
    for bounds in ([(0.0, None), None], [(0.0, np.inf), (None, None)]):
        kde = KernelDensity(bounds=bounds).fit(X)
        np.testing.assert_array_equal(kde.model_.bounds, [[0.0, np.inf], [-np.inf, np.inf]])
    assert KernelDensity(bounds=(0.0, 99.0)).fit(X).model_.bounds.tolist() == [[0.0, 99.0]] * 2


def test_marginal_and_condition_by_name():
    frame = pd.DataFrame(rows(), columns=list("abc"))
    kde = KernelDensity().fit(frame)
    np.testing.assert_allclose(
        kde.marginal("b").density(frame["b"].to_numpy()), kde.marginal([1]).density(frame["b"].to_numpy())
    )
    given = kde.condition(["c", "a"], [-3.0, 5.0])
    assert given.n_features == 1
    joint = kde.density(pd.DataFrame({"a": [5.0], "b": [0.2], "c": [-3.0]}))
    both = kde.marginal(["c", "a"]).density(np.array([[-3.0, 5.0]]))
    assert given.density(np.array([0.2]))[0] == pytest.approx(joint[0] / both[0], rel=1e-7)


def test_missing_values_in_scored_rows():
    X = rows()
    kde = KernelDensity().fit(X)
    Y = X[:3].copy()
    Y[0, 1] = Y[1] = np.nan
    found = kde.score_samples(Y)
    assert found[0] == pytest.approx(kde.marginal([0, 2]).log_density(Y[[0]][:, [0, 2]])[0])
    assert found[1] == 0.0
    assert found[2] == pytest.approx(kde.score_samples(X[[2]])[0])


# ---- every kind of X ----------------------------------------------------------------------------------------


def test_kinds_of_rows():
    X = rows()
    expected = KernelDensity().fit(X).score_samples(X[:9])
    kinds = [np.asfortranarray(X), sp.csr_matrix(X), pd.DataFrame(X), ArraySource(X, block_rows=17), X.tolist()]
    for other in kinds:
        kde = KernelDensity().fit(other)
        np.testing.assert_allclose(kde.model_.log_density(X[:9]), expected, rtol=1e-12)
    whole = KernelDensity().fit(X)
    np.testing.assert_allclose(whole.score_samples(ArraySource(X, block_rows=17))[:9], expected, rtol=1e-10)


def test_float32_stays():
    X = rows().astype(np.float32)
    kde = KernelDensity().fit(X)
    assert kde.sample(3).dtype == np.float32
    np.testing.assert_allclose(kde.score_samples(X), KernelDensity().fit(X.astype(np.float64)).score_samples(X))


def test_grid_search_and_clones():
    search = GridSearchCV(KernelDensity(), {"bandwidth": [0.01, 0.4, 20.0]}, cv=3).fit(column())
    assert search.best_params_ == {"bandwidth": 0.4}
    kde = KernelDensity(kernel="box", bounds=(0.0, None), adaptive=True)
    assert clone(kde).get_params() == kde.get_params()
    fitted = KernelDensity().fit(rows())
    fitted.score_samples(rows())
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.score_samples(rows()), fitted.score_samples(rows()))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "triweight", "adaptive": True, "bounds": [(None, None), (None, 50.0), None]},
        {"bandwidth": np.diag([0.2, 0.3, 0.4])},
        {"bandwidth": [0.2, 0.3, 0.4], "bounds": (-60.0, np.inf), "boundary": "renormalize"},
    ],
)
def test_files(tmp_path, options):
    frame = pd.DataFrame(rows(), columns=list("abc"))
    kde = KernelDensity(**options).fit(frame, sample_weight=np.linspace(0.5, 2.0, 200))
    path = tmp_path / "kde.safetensors"
    kde.save(path)
    kind, arrays, header = io.read(path)
    assert kind == "KernelDensity"
    again = KernelDensity._restored(arrays, header)
    np.testing.assert_allclose(again.score_samples(frame), kde.score_samples(frame), rtol=1e-13)
    np.testing.assert_array_equal(again.sample(5, random_state=1), kde.sample(5, random_state=1))
    np.testing.assert_array_equal(again.bandwidth_, kde.bandwidth_)
    assert list(again.feature_names_in_) == ["a", "b", "c"]
    assert again.kernel == kde.kernel
    with pytest.raises(DataError, match="features"):
        again.score_samples(ArraySource(np.zeros((2, 2))))


def test_a_callable_kernel_is_not_saved(tmp_path):
    kde = KernelDensity(kernel=lambda u: np.maximum(1.0 - np.abs(u), 0.0), bandwidth=1.0).fit(column())
    np.testing.assert_allclose(
        kde.density(column()),
        KernelDensity(kernel="triangular", bandwidth=1.0).fit(column()).density(column()),
        atol=1e-12,
    )
    with pytest.raises(OptionError, match="callable and cannot be saved"):
        kde.save(tmp_path / "kde.safetensors")
    assert not list(tmp_path.iterdir())


# ---- errors -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bandwidth": 0.0}, "bandwidth=0.0 must be above 0"),
        ({"bandwidth": -1.0}, "bandwidth=-1.0 must be above 0"),
        ({"bandwidth": np.nan}, "must be above 0 and finite"),
        ({"bandwidth": "sheather"}, "did you mean"),
        ({"bandwidth": [1.0, 2.0]}, r"shape \(2,\); it must be a number, \(3,\) or \(3, 3\)"),
        ({"bandwidth": [1.0, 0.0, 1.0]}, "must be above 0"),
        ({"bandwidth": -np.eye(3)}, "positive definite"),
        ({"bandwidth": np.eye(3), "kernel": "box"}, "product over columns; give 3 bandwidths"),
        ({"bandwidth": np.eye(3), "bounds": (-99.0, 99.0)}, "product over columns"),
        ({"bandwidth": None}, "bandwidth"),
        ({"bandwidth": True}, "bandwidth"),
        ({"kernel": "gauss"}, "did you mean 'gaussian'"),
        ({"bounds": (1.0, 0.0)}, "low below high"),
        ({"bounds": [(0.0, 1.0)] * 2}, "3 of them, one per column"),
        ({"bounds": "positive"}, "one pair"),
        ({"bounds": [(0.0, 1.0, 2.0), None, None]}, "must be a pair"),
        ({"boundary": "mirror"}, "boundary='mirror'"),
        ({"adaptive": 1}, "adaptive=1 must be True or False"),
        ({"tol": 0.0}, "tol=0.0"),
    ],
)
def test_options_that_are_rejected(options, words):
    with pytest.raises(OptionError, match=words):
        KernelDensity(**options).fit(rows())


def test_rows_that_are_rejected():
    X = rows()
    spoilt = X.copy()
    spoilt[3, 1] = np.nan
    with pytest.raises(
        DataError, match=r"contains NaN: 1 entry in 1 of 200 rows is missing.*ProbabilisticPCA.*GaussianMixture"
    ):
        KernelDensity().fit(spoilt)
    spoilt[3, 1] = np.inf
    with pytest.raises(DataError, match="infinity"):
        KernelDensity().fit(spoilt)
    with pytest.raises(DataError, match="infinity"):
        KernelDensity().fit(X).score_samples(spoilt)
    with pytest.raises(DataError, match=r"X\[0, 2\]=.* lies outside bounds=\(0, inf\).*widen the bounds"):
        KernelDensity(bounds=[None, None, (0.0, None)]).fit(X)
    with pytest.raises(DataError, match="spread"):
        KernelDensity().fit(np.ones((20, 1)))
    assert KernelDensity(bandwidth=1.0).fit(np.ones((20, 1))).density([[1.0]])[0] == pytest.approx(0.3989, abs=1e-4)
    with pytest.raises(DataError, match="needs 2 rows, but there is 1 sample"):
        KernelDensity().fit([[1.0]])
    assert KernelDensity(bandwidth=2.0).fit([[1.0]]).ppf(0.5) == pytest.approx(1.0)


def test_calls_that_are_rejected():
    kde = KernelDensity().fit(rows())
    for call in (kde.ppf, lambda q: kde.derivative(rows())):
        with pytest.raises(OptionError, match="for X of one column"):
            call([0.5])
    with pytest.raises(OptionError, match="probabilities from 0 to 1"):
        KernelDensity().fit(column()).ppf([0.5, 1.5])
    for columns, words in (([0, 0], "the column 0 twice"), ([], "0 columns"), ([0, 1, 2, 1], "the column 1 twice")):
        with pytest.raises(OptionError, match=f"columns names {words}"):
            kde.marginal(columns)
    with pytest.raises(OptionError, match="columns='x' is not one of the 3 columns"):
        kde.marginal("x")
    with pytest.raises(OptionError, match="columns names every column, so none is left"):
        kde.condition([0, 1, 2], [0.0, 0.0, 0.0])
    with pytest.raises(DataError, match="must be 2 numbers"):
        kde.condition([0, 1], [0.0])
    with pytest.raises(NotFittedError):
        KernelDensity().sample()


class TestOneDimension:
    x = np.random.default_rng(5).normal(size=40)
    y = np.linspace(-2.0, 2.0, 9)

    @pytest.mark.parametrize("kind", [list, tuple, np.asarray, np.float32])
    def test_every_method_takes_a_column_as_it_is(self, kind):
        table, column = KernelDensity().fit(np.asarray(kind(self.x))[:, None]), KernelDensity().fit(kind(self.x))
        y = kind(self.y)
        for name in ("score_samples", "density", "cdf", "derivative"):
            np.testing.assert_array_equal(getattr(column, name)(y), getattr(table, name)(np.asarray(y)[:, None]))
        assert column.score(y) == table.score(np.asarray(y)[:, None])
        assert column.n_features_in_ == 1

    def test_series_and_dask_arrays(self):
        dask = pytest.importorskip("dask.array")
        series = KernelDensity().fit(pd.Series(self.x, name="length"))
        assert series.feature_names_in_.tolist() == ["length"]
        lazy = KernelDensity().fit(self.x).score_samples(dask.from_array(self.y, chunks=4))
        np.testing.assert_allclose(lazy.compute(), series.score_samples(pd.Series(self.y, name="length")))

    def test_a_column_is_rejected_where_several_were_fitted(self):
        with pytest.raises(ValueError, match=r"one dimension.*must have two"):
            KernelDensity().fit(np.column_stack([self.x, self.x**2])).score_samples(self.x)

    @pytest.mark.parametrize("name", ["tophat", "linear", "exponential", "epanechnikov", "cosine", "gaussian"])
    def test_kernels_have_scikit_learns_names_and_values(self, name):
        theirs = Peer(kernel=name, bandwidth=0.6).fit(self.x[:, None])
        expected = np.exp(theirs.score_samples(self.y[:, None]))
        ours = KernelDensity(kernel=name, bandwidth=0.6).fit(self.x)
        np.testing.assert_allclose(ours.density(self.y), expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_quantiles_of_tensors_are_tensors(library):
    xp = pytest.importorskip(library)
    kde = KernelDensity(bandwidth=1.0).fit([0.0, 1.0, 4.0])
    found = kde.ppf(xp.asarray([0.25, 0.5]))
    assert type(found) is type(xp.asarray([0.0]))
    assert np.allclose(np.asarray(found), kde.ppf([0.25, 0.5]))


def test_a_row_of_weight_zero_outside_the_support_has_no_part_in_the_score():
    model = KernelDensity(kernel="epanechnikov", bandwidth=1.0).fit([[0.0], [1.0]])
    assert model.score([[0.5], [1e3]], sample_weight=[1.0, 0.0]) == model.score([[0.5]])
    assert model.score([[0.5], [1e3]]) == -np.inf
