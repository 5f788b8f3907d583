"""Every command from end to end, on real files."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import polars as pl
import pytest

import eigenlens
from eigenlens import PCA, FactorAnalysis, GaussianMixture, KernelDensity, KernelPCA, ProbabilisticPCA
from eigenlens.catalogue import MODELS
from eigenlens.cli import COMMANDS, main
from written_reports import contents

RNG = np.random.default_rng(5)
KIND = np.repeat(["red", "green", "blue"], 30)
CENTRES = {"red": (0.0, 0.0, 0.0), "green": (4.0, 0.0, 1.0), "blue": (0.0, 5.0, -2.0)}
ROWS = np.array([CENTRES[kind] for kind in KIND]) + RNG.standard_normal((90, 3)) @ np.array(
    [[1.0, 0.3, 0.0], [0.0, 0.8, 0.4], [0.2, 0.0, 0.5]]
)
COUNTS = 1 + np.arange(90) % 3


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A command line in an empty folder: (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def command(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return command


@pytest.fixture
def wine(tmp_path):
    """A table with names, classes, counts and numbers."""
    table = {"bottle": [f"b{i}" for i in range(90)], "acid": ROWS[:, 0], "sugar": ROWS[:, 1], "ash": ROWS[:, 2]}
    frame = pl.DataFrame(table | {"kind": KIND, "count": COUNTS})
    frame.write_csv(tmp_path / "wine.csv")
    return frame


NUMBERS = ("--id", "bottle", "--label", "kind", "--weight", "count")


def done(result):
    code, out, err = result
    assert code == 0, err
    assert err == ""
    return out


# ---- help and the package around it -------------------------------------------------------------------------


def test_help_names_every_command_and_the_exit_codes(run):
    out = done(run("--help"))
    for name, command in COMMANDS.items():
        assert re.search(rf"\b{name}\b", out)
        assert command.about.split()[0] in out
    assert "130 interrupted" in " ".join(out.split())
    assert done(run("--version")) == f"eigenlens {eigenlens.__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_a_manual_with_examples(run, name):
    out = done(run(name, "--help"))
    assert f"Usage: eigenlens {name}" in out
    assert "Examples" in out
    assert f"eigenlens {name}" in out.split("Examples")[1]
    assert COMMANDS[name].about.rstrip(".") in " ".join(out.split())  # the summary is the manual's first line
    assert "--dry-run" in out


def test_every_public_name_is_there():
    for name in eigenlens.__all__:
        assert getattr(eigenlens, name) is not None
    assert set(eigenlens.__all__) <= set(dir(eigenlens))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        eigenlens.nothing


# ---- fit -----------------------------------------------------------------------------------------------------


def test_fit_says_what_it_read_found_wrote_and_what_comes_next(run, wine, tmp_path):
    out = done(run("fit", "pca", "wine.csv", "-k", 2, "--standardize", *NUMBERS, "-o", "m.safetensors",
                   "--report", "m.html"))  # fmt: skip
    twin = PCA(2, standardize=True).fit(ROWS, sample_weight=COUNTS)
    words = ("read", "model", "found", "next")
    lines = dict(line.split(maxsplit=1) for line in out.splitlines() if line.startswith(words))
    assert lines["read"] == "wine.csv: 90 rows, 3 columns"
    assert lines["model"] == "PCA(n_components=2, random_state=0, standardize=True)"
    assert f"{100 * twin.explained_variance_ratio_.sum():.1f}% of the variance" in lines["found"]
    assert f"PC1           {twin.explained_variance_[0]:.5f}" in out
    assert "wrote     m.safetensors (" in out
    assert "wrote     m.html (" in out
    assert lines["next"] == "eigenlens transform m.safetensors wine.csv -o scores.csv"
    found = eigenlens.load("m.safetensors")
    np.testing.assert_allclose(found.components_, twin.components_, atol=1e-12)
    assert list(found.feature_names_in_) == ["acid", "sugar", "ash"]
    page = (tmp_path / "m.html").read_text(encoding="utf-8")
    assert "eigenlens fit pca wine.csv -k 2 --standardize" in page
    assert '"b89"' in page
    assert '"kind"' in page
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.html", "m.safetensors", "wine.csv"]


def test_fit_in_json(run, wine):
    found = json.loads(done(run("fit", "pca", "wine.csv", "--columns", "acid:ash", "--json")))
    assert found["read"] == {"files": ["wine.csv"], "rows": 90, "columns": 3, "missing": 0, "skipped": 0}
    np.testing.assert_allclose(found["explained_variance"], PCA().fit(ROWS).explained_variance_)
    assert found["written"] == []


def test_a_dry_run_checks_and_writes_nothing(run, wine, tmp_path):
    out = done(run("fit", "pca", "wine.csv", "-c", "@float", "-o", "m.safetensors", "--dry-run"))
    assert "would     fit PCA(random_state=0)\n          write m.safetensors\n" in out
    assert [path.name for path in tmp_path.iterdir()] == ["wine.csv"]


def test_quiet_is_quiet(run, wine):
    assert done(run("fit", "pca", "wine.csv", "-c", "@float", "-o", "m.safetensors", "--quiet")) == ""
    assert done(run("score", "m.safetensors", "wine.csv", "-q")).strip() == f"{PCA().fit(ROWS).score(ROWS):.10g}"


@pytest.mark.filterwarnings("ignore:Heywood case")  # one factor of three columns
@pytest.mark.parametrize(
    ("words", "twin"),
    [
        (("pca", "-k", 2, "--rotation", "varimax"), PCA(2, rotation="varimax", random_state=0)),
        (("kpca", "-k", 3, "--gamma", "median"), KernelPCA(3, gamma="median", random_state=0)),
        (("kpca", "--kernel", "poly", "--degree", 2, "-k", 2), KernelPCA(2, kernel="poly", degree=2, random_state=0)),
        (("ppca", "-k", 1), ProbabilisticPCA(1, random_state=0)),
        (("ppca",), ProbabilisticPCA("bic", random_state=0)),
        (("fa", "-k", 1, "--rotation", "varimax"), FactorAnalysis(1, rotation="varimax", random_state=0)),
        (("gmm", "-k", 3, "--covariance", "diag", "--set", "n_init=3"),
         GaussianMixture(3, covariance_type="diag", n_init=3, random_state=0)),
        (("kde", "--bandwidth", "scott"), KernelDensity(bandwidth="scott", random_state=0)),
        (("kde", "--bandwidth", 0.5, "--kernel", "epanechnikov"),
         KernelDensity(bandwidth=0.5, kernel="epanechnikov", random_state=0)),
    ],
)  # fmt: skip
def test_every_model_is_fitted_as_in_python(run, wine, words, twin):
    out = done(run("fit", *words[:1], "wine.csv", *words[1:], "--columns", "@float", "-o", "m.safetensors"))
    assert f"model     {' '.join(repr(twin).split())}" in out
    assert out.splitlines()[-1].startswith("next      eigenlens ")
    found, twin = eigenlens.load("m.safetensors"), twin.fit(ROWS)
    method = "score_samples" if hasattr(twin, "score_samples") else "transform"
    X = wine.select("acid", "sugar", "ash")
    np.testing.assert_allclose(getattr(found, method)(X), getattr(twin, method)(ROWS), rtol=1e-7, atol=1e-9)
    for command in ("info", "export"):
        done(run(command, "m.safetensors"))


def test_loadings_are_shown_with_their_standard_errors(run):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 1)) @ np.array([[0.9, 0.8, 0.7, 0.6]]) + rng.standard_normal((200, 4))
    np.savetxt("answers.csv", X, delimiter=",", header="a,b,c,d", comments="")
    out = done(run("fit", "fa", "answers.csv", "-k", 1))
    fa = FactorAnalysis(1, random_state=0).fit(X)
    error = fa.standard_errors().loadings[0, 0]
    assert f"{fa.loadings_[0, 0]:.3f} ± {error:.3f}" in out
    assert "PC1" not in out


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("nb",), "NaiveBayes"),
        (("lda",), "LinearDiscriminant"),
        (("bayes", "--density", "gmm", "-k", 1), "BayesClassifier"),
    ],
)
def test_classifiers_learn_and_predict(run, wine, words, kind):
    if kind not in MODELS:
        pytest.skip(f"{kind} is not registered")
    out = done(run("fit", words[0], "wine.csv", *words[1:], *NUMBERS, "-o", "c.safetensors"))
    assert "3 classes" in out
    assert "green" in out
    done(run("predict", "c.safetensors", "wine.csv", "--proba", "--id", "bottle", "-o", "p.csv"))
    found = pl.read_csv("p.csv")
    assert found.columns == ["bottle", "kind", "predicted", "p(blue)", "p(green)", "p(red)"]
    np.testing.assert_allclose(found.select(pl.col("^p.*\\)$")).to_numpy().sum(axis=1), 1.0)
    right = (found["predicted"].to_numpy() == KIND).mean()
    assert right > 0.9
    scored = json.loads(done(run("score", "c.safetensors", "wine.csv", "--label", "kind", "--json")))
    assert scored["accuracy"] == pytest.approx(right)
    drawn = done(run("sample", "c.safetensors", "-n", 7)).splitlines()
    assert drawn[0] == "label,acid,sugar,ash"
    assert len(drawn) == 8


def test_naive_bayes_takes_text_columns_as_they_are(run, tmp_path):
    if "NaiveBayes" not in MODELS:
        pytest.skip("NaiveBayes is not registered")
    words = [("sunny", "hot", "stay"), ("rain", "mild", "go"), ("sunny", "mild", "stay"), ("rain", "cool", "go")]
    lines = ["sky,air,what", *(",".join(row) for row in words * 5)]
    (tmp_path / "golf.csv").write_text("\n".join(lines) + "\n")
    done(run("fit", "nb", "golf.csv", "--label", "what", "-o", "nb.safetensors"))
    code, out, err = run("predict", "nb.safetensors", "golf.csv")
    assert code == 0
    assert out.splitlines()[:5] == ["what,predicted", "stay,stay", "go,go", "stay,stay", "go,go"]
    assert err.startswith("accuracy 1 ± 0 on the rows of the fit: ")


def test_not_converged_is_an_error_under_strict(run, tmp_path):
    X = ROWS.copy()
    X[::7, 1] = np.nan
    np.save(tmp_path / "gaps.npy", X)
    words = ("fit", "ppca", "gaps.npy", "-k", 1, "--set", "max_iter=1", "-o", "m.safetensors")
    code, _, err = run(*words, "--strict")
    assert code == 4
    assert err.startswith("error: the fit did not converge: ")
    assert "\n  fix: raise --set max_iter" in err
    assert not (tmp_path / "m.safetensors").exists()
    assert "warning   " in done(run(*words))


# ---- what is read --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".arrow", ".csv.gz", ".npy"])
def test_every_format_gives_the_same_model(run, wine, tmp_path, suffix):
    frame, path = wine.select("acid", "sugar", "ash"), tmp_path / f"table{suffix}"
    if suffix == ".npy":
        np.save(path, frame.to_numpy())
    elif suffix == ".csv.gz":
        import gzip

        path.write_bytes(gzip.compress(frame.write_csv().encode()))
    else:
        {".csv": frame.write_csv, ".parquet": frame.write_parquet, ".arrow": frame.write_ipc,
         ".tsv": lambda target: frame.write_csv(target, separator="\t")}[suffix](path)  # fmt: skip
    found = json.loads(done(run("fit", "pca", path.name, "--json")))
    np.testing.assert_allclose(found["explained_variance"], PCA().fit(ROWS).explained_variance_)


def test_files_by_pattern_with_rows_filtered(run, wine):
    wine[:50].write_parquet("part1.parquet")
    wine[50:].write_parquet("part2.parquet")
    words = ("fit", "pca", "part*.parquet", "--drop", "bottle,count", "--where", "kind != red", "--where", "acid > 0")
    found = json.loads(done(run(*words, "--json")))
    kept = ROWS[(KIND != "red") & (ROWS[:, 0] > 0)]
    assert found["read"]["rows"] == len(kept)
    np.testing.assert_allclose(found["explained_variance"], PCA().fit(kept).explained_variance_)
    streamed = json.loads(done(run(*words, "--json", "--max-memory", "1kB", "--threads", 1)))
    assert streamed["read"]["missing"] is None
    np.testing.assert_allclose(streamed["explained_variance"], found["explained_variance"])


def test_decimal_commas_no_names_and_missing_marks(run, tmp_path):
    lines = [";".join(f"{x:.17g}".replace(".", ",") for x in row) for row in ROWS]
    (tmp_path / "komma.csv").write_text("acid;sugar;ash\n" + "\n".join(lines) + "\n?;1,0;1,0\n")
    words = ("fit", "pca", "komma.csv", "--na", "?", "--skip-missing", "--json")
    found = json.loads(done(run(*words)))
    np.testing.assert_allclose(found["explained_variance"], PCA().fit(ROWS).explained_variance_)
    assert found["read"]["rows"] == 90
    (tmp_path / "bare.csv").write_text("\n".join(line.replace(",", ".").replace(";", ",") for line in lines) + "\n")
    bare = json.loads(done(run("fit", "pca", "bare.csv", "--json")))
    np.testing.assert_allclose(bare["explained_variance"], PCA().fit(ROWS).explained_variance_)
    told = json.loads(done(run("info", "komma.csv", "--na", "?", "--json")))
    assert told["text"] == {"separator": ";", "header": True, "decimal": ",", "na": ["?"], "encoding": "utf-8",
                            "thousands": None, "comment": None, "header_rows": None, "skip": None,
                            "footer": None, "max_ratio": None}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "columns"),
    [
        (("-c", "acid,ash"), ["acid", "ash"]),
        (("-c", "acid:ash"), ["acid", "sugar", "ash"]),
        (("-c", "ash", "-c", "acid"), ["ash", "acid"]),
        (("-c", "@float"), ["acid", "sugar", "ash"]),
        (("-c", "@number"), ["acid", "sugar", "ash", "count"]),
        (("--drop", "@text"), ["acid", "sugar", "ash", "count"]),
        (("--drop", "@text,sugar:ash"), ["acid", "count"]),
        (("-c", "sugar:", "--label", "kind"), ["sugar", "ash", "count"]),
    ],
)
def test_columns_by_name_range_and_type(run, wine, words, columns):
    done(run("fit", "pca", "wine.csv", *words, "-o", "m.safetensors"))
    assert list(eigenlens.load("m.safetensors").feature_names_in_) == columns


# ---- what is done with a model ---------------------------------------------------------------------------------


@pytest.fixture
def fitted(run, wine):
    """Models of the table, in files by name."""
    for name, options in {"pca": ("-k", 2), "kpca": ("-k", 4), "ppca": ("-k", 1), "kde": ()}.items():
        done(run("fit", name, "wine.csv", "-c", "acid:ash", *options, "-o", f"{name}.safetensors", "-q"))
    return wine


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".json", ".npy"])
def test_transform_writes_every_format(run, fitted, suffix):
    beside = () if suffix == ".npy" else ("--id", "bottle")
    out = done(run("transform", "pca.safetensors", "wine.csv", *beside, "-o", f"z{suffix}"))
    assert f"wrote     z{suffix} (90 rows, " in out
    readers = {
        ".csv": pl.read_csv,
        ".parquet": pl.read_parquet,
        ".arrow": pl.read_ipc,
    }
    Z = PCA(2).fit_transform(ROWS)
    if suffix == ".npy":
        np.testing.assert_allclose(np.load("z.npy"), Z, atol=1e-12)
        return
    if suffix == ".json":
        with open("z.json", encoding="utf-8") as file:
            found = pl.DataFrame(json.load(file))
    else:
        found = readers[suffix](f"z{suffix}")
    assert found.columns == ["bottle", "kind", "PC1", "PC2"]
    assert found["bottle"][:2].to_list() == ["b0", "b1"]
    np.testing.assert_allclose(found.select("PC1", "PC2").to_numpy(), Z, atol=1e-12)


def test_transform_to_standard_output_takes_the_models_columns(run, fitted):
    fitted.select("kind", "ash", "sugar", "acid")[:3].write_csv("other.csv")
    lines = done(run("transform", "pca.safetensors", "other.csv", "--label", "kind")).splitlines()
    assert lines[0] == "kind,PC1,PC2"
    found = np.array([line.split(",")[1:] for line in lines[1:]], dtype=float)
    np.testing.assert_allclose(found, PCA(2).fit(ROWS).transform(ROWS[:3]), atol=1e-12)
    told = json.loads(done(run("transform", "pca.safetensors", "other.csv", "--json")))
    np.testing.assert_allclose(told["columns"]["PC1"], found[:, 0])


@pytest.mark.parametrize("name", ["pca", "kpca"])
def test_denoise(run, fitted, name):
    done(run("denoise", f"{name}.safetensors", "wine.csv", "-o", "clean.parquet"))
    twin = {"pca": PCA(2), "kpca": KernelPCA(4, random_state=0)}[name].fit(ROWS)
    wanted = twin.inverse_transform(twin.transform(ROWS)) if name == "pca" else twin.denoise(ROWS)
    found = pl.read_parquet("clean.parquet")
    assert found.columns == ["bottle", "kind", "acid", "sugar", "ash"]
    np.testing.assert_allclose(found.drop("bottle", "kind").to_numpy(), wanted, atol=1e-8)


def test_impute_with_deviations(run, fitted):
    gaps = fitted.select("bottle", "acid", "sugar").with_columns(
        pl.when(pl.int_range(pl.len()) % 5 == 0).then(None).otherwise(fitted["ash"]).alias("ash")
    )
    gaps.write_csv("gaps.csv")
    done(run("impute", "ppca.safetensors", "gaps.csv", "--std", "--id", "bottle", "-o", "filled.csv"))
    found = pl.read_csv("filled.csv")
    assert found.columns == ["bottle", "acid", "sugar", "ash", "acid_std", "sugar_std", "ash_std"]
    X, deviations = (
        ProbabilisticPCA(1).fit(ROWS).impute(gaps.select("acid", "sugar", "ash").to_numpy(), return_std=True)
    )
    np.testing.assert_allclose(found.select("acid", "sugar", "ash").to_numpy(), X, atol=1e-8)
    np.testing.assert_allclose(found["ash_std"].to_numpy(), deviations[:, 2], atol=1e-8)


def test_score_and_sample(run, fitted):
    told = json.loads(done(run("score", "kde.safetensors", "wine.csv", "--weight", "count", "-o", "d.csv", "--json")))
    density = KernelDensity().fit(ROWS).score_samples(ROWS)
    assert told["log_density"] == pytest.approx(np.average(density, weights=COUNTS))
    np.testing.assert_allclose(pl.read_csv("d.csv")["log_density"].to_numpy(), density)
    first, same, other = (done(run("sample", "kde.safetensors", "-n", 5, "--seed", seed)) for seed in (1, 1, 2))
    assert first.splitlines()[0] == "acid,sugar,ash"
    assert len(first.splitlines()) == 6
    assert first == same != other


def test_mixtures_predict_components(run, wine):
    done(run("fit", "gmm", "wine.csv", "-c", "acid:ash", "-k", 3, "-o", "g.safetensors"))
    lines = done(run("predict", "g.safetensors", "wine.csv", "--proba", "--label", "kind")).splitlines()
    assert lines[0] == "bottle,kind,predicted,p(0),p(1),p(2)"
    by_kind = {kind: {line.split(",")[2] for line in lines[1:] if line.split(",")[1] == kind} for kind in CENTRES}
    assert all(len(found) <= 2 for found in by_kind.values())


def test_compare_warns_once_of_what_all_folds_have(run, wine):
    words = ("-c", "acid:ash", "--models", "gmm:k=3:max_iter=2,kde", "--cv", 4, "--json")
    found = json.loads(done(run("compare", "wine.csv", *words)))
    assert len([each for each in found["warnings"] if "stopped" in each]) == 1, found["warnings"]


def test_compare_warns_once_of_what_differs_in_names_from_fold_to_fold(run, tmp_path):
    X = np.random.default_rng(1).normal(0.0, [1.0, 100.0, 1.0], (60, 3)).round(2)
    pl.DataFrame(np.column_stack([X, X.sum(axis=1).round(2)]), schema=list("abcd")).write_csv(tmp_path / "sums.csv")
    found = json.loads(done(run("compare", "sums.csv", "--models", "fa,gmm:k=2", "--json")))
    for piece in ("Heywood case", "have collapsed"):
        assert len([each for each in found["warnings"] if piece in each]) == 1, found["warnings"]


def test_compare_ranks_models(run, wine):
    words = ("compare", "wine.csv", "-c", "acid:ash", "--models", "gmm:k=1,gmm:k=3:n_init=3,ppca:k=1", "--cv", 4)
    out = done(run(*words, "-o", "table.csv"))
    assert "behind best" in out
    assert "next      eigenlens fit gmm wine.csv -k 3 --set n_init=3 --columns acid:ash -o gmm.safetensors" in out
    told = json.loads(done(run(*words, "--json")))
    estimators = {
        "gmm:k=1": GaussianMixture(1, random_state=0),
        "gmm:k=3:n_init=3": GaussianMixture(3, n_init=3, random_state=0),
        "ppca:k=1": ProbabilisticPCA(1, random_state=0),
    }
    twin = eigenlens.compare(estimators, ROWS, cv=4, random_state=0)
    assert told["table"]["model"] == list(twin.names) == pl.read_csv("table.csv")["model"].to_list()
    np.testing.assert_allclose(told["table"]["log_density"], twin.means)


def test_report_of_several_models(run, fitted, tmp_path):
    out = done(run("report", "pca.safetensors", "ppca.safetensors", "wine.csv", "--label", "kind", "-o", "r.html"))
    assert "wrote     r.html (" in out
    pages = contents(tmp_path / "r.html")["pages"]
    assert [each["title"] for each in pages] == ["All models", "PCA", "Probabilistic PCA", "Data and code"]


# ---- info and export ---------------------------------------------------------------------------------------------


def test_info_describes_a_table(run, wine):
    out = done(run("info", "wine.csv"))
    assert "file      wine.csv: 90 rows, 6 columns (" in out
    assert re.search(
        rf"acid\s+float\s+active\s+{ROWS[:, 0].min():.6g}\s+{ROWS[:, 0].mean():.6g}\s+{ROWS[:, 0].max():.6g}", out
    )
    assert "3 different, e.g. 'red'" in out
    assert out.endswith("next      eigenlens fit pca wine.csv\n")
    told = json.loads(done(run("info", "wine.csv", "--json")))
    assert {column["name"]: column["type"] for column in told["columns"]} == {
        "bottle": "text", "acid": "float", "sugar": "float", "ash": "float", "kind": "text", "count": "integer",
    }  # fmt: skip
    roles = [column["role"] for column in told["columns"]]
    assert roles == ["id", "active", "active", "active", "label", "active"]


def test_info_counts_what_is_missing(run, tmp_path):
    (tmp_path / "gaps.csv").write_text("a,b,c\n1,x,TRUE\n,,FALSE\nNA,y,TRUE\n4,,\n")
    told = json.loads(done(run("info", "gaps.csv", "--na", "NA", "--json")))
    assert [(column["type"], column["missing"]) for column in told["columns"]] == [
        ("integer", 2),
        ("text", 2),
        ("boolean", 1),
    ]
    assert told["missing"] == 5
    np.save("gaps.npy", np.array([[1.0, np.nan], [3.0, 4.0]]))
    told = json.loads(done(run("info", "gaps.npy", "--json")))
    assert [(column["missing"], column["least"], column["mean"]) for column in told["columns"]] == [
        (0, 1.0, 2.0),
        (1, 4.0, 4.0),
    ]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npy"])
def test_info_by_small_blocks_is_info_of_the_whole(run, wine, monkeypatch, suffix):
    """What the memory of a description is bounded by: blocks, whose findings are put together."""
    mixed = wine.with_columns(
        pl.Series("late", [*map(str, range(80)), *(["few"] * 10)]), pl.Series("flag", [True] * 90)
    )
    if suffix == ".npy":
        np.save("t.npy", ROWS)
    else:
        (mixed.write_csv if suffix == ".csv" else mixed.write_parquet)(f"t{suffix}")
    whole = json.loads(done(run("info", f"t{suffix}", "--json")))
    monkeypatch.setattr("eigenlens.data.files.text.PIECE_BYTES", 700)
    monkeypatch.setattr("eigenlens.data.files.formats.parquet.FILE_BLOCK_BYTES", 700)
    found = json.loads(done(run("info", f"t{suffix}", "--json")))
    for one, other in zip(found.pop("columns"), whole.pop("columns"), strict=True):
        mean, wanted = one.pop("mean"), other.pop("mean")
        assert one == other
        assert mean == (None if wanted is None else pytest.approx(wanted))
    assert found == whole
    if suffix == ".csv":
        assert "numbers but for 'few' in 10 rows" in done(run("info", "t.csv"))


def test_files_whose_columns_stand_in_another_order(run, wine):
    wine[:40].write_csv("a.csv")
    wine[40:].select(reversed(wine.columns)).write_csv("b.csv")
    found = json.loads(done(run("fit", "pca", "a.csv", "b.csv", "-c", "acid:ash", "--json")))
    np.testing.assert_allclose(found["explained_variance"], PCA().fit(ROWS).explained_variance_)
    told = json.loads(done(run("info", "a.csv", "b.csv", "--json")))
    assert [column["least"] for column in told["columns"]][1:4] == pytest.approx(ROWS.min(axis=0).tolist())
    out = done(run("fit", "nb", "a.csv", "b.csv", "--label", "kind", "--drop", "bottle"))
    assert "blue     30  0.3333" in out


def test_info_describes_a_model(run, fitted):
    out = done(run("info", "pca.safetensors"))
    assert "PCA(n_components=2, random_state=0)" in out
    assert "fitted to 90 rows, 3 columns: acid, sugar, ash" in out
    assert re.search(r"components\s+float64\s+2 × 3", out)


def test_export_as_json_and_csv(run, fitted, tmp_path):
    done(run("export", "pca.safetensors", "-o", "p.json"))
    with open("p.json", encoding="utf-8") as file:
        found = json.load(file)
    twin = PCA(2).fit(ROWS)
    assert found["columns"] == ["acid", "sugar", "ash"]
    np.testing.assert_allclose(found["parameters"]["components_"], twin.components_, atol=1e-12)
    np.testing.assert_allclose(found["parameters"]["mean_"], twin.mean_)
    done(run("export", "pca.safetensors", "-o", "p.csv"))
    long = pl.read_csv("p.csv")
    entry = long.filter((pl.col("parameter") == "components_") & (pl.col("row") == "PC2") & (pl.col("column") == "ash"))
    assert entry["value"].item() == pytest.approx(twin.components_[1, 2])
    done(run("export", "pca.safetensors", "--only", "loadings", "-o", "l.csv"))
    wide = pl.read_csv("l.csv")
    assert wide.columns == ["name", "PC1", "PC2"]
    np.testing.assert_allclose(wide.select("PC1", "PC2").to_numpy(), twin.loadings_, atol=1e-12)
    assert json.loads(done(run("export", "pca.safetensors", "--only", "mean_")))["parameters"].keys() == {"mean_"}
    code, _, err = run("export", "pca.safetensors", "--only", "weights")
    assert (code, err.splitlines()[0]) == (2, "error: --only weights: a PCA has no such parameter")


def test_export_as_onnx_or_what_is_missing(run, fitted, tmp_path):
    code, out, err = run("export", "pca.safetensors", "-o", "p.onnx")
    try:
        import onnxruntime
    except ImportError:
        if code == 5:
            assert err == "error: writing ONNX needs onnx\n  fix: pip install 'eigenlens[onnx]'\n"
            assert not (tmp_path / "p.onnx").exists()
        return
    assert code == 0, err
    assert "checked with onnxruntime" in out
    (scores,) = onnxruntime.InferenceSession("p.onnx").run(None, {"X": ROWS})
    np.testing.assert_allclose(scores, PCA(2).fit(ROWS).transform(ROWS), atol=1e-9)
    code, _, err = run("export", "kde.safetensors", "-o", "k.onnx")
    assert code == 3
    assert "is not a linear projection" in err


# ---- demo --------------------------------------------------------------------------------------------------------


def test_demo_lists_writes_and_shows(run, tmp_path):
    out = done(run("demo", "--list"))
    assert all(name in out for name in eigenlens.datasets.EXAMPLES)
    done(run("demo", "old-faithful", "--data", "geyser.csv"))
    assert pl.read_csv("geyser.csv").columns == ["id", "eruption minutes", "waiting minutes"]
    done(run("demo", "simulated-geyser", "--data", "simulated.csv"))
    assert pl.read_csv("simulated.csv").columns == ["id", "label", "eruption minutes", "waiting minutes"]
    out = done(run("demo", "two-circles", "-o", "shown"))
    assert "wrote shown/report.html" in out
    assert (tmp_path / "shown" / "report.html").exists()
    code, _, err = run("demo", "two-circles", "-o", "shown")
    assert code == 2
    assert "exists already" in err
    shutil.rmtree(tmp_path / "shown")
    code, _, err = run("demo", "three-circles")
    assert (code, err.splitlines()[0]) == (2, "error: 'three-circles' is not an example")
