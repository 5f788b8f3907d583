"""The scripts of the gallery on principal components and kernel components: they run, and their texts are true."""

from __future__ import annotations

import numpy as np
import pytest


def maximum_variance(said):
    yield np.isclose(said["variance"].max(), said["lam"][0], rtol=1e-4)
    yield np.isclose((said["first"] - said["last"]) % 180, 90)


def eckart_young(said):
    yield np.allclose(said["errors"], said["discarded"][said["ranks"]], atol=1e-12)
    yield np.all(np.array(said["random"])[:, :-1] > said["discarded"][1:-1])


def power_method(said):
    for path, v in zip(said["paths"], said["pca"].components_, strict=False):
        yield np.isclose(abs(path[-1] @ v), 1.0)


def dual_pca(said):
    yield said["genes"].shape == (60, 1600)
    yield said["apart"] < 1e-9


def standardisation(said):
    yield said["wine"].data.shape == (178, 13)
    yield said["wine"].data[:, said["wine"].columns.index("proline")].max() > 1000
    yield said["wine"].columns[said["top"]] != "proline"  # after standardising


def explained_variance(said):
    yield (said["k90"], said["parallel"]) == (9, 3)
    yield list(said["lam"] > said["limit"]) == [True] * 3 + [False] * 9


def biplot(said):
    food = said["food"]
    for column, row in (("Fresh potatoes", "N Ireland"), ("Fresh fruit", "Wales")):
        yield food.rows[int(food.data[:, food.columns.index(column)].argmax())] == row
    yield said["share"].sum() > 0.95


def fisher(said):
    yield said["right"] > 0.9
    yield abs(said["cosine"]) < 0.5


def gene_map(said):
    yield said["genes"].data.shape == (400, 600)
    yield len(said["homes"]) == 36
    yield said["correlation"] > 0.9


def circles(said):
    apart = [
        max(said["distance_between"](z) for z in model.transform(said["X"]).T) for model in said["kernels"].values()
    ]
    yield apart[0] < 1.0
    yield min(apart[1:]) > 3.0


def centring(said):
    yield np.all(said["rows"][0][3] > 0)
    yield abs(said["centred"].mean()) < 1e-12
    z = said["model"].transform(said["X"])[:, 0]
    yield len(set(np.sign(z[:45]))) == len(set(np.sign(z[45:]))) == 1  # rows go from left to right


def out_of_sample(said):
    yield said["same"] < 1e-9
    yield np.allclose(said["on"][-1], said["far"][0], atol=1e-3)


def denoising(said):
    yield len(said["test"]) == 200
    yield said["error"](said["by_kernel"][said["best"][1]]) < 0.7 * said["error"](said["by_pca"][said["best"][0]])


def classifier(said):
    Z, _, counts = said["features"]["kernel PCA, Gaussian"]
    yield said["mistakes"](Z, counts[-1]) < said["plain"] / 2


def landmarks(said):
    yield said["reached"] == len(said["groups"])
    yield np.all(said["least"] <= said["errors"])


PCA = [maximum_variance, eckart_young, power_method, dual_pca, standardisation, explained_variance, biplot, fisher,
       gene_map]  # fmt: skip
KERNEL = [circles, centring, out_of_sample, denoising, classifier, landmarks]
"""What the texts say, in the order of the scripts, asked of the values that a script leaves."""


@pytest.mark.few(1)
@pytest.mark.parametrize("claim", PCA)
def test_a_script_on_principal_components_runs_and_its_text_is_true(claim, run_script, claims_of):
    held = list(claim(run_script(claims_of("pca", PCA, claim))))
    assert all(held), held


@pytest.mark.long
@pytest.mark.parametrize("claim", KERNEL)
def test_a_script_on_kernel_components_runs_and_its_text_is_true(claim, run_script, claims_of):
    held = list(claim(run_script(claims_of("kernel", KERNEL, claim))))
    assert all(held), held
