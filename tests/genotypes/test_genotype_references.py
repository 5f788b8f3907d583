"""Components of genotypes against PLINK 2 and EIGENSOFT, on simulated files; numbers are in `tests/references`."""

from __future__ import annotations

import numpy as np
import pytest

from bed_files import simulate, write_bed
from eigenlens import GenotypePCA
from eigenlens.genotypes.significance import component_significance
from references import plink_genotypes as plink

CHROMOSOMES = ["1"] * 200 + ["22"] * 60 + ["23"] * 20 + ["25"] * 10 + ["26"] * 10


@pytest.fixture
def path(tmp_path):
    """The files that PLINK has read, once they are the same."""
    X, _ = simulate(60, 300, seed=7, missing=0.03)
    X[:, 5], X[:, 6] = 0.0, np.where(np.isnan(X[:, 6]), np.nan, 2.0)
    sums = np.nansum(X), (np.nan_to_num(X) * np.arange(1, 301)).sum(), np.isnan(X).sum()
    assert sums == plink.SUMS
    alleles = [("A", "G") if j % 2 else ("C", "T") for j in range(300)]
    return write_bed(tmp_path, X, chromosomes=CHROMOSOMES, alleles=alleles)


def test_eigenpairs_are_those_of_plink(path, accuracy):
    model = GenotypePCA(4).fit(path)
    what, system = "GenotypePCA with missing calls", "PLINK 2.00a3.5"
    printed = np.array([float(f"{value:.6g}") for value in model.eigenvalues_])
    np.testing.assert_array_equal(printed, plink.EIGENVALUES)
    accuracy.close(f"{what}: eigenvalues", model.eigenvalues_, plink.EIGENVALUES, system=system, rtol=5e-6)
    theirs = np.column_stack([plink.FIRST, plink.SECOND])
    ours = model.eigenvectors_[:, :2] * np.sign((model.eigenvectors_[:, :2] * theirs).sum(axis=0))
    accuracy.close(f"{what}: eigenvectors", ours, theirs, system=system, rtol=0.0, atol=2e-6)
    assert model.left_out_ == {"other chromosomes": 30, "one allele": 2, "no call": 0}


def test_files_have_the_form_of_plinks(path, tmp_path):
    model = GenotypePCA(4).fit(path)
    written = model.write_plink(tmp_path / "out")
    vectors, values, weights = (each.read_text().splitlines() for each in written)
    assert vectors[0] == "#FID\tIID\tPC1\tPC2\tPC3\tPC4"
    assert vectors[1].split("\t")[:2] == ["f0", "p0"]
    assert values == [f"{value:g}" for value in plink.EIGENVALUES]
    assert (weights[0], len(weights)) == ("#CHROM\tID\tMAJ\tNONMAJ\tPC1\tPC2\tPC3\tPC4", 269)
    ours, theirs = ([line.split("\t") for line in lines] for lines in ([*weights[1:3], weights[-1]], plink.WEIGHTS))
    assert [line[:4] for line in ours] == [line[:4] for line in theirs]
    sizes = (np.abs(np.array([line[4:] for line in lines], dtype=float)) for lines in (ours, theirs))
    np.testing.assert_allclose(*sizes, rtol=1e-5)


def test_families_of_0_are_left_out_as_plink_leaves_them_out(tmp_path):
    X, _ = simulate(20, 50)
    path = write_bed(tmp_path, X, people=[("0", f"p{i}") for i in range(20)])
    vectors, *_ = GenotypePCA(2).fit(path).write_plink(tmp_path / "out")
    assert vectors.read_text().splitlines()[0] == "#IID\tPC1\tPC2"


def test_significance_is_that_of_eigensoft():
    X = np.random.default_rng(3).normal(size=(60, 500))
    X[:30, :40] += 0.9
    X -= X.mean(axis=0)
    values = np.linalg.eigvalsh(X @ X.T / 500)[::-1][:59]
    found = component_significance(values[:6], values.sum(), (values**2).sum(), 60)
    np.testing.assert_allclose(np.column_stack([found.statistic, found.markers]), plink.TWSTATS, atol=6e-4)
