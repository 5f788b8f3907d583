"""A whole model of one's own: a class, a summary and a report page, and one entry in the catalogue."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin

import eigenlens
from eigenlens import model_file
from eigenlens.catalogue import MODELS, ModelEntry
from eigenlens.cli import main
from eigenlens.estimator.rows import collect_rows, validate_rows
from eigenlens.reporting.charts import table_chart

# ---- the package of the model -------------------------------------------------------------------------------


class Medians(TransformerMixin, BaseEstimator):
    """Columns less their medians."""

    axis_stem = "M"

    def __init__(self, scale=1.0):
        self.scale = scale

    def fit(self, X, y=None, sample_weight=None):
        """Find the medians of the columns."""
        self.medians_ = np.median(collect_rows(validate_rows(self, X, sample_weight, reset=True)), axis=0)
        return self

    def transform(self, X):
        """Return the rows less the medians, times `scale`."""
        return self.scale * (collect_rows(validate_rows(self, X)) - self.medians_)

    def save(self, path):
        """Write the model to a file."""
        header = {"parameters": self.get_params(), "feature_names": list(self.feature_names_in_)}
        model_file.write(path, "Medians", {"medians": self.medians_}, header)

    @classmethod
    def _restored(cls, arrays, header):
        estimator = cls(**header["parameters"])
        estimator.medians_, estimator.n_features_in_ = arrays["medians"], arrays["medians"].size
        estimator.feature_names_in_ = np.asarray(header["feature_names"], dtype=object)
        return estimator


def medians_summary(model):
    """Return the line, the table and the facts of the command line."""
    return f"{model.medians_.size} medians", f"medians {model.medians_.tolist()}", {"medians": model.medians_}


def medians_page(model, rows):
    """Return the charts of a report."""
    return [table_chart("The medians", {"column": list(rows.names), "median": model.medians_})]


# ---- its entry in the catalogue -----------------------------------------------------------------------------

ENTRY = ModelEntry(
    f"{__name__}.Medians",
    "medians",
    "columns less their medians",
    summary=f"{__name__}.medians_summary",
    page=f"{__name__}.medians_page",
)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(MODELS, "Medians", ENTRY)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("a,b\n1,5\n2,3\n9,4\n")

    def command(*words):
        code = main(list(words))
        printed = capsys.readouterr()
        assert (code, printed.err) == (0, "")
        return printed.out

    yield command
    vars(eigenlens).pop("Medians", None)


def test_the_model_has_a_public_name_and_its_files_are_loaded(run, tmp_path):
    model = eigenlens.Medians(scale=2.0).fit(eigenlens.scan("rows.csv"))
    model.save(tmp_path / "m.safetensors")
    loaded = eigenlens.load(tmp_path / "m.safetensors")
    assert (type(loaded), loaded.scale, list(loaded.feature_names_in_)) == (Medians, 2.0, ["a", "b"])
    assert loaded.medians_.tolist() == [2.0, 4.0]


def test_the_command_line_fits_describes_and_applies_it(run, tmp_path):
    out = run("fit", "medians", "rows.csv", "--set", "scale=2", "-o", "m.safetensors", "--report", "r.html")
    assert "2 medians" in out
    assert "medians [2.0, 4.0]" in out
    assert "The medians" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "2 medians" in run("info", "m.safetensors")
    assert run("transform", "m.safetensors", "rows.csv").splitlines()[:2] == ["M1,M2", "-2.0,2.0"]
    assert '"medians_"' in run("export", "m.safetensors")


def test_help_and_errors_name_it(run, capsys):
    run("fit", "--help")
    assert main(["fit", "median", "rows.csv"]) == 2
    assert "did you mean 'medians'?" in capsys.readouterr().err
