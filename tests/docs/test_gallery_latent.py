"""The scripts of the gallery on latent Gaussians: they run, and their texts are true."""

from __future__ import annotations

import numpy as np
import pytest

from eigenlens.densities import LinearGaussian


def closed_form_and_em(said):
    shares = {"paths": 1 / 3, "accelerated": 2 / 3}  # removed by a step in the end
    steps = {}
    for name, share in shares.items():
        steps[name] = [int(np.argmax(said["top"] - np.asarray(path) < 1e-7)) for path in said[name]]
        for path in said[name]:
            left = said["top"] - np.asarray(path)
            yield np.all(np.diff(path) > -1e-9 * abs(said["top"]))
            yield abs(left[-1]) < 1e-5  # of a log-likelihood of thousands
            late = left[left > 1e-7]
            yield abs(1.0 - late[-1] / late[-2] - share) < 0.05
    yield np.all(np.asarray(steps["paths"]) > steps["accelerated"])


def limit_to_pca(said):
    lam, v, mu, noise = said["lam"], said["v"], said["mu"], said["ppca"].noise_variance_
    model = LinearGaussian(mean=mu, loadings=np.sqrt(lam - noise) * v[:, None], noise=noise)
    back = model.reconstruct(model.posterior(said["X"])[0])
    yield np.allclose((back - mu) @ v, (1.0 - noise / lam) * ((said["X"] - mu) @ v))
    yield said["away"] < 1e-6  # of the last panel


def missing_pixels(said):
    yield abs(said["lost"].mean() - 2 / 3) < 0.01
    yield np.isnan(said["X"]).any(axis=1).all()
    yield np.ptp(np.nanmean(said["X"], axis=0)) < 12.0  # of 256 shades: nearly the same grey
    yield said["error"](said["restored"]) < 0.5 * said["error"](said["means"])


def missing_values(said):
    yield len(said["names"]) == 24
    yield abs(said["hidden"].mean() - 0.2) < 0.01
    yield abs(said["share"] - 0.95) < 0.01
    yield said["errors"][1] < 0.7 * said["errors"][0]
    width = said["deviation"][said["hidden"][:, said["j"]], said["j"]]
    yield width.max() > 1.1 * width.min()


def three_covariances(said):
    def blocks(C):  # the covariances of two different careful questions for the same trait
        traits = [[j for j in range(i, i + 4) if j != said["careless"]] for i in (0, 4, 8)]
        return np.array([C[np.ix_(mine, mine)][~np.eye(len(mine), dtype=bool)].mean() for mine in traits])

    S, (pca, ppca, factor) = said["S"], said["models"].values()
    yield S.shape == (12, 12)
    yield S.diagonal().argmax() == said["careless"]
    for C in (pca, ppca):
        yield (blocks(C) / blocks(S)).min() < 0.5  # a trait is lost
    yield np.allclose(blocks(factor), blocks(S), rtol=0.05)


def rotation(said):
    before, after = said["models"].values()
    yield np.isclose(before.loglik_, after.loglik_, rtol=1e-12)
    T = np.linalg.lstsq(before.loadings_, after.loadings_, rcond=None)[0]
    yield np.allclose(T.T @ T, np.eye(3), atol=1e-6)
    sizes = np.sort(np.abs(after.loadings_), axis=1)
    yield sizes[:, -1].min() > 0.5
    yield sizes[:, :-1].max() < 0.2
    yield np.sort(np.abs(before.loadings_), axis=1)[:, -2].min() > 0.2
    own = np.abs(after.loadings_).argmax(axis=1).reshape(3, 4)
    yield np.all(own == own[:, :1])
    yield len(set(own[:, 0])) == 3


CLAIMS = [closed_form_and_em, limit_to_pca, missing_pixels, missing_values, three_covariances, rotation]
"""What the texts say, in the order of the scripts, asked of the values that a script leaves."""


@pytest.mark.long
@pytest.mark.parametrize("claim", CLAIMS)
def test_a_script_on_latent_gaussians_runs_and_its_text_is_true(claim, run_script, claims_of):
    held = list(claim(run_script(claims_of("latent", CLAIMS, claim))))
    assert all(held), held
