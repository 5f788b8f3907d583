"""The command and the script of a question are run, and give the numbers of the page."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

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


TOLERANCE = {"pca": 1e-7, "fa": 1e-4}
"""Factors are found by iteration, which ends a little apart from moments and from rows."""


@pytest.fixture(params=CASES)
def asked(request, tmp_path, monkeypatch):
    """A table in a file of the working folder, and a question about it."""
    monkeypatch.chdir(tmp_path)
    ROWS.to_csv("my trees.csv", index=False)
    table = open_explored("my trees.csv")
    first = first_question(table).as_json()
    change = dict(CASES[request.param])
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
    table, question = asked
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


def carried(content):
    """The data that a report carries."""
    text = content.decode("utf-8").partition('id="report">')[2].partition("</script>")[0]
    return json.loads(text)
