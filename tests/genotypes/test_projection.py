"""New people on the axes of old ones: matching of variants, missing calls, and the correction of shrinkage."""

from __future__ import annotations

import numpy as np
import pytest

from bed_files import simulate, write_bed
from eigenlens import DataError, DataWarning, GenotypePCA
from eigenlens.genotypes.match_variants import compare_alleles
from eigenlens.genotypes.projection import corrected_coordinates

NEW = [("new", f"n{i}") for i in range(200)]
COMPLEMENT = {"A": "T", "T": "A", "C": "G", "G": "C"}


def split(tmp_path, n=200, m=1500, fst=0.02, k=2, missing=0.0, how="pairwise"):
    """Return a model of n people, the path of 200 others, and the populations of both."""
    X, group = simulate(n + 200, m, fst=fst, missing=missing)
    model = GenotypePCA(k, missing=how).fit(write_bed(tmp_path, X[:n], "old"))
    return model, write_bed(tmp_path, X[n:], "new", people=NEW), X[n:], (group[:n], group[n:])


def slopes(model, scores, groups):
    """Return how far the populations of new people lie from the origin, in units of those of the fit, per axis."""
    old, new = (
        [part[group == g].mean(axis=0) for g in range(3)]
        for part, group in zip((model.scores_, scores), groups, strict=True)
    )
    old, new = np.array(old), np.array(new)
    return (old * new).sum(axis=0) / (old**2).sum(axis=0)


def test_projections_shrink_and_the_correction_mends_it(tmp_path):
    model, path, _, groups = split(tmp_path)
    plain, corrected = (model.project(path, correct=correct).scores for correct in (False, True))
    assert np.all(slopes(model, plain, groups) < 0.8)
    assert np.all(np.abs(slopes(model, corrected, groups) - 1.0) < 0.06)
    np.testing.assert_array_equal(model.transform(path), corrected)


def test_corrected_people_lie_where_a_fit_with_them_puts_them(tmp_path):
    X, _ = simulate(300, 1500, fst=0.02)
    model = GenotypePCA(2).fit(write_bed(tmp_path, X[:-1], "old"))
    found = model.transform(write_bed(tmp_path, X[-1:], "new", people=NEW[:1]))[0]
    together = GenotypePCA(2).fit(X)
    left, _, right = np.linalg.svd(together.scores_[:-1].T @ model.scores_)
    expected = together.scores_[-1] @ (left @ right)
    np.testing.assert_allclose(found, expected, atol=0.05 * np.linalg.norm(expected))


def test_the_correction_is_that_of_a_decomposition_with_one_more_person():
    """The twin: decompose the rows with the new one appended, and turn the old scores back."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(30, 200)) + 2.0 * np.outer(np.repeat([1, -1], 15), rng.normal(size=200))
    U, d, V = np.linalg.svd(Z, full_matrices=False)
    k, z = 3, rng.normal(size=200) + 2.0 * V[0]
    b = V[:k] @ z
    rest = z - b @ V[:k]
    low = np.vstack([(U[:, :k] * d[:k]) @ V[:k], z])  # rank k, and the new person
    left, sizes, _ = np.linalg.svd(low, full_matrices=False)
    places = left[:, :k] * sizes[:k]
    a, s, c = np.linalg.svd(places[:-1].T @ (U[:, :k] * d[:k]))
    expected = s.sum() / (places[:-1] ** 2).sum() * places[-1] @ a @ c
    found = corrected_coordinates(b[None], np.array([b @ b + rest @ rest]), d[:k])[0]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_people_of_the_fit_keep_their_scores(tmp_path):
    model, _, _, _ = split(tmp_path, missing=0.02)
    found = model.project(tmp_path / "old.bed")
    assert found.fitted.all()
    np.testing.assert_array_equal(found.scores, model.scores_)
    plain = model.project(tmp_path / "old.bed", correct=False)
    np.testing.assert_array_equal(plain.scores, model.scores_)


def test_another_person_of_the_same_name_is_projected(tmp_path):
    model, _, X, _ = split(tmp_path)
    path = write_bed(tmp_path, X, "impostors")
    assert not model.project(path).fitted.any()


@pytest.mark.parametrize("missing", ["pairwise", "mean"])
def test_missing_calls_of_new_people_are_at_the_mean(tmp_path, missing):
    """Where pairs are over the calls in common, a person with half of the calls is as far from the origin as before."""
    model, path, X, _ = split(tmp_path, how=missing)
    whole = model.project(path, correct=False).scores
    X = X.copy()
    X[:, np.random.default_rng(0).random(X.shape[1]) < 0.5] = np.nan
    half = model.project(write_bed(tmp_path, X, "half", people=NEW), correct=False)
    slope = (half.scores * whole).sum() / (whole**2).sum()
    assert slope == pytest.approx(1.0 if missing == "pairwise" else 0.5, abs=0.05)
    assert np.all(half.called < 0.6 * 1500)


# ---- variants -------------------------------------------------------------------------------------------------------


def alleles_of(m):
    """Return the alleles of m variants, every tenth of which is A/T."""
    return [("A", "T") if j % 10 == 0 else ("A", "G") if j % 2 else ("C", "T") for j in range(m)]


@pytest.fixture
def people(tmp_path):
    X, _ = simulate(150, 600)
    model = GenotypePCA(3).fit(write_bed(tmp_path, X[:100], "old", alleles=alleles_of(600)))
    expected = model.project(write_bed(tmp_path, X[100:], "new", people=NEW[:50], alleles=alleles_of(600)))
    return model, X[100:], expected.scores


def test_exchanged_alleles_change_nothing(people, tmp_path, recwarn):
    model, X, expected = people
    X, alleles = X.copy(), alleles_of(600)
    for j in range(0, 600, 3):
        X[:, j], alleles[j] = 2.0 - X[:, j], alleles[j][::-1]
    path = write_bed(tmp_path, X, "swapped", people=NEW[:50], alleles=alleles)
    np.testing.assert_allclose(model.transform(path), expected, atol=1e-5)
    assert model.project(path).match.counts["swapped"] == 200
    assert list(recwarn) == []


def test_the_other_strand_is_mended_and_reported(people, tmp_path):
    model, X, expected = people
    alleles = [(COMPLEMENT[a], COMPLEMENT[b]) if j % 10 else (a, b) for j, (a, b) in enumerate(alleles_of(600))]
    path = write_bed(tmp_path, X, "flipped", people=NEW[:50], alleles=alleles)
    found = model.project(path)
    assert found.match.counts == {
        "same": 540, "swapped": 0, "flipped": 540, "ambiguous": 60, "other alleles": 0, "absent": 0
    }  # fmt: skip
    with pytest.warns(
        DataWarning, match=r"540 variants of 600 matched, 540 on the other strand, 60 left out since A/T"
    ):
        scores = model.transform(path)
    np.testing.assert_allclose(scores, expected, atol=0.25 * np.abs(expected).max())


def test_absent_variants_and_other_alleles_are_counted(people, tmp_path):
    model, X, expected = people
    keep, alleles = np.arange(600) % 4 > 0, alleles_of(600)
    alleles[1], ids = ("A", "C"), [f"rs{j}" for j in range(600)]
    chosen = np.flatnonzero(keep)
    path = write_bed(
        tmp_path, X[:, chosen], "fewer", people=NEW[:50], alleles=[alleles[j] for j in chosen],
        ids=[ids[j] for j in chosen],
    )  # fmt: skip
    with pytest.warns(DataWarning, match="449 variants of 600 matched, 1 left out for other alleles, 150 absent"):
        scores = model.transform(path)
    first = (scores[:, :2] * expected[:, :2]).sum() / (expected[:, :2] ** 2).sum()
    assert first == pytest.approx(1.0, abs=0.1)


def test_a_file_without_common_variants_is_an_error(people, tmp_path):
    model, X, _ = people
    path = write_bed(tmp_path, X, "others", people=NEW[:50], ids=[f"x{j}" for j in range(600)])
    with pytest.raises(DataError, match=r"none of the 600 variants.*--set-all-var-ids"):
        model.transform(path)


def test_the_order_of_variants_does_not_matter(people, tmp_path):
    model, X, expected = people
    order, alleles = np.random.default_rng(0).permutation(600), alleles_of(600)
    path = write_bed(
        tmp_path,
        X[:, order],
        "mixed",
        people=NEW[:50],
        ids=[f"rs{j}" for j in order],
        alleles=[alleles[j] for j in order],
    )
    np.testing.assert_allclose(model.transform(path), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("theirs", "kind"),
    [
        (("A", "G"), "same"), (("G", "A"), "swapped"), (("T", "C"), "flipped"), (("C", "T"), "flipped swapped"),
        (("0", "G"), "same"), (("0", "A"), "swapped"), (("A", "C"), "other alleles"), (("0", "0"), "other alleles"),
        ((".", "C"), "flipped"), (("AT", "G"), "other alleles"),
    ],
)  # fmt: skip
def test_alleles_are_compared_on_both_strands(theirs, kind):
    assert compare_alleles("A", "G", *theirs) == kind
