"""Genotypes on the command line: components of .bed files, a table of people, PLINK's files, and new people."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from bed_files import simulate, write_bed
from eigenlens import GenotypePCA, load
from eigenlens.cli import main


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, group = simulate(60, 300, missing=0.01)
    write_bed(tmp_path, X[:45], "old")
    write_bed(tmp_path, X[45:], "new", people=[("n", f"q{i}") for i in range(15)])
    names = np.array(["north", "east", "west"])
    lines = [f"f{i}\tp{i}\t{20 + i}\t{names[group[i]]}" for i in reversed(range(45))]
    (tmp_path / "people.txt").write_text("\n".join(["FID\tIID\tage\tpopulation", *lines]) + "\n")

    (tmp_path / "others.txt").write_text("IID\tpopulation\nx1\tnorth\nx2\twest\n")

    def command(*words, code=0):
        assert main(list(words)) == code
        printed = capsys.readouterr()
        return printed.out if code == 0 else printed.err

    return command


def test_pca_of_a_bed_file_is_that_of_genotypes_and_one_command_draws_the_map(run, tmp_path):
    files = "-o", "m.safetensors", "--report", "map.html"
    out = run("fit", "pca", "old.bed", "-k", "3", "--people", "people.txt", "--label", "population", *files)
    assert "45 people, 300 variants" in out
    assert "as PLINK does (gpca); --rows takes them as any table of numbers" in out
    assert "45 of 45 people were found in 'people.txt' by the column 'IID'" in out
    assert "Tracy–Widom" in out
    assert all(name in out for name in ("north", "east", "west"))
    model, expected = load(tmp_path / "m.safetensors"), GenotypePCA(3).fit(tmp_path / "old.bed")
    np.testing.assert_array_equal(model.eigenvectors_, expected.eigenvectors_)
    vectors = (tmp_path / "m.eigenvec").read_text().splitlines()
    assert vectors[0] == "#FID\tIID\tPC1\tPC2\tPC3"
    assert float((tmp_path / "m.eigenval").read_text().split()[0]) == float(f"{expected.eigenvalues_[0]:.6g}")
    assert (tmp_path / "m.eigenvec.var").read_text().startswith("#CHROM\tID\tMAJ\tNONMAJ\tPC1")
    page = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert page.index("Map of people") < page.index("Eigenvalues") < page.index("Weights of variants on PC1")
    assert "north" in page
    assert f"45 people, {expected.n_features_in_:,} variants" in page


def test_the_population_colours_without_being_named(run):
    out = run("fit", "pca", "old.bed", "-k", "2", "--people", "people.txt")
    assert "by the column 'IID'; 'population' colours them" in out
    assert "o north" in out


def test_facts_are_json(run):
    facts = json.loads(run("fit", "gpca", "old.bed", "-k", "2", "--missing", "mean", "--json"))
    assert (facts["people"], facts["variants"], len(facts["p_value"])) == (45, 300, 2)


def test_new_people_are_projected_beside_their_names(run, tmp_path):
    run("fit", "gpca", "old.bed", "-k", "2", "-o", "m.safetensors")
    run("transform", "m.safetensors", "new.bed", "-o", "scores.csv")
    rows = list(csv.DictReader((tmp_path / "scores.csv").read_text().splitlines()))
    expected = load(tmp_path / "m.safetensors").transform(tmp_path / "new.bed")
    assert [row["IID"] for row in rows] == [f"q{i}" for i in range(15)]
    np.testing.assert_allclose([[float(row["PC1"]), float(row["PC2"])] for row in rows], expected)
    assert "wrote" in run("report", "m.safetensors", "new.bed", "-o", "new.html")


def test_rows_take_genotypes_as_any_table(run):
    assert "PCA(missing='em', n_components=2" in run("fit", "pca", "old.bed", "-k", "2", "--rows")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--standardize"], "--standardize is not an option of pca of genotypes"),
        (["--columns", "rs1"], "--columns is not for genotypes"),
        (["--label", "population"], "--label needs --people FILE"),
        (["--people", "people.txt", "--label", "pop"], "--label 'pop' is not a column of --people"),
        (["--people", "others.txt"], "none of the 45 people (such as 'p0') is in"),
        (["--chromosomes", "7"], "leaves none of the 300 variants"),
    ],
)
def test_options_that_do_not_fit_are_errors(run, words, message):
    assert message in run("fit", "pca", "old.bed", "-k", "2", *words, code=3 if "people (" in message else 2)


def test_people_are_for_genotypes_only(run, tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n3,5\n4,4\n")
    assert "--people is for genotypes" in run("fit", "pca", "rows.csv", "--people", "people.txt", code=2)


def test_files_of_plink_are_not_overwritten(run, tmp_path):
    (tmp_path / "m.eigenvec").write_text("mine")
    assert "m.eigenvec" in run("fit", "pca", "old.bed", "-k", "2", "-o", "m.safetensors", code=2)
    assert (tmp_path / "m.eigenvec").read_text() == "mine"
    run("fit", "pca", "old.bed", "-k", "2", "-o", "m.safetensors", "--force")
    assert (tmp_path / "m.eigenvec").read_text().startswith("#FID")
