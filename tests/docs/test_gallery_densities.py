"""The scripts of the gallery on densities: they run, and their texts are true."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import eigenlens
from eigenlens import GaussianMixture, KernelDensity
from eigenlens.densities import Bernoulli, Categorical


def coin(said):
    few, many = (Bernoulli.fit(np.repeat([1, 0], [7 * n, 3 * n])) for n in (1, 10))
    yield few.probability == many.probability == said["coin"].probability == 0.7
    yield few.confidence_intervals()[0] < 0.5 < few.confidence_intervals()[1]
    yield many.confidence_intervals()[0] > 0.5
    yield many.standard_errors() < few.standard_errors()


def multinomial(said):
    names = said["NAMES"]
    few, many = (Categorical.fit(names, sample_weight=counts, levels=names) for counts in ([12, 7, 5], [60, 35, 25]))
    yield np.allclose(few.probabilities, np.array([12, 7, 5]) / 24)
    yield np.allclose(few.probabilities, many.probabilities)
    yield np.all(np.abs(many.standard_errors() / few.standard_errors() - 0.5) < 0.06)
    above = [2.0 * (fit.fitted.loglik - n * np.log(1 / 3)) for fit, n in ((few, 24), (many, 120))]
    yield above[0] < 5.99 < above[1]  # the 95% point of chi squared with 2 degrees of freedom


def pearsons_crabs(said):
    centres, counts = said["centres"], said["counts"]
    yield (len(counts), counts.sum()) == (29, 1000)
    away = centres - np.average(centres, weights=counts)
    yield np.average(away**3, weights=counts) < 0.0  # it leans
    yield said["two"].loglik_ > said["one"].loglik_ + 20.0


def em_for_mixtures(said):
    path, X = said["path"], said["X"]
    yield np.all(np.diff(path) > -1e-9 * abs(path[-1]))
    yield path[20] - path[7] < 0.5 * (path[30] - path[20])  # it creeps, and then finds the way
    centres = np.array([mean for mean, *_ in said["clouds"]])
    _, means, _ = said["start"]
    nearest = [np.argmin(np.linalg.norm(centres - mean, axis=1)) for mean in means]
    yield len(set(nearest)) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eigenlens.ConvergenceWarning)
        end = said["fit_steps"](30)
    yield sorted(np.argmin(np.linalg.norm(centres - mean, axis=1)) for mean in end.means_) == [0, 1, 2]
    yield np.isclose(end.predict_proba(X).sum(), len(X))


def kernels(said):
    points, y = said["points"][:, None], said["y"][:, None]
    gaussian = KernelDensity(bandwidth=0.45).fit(points).density(y)
    turns = np.diff(np.sign(np.diff(gaussian)))
    hills, valleys = y[1:-1][turns < 0], y[1:-1][turns > 0]
    yield (len(points), len(hills), len(valleys)) == (6, 3, 2)
    for kernel in said["kernels"]:
        h = said["matched"](kernel, 0.45)
        kde = KernelDensity(kernel=kernel, bandwidth=h).fit(points)
        yield kde.density(hills)[[0, 2]].min() > 2.0 * kde.density(valleys)[1]
    # Canonical bandwidths (R / kappa²)^(1/5): Epanechnikov (3/5 · 25)^(1/5), Gaussian (1 / (2 √π))^(1/5).
    yield np.isclose(said["matched"]("epanechnikov", 1.0), (15.0 * 2.0 * np.sqrt(np.pi)) ** 0.2)


def bandwidth(said):
    def humps(h):
        slope = KernelDensity(bandwidth=h).fit(said["minutes"]).derivative(said["y"])
        return int(np.sum(np.diff(np.sign(slope)) < 0))

    best = said["best"]
    yield (humps(best), humps(6 * best)) == (2, 1)
    yield humps(best / 8) > 20


def cross_validated_bandwidth(said):
    X, y = said["X"], np.linspace(-2.0, 9.0, 4001)

    def criterion(h):
        """The squared error of a density, up to a constant, by the definition of the leave-one-out sum."""
        bumps = np.exp(-0.5 * ((X - X.T) / h) ** 2) / (h * np.sqrt(2.0 * np.pi))
        squared = np.sum(KernelDensity(bandwidth=h).fit(X).density(y[:, None]) ** 2) * (y[1] - y[0])
        return squared - 2.0 * np.mean((bumps.sum(axis=1) - bumps.diagonal()) / len(X))

    silverman, sheather_jones, lscv = (
        eigenlens.bandwidth(X[:, 0], rule) for rule in ("silverman", "sheather-jones", "lscv")
    )
    lowest = min(map(criterion, np.geomspace(0.04, 0.6, 100)))
    yield criterion(lscv) <= lowest + 1e-9
    yield criterion(sheather_jones) - lowest < 0.1 * (criterion(silverman) - lowest)
    found, flat = (KernelDensity(bandwidth=h).fit(X).density([[1.9], [3.0], [4.4]]) for h in (lscv, silverman))
    yield np.all((found > flat) == [True, False, True])


def how_many_gaussians(said):
    table, best = said["table"], said["best"]
    yield (best.n_components_, best.covariance_type) == (3, "full")
    yield best.bic() == np.nanmin(table.bic)
    types = np.array(table.types)
    for name in set(types) - {"full"}:
        mine = types == name
        yield table.components[mine][np.nanargmin(table.bic[mine])] > 3
    logliks = [GaussianMixture(k, n_init=3, random_state=0).fit(said["X"]).loglik_ for k in range(1, 5)]
    yield np.all(np.diff(logliks) > 0.0)


def held_out_likelihood(said):
    table = said["table"]
    held_out = dict(zip(table.names, table.means, strict=True))
    fitted = {name: density.score(said["X"]) for name, density in said["densities"].items()}
    yield max(fitted, key=fitted.get) == "narrow kernels"
    ranking = sorted(held_out, key=held_out.get, reverse=True)
    yield set(ranking[:2]) == {"12 Gaussians", "cross-validated kernels"}
    yield ranking[-1] == "narrow kernels"


def latent_classes(said):
    model, n = said["classes"], said["observed"]
    yield (n.sum(), len(n), model._n_parameters) == (216, 16, 9)
    yield abs(said["expected"] - n).max() < 4.0 < abs(said["alone"] - n).max()
    yield round(100 * model.weights_[1]) == 28
    p = np.array([[model.density(j, k).probability for j in range(4)] for k in range(2)])
    yield p[1].min() > 0.75
    yield p[0].max() - p[0].min() > 0.5
    yield abs(said["G2"] - 2.720) < 5e-4  # Goodman (1974)


CLAIMS = [coin, multinomial, pearsons_crabs, em_for_mixtures, kernels, bandwidth, cross_validated_bandwidth,
          how_many_gaussians, held_out_likelihood, latent_classes]  # fmt: skip
"""What the texts say, in the order of the scripts, asked of the values that a script leaves."""


@pytest.mark.long
@pytest.mark.parametrize("claim", CLAIMS)
def test_a_script_on_densities_runs_and_its_text_is_true(claim, run_script, claims_of):
    held = list(claim(run_script(claims_of("densities", CLAIMS, claim))))
    assert all(held), held
