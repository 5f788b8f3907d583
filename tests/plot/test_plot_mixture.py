"""Mixtures in tables and plots: the axes show the tables, and the tables equal the model's results."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from eigenlens.densities.covariance import Diagonal
from eigenlens.densities.gaussian import Gaussian
from eigenlens.densities.mixture import Mixture
from eigenlens.errors import DataError, OptionError
from eigenlens.mixture import tables as mixture_tables
from eigenlens.mixture.estimator import GaussianMixture
from eigenlens.mixture.select import select_mixture
from eigenlens.plot._mixture import mixture, mixture_density, mixture_selection, responsibilities
from references import crabs, mclust


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0, 0.0], [6.0, 1.0, 0.0], [0.0, 5.0, 3.0]])
    return np.concatenate([c + rng.standard_normal((40, 3)) for c in centres])


@pytest.fixture(scope="module")
def model(rows):
    return GaussianMixture(3, random_state=0, n_init=4).fit(rows)


def words(legend):
    return [text.get_text() for text in legend.get_texts()]


# ---- ellipses -----------------------------------------------------------------------------------------------


def test_components_that_differ_without_any_variance_are_the_farthest_apart():
    smallest = np.nextafter(0.0, 1.0)  # half of it is zero
    covariance = Diagonal(np.array([smallest, smallest, 1.0]))
    parts = tuple(Gaussian(np.array([m, 0.0, m]), covariance) for m in (-2.0, 2.0))
    np.testing.assert_array_equal(
        mixture_tables.component_separation(Mixture(np.full(2, 0.5), parts)), [np.inf, 0.0, 4.0]
    )


def test_ellipses_hold_their_share(model, rows):
    table = mixture_tables.ellipses(model, rows, (2, 0), levels=[0.3, 0.9])
    assert table.names == ("x2", "x0")
    for k in range(3):
        C = model.covariances_[k][np.ix_([2, 0], [2, 0])]
        for level, outline in zip(table.levels, table.outlines[k], strict=True):
            D = outline - model.means_[k, [2, 0]]
            distance = np.einsum("ij,ij->i", D, np.linalg.solve(C, D.T).T)
            np.testing.assert_allclose(distance, chi2(2).ppf(level), rtol=1e-9)
    np.testing.assert_array_equal(table.labels, model.predict(rows))
    np.testing.assert_array_equal(table.rows, rows[:, [2, 0]])


def test_ellipses_and_rows_are_drawn(model, rows):
    ax = mixture(model, rows, ("x0", 1), names=["x0", "$b$", "c"])
    table = mixture_tables.ellipses(model, rows, (0, 1))
    lines = [line for line in ax.lines if len(line.get_xdata()) > 1]
    assert len(lines) == 6
    np.testing.assert_allclose(np.column_stack(lines[3].get_data()), table.outlines[1, 1])
    assert sum(len(part.get_offsets()) for part in ax.collections) == len(rows)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x0", "$b$")
    assert words(ax.get_legend())[0] == f"0: {100 * model.weights_[0]:.3g}%"
    ax.figure.canvas.draw()


def test_ellipses_without_rows_of_a_frozen_mixture_on_given_axes(model):
    ax = plt.figure().add_subplot()
    assert mixture(model.model_, ax=ax) is ax
    assert not ax.collections


def test_incomplete_rows_in_the_plane_are_counted(model, rows):
    X = rows.copy()
    X[:7, 0] = np.nan
    X[7:10, 2] = np.nan
    ax = mixture(model, pd.DataFrame(X))
    assert "7 rows with missing values here not shown" in ax.get_title(loc="left")
    assert sum(len(part.get_offsets()) for part in ax.collections) == len(rows) - 7


def test_colour_of_the_rows_may_be_given(model, rows):
    ax = mixture(model, rows, color=np.repeat(["a", "b"], 60))
    assert len(ax.collections) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": (0, 0)}, "columns names the column 0 twice"),
        ({"columns": (0, 3)}, "columns=3 is not one of the 3 columns; .* number from 0 to 2"),
        ({"columns": (0, "z")}, "columns='z' is not one of the 3 columns"),
        ({"columns": (0, 1, 2)}, "columns names 3 columns; give 2 of the 3"),
        ({"levels": [0.5, 1.0]}, "levels=1.0"),
        ({"names": ["a"]}, "names has 1 entries"),
    ],
)
def test_bad_options(model, rows, options, message):
    with pytest.raises(OptionError, match=message):
        mixture(model, rows, **options)


def test_other_models_are_rejected(rows):
    with pytest.raises(OptionError, match="not a mixture"):
        mixture(object(), rows)


# ---- one dimension ------------------------------------------------------------------------------------------


def test_parts_add_to_the_density_and_that_to_one(model, rows):
    table = mixture_tables.line(model, rows, 1)
    np.testing.assert_allclose(table.density, np.exp(model.marginal([1]).log_density(table.x[:, None])), rtol=1e-10)
    assert np.trapezoid(table.density, table.x) == pytest.approx(1.0, abs=1e-3)
    np.testing.assert_allclose(np.trapezoid(table.parts, table.x, axis=1), model.weights_, atol=1e-3)
    assert table.heights @ np.diff(table.edges) == pytest.approx(1.0)


def test_crabs_over_their_bins():
    fit = GaussianMixture(2, random_state=0, n_init=4).fit_binned(crabs.EDGES, crabs.COUNTS)
    ax = mixture_density(fit, bins=(crabs.EDGES, crabs.COUNTS), names=["ratio"])
    table = mixture_tables.line(fit, bins=(crabs.EDGES, crabs.COUNTS))
    np.testing.assert_allclose(table.heights, crabs.COUNTS / 4.0)
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), table.density)
    assert words(ax.get_legend()) == ["mixture", "component 0: 56.7%", "component 1: 43.3%"]
    assert ax.get_xlabel() == "ratio"
    ax.figure.canvas.draw()


def test_open_bins_are_not_drawn_but_counted():
    fit = GaussianMixture(random_state=0).fit_binned([-np.inf, 0.0, 1.0, np.inf], [2, 5, 3])
    table = mixture_tables.line(fit, bins=([-np.inf, 0.0, 1.0, np.inf], [2, 5, 3]))
    np.testing.assert_array_equal(table.edges, [0.0, 1.0])
    np.testing.assert_allclose(table.heights, [0.5])


def test_one_column_is_drawn_as_a_line(rows):
    fit = GaussianMixture(2, random_state=0, n_init=2).fit(rows[:, :1])
    ax = mixture(fit, rows[:, :1])
    assert ax.get_ylabel() == "density"
    assert len(mixture_density(GaussianMixture().fit(rows), rows, 2, bins=7).lines) == 1


def test_another_number_of_columns_is_rejected(model, rows):
    with pytest.raises(DataError, match="X has 2 columns, but the mixture has 3"):
        mixture_density(model, rows[:, :2])
    with pytest.raises(DataError, match="X has 2 columns, but the mixture has 3"):
        responsibilities(model.model_, rows[:, :2])


# ---- responsibilities ---------------------------------------------------------------------------------------


def test_rows_stand_by_component_and_certainty(model, rows):
    table = mixture_tables.shares(model, rows)
    np.testing.assert_array_equal(np.sort(table.order), np.arange(len(rows)))
    np.testing.assert_allclose(table.values, model.predict_proba(rows)[table.order])
    assert np.all(np.diff(table.labels) >= 0)
    for k in (0, 1, 2):
        assert np.all(np.diff(table.values[table.labels == k, k]) <= 0.0)
    assert table.uncertain == np.count_nonzero(model.predict_proba(rows).max(axis=1) < 0.9)


@pytest.mark.parametrize("copies", [1, 50])
def test_heights_add_to_one(model, rows, copies):
    ax = responsibilities(model, np.tile(rows, (copies, 1)))
    bands = ax.collections
    assert len(bands) == 3
    top = bands[2].get_paths()[0].vertices[:, 1]
    assert top.max() == pytest.approx(1.0)
    assert ax.get_xlim() == (0.0, 120.0 * copies)
    assert words(ax.get_legend()) == ["0", "1", "2"]
    area = sum(_area(band.get_paths()[0].vertices) for band in bands)
    assert area == pytest.approx(120.0 * copies)
    shares = model.predict_proba(rows).mean(axis=0)
    assert _area(bands[1].get_paths()[0].vertices) == pytest.approx(120.0 * copies * shares[1])
    ax.figure.canvas.draw()


def _area(polygon):
    x, y = polygon.T
    return 0.5 * abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))


# ---- selection ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def selection():
    return select_mixture(mclust.FAITHFUL, range(1, 4), random_state=0, n_init=4)


def test_curves_are_the_tables(selection):
    table = mixture_tables.curves(selection)
    assert table.criterion == "bic"
    assert table.best == (selection.types[0], selection.components[0])
    assert sorted(table.types) == ["diag", "full", "spherical", "tied"]
    for name, K, values in zip(table.types, table.components, table.values, strict=True):
        np.testing.assert_array_equal(K, [1, 2, 3])
        for k, value in zip(K, values, strict=True):
            i = next(i for i, kind in enumerate(selection.types) if kind == name and selection.components[i] == k)
            assert value == selection.bic[i]
    assert mixture_tables.curves(selection, "icl").best == ("full", 2)


def test_curves_are_drawn_and_the_best_marked(selection):
    ax = mixture_selection(selection)
    assert words(ax.get_legend()) == list(mixture_tables.curves(selection).types)
    assert ax.get_title(loc="left").startswith("best: tied, 3 components; ")
    assert "fits outside the frame" in ax.get_title(loc="left")
    mark = ax.lines[-1]
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (3, selection.bic[0])
    low, high = ax.get_ylim()
    assert low < selection.bic[0] < high < selection.bic.max()
    assert mixture_selection(selection, "icl").get_ylabel() == "ICL"
    ax.figure.canvas.draw()


def test_collapsed_fits_are_hollow_and_failures_reported():
    X = np.concatenate([np.random.default_rng(0).standard_normal((8, 2)), np.full((6, 2), 9.0)])
    ax = mixture_selection(select_mixture(X, [1, 3, 20], ["full"], random_state=0))
    said = ax.get_title(loc="left")
    assert "hollow: a component collapsed" in said
    assert "1 fits failed" in said
    assert any(line.get_fillstyle() == "none" and len(line.get_xdata()) == 1 for line in ax.lines)


def test_nothing_to_draw(selection):
    with pytest.raises(DataError, match="has no held_out"):
        mixture_selection(selection, "held_out")
    with pytest.raises(OptionError, match="criterion='dic'"):
        mixture_selection(selection, "dic")


def test_colours_are_those_of_the_rows_that_are_shown():
    X = np.random.default_rng(0).standard_normal((8, 2))
    model = GaussianMixture(1, n_init=1).fit(X)
    X[[0, 3], 1] = np.nan
    drawn = mixture(model, X, color=np.arange(8.0)).collections[0]
    np.testing.assert_array_equal(drawn.get_array(), [1.0, 2.0, 4.0, 5.0, 6.0, 7.0])
    np.testing.assert_allclose(drawn.get_offsets(), X[[1, 2, 4, 5, 6, 7]])
