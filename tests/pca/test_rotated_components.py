"""Rotated principal components: psych's, and what a rotation leaves as it was."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from eigenlens import PCA, DataError, OptionError, load, plot
from eigenlens.cli.summaries import pca_summary
from eigenlens.latent import tables as latent_tables
from eigenlens.pca import tables
from eigenlens.rotation import oblimin
from references import rotated_components as psych
from references.decathlon import COMPETITION, DATA, EVENTS, POINTS


@pytest.fixture(params=["varimax", "quartimax", "equamax", "promax", "oblimin", "geomin"])
def rotated(request):
    return PCA(3, standardize=True, rotation=request.param).fit(DATA)


PLAIN = PCA(3, standardize=True).fit(DATA)


def with_signs(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Psych makes the sum of a column of loadings positive, and we its largest entry."""
    return found * np.sign(np.sum(found * expected, axis=0))


@pytest.mark.parametrize(
    ("rotation", "loadings", "explained"),
    [
        ("varimax", psych.VARIMAX_LOADINGS, psych.VARIMAX_EXPLAINED),
        ("oblimin", psych.OBLIMIN_LOADINGS, psych.OBLIMIN_EXPLAINED),
        ("promax", psych.PROMAX_LOADINGS, psych.PROMAX_EXPLAINED),
    ],
)
def test_loadings_are_those_of_psych(rotation, loadings, explained, accuracy):
    pca = PCA(3, standardize=True, rotation=rotation).fit(DATA)
    found = with_signs(pca.loadings_[: len(loadings)], loadings)
    what = f"PCA of the decathlon, 3 rotated components, {rotation}: loadings"
    accuracy.close(what, found, loadings, system="R, psych 2.2.9: principal", atol=2e-5)
    np.testing.assert_allclose(pca.explained_variance_, explained, atol=2e-5)


@pytest.mark.parametrize(
    ("rotation", "loadings", "scores", "correlations"),
    [
        ("varimax", psych.VARIMAX_LOADINGS, psych.VARIMAX_SCORES, np.eye(3)),
        ("oblimin", psych.OBLIMIN_LOADINGS, psych.OBLIMIN_SCORES, psych.OBLIMIN_CORRELATIONS),
    ],
)
def test_scores_are_those_of_psych(rotation, loadings, scores, correlations):
    pca = PCA(3, standardize=True, rotation=rotation).fit(DATA)
    signs = np.sign(np.sum(pca.loadings_ * loadings, axis=0))
    np.testing.assert_allclose(pca.transform(DATA)[:2] * signs, scores, atol=5e-5)
    np.testing.assert_allclose(pca.component_correlations_ * np.outer(signs, signs), correlations, atol=2e-5)


def test_scores_have_unit_variance_and_the_correlations_of_the_components(rotated):
    Z = rotated.transform(DATA)
    np.testing.assert_allclose(np.cov(Z.T), rotated.component_correlations_, atol=1e-12)
    np.testing.assert_allclose(rotated.correlations(), np.corrcoef(DATA.T, Z.T)[:10, 10:], atol=1e-12)
    np.testing.assert_allclose(rotated.cos2(), rotated.correlations() ** 2, atol=1e-12)
    np.testing.assert_allclose(rotated.loadings_, rotated.components_.T * np.sqrt(rotated.explained_variance_))
    np.testing.assert_allclose(rotated.contributions().sum(axis=0), 100.0)
    np.testing.assert_allclose(rotated.contributions(DATA).sum(axis=0), 100.0)


def test_the_space_is_the_same(rotated):
    np.testing.assert_allclose(
        rotated.inverse_transform(rotated.transform(DATA)), PLAIN.inverse_transform(PLAIN.transform(DATA)), rtol=1e-10
    )
    np.testing.assert_allclose(rotated.score_samples(DATA), PLAIN.score_samples(DATA), rtol=1e-10)
    np.testing.assert_allclose(rotated.reconstruction_error(DATA), PLAIN.reconstruction_error(DATA), rtol=1e-9)
    np.testing.assert_allclose(rotated.explained_variance_.sum(), PLAIN.explained_variance_.sum(), rtol=1e-12)
    np.testing.assert_array_equal(rotated.singular_values_, PLAIN.singular_values_)
    np.testing.assert_allclose(rotated.outliers(DATA).t2, PLAIN.outliers(DATA).t2, rtol=1e-10)


def test_other_ways_to_fit_rotate_too(tmp_path, rotated):
    name = rotated.rotation
    parts = PCA(3, standardize=True, rotation=name).partial_fit(DATA[:20]).partial_fit(DATA[20:])
    np.testing.assert_allclose(parts.loadings_, rotated.loadings_, atol=1e-7)
    S = np.cov(DATA.T)
    matrix = PCA(3, standardize=True, rotation=name).fit_covariance(S, n_samples=41)
    np.testing.assert_allclose(matrix.loadings_, rotated.loadings_, atol=1e-7)
    fewer = PCA(5, standardize=True, rotation=name).fit(DATA).truncated(3)
    np.testing.assert_allclose(fewer.loadings_, rotated.loadings_, atol=1e-7)
    rotated.save(tmp_path / "pca.safetensors")
    again = load(tmp_path / "pca.safetensors")
    np.testing.assert_array_equal(again.transform(DATA), rotated.transform(DATA))
    np.testing.assert_array_equal(again.explained_variance_, rotated.explained_variance_)
    assert again.rotation == name


def test_the_criterion_is_that_of_correlations_whatever_the_units():
    raw = PCA(2, rotation="oblimin").fit(DATA)
    L, deviations = PCA(2).fit(DATA).loadings_, DATA.std(axis=0, ddof=1)
    expected = oblimin(L / deviations[:, None]).loadings * deviations[:, None]
    np.testing.assert_allclose(raw.loadings_, expected, atol=1e-6)


def test_missing_values_float32_and_frames():
    X = DATA.copy()
    X[::5, 3] = np.nan
    pca = PCA(3, standardize=True, rotation="varimax", missing="em").fit(X)
    assert np.all(np.isfinite(pca.transform(X)))
    assert PCA(2, rotation="varimax").fit_transform(DATA.astype(np.float32)).dtype == np.float32
    frame = pl.DataFrame(DATA, schema=list(EVENTS))
    found = PCA(3, standardize=True, rotation="varimax").fit(frame)
    np.testing.assert_allclose(with_signs(found.loadings_, psych.VARIMAX_LOADINGS), psych.VARIMAX_LOADINGS, atol=1e-7)


def test_supplementary_columns_lie_on_rotated_components(rotated):
    found = rotated.supplementary({"points": POINTS, "competition": COMPETITION})
    Z = rotated.transform(DATA)
    np.testing.assert_allclose(found.correlations[0], np.corrcoef(POINTS, Z.T)[0, 1:], atol=1e-12)
    means = found.categories["competition"].coordinates
    np.testing.assert_allclose(means[0], Z[:13].mean(axis=0), atol=1e-12)
    assert np.all(np.isnan(found.categories["competition"].cos2))


def test_replicates_of_the_bootstrap_are_rotated_and_matched():
    pca = PCA(2, standardize=True, rotation="varimax").fit(DATA)
    low, high = pca.bootstrap(DATA, 100, random_state=0).interval("loadings", 0.99)
    assert np.mean((low <= pca.loadings_) & (pca.loadings_ <= high)) > 0.9


def test_tables_plots_and_the_command_line_call_them_rc(rotated):
    table = tables.biplot(rotated, DATA, [1, 2, 3])
    part = (rotated.inverse_transform(rotated.transform(DATA)) - rotated.mean_) / rotated.scale_
    np.testing.assert_allclose(table.rows @ table.columns.T, part, atol=1e-10)
    assert plot.scores(rotated, DATA).get_xlabel().startswith("RC1 (")
    assert plot.biplot(rotated, DATA).get_ylabel().startswith("RC2 (")
    assert plot.correlation_circle(rotated).get_xlabel().startswith("RC1 (")
    assert plot.contributions(rotated).get_xlabel().startswith("contribution to RC1 (")
    drawn = latent_tables.rotation(rotated)
    np.testing.assert_allclose(drawn.after.values, rotated.loadings_, atol=1e-10)
    np.testing.assert_allclose(drawn.before.values, PLAIN.loadings_, atol=1e-10)
    assert (drawn.before.stem, drawn.after.stem) == ("PC", "RC")
    assert latent_tables.rotation(PLAIN.model_).before.stem == "PC"
    assert str(tables.loadings(rotated)).splitlines()[0].split() == ["loading", "RC1", "RC2", "RC3"]
    assert "RC1" in pca_summary(rotated)[1]
    assert "PC1" in pca_summary(PLAIN)[1]


def test_what_cannot_be_done_says_so(rotated):
    with pytest.raises(OptionError, match="not orthogonal"):
        rotated.cos2(DATA)
    with pytest.raises(DataError, match="3 columns"):
        rotated.inverse_transform(rotated.transform(DATA)[:, :2])
    with pytest.raises(OptionError, match="whiten='zca'"):
        PCA(3, whiten="zca", rotation="varimax").fit(DATA)
    with pytest.raises(OptionError, match="rotation='varimux'"):
        PCA(3, rotation="varimux").fit(DATA)
    with pytest.raises(OptionError, match="rotation_options"):
        PCA(3, rotation="varimax", rotation_options={"gama": 1.0}).fit(DATA)
    turned = PCA(3, standardize=True, rotation=lambda L: np.eye(3)).fit(DATA)
    np.testing.assert_allclose(turned.loadings_, PLAIN.loadings_)


@pytest.mark.parametrize("k", [0, 1])
def test_one_component_or_none_is_rotated_to_itself(k, rotated):
    pca = PCA(k, standardize=True, rotation=rotated.rotation).fit(DATA)
    np.testing.assert_allclose(pca.loadings_, PLAIN.loadings_[:, :k])
    np.testing.assert_allclose(
        pca.transform(DATA), PLAIN.transform(DATA)[:, :k] / np.sqrt(PLAIN.explained_variance_[:k])
    )
