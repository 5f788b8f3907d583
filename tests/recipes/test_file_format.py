"""A file format is one subclass of `Reader` and one entry in `FORMATS`: `scan` and the command line read it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from eigenlens import PCA, NaiveBayes, scan
from eigenlens.cli import main
from eigenlens.data.column_kinds import ColumnKind, Field
from eigenlens.data.files.base import Reader
from eigenlens.data.files.scan import FORMATS

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3)).round(6)


class ToyReader(Reader):
    """Lines of name=value pairs, one row per line."""

    def __init__(self, paths, *, block_rows=None):
        self.paths, self._step = paths, block_rows or 7
        first = paths[0].read_text().splitlines()[0]
        self.fields = tuple(Field(pair.split("=")[0], ColumnKind.NUMBER) for pair in first.split())

    def blocks(self):
        for path in self.paths:
            rows = [dict(pair.split("=") for pair in line.split()) for line in path.read_text().splitlines()]
            for start in range(0, len(rows), self._step):
                yield np.array([[float(row[name]) for name in self.names] for row in rows[start : start + self._step]])


@pytest.fixture
def toy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(FORMATS, ".toy", ToyReader)
    rows = np.column_stack([X, X[:, 0] > 0]).tolist()
    lines = [" ".join(f"{name}={value}" for name, value in zip("abck", row, strict=True)) for row in rows]
    (tmp_path / "rows.toy").write_text("\n".join(lines) + "\n")
    return tmp_path / "rows.toy"


def test_scan_reads_it(toy):
    source = scan(toy, label="k")
    assert (source.names, source.n_rows) == (("a", "b", "c"), 40)
    np.testing.assert_array_equal(np.concatenate(list(source.rows())), X)
    np.testing.assert_allclose(PCA().fit(source).explained_variance_, PCA().fit(X).explained_variance_)
    assert NaiveBayes().fit(source).score(source, source.read_label()) > 0.9


def test_the_command_line_reads_it(toy, capsys):
    words = ["fit", "pca", "rows.toy", "--label", "k", "--where", "a > 0", "--columns", "@number", "--json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    np.testing.assert_allclose(found["explained_variance"], PCA().fit(X[X[:, 0] > 0]).explained_variance_)
    assert main(["info", "rows.toy", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [column["name"] for column in told["columns"]] == ["a", "b", "c", "k"]
    np.testing.assert_allclose([column["mean"] for column in told["columns"]][:3], X.mean(axis=0))
    assert main(["fit", "nb", "rows.toy", "--label", "k", "-o", "nb.safetensors"]) == 0
