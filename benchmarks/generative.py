"""Generative against discriminative: test errors of naive Bayes and of logistic regression as the training rows grow.

python benchmarks/generative.py [--only NAME ...] [--draws 60] [--picture generative.png]

Ng and Jordan (2002): naive Bayes with one variance a column for all classes and logistic regression have rules of the
same form, sign(w·x + w_0). What fits the joint density comes near its own, higher asymptotic error after some log d
rows; what fits p(y | x) alone needs some d rows, and then errs less unless columns are independent given the class. So
naive Bayes should lead for small n on most data sets, and logistic regression later on.

Training rows are drawn anew for each size, with the classes' shares and at least two rows of each class; the rest, at
most 2,000 rows, is the test. Columns are divided by their deviations in the training rows, which changes nothing for
naive Bayes and helps logistic regression to converge. The latter maximises the likelihood as in the paper; with
scikit-learn's default penalty, which the paper does not have, it is a third curve that takes no part in the verdict.
Small are sizes of no more rows than columns, where logistic regression is not yet expected to be good, and in any case
the first three; leads are means over these sizes, with the standard error of the difference on the same draws.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from eigenlens import NaiveBayes
from table import grid

Rows = tuple[np.ndarray, np.ndarray]

TESTED = 2_000
PER_CLASS = (2, 3, 4, 6, 9, 14, 20, 32, 50, 80, 125, 200, 320, 500)
"""Training rows, in rows a class."""

FIRST = 3
"""Sizes that are small in any case; beyond these, those of at most as many rows as there are columns."""

NAIVE, LOGISTIC, PENALISED = "naive Bayes", "logistic regression", "logistic regression, penalised"


# ---- data sets -------------------------------------------------------------------------------------------------


def shipped(load: Callable[..., Any]) -> Rows:
    X, y = load(return_X_y=True)
    return np.asarray(X, dtype=np.float64), y


def digits(classes: tuple[int, ...]) -> Rows:
    """Some digits, without the pixels that are the same in all of them."""
    X, y = shipped(datasets.load_digits)
    X, y = X[np.isin(y, classes)], y[np.isin(y, classes)]
    return X[:, X.std(axis=0) > 0.0], y


def gaussians(n: int, d: int, correlation: float, seed: int = 0) -> Rows:
    """Two classes of one covariance, all columns correlated alike given the class; a third of them differ in mean."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    shift = np.where(np.arange(d) % 3 == 0, 0.8, 0.0)
    common = rng.standard_normal((n, 1))
    return np.sqrt(1.0 - correlation) * rng.standard_normal((n, d)) + np.sqrt(correlation) * common + np.outer(
        y, shift
    ), y


def clusters(n: int, d: int) -> Rows:
    return datasets.make_classification(
        n, d, n_informative=d // 2, n_redundant=d // 4, n_clusters_per_class=2, random_state=0
    )


SETS: dict[str, Callable[[], Rows]] = {
    "iris": partial(shipped, datasets.load_iris),
    "wine": partial(shipped, datasets.load_wine),
    "breast cancer": partial(shipped, datasets.load_breast_cancer),
    "digits 3, 8 and 9": partial(digits, (3, 8, 9)),
    "independent columns": partial(gaussians, 4_000, 30, 0.0),
    "correlated columns": partial(gaussians, 4_000, 30, 0.5),
    "make_classification": partial(clusters, 4_000, 20),
}
"""Data sets that scikit-learn ships or makes, and two whose columns are, and are not, independent given the class."""

RULES: dict[str, Callable[[], Any]] = {
    NAIVE: partial(NaiveBayes, "shared-gaussian"),
    LOGISTIC: partial(LogisticRegression, C=np.inf, max_iter=500),
    PENALISED: partial(LogisticRegression, max_iter=500),
}


# ---- learning curves -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Curves:
    """Test errors in per cent of each rule (sizes, draws), the draws being the same for all of them."""

    name: str
    shape: tuple[int, int, int]
    sizes: np.ndarray
    errors: dict[str, np.ndarray]

    @property
    def small(self) -> int:
        """How many of the sizes are small."""
        return max(FIRST, int(np.sum(self.sizes <= self.shape[1])))

    def mean(self, rule: str) -> np.ndarray:
        return self.errors[rule].mean(axis=1)

    def spread(self, rule: str) -> np.ndarray:
        """The standard errors of the means."""
        return self.errors[rule].std(axis=1, ddof=1) / np.sqrt(self.errors[rule].shape[1])

    def lead(self, over: str) -> tuple[float, float]:
        """Points by which naive Bayes errs less than another rule, over the small sizes, and their standard error."""
        gaps = (self.errors[over] - self.errors[NAIVE])[: self.small].mean(axis=0)
        return float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(len(gaps)))

    @property
    def leads(self) -> bool:
        """Whether naive Bayes errs less than logistic regression for small n, by more than two standard errors."""
        points, spread = self.lead(LOGISTIC)
        return points > 2.0 * spread

    @property
    def ahead(self) -> np.ndarray:
        """The sizes at which naive Bayes errs less than logistic regression, by more than two standard errors."""
        gaps = self.errors[LOGISTIC] - self.errors[NAIVE]
        return self.sizes[gaps.mean(axis=1) > 2.0 * gaps.std(axis=1, ddof=1) / np.sqrt(gaps.shape[1])]

    @property
    def crossing(self) -> int | None:
        """The first size from which on logistic regression errs less; None if there is none."""
        ahead = self.mean(LOGISTIC) < self.mean(NAIVE)
        behind = np.flatnonzero(~ahead)
        first = int(behind[-1]) + 1 if behind.size else 0
        return int(self.sizes[first]) if first < len(ahead) else None


def drawn(y: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Places of n training rows, with the classes' shares and two rows a class at least, and of the test rows."""
    classes, count = np.unique(y, return_counts=True)
    wanted = np.maximum(2, np.round(n * count / len(y)).astype(int))
    train = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:m] for c, m in zip(classes, wanted, strict=True)])
    rest = np.setdiff1d(np.arange(len(y)), train)
    return train, rng.permutation(rest)[:TESTED]


def errors(X: np.ndarray, y: np.ndarray, n: int, draws: int) -> np.ndarray:
    """Test errors in per cent (draws, rules) after n training rows."""
    found = np.empty((draws, len(RULES)))
    for draw in range(draws):
        train, test = drawn(y, n, np.random.default_rng([draw, n]))
        scale = StandardScaler().fit(X[train])
        known, asked = scale.transform(X[train]), scale.transform(X[test])
        for r, make in enumerate(RULES.values()):
            found[draw, r] = 100.0 * np.mean(make().fit(known, y[train]).predict(asked) != y[test])
    return found


def curves(name: str, draws: int) -> Curves:
    X, y = SETS[name]()
    C = len(np.unique(y))
    sizes = np.array([C * m for m in PER_CLASS if C * m <= len(y) // 2])
    found = np.stack([errors(X, y, int(n), draws) for n in sizes])
    return Curves(name, (*X.shape, C), sizes, {rule: found[:, :, r] for r, rule in enumerate(RULES)})


# ---- what is shown ---------------------------------------------------------------------------------------------


def table(found: list[Curves]) -> str:
    """One line a data set: errors for small n, at the most rows, and where the lead changes."""
    header = (
        "data", "rows", "small n", "errors of naive Bayes / logistic regression / penalised", "lead",
        "lead over penalised", "at the most rows", "naive Bayes leads at", "logistic regression leads from", "verdict",
    )  # fmt: skip
    return grid(header, [_line(one) for one in found])


def _line(one: Curves) -> tuple[str, ...]:
    n, d, C = one.shape
    small = " / ".join(f"{one.mean(rule)[: one.small].mean():.1f}" for rule in RULES)
    last = " / ".join(f"{one.mean(rule)[-1]:.1f}" for rule in RULES)
    leads = ("{:+.1f} ± {:.1f}".format(*one.lead(rule)) for rule in (LOGISTIC, PENALISED))
    points, spread = one.lead(LOGISTIC)
    ahead = ", ".join(map(str, one.ahead)) or "no size"
    verdict = "naive Bayes leads" if one.leads else "logistic regression leads" if points < -2.0 * spread else "even"
    return (
        one.name, f"{n:,}×{d}, {C} classes", f"{one.sizes[0]} to {one.sizes[one.small - 1]}", small, *leads,
        f"{one.sizes[-1]}: {last}", ahead, "nowhere" if one.crossing is None else f"{one.crossing} rows", verdict,
    )  # fmt: skip


STYLES = {NAIVE: ("#0b6e99", "-"), LOGISTIC: ("#c8501e", "-"), PENALISED: ("#c8501e", ":")}
TICKS = (5, 10, 20, 50, 100, 200, 500, 1000)


def draw(found: list[Curves], path: Path) -> None:
    """One panel a data set: errors against the training rows, with two standard errors about them; small n shaded."""
    from matplotlib.figure import Figure

    across = min(4, len(found))
    down = -(-len(found) // across)
    figure = Figure(figsize=(3.4 * across, 2.9 * down + 0.5), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for panel, one in zip(panels, found, strict=False):
        _panel(panel, one)
    for panel in panels[len(found) :]:
        panel.set_axis_off()
    figure.supxlabel("training rows", fontsize=10)
    figure.supylabel("test error, %", fontsize=10)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(path, dpi=150)


def _panel(panel: Any, one: Curves) -> None:
    for rule, (colour, line) in STYLES.items():
        mean, spread = one.mean(rule), 2.0 * one.spread(rule)
        panel.plot(one.sizes, mean, color=colour, linestyle=line, linewidth=1.8, label=rule)
        if line == "-":
            panel.fill_between(one.sizes, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
    panel.axvspan(one.sizes[0], one.sizes[one.small - 1], color="#888888", alpha=0.12, linewidth=0)
    panel.set_xscale("log")
    panel.set_xticks([n for n in TICKS if one.sizes[0] <= n <= one.sizes[-1]])
    panel.xaxis.set_major_formatter("{x:g}")
    panel.minorticks_off()
    panel.set_ylim(bottom=0.0)
    panel.set_title(f"{one.name} ({one.shape[1]} columns, {one.shape[2]} classes)", fontsize=9.5)
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(SETS), default=list(SETS), metavar="NAME",
                        help="data sets: " + ", ".join(SETS))  # fmt: skip
    parser.add_argument("--draws", type=int, default=60, help="of training rows at each size (default 60)")
    parser.add_argument("--picture", type=Path, default=Path("generative.png"), help="where the curves are drawn")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # separable rows have no maximum of the likelihood, and few rows constant columns
    found = []
    for name in options.only:
        found.append(curves(name, options.draws))
        print(name, "done", file=sys.stderr, flush=True)
    print(table(found))
    leads = sum(one.leads for one in found)
    some = sum(bool(one.ahead.size) for one in found)
    print(
        f"\nNaive Bayes leads over all small n, by more than two standard errors, on {leads} of {len(found)} sets; "
        f"at one size at least on {some}."
    )
    draw(found, options.picture)
    print(f"The curves are in {options.picture}.")
    return 0 if 2 * leads > len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
