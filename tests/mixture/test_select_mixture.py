"""`select_mixture`: the table agrees with the fits and with mclust, and nothing is lost from it."""

from __future__ import annotations

import numpy as np
import pytest

from eigenlens.comparison.compare import compare
from eigenlens.data.memory import ArraySource
from eigenlens.errors import EigenlensError, OptionError
from eigenlens.mixture.estimator import GaussianMixture
from eigenlens.mixture.select import select_mixture
from references import crabs, mclust


@pytest.fixture(scope="module")
def faithful():
    return select_mixture(mclust.FAITHFUL, range(1, 4), random_state=0, n_init=10)


@pytest.mark.few(2)
def test_bic_and_the_choice_are_mclusts(faithful, accuracy):
    assert (faithful.types[0], faithful.components[0]) == ("tied", 3)
    what = "select_mixture of faithful: BIC of the choice, tied, K = 3"
    accuracy.close(what, faithful.bic[0], 2314.2957, system="mclust 6.0", atol=1e-3)
    assert len(faithful.types) == 12
    for i, (name, K) in enumerate(zip(faithful.types, faithful.components, strict=True)):
        reference = -mclust.BIC["faithful", mclust.STRUCTURES[name]][K - 1]
        assert faithful.bic[i] <= reference + 1e-3
    assert np.all(np.diff(faithful.values) >= 0.0)


def test_the_best_is_fitted_and_the_table_is_its(faithful):
    best = faithful.best
    assert isinstance(best, GaussianMixture)
    assert (best.covariance_type, best.n_components) == ("tied", 3)
    X = mclust.FAITHFUL
    assert faithful.loglik[0] == best.loglik_
    assert faithful.aic[0] == best.aic()
    assert faithful.icl[0] == pytest.approx(best.icl(X))
    assert faithful.parameters[0] == 11
    assert np.isnan(faithful.held_out).all()


def test_it_prints_itself(faithful):
    lines = str(faithful).split("\n")
    assert len(lines) == 13
    assert "BIC*" in lines[0]
    assert "held-out" not in lines[0]
    assert lines[1].split()[:3] == ["tied", "3", "11"]
    assert repr(faithful) == str(faithful)
    with pytest.raises(ValueError, match="read-only"):
        faithful.bic[0] = 0.0


@pytest.mark.few(1)
@pytest.mark.parametrize("criterion", ["aic", "icl", "held_out"])
def test_other_criteria(criterion):
    X = mclust.FAITHFUL
    table = select_mixture(X, [1, 2], ["full", "diag"], criterion, cv=3, random_state=0, n_init=3)
    sign = -1.0 if criterion == "held_out" else 1.0
    assert np.all(np.diff(sign * getattr(table, criterion)) >= 0.0)
    assert table.criterion == criterion
    i = table.types.index("full") if table.components[table.types.index("full")] == 2 else None
    if i is not None:
        alone = compare({"": GaussianMixture(2, n_init=3, random_state=0)}, X, cv=3, random_state=0)
        assert table.held_out[i] == pytest.approx(alone.means[0])
        assert table.held_out_errors[i] == pytest.approx(alone.errors[0])
    assert "held-out" in str(table)


def test_failures_and_collapses_stay_and_come_last():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((8, 2)), np.full((6, 2), 9.0)])
    table = select_mixture(X, [1, 2, 20], ["full", "ppca"], random_state=0, n_factors=1)
    assert len(table.types) == 6
    assert np.all(np.diff(table.usable.astype(int)) <= 0)
    assert np.all(table.components[-2:] == 20)
    assert np.isnan(table.bic[-2:]).all()
    assert all("n_components=20 must be at most 14" in table.remarks[i] for i in (4, 5))
    collapsed = [i for i in range(4) if not table.usable[i]]
    assert collapsed
    assert all("collapsed" in table.remarks[i] for i in collapsed)
    assert min(table.bic[i] for i in collapsed) < table.bic[0]
    text = str(table)
    assert "failed: n_components=20" in text
    assert "collapsed" in text


def test_nothing_but_failures():
    table = select_mixture(np.eye(3), [5], "full")
    assert table.best is None
    assert not table.usable[0]
    assert "failed" in str(table)


@pytest.mark.parametrize(
    ("X", "options"),
    [
        (np.eye(4), {"n_init": 0}),
        (np.eye(4), {"prior": "flat"}),
        (np.eye(4), {"sample_weight": np.ones(3)}),
        (np.full((4, 2), np.inf), {}),
        (np.ones((4, 2)), {}),
        (np.eye(4), {"cv": 1, "n_init": 1}),
    ],
)
def test_what_no_fit_takes_is_an_error(X, options):
    with pytest.raises(EigenlensError):
        select_mixture(X, [1, 2], ["diag", "full"], **options)


def test_weights_are_copies():
    X = mclust.FAITHFUL[:120]
    w = np.random.default_rng(0).integers(0, 3, 120).astype(float)
    options = {"n_components": [1, 2], "covariance_types": ["full"], "random_state": 0, "n_init": 3}
    weighted = select_mixture(X, sample_weight=w, **options)
    copies = select_mixture(np.repeat(X, w.astype(int), axis=0), **options)
    for name in ("loglik", "bic", "icl"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(copies, name), rtol=1e-7)


def test_one_column_has_two_structures():
    x = np.repeat(crabs.CENTRES, crabs.COUNTS)[:, None]
    table = select_mixture(x, [1, 2], random_state=0, n_init=3)
    assert sorted(set(table.types)) == ["full", "tied"]
    assert table.components[0] == 2


def test_an_interrupt_keeps_what_was_compared():
    class Impatient(ArraySource):
        """Rows whose reader loses patience in a certain pass."""

        passes = 0

        def rows(self):
            type(self).passes += 1
            if self.passes == 60:
                raise KeyboardInterrupt
            return super().rows()

    table = select_mixture(Impatient(mclust.FAITHFUL), range(1, 9), ["diag"], random_state=0, n_init=1, tol=1e-14)
    assert 1 <= len(table.types) < 8
    assert any("interrupted" in remark for remark in table.remarks.values())
    assert table.best is not None


def test_progress_is_reported():
    told = []
    select_mixture(mclust.FAITHFUL, [1, 2], ["full"], random_state=0, n_init=2, verbose=lambda *what: told.append(what))
    assert told == [(0, 2, "mixtures: full, 1 components"), (1, 2, "mixtures: full, 2 components")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": "dic"}, "criterion='dic' is not known"),
        ({"criterion": "held_out"}, "needs rows to hold out; give cv=5"),
        ({"n_components": []}, "must name at least one"),
        ({"n_components": [0]}, "n_components=0 must be at least 1"),
        ({"covariance_types": ["fall"]}, "did you mean 'full'"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(OptionError, match=message):
        select_mixture(mclust.FAITHFUL, **options)
