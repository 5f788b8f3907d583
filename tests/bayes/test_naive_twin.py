"""Naive Bayes of random mixed tables against a twin that is nothing but loops."""

import math

import numpy as np
import pandas as pd
import pytest

from eigenlens import NaiveBayes, load
from eigenlens.errors import DataWarning

FAMILIES = {
    "number": ["gaussian", "shared-gaussian", "auto"],
    "few": ["categorical", "gaussian", "auto"],
    "zeros": ["bernoulli", "auto", "shared-gaussian"],
    "text": ["categorical", "auto"],
    "counts": ["multinomial"],
}
MAKERS = {
    "number": lambda rng, n: (rng.normal(size=n) * 10.0 ** rng.integers(-4, 5)).tolist(),
    "few": lambda rng, n: rng.integers(-1, 3, n).tolist(),
    "zeros": lambda rng, n: rng.integers(0, 2, n).tolist(),
    "text": lambda rng, n: [["a", "", "ü"][k] for k in rng.integers(0, 3, n)],
    "counts": lambda rng, n: rng.poisson(2.0, n).tolist(),
}


class Case:
    """A table, its test rows, weights, classes and options, all drawn at random."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        n, d, C = int(rng.integers(8, 40)), int(rng.integers(1, 6)), int(rng.integers(2, 4))
        self.kinds = [str(rng.choice(list(MAKERS))) for _ in range(d)]
        self.y = [*range(C), *rng.integers(0, C, n - C).tolist()]
        self.w = rng.choice([0.0, 0.5, 1.0, 2.25], n).tolist()
        self.w[:C] = [1.0] * C
        whole = [MAKERS[kind](rng, n + 12) for kind in self.kinds]
        holes = [[None if rng.random() < 0.15 else value for value in column] for column in whole]
        self.rows, self.asked = [c[:n] for c in holes], [c[n:] for c in holes]
        for column, kind in zip(self.asked, self.kinds, strict=True):
            column[0] = {"few": 7, "zeros": 2, "text": "new"}.get(kind, column[0])
        self.families = [str(rng.choice(FAMILIES[kind])) for kind in self.kinds]
        self.smoothing, self.unknown = float(rng.choice([0.0, 0.5, 1.0])), str(rng.choice(["smooth", "ignore"]))

    def frame(self, columns, rows=slice(None)) -> pd.DataFrame:
        """Columns as a frame, with None for missing text and NaN for missing numbers."""
        kinds = [object if kind == "text" else float for kind in self.kinds]
        named = {
            f"c{j}": pd.Series(c[rows], dtype=kind) for j, (c, kind) in enumerate(zip(columns, kinds, strict=True))
        }
        return pd.DataFrame(named)

    def model(self, families) -> NaiveBayes:
        """The classifier with these families."""
        named = {f"c{j}": family for j, family in enumerate(families)}
        return NaiveBayes(named, smoothing=self.smoothing, unknown=self.unknown)


def categories_term(case, j, value, c):
    """ln p of a category in a class, by counting."""
    met = [(v, y, w) for v, y, w in zip(case.rows[j], case.y, case.w, strict=True) if v is not None and w > 0.0]
    categories = {0, 1} if case.chosen[j] == "bernoulli" else {v for v, _, _ in met}
    a, n = case.smoothing, sum(w for _, y, w in met if y == c)
    if value not in categories:
        a = a if categories else 1.0
        return 0.0 if case.unknown == "ignore" else log(a, n + a * len(categories) + a)
    if n + a == 0.0:  # no entry in this class: the shares of all
        return log(sum(w for v, _, w in met if v == value), sum(w for _, _, w in met))
    return log(sum(w for v, y, w in met if y == c and v == value) + a, n + a * len(categories))


def normal_term(case, j, value, c):
    """ln p of a number in a class, by means of squares."""
    met = [(v, y, w) for v, y, w in zip(case.rows[j], case.y, case.w, strict=True) if v is not None and w > 0.0]
    if len({v for v, _, _ in met}) < 2:
        return 0.0
    mean, total = moments([(v, w) for v, _, w in met])
    own = {b: [(v, w) for v, y, w in met if y == b] for b in set(case.y)}
    parts = {b: moments(pairs) if pairs else (mean, total) for b, pairs in own.items()}
    variance = parts[c][1]
    if case.chosen[j] == "shared-gaussian":
        variance = sum(parts[b][1] * sum(w for _, w in own[b]) for b in own) / sum(w for _, _, w in met)
    variance = max(variance, 1e-9 * total)
    return -0.5 * math.log(2.0 * math.pi * variance) - (value - parts[c][0]) ** 2 / (2.0 * variance)


def moments(pairs):
    n = sum(w for _, w in pairs)
    mean = sum(v * w for v, w in pairs) / n
    return mean, sum(w * (v - mean) ** 2 for v, w in pairs) / n


def counts_term(case, i, c):
    """ln p of the block of counts of a row in a class, given the total of the observed ones."""
    block = [j for j, family in enumerate(case.chosen) if family == "multinomial"]
    labelled = list(zip(case.y, case.w, strict=True))
    theta = {
        j: sum(w * (x or 0) for x, (y, w) in zip(case.rows[j], labelled, strict=True) if y == c) + case.smoothing
        for j in block
    }
    there = [j for j in block if case.asked[j][i] is not None]
    return sum(case.asked[j][i] * log(theta[j], sum(theta[k] for k in there)) for j in there if case.asked[j][i])


def log(part, whole):
    return math.log(part / whole) if part > 0.0 else -math.inf


def expected_log_proba(case):
    found = []
    for i in range(len(case.asked[0])):
        joint = []
        for c in sorted(set(case.y)):
            total = math.log(sum(w for y, w in zip(case.y, case.w, strict=True) if y == c) / sum(case.w))
            for j, family in enumerate(case.chosen):
                value = case.asked[j][i]
                if value is not None and family != "multinomial":
                    term = normal_term if "gaussian" in family else categories_term
                    total += term(case, j, value, c)
            joint.append(total + counts_term(case, i, c))
        found.append(joint)
    return np.array(found)


@pytest.mark.few(20)
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.filterwarnings(f"ignore::{DataWarning.__module__}.{DataWarning.__name__}")
def test_random_tables_as_the_twin_has_them(seed, tmp_path):
    case = Case(seed)
    table, asked, n = case.frame(case.rows), case.frame(case.asked), len(case.y)
    model = case.model(case.families).fit(table, case.y, sample_weight=case.w)
    case.chosen = [choice.family for choice in model.features_]
    joint = expected_log_proba(case)
    kept = np.isfinite(joint.max(axis=1))
    with np.errstate(invalid="ignore"):
        expected = joint[kept] - np.logaddexp.reduce(joint[kept], axis=1, keepdims=True)
    found = model.predict_log_proba(asked)
    np.testing.assert_allclose(found[kept], expected, rtol=1e-9, atol=1e-9)
    reasons = model.explain(asked, of=0, against=1)
    sure = kept & np.isfinite(joint[:, :2]).all(axis=1)
    np.testing.assert_allclose(reasons.log_odds[sure], joint[sure, 0] - joint[sure, 1], rtol=1e-9, atol=1e-9)
    assert np.all(reasons.contributions[asked.isna().to_numpy()] == 0.0)

    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_log_proba(asked), found)
    parts = case.model(case.chosen)
    for rows in (slice(0, n // 3), slice(n // 3, n)):
        part = case.frame(case.rows, rows)
        parts.partial_fit(part, case.y[rows], classes=sorted(set(case.y)), sample_weight=case.w[rows])
    np.testing.assert_allclose(parts.predict_log_proba(asked)[kept], expected, rtol=1e-8, atol=1e-8)
