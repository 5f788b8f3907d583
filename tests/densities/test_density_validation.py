"""What families accept and reject: rows of weight 0 are ignored, reasons are true, and no bare error comes through."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from eigenlens import GaussianMixture, KernelDensity
from eigenlens.densities import Bernoulli, Categorical, Gaussian, Histogram, LinearGaussian, Mixture, Multinomial
from eigenlens.densities.product import Product
from eigenlens.errors import DataError, OptionError
from eigenlens.kde.model import KernelEstimate
from eigenlens.stats.counts import Counts

# ---- a row of weight 0 is absent ------------------------------------------------------------------------------


def test_levels_of_weight_zero_never_came():
    weighted = Categorical.fit(list("abc"), sample_weight=[1.0, 0.0, 2.0], smoothing=1.0)
    repeated = Categorical.fit(list("acc"), smoothing=1.0)
    assert weighted.levels == repeated.levels
    assert weighted.fitted.free == repeated.fitted.free
    np.testing.assert_array_equal(weighted.probabilities, repeated.probabilities)
    assert weighted.unknown == repeated.unknown
    assert Bernoulli.fit(list("abc"), sample_weight=[1.0, 1.0, 0.0]).levels == ("a", "b")
    assert Counts.of(pd.Series(["x"], dtype=pd.CategoricalDtype(["x", "y"])), np.ones(1)).categories == ("x", "y")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("covariance", ["full", "diagonal", "spherical"])
def test_a_gaussian_does_not_look_at_rows_of_weight_zero(covariance, bad):
    X = np.random.default_rng(0).standard_normal((8, 2))
    spoiled = np.vstack([X, [[bad, 1.0]]])
    weighted = Gaussian.fit(spoiled, sample_weight=np.append(np.ones(8), 0.0), covariance=covariance)
    plain = Gaussian.fit(X, covariance=covariance)
    np.testing.assert_allclose(weighted.mean, plain.mean, rtol=1e-14)
    np.testing.assert_allclose(weighted.covariance.matrix(), plain.covariance.matrix(), rtol=1e-13)


def test_a_multinomial_does_not_look_at_rows_of_weight_zero():
    weighted = Multinomial.fit([[2, 3], [-1, 0.5]], sample_weight=[1.0, 0.0], trials=5)
    np.testing.assert_array_equal(weighted.probabilities, [0.4, 0.6])


# ---- no rows --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [[], np.empty(0), np.empty((0, 1)), pd.Series([], dtype=float)], ids=lambda x: type(x))
@pytest.mark.parametrize(
    "fit",
    [Bernoulli.fit, Categorical.fit, Gaussian.fit, Histogram.fit, KernelDensity().fit, GaussianMixture().fit],
)
def test_no_rows_at_all(fit, x):
    with pytest.raises(DataError, match="0 rows; at least 1 is needed"):
        fit(x)


def test_no_rows_of_counts():
    with pytest.raises(DataError, match="0 rows; at least 1 is needed"):
        Multinomial.fit(np.empty((0, 3)))


# ---- reasons --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", ["full", "diagonal", "spherical"])
@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e-160])
def test_squares_out_of_range_are_not_called_constant(scale, covariance):
    X = scale * np.random.default_rng(1).standard_normal((20, 2))
    with pytest.raises(DataError, match=r"'0' has entries from .* out of the range of floats"):
        Gaussian.fit(X, covariance=covariance)


@pytest.mark.parametrize("value", [0.0, 1e-200, 1e200, 3.0])
def test_a_constant_is(value):
    with pytest.raises(DataError, match="is constant"):
        Gaussian.fit([value] * 4)


def test_large_and_small_scales_that_can_be_held():
    z = np.random.default_rng(2).standard_normal(30)
    for scale in (1e150, 1e-150):
        assert Gaussian.fit(scale * z).mean[0] / scale == pytest.approx(z.mean(), rel=1e-12)


def test_intervals_need_more_than_one_row():
    model = Gaussian.fit([1.0, 2.0, 4.0], sample_weight=[0.3, 0.3, 0.3])
    with pytest.raises(OptionError, match=r"more than 1 row .* 0\.9; .*scale sample_weight"):
        model.confidence_intervals()
    assert np.all(np.isfinite(model.confidence_intervals(method="wald").mean))
    assert "nan" not in str(model)


def test_declared_levels_that_do_not_occur():
    x = pd.Series(["a", "b", "a"], dtype=pd.CategoricalDtype(["a", "b", "c"]))
    with pytest.raises(DataError, match=r"declares 3 categories \('a', 'b', 'c'\), of which 2 occur"):
        Bernoulli.fit(x)
    assert Bernoulli.fit(x, levels=("a", "b")).probability == pytest.approx(1.0 / 3.0)


# ---- rejected, and said so -------------------------------------------------------------------------------------

GAUSSIAN = Gaussian.fit(np.random.default_rng(3).standard_normal((20, 2)))
CELLS = Multinomial.fit([[2, 3, 5], [1, 4, 5]], trials=10)
KERNELS = KernelEstimate(np.random.default_rng(4).standard_normal((20, 2)), 0.5)

REFUSED = [
    (lambda: GAUSSIAN.condition([5], [1.0]), "columns=5 is not one of the 2 columns"),
    (lambda: GAUSSIAN.condition([0], ["a"]), r"values=\['a'\]"),
    (lambda: GAUSSIAN.condition([0], [1.0, 2.0]), "2 entries for 1 columns"),
    (lambda: GAUSSIAN.marginal([7]), "columns=7"),
    (lambda: GAUSSIAN.marginal([0, 0]), "columns names the column 0 twice"),
    (lambda: GAUSSIAN.marginal([-1]), "columns=-1 .* a number from 0 to 1"),
    (lambda: GAUSSIAN.marginal(["a"]), "columns='a' .* a number from 0 to 1"),
    (lambda: GAUSSIAN.marginal([0.5]), "columns=0.5 .* a number from 0 to 1"),
    (lambda: GAUSSIAN.marginal([0]).ppf(1.5), "from 0 to 1"),
    (lambda: KERNELS.marginal([2]), "columns=2"),
    (lambda: KERNELS.condition([0], ["a"]), r"values=\['a'\]"),
    (lambda: Product((GAUSSIAN.marginal([0]),)).marginal([1]), "columns=1"),
    (lambda: CELLS.condition([0], [2.5]), "whole numbers"),
    (lambda: CELLS.condition([0], [-1]), "whole numbers"),
    (lambda: CELLS.condition([9], [1]), "columns=9"),
    (lambda: Categorical.fit(list("ab"), reserve="a"), "reserve='a'"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_rejected_with_the_argument_named(call, words):
    with pytest.raises(OptionError, match=words):
        call()


# ---- small things ---------------------------------------------------------------------------------------------


def test_plain_numbers_and_signs():
    for model in (GAUSSIAN, CELLS, Categorical.fit(list("aab")), Bernoulli.fit([0, 1])):
        assert type(model.fitted.loglik) is float
    assert not np.signbit(GAUSSIAN.log_density([[np.nan, np.nan]]))[0]
    np.testing.assert_array_equal(GAUSSIAN.marginal([0]).ppf([0.0, 1.0, np.nan]), [-np.inf, np.inf, np.nan])


def test_true_among_zeros_and_ones_is_one():
    levels = Bernoulli.fit([0, True, 1]).levels
    assert levels == (0, 1)
    assert [type(level) for level in levels] == [int, int]
    assert Bernoulli.fit([True, False]).levels[1] is True
    assert Bernoulli.fit([0, True, 1]).probability == pytest.approx(2.0 / 3.0)


def test_a_kernel_estimate_prints_itself_in_a_line():
    many = KernelEstimate(np.zeros((5000, 9)), 0.25, bounds=np.tile([-1.0, 1.0], (9, 1)))
    assert repr(many).startswith("KernelEstimate(5,000 points of 9 columns, kernel='gaussian', bandwidth=(0.25,")
    assert len(repr(many)) < 160
    assert "matrix (2, 2)" in repr(KernelEstimate(np.zeros((3, 2)), np.eye(2)))


SAMPLED = [
    Bernoulli(0.3),
    Categorical([0.2, 0.8]),
    Multinomial([0.2, 0.8], trials=3),
    Gaussian([0.0, 1.0], [1.0, 4.0]),
    Histogram.fit([0.0, 1.0, 2.0], bins=2),
    LinearGaussian([0.0, 1.0], [[1.0], [2.0]], 1.0),
    Mixture([0.5, 0.5], [Gaussian(0.0, 1.0), Gaussian(3.0, 1.0)]),
    Product((Bernoulli(0.3), Gaussian(0.0, 1.0))),
    KernelDensity(bandwidth=1.0).fit([0.0, 1.0]).model_,
]


@pytest.mark.parametrize("density", SAMPLED, ids=lambda density: type(density).__name__)
def test_rows_are_drawn_by_a_seed_a_generator_or_neither(density):
    assert len(density.sample(3)) == 3
    assert np.array_equal(density.sample(5, 7), density.sample(5, np.random.default_rng(7)))
    with pytest.raises(OptionError, match="rng='seven' must be a non-negative integer"):
        density.sample(3, "seven")


def test_a_linear_gaussian_takes_lists_frames_and_vectors():
    model, rows = LinearGaussian([0.0, 1.0], [[1.0], [2.0]], 1.0), np.array([[0.5, 1.0], [2.0, np.nan]])
    given = model.log_density(rows)
    assert np.array_equal(model.log_density(rows.tolist()), given)
    assert np.allclose(model.log_density(pd.DataFrame(rows)), given, rtol=1e-13)
    assert np.array_equal(model.posterior(rows.tolist())[0], model.posterior(rows)[0])
    assert np.allclose(model.impute(pd.DataFrame(rows)), model.impute(rows), rtol=1e-13)
    line = LinearGaussian([0.0], [[1.0]], 1.0)
    assert np.array_equal(line.log_density([1.0, 2.0]), line.log_density(np.array([[1.0], [2.0]])))
    with pytest.raises(DataError, match="the density has 2 columns"):
        model.log_density(np.ones((3, 4)))


@pytest.mark.parametrize(
    "make", [lambda: Categorical(["a", "b"], [0.2, 0.8]), lambda: Multinomial(["a"]), lambda: Histogram([0, 1], ["a"])]
)
def test_text_in_place_of_probabilities_is_named(make):
    with pytest.raises(OptionError, match=r"probabilities=\[.*\] must be a number or an array of numbers"):
        make()
