"""The Python in the overview of a report that a command has written runs as it stands, and gives the same model."""

import os
import re

import numpy as np
import pytest

import eigenlens
from eigenlens.cli import main
from written_reports import contents

RNG = np.random.default_rng(3)
MODELS = {
    "pca": ["pca", "-k", "2", "--label", "kind", "--id", "name"],
    "pca with weights": ["pca", "-k", "2", "--drop", "kind,name", "--weight", "w"],
    "lda": ["lda", "--label", "kind", "--columns", "a,c,b"],
    "nb": ["nb", "--label", "kind", "--drop", "w,name"],
    "gmm": ["gmm", "-k", "2", "--columns", "a:b", "--na", "?"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = RNG.standard_normal((90, 3)) + np.repeat([[0.0, 0.0, 0.0], [3.0, 1.0, 0.0]], 45, axis=0)
    lines = ["name,a,b,c,w,kind"]
    for i, (row, kind) in enumerate(zip(X, np.repeat(["x", "y"], 45), strict=True)):
        lines.append(f"row {i}," + ",".join(f"{v:.6g}" for v in row) + f",{1 + i % 3},{kind}")
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "half.csv").write_text("\n".join(line.replace(",", ";").replace(".", ",") for line in lines) + "\n")
    return tmp_path


def overview_of(path):
    code = [part for chart in contents(path)["overview"]["charts"] for part in chart.get("code", [])]
    return next(part["text"] for part in code if part["label"] == "Python")


@pytest.mark.parametrize("case", MODELS)
def test_the_script_runs_and_gives_the_same_model(folder, case):
    words = MODELS[case]
    assert main(["fit", *words, "rows.csv", "-o", "m.safetensors", "--report", "m.html", "-q"]) == 0
    script, first = overview_of(folder / "m.html"), eigenlens.load("m.safetensors")
    assert "eigenlens.scan('rows.csv'" in script
    assert "# X:" not in script
    os.remove("m.html")
    names: dict = {}
    exec(script, names)
    assert (folder / "m.html").exists()
    again = next(value for value in names.values() if type(value) is type(first))
    X = eigenlens.scan("rows.csv", columns=list(first.feature_names_in_))
    ask = "predict_log_proba" if hasattr(first, "classes_") else "score_samples"
    np.testing.assert_allclose(getattr(again, ask)(X), getattr(first, ask)(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("file", "words"),
    [("rows.csv", ["--where", "a > 0"]), ("rows.csv", ["--skip-missing"])],
)
def test_files_that_scan_would_read_differently_are_explained(folder, file, words):
    columns = ["--columns", "a,b,c", *words]
    assert main(["fit", "pca", file, *columns, "-o", "m.safetensors", "--report", "m.html", "-q"]) == 0
    script = overview_of(folder / "m.html")
    assert "scan" not in script
    assert re.search(r"# X: the rows of this report \(\d+ × 3\)", script)
