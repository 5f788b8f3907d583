"""Files as people have them end in a fit to the right columns and rows, or in one sentence and a command that works."""

from __future__ import annotations

import gzip
import json
import shlex
import shutil
import subprocess
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import eigenlens
from eigenlens.cli import main
from eigenlens.cli.advice.fixes import find_ways, mend
from ugly_files import FILES, N, UglyFile, score_table
from written_reports import contents, named
from written_tables import write_xlsx

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "ugly-files.md"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A command line in an empty folder: (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def command(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return command


def spectrum(rows: np.ndarray, covariance: bool) -> np.ndarray:
    """The eigenvalues of rows by NumPy; where entries are missing, by maximum likelihood from an array."""
    if np.isnan(rows).any():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rows without an entry
            columns = np.asfortranarray(rows)  # as a file's lie in memory: sums in another order end EM elsewhere
            return np.asarray(eigenlens.PCA(missing="em", random_state=0).fit(columns).explained_variance_)
    return np.linalg.eigvalsh(rows if covariance else np.atleast_2d(np.cov(rows.T)))[::-1]


def check_fit(file: UglyFile, out: str) -> dict:
    """Check columns, eigenvalues, decisions, warnings and report of a fit that was written with --json."""
    found, model = json.loads(out), eigenlens.load("m.safetensors")
    assert tuple(getattr(model, "feature_names_in_", ())) == file.active
    expected = spectrum(np.asarray(file.rows), "matrix of 3" in str(file.notes))
    values = np.asarray(model.explained_variance_)
    np.testing.assert_allclose(values, expected[: len(values)], rtol=1e-9, atol=1e-12 * expected[0])
    for pieces, texts in ((file.notes, found["decisions"]), (file.warnings, found.get("warnings", []))):
        assert len(pieces) == len(texts), texts
        assert all(piece in text for piece, text in zip(pieces, texts, strict=True)), texts
    page = contents(Path("r.html"))
    kept = [chart for chart in page["overview"]["charts"] if chart["title"] == "Decisions about the file"]
    assert [chart["paragraphs"] for chart in kept] == ([found["decisions"]] if found["decisions"] else [])
    shown = [chart for chart in page["first"]["charts"] if chart["title"] == "Warnings"]
    assert {*found.get("warnings", [])} <= {text for chart in shown for text in chart["warnings"]}
    return found


@pytest.mark.parametrize("file", FILES, ids=[file.title for file in FILES])
def test_a_true_fit_or_one_sentence_and_a_command(run, tmp_path, file):
    if file.path.endswith(".xlsx"):
        pytest.importorskip("python_calamine", reason="sheets are read by the extra excel")
    file.fill(tmp_path / file.path)
    typed = ["fit", "pca", file.path, *file.words, "-o", "m.safetensors", "--report", "r.html"]
    code, out, err = run(*typed, "--json")
    if file.error:
        found = json.loads(out)
        assert code in (2, 3)
        assert file.error in found["error"]
        assert not list(tmp_path.glob("*.html"))
        assert "fault in eigenlens" not in err
        if not file.active:
            return
        code, out, err = run(*typed, *file.fix, "--json")
    assert code == 0, err
    check_fit(file, out)


@pytest.mark.parametrize("file", FILES, ids=[file.title for file in FILES])
def test_what_is_suggested_works(run, tmp_path, file):
    """The command that an error suggests, and those to try next after a fit and after a look at the file."""
    if file.path.endswith(".xlsx"):
        pytest.importorskip("python_calamine", reason="sheets are read by the extra excel")
    file.fill(tmp_path / file.path)
    code, out, err = run("fit", "pca", file.path, *file.words, "-o", "m.safetensors")
    lines = dict(line.strip().split(": ", 1) for line in err.splitlines())
    assert (code == 0) == (not file.error)
    assert set(lines) <= {"error", "fix", "try"}
    commands = [lines["try"]] if "try" in lines else []
    if file.fix is not None:
        assert shlex.split(lines["try"]) == ["eigenlens", "fit", "pca", file.path, "-o", "m.safetensors", *file.fix]
    commands += [line.split(maxsplit=1)[1] for line in out.splitlines() if line.startswith("next ")]
    code, out, _ = run("info", file.path, *file.words)
    commands += [line.split(maxsplit=1)[1] for line in out.splitlines() if line.startswith("next ")]
    for command in commands:
        code, _, err = run(*shlex.split(command)[1:], "--force")
        assert code == 0, f"{command}\n{err}"


STATION = """Aberdale
Location: 224100E 252100N, Lat 52.139 Lon -4.570, 133 metres amsl
Estimated data is marked with a * after the value. Missing data is marked by  ---.
   yyyy  mm   tmax    tmin      af    rain     sun
              degC    degC    days      mm   hours
   1942   1    5.8     2.1     ---   114.0    58.0
   1942   2    4.2    -0.6       7    13.8    80.3
   1942   7   17.4    11.3*      0    70.2   185.0#
   2019   1    7.7     3.2       3    41.2    65.6#
   2019   2   10.7     4.4       4    58.5   109.0#  Provisional
   2019   3   11.0     5.9       0   110.2   114.1#  Provisional
"""
NOTED = 'a, b, c\n1, "x, y", 2\n3, "u", 4.5\n5, "v, w", 6\n2, "z", 1\n'


@pytest.mark.skipif(
    shutil.which("awk") is None or shutil.which("sed") is None, reason="the commands are those of a shell"
)
@pytest.mark.parametrize(
    ("content", "words", "error", "active", "expected"),
    [
        (STATION, (), "a printed table of 7 columns", ["tmin", "sun"], [[2.1, 58.0], [-0.6, 80.3], [11.3, 185.0],
                                                                        [3.2, 65.6], [4.4, 109.0], [5.9, 114.1]]),
        (STATION.replace("  Provisional", ""), ("--skip", "3"), "a printed table of 7 columns", ["tmax", "rain"],
         [[5.8, 114.0], [4.2, 13.8], [17.4, 70.2], [7.7, 41.2], [10.7, 58.5], [11.0, 110.2]]),
        (NOTED, (), "has spaces before the quotation marks", ["a", "c"], [[1, 2], [3, 4.5], [5, 6], [2, 1]]),
    ],
    ids=["station", "station-below-titles", "spaces-before-quotes"],
)  # fmt: skip
def test_the_command_that_copies_a_file_makes_one_that_is_read(run, tmp_path, content, words, error, active, expected):
    Path("my file.txt").write_text(content.replace("\n", "\r\n"))
    code, out, _ = run("fit", "pca", "my file.txt", *words, "--json")
    found = json.loads(out)
    assert code == 3
    assert error in found["error"]
    subprocess.run(["sh", "-c", found["fix"].split("them: ")[1]], check=True)
    code, _, err = run("fit", "pca", "my file-cells.txt", "--columns", ",".join(active), "-o", "m.safetensors")
    assert code == 0, err
    values = eigenlens.load("m.safetensors").explained_variance_
    np.testing.assert_allclose(values, spectrum(np.array(expected), covariance=False), rtol=1e-9)


@pytest.mark.parametrize("path", ["t.txt.gz", "t.txt", "t.xlsx"])
def test_files_that_a_shell_cannot_read_by_lines_are_saved_as_text_first(run, path):
    if path.endswith("xlsx"):
        pytest.importorskip("python_calamine", reason="sheets are read by the extra excel")
        write_xlsx(path, {"a": [[line] for line in STATION.splitlines()]})
    else:
        Path(path).write_bytes(gzip.compress(STATION.encode()) if path.endswith("gz") else STATION.encode("utf-16"))
    err = run("fit", "pca", path)[2]
    assert f"'{path}' is a printed table of 7 columns" in err
    assert "fix: save it as text, and copy that without them: awk " in err
    assert err.split("fix: ")[1].rstrip().endswith("< table.txt > table-cells.txt")


@pytest.mark.parametrize(
    "content",
    [
        "x y z\n1 2 3\n4 5 6\n7 8 9\n2 4 1\n3 3 4\n1 1 5\n",
        "A title\n\nx,y,z\n1,2,3\n4,5,6\n7,8,9\n2,4,1\n3,3,4\n1,1,5\n",
        "x  y  note\n1  2  wet day\n4  5  dry\n7  8  dry\n2  4  wet\n3  3  dry\n1  1  wet\n",
    ],
)
def test_no_other_table_is_taken_for_a_printed_one(run, content):
    Path("t.txt").write_text(content)
    assert "printed table" not in run("fit", "pca", "t.txt")[2]


def test_the_page_has_the_score_of_every_file(monkeypatch):
    """`python tests/ugly_files.py` prints the table of the page."""
    pytest.importorskip("python_calamine", reason="sheets are read by the extra excel")
    monkeypatch.setenv("COLUMNS", "200")
    assert len({file.title for file in FILES}) == len(FILES) >= 40
    assert score_table() in PAGE.read_text(encoding="utf-8")


CHANGES = (
    "--active", "--drop", "--label", "--text", "--footer", "--transpose", "--standardize", "--rows", "--weight"
)  # fmt: skip


@pytest.mark.parametrize("file", FILES, ids=[file.title for file in FILES])
def test_the_option_that_changes_a_decision_works(run, tmp_path, file):
    """Each as it is printed; text cannot be the only thing that is left for a PCA."""
    if file.error or file.path.endswith(".xlsx"):
        return
    file.fill(tmp_path / file.path)
    typed = ["fit", "pca", file.path, *file.words]
    found = json.loads(run(*typed, "--json")[1])
    for sentence in [*found["decisions"], *found.get("warnings", [])]:
        for way in find_ways(sentence.rstrip(".")):
            if way.complete and {flag for flag, _ in way.settings} <= set(CHANGES):
                code, out, err = run(*mend(typed, way), "--json")
                if way.settings == (("--text", ",".join(file.active)),):
                    assert "none holds numbers" in json.loads(out)["error"]
                else:
                    assert code == 0, f"{sentence}\n{err}"
                    assert sentence not in json.loads(out)["decisions"]


CLASSES = [file for file in FILES if "'town' colours the rows" in str(file.notes) and len(file.active) > 1]


@pytest.mark.parametrize("file", CLASSES, ids=[file.title for file in CLASSES])
def test_other_models_of_the_same_file(run, tmp_path, file):
    file.fill(tmp_path / file.path)
    assert run("fit", "lda", file.path, "--label", "town", "-o", "lda.safetensors")[0] == 0
    assert run("predict", "lda.safetensors", file.path, "-o", "p.csv")[0] == 0
    predicted = pl.read_csv("p.csv")
    assert (predicted.height, set(predicted["predicted"])) <= (N, {"Graz", "Linz", "Wels"})
    assert run("fit", "gmm", file.path, "-k", 2, "-o", "gmm.safetensors", "--report", "r.html")[0] == 0
    assert tuple(eigenlens.load("gmm.safetensors").feature_names_in_) == file.active
    assert named(contents(Path("r.html"))["overview"]["charts"], "Decisions about the file")
