"""The command and the script of a question are run, and give the numbers of the page."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from base64 import b64decode

import numpy as np
import pandas as pd
import pytest

import eigenlens
from eigenlens.cli import main

pytest.importorskip("polars")
from eigenlens.explorer.answer import fit_question
from eigenlens.explorer.explored_table import open_explored
from eigenlens.explorer.question import first_question, read_question
from eigenlens.explorer.saved_report import report_of
from eigenlens.explorer.scripts import command_of, script_of
from explorer.requests_to import bits_of

RNG = np.random.default_rng(8)
N = 80
X = RNG.standard_normal((N, 2)) @ RNG.standard_normal((2, 5)) + 0.8 * RNG.standard_normal((N, 5))
ROWS = pd.DataFrame(X, columns=["a", "b, c", "d'e", 'f "g"', "@h"])
ROWS.insert(0, "tree no", [f"tree {i}" for i in range(N)])
ROWS.insert(1, "kind", np.array(["oak", "<b>ash</b>"])[np.arange(N) % 2])
ROWS["times"] = RNG.integers(1, 5, N) * 1.5

CASES = {
    "first": {},
    "other roles": {"roles": {"kind": "supplementary", "tree no": "ignore", "a": "ignore", "b, c": "supplementary"}},
    "odd names": {"roles": {"@h": "ignore", "d'e": "colour"}, "standardize": False, "k": 2},
    "factors": {"model": "fa", "k": 2, "rotation": "promax", "roles": {"times": "ignore"}},
    "weights and rotation": {"roles": {"times": "weight"}, "rotation": "varimax", "k": 3},
}
PASSIVE = {
    "without some rows": {"rows": {"kind": "without", "bits": bits_of(np.arange(N) < 7)}},
    "some rows only": {"rows": {"kind": "only", "bits": bits_of(np.arange(N) % 3 > 0)}, "k": 2},
    "some rows with weights": {
        "rows": {"kind": "only", "bits": bits_of(np.arange(N) > 9)}, "roles": {"times": "weight"}
    },
    "without some rows, with weights": {
        "rows": {"kind": "without", "bits": bits_of(np.arange(N) > 60)}, "roles": {"times": "weight"}
    },
}  # fmt: skip
"""The command line has no list of rows, so that these have a script alone."""


TOLERANCE = {"pca": 1e-7, "fa": 1e-4}
"""Factors are found by iteration, which ends a little apart from moments and from rows."""


@pytest.fixture(params=CASES)
def asked(request, tmp_path, monkeypatch):
    """A table in a file of the working folder, and a question about it."""
    return ask_about(CASES[request.param], tmp_path, monkeypatch)


@pytest.fixture(params=PASSIVE)
def asked_of_part(request, tmp_path, monkeypatch):
    """The same, about some of the rows."""
    return ask_about(PASSIVE[request.param], tmp_path, monkeypatch)


def ask_about(change, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ROWS.to_csv("my trees.csv", index=False)
    table = open_explored("my trees.csv")
    first, change = first_question(table).as_json(), dict(change)
    roles = first["roles"] | change.pop("roles", {})
    return table, read_question(first | change | {"roles": roles}, table)


def test_the_command_gives_the_numbers_of_the_page(asked, tmp_path):
    table, question = asked
    words = shlex.split(command_of(table, question))
    assert words[0] == "eigenlens"
    assert main([*words[1:], "-o", "model.safetensors", "-q"]) == 0
    model, page = eigenlens.load("model.safetensors"), fit_question(table, question).model
    assert list(model.feature_names_in_) == list(question.columns("active"))
    np.testing.assert_allclose(model.loadings_, page.loadings_, atol=TOLERANCE[question.model])
    assert (tmp_path / "report.html").stat().st_size > 100_000


def test_the_script_gives_the_numbers_of_the_page(asked, tmp_path):
    run_script(*asked, tmp_path)


def test_the_script_of_some_rows_gives_the_numbers_of_the_page(asked_of_part, tmp_path):
    table, question = asked_of_part
    assert command_of(table, question) == ""
    model = run_script(table, question, tmp_path)
    kept = question.rows.fitted
    weight = ROWS["times"][kept] if question.weight else None
    direct = eigenlens.PCA(question.k, standardize=True)
    direct.fit(ROWS.loc[kept, list(question.columns("active"))], sample_weight=weight)
    np.testing.assert_allclose(model.loadings_, direct.loadings_, atol=1e-7)
    saved = carried(report_of(table, question))
    weights = numbers(saved["rows"]["weights"])
    np.testing.assert_array_equal(weights > 0.0, kept)


def run_script(table, question, tmp_path):
    """Run the script of a question in a process of its own, and return its model."""
    page = fit_question(table, question).model
    text = script_of(table, question, page)
    text = text.replace(f"\n{type(page).__name__.lower()} = ", "\nmodel = ").replace(
        f": {type(page).__name__.lower()}}}", ": model}"
    )
    run = f"{text}\nmodel.save('model.safetensors')\n"
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    model = eigenlens.load("model.safetensors")
    np.testing.assert_allclose(model.loadings_, page.loadings_, atol=TOLERANCE[question.model])
    assert (tmp_path / "report.html").exists()
    return model


def test_the_report_that_is_saved_is_that_of_the_command(asked, tmp_path):
    table, question = asked
    words = shlex.split(command_of(table, question))
    assert main([*words[1:], "-q"]) == 0
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "my trees.csv", tmp_path / "report.html"])
    written, saved = carried((tmp_path / "report.html").read_bytes()), carried(report_of(table, question))
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "my trees.csv", tmp_path / "report.html"])
    assert saved["title"] == written["title"]
    assert saved["rows"] == written["rows"]
    assert saved["pages"][0] == written["pages"][0]
    decided, other = ([each for each in found["pages"][-1]["charts"] if each["title"] == "Decisions about the file"]
                      for found in (saved, written))  # fmt: skip
    assert decided == other


def numbers(packed):
    """The numbers that a page has as a list, or as 32 bits."""
    return np.array(packed) if isinstance(packed, list) else np.frombuffer(b64decode(packed["f32"]), np.float32)


def carried(content):
    """The data that a report carries."""
    text = content.decode("utf-8").partition('id="report">')[2].partition("</script>")[0]
    return json.loads(text)
