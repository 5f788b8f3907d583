"""The pages of factor analysis, probabilistic PCA and kernel PCA: their numbers are those of the models."""

from __future__ import annotations

import numpy as np
import pytest

from eigenlens import PCA, FactorAnalysis, KernelPCA, ProbabilisticPCA, SparsePCA, datasets
from eigenlens.data.coerce import as_table
from eigenlens.latent.tables import order_by_factor
from eigenlens.reporting.pages.kernel_pca import kernel_page
from eigenlens.reporting.pages.latent import latent_page
from eigenlens.reporting.pages.sparse_pca import sparse_page
from eigenlens.reporting.rows import make_shown_rows
from eigenlens.tables.rows import sample_rows
from written_reports import axis, layers, named, table

RNG = np.random.default_rng(0)
W = np.kron(np.eye(2), np.array([[0.9], [0.8], [0.7], [0.6]]))
X = RNG.standard_normal((300, 2)) @ W.T + 0.5 * RNG.standard_normal((300, 8))
NAMES = tuple(f"q{j}" for j in range(8))


def rows(values, names=NAMES):
    return make_shown_rows(sample_rows(as_table(values), len(values), RNG), tuple(names))


@pytest.fixture(scope="module")
def incomplete():
    values = X.copy()
    values[::7, 2] = np.nan
    model = FactorAnalysis(2, rotation="varimax").fit(values)
    return values, model, latent_page(model, rows(values))


def test_the_charts_of_a_factor_analysis(incomplete):
    assert [chart["title"] for chart in incomplete[2]] == [
        "Loadings", "Latent values", "Variance by factor", "Fit of the model", "Loadings before rotation",
        "Loadings with standard errors", "Noise by column", "Communalities", "Imputed entries, with intervals",
        "Imputed entries", "Held-out coverage", "Likelihood path", "The model",
    ]  # fmt: skip


def test_loadings_are_sorted_and_small_ones_can_be_hidden(incomplete):
    _, model, charts = incomplete
    slider = named(charts, "Loadings")
    assert [frame["value"] for frame in slider["frames"]] == ["0 (all are shown)", "0.1", "0.2", "0.3", "0.4", "0.5"]
    L = np.asarray(model.loadings_)
    L = L / np.sqrt((L**2).sum(axis=1) + np.asarray(model.noise_variance_))[:, None]
    (whole,) = layers(slider["frames"][0]["charts"][0], "cell")
    names, fill = np.reshape(whole["y"], L.shape)[:, 0], np.reshape(whole["fill"], L.shape)
    np.testing.assert_allclose(fill, L[[NAMES.index(name) for name in names]], rtol=1e-5)
    assert whole["text"] == [f"{value:.2f}" for value in fill.ravel()]
    largest = np.abs(fill).argmax(axis=1)
    assert largest.tolist() == sorted(largest)
    for factor in (0, 1):
        assert np.all(np.diff(np.abs(fill[largest == factor]).max(axis=1)) <= 0.0)
    (some,) = layers(slider["frames"][4]["charts"][0], "cell")
    assert [text == "" for text in some["text"]] == (np.abs(fill.ravel()) < 0.4).tolist()


def test_rotated_loadings_are_sorted_and_small_ones_can_be_hidden_too():
    model = FactorAnalysis(2).fit(X)
    slider = named(latent_page(model, rows(X)), "After varimax")
    rotated = np.asarray(FactorAnalysis(2, rotation="varimax").fit(X).loadings_)
    rotated = rotated / np.sqrt((rotated**2).sum(axis=1) + np.asarray(model.noise_variance_))[:, None]
    (whole,) = layers(slider["frames"][0]["charts"][0], "cell")
    names, fill = np.reshape(whole["y"], rotated.shape)[:, 0], np.reshape(whole["fill"], rotated.shape)
    np.testing.assert_allclose(fill, rotated[[NAMES.index(name) for name in names]], atol=1e-5)
    assert names.tolist() == [NAMES[j] for j in order_by_factor(rotated)]
    (some,) = layers(slider["frames"][4]["charts"][0], "cell")
    assert [text == "" for text in some["text"]] == (np.abs(fill.ravel()) < 0.4).tolist()


def test_the_variance_of_factors_is_that_of_standardised_loadings(incomplete):
    _, model, charts = incomplete
    (bars,) = layers(named(charts, "Variance by factor"), "bar")
    L = np.asarray(model.loadings_)
    squares = L**2 / ((L**2).sum(axis=1) + np.asarray(model.noise_variance_))[:, None]
    np.testing.assert_allclose(bars["y"], 100.0 * squares.mean(axis=0), rtol=1e-5)


def test_loadings_are_in_standard_deviations_of_their_columns(incomplete):
    _, model, charts = incomplete
    (cells,) = layers(named(charts, "Loadings before rotation"), "cell")
    W, psi = np.asarray(model.model_.loadings), np.asarray(model.model_.noise)
    expected = W / np.sqrt(np.sum(W**2, axis=1) + psi)[:, None]
    np.testing.assert_allclose(np.abs(np.reshape(cells["fill"], W.shape)), np.abs(expected), rtol=1e-5, atol=1e-7)


def test_loadings_have_the_standard_errors_of_the_model(incomplete):
    values, model, charts = incomplete
    found, expected = table(named(charts, "Loadings with standard errors")), model.standard_errors(values)
    np.testing.assert_allclose(found["F2"], model.loadings_[:, 1], rtol=1e-5)
    np.testing.assert_allclose(found["error of F2"], expected.loadings[:, 1], rtol=1e-5)
    np.testing.assert_allclose(found["error of uniqueness"], expected.uniquenesses, rtol=1e-5)


def test_imputed_entries_have_the_intervals_of_the_model(incomplete):
    values, model, charts = incomplete
    found = table(named(charts, "Imputed entries"))
    filled, std = model.impute(values, return_std=True)
    where = np.argwhere(np.isnan(values))
    np.testing.assert_allclose(found["imputed"], filled[tuple(where.T)], rtol=1e-5)
    half = 1.959964 * std[tuple(where.T)]
    np.testing.assert_allclose(found["high (95%)"], filled[tuple(where.T)] + half, rtol=1e-5)
    assert found["row"][1] == "row 8"
    assert set(found["column"]) == {"q2"}
    (dots,) = layers(named(charts, "Imputed entries, with intervals"), "interval")
    mean, scale = np.nanmean(values[:, 2]), np.nanstd(values[:, 2])
    np.testing.assert_allclose(dots["y"], ((filled[tuple(where.T)] - mean) / scale)[:40], rtol=1e-5)


def test_communalities_are_those_of_the_model(incomplete):
    found = table(named(incomplete[2], "Communalities"))
    order = [NAMES.index(name) for name in found["column"]]
    variance = np.diag(incomplete[1].get_covariance())
    expected = 100.0 * (1.0 - incomplete[1].noise_variance_ / variance)
    np.testing.assert_allclose(found["communality %"], expected[order], rtol=1e-5)
    assert found["communality %"] == sorted(found["communality %"], reverse=True)


def test_coverage_is_of_entries_that_a_fit_has_not_seen(incomplete):
    chart = named(incomplete[2], "Held-out coverage")
    curve = chart["marks"][1]["data"]
    assert "from a fit of their own, too" in chart["about"]
    # about 230 entries: a share of 95% has a standard error of 1.4%
    assert curve["y"][-3] == pytest.approx(curve["x"][-3], abs=6.0)
    assert np.all(np.diff(curve["y"]) >= 0.0)


def test_a_model_of_pure_noise_is_seen_to_be_too_sure():
    """Rows of heavy tails: normal intervals of high levels hold fewer entries than they say."""
    heavy = np.random.default_rng(2).standard_t(1.5, size=(400, 4))
    chart = named(latent_page(ProbabilisticPCA(1).fit(heavy), rows(heavy, "abcd")), "Held-out coverage")
    curve = chart["marks"][1]["data"]
    assert curve["y"][10] > curve["x"][10] + 10.0


@pytest.mark.parametrize("missing", [False, True])
def test_the_indices_of_fit_are_those_of_the_model(missing):
    values = np.where((np.arange(300)[:, None] % 9 == 0) & (np.arange(8) == 1) & missing, np.nan, X)
    model = FactorAnalysis(2).fit(values)
    found = table(named(latent_page(model, rows(values)), "Fit of the model"))
    fit = model.goodness_of_fit(values if missing else None)
    assert found["index"] == ["chi²", "RMSEA", "TLI", "AIC", "BIC"]
    expected = [f"{fit.chi2:.2f}", f"{fit.rmsea:.3f}", f"{fit.tli:.3f}", f"{fit.aic:.1f}", f"{fit.bic:.1f}"]
    assert found["value"] == expected
    assert found["how to read it"][0].startswith(f"{fit.df} degrees of freedom, p = {fit.p:.3g}: ")


def test_the_likelihood_path_is_the_distance_from_the_best_on_a_log_scale(incomplete):
    chart = named(incomplete[2], "Likelihood path")
    (path,) = layers(chart, "line")
    below = incomplete[1].loglik_path_[-1] - incomplete[1].loglik_path_
    far = below > 1e-6
    np.testing.assert_allclose(np.array(path["y"], dtype=float)[far], below[far], rtol=1e-4)
    assert path["y"][-1] is None
    assert chart["y"]["type"] == "log"
    one = ProbabilisticPCA(1).fit(X)
    titles = [chart["title"] for chart in latent_page(one, rows(X))]
    assert ("Likelihood path" in titles) == (len(one.loglik_path_) > 1)


# ---- kernels --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def circles():
    example = datasets.load("two-circles", n=120)
    model = KernelPCA(2, gamma=2.0).fit(example.data)
    return example.data, model, kernel_page(model, rows(example.data, "xy"))


def test_the_slider_refits_for_every_width(circles):
    data, model, charts = circles
    slider = named(charts, "Embedding by width")
    assert len(slider["frames"]) == 9
    widths = [float(frame["value"]) for frame in slider["frames"]]
    assert widths == sorted(widths)
    assert widths[0] < model.gamma_ / 30.0
    assert slider["start"] == slider["fitted"]
    assert widths[slider["fitted"]] == pytest.approx(model.gamma_, rel=1e-2)
    for place in (1, 6):
        exact = model.gamma_ * np.geomspace(10.0**-1.5, 10.0**1.5, 9)[place]
        twin = KernelPCA(2, gamma=exact).fit_transform(data)
        np.testing.assert_allclose(np.abs(axis(slider["frames"][place]["charts"][0], 0)), np.abs(twin[:, 0]), atol=1e-6)


def test_linear_components_stand_beside(circles):
    frames = named(circles[2], "Embedding by width")["frames"]
    for frame in frames:
        kernel, chart = frame["charts"]
        assert (kernel["title"], chart["title"]) == (
            f"Kernel PCA, gamma {frame['value']}",
            "Linear PCA of the same rows",
        )
    np.testing.assert_allclose(axis(chart, 0).values, PCA(2).fit_transform(circles[0])[:, 0], atol=1e-9)


def test_rows_are_shown_before_and_after_denoising(circles):
    data, model, charts = circles
    (frame,) = named(charts, "Denoising")["frames"]
    before, after = frame["charts"]
    np.testing.assert_allclose(before["x"], data[:, 0])
    np.testing.assert_allclose(after["y"], model.denoise(data)[:, 1], atol=1e-9)


def test_kernel_values_have_no_columns_to_go_back_to(circles):
    data = circles[0]
    K = np.exp(-2.0 * ((data[:, None] - data[None]) ** 2).sum(axis=2))
    model = KernelPCA(2, kernel="precomputed").fit(K)
    charts = kernel_page(model, rows(K, [str(j) for j in range(120)]))
    assert [chart["title"] for chart in charts] == ["Embedding", "Variance", "The model"]


def test_sparse_components_are_listed_and_drawn():
    X = np.random.default_rng(0).standard_normal((60, 5)) @ np.random.default_rng(1).standard_normal((5, 5))
    model = SparsePCA(2, n_nonzero=[3, 1]).fit(X)
    charts = sparse_page(model, rows(X, "abcde"))
    assert [chart["title"] for chart in charts] == ["Scores", "Loadings", "Variance", "Components", "The model"]
    np.testing.assert_allclose(axis(named(charts, "Scores"), 0).values, model.transform(X)[:, 0], atol=1e-9)
    made = named(charts, "Components")["columns"][3]["values"]
    assert [len(text.split(",")) for text in made] == [3, 1]
