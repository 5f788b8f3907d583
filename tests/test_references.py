"""PCA against R and PLINK: prcomp on USArrests, FactoMineR on decathlon, kernlab on iris, PLINK on genotypes; UK food.

Axes are compared up to their signs, which R leaves to LAPACK. FactoMineR standardises columns with divisor n (or the
sum of the weights), Eigenlens with n − 1 (or that sum less one): the same correlations, contributions, cos² and tests,
but scores smaller by the factor sqrt((n − 1) / n).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import eigenlens
from eigenlens import PCA, KernelPCA
from references import decathlon, kernlab, plink, usarrests

TIGHT = {"rtol": 1e-9, "atol": 1e-9}
PRCOMP, FACTOMINER = "R 4.2.2, prcomp", "FactoMineR 2.7"


def signs(ours, theirs):
    """±1 (k,) that turn our axes to theirs."""
    return np.sign((ours * theirs).sum(axis=0))


def factor(n):
    """Theirs / ours, for a score."""
    return np.sqrt(n / (n - 1.0))


@pytest.fixture(scope="module")
def ten_events():
    return PCA(standardize=True).fit(decathlon.DATA)


class TestPrcomp:
    def test_unscaled(self, accuracy):
        pca = PCA().fit(usarrests.DATA)
        deviations, what = np.sqrt(pca.explained_variance_), "PCA of USArrests"
        accuracy.close(f"{what}: deviations", deviations, usarrests.SDEV, system=PRCOMP, rtol=1e-10)
        turn = signs(pca.components_.T, usarrests.ROTATION)
        accuracy.close(f"{what}: axes", pca.components_.T * turn, usarrests.ROTATION, system=PRCOMP, **TIGHT)

    def test_scaled(self, accuracy):
        pca = PCA(standardize=True).fit(usarrests.DATA)
        deviations, what = np.sqrt(pca.explained_variance_), "PCA of USArrests, standardised"
        accuracy.close(f"{what}: deviations", deviations, usarrests.SCALED_SDEV, system=PRCOMP, rtol=1e-10)
        turn = signs(pca.components_.T, usarrests.SCALED_ROTATION)
        accuracy.close(f"{what}: axes", pca.components_.T * turn, usarrests.SCALED_ROTATION, system=PRCOMP, **TIGHT)
        scores = pca.transform(usarrests.DATA) * turn
        accuracy.close(f"{what}: scores", scores, usarrests.SCALED_X, system=PRCOMP, **TIGHT)
        # summary(p): "Proportion of Variance" 0.62006 0.24744 0.08914 0.04336
        assert pca.explained_variance_ratio_.round(5).tolist() == [0.62006, 0.24744, 0.08914, 0.04336]


class TestFactoMineR:
    def test_eigenvalues(self, ten_events, accuracy):
        found = ten_events.explained_variance_
        accuracy.close("PCA of decathlon: eigenvalues", found, decathlon.EIGENVALUES, system=FACTOMINER, rtol=1e-10)
        assert ten_events.total_variance_ == pytest.approx(10.0, rel=1e-12)

    def test_variables(self, ten_events, accuracy):
        correlations = ten_events.correlations()[:, :3]
        turn = signs(correlations, decathlon.VARIABLE_COORDINATES)
        what, wanted = "PCA of decathlon: columns", decathlon.VARIABLE_COORDINATES
        accuracy.close(f"{what}, correlations", correlations * turn, wanted, system=FACTOMINER, **TIGHT)
        np.testing.assert_allclose(ten_events.loadings_[:, :3] * turn, decathlon.VARIABLE_COORDINATES, **TIGHT)
        shares, cos2 = ten_events.contributions()[:, :3], ten_events.cos2()[:, :3]
        wanted = decathlon.VARIABLE_CONTRIBUTIONS
        accuracy.close(f"{what}, contributions", shares, wanted, system=FACTOMINER, **TIGHT)
        accuracy.close(f"{what}, cos²", cos2, decathlon.VARIABLE_COS2, system=FACTOMINER, **TIGHT)

    def test_rows(self, ten_events, accuracy):
        scores = ten_events.transform(decathlon.DATA)[:, :3]
        turn = signs(scores, decathlon.ROW_COORDINATES)
        what, wanted = "PCA of decathlon: rows", decathlon.ROW_COORDINATES
        accuracy.close(f"{what}, scores", scores * turn * factor(41), wanted, system=FACTOMINER, **TIGHT)
        shares, cos2 = ten_events.contributions(decathlon.DATA)[:, :3], ten_events.cos2(decathlon.DATA)[:, :3]
        accuracy.close(f"{what}, contributions", shares, decathlon.ROW_CONTRIBUTIONS, system=FACTOMINER, **TIGHT)
        accuracy.close(f"{what}, cos²", cos2, decathlon.ROW_COS2, system=FACTOMINER, **TIGHT)

    def test_cos2_of_rows_needs_no_discarded_axes(self):
        """With k = 3 the distances must still be those of all ten dimensions."""
        three = PCA(3, standardize=True).fit(decathlon.DATA)
        np.testing.assert_allclose(three.cos2(decathlon.DATA), decathlon.ROW_COS2, **TIGHT)
        np.testing.assert_allclose(three.cos2(), decathlon.VARIABLE_COS2, **TIGHT)

    def test_supplementary_rows(self, accuracy):
        pca = PCA(standardize=True).fit(decathlon.DATA[:38])
        np.testing.assert_allclose(pca.explained_variance_, decathlon.SUPPLEMENTARY_ROWS_EIGENVALUES, rtol=1e-10)
        last = decathlon.DATA[38:]
        scores = pca.transform(last)[:, :3]
        turn = signs(scores, decathlon.SUPPLEMENTARY_ROWS_COORDINATES)
        what, wanted = "PCA of decathlon: supplementary rows", decathlon.SUPPLEMENTARY_ROWS_COORDINATES
        accuracy.close(f"{what}, scores", scores * turn * factor(38), wanted, system=FACTOMINER, **TIGHT)
        np.testing.assert_allclose(pca.cos2(last)[:, :3], decathlon.SUPPLEMENTARY_ROWS_COS2, **TIGHT)

    def test_supplementary_numbers(self, ten_events, accuracy):
        placed = ten_events.supplementary({"Rank": decathlon.RANK, "Points": decathlon.POINTS})
        assert placed.names == ("Rank", "Points")
        found = placed.correlations[:, :3]
        turn = signs(ten_events.correlations()[:, :3], decathlon.VARIABLE_COORDINATES)
        what, wanted = "PCA of decathlon: supplementary columns", decathlon.RANK_POINTS_COORDINATES
        accuracy.close(f"{what}, correlations", found * turn, wanted, system=FACTOMINER, **TIGHT)
        np.testing.assert_allclose(placed.cos2[:, :3], decathlon.RANK_POINTS_COS2, **TIGHT)

    def test_supplementary_categories(self, ten_events, accuracy):
        placed = ten_events.supplementary({"Competition": decathlon.COMPETITION}).categories["Competition"]
        assert placed.levels == ("Decastar", "OlympicG")
        turn = signs(ten_events.correlations()[:, :3], decathlon.VARIABLE_COORDINATES)
        np.testing.assert_allclose(
            placed.coordinates[:, :3] * turn * factor(41), decathlon.COMPETITION_COORDINATES, **TIGHT
        )
        np.testing.assert_allclose(placed.cos2[:, :3], decathlon.COMPETITION_COS2, **TIGHT)
        what, wanted = "PCA of decathlon: supplementary categories", decathlon.COMPETITION_V_TEST
        accuracy.close(f"{what}, v-tests", placed.v_test[:, :3] * turn, wanted, system=FACTOMINER, **TIGHT)
        np.testing.assert_allclose(placed.eta2[:3], decathlon.COMPETITION_ETA2[0], **TIGHT)

    def test_supplementary_columns_of_a_frame_and_given_rows(self, ten_events):
        frame = pd.DataFrame({"Points": decathlon.POINTS, "Competition": decathlon.COMPETITION})
        placed = ten_events.supplementary(frame, decathlon.DATA)
        assert placed.names == ("Points",)
        np.testing.assert_allclose(placed.cos2[0, :3], decathlon.RANK_POINTS_COS2[1], **TIGHT)
        np.testing.assert_allclose(placed.categories["Competition"].eta2[:3], decathlon.COMPETITION_ETA2[0], **TIGHT)

    def test_row_weights(self, accuracy):
        weight = np.arange(1.0, 42.0)
        pca = PCA(standardize=True).fit(decathlon.DATA, sample_weight=weight)
        what, wanted = "PCA of decathlon, rows weighted: eigenvalues", decathlon.WEIGHTED_EIGENVALUES
        accuracy.close(what, pca.explained_variance_, wanted, system=FACTOMINER, rtol=1e-10)
        correlations, scores = pca.correlations()[:, :3], pca.transform(decathlon.DATA)[:, :3]
        turn = signs(correlations, decathlon.WEIGHTED_VARIABLE_COORDINATES)
        np.testing.assert_allclose(correlations * turn, decathlon.WEIGHTED_VARIABLE_COORDINATES, **TIGHT)
        np.testing.assert_allclose(scores * turn * factor(weight.sum()), decathlon.WEIGHTED_ROW_COORDINATES, **TIGHT)

    def test_weighted_supplementary_columns_are_those_of_copies(self):
        weight = np.arange(1, 42) % 4
        copies = np.repeat(np.arange(41), weight)
        weighted = PCA(3, standardize=True).fit(decathlon.DATA, sample_weight=weight)
        repeated = PCA(3, standardize=True).fit(decathlon.DATA[copies])
        columns = {"Points": decathlon.POINTS, "Competition": decathlon.COMPETITION}
        ours = weighted.supplementary(columns)
        twin = repeated.supplementary({name: values[copies] for name, values in columns.items()})
        np.testing.assert_allclose(ours.correlations, twin.correlations, **TIGHT)
        for what in ("coordinates", "cos2", "v_test", "eta2"):
            mine, theirs = (getattr(placed.categories["Competition"], what) for placed in (ours, twin))
            np.testing.assert_allclose(mine, theirs, **TIGHT)
        by_row = weighted.contributions(decathlon.DATA, sample_weight=weight)
        np.testing.assert_allclose(by_row.sum(axis=0), 100.0, rtol=1e-10)

    @pytest.mark.parametrize("level", [0.0, 1.0])
    def test_v_test_is_the_standardised_mean_of_a_random_draw(self, ten_events, level):
        """A slow twin: draw as many athletes as the level has, without replacement, many times."""
        name = ["Decastar", "OlympicG"][int(level)]
        size = int((name == decathlon.COMPETITION).sum())
        z = ten_events.transform(decathlon.DATA)[:, 0]
        rng = np.random.default_rng(0)
        draws = np.array([rng.choice(z, size, replace=False).mean() for _ in range(20_000)])
        expected = z[name == decathlon.COMPETITION].mean() / draws.std()
        placed = ten_events.supplementary({"Competition": decathlon.COMPETITION}).categories["Competition"]
        found = placed.v_test[int(level), 0]
        assert found == pytest.approx(expected, rel=0.03)


class TestUnitedKingdomFood:
    def test_northern_ireland_stands_apart(self):
        food = eigenlens.datasets.load("uk-food")
        assert food.data.shape == (4, 17)
        assert food.data[0, :2].tolist() == [375, 57]
        assert food.data[:, -1].tolist() == [156, 139, 147, 175]
        pca = PCA(2).fit(food.data)
        scores = pca.transform(food.data)[:, 0]
        alone = food.rows.index("N Ireland")
        others = np.delete(scores, alone)
        assert np.abs(scores[alone] - others).min() > 1.5 * np.ptp(others)
        assert np.sign(scores[alone]) not in np.sign(others[np.abs(others) > 100.0])
        # Fresh potatoes pull towards it, fresh fruit and alcoholic drinks away from it.
        axis = pca.components_[0] * np.sign(scores[alone])
        names = dict(zip(food.columns, axis, strict=True))
        assert names["Fresh potatoes"] > 0.3
        assert names["Fresh fruit"] < -0.3
        assert names["Alcoholic drinks"] < -0.3

    def test_three_axes_hold_four_rows(self):
        food = eigenlens.datasets.load("uk-food").data
        s = np.linalg.svd(food - food.mean(axis=0), compute_uv=False)
        pca = PCA().fit(food)
        np.testing.assert_allclose(pca.explained_variance_[:3], s[:3] ** 2 / 3, rtol=1e-9)
        assert pca.explained_variance_ratio_[:2].round(3).tolist() == [0.674, 0.291]
        assert pca.explained_variance_[3] == 0.0


class TestKernlab:
    @pytest.mark.parametrize(
        ("options", "standardize", "eigenvalues", "rotated"),
        [
            ({"kernel": "rbf", "gamma": 0.2}, False, kernlab.RBF_EIG, kernlab.RBF_ROTATED),
            ({"kernel": "poly", "gamma": 1.0, "degree": 3}, True, kernlab.POLY_EIG, kernlab.POLY_ROTATED),
        ],
        ids=["rbf", "poly"],
    )
    @pytest.mark.parametrize("solver", ["dense", "lanczos"])
    def test_iris(self, options, standardize, eigenvalues, rotated, solver, accuracy):
        X = load_iris().data
        X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1) if standardize else X
        model = KernelPCA(6, solver=solver, random_state=0, **options).fit(X)
        what, system = f"kernel PCA of iris, {options['kernel']}, solver {solver}", "R 4.2.2, kernlab kpca"
        accuracy.close(f"{what}: eigenvalues", model.eigenvalues_ / 150.0, eigenvalues, system=system, rtol=1e-10)
        Z = model.transform(X[kernlab.ROWS]) * np.sqrt(150.0)
        Z, atol = Z * signs(Z, rotated), 1e-8 * np.abs(rotated).max()
        accuracy.close(f"{what}: scores", Z, rotated, system=system, rtol=1e-8, atol=atol)


class TestPlink:
    def test_genotypes(self, accuracy):
        """PLINK divides by sqrt(2 p (1 − p)), not by the deviation, and prints six digits."""
        X = eigenlens.datasets.load("gene-map", n=60, markers=200, seed=1).data
        assert (X.sum(), (X @ np.arange(1, 201)).sum()) == plink.SUMS
        p = X.mean(axis=0) / 2.0
        Z = (X - 2.0 * p) / np.sqrt(2.0 * p * (1.0 - p) * 200)
        pca, what, system = PCA(10).fit(Z), "PCA of genotypes", "PLINK 2.00a3.5"
        values = pca.explained_variance_ * 59
        accuracy.close(f"{what}: eigenvalues", values, plink.EIGENVALUES, system=system, rtol=5e-6)
        found, theirs = pca.transform(Z)[:, :2] / np.sqrt(values[:2]), np.column_stack([plink.FIRST, plink.SECOND])
        turned = found * signs(found, theirs)
        accuracy.close(f"{what}: eigenvectors", turned, theirs, system=system, rtol=5e-6, atol=1e-6)
