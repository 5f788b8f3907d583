"""Tables: the identities that make them what they are."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from eigenlens import PCA, datasets
from eigenlens.errors import DataError, OptionError
from eigenlens.pca import tables
from eigenlens.pca.model import PrincipalComponents
from eigenlens.tables import text_table as text_tables
from eigenlens.tables import values


@pytest.fixture
def rows():
    rng = np.random.default_rng(5)
    return rng.standard_normal((30, 6)) @ rng.standard_normal((6, 6)) + 10.0


@pytest.fixture
def food():
    return datasets.load("uk-food")


# ---- variance ---------------------------------------------------------------------------------------------


def test_variance_of_the_food_table(food):
    table = tables.variance(PCA().fit(food.data))
    np.testing.assert_allclose(table.shares[:3], [67.44, 29.05, 3.50], atol=0.006)
    np.testing.assert_allclose(table.cumulative[-1], 100.0)
    assert table.reaching(90.0) == 2
    assert table.reaching(67.0) == 1
    assert table.reaching(100.0) == 3  # four rows span three dimensions


def test_shares_are_of_the_whole_variance_not_of_the_part_kept(rows):
    whole, part = tables.variance(PCA().fit(rows)), tables.variance(PCA(2).fit(rows))
    np.testing.assert_allclose(part.shares, whole.shares[:2])
    assert part.reaching(99.9) is None


def test_variance_prints_aligned_columns_that_sum_to_the_whole(rows):
    table = tables.variance(PCA(2).fit(rows))
    lines = str(table).splitlines()
    assert [line.split()[0] for line in lines] == ["component", "PC1", "PC2", "rest"]
    assert len({len(line) for line in lines}) == 1
    cells = np.array([[float(cell) for cell in line.split()[1:]] for line in lines[1:]])
    np.testing.assert_allclose(cells[:, 0].sum(), table.total, rtol=1e-4)
    np.testing.assert_allclose(cells[:, 1].sum(), 100.0, atol=0.02)
    assert cells[-1, 2] == 100.0


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1.0, 1e3, 1e9])
def test_variance_prints_four_digits_in_any_unit(rows, unit):
    table = tables.variance(PCA().fit(rows * unit))
    printed = [float(line.split()[1]) for line in str(table).splitlines()[1:]]
    np.testing.assert_allclose(printed[0], table.variances[0], rtol=1e-4)


def test_rounding_noise_prints_as_zero_and_long_tables_lose_their_middle(food):
    assert re.search(r"^PC4 +0\.00 ", str(tables.variance(PCA().fit(food.data))), re.MULTILINE)
    text = str(values.VarianceTable(np.arange(100.0, 0.0, -1.0), 5050.0))
    assert len(text.splitlines()) == text_tables.MAX_PRINTED_ROWS + 1
    assert "… 77 more" in text
    assert text.splitlines()[-1].startswith("PC100")


def test_constant_rows_have_no_shares():
    table = values.VarianceTable(np.zeros(2), 0.0)
    assert table.shares.tolist() == [0.0, 0.0]
    assert table.reaching(90.0) is None
    assert "nan" not in str(table)


# ---- columns ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("standardize", [False, True])
def test_loadings_and_correlations_equal_numpys_covariances(rows, standardize):
    model = PCA(standardize=standardize).fit(rows)
    Z = model.transform(rows)
    deviation = Z.std(axis=0, ddof=1)
    both = np.cov((rows / model.scale_).T, Z.T)[:6, 6:]
    np.testing.assert_allclose(tables.loadings(model).values, both / deviation, atol=1e-10)
    np.testing.assert_allclose(tables.correlations(model).values, np.corrcoef(rows.T, Z.T)[:6, 6:], atol=1e-10)


def test_contributions_sum_to_one_hundred(rows):
    model = PCA(4).fit(rows)
    np.testing.assert_allclose(tables.column_contributions(model).values.sum(axis=0), 100.0)
    np.testing.assert_allclose(tables.row_contributions(model, rows).values.sum(axis=0), 100.0)


def test_chosen_components_come_in_the_order_asked_for(rows):
    model = PCA().fit(rows)
    table = tables.loadings(model, [3, 1])
    assert table.components == (3, 1)
    np.testing.assert_array_equal(table.values, model.loadings_[:, [2, 0]])
    np.testing.assert_allclose(table.shares, 100 * model.explained_variance_ratio_[[2, 0]])


def test_the_largest_are_sorted_and_keep_their_names(rows):
    table = tables.column_contributions(PCA().fit(rows), [2], names=list("abcdef"))
    first = table.largest(3)
    by_name = dict(zip(table.names, table.values[:, 0], strict=True))
    assert first.values[:, 0].tolist() == sorted(by_name.values(), reverse=True)[:3]
    assert [by_name[name] for name in first.names] == first.values[:, 0].tolist()


def test_names_come_from_the_frame_the_argument_or_the_position(rows):
    frame = pd.DataFrame(rows, columns=list("uvwxyz"))
    assert tables.loadings(PCA().fit(frame)).names == tuple("uvwxyz")
    assert tables.loadings(PCA().fit(frame), names=list("abcdef")).names == tuple("abcdef")
    assert tables.loadings(PCA().fit(rows)).names == ("x0", "x1", "x2", "x3", "x4", "x5")
    assert str(tables.loadings(PCA(2).fit(frame))).splitlines()[0].split() == ["loading", "PC1", "PC2"]


# ---- rows -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("whiten", [False, True])
def test_scores_are_those_of_transform(rows, whiten):
    model = PCA(3, whiten=whiten).fit(rows)
    table = tables.scores(model, rows, (2, 3))
    np.testing.assert_allclose(table.values, model.transform(rows)[:, 1:], atol=1e-12)
    assert table.whitened is whiten


def named_frame(rows):
    return pd.DataFrame(rows, columns=list("abcdef"))


@pytest.mark.parametrize("kind", [sparse.csr_matrix, named_frame, pl.DataFrame, np.asfortranarray, np.float32])
def test_every_kind_of_rows_gives_the_same_tables(rows, kind):
    given = kind(rows)
    model = PCA(3).fit(given)
    tolerance = 2e-4 if kind is np.float32 else 1e-9
    plain = PCA(3).fit(rows)
    np.testing.assert_allclose(tables.scores(model, given).values, tables.scores(plain, rows).values, atol=tolerance)
    np.testing.assert_allclose(
        tables.reconstruction(model, given, 2).reconstructions,
        tables.reconstruction(plain, rows, 2).reconstructions,
        atol=tolerance,
    )


def test_the_frozen_model_gives_the_estimators_tables(rows):
    model = PCA(3, standardize=True).fit(rows)
    for make in (tables.scores, tables.row_contributions):
        np.testing.assert_allclose(make(model.model_, rows).values, make(model, rows).values, atol=1e-10)
    np.testing.assert_allclose(tables.biplot(model.model_, rows).rows, tables.biplot(model, rows).rows, atol=1e-10)


def test_output_set_to_frames_changes_nothing(rows):
    model = PCA(3).fit(rows)
    expected = tables.scores(model, rows).values
    np.testing.assert_array_equal(tables.scores(model.set_output(transform="pandas"), rows).values, expected)


# ---- biplot -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", tables.BIPLOT_SCALINGS)
@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
def test_biplot_products_are_the_centred_rows(rows, alpha, whiten, standardize):
    model = PCA(whiten=whiten, standardize=standardize).fit(rows)
    table = tables.biplot(model, rows, alpha=alpha)
    centred = (rows - rows.mean(axis=0)) / (rows.std(axis=0, ddof=1) if standardize else 1.0)
    np.testing.assert_allclose(table.rows @ table.columns.T, centred, atol=1e-9)


@pytest.mark.parametrize("alpha", tables.BIPLOT_SCALINGS)
def test_biplot_products_on_two_components_are_the_best_approximation_of_rank_two(rows, alpha):
    table = tables.biplot(PCA().fit(rows), rows, (1, 2), alpha=alpha)
    U, S, Vt = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(table.rows @ table.columns.T, (U[:, :2] * S[:2]) @ Vt[:2], atol=1e-9)
    np.testing.assert_allclose(np.abs(table.rows), np.abs(U[:, :2] * S[:2] ** alpha), atol=1e-9)
    np.testing.assert_allclose(np.abs(table.columns), np.abs(Vt[:2].T * S[:2] ** (1 - alpha)), atol=1e-9)


@pytest.mark.parametrize("alpha", tables.BIPLOT_SCALINGS)
def test_biplot_of_a_component_without_variance_has_no_nan(food, alpha):
    table = tables.biplot(PCA().fit(food.data), food.data, alpha=alpha)  # the fourth of four rows' components
    np.testing.assert_allclose(table.rows @ table.columns.T, food.data - food.data.mean(axis=0), atol=1e-8)


def test_biplot_rejects_other_scalings(rows):
    with pytest.raises(OptionError, match=r"alpha=0\.3 must be 0 .*0\.5 .*or 1"):
        tables.biplot(PCA().fit(rows), rows, alpha=0.3)


# ---- reconstruction ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("standardize", [False, True])
def test_reconstruction_loses_the_discarded_eigenvalues(rows, standardize):
    model = PCA(standardize=standardize).fit(rows)
    table = tables.reconstruction(model, rows, [1, 3, 6])
    discarded = [model.explained_variance_[q:].sum() for q in (1, 3, 6)]
    np.testing.assert_allclose(table.errors.sum(axis=1) / 29, discarded, atol=1e-10)
    np.testing.assert_allclose(table.lost, 100 * np.array(discarded) / model.total_variance_, atol=1e-9)
    np.testing.assert_allclose(table.reconstructions[2], rows, atol=1e-9)


def test_reconstruction_equals_inverse_transform_of_a_smaller_model(rows):
    small = PCA(2, standardize=True).fit(rows)
    table = tables.reconstruction(PCA(standardize=True).fit(rows), rows, 2, limit=5, labels=range(30))
    np.testing.assert_allclose(table.reconstructions[0], small.inverse_transform(small.transform(rows))[:5], atol=1e-9)
    assert table.rows.shape == (5, 6)
    assert table.labels == ("0", "1", "2", "3", "4")


@pytest.mark.parametrize(("k", "counts"), [(1, (1,)), (2, (1, 2)), (4, (1, 2, 3, 4)), (6, (1, 2, 3, 6))])
def test_reconstruction_chooses_a_spread_of_numbers(rows, k, counts):
    table = tables.reconstruction(PCA(k).fit(rows), rows)
    assert table.counts == counts
    assert str(table).splitlines()[0].split()[0] == "components"


# ---- what is rejected --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, X: tables.loadings(m, [4]), "components=4 must be at most 3, the number of components"),
        (lambda m, X: tables.loadings(m, [0]), "components=0 must be at least 1"),
        (lambda m, X: tables.loadings(m, [1.5]), "components=1.5 must be an integer"),
        (lambda m, X: tables.loadings(m, names=["a", "b"]), "names has 2 entries, but there are 6 columns"),
        (lambda m, X: tables.scores(m, X, labels=["a"]), "labels has 1 entries, but X has 30 rows"),
        (lambda m, X: tables.reconstruction(m, X, 4), "k=4 must be at most 3"),
        (lambda m, X: tables.reconstruction(m, X, []), r"k=\(\) is empty"),
        (lambda m, X: tables.reconstruction(m, X[:, :4]), "X has 4 columns, but the model was fitted on 6"),
        (lambda m, X: tables.scores(m.model_, X * np.nan), "X contains NaN"),
        (lambda m, X: tables.variance("pca"), "model of type str has no principal components"),
    ],
)
def test_wrong_arguments_are_named(rows, call, message):
    with pytest.raises((OptionError, DataError), match=message):
        call(PCA(3).fit(rows), rows)


def test_a_model_can_be_built_by_hand():
    model = PrincipalComponents(
        mean=np.zeros(2), scale=np.ones(2), components=np.eye(2), variances=np.array([3.0, 1.0]), total=4.0,
        column_variances=np.array([3.0, 1.0]), weight=5.0,
    )  # fmt: skip
    assert tables.variance(model).shares.tolist() == [75.0, 25.0]
    assert tables.scores(model, [[2.0, 1.0]]).values.tolist() == [[2.0, 1.0]]


def test_small_numbers_below_large_ones_keep_three_digits_and_points_stand_under_each_other():
    text = str(values.VarianceTable(np.array([117274.89, 7.28, 0.0489, 8.57e-6, 0.0]), 117282.2189))
    assert [line.split()[1] for line in text.splitlines()[1:5]] == ["117274.89", "7.28", "0.0489", "0.00000857"]
    assert len({line.index(".") for line in text.splitlines()[1:]}) == 1
