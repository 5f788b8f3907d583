"""`GenotypePCA`: relationship matrices, solvers, kinds of files, errors, and files of models."""

from __future__ import annotations

import importlib.util
from contextlib import nullcontext

import numpy as np
import pytest

import eigenlens
from bed_files import simulate, slow_relationships, write_bed
from eigenlens import DataError, DataWarning, GenotypePCA, OptionError
from eigenlens.data.genotypes.genotype_files import open_genotypes, pack_rows
from eigenlens.data.memory import ArraySource
from eigenlens.errors import MissingExtra, ResourceError, SourceChanged
from eigenlens.genotypes import fit as fitting
from eigenlens.genotypes import relationship
from eigenlens.genotypes.allele_frequencies import count_alleles
from eigenlens.native import genotypes as native
from eigenlens.native import runtime

nan = np.nan


def relationships(X, pairwise=True):
    data = pack_rows(ArraySource(X))
    return relationship.relationship_matrix(data, count_alleles(data, np.arange(X.shape[1])), pairwise)


# ---- kernels and their twins ------------------------------------------------------------------------------------


@pytest.mark.skipif(runtime.kernels is None, reason="no compiled kernels")
@pytest.mark.parametrize("n", [1, 3, 4, 5, 31, 32, 33, 129])
@pytest.mark.parametrize("isa", ["avx512", "avx2", "baseline"])
def test_kernels_are_their_twins_whatever_the_unused_bits_hold(n, isa):
    rng, before = np.random.default_rng(n), runtime.kernels.isa()
    packed = native.pack_codes(rng.integers(0, 4, (50, n)).astype(np.uint8))
    if n % 4:
        packed[:, -1] |= np.uint8(0b01 << 6)  # looks like a missing call
    values, ours, twin = rng.normal(size=(50, 4)), np.zeros((n, n), dtype=np.int32), np.zeros((n, n), dtype=np.int32)
    try:
        runtime.kernels.set_isa(isa)
    except ValueError:
        pytest.skip(f"this processor has no {isa}")
    try:
        np.testing.assert_array_equal(native.genotype_counts(packed, n), native.genotype_counts_numpy(packed, n))
        panel = native.genotype_panel(packed, n, values)
        np.testing.assert_array_equal(panel, native.genotype_panel_numpy(packed, n, values))
        native.add_missing_pairs(packed, n, ours)
    finally:
        runtime.kernels.set_isa(before)
    native.add_missing_pairs_numpy(packed, n, twin)
    np.testing.assert_array_equal(ours, twin)


def test_packing_and_unpacking_are_inverse():
    codes = np.random.default_rng(0).integers(0, 4, (7, 10)).astype(np.uint8)
    np.testing.assert_array_equal(native.unpack_codes(native.pack_codes(codes), 10), codes)


# ---- relationships ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [0.0, 0.02, 0.4])
@pytest.mark.parametrize("pairwise", [True, False])
def test_relationships_are_those_of_a_double_loop(missing, pairwise):
    """Few missing calls are counted pair by pair, many by a matrix product."""
    X, _ = simulate(37, 400, missing=missing)
    expected, _ = slow_relationships(X, pairwise)
    np.testing.assert_allclose(relationships(X, pairwise), expected, atol=2e-6)


def test_blocks_of_variants_and_columns_change_nothing(monkeypatch):
    X, _ = simulate(37, 400, missing=0.05)
    whole = relationships(X)
    monkeypatch.setattr("eigenlens.genotypes.allele_frequencies.MAX_PANEL_VARIANTS", 64)
    monkeypatch.setattr(relationship, "COLUMN_STEP", 7)
    np.testing.assert_allclose(relationships(X), whole, atol=1e-6)


def test_components_are_eigenvectors_and_weights_rebuild_the_scores():
    X, group = simulate(90, 800, missing=0.01)
    G, _ = slow_relationships(X)
    model = GenotypePCA(5).fit(X)
    values = np.linalg.eigvalsh(G)[::-1]
    np.testing.assert_allclose(model.eigenvalues_, values[:5], rtol=1e-5)
    np.testing.assert_allclose(G @ model.eigenvectors_, model.eigenvectors_ * model.eigenvalues_, atol=2e-5)
    np.testing.assert_allclose(model.explained_variance_ratio_, values[:5] / np.trace(G), rtol=1e-5)
    np.testing.assert_allclose(model.model_.squares, (G**2).sum(), rtol=1e-5)
    np.testing.assert_allclose((model.scores_**2).sum(axis=0) / 89, model.explained_variance_, rtol=1e-10)
    means = np.array([model.scores_[group == g, :2].mean(axis=0) for g in range(3)])
    within = np.array([model.scores_[group == g, :2].std(axis=0) for g in range(3)]).max()
    assert min(np.linalg.norm(means[i] - means[j]) for i in range(3) for j in range(i)) > 5.0 * within


def test_without_missing_calls_it_is_the_pca_of_standardised_copies():
    X, _ = simulate(50, 300)
    _, Z = slow_relationships(X)
    pca, model = eigenlens.PCA(3).fit(Z / np.sqrt(Z.shape[1])), GenotypePCA(3).fit(X)
    np.testing.assert_allclose(model.explained_variance_, pca.explained_variance_, rtol=1e-5)
    np.testing.assert_allclose(model.components_, pca.components_, atol=1e-5)
    np.testing.assert_allclose(model.fit_transform(X), pca.transform(Z / np.sqrt(Z.shape[1])), atol=1e-5)


@pytest.mark.parametrize("missing", [0.0, 0.03])
def test_solvers_agree(missing):
    X, _ = simulate(120, 900, missing=missing)
    gram, lanczos = (GenotypePCA(4, missing="mean", solver=solver).fit(X) for solver in ("gram", "lanczos"))
    np.testing.assert_allclose(lanczos.eigenvalues_, gram.eigenvalues_, rtol=1e-5)
    np.testing.assert_allclose(np.abs(lanczos.eigenvectors_[:, :2]), np.abs(gram.eigenvectors_[:, :2]), atol=1e-4)
    np.testing.assert_allclose(lanczos.model_.squares, gram.model_.squares, rtol=0.02)
    assert (lanczos.solver_.solver, gram.solver_.solver) == ("lanczos", "gram")


def test_the_choice_of_solver_is_by_people_memory_and_missing_calls():
    gigabyte = 1 << 30
    assert fitting.choose_genotype_solver(5_000, True, gigabyte)[0] == "gram"
    assert fitting.choose_genotype_solver(20_000, False, 100 * gigabyte)[0] == "lanczos"
    assert fitting.choose_genotype_solver(9_000, False, gigabyte)[0] == "lanczos"
    assert fitting.choose_genotype_solver(20_000, True, 100 * gigabyte)[0] == "gram"


def test_too_many_people_for_pairs_is_an_error_with_a_way_out(monkeypatch):
    X, _ = simulate(40, 100, missing=0.05)
    monkeypatch.setattr(fitting, "available_memory", lambda: 1000)
    with pytest.raises(ResourceError, match=r"relationship matrix of 40 people.*missing='mean'"):
        GenotypePCA(2).fit(X)
    assert GenotypePCA(2, missing="mean").fit(X).solver_.solver == "lanczos"
    with pytest.raises(OptionError, match=r"solver='lanczos'.*missing='mean'"):
        GenotypePCA(2, solver="lanczos").fit(X)


# ---- files ----------------------------------------------------------------------------------------------------------


def test_a_path_a_scan_several_files_and_an_array_are_the_same(tmp_path):
    X, _ = simulate(45, 200, missing=0.02)
    path = write_bed(tmp_path, X)
    names = [("f", f"{i}") for i in range(45)]
    write_bed(tmp_path, X[:18], "part1", people=names[:18])
    write_bed(tmp_path, X[18:], "part2", people=names[18:])
    expected = GenotypePCA(3).fit(X)
    for given in (path, str(path), [path], eigenlens.scan(path), str(tmp_path / "part*.bed")):
        found = GenotypePCA(3).fit(given)
        np.testing.assert_array_equal(found.eigenvectors_, expected.eigenvectors_)
        np.testing.assert_array_equal(found.components_, expected.components_)
    some = GenotypePCA(3).fit(eigenlens.scan(path, columns=[f"rs{j}" for j in range(0, 200, 5)]))
    np.testing.assert_array_equal(some.eigenvectors_, GenotypePCA(3).fit(X[:, ::5]).eigenvectors_)


@pytest.mark.parametrize(
    ("chromosomes", "used"),
    [("autosomes", 40), (None, 70), ([1, "chrX"], 30), ("22", 10), (["XY"], 10), (["MT"], 10)],
)
def test_chromosomes_are_chosen_by_their_names(tmp_path, chromosomes, used):
    X, _ = simulate(30, 70)
    names = ["1"] * 20 + ["chr22"] * 10 + ["23"] * 10 + ["Y"] * 10 + ["XY"] * 10 + ["chrM"] * 10
    path = write_bed(tmp_path, X, chromosomes=names)
    with pytest.warns(DataWarning) if chromosomes in (None, ["MT"], [1, "chrX"]) else nullcontext():
        model = GenotypePCA(2, chromosomes=chromosomes).fit(path)
    assert len(model.variants_) == used
    assert model.left_out_["other chromosomes"] == 70 - used


def test_repeated_names_of_variants_become_their_places(tmp_path):
    X, _ = simulate(30, 40)
    model = GenotypePCA(2).fit(write_bed(tmp_path, X, ids=["."] * 40))
    assert model.variants_.name[1] == "1:2000:G:A"
    with pytest.raises(DataError, match=r"40 variants are repeated|1 variants are repeated.*rm-dup"):
        GenotypePCA(2).fit(write_bed(tmp_path, X, ids=["."] * 40, positions=[5] * 40))


def test_files_of_other_variants_are_not_merged(tmp_path):
    X, _ = simulate(20, 30)
    write_bed(tmp_path, X[:10], "a")
    write_bed(tmp_path, X[10:], "b", people=[("g", f"{i}") for i in range(10)], alleles=[("G", "A")] * 30)
    with pytest.raises(DataError, match=r"other variants than.*bmerge"):
        GenotypePCA(2).fit(str(tmp_path / "?.bed"))
    write_bed(tmp_path, X[10:], "b")
    with pytest.raises(DataError, match="person p0 of family f0 occurs 2 times"):
        GenotypePCA(2).fit(str(tmp_path / "?.bed"))


def test_a_file_that_is_cut_or_changed_is_an_error(tmp_path):
    X, _ = simulate(20, 30)
    path = write_bed(tmp_path, X)
    data, whole = open_genotypes(path), path.read_bytes()
    path.write_bytes(whole[:-20])
    with pytest.raises(DataError, match="ends before variant"):
        data.read(np.arange(30))
    with pytest.raises(SourceChanged, match="has changed"):
        list(data.blocks(np.arange(30), 10))
    with pytest.raises(DataError, match=r"bytes, and 20 people and 30 variants need"):
        GenotypePCA(2).fit(path)


def test_tables_beside_a_bed_file_are_utf_8(tmp_path):
    X, _ = simulate(20, 30)
    path = write_bed(tmp_path, X)
    table = path.with_suffix(".fam")
    table.write_bytes(b"\xef\xbb\xbf" + table.read_bytes())
    assert GenotypePCA(2).fit(path).people_.family[0] == "f0"
    table.write_bytes(table.read_bytes().replace(b"p3\t", "é3\t".encode("latin-1")))
    with pytest.raises(
        DataError, match=r"people\.fam' is not UTF-8 \(byte 0xe9 in line 4\); convert it: iconv -f latin-1"
    ):
        GenotypePCA(2).fit(path)


def test_variants_far_apart_are_read_without_those_between(tmp_path):
    X, _ = simulate(21, 300)
    data = open_genotypes(write_bed(tmp_path, X))
    index = np.array([0, 1, 150, 299])
    codes = native.unpack_codes(data.read(index), 21)
    np.testing.assert_array_equal(np.array([2.0, nan, 1.0, 0.0])[codes], X[:, index].T)


@pytest.mark.parametrize("suffix", [".vcf", ".bgen", ".vcf.gz"])
def test_other_files_of_genotypes_are_named_with_the_command_that_converts_them(tmp_path, suffix):
    path = tmp_path / f"people{suffix}"
    path.write_bytes(b"##fileformat=VCFv4.2\n")
    with pytest.raises(DataError, match=r"plink2 --(vcf|bgen) .*--make-bed"):
        GenotypePCA(2).fit(path)


def test_pgen_files_are_bed_files(tmp_path):
    """A file of the storage mode 2, which has a fixed width; the tables beside it are those of plink2 --make-pgen."""
    X = np.array([[2.0, 0.0, 1.0], [1.0, nan, 1.0], [0.0, 1.0, 2.0], [1.0, 2.0, 0.0], [0.0, 1.0, 1.0]])
    # Storage mode 0x02: the header, then two bits per person: copies of the alternative allele, 3 if missing.
    codes = np.where(np.isnan(X), 3, np.nan_to_num(X)).astype(np.uint8).T
    header = b"\x6c\x1b\x02" + (3).to_bytes(4, "little") + (5).to_bytes(4, "little") + b"\x40"
    path = tmp_path / "people.pgen"
    path.write_bytes(header + native.pack_codes(codes).tobytes())
    path.with_suffix(".pvar").write_text("#CHROM\tPOS\tID\tREF\tALT\n1\t1\ta\tG\tA\n1\t2\tb\tG\tA\n2\t3\tc\tT\tC\n")
    path.with_suffix(".psam").write_text("#IID\tSEX\n" + "".join(f"p{i}\tNA\n" for i in range(5)))
    if importlib.util.find_spec("pgenlib") is None:
        with pytest.raises(MissingExtra, match=r"pgenlib: pip install 'eigenlens\[genotypes\]'"):
            GenotypePCA(2).fit(path)
        pytest.skip("pgenlib is not installed")
    found = GenotypePCA(2).fit(path)
    np.testing.assert_array_equal(found.eigenvectors_, GenotypePCA(2).fit(X).eigenvectors_)
    assert found.variants_.counted.tolist() == ["A", "A", "C"]


# ---- errors and warnings --------------------------------------------------------------------------------------------


def test_people_and_pairs_without_calls_are_errors():
    X, _ = simulate(20, 40)
    X[3] = nan
    with pytest.raises(DataError, match=r"1 person has no call at all \(first: 4\).*--mind"):
        GenotypePCA(2).fit(X)
    X, _ = simulate(20, 40)
    X[3, :20], X[7, 20:] = nan, nan
    with pytest.raises(DataError, match=r"8 and 4 have no call in common.*missing='mean'"):
        GenotypePCA(2).fit(X)


def test_variants_of_one_allele_and_without_calls_are_left_out():
    X, _ = simulate(20, 40)
    X[:, 0], X[:, 1], X[:, 2] = 0.0, nan, 2.0
    model = GenotypePCA(2).fit(X)
    assert model.left_out_ == {"other chromosomes": 0, "one allele": 2, "no call": 1}
    np.testing.assert_allclose(model.eigenvalues_, GenotypePCA(2).fit(X[:, 3:]).eigenvalues_, rtol=1e-6)
    for same in (np.zeros((5, 3)), np.ones((5, 3)), np.tile([0.0, 1.0, 2.0], (5, 1))):
        with pytest.raises(DataError, match="3 variants, none of which differs between the 5 people"):
            GenotypePCA(2).fit(same)
    np.testing.assert_allclose(  # in PLINK too, a variant of heterozygous people counts in the mean of products
        GenotypePCA(2).fit(np.column_stack([X[:, 3:], np.ones(20)])).eigenvalues_, model.eigenvalues_ * 37 / 38, 1e-6
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 20}, "must be at most 19, one fewer than the people"),
        ({"missing": "em"}, "missing='em'"),
        ({"solver": "svd"}, "solver='svd'"),
        ({"chromosomes": 1.5}, "list of chromosomes"),
        ({"chromosomes": ["7"]}, "leaves none of the 40 variants"),
    ],
)
def test_options_are_checked(options, message):
    X, _ = simulate(20, 40)
    with pytest.raises(OptionError, match=message):
        GenotypePCA(**({"n_components": 2} | options)).fit(X)


def test_other_numbers_are_not_genotypes():
    with pytest.raises(DataError, match=r"has 0\.5 in column 1.*PCA\(standardize=True\)"):
        GenotypePCA(1).fit([[0.0, 0.5], [1.0, 2.0]])


def test_a_component_of_one_region_is_warned_of(tmp_path):
    rng = np.random.default_rng(0)
    X, _ = simulate(100, 2000, groups=1)
    inversion = rng.binomial(2, 0.5, 100).astype(float)  # many variants there, all of them linked
    X[:, 900:940] = np.where(rng.random((100, 40)) < 0.95, inversion[:, None], X[:, 900:940])
    names = [str(1 + j // 100) for j in range(2000)]
    positions = [2_000_000 * (j % 100) + 1 for j in range(2000)]
    positions[900:940] = [90_000_000 + 100_000 * j for j in range(40)]
    with pytest.warns(
        DataWarning, match=r"PC1: \d+% of its squared weights are on \d+ variants at .* of chromosome 10"
    ):
        GenotypePCA(3).fit(write_bed(tmp_path, X, chromosomes=names, positions=positions))


def test_ancestry_is_not_taken_for_a_region(tmp_path, recwarn):
    X, _ = simulate(90, 600)
    names = [str(1 + j // 100) for j in range(600)]
    GenotypePCA(3).fit(
        write_bed(tmp_path, X, chromosomes=names, positions=[1_000_000 * (j % 100 + 1) for j in range(600)])
    )
    assert list(recwarn) == []


def test_structure_is_significant_and_its_absence_is_not():
    X, _ = simulate(100, 2000, groups=3, fst=0.02)
    test = GenotypePCA(6).fit(X).significance_
    assert test.leading(0.01) == 2
    assert test.p_value[1] < 1e-6
    alone = GenotypePCA(3).fit(simulate(100, 2000, groups=1)[0]).significance_
    assert alone.leading(0.001) == 0
    assert alone.markers[0] == pytest.approx(2000, rel=0.1)


# ---- files of models ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("of_file", [True, False])
def test_a_saved_model_is_the_same(tmp_path, of_file):
    X, _ = simulate(30, 60, missing=0.02)
    model = GenotypePCA(3, chromosomes=["1"] if of_file else None).fit(write_bed(tmp_path, X) if of_file else X)
    model.save(tmp_path / "m.safetensors")
    loaded = eigenlens.load(tmp_path / "m.safetensors")
    for name in ("components_", "eigenvalues_", "eigenvectors_", "frequency_", "scores_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    assert loaded.variants_.places.tolist() == model.variants_.places.tolist()
    assert (loaded.people_.pairs, loaded.left_out_) == (model.people_.pairs, model.left_out_)
    assert (loaded.solver_.solver, loaded.n_features_in_) == ("gram", 60)
    np.testing.assert_array_equal(loaded.transform(X if not of_file else tmp_path / "people.bed"), model.scores_)


def test_frames_have_names_of_variants():
    import pandas as pd

    X, _ = simulate(20, 10)
    frame = pd.DataFrame(X, columns=[f"rs{j}" for j in range(10)])
    model = GenotypePCA(2, chromosomes=None).fit(frame)
    assert model.variants_.name.tolist() == list(frame.columns)
    assert model.get_feature_names_out().tolist() == ["genotypepca0", "genotypepca1"]


@pytest.mark.parametrize("kind", ["list", "pandas", "polars", "arrow", "sparse", "dask", "float32", "integers", "csv"])
def test_every_container_of_rows_gives_the_same_model(tmp_path, kind):
    import dask.array
    import pandas as pd
    import polars as pl
    from scipy import sparse

    X, _ = simulate(40, 30)
    frame = pl.DataFrame(X, schema=[f"rs{j}" for j in range(30)])
    frame.write_csv(tmp_path / "rows.csv")
    rows = {
        "list": X.tolist(), "pandas": pd.DataFrame(X), "polars": frame, "arrow": frame.to_arrow(),
        "sparse": sparse.csr_matrix(X), "dask": dask.array.from_array(X, chunks=(13, 30)),
        "float32": X.astype(np.float32), "integers": X.astype(int), "csv": eigenlens.scan(tmp_path / "rows.csv"),
    }[kind]  # fmt: skip
    expected = GenotypePCA(2, chromosomes=None).fit(X)
    np.testing.assert_array_equal(GenotypePCA(2, chromosomes=None).fit(rows).components_, expected.components_)


def test_equal_eigenvalues_have_no_effective_number_of_markers():
    found = GenotypePCA(1).fit([[0.0, 1.0, 2.0], [2.0, 0.0, 1.0]]).significance_
    assert np.isnan(found.markers).all()
    assert np.isnan(found.statistic).all()
