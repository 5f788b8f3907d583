"""Files as survey programs, instruments and statistics programs export them: what their owners would do next."""

from __future__ import annotations

import json
import os

import numpy as np
import polars as pl
import pytest

from eigenlens.cli import main

RNG = np.random.default_rng(70)
N = 30
X = np.round(RNG.normal([170.0, 70.0], [9.0, 8.0], (N, 2)), 1)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A command line in an empty folder: (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def command(*words):
        capsys.readouterr()
        return (main([str(word) for word in words]), *capsys.readouterr())

    return command


def test_a_report_of_an_earlier_run_is_not_read_as_a_table(run, tmp_path):
    """Advice is tried with the words that were typed, among them a report that exists by now."""
    rows = [f"{h},{'DK' if i in (3, 9) else m}" for i, (h, m) in enumerate(X.tolist())]
    (tmp_path / "t.csv").write_text("\n".join(["height,mass", *rows, ""]))
    (tmp_path / "t.html").write_text("<html></html>")
    code, _, err = run("fit", "pca", "t.csv", "--report", "t.html", "-f")
    assert code == 3
    assert "try: eigenlens fit pca t.csv --report t.html -f --na DK" in err


def test_a_number_that_means_missing_has_a_unit_like_the_others(run, tmp_path):
    rows = [f"{h},{-999 if i == 4 else m} kg" for i, (h, m) in enumerate(X.tolist())]
    (tmp_path / "t.csv").write_text("\n".join(["height,mass", *rows, ""]))
    code, out, _ = run("fit", "pca", "t.csv", "--na", "-999", "--json")
    assert code == 0
    assert json.loads(out)["read"]["missing"] == 1


def test_labels_of_no_answer_are_missing_values(run, tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    values = pl.DataFrame({"id": np.arange(1.0, N + 1), "income": X[:, 0] * 10.0, "hours": X[:, 1]})
    values = values.with_columns(pl.when(pl.col("id") == 5.0).then(-1.0).otherwise(pl.col("income")).alias("income"))
    labels = {"income": {-1.0: "no answer"}}
    pyreadstat.write_sav(values.to_pandas(), str(tmp_path / "t.sav"), variable_value_labels=labels)
    code, out, _ = run("fit", "pca", "t.sav", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["read"]["missing"] == 1
    said = "-1 ('no answer') in column 'income' means no answer by its label: missing values; "
    assert f"{said}if they are answers, give --na ''." in found["decisions"]
    assert json.loads(run("fit", "pca", "t.sav", "--na", "", "--json")[1])["read"]["missing"] == 0
    assert json.loads(run("fit", "pca", "t.sav", "--na", "", "--na", "-1", "--json")[1])["read"]["missing"] == 1
    assert any("column 'id' names the rows" in each for each in found["decisions"])


def test_zero_bytes_at_the_end_have_a_command_that_removes_them(run, tmp_path):
    rows = "\n".join(["height,mass", *(f"{h},{m}" for h, m in X.tolist()), ""])
    (tmp_path / "t.csv").write_bytes(rows.encode() + bytes(300))
    code, _, err = run("fit", "pca", "t.csv")
    assert code == 3
    assert "tr -d '\\000' < t.csv > t-text.csv" in err


def test_lists_in_a_column_that_is_left_out(run, tmp_path):
    frame = pl.DataFrame({"tags": [["a", "b"]] * N, "height": X[:, 0], "mass": X[:, 1]})
    frame.write_parquet(tmp_path / "t.parquet")
    assert run("fit", "pca", "t.parquet")[0] == 0


def test_a_model_reads_marks_of_footnotes_in_a_single_new_row(run, tmp_path):
    rows = [f"{h}{' p' if i == 2 else ''},{m}" for i, (h, m) in enumerate(X.tolist())]
    (tmp_path / "t.csv").write_text("\n".join(["height,mass", *rows, ""]))
    (tmp_path / "new.csv").write_text("height,mass\n171.0 p,70\n")
    (tmp_path / "plain.csv").write_text("height,mass\n171.0,70\n")
    assert run("fit", "pca", "t.csv", "-o", "m.safetensors")[0] == 0
    marked, plain = (run("transform", "m.safetensors", name) for name in ("new.csv", "plain.csv"))
    assert marked[0] == 0
    assert marked[1] == plain[1]


def test_a_german_sample_is_no_probe_of_genes(run, tmp_path):
    for name, genes in (("Probe", False), ("Probe_ID", True)):
        (tmp_path / "t.csv").write_text("\n".join([f"{name},a,b", *(f"P{i},{h},{m}" for i, (h, m) in enumerate(X))]))
        assert ("--transpose" in run("fit", "pca", "t.csv")[1]) == genes


def test_a_pipe_that_is_gone_is_not_suggested_again(run):
    end, start = os.pipe()
    os.write(start, "\n".join(["height,mass", *(f"{h},{m}" for h, m in X.tolist()), ""]).encode())
    os.close(start)
    found = json.loads(run("fit", "pca", f"/dev/fd/{end}", "--json")[1])
    os.close(end)
    assert found["read"]["rows"] == N
    assert "next" not in found
