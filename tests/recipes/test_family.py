"""A family of one's own as a naive Bayes factor: passed to `features`, or named by one entry in `FACTORS`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from eigenlens import NaiveBayes
from eigenlens.bayes.naive.families import FACTORS
from eigenlens.bayes.naive.families.custom import FamilyFactor
from eigenlens.errors import OptionError

# ---- the family: a density, statistics that merge, and how one leads to the other ------------------------------


@dataclass(frozen=True)
class Laplace:
    """p(x) = exp(−|x − centre| / scale) / (2 scale)."""

    centre: float
    scale: float

    def log_density(self, X):
        """Return ln p (n,) of rows X (n, 1)."""
        return -np.abs(X[:, 0] - self.centre) / self.scale - np.log(2.0 * self.scale)

    def sample(self, n, rng):
        """Draw rows (n, 1)."""
        return rng.laplace(self.centre, self.scale, (n, 1))


@dataclass(frozen=True)
class Sums:
    """Σw, Σw x and Σw x²."""

    sums: np.ndarray

    def __add__(self, other):
        return Sums(self.sums + other.sums)


@dataclass(frozen=True)
class LaplaceFamily:
    """Laplace densities by the method of moments: scale² = variance / 2."""

    def summarise(self, block):
        """Return the sums of a block of rows (b, 1)."""
        w = np.ones(len(block.rows)) if block.weight is None else block.weight
        return Sums(np.array([(w * block.rows[:, 0] ** k).sum() for k in range(3)]))

    def estimate(self, statistics):
        """Return the density with the mean and variance of the sums."""
        n, total, squares = statistics.sums
        return Laplace(total / n, np.sqrt((squares / n - (total / n) ** 2) / 2.0))


# ---- and what it is good for ---------------------------------------------------------------------------------------


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X, y = rng.laplace(0.0, [1.0, 2.0], (60, 2)), np.arange(60) % 2
    X[y == 1] += [2.0, 3.0]
    X[5, 0] = np.nan
    return X, y


def by_hand(X, y):
    """Return ln p(x, c) (n, 2) from the definition."""
    joint = np.full((len(X), 2), np.log(0.5))
    for c in (0, 1):
        for x, own in zip(X.T, X[y == c].T, strict=True):
            seen = own[~np.isnan(own)]
            logs = stats.laplace.logpdf(x, seen.mean(), seen.std() / np.sqrt(2.0))
            joint[:, c] += np.where(np.isnan(x), 0.0, logs)
    return joint


def test_a_family_is_passed(rows):
    X, y = rows
    rule = NaiveBayes(LaplaceFamily()).fit(X, y)
    np.testing.assert_allclose(rule.predict_joint_log_proba(X), by_hand(X, y), rtol=1e-12)
    halves = NaiveBayes(LaplaceFamily()).partial_fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])
    np.testing.assert_allclose(halves.predict_proba(X), rule.predict_proba(X), rtol=1e-9)


def test_a_family_has_a_name_by_one_entry(rows, monkeypatch):
    X, y = rows
    with pytest.raises(OptionError, match=r"features holds 'laplace', which is not a family; .*'gaussian'"):
        NaiveBayes("laplace").fit(X, y)
    monkeypatch.setitem(FACTORS, "laplace", FamilyFactor(LaplaceFamily()))
    for features in ("laplace", {0: "laplace", 1: LaplaceFamily()}):
        rule = NaiveBayes(features).fit(X, y)
        np.testing.assert_allclose(rule.predict_joint_log_proba(X), by_hand(X, y), rtol=1e-12)
        assert rule.density(1, 0).centre == pytest.approx(X[y == 0, 1].mean())
        assert rule.sample(3, random_state=0).shape == (3, 2)
    with pytest.raises(OptionError, match=r"did you mean 'laplace'\?"):
        NaiveBayes("laplacee").fit(X, y)
