"""The rules for gamma against their formulas, with weights as copies, and from files of rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist

from eigenlens.data.memory import ArraySource
from eigenlens.errors import DataError
from eigenlens.kernel_pca.gamma import GAMMA_RULES, resolve_gamma


def rows(n=80, d=4, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) * [1.0, 2.0, 0.5, 3.0][:d] + np.arange(d)


def test_a_number_is_itself():
    assert resolve_gamma(0.125, rows()) == 0.125


def test_the_formulas():
    X = rows()
    assert resolve_gamma(None, X) == 0.25
    assert resolve_gamma("scale", X) == pytest.approx(1.0 / (4 * X.var()), rel=1e-13)
    assert resolve_gamma("median", X) == pytest.approx(1.0 / (2.0 * np.median(pdist(X)) ** 2), rel=1e-12)


@pytest.mark.parametrize("rule", GAMMA_RULES)
def test_every_kind_of_rows_gives_the_same(rule):
    X = rows(300)
    X[X < 0.5] = 0.0
    torch = pytest.importorskip("torch")
    kinds = [sparse.csr_matrix(X), torch.from_numpy(X), ArraySource(X, block_rows=70), X.astype(np.float32)]
    for kind in kinds:
        assert resolve_gamma(rule, kind) == pytest.approx(resolve_gamma(rule, X), rel=1e-6)


@pytest.mark.parametrize("rule", GAMMA_RULES)
def test_a_weight_counts_copies(rule):
    X, weight = rows(50), np.random.default_rng(1).integers(0, 4, 50)
    copies = resolve_gamma(rule, np.repeat(X, weight, axis=0))
    assert resolve_gamma(rule, X, weight.astype(float)) == pytest.approx(copies, rel=1e-12)
    assert resolve_gamma(rule, ArraySource(X, block_rows=7).weighted(weight.astype(float))) == pytest.approx(copies)


@pytest.mark.parametrize(("rule", "tol"), [("scale", 1e-7), ("median", 1e-7)])
def test_a_large_mean_changes_nothing(rule, tol):
    """The scale rule looks at all entries about one mean, so only a shift that all columns share is invisible."""
    X = rows()
    assert resolve_gamma(rule, X + 1e8) == pytest.approx(resolve_gamma(rule, X), rel=tol)


def test_many_rows_are_sampled_by_the_generator():
    X = rows(2500)
    exact = 1.0 / (2.0 * np.median(pdist(X)) ** 2)
    first, again, other = (resolve_gamma("median", X, None, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert first == pytest.approx(exact, rel=0.1)
    assert resolve_gamma("median", ArraySource(X, block_rows=999), None, np.random.default_rng(1)) == first


class Unknown(ArraySource):
    """Rows whose number is known only after a pass."""

    def __init__(self, X):
        super().__init__(X, block_rows=64)
        self.n_rows = None


@pytest.mark.parametrize("rule", GAMMA_RULES)
def test_a_source_of_unknown_length(rule):
    X = rows(3000)
    assert resolve_gamma(rule, Unknown(X)) == pytest.approx(resolve_gamma(rule, X), rel=1e-12)


def test_copies_of_one_row_do_not_make_the_width_zero():
    X = np.vstack([np.zeros((90, 4)), rows(10) + 1e3])
    assert resolve_gamma("median", X) == pytest.approx(1.0 / (2.0 * np.median(pdist(X)[pdist(X) > 0]) ** 2), rel=1e-9)


@pytest.mark.parametrize("rule", ["scale", "median"])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e8 / 3.0])
def test_rows_that_do_not_vary_are_rejected(rule, value):
    with pytest.raises(DataError, match=f"gamma='{rule}' needs rows of X that differ.*give gamma as a number"):
        resolve_gamma(rule, np.full((31, 3), value))


@pytest.mark.parametrize("rule", ["scale", "median"])
def test_missing_entries_are_explained(rule):
    X = rows()
    X[3, 1] = np.nan
    with pytest.raises(DataError, match="contains NaN: 1 entry in 1 of 4 columns"):
        resolve_gamma(rule, X)
