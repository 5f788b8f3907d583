"""Latent Gaussians in tables and plots: the axes show the tables, and the tables equal the model's results."""

from __future__ import annotations

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from eigenlens import PCA, plot
from eigenlens.data.coerce import as_source
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.errors import DataError, OptionError
from eigenlens.latent import tables as latent_tables
from eigenlens.latent.factor.estimator import FactorAnalysis
from eigenlens.latent.ppca.estimator import ProbabilisticPCA
from eigenlens.pca import tables
from eigenlens.pca.model import PrincipalComponents
from eigenlens.plot._style import BLUE, VERMILLION
from eigenlens.rotation import rotate, varimax
from eigenlens.tables.rows import first_rows

NAMES = ("a", "b", "c", "d", "e", "f")
SIMPLE = np.array([[0.9, 0.0], [0.1, 0.6], [0.8, 0.0], [0.0, 0.7], [0.7, 0.1], [0.0, 0.5]])
TURN = np.array([[0.6, 0.8], [-0.8, 0.6]])


@pytest.fixture(scope="module")
def frozen():
    return LinearGaussian(np.arange(6.0), SIMPLE @ TURN, np.array([0.1, 0.4, 0.2, 0.3, 0.001, 0.6]))


@pytest.fixture(scope="module")
def fitted(frozen):
    """What estimators of latent Gaussians show of themselves."""
    return SimpleNamespace(
        loadings_=frozen.loadings,
        noise_variance_=frozen.noise,
        loglik_path_=np.array([-130.0, -121.0, -120.5, -120.25]),
        converged_=False,
        feature_names_in_=np.array(NAMES),
        impute=lambda X, return_std: frozen.impute(first_rows(X), return_std=return_std),
    )


@pytest.fixture(scope="module")
def rows(frozen):
    """Ten rows; entries are missing in column b (3), d (2) and f (1)."""
    X = frozen.sample(10, np.random.default_rng(0))
    X[[1, 4, 7], 1] = X[[2, 4], 3] = X[9, 5] = np.nan
    return X


def words(ax):
    return [text.get_text() for text in ax.texts]


def ticks(ax, axis):
    return [text.get_text() for text in getattr(ax, f"get_{axis}ticklabels")()]


def in_legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# ---- likelihood -------------------------------------------------------------------------------------------


def test_path_draws_the_steps_and_says_where_it_ended(fitted):
    ax = plot.likelihood_path(fitted)
    assert_allclose(ax.lines[0].get_xydata(), np.column_stack([np.arange(1, 5), fitted.loglik_path_]))
    assert_allclose(ax.lines[1].get_xydata(), [[4, -120.25]])
    assert ax.get_title(loc="left") == "log-likelihood −120.25 after 4 steps, not converged"


def test_path_on_a_logarithmic_axis_is_the_distance_from_the_highest(fitted):
    ax = plot.likelihood_path(fitted, log=True)
    assert ax.get_yscale() == "log"
    assert_allclose(ax.lines[0].get_xydata(), [[1, 9.75], [2, 0.75], [3, 0.25]])


def test_paths_of_several_models_are_measured_from_the_best_of_them(fitted):
    other = SimpleNamespace(loglik_path_=(-140.0, -120.0), converged_=True)
    ax = plot.likelihood_path({"_slow": fitted, "$fast": other}, log=True)
    assert_allclose(ax.lines[0].get_ydata(), [10.0, 1.0, 0.5, 0.25])
    assert_allclose(ax.lines[1].get_xydata(), [[4, 0.25]])  # the mark of one that stopped short
    assert_allclose(ax.lines[2].get_ydata(), [20.0])
    assert in_legend(ax) == [
        "_slow: log-likelihood −120.25 after 4 steps, not converged",
        "$fast: log-likelihood −120.00 after 2 steps",
    ]


def test_a_closed_form_is_one_step(fitted):
    closed = SimpleNamespace(loglik_path_=[-12.0])
    assert plot.likelihood_path(closed).get_title(loc="left") == "log-likelihood −12.00 in one step"
    with pytest.raises(OptionError, match="log=True needs a step below the maximum"):
        plot.likelihood_path(closed, log=True)


# ---- loadings and rotation --------------------------------------------------------------------------------


def test_loadings_accept_estimators_and_frozen_models(fitted, frozen):
    for model in (fitted, frozen):
        ax = plot.loadings(model, [2, 1], names=NAMES)
        assert_allclose(ax.images[0].get_array(), frozen.loadings[:, [1, 0]])
        assert ticks(ax, "y") == list(NAMES)
        total = np.trace(frozen.covariance())
        shares = 100.0 * (frozen.loadings**2).sum(axis=0) / total
        assert ticks(ax, "x") == [f"F2\n({shares[1]:.1f}%)", f"F1\n({shares[0]:.1f}%)"]


def test_names_may_be_an_iterator(frozen):
    assert ticks(plot.loadings(frozen, names=iter(NAMES)), "y") == list(NAMES)


def test_shares_of_correlated_factors_sum_to_what_they_hold_together(frozen):
    found = rotate(frozen.loadings, "oblimin", scale=np.sqrt(np.diag(frozen.covariance())))
    model = SimpleNamespace(
        loadings_=found.loadings, factor_correlations_=found.correlations, noise_variance_=frozen.noise
    )
    whole = np.trace(frozen.covariance())
    assert_allclose(latent_tables.latent_loadings(model).shares.sum(), 100.0 * (1.0 - frozen.noise.sum() / whole))
    assert_allclose(latent_tables.noise(model).common, np.diag(frozen.loadings @ frozen.loadings.T))


def test_loadings_of_many_columns_are_lines_with_factors_named():
    model = LinearGaussian(np.zeros(80), np.random.default_rng(0).standard_normal((80, 2)), np.linspace(1, 2, 80))
    ax = plot.loadings(model)
    assert_allclose([line.get_ydata() for line in ax.lines[:2]], model.loadings.T)
    assert in_legend(ax)[0].startswith("F1 (")


def test_rotation_shows_both_in_groups(frozen):
    ax = plot.rotation(frozen, "varimax", names=NAMES)
    cells = np.ma.filled(ax.images[0].get_array(), np.nan)
    after = varimax(frozen.loadings).loadings
    order = [NAMES.index(name) for name in ticks(ax, "y")]
    assert_allclose(cells[:, :2], frozen.loadings[order])
    assert np.isnan(cells[:, 2]).all()
    assert_allclose(cells[:, 3:], after[order])
    assert ticks(ax, "y") == ["a", "c", "e", "d", "b", "f"]  # by factor, and in it the largest first
    assert words(ax)[-2:] == ["unrotated", "varimax"]
    assert ax.get_xlabel() == ""
    assert ticks(plot.rotation(frozen, names=NAMES, sort=False), "y") == list(NAMES)


def test_rotation_of_rotated_loadings_starts_from_those_before(frozen):
    found = rotate(frozen.loadings, "oblimin", scale=np.sqrt(np.diag(frozen.covariance())))
    model = SimpleNamespace(
        loadings_=found.loadings, noise_variance_=frozen.noise, rotation_matrix_=found.matrix, rotation="oblimin"
    )
    table = latent_tables.rotation(model)
    assert table.name == "oblimin"
    assert_allclose(table.before.values, frozen.loadings, atol=1e-12)
    assert_allclose(table.after.values, found.loadings, atol=1e-8)
    assert_allclose(table.before.shares.sum(), table.after.shares.sum())
    assert plot.rotation(model).get_xlabel() == f"the factors correlate {found.correlations[0, 1]:.2f}"


def test_rotated_principal_components_are_not_called_principal():
    X = np.random.default_rng(0).standard_normal((50, 5)) * [3.0, 2.0, 2.0, 1.0, 1.0]
    model = PCA(3).fit(X)
    table = latent_tables.rotation(model, "quartimax")
    assert_allclose(table.before.values, model.loadings_)
    assert_allclose(table.before.shares, 100.0 * model.explained_variance_ratio_)
    assert_allclose(table.after.shares.sum(), table.before.shares.sum())
    assert (table.before.stem, table.after.stem) == ("PC", "RC")
    labels = ticks(plot.rotation(model), "x")
    assert (labels[0][:3], labels[-1][:3]) == ("PC1", "RC3")


def test_rotation_by_ones_own_function_and_of_the_largest_only(frozen):
    def swapped(L):
        return np.eye(2)[:, ::-1]

    table = latent_tables.rotation(frozen, swapped)
    assert table.name == "swapped"
    assert_allclose(table.after.values, frozen.loadings[:, ::-1])
    ax = plot.rotation(frozen, swapped, names=NAMES, top=2)
    assert sorted(ticks(ax, "y")) == ["a", "c"]
    assert ax.get_xlabel() == "2 of 6 columns, those with the largest loadings"


# ---- noise ------------------------------------------------------------------------------------------------


def test_noise_bars_are_sorted_shares_of_the_variance(fitted, frozen):
    ax = plot.noise(fitted)
    shares = 100.0 * frozen.noise / np.diag(frozen.covariance())
    order = np.argsort(-shares)
    widths = np.array([bar.get_width() for bar in ax.patches]).reshape(2, 6)
    assert_allclose(widths[0], shares[order])
    assert_allclose(widths.sum(axis=0), 100.0)
    assert ticks(ax, "y") == [NAMES[j] for j in order]
    assert ax.get_xlabel().splitlines()[-1] == "with almost no noise: e"


def test_noise_in_the_units_of_the_data(fitted, frozen):
    ax = plot.noise(fitted, share=False, top=3)
    widths = np.array([bar.get_width() for bar in ax.patches]).reshape(2, 3)
    order = np.argsort(-frozen.noise)[:3]
    assert_allclose(widths[0], frozen.noise[order])
    assert_allclose(widths.sum(axis=0), np.diag(frozen.covariance())[order])
    assert "3 of 6 columns, most noise first" in ax.get_xlabel()


def test_one_noise_variance_for_all(frozen):
    model = LinearGaussian(frozen.mean, frozen.loadings, 0.001)
    assert_allclose(latent_tables.noise(model).noise, 0.001)
    assert plot.noise(model).get_xlabel() == "share of the variable's variance (%)"  # low noise is no surprise here


# ---- imputation -------------------------------------------------------------------------------------------


def drawn(ax):
    """Observed points, imputed points and their intervals, as they stand on the axes."""
    marks = [line for line in ax.lines if line.get_marker() == "o"]
    seen, filled = ([m.get_xydata() for m in marks if to_hex(m.get_color()) == c.lower()] for c in (BLUE, VERMILLION))
    intervals = [np.array(part.get_segments())[:, :, 1] for part in ax.collections]
    return seen, filled, intervals


def test_one_column_is_drawn_in_its_units(fitted, frozen, rows):
    ax = plot.imputed(fitted, rows, "b")
    filled, std = frozen.impute(rows, return_std=True)
    gone = [1, 4, 7]
    seen, imputed, intervals = drawn(ax)
    assert_allclose(seen[0], [(i, rows[i, 1]) for i in range(10) if i not in gone])
    assert_allclose(imputed[0], np.column_stack([gone, filled[gone, 1]]))
    half = 1.959964 * std[gone, 1]
    assert_allclose(intervals[0], np.column_stack([filled[gone, 1] - half, filled[gone, 1] + half]), rtol=1e-6)
    assert ax.get_ylabel() == "b"
    assert in_legend(ax) == ["observed", "imputed, with 95% interval"]


def test_a_level_and_chosen_rows(fitted, frozen, rows):
    table = latent_tables.imputed(
        fitted, rows, ["f", 1], rows=[9, 1], level=0.5, labels=[f"row {i}" for i in range(10)]
    )
    assert (table.names, table.labels, table.more) == (("f", "b"), ("row 9", "row 1"), False)
    filled, std = frozen.impute(rows, return_std=True)
    assert_allclose(table.values, filled[[9, 1]][:, [5, 1]])
    assert_allclose(table.margin, 0.6744898 * std[[9, 1]][:, [5, 1]], rtol=1e-6)
    assert table.missing.tolist() == [[True, False], [False, True]]
    assert ticks(plot.imputed(fitted, rows, rows=[9, 1], labels=range(10)), "x") == ["9", "1"]


def test_columns_with_missing_entries_come_first_and_in_bands(fitted, rows):
    assert latent_tables.imputed(fitted, rows).names == ("b", "d", "f")
    ax = plot.imputed(fitted, rows)
    assert words(ax) == ["b", "d", "f"]
    seen, imputed, intervals = drawn(ax)
    parts = zip(seen, imputed, intervals, strict=True)
    spans = [np.concatenate([s[:, 1], i[:, 1], e.ravel()]) for s, i, e in parts]
    for j, span in enumerate(spans):  # each fills a band of its own
        assert_allclose([span.min(), span.max()], [-1.25 * j, -1.25 * j + 1.0], atol=1e-9)


def test_ticks_of_bands_are_in_the_units_of_their_columns(fitted, rows):
    ax = plot.imputed(fitted, rows)
    table = latent_tables.imputed(fitted, rows)
    low = (table.values - table.margin).min(axis=0)
    high = (table.values + table.margin).max(axis=0)
    for place, label in zip(ax.get_yticks(), ticks(ax, "y"), strict=True):
        j = int(np.ceil(-place / 1.25))
        assert_allclose(low[j] + (place + 1.25 * j) * (high[j] - low[j]), float(label.replace("−", "-")), atol=1e-9)


def test_frozen_models_frames_and_sources_give_the_same_table(fitted, frozen, rows):
    wanted = latent_tables.imputed(fitted, rows)
    for model, X in ((frozen, rows), (fitted, pd.DataFrame(rows, columns=NAMES)), (frozen, as_source(rows))):
        found = latent_tables.imputed(model, X, names=NAMES)
        assert_allclose(found.values, wanted.values)
        assert_allclose(found.std, wanted.std)


def test_long_tables_show_their_first_rows_and_say_so(frozen):
    X = frozen.sample(300, np.random.default_rng(0))
    X[::7, 2] = np.nan
    ax = plot.imputed(frozen, X, labels=range(300))
    assert ax.get_title(loc="left") == "the first 160 rows"
    assert sum(len(part) for part in drawn(ax)[:2] for part in [np.concatenate(part)]) == 160


# ---- all of them ------------------------------------------------------------------------------------------

PICTURES = {
    "likelihood_path": lambda m, X, **how: plot.likelihood_path(m, **how),
    "loadings": lambda m, X, **how: plot.loadings(m, **how),
    "rotation": lambda m, X, **how: plot.rotation(m, **how),
    "noise": lambda m, X, **how: plot.noise(m, **how),
    "imputed": lambda m, X, **how: plot.imputed(m, X, **how),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", PICTURES)
def test_given_axes_are_drawn_on_and_no_figure_is_made(fitted, rows, name, tmp_path):
    ax = Figure().subplots()
    assert PICTURES[name](fitted, rows, ax=ax) is ax
    assert plt.get_fignums() == []
    ax.figure.savefig(tmp_path / "picture.pdf")


@pytest.mark.few(2)
@pytest.mark.parametrize("name", PICTURES)
def test_names_are_never_read_as_mathematics(fitted, rows, name, tmp_path):
    odd = np.array(["$x_", "\\alpha$", "_hidden", "a$b$c", "$\\frac{1}{", "^$"])
    ax = PICTURES[name](SimpleNamespace(**(vars(fitted) | {"feature_names_in_": odd})), rows)
    ax.figure.savefig(tmp_path / "picture.png")  # unbalanced mathematics would raise here


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m, X: plot.likelihood_path(object()), OptionError, "model=object has no likelihood path"),
        (lambda m, X: plot.likelihood_path(m, log=1), OptionError, "log=1 must be True or False"),
        (lambda m, X: plot.noise(object()), OptionError, "model=object has no loadings and noise"),
        (lambda m, X: plot.loadings(object()), OptionError, "model=object has no loadings and noise"),
        (lambda m, X: plot.loadings(m, [3]), OptionError, "components=3 must be at most 2, the number of factors"),
        (lambda m, X: plot.noise(m, names=["a"]), OptionError, "names has 1 entries, but there are 6 columns"),
        (
            lambda m, X: plot.rotation(m, "varimin"),
            OptionError,
            "rotation='varimin' is not known; did you mean 'varima",
        ),
        (lambda m, X: plot.rotation(m, top=0), OptionError, "top=0 must be at least 1"),
        (lambda m, X: plot.imputed(m, X, "z"), OptionError, "columns='z' is not one of the 6 columns"),
        (lambda m, X: plot.imputed(m, X, 6), OptionError, "columns=6 is not one of the 6 columns.* from 0 to 5"),
        (lambda m, X: plot.imputed(m, X, []), OptionError, "columns names 0 columns; give between 1 and 6"),
        (lambda m, X: plot.imputed(m, X, rows=[10]), OptionError, "rows=10 must be at most 9"),
        (lambda m, X: plot.imputed(m, X, rows=[]), OptionError, r"rows=\(\) is empty"),
        (lambda m, X: plot.imputed(m, X, level=95), OptionError, "level=95 must be a number above 0 and below 1"),
        (lambda m, X: plot.imputed(m, X, list(range(6)) * 2), OptionError, "columns names the column 0 twice"),
        (lambda m, X: plot.imputed(m, X, rows=[0]), DataError, "no missing entry in these rows"),
        (lambda m, X: plot.imputed(m, X, labels=["a"]), DataError, "labels has 1 entries, but X has 10 rows"),
        (lambda m, X: plot.imputed(object(), X, names=NAMES), OptionError, "model=object cannot impute"),
    ],
)
def test_wrong_arguments_are_named_and_leave_no_figure(fitted, rows, call, error, message):
    with pytest.raises(error, match=message):
        call(fitted, rows)
    assert plt.get_fignums() == []


def test_more_columns_than_can_be_read_are_rejected():
    wide = LinearGaussian(np.zeros(7), np.ones((7, 1)), 1.0)
    with pytest.raises(OptionError, match="columns has 7 entries, but at most 6 can be read"):
        plot.imputed(wide, np.ones((3, 7)), range(7))


@pytest.fixture(scope="module")
def frame(frozen):
    """Incomplete rows of a model in which every variable has noise of its own: no Heywood case to warn of."""
    X = LinearGaussian(frozen.mean, frozen.loadings, frozen.noise + 0.2).sample(150, np.random.default_rng(0))
    X[::9, 1] = np.nan
    return pd.DataFrame(X, columns=NAMES)


@pytest.fixture(scope="module", params=[ProbabilisticPCA(2), FactorAnalysis(2, rotation="promax", standardize=True)])
def estimator(request, frame):
    return request.param.fit(frame)


@pytest.mark.parametrize("name", PICTURES)
def test_estimators_fitted_on_a_frame_with_missing_values(estimator, frame, name):
    ax = PICTURES[name](estimator, frame)
    shown = {*words(ax), *ticks(ax, "y"), ax.get_ylabel()}
    assert {"likelihood_path": "log-likelihood"}.get(name, "b") in shown


def test_factor_analysis_before_its_rotation_is_factor_analysis_without_one(frame):
    plain, turned = (FactorAnalysis(2, rotation=rotation).fit(frame) for rotation in (None, "oblimin"))
    table = latent_tables.rotation(turned)
    assert_allclose(table.before.values, plain.loadings_, atol=1e-10)
    assert_allclose(table.after.values, turned.loadings_, atol=1e-10)
    assert_allclose(table.correlations, turned.factor_correlations_, atol=1e-10)
    assert_allclose(latent_tables.noise(turned).shares, 100.0 * turned.uniquenesses_)


def test_tables_of_pca_are_those_of_the_other_tables():
    X = np.random.default_rng(0).standard_normal((30, 4))
    model = PCA(2).fit(X)
    assert isinstance(model.model_, PrincipalComponents)
    assert_allclose(latent_tables.latent_loadings(model, [2]).values, tables.loadings(model, [2]).values)


# ---- what a look at the pictures found ----------------------------------------------------------------------


def test_one_step_has_one_tick(fitted):
    closed = SimpleNamespace(loglik_path_=np.array([-8254.3]), converged_=True)
    ax = plot.likelihood_path(closed)
    assert ax.get_xlim() == (0.5, 1.5)
    assert ax.get_xticks().tolist() == [1]
    assert plot.likelihood_path(fitted).get_xlim() == (0.5, 4.5)


def test_small_variances_beside_large_ones_are_not_written_as_zero():
    wide = SimpleNamespace(loadings_=np.array([[6.0], [3.0], [2.0]]), noise_variance_=np.array([9.97, 0.43, 0.004]))
    assert words(plot.noise(wide, share=False)) == ["10", "0.43", "<0.01"]
    small = SimpleNamespace(loadings_=np.array([[0.1], [0.1]]), noise_variance_=np.array([0.004, 0.00012]))
    assert words(plot.noise(small, share=False)) == ["0.004", "0.00012"]
