"""Text in Parquet, Arrow and JSON means numbers where that of CSV does, and stays text where it does not."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import eigenlens
from eigenlens.data.files.scan import open_files
from eigenlens.errors import DataError

FRAME = pl.DataFrame({
    "mass": ["61.5 kg", "70 kg", "n/a", "58.25 kg", "66 kg", "80 kg"],
    "care": ["yes", "no", "no", "yes", "no", "yes"],
    "view": ["agree", "neutral", "disagree", "agree", "strongly agree", "neutral"],
    "age": ["18-24", "25-34", "65+", "18-24", "35-44", "25-34"],
    "measured": ["3.1 ± 0.2", "2.7 ± 0.1", "4.0 ± 0.3", "3.3 ± 0.2", "2.2 ± 0.2", "3.9 ± 0.4"],
    "x": [0.5, 1.5, -2.0, 0.25, 3.0, -1.0],
})  # fmt: skip
WRITERS = {
    "csv": pl.DataFrame.write_csv,
    "parquet": pl.DataFrame.write_parquet,
    "arrow": pl.DataFrame.write_ipc,
    "json": lambda frame, path: path.write_text(json.dumps(frame.to_dicts())),
    "ndjson": pl.DataFrame.write_ndjson,
}


def written(frame, folder, suffix):
    WRITERS[suffix](frame, folder / f"t.{suffix}")
    return folder / f"t.{suffix}"


def rows(path, **options):
    return np.concatenate(list(eigenlens.scan(path, **options).rows()))


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "json", "ndjson"])
@pytest.mark.filterwarnings("ignore::eigenlens.errors.DataWarning")
def test_cells_mean_what_those_of_csv_mean(tmp_path, suffix):
    csv, other = written(FRAME, tmp_path, "csv"), written(FRAME, tmp_path, suffix)
    np.testing.assert_array_equal(rows(other), rows(csv))
    ours, theirs = open_files(other), open_files(csv)
    assert list(map(str, ours.decisions)) == list(map(str, theirs.decisions))
    assert ours.words == theirs.words
    assert eigenlens.scan(other, label="care").read_label().tolist() == FRAME["care"].to_list()


@pytest.mark.filterwarnings("ignore::eigenlens.errors.DataWarning")
def test_words_stay_categories_for_models_that_take_them(tmp_path):
    sources = [eigenlens.scan(written(FRAME, tmp_path, suffix), drop="age") for suffix in ("csv", "parquet")]
    ours, theirs = (eigenlens.NaiveBayes().fit(source, [0, 1] * 3).predict_log_proba(source) for source in sources)
    np.testing.assert_array_equal(ours, theirs)
    kinds = {field.name: field.kind for field in open_files(tmp_path / "t.parquet").table().fields}
    assert (kinds["care"], kinds["view"], kinds["mass"]) == ("text", "text", "number")


def test_numbers_stored_as_text(tmp_path):
    frame = pl.DataFrame({"a": ["1.5", "2", "-3e2", "."], "b": ["1", "2", "3", "4"], "c": [1.0, 2.0, 3.0, -999.0]})
    path = written(frame, tmp_path, "parquet")
    decision = open_files(path).decisions[0]
    assert str(decision).startswith("numbers that are stored as text in column 'a' and 1 more are read as numbers")
    expected = [[1.5, 1, 1], [2, 2, 2], [-300, 3, 3], [np.nan, 4, np.nan]]
    np.testing.assert_array_equal(rows(path, na=["-999"]), expected)
    with pytest.raises(DataError, match="column 'a' has text in 4 rows"):
        rows(path, text=["a", "b"])


@pytest.mark.parametrize("cells", [["007", "010", "123"], ["12 kg", "13 kg", "many"], ["1", "2", "x"]])
def test_other_text_stays(tmp_path, cells):
    path = written(pl.DataFrame({"a": cells, "x": [1.0, 2.0, 3.0]}), tmp_path, "parquet")
    assert open_files(path).table().decisions == ()
    with pytest.raises(DataError, match="column 'a' has text in 3 rows"):
        rows(path)


def test_a_cell_below_the_first_rows_decides_too(tmp_path, monkeypatch):
    monkeypatch.setattr("eigenlens.data.files.cell_formats.stored_text.HEAD_ROWS", 3)
    path = written(pl.DataFrame({"a": ["1 kg", "2 kg", "3 kg", "lost"]}), tmp_path, "parquet")
    assert open_files(path).table().decisions == ()
