"""The scripts of the gallery on principal components and kernel components: they run, and their texts are true."""

from __future__ import annotations

import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest

plt = pytest.importorskip("matplotlib.pyplot")
Text = pytest.importorskip("matplotlib.text").Text

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
SCRIPTS = sorted(path for folder in ("pca", "kernel") for path in (GALLERY / folder).glob("plot_*.py"))
SMALLEST_FONT = 11.0


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
    yield said["wine"].data[:, said["wine"].feature_names.index("proline")].max() > 1000
    yield said["wine"].feature_names[said["top"]] != "proline"  # after standardising


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
    apart = [max(said["gap"](z) for z in model.transform(said["X"]).T) for model in said["kernels"].values()]
    yield apart[0] < 1.0
    yield min(apart[1:]) > 3.0


def centring(said):
    yield np.all(said["u"] > 0)
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


CLAIMS = {
    "pca": [maximum_variance, eckart_young, power_method, dual_pca, standardisation, explained_variance, biplot, fisher,
            gene_map],
    "kernel": [circles, centring, out_of_sample, denoising, classifier, landmarks],
}  # fmt: skip
"""What the texts say, in the order of the scripts, asked of the values that a script leaves."""

NAMED = {
    f"{folder}/plot_{number:02}_{claim.__name__}": claim
    for folder, claims in CLAIMS.items()
    for number, claim in enumerate(claims, start=1)
}


@pytest.fixture
def _own_settings(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    with plt.rc_context({"backend": "agg"}):
        yield
    plt.close("all")


@pytest.mark.usefixtures("_own_settings")
@pytest.mark.parametrize("name", NAMED)
def test_a_script_runs_without_warnings_says_what_is_true_and_draws_what_can_be_read(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        said = runpy.run_path(str(GALLERY / f"{name}.py"))
    assert all(NAMED[name](said))
    (number,) = plt.get_fignums()
    figure = plt.figure(number)
    figure.draw_without_rendering()
    texts = [text for text in figure.findobj(Text) if text.get_text().strip()]
    assert min(text.get_fontsize() for text in texts) >= SMALLEST_FONT
    drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert min(drawn.x0, drawn.y0, width - drawn.x1, height - drawn.y1) > -0.03  # nothing is cut off


def test_every_script_is_tested():
    assert sorted(NAMED) == sorted(f"{path.parent.name}/{path.stem}" for path in SCRIPTS)
