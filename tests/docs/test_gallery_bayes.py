"""The scripts of the gallery on Bayes classifiers: they run, and their texts are true."""

from __future__ import annotations

import numpy as np
import pytest

from eigenlens import LinearDiscriminant, NaiveBayes


def independent_given_the_class(said):
    yield said["overall"] > 0.9
    yield np.abs(said["within"]).max() < 0.15
    yield len(said["within"]) == len(said["years"]) == 4


def discrete(said):
    days = said["days"]
    yield days.shape == (14, 4)
    yield days.nunique().prod() == 36
    why = said["rule"].explain(said["today"], of="yes", against="no")
    yield np.isclose(why.log_odds[0], np.log(said["chance"] / (1.0 - said["chance"])))
    yes = said["play"] == "yes"
    yield np.isclose(why.prior[0], np.log(yes.sum() / (~yes).sum()))
    share = [(np.sum(days["outlook"][mine] == "sun") + 1) / (mine.sum() + 3) for mine in (yes, ~yes)]
    yield np.isclose(why.contributions[0, list(why.names).index("outlook")], np.log(share[0] / share[1]))


def gaussian(said):
    X, y, rule = said["X"], said["y"], said["rule"]
    yield (X.shape[1], len(rule.classes_)) == (2, 3)
    of = (X[:, None] - np.array([X[y == c].mean(axis=0) for c in range(3)])) ** 2
    var = np.array([X[y == c].var(axis=0) for c in range(3)])
    joint = np.log(np.bincount(y) / len(y)) - 0.5 * np.sum(of / var + np.log(var), axis=2)
    yield np.all(rule.predict(X) == joint.argmax(axis=1))
    yield said["right"] > 0.85


def kernel(said):
    wrong = [1.0 - rule.score(said["new"], said["truth"]) for rule in said["rules"].values()]
    yield wrong[1] < 0.25 * wrong[0]
    humps = np.exp(said["rules"]["kernel"].density(0, 0).log_density(said["u"][:, None]))
    yield np.sum(np.diff(np.sign(np.diff(humps))) < 0) >= 2
    mine = said["X"][said["y"] == 0, 0]
    h = np.ptp(mine) / np.sqrt(mine.size)
    by_hand = np.exp(-0.5 * ((said["u"][:, None] - mine) / h) ** 2).mean(axis=1) / (h * np.sqrt(2.0 * np.pi))
    yield np.allclose(humps, by_hand, rtol=1e-6)


def linear_rule(said):
    from sklearn.linear_model import LogisticRegression

    def errors(correlation):
        rng = np.random.default_rng(5)
        (X, y), (new, truth) = (said["drawn"](n, correlation, rng) for n in (3_000, 50_000))
        naive, logistic = NaiveBayes("shared-gaussian").fit(X, y), LogisticRegression(C=np.inf, max_iter=500).fit(X, y)
        turned = [rule.coef_[0] / np.linalg.norm(rule.coef_[0]) for rule in (naive.to_logistic(), logistic)]
        return 1.0 - naive.score(new, truth), 1.0 - logistic.score(new, truth), turned[0] @ turned[1]

    alike, apart = errors(0.0), errors(0.8)
    yield abs(alike[0] - alike[1]) < 0.003
    yield alike[2] > 0.999  # the same line, but for chance
    yield apart[0] - apart[1] > 0.03
    naive, new = said["naive"], said["new"]
    yield np.allclose(naive.to_logistic().predict_proba(new), naive.predict_proba(new), atol=1e-9)


def generative_and_discriminative(said):
    def lead(n, correlation):
        naive, logistic = (said["errors"](rule, n, correlation).mean() for rule, _ in said["RULES"])
        return logistic - naive

    yield lead(20, 0.0) > 2.0
    yield abs(lead(1000, 0.0)) < 1.5
    yield lead(10, 0.1) > 2.0  # few rows, an assumption that is somewhat wrong
    yield lead(1000, 0.1) < -2.0
    yield lead(10, 0.5) < 0.0  # very wrong: behind from the start
    yield lead(1000, 0.5) < -10.0


def calibration(said):
    def curve(rule):
        p = rule.fit(said["X"], said["y"]).predict_proba(said["new"])[:, 1]
        cell = np.clip(np.digitize(p, np.linspace(0.0, 1.0, 11)) - 1, 0, 9)
        return p, np.array([[part[cell == c].mean() for c in range(10)] for part in (p, said["truth"])])

    naive, (predicted, happened) = curve(NaiveBayes("gaussian"))
    yield np.abs(predicted - happened).max() > 0.2
    yield np.mean((naive < 0.1) | (naive > 0.9)) > 0.5
    _, (predicted, happened) = curve(LinearDiscriminant())
    yield np.abs(predicted - happened).max() < 0.03
    yield said["X"].shape[1] == 10


CLAIMS = [
    independent_given_the_class,
    discrete,
    gaussian,
    kernel,
    linear_rule,
    generative_and_discriminative,
    calibration,
]
"""What the texts say, in the order of the scripts, asked of the values that a script leaves."""


@pytest.mark.long
@pytest.mark.parametrize("claim", CLAIMS)
def test_a_script_on_bayes_classifiers_runs_and_its_text_is_true(claim, run_script, claims_of):
    held = list(claim(run_script(claims_of("bayes", CLAIMS, claim))))
    assert all(held), held
