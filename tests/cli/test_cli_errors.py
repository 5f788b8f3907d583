"""Bad files, bad words, interrupts: the exit code, the error, the way out, and nothing half-written."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import safetensors.numpy

from eigenlens.cli import errors, main
from eigenlens.errors import DataError, MissingExtra, OptionError, ResourceError

RNG = np.random.default_rng(2)
GOOD = "a,b,c\n" + "\n".join(",".join(f"{x:.6f}" for x in row) for row in RNG.standard_normal((20, 3))) + "\n"


@pytest.fixture
def fails(tmp_path, monkeypatch, capsys):
    """A command line that must fail in the house style and leave no new file: (exit code, what is wrong, the fix)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.csv").write_text(GOOD)

    def command(*words):
        before = sorted(path.name for path in tmp_path.iterdir())
        capsys.readouterr()
        code = main([str(word) for word in words])
        err = capsys.readouterr().err
        lines = err.splitlines()
        assert len(lines) in (2, 3), err
        assert all(line.startswith("  try: eigenlens ") for line in lines[2:])
        assert lines[0].startswith("error: ")
        assert lines[1].startswith("  fix: ")
        assert sorted(path.name for path in tmp_path.iterdir()) == before
        return code, lines[0].removeprefix("error: "), lines[1].removeprefix("  fix: ")

    return command


BAD = {
    "empty.csv": (b"", "is empty (0 bytes)", "write it again"),
    "names.csv": (b"a,b\n", "has a line of names and no rows", "at least one row"),
    "long.csv": (b"a,b\n1,2\n3,4,5\n", "is ragged: row 3 has 3 cells, and the first has 2", "mend that row"),
    "short.csv": (b"a,b\n1,2\n3\n5,6\n", "is ragged: row 3 has 1 cell, and the first has 2", "mend that row"),
    "binary.csv": (bytes(range(256)) * 8, "is binary, not delimited text", "write it as CSV"),
    "parquet.csv": (b"PAR1" + b"x" * 50, "is Parquet, not delimited text", "suffix of its format"),
    "latin.csv": (
        "\u03bc\u03ae\u03ba\u03bf\u03c2,b\n1,2\n3,4\n".encode("cp1253"),
        "is not UTF-8 (byte 0xec at position 0, in line 1)",
        "--encoding latin-1",
    ),
    "windows.csv": (
        "\u201ca\u201d\u2026\u2026,b\n1,2\n".encode("cp1252"),
        "is not UTF-8 (byte 0x93 at position 0, in line 1)",
        "--encoding cp1252",
    ),
    "wide.csv": ("a,b\n1,2\n".encode("utf-16-le"), "is UTF-16 without its byte order mark", "--encoding utf-16-le"),
    "broken.parquet": (b"PAR1 nothing else", "cannot be read", "write it again"),
    "broken.arrow": (b"ARROW1 nothing else", "cannot be read", "write it again"),
    "broken.npy": (b"\x93NUMPY\x01\x00", "", "numpy.save"),
    "odd.xyz": (b"1,2\n", "has no known suffix", "name a copy so: cp odd.xyz odd.txt"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_rejected(fails, tmp_path, name):
    contents, what, fix = BAD[name]
    (tmp_path / name).write_bytes(contents)
    code, said, out = fails("fit", "pca", name, "-o", "m.safetensors", "--report", "m.html")
    assert code == 3
    assert name in said
    assert what in said
    assert fix in out
    assert fails("info", name)[0] == 3


LATE = {
    "long.csv": ("1,2,3,4", "is ragged: row 3001 has 4 cells, and the first has 3", "mend that row"),
    "short.csv": ("1,2", "is ragged: row 3001 has 2 cells, and the first has 3", "mend that row"),
    "quoted.csv": ('1,"2,3"', "is ragged: row 3001 has 2 cells, and the first has 3", "mend that row"),
    "latin.csv": ("1,2,caf\u00e9\u00e9\u00e9", "is not UTF-8 (byte 0xe9", "--encoding latin-1"),
    "text.csv": ("1,many,3", "column 'b' has text in 1 row (first: row 3000, 'many')", "add --na many"),
}


@pytest.mark.parametrize("name", LATE)
def test_what_is_wrong_far_down_in_a_file_is_found(fails, tmp_path, name):
    line, what, fix = LATE[name]
    lines = ["a,b,c", *(f'{i},"{i % 7}",{i % 5}' for i in range(5000))]
    lines[3000] = line
    (tmp_path / name).write_bytes(("\n".join(lines) + "\n").encode("latin1"))
    code, said, out = fails("fit", "ppca", name, "-k", 1, "-o", "m.safetensors")
    assert code == 3
    assert what in said
    assert fix in out
    if name != "text.csv":
        assert fails("info", name)[:2] == (3, said)


def test_columns_that_cannot_be_labels_or_weights(fails, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,w,y\n1,2,1,u\n2,1,-1,u\n3,5,0.5,\n0,1,,v\n")
    assert fails("fit", "nb", "t.csv", "--label", "b", "--columns", "a", "--weight", "y")[:2] == (
        3,
        "the weight column 'y' holds text (first: 'u')",
    )
    code, said, _ = fails("fit", "pca", "t.csv", "--columns", "a,b", "--weight", "w")
    assert (code, said) == (3, "the weight column 'w' is missing, infinite or negative in 2 rows (first: row 2: -1)")
    for name in ("nb", "lda"):
        code, said, fix = fails("fit", name, "t.csv", "--label", "y", "--columns", "a,b")
        assert (code, said) == (3, "the label column 'y' is empty in 1 row (first: row 3)")
        assert fix == "leave those rows out with --skip-missing"
        code, said, _ = fails("fit", name, "t.csv", "--label", "w", "--columns", "a,b", "--skip-missing")
        assert (code, said) == (3, "the label column 'w' holds measurements (first: row 3, 0.5), not classes")
    (tmp_path / "one.csv").write_text("a,y\n1,u\n2,u\n")
    assert fails("fit", "lda", "one.csv", "--label", "y")[1].startswith("the label column has 1 class ('u')")


def test_files_that_are_no_table_together(fails, tmp_path):
    (tmp_path / "other.csv").write_text("a,b,z\n1,2,3\n")
    pl.DataFrame({"a": [1.0], "b": [2.0], "c": [3.0]}).write_parquet(tmp_path / "good.parquet")
    for command in (("fit", "pca"), ("info",)):
        code, said, _ = fails(*command, "good.csv", "other.csv")
        assert code == 3
        assert "have different columns ('z' is in one only)" in said
        code, said, _ = fails(*command, "good.csv", "good.parquet")
        assert (code, said) == (3, "'good.parquet' and 'good.csv' are of different formats")


def test_too_few_rows_are_reported_in_words(fails, tmp_path):
    (tmp_path / "row.csv").write_text("a,b\n1,2\n")
    assert fails("fit", "pca", "row.csv") == (
        3,
        "the table has 1 sample of positive weight, but a variance needs at least 2 rows",
        "give more rows",
    )


def test_text_is_not_compared_with_numbers(fails, tmp_path):
    (tmp_path / "names.csv").write_text("who,a,b\nann,1,2\nbob,2,1\n")
    code, said, _ = fails("fit", "pca", "names.csv", "--where", "who > 3")
    assert (code, said) == (2, "--where compares a column of text with the number 3")


@pytest.mark.skipif(os.geteuid() == 0, reason="a superuser may read and write everything")
def test_files_that_may_not_be_read_or_written(fails, tmp_path):
    assert main(["fit", "pca", "good.csv", "-o", "m.safetensors", "-q"]) == 0
    (tmp_path / "locked").mkdir(mode=0o500)
    code, said, _ = fails("sample", "m.safetensors", "-o", "locked/d.csv")
    assert (code, said) == (3, f"'locked/d.csv' lies in '{tmp_path / 'locked'}', which cannot be written to")
    for name, words in {"good.csv": ("fit", "pca", "good.csv"), "m.safetensors": ("info", "m.safetensors")}.items():
        (tmp_path / name).chmod(0)
        code, said, fix = fails(*words)
        assert code == 3
        assert name in said
        assert "permi" in said + fix


def test_absent_folders_and_files(fails, tmp_path):
    (tmp_path / "folder").mkdir()
    assert fails("fit", "pca", "folder") == (
        3,
        "'folder' is a folder",
        "name a file of a format that is read",
    )
    (tmp_path / "folder" / "a.csv").write_text("a,b\n1,2\n3,5\n")
    assert fails("fit", "pca", "folder")[2] == "name its files: 'folder/*.csv'"
    assert fails("info", "folder")[0] == 3
    assert fails("fit", "pca", "none.csv") == (3, "'none.csv' does not exist", "check the spelling and the folder")
    assert fails("fit", "pca", "none*.csv") == (3, "'none*.csv' matches no file", "check the pattern and the folder")


def test_text_among_numbers_is_explained_in_flags(fails, tmp_path):
    (tmp_path / "ph.csv").write_text("ph,b\n" + "7.1,1\n" * 17 + "low,2\n" * 3)
    code, said, fix = fails("fit", "pca", "ph.csv")
    assert code == 3
    assert said == "column 'ph' has text in 3 rows (first: row 18, 'low')"
    assert fix == "add --na low, or leave it out with --drop ph"
    (tmp_path / "names.csv").write_text("who is it,a,b\nann,1,2\nbob,2,1\ncy,5,5\n")
    _, said, fix = fails("fit", "pca", "names.csv", "--active", "who is it")
    assert said == "column 'who is it' has text in 3 rows (first: row 1, 'ann')"
    assert fix == "leave it out with --drop 'who is it', or name it with --id or --label"
    (tmp_path / "mixed.csv").write_text("a;b\n1,5;2\n2,5;1\n3.25;4\n")
    code, said, _ = fails("fit", "pca", "mixed.csv", "--decimal", ",")
    assert code == 3
    assert "a point where numbers have commas" in said


def test_missing_entries_and_filters_that_leave_nothing(fails, tmp_path):
    (tmp_path / "gaps.csv").write_text("a,b\n1,\n2,3\n,4\n5,1\n")
    code, said, fix = fails("fit", "pca", "gaps.csv", "--missing", "raise")
    assert code == 3
    assert said == "the table contains NaN: 2 entries in 2 of 2 columns ('a', 'b') are missing"
    able = "pca takes them if fitted with --missing em, and so do ppca, fa, gmm, mix, nb, lda, qda"
    assert fix == f"--skip-missing leaves those rows out; {able}"
    code, said, fix = fails("fit", "pca", "good.csv", "--where", "a > 100")
    assert (code, said) == (3, "0 of the 20 rows are left after the filters")
    assert "--where" in fix
    assert fails("fit", "pca", "good.csv", "--drop", "a:c")[:2] == (3, "no column is left to work on")


def test_a_model_that_does_not_fit_the_columns(fails, tmp_path):
    assert main(["fit", "pca", "good.csv", "-o", "m.safetensors", "-q"]) == 0
    (tmp_path / "other.csv").write_text("a,z\n1,2\n3,4\n")
    code, said, fix = fails("transform", "m.safetensors", "other.csv")
    assert code == 3
    assert said == "the file lacks 2 of the 3 columns that the PCA was fitted on: 'b', 'c'"
    assert fix == "rename its columns, or fit a model to it; it has a, z"
    code, said, fix = fails("transform", "m.safetensors", "good.csv", "--columns", "a,b")
    assert (code, said) == (3, "--columns names a, b, and the model was fitted on a, b, c")
    assert fix == "leave out --columns: a model finds its columns by their names"
    assert main(["transform", "m.safetensors", "good.csv", "--columns", "c,b,a"]) == 0
    np.save(tmp_path / "narrow.npy", np.ones((4, 2)))
    code, said, _ = fails("transform", "m.safetensors", "narrow.npy")
    assert code == 3
    assert "the table has 2 features, but PCA is expecting 3" in said
    assert fails("impute", "m.safetensors", "good.csv") == (3, "a PCA cannot impute", "fit ppca, fa, gmm or mix")
    assert fails("predict", "m.safetensors", "good.csv")[0] == 3


@pytest.mark.parametrize(
    ("command", "rest", "model", "more"),
    [
        ("impute", ("--std", "-o", "filled.csv"), "ppca", ()),
        ("predict", (), "gmm", ()),
        ("predict", ("--label", "kind"), "nb", ("--label", "kind")),
        ("score", ("--where", "a > 0"), "pca", ("--where", "a > 0")),
        ("transform", (), "pca", ()),
        ("denoise", ("--output=d.csv",), "pca", ()),
    ],
)
def test_a_model_that_can_is_fitted_to_the_same_rows(tmp_path, monkeypatch, capsys, command, rest, model, more):
    """The fit is printed as it can be typed; the command that was typed then works with its model."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(3).normal(size=(40, 3))
    lines = [f"{a:.3f},{b:.3f},{c:.3f},{'xy'[i % 2]}" for i, (a, b, c) in enumerate(X)]
    Path("t.csv").write_text("\n".join(["a,b,c,kind", *lines]) + "\n")
    other = {"score": "spca", "transform": "kde", "denoise": "kde"}.get(command, "pca")
    assert main(["fit", other, "t.csv", "-o", "pca.safetensors", "-q"]) == 0
    capsys.readouterr()
    assert main([command, "pca.safetensors", "t.csv", *rest]) == 3
    err = capsys.readouterr().err
    target = "pca-2.safetensors" if model == "pca" else f"{model}.safetensors"
    words = shlex.split(err.split("try: ")[1])
    assert words == ["eigenlens", "fit", model, "t.csv", *more, "-o", target]
    assert main(words[1:]) == 0
    assert main([command, target, "t.csv", *rest]) == 0


def test_files_that_are_no_models(fails, tmp_path):
    assert main(["fit", "pca", "good.csv", "-o", "m.safetensors", "-q"]) == 0
    whole = (tmp_path / "m.safetensors").read_bytes()
    (tmp_path / "cut.safetensors").write_bytes(whole[:-20])
    (tmp_path / "altered.safetensors").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    (tmp_path / "pickle.safetensors").write_bytes(b"\x80\x04\x95cos\nsystem\n")
    for name, what in {"cut": "truncated", "altered": "altered", "pickle": "not a safetensors file"}.items():
        for words in (("info", f"{name}.safetensors"), ("transform", f"{name}.safetensors", "good.csv")):
            code, said, _ = fails(*words)
            assert code == 3
            assert what in said
    (tmp_path / "folder.safetensors").mkdir()
    safetensors.numpy.save_file({"w": np.ones(3)}, tmp_path / "foreign.safetensors")
    models = {
        "good.csv": "not a safetensors file",
        "none.safetensors": "does not exist",
        "folder.safetensors": "is a folder",
        "foreign.safetensors": "not one of eigenlens",
    }
    for name, what in models.items():
        for words in (("transform", name, "good.csv"), ("sample", name), ("export", name), ("score", name, "good.csv")):
            code, said, _ = fails(*words)
            assert code == 3
            assert what in said
    assert fails("report", "good.csv")[:2] == (2, "report needs a model file (.safetensors)")


USAGE = {
    "unknown command": (("fut",), "no such command 'fut'", "eigenlens --help"),
    "unknown option": (("fit", "pca", "good.csv", "--kk", 3), "--kk", "see eigenlens fit --help"),
    "no file": (("fit", "pca"), "missing argument 'FILE…'", "see eigenlens fit --help"),
    "unknown model": (("fit", "pcaa", "good.csv"), "'pcaa' is not a model", "did you mean 'pca'? Known: 'pca', 'spca'"),
    "another's option": (("fit", "pca", "good.csv", "--kernel", "rbf"), "--kernel is not an option", "kpca, kde"),
    "too many": (("fit", "pca", "good.csv", "-k", 9), "-k 9 must be at most 3", ""),
    "unknown solver": (("fit", "pca", "good.csv", "--solver", "lanczoz"), "--solver lanczoz is not known", "'lanczos'"),
    "unknown column": (("fit", "pca", "good.csv", "--drop", "d"), "has no such column", "use one of 'a', 'b', 'c'"),
    "backwards": (("fit", "pca", "good.csv", "-c", "c:a"), "runs backwards", "write a:c"),
    "unknown type": (("fit", "pca", "good.csv", "-c", "@date"), "@date is not a column type", "@number"),
    "no test": (("fit", "pca", "good.csv", "--where", "a"), "--where 'a' is not a valid test", "age >= 18"),
    "no setting": (("fit", "pca", "good.csv", "--set", "tol"), "not of the form NAME=VALUE", "--set max_iter=500"),
    "unknown setting": (("fit", "pca", "good.csv", "--set", "nope=1"), "pca has no parameter 'nope'", "n_components"),
    "backward range": (("fit", "gmm", "good.csv", "-k", "4:2"), "-k 4:2 is not a range", "-k 1:6"),
    "no density for bayes": (("fit", "bayes", "good.csv", "--label", "a"), "bayes needs --density", "--density pca,"),
    "no such density": (("fit", "bayes", "good.csv", "--density", "lda"), "--density lda is not a density", "use pca"),
    "unknown kernel": (("compare", "good.csv", "-m", "kde:kernel=boxx"), "--kernel boxx is not known", "'box'"),
    "negative seed": (("fit", "pca", "good.csv", "--seed", -1), "--seed", "see eigenlens fit --help"),
    "near column": (("fit", "pca", "wide.csv", "--drop", "lenght"), "no such column", "did you mean 'length'?"),
    "near model": (("fit", "naive-bayes", "good.csv"), "'naive-bayes' is not a model", "did you mean 'nb'?"),
    "near example": (("demo", "two-circle"), "is not an example", "did you mean 'two-circles'?"),
    "rows of info": (("info", "good.csv", "--where", "a > 1"), "no such option: --where", "see eigenlens info --help"),
    "no label": (("fit", "lda", "good.csv"), "no column of classes is named", "add --label"),
    "no label beside text": (("fit", "nb", "kinds.csv"), "no column of classes is named", "add --label kind"),
    "wrong suffix": (("fit", "pca", "good.csv", "-o", "m.pkl"), "has the suffix '.pkl'", ".safetensors"),
    "no folder": (("fit", "pca", "good.csv", "-o", "x/m.safetensors"), "x, which does not exist", "mkdir -p 'x'"),
    "no memory": (("fit", "pca", "good.csv", "--max-memory", "lots"), "--max-memory lots must be", ""),
    "threads": (("fit", "pca", "good.csv", "--threads", 0), "--threads", "see eigenlens fit --help"),
    "models as files": (("select", "pca", "fa", "good.csv"), "'pca' is a model", "select good.csv --models pca,fa"),
    "a model as a file": (("compare", "kde", "good.csv"), "'kde' is a model", "compare good.csv --models kde"),
    "models twice": (("compare", "good.csv", "-m", "kde,kde"), "names kde twice", "gmm:k=2"),
    "no density": (("compare", "good.csv", "-m", "kpca"), "kpca has no density", "ppca"),
    "folds": (("compare", "good.csv", "-m", "kde", "--cv", 50), "--cv 50 is more than the 20 rows", "at most --cv 20"),
    "text option": (("fit", "pca", "good.parquet", "--comment", "x"), "--comment x is an option of", "leave it out"),
}  # fmt: skip


@pytest.mark.parametrize("case", USAGE)
def test_bad_words_are_usage_errors(fails, tmp_path, case):
    pl.read_csv(tmp_path / "good.csv").write_parquet(tmp_path / "good.parquet")
    (tmp_path / "wide.csv").write_text("length,width\n1,2\n3,5\n")
    (tmp_path / "kinds.csv").write_text("a,b,kind\n" + "".join(f"{i},{i % 4},{'xyz'[i % 3]}\n" for i in range(12)))
    words, what, fix = USAGE[case]
    code, said, out = fails(*words)
    assert code == 2
    assert what in said
    assert fix in out


def test_nothing_is_overwritten_unasked(fails, tmp_path):
    for name in ("m.safetensors", "m.html", "z.csv"):
        (tmp_path / name).write_text("precious")
    said = "exists already"
    assert said in fails("fit", "pca", "good.csv", "-o", "m.safetensors")[1]
    assert said in fails("fit", "pca", "good.csv", "--report", "m.html")[1]
    assert main(["fit", "pca", "good.csv", "-o", "m.safetensors", "--force", "-q"]) == 0
    assert said in fails("transform", "m.safetensors", "good.csv", "-o", "z.csv")[1]
    assert (tmp_path / "z.csv").read_text() == "precious"


def test_too_little_memory_is_a_resource_error(fails):
    code, said, fix = fails("fit", "kpca", "good.csv", "-k", 2, "--max-memory", "100B")
    assert code == 6
    assert "--max-memory allows" in said
    assert "--approximation" in fix
    code, said, _ = fails("fit", "kde", "good.csv", "--max-memory", "100B")
    assert code == 6
    assert "this needs all 20 rows in memory (480 bytes)" in said


def test_codes_by_kind_of_exception():
    codes = {
        DataError("x: y"): 3, OptionError("x: y"): 2, ResourceError("x: y"): 6, MemoryError("x"): 6, TypeError("x"): 1,
        MissingExtra("polars", extra="tables", need="reading"): 5, FileNotFoundError(2, "No such file", "a"): 3,
    }  # fmt: skip
    for error, code in codes.items():
        assert errors.exit_status(error)[0] == code
    assert errors.exit_status(TypeError("boom"))[1].endswith("TypeError: boom")


# ---- as a program --------------------------------------------------------------------------------------------


def eigenlens(*words, **options):
    command = [sys.executable, "-W", "error", "-m", "eigenlens", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_help_imports_nothing_heavy():
    code = "import sys; from eigenlens.cli import main; main(['--help']); print(*sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert not loaded & {"numpy", "scipy", "sklearn", "polars", "matplotlib"}


def test_as_a_program_results_and_errors_go_their_ways(tmp_path):
    (tmp_path / "good.csv").write_text(GOOD)
    done = eigenlens("fit", "pca", "good.csv", "-k", 1, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 component holds" in done.stdout
    done = eigenlens("fit", "pca", "none.csv", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "error: 'none.csv' does not exist\n  fix: check the spelling and the folder\n"


@pytest.mark.long
def test_a_reader_that_stops_early_is_no_error(tmp_path):
    np.save(tmp_path / "rows.npy", RNG.standard_normal((20_000, 2)))
    assert main(["fit", "pca", str(tmp_path / "rows.npy"), "-q", "-o", str(tmp_path / "m.safetensors")]) == 0
    words = [sys.executable, "-m", "eigenlens", "transform", "m.safetensors", "rows.npy"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stdout.readline() == b"PC1,PC2\n"
        process.stdout.close()
        assert process.wait(30) == 0
        assert process.stderr.read() == b""


@pytest.mark.long
def test_an_interrupt_leaves_nothing_and_progress_was_shown(tmp_path):
    """EM takes an interrupt for a wish to keep the best so far; a command that was stopped has stopped all the same."""
    X = RNG.standard_normal((12_000, 30)) @ RNG.standard_normal((30, 30))
    np.save(tmp_path / "slow.npy", np.where(RNG.random(X.shape) < 0.3, np.nan, X))
    words = [sys.executable, "-m", "eigenlens", "fit", "ppca", "slow.npy", "-k", "25", "--set", "tol=1e-15"]
    words += ["-o", "m.safetensors", "--report", "m.html", "--progress"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, text=True, env=environment
    )
    with process:
        # On a busy machine reading the file takes a second too, and is shown first.
        assert "fitting ProbabilisticPCA …\n" in iter(process.stderr.readline, "")
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert "interrupted: nothing was written" in process.stderr.read()
    assert [path.name for path in Path(tmp_path).iterdir()] == ["slow.npy"]


def test_warnings_and_errors_of_fits_name_flags(fails, tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = {name: rng.standard_normal(40) for name in "abc"}
    pl.DataFrame(rows | {"kind": ["u", "v"] * 20}).write_csv(tmp_path / "kinds.csv")
    for words in (("gmm", "-k", "3", "--drop", "kind"), ("bayes", "--density", "gmm", "-k", "3", "--label", "kind")):
        assert main(["fit", words[0], "kinds.csv", *words[1:], "--set", "max_iter=1"]) == 0
        assert "raise --set max_iter=1, or --set tol=1e-10." in " ".join(capsys.readouterr().out.split())
    code, said, fix = fails("fit", "gmm", "kinds.csv", "-k", 3, "--drop", "kind", "--set", "max_iter=1", "--strict")
    assert (code, "max_iter" in said) == (4, False)
    assert fix == "raise --set max_iter=1, or --set tol=1e-10, or leave out --strict"
    code, said, fix = fails("fit", "bayes", "kinds.csv", "--density", "gmm", "-k", 99, "--label", "kind")
    assert said == "class 'u' (20 rows): -k 99 must be at most 20, the number of rows with positive weight"
    assert (code, fix) == (2, "use -k 20 or less")
