"""The pages of mixtures and of what select_mixture gives: their numbers are those of the models."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from eigenlens import GaussianMixture, report, select_mixture
from written_reports import contents, layers, named, numbers, table

RNG = np.random.default_rng(0)
PLANE = pd.DataFrame(
    np.concatenate([RNG.normal(0.0, 1.0, (120, 3)), RNG.normal(5.0, [1.0, 2.0, 0.5], (80, 3))]), columns=["a", "b", "c"]
)


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    model = GaussianMixture(2, n_init=2, random_state=0).fit(PLANE)
    found = contents(report(model, PLANE, tmp_path_factory.mktemp("mixture") / "x.html"))
    return model, found, found["first"]["charts"]


def test_the_charts_of_a_mixture(plane):
    assert [chart["title"] for chart in plane[2]] == [
        "Components", "BIC by the number of components", "Pairs of columns",
        "Components: weights, means and standard deviations", "Uncertainty", "Responsibilities", "Covariances",
        "Likelihood path", "ICL by the number of components", "AIC by the number of components", "Mixtures compared",
        "The model",
    ]  # fmt: skip


def test_likelihood_paths_of_other_starts_begin_at_their_guesses(plane):
    model, _, charts = plane
    *others, own = layers(named(charts, "Likelihood path"), "line")
    starts = [each["y"][0] for each in others]
    assert len(starts) == 8
    assert min(starts) > 1.0
    assert all(y is None or y < 1e-2 for y in own["y"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        guess = GaussianMixture(2, n_init=1, random_state=1, max_iter=1).fit(PLANE)
    np.testing.assert_allclose(starts[0], model.loglik_ - guess.loglik_path_[0], rtol=1e-4)


def test_rows_and_ellipses_lie_on_the_plane_that_separates_the_components(plane):
    model, found, charts = plane
    chart = named(charts, "Components")
    X, mean = PLANE.to_numpy(), model.weights_ @ model.means_
    place = np.column_stack([numbers(chart["x"], found), numbers(chart["y"], found)])
    V = np.linalg.lstsq(X - mean, place, rcond=None)[0]
    np.testing.assert_allclose((X - mean) @ V, place, atol=1e-4)
    W = np.tensordot(model.weights_, model.covariances_, 1)
    np.testing.assert_allclose(V.T @ W @ V, np.eye(2), atol=1e-5)
    fisher = np.linalg.solve(W, model.means_[1] - model.means_[0])
    assert abs(fisher @ V[:, 0]) / np.linalg.norm(fisher) / np.linalg.norm(V[:, 0]) == pytest.approx(1.0, abs=1e-6)
    assert chart["xlabel"] == "D1 (100% of the separation)"
    # half axes and mean of an ellipse that holds 95% of its component, in the plane
    for k, ellipse in enumerate(chart["ellipses"]):
        values = np.linalg.eigvalsh(V.T @ model.covariances_[k] @ V)
        np.testing.assert_allclose([ellipse["b"], ellipse["a"]], np.sqrt(5.991464547 * values), rtol=1e-4)
        np.testing.assert_allclose([ellipse["x"], ellipse["y"]], (model.means_[k] - mean) @ V, atol=1e-4)
        assert ellipse["label"] == f"component {k}"


def test_the_second_direction_of_two_components_is_that_in_which_they_differ_most(plane):
    """In column b the second component has a larger variance, in c a smaller one."""
    _, found, charts = plane
    place = numbers(named(charts, "Components")["y"], found)
    spread = [place[:120].std(), place[120:].std()]
    assert max(spread) / min(spread) > 1.7


def test_other_starts_are_beside_the_likelihood_path(tmp_path):
    near = np.concatenate([RNG.normal(0.0, 1.0, (60, 2)), RNG.normal(1.5, 1.0, (60, 2))])
    model = GaussianMixture(3, n_init=1, random_state=0).fit(near)
    chart = named(contents(report(model, near, tmp_path / "x.html"))["first"]["charts"], "Likelihood path")
    paths = [numbers(path["y"], {}) for path in layers(chart, "line")]
    fits = [GaussianMixture(3, n_init=1, random_state=seed, warm_start=True, max_iter=1) for seed in range(1, 9)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ends = [fit.fit(near).set_params(max_iter=1_000).fit(near).loglik_ for fit in fits]
    assert len(paths) == 9
    highest = max(model.loglik_, *ends)
    last = [path[np.isfinite(path)][-1] for path in paths[:-1]]
    np.testing.assert_array_equal(np.array(last) > 0.01, highest - np.array(ends) > 0.01)
    seen = np.isfinite(paths[-1])
    np.testing.assert_allclose(paths[-1][seen], (highest - model.loglik_path_)[seen], rtol=1e-4, atol=1e-6)
    assert chart["y"]["type"] == "log"
    assert ("give it more starts (n_init)" in chart["about"]) == (highest - model.loglik_ > 0.01)


def test_pairs_of_columns_are_in_their_own_units(plane):
    model, found, charts = plane
    pairs = named(charts, "Pairs of columns")["frames"]
    assert [frame["value"] for frame in pairs] == ["a, b", "a, c", "b, c"]
    chart = pairs[2]["charts"][0]
    np.testing.assert_allclose(numbers(chart["x"], found), PLANE["b"], rtol=1e-6)
    assert (chart["ellipses"][0]["x"], chart["ellipses"][1]["y"]) == pytest.approx(
        (model.means_[0, 1], model.means_[1, 2])
    )


def test_components_and_uncertainty_colour_the_rows(plane):
    model, found, charts = plane
    columns = {column["name"]: column["values"] for column in found["rows"]["columns"]}
    proba = model.predict_proba(PLANE)
    assert columns["component"] == [f"component {k}" for k in proba.argmax(axis=1)]
    np.testing.assert_allclose(numbers(columns["uncertainty"], found), 1.0 - proba.max(axis=1), atol=1e-6)
    (bars,) = layers(named(charts, "Uncertainty"), "bar")
    assert bars["y"][0] == np.sum(1.0 - proba.max(axis=1) < 0.05)
    assert sum(bars["y"]) == len(PLANE)


def test_responsibilities_are_means_of_groups(plane):
    (cells,) = layers(named(plane[2], "Responsibilities"), "cell")
    fill = numbers(cells["fill"], plane[1]).reshape(2, 100)
    np.testing.assert_allclose(fill.sum(axis=0), 100.0, atol=1e-4)
    np.testing.assert_allclose(fill[0].mean(), 100.0 * plane[0].predict_proba(PLANE)[:, 0].mean(), rtol=1e-5)


def test_parameters_are_listed(plane):
    model, _, charts = plane
    found = table(named(charts, "Components: weights, means and standard deviations"))
    assert found["parameter"][:3] == ["weight", "mean of a", "mean of b"]
    for k in range(2):
        np.testing.assert_allclose(found[f"in {k}"], [model.weights_[k], *model.means_[k]], rtol=1e-6)
        assert found[f"± sd in {k}"][0] is None
        np.testing.assert_allclose(found[f"± sd in {k}"][1:], np.sqrt(np.diag(model.covariances_[k])), rtol=1e-6)
    (cells,) = layers(named(charts, "Covariances")["frames"][1]["charts"][0], "cell")
    assert cells["text"][1] == f"{model.covariances_[1, 0, 1]:.3g}"
    assert cells["fill"][0] == pytest.approx(1.0)


def test_criteria_of_other_sizes(plane):
    model, _, charts = plane
    found = table(named(charts, "Mixtures compared"))
    assert found["components"][0] == 2
    assert sorted(found["components"]) == [1, 2, 3, 4, 5, 6]
    assert found["BIC (min)"][0] == pytest.approx(model.bic(), rel=1e-5)
    assert found["BIC (min)"] == sorted(found["BIC (min)"])
    chart = named(charts, "BIC by the number of components")
    assert layers(chart, "rule-x")[0]["text"] == ["best: 2"]
    (own,) = [layer for layer in chart["marks"] if layer.get("label") == "this model"]
    assert own["data"]["x"] == [2.0]
    assert own["data"]["y"] == pytest.approx([model.bic()], rel=1e-6)


def test_one_column_with_weights_is_a_weighted_histogram(tmp_path):
    x = np.arange(10.0)[:, None]
    w = np.array([1.0, 4.0, 9.0, 4.0, 1.0, 2.0, 6.0, 12.0, 6.0, 2.0])
    model = GaussianMixture(2, n_init=2, random_state=0).fit(x, sample_weight=w)
    found = contents(report(model, x, tmp_path / "x.html", sample_weight=w))
    chart = named(found["first"]["charts"], "Density")
    bars = layers(chart, "area")[0]
    height = np.array(bars["y"])[1:-1].reshape(-1, 2)[:, 0]
    np.testing.assert_allclose(height, w / w.sum(), rtol=1e-6)
    curve = layers(chart, "line")[0]
    at = numbers(curve["x"], found)
    np.testing.assert_allclose(numbers(curve["y"], found), np.exp(model.score_samples(at[:, None])), rtol=1e-4)
    facts = dict(named(found["first"]["charts"], "The model")["facts"])
    assert facts["ICL"] == f"{model.icl(x, w):.6g}"
    names = [name for name, _ in found["overview"]["charts"][0]["facts"]]
    assert "sample_weight" in found["overview"]["charts"][-1]["code"][0]["text"]
    assert "preprocessing" in names


def test_incomplete_rows_are_placed(tmp_path):
    X = PLANE.copy()
    X.iloc[::5, 1] = np.nan
    model = GaussianMixture(2, n_init=1, random_state=0).fit(X)
    found = contents(report(model, X, tmp_path / "x.html"))
    charts = found["first"]["charts"]
    assert np.isfinite(numbers(named(charts, "Components")["x"], found)).all()
    assert "Missing values are replaced by their expectations." in named(charts, "Components")["about"]
    pair = named(charts, "Pairs of columns")["frames"][0]["charts"][0]
    assert np.isnan(numbers(pair["y"], found)).sum() == 40
    assert dict(found["overview"]["charts"][0]["facts"])["missing values"] == "40 (6.67% of the entries)"
    missing = layers(named(found["overview"]["charts"], "Missing values"), "cell")[0]
    fill = dict(zip(zip(missing["y"], missing["x"], strict=True), missing["fill"], strict=True))
    assert fill[("1–7", "b")] == pytest.approx(100.0 * 2 / 7)
    assert fill[("1–7", "a")] == 0.0


def test_a_selection_has_a_page_of_its_own(tmp_path):
    best = select_mixture(PLANE, [1, 2, 3], ["spherical", "full"], cv=2, random_state=0, n_init=1)
    found = contents(report({"sizes": best}, PLANE, tmp_path / "x.html"))
    charts = found["first"]["charts"]
    listed = table(named(charts, "Mixtures compared"))
    assert listed["covariance"] == list(best.types)
    np.testing.assert_allclose(listed["held-out log density (max)"], best.held_out, rtol=1e-6)
    curve = named(charts, "ICL by the number of components")
    assert [layer["label"] for layer in curve["marks"] if layer["type"] == "line"] == list(dict.fromkeys(best.types))
    full = next(layer for layer in curve["marks"] if layer.get("label") == "full")["data"]
    order = [i for K in (1, 2, 3) for i in range(6) if best.types[i] == "full" and best.components[i] == K]
    np.testing.assert_allclose(full["y"], best.icl[order], rtol=1e-6)
    titles = [chart["title"] for chart in charts if chart["kind"] != "text"]
    assert titles[0] == "BIC by the number of components"
    assert titles[1] == f"The best: {best.components[0]} components, {best.types[0]}"
    assert {column["name"] for column in found["rows"]["columns"]} == {"component", "uncertainty", "a", "b", "c"}
    code = found["overview"]["charts"][-1]["code"][0]["text"]
    assert "select_mixture(X, [1, 2, 3], ['full', 'spherical'], 'bic', n_init=1, random_state=0, cv=5)" in code


def test_a_report_of_one_other_row(plane, tmp_path):
    """Rows need not be those of the fit, nor many."""
    found = contents(report(plane[0], PLANE.iloc[[7]], tmp_path / "x.html"))
    charts = found["first"]["charts"]
    assert layers(named(charts, "Uncertainty"), "bar")[0]["y"][0] == 1.0
    assert "ICL" not in dict(named(charts, "The model")["facts"])


def test_no_other_sizes_are_fitted_with_many_patterns_of_missing_values(tmp_path):
    """Each set of observed columns takes a step of its own: eighteen more fits would take minutes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 8))
    X[:, 1:][rng.random((150, 7)) < 0.4] = np.nan
    model = GaussianMixture(1, n_init=1, max_iter=3, tol=1.0).fit(X)
    charts = contents(report(model, X, tmp_path / "r.html"))["first"]["charts"]
    (words,) = named(charts, "How many components")["paragraphs"]
    patterns = len({tuple(row) for row in np.isnan(X)})
    assert f"entries are missing in {patterns} ways" in words


def test_an_axis_of_a_criterion_leaves_out_mixtures_far_from_the_best(tmp_path):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0.0, [1.0, 40.0], (150, 2)), rng.normal([9.0, 0.0], [1.0, 40.0], (150, 2))])
    found = select_mixture(X, [1, 2, 3, 4], random_state=0, n_init=1)
    page = contents(report(found, X, tmp_path / "x.html"))
    chart = named(page["first"]["charts"], "BIC by the number of components")
    low, high = chart["y"]["domain"]
    outside = np.count_nonzero(found.bic > high)
    assert low < found.bic.min() < np.median(found.bic) < high
    assert chart["y"]["cut"]
    assert f"{outside} mixtures are too far from the best to be shown." in chart["about"]


def test_a_choice_and_its_model_colour_the_rows_by_one_column(tmp_path):
    found = select_mixture(PLANE, [2], ["full"], random_state=0, n_init=1)
    page = contents(report({"GaussianMixture": found.best, "Choice": found}, PLANE, tmp_path / "x.html"))
    assert {"component", "uncertainty"} <= {each["name"] for each in page["rows"]["columns"]}
    assert [each["title"] for each in page["pages"]] == ["Gaussian mixture", "Choice", "Data and code"]
