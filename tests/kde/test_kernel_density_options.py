"""What `KernelDensity` accepts and rejects: rows of weight 0, infinite limits, open bounds, and bare errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from eigenlens import KernelDensity
from eigenlens.errors import DataError, OptionError

X = np.random.default_rng(0).standard_normal((40, 1))
W = np.append(0.0, np.ones(39))


@pytest.mark.parametrize("bad", [np.nan, np.inf, 100.0])
@pytest.mark.parametrize("bandwidth", [0.3, "sheather-jones"])
def test_a_row_of_weight_zero_is_absent(bad, bandwidth):
    spoiled = X.copy()
    spoiled[0] = bad
    model = KernelDensity(bandwidth=bandwidth, bounds=(-9.0, 9.0)).fit(spoiled, sample_weight=W)
    plain = KernelDensity(bandwidth=bandwidth, bounds=(-9.0, 9.0)).fit(X[1:])
    assert model.bandwidth_ == pytest.approx(plain.bandwidth_, rel=1e-12)
    assert model.n_samples_ == 39
    assert model.score(spoiled, sample_weight=W) == pytest.approx(plain.score(X[1:]), rel=1e-12)


@pytest.mark.parametrize("bandwidth", ["sheather-jones", "silverman", "mlcv"])
def test_a_constant_column_is_named(bandwidth):
    table = pd.DataFrame({"width": X[:, 0], "height": 3.0})
    with pytest.raises(DataError, match=r"^column 'height' of X has zero spread: every value is 3"):
        KernelDensity(bandwidth=bandwidth).fit(table)
    with pytest.raises(DataError, match=r"^column 1 of X has zero spread"):
        KernelDensity(bandwidth=bandwidth).fit(table.to_numpy())
    own = KernelDensity(bandwidth=lambda rows, weight: np.ones(2)).fit(table)
    np.testing.assert_array_equal(own.bandwidth_, [1.0, 1.0])


def test_a_score_of_rows_out_of_reach():
    model = KernelDensity(kernel="box", bandwidth=0.3).fit(X)
    far = np.append(X[:5], [[50.0]], axis=0)
    assert model.score(far, sample_weight=[1, 1, 1, 1, 1, 0]) == pytest.approx(model.score(X[:5]))
    assert model.score(far) == -np.inf


@pytest.mark.parametrize("options", [{}, {"bounds": (-9.0, None)}, {"kernel": "laplace"}, {"kernel": "box"}])
def test_the_distribution_function_at_infinity(options):
    one = KernelDensity(bandwidth=0.3, **options).fit(X)
    np.testing.assert_allclose(one.cdf([[-np.inf], [np.inf]]), [0.0, 1.0], atol=1e-15)
    two = KernelDensity(bandwidth=0.3, **options).fit(np.hstack([X, X[::-1]]))
    np.testing.assert_allclose(two.cdf([[np.inf, np.inf], [-np.inf, 0.0]]), [1.0, 0.0], atol=1e-14)
    assert two.cdf([[np.inf, 0.4]])[0] == pytest.approx(one.cdf([[0.4]])[0], abs=1e-13)


def test_none_and_none_are_no_bounds():
    np.testing.assert_array_equal(
        KernelDensity(bandwidth=0.3, bounds=(None, None)).fit(X).score_samples(X),
        KernelDensity(bandwidth=0.3).fit(X).score_samples(X),
    )
    pairs = KernelDensity(bandwidth=0.3, bounds=[(None, None), (-9.0, None)]).fit(np.hstack([X, X]))
    np.testing.assert_array_equal(pairs.model_.bounds, [[-np.inf, np.inf], [-9.0, np.inf]])


TWO = KernelDensity(bandwidth=0.4).fit(np.hstack([X, X[::-1]]))

REFUSED = [
    (lambda: KernelDensity(bandwidth=0.3).fit(X).ppf("a"), "q='a' must be"),
    (lambda: TWO.condition([0], ["a"]), r"values=\['a'\] must be"),
    (lambda: TWO.marginal(None), "columns=None is not one of the 2 columns; use a number from 0 to 1"),
    (lambda: TWO.marginal([[0]]), r"columns=\[0\] is not one of the 2 columns"),
    (lambda: KernelDensity(kernel=None).fit(X), r"kernel=None must be one of 'gaussian'.* or a callable"),
    (lambda: KernelDensity(bandwidth=True).fit(X), "bandwidth=True must be a number"),
    (
        lambda: KernelDensity(bandwidth=np.eye(2), bounds=(-9.0, 9.0)).fit(np.hstack([X, X])),
        "here there are bounds",
    ),
    (lambda: KernelDensity(bandwidth=np.eye(2), kernel="box").fit(np.hstack([X, X])), "here the kernel is 'box'"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_rejected_with_the_argument_named(call, words):
    with pytest.raises(OptionError, match=words) as caught:
        call()
    assert "did you mean" not in str(caught.value)
