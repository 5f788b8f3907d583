"""Cells as people write them: markers, units, signs and words are read as meant, and each decision is reported."""

from __future__ import annotations

import re

import numpy as np
import pytest

from eigenlens import PCA, NaiveBayes, scan
from eigenlens.data.files import text as text_reader
from eigenlens.data.files.cell_formats.likert import SCALES
from eigenlens.data.files.dialect import USUAL_MARKERS
from eigenlens.data.files.scan import open_files
from eigenlens.errors import DataError, DataWarning, OptionError


def write(path, *columns, names="abcdefg"):
    """Write columns of cells, quoted where they hold commas."""
    quoted = [[f'"{cell}"' if "," in cell else cell for cell in column] for column in columns]
    path.write_text(
        "\n".join([",".join(names[: len(columns)]), *(",".join(row) for row in zip(*quoted, strict=True))]) + "\n"
    )
    return path


def column(source, place=0):
    return np.concatenate(list(source.rows()))[:, place].tolist()


def reported(source, subject):
    return [str(each) for each in source.decisions if each.subject == subject]


# ---- missing-value markers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("marker", USUAL_MARKERS)
@pytest.mark.parametrize(
    ("cells", "kind"), [(["1", "2"], "integer"), (["1.5", "2"], "number"), (["true", "false"], "boolean")]
)
def test_a_usual_marker_is_missing_and_the_column_keeps_its_kind(tmp_path, marker, cells, kind):
    source = scan(write(tmp_path / "t.csv", [*cells, f" {marker} "], ["1", "2", "3"]))
    assert source.fields[0].kind == kind
    found = column(source)
    assert np.isnan(found[2])
    assert not np.isnan(found[:2]).any()
    assert reported(source, "missing values") == [
        f"1 cell is {marker!r} in column 'a': missing values; if they are not, give na=[]."
    ]


def test_markers_are_counted_by_spelling(tmp_path):
    source = scan(
        write(tmp_path / "t.csv", ["1", "NA", "NA", "-", ""], ["?", "1", "2", "3", "4"], ["u", "NA", "-", "v", "w"])
    )
    expected = "3 cells are 'NA', 1 empty, 1 is '-', 1 is '?' in column 'a' and 2 more: missing values"
    assert reported(source.table(), "missing values")[0].startswith(expected)
    # Text keeps all but NA.
    assert np.concatenate([frame["c"].to_numpy() for frame in source.table().frames()]).tolist() == [
        "u",
        None,
        "-",
        "v",
        "w",
    ]
    assert reported(scan(tmp_path / "t.csv", columns=["b"]), "missing values") == reported(source, "missing values")
    assert reported(scan(write(tmp_path / "t.csv", ["1", ""], ["1", "2"])), "missing values") == []


def test_markers_that_are_given_are_added_to_the_usual_ones(tmp_path):
    path = write(tmp_path / "t.csv", ["1", "NA", "-999", "4"], ["1", "lost", "3", "4"], ["u", "lost", "NA", "-"])
    source = scan(path, na=["-999", "lost"], drop=["c"])
    np.testing.assert_array_equal(np.concatenate(list(source.rows())), [[1, 1], [np.nan] * 2, [np.nan, 3], [4, 4]])
    # What was given is no decision.
    assert reported(source, "missing values") == [
        "2 cells are 'NA' in column 'a' and 1 more: missing values; if they are not, give na=[]."
    ]
    assert scan(path, na="lost", label="c", columns=["b"]).read_label().tolist() == ["u", None, None, "-"]
    assert reported(scan(path, na=["-999", "lost", "NA"]), "missing values") == []


def test_an_empty_marker_leaves_out_the_usual_ones(tmp_path):
    path = write(tmp_path / "t.csv", ["1", "NA", "-999", "4"], ["1", "2", "3", "4"])
    for na in ([], [""], "", ["", "-999"]):
        with pytest.raises(DataError, match=r"'a' has text in 1 row \(first: row 2, 'NA'\)") as caught:
            column(scan(path, na=na))
        advised = caught.value.settings["na"]
        assert advised == [*(na or [""]), "NA"]
        assert np.isnan(column(scan(path, na=advised))[1])
    path = write(tmp_path / "t.csv", ["1", "", "-999", "4"], ["1", "2", "3", "4"])
    np.testing.assert_array_equal(column(scan(path, na=["", "-999"])), [1, np.nan, np.nan, 4])
    np.testing.assert_array_equal(column(scan(path, na=[])), [1, np.nan, -999, 4])


@pytest.mark.parametrize("text", [False, True])
def test_a_marker_far_below_the_first_rows(tmp_path, monkeypatch, text):
    monkeypatch.setattr(text_reader, "HEAD_BYTES", 64)
    monkeypatch.setattr(text_reader, "PIECE_BYTES", 200)
    cells = [str(i) for i in range(100)]
    cells[90] = "n/a"
    source = scan(write(tmp_path / "t.csv", cells, cells, ["u"] * 100), **({} if text else {"drop": ["c"]}))
    assert reported(source, "missing values") == []
    if text:
        found = [value for frame in source.table().frames() for value in frame["a"].to_list()]
        assert found == [None if i == 90 else i for i in range(100)]
    else:
        assert np.flatnonzero(np.isnan(column(source))).tolist() == [90]
    cells[95] = "many"
    source = scan(write(tmp_path / "t.csv", cells, cells, ["u"] * 100), drop=["c"])
    with pytest.raises(DataError, match=r"'a' has text in 1 row \(first: row 96, 'many'\)") as caught:
        column(source)
    assert caught.value.settings["na"] == ["many"]


def test_counts_of_a_long_file_are_those_of_its_first_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(text_reader, "HEAD_BYTES", 200)
    cells = ["NA" if i % 10 == 0 else str(i) for i in range(1000)]
    [sentence] = reported(scan(write(tmp_path / "t.csv", cells, cells)), "missing values")
    assert sentence.startswith("in the first ")


def test_categories_are_not_offered_as_missing(tmp_path):
    with pytest.raises(DataError, match=r"'a' has text in 4 rows \(first: row 1, '-'\)") as caught:
        column(scan(write(tmp_path / "t.csv", ["-", "-", "u", "v"], ["1", "2", "3", "4"])))
    assert "na" not in caught.value.settings


def test_markers_of_many_columns(tmp_path):
    names = [f"g{j}" for j in range(3000)]
    lines = [",".join("NA" if (i + j) % 3 == 0 else str(j) for j in range(3000)) for i in range(3)]
    (tmp_path / "t.csv").write_text("\n".join([",".join(names), *lines]))
    source = scan(tmp_path / "t.csv")
    assert reported(source, "missing values")[0].startswith(
        "3,000 cells are 'NA' in column 'g0' and 2999 more: missing"
    )
    assert np.isnan(next(source.rows())).sum() == 3000


# ---- units and signs ------------------------------------------------------------------------------------------

READ = {
    "a unit": (["12 kg", "5.3kg", "0"], [12, 5.3, 0]),
    "a composed unit": (["5.3 mg/L", "1e3 mg/L"], [5.3, 1000]),
    "temperatures": (["-5 °C", "30 °C"], [-5, 30]),
    "days": (["1 day", "2 days"], [1, 2]),
    "a unit of the user": (["3 plots", "4 plots", "5 plots"], [3, 4, 5]),
    "dollars": (["$1,200", "-$3.50", "$7"], [1200, -3.5, 7]),
    "euros": (["€ 1.200,50", "€ 3,00"], [1200.5, 3]),
    "per cent": (["45%", "7.5 %"], [45, 7.5]),
    "minus signs": (["−3", "–4.5", "5"], [-3, -4.5, 5]),
    "spaces between thousands": (["1 234", "5"], [1234, 5]),
    "no-break spaces": (["1\u00a0234\u00a0567", "5"], [1234567, 5]),
    "thin spaces": (["1\u202f234.5", "12\u2009345"], [1234.5, 12345]),
    "apostrophes": (["1'234.5", "1’234"], [1234.5, 1234]),
    "accounts": (["(1,234)", "56"], [-1234, 56]),
    "powers": (["1e3", "2.5E-1"], [1000, 0.25]),
}


@pytest.mark.parametrize(("cells", "values"), READ.values(), ids=READ)
@pytest.mark.filterwarnings("ignore::eigenlens.errors.DataWarning")
def test_numbers_with_something_around_them(tmp_path, cells, values):
    path = write(tmp_path / "t.csv", [*cells, "NA"], ["1"] * (len(cells) + 1))
    source = scan(path)
    np.testing.assert_array_equal(column(source), [*values, np.nan])
    np.testing.assert_array_equal(scan(path, label="a").read_label().astype(float), [*values, np.nan])
    whole = all(float(value).is_integer() for value in values) and not any(sign in "".join(cells) for sign in ".eE€")
    assert (source.fields[0].kind == "integer") == whole
    kept = scan(path, text=["a"])
    assert kept.fields[0].kind == "text"
    assert [each.subject for each in kept.decisions] == ["missing values"]


def test_units_are_reported_with_the_option_that_keeps_them(tmp_path):
    with pytest.warns(DataWarning, match=r"'12 kg' in column 'a' and 1 more is read as 12; .*text=\['a', 'b'\]"):
        scan(write(tmp_path / "t.csv", ["12 kg", "3 kg"], ["7 kg", "8 kg"]))


UNCERTAIN = [
    ["12", "13 kg"], ["10-20", "20-30"], ["3+", "2+"], ["1A", "2A", "3A"], ["1st", "21st", "31st"], ["2020-01-31"] * 2,
    ["2-", "3", "1-"], ["male", "female"], ["3-1", "2-0", "1-1"], ["1-2", "1-3", "2-3"], ["01-02", "03-04", "05-06"],
    ["2000-2004", "2005-2009", "2010-2014"], ["1-5 g", "6-10 g", "1-2 kg"], ["555-1234", "556-7890", "557-1111"],
    ["A", "B", "C"], ["A+", "A-", "B+", "B-"], ["A+", "O-", "AB+"], ["1 (a)", "2 (b)"], ["3 (2)", "4 [2]"],
    ["ja", "no"], ["30", "52°30'N"], ["5'30", "6'10"],
    ["030 123 456", "040 123 456"], ["1.2.3", "1.2.4"],
]  # fmt: skip


@pytest.mark.parametrize("cells", UNCERTAIN)
def test_what_is_not_certain_stays_text(tmp_path, cells):
    source = open_files(write(tmp_path / "t.csv", cells, ["1"] * len(cells)))
    assert source.fields[0].kind in ("text", "mixed")
    assert source.decisions == ()


def test_units_that_differ_stay_text_and_are_reported(tmp_path):
    source = open_files(write(tmp_path / "t.csv", ["12 kg", "5 g"], ["1", "2"]))
    assert source.fields[0].kind == "text"
    assert reported(source, "units") == [
        "column 'a' stays text: its cells have different units ('g' and 'kg'); write its numbers in one unit."
    ]


def test_another_unit_far_below_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(text_reader, "HEAD_BYTES", 64)
    cells = [f"{i} kg" for i in range(100)]
    for odd in ("90 g", "90"):
        cells[90] = odd
        with pytest.warns(DataWarning, match="is read as"):
            source = scan(write(tmp_path / "t.csv", cells, ["1"] * 100))
        with pytest.raises(DataError, match=rf"'a' has text in 1 row \(first: row 91, '{odd}'\)"):
            column(source)


def test_values_below_a_limit_are_an_error_with_advice(tmp_path):
    with pytest.raises(DataError, match=r"'<0\.5'\); write a number for them, such as half the limit"):
        column(scan(write(tmp_path / "t.csv", ["<0.5", "0.7"], ["1", "2"])))


def test_thousands_that_may_be_decimals_are_left_to_the_user(tmp_path):
    with pytest.raises(DataError, match="thousands"):
        column(scan(write(tmp_path / "t.csv", ["1,234", "2,345"], ["1", "2"])))


# ---- words ----------------------------------------------------------------------------------------------------


def test_yes_and_no_are_numbers_for_models_that_need_them_and_categories_for_others(tmp_path):
    path = write(tmp_path / "t.csv", ["Yes", "no", "yes", "?"], ["1", "2", "5", "6"], ["u", "v", "u", "v"])
    source = scan(path, label="c")
    assert source.fields[0].kind == "boolean"
    np.testing.assert_array_equal(column(source), [1, 0, 1, np.nan])
    with pytest.warns(DataWarning, match="yes and no in column 'a' are read as 1 and 0"):
        PCA(1, missing="em").fit(source)
    assert [frame["a"].to_list() for frame in source.table().frames()] == [["Yes", "no", "yes", None]]
    assert NaiveBayes().fit(source).score(source, source.read_label()) >= 0.5
    assert scan(path, label="a").read_label().tolist() == ["Yes", "no", "yes", None]


@pytest.mark.parametrize("scale", [scale for scales in SCALES.values() for scale in scales])
def test_every_scale_is_read_in_its_order(tmp_path, scale):
    cells = [words[-1].title() for words in scale.points]
    source = scan(write(tmp_path / "t.csv", cells, ["1"] * len(cells), names=["grade", "b"]))
    assert column(source) == list(range(1, len(cells) + 1))
    assert f"are read as 1 … {len(cells)}" in reported(source, "words")[0]


def test_the_questions_of_a_questionnaire_share_one_scale(tmp_path):
    questions = (["agree", "Disagree", "neutral"], ["agree", "agree", "agree"], ["Slightly  agree", "agree", "agree"])
    source = scan(write(tmp_path / "t.csv", *questions))
    np.testing.assert_array_equal(np.concatenate(list(source.rows())), [[6, 6, 5], [2, 6, 6], [4, 6, 6]])
    assert len(reported(source, "words")) == 1
    assert [field.kind for field in scan(tmp_path / "t.csv", text=["a"]).fields] == ["text"] * 3
    assert open_files(write(tmp_path / "u.csv", ["good", "bad"], ["1", "2"])).fields[0].kind == "text"


# ---- dates ----------------------------------------------------------------------------------------------------

DATES = {
    "ISO": ["1970-01-02", "2026-01-31"],
    "day first": ["02.01.1970", "31.01.2026"],
    "month first": ["01/02/1970", "01/31/2026"],
    "digits": ["19700102", "20260131"],
    "in words": ["2 January 1970", "31 January 2026"],
}


@pytest.mark.parametrize("cells", DATES.values(), ids=DATES)
def test_dates_are_days_on_request(tmp_path, cells):
    path = write(tmp_path / "t.csv", [*cells, "NA"], ["1", "2", "3"])
    np.testing.assert_array_equal(column(scan(path, dates=["a"])), [1, 20484, np.nan])
    assert np.datetime64(20484, "D") == np.datetime64("2026-01-31")
    with pytest.raises(OptionError, match="'z' is not one of"):
        scan(path, dates=["z"])


def test_times_of_day_are_fractions(tmp_path):
    assert column(scan(write(tmp_path / "t.csv", ["1970-01-02 12:00", "1970-01-03"], ["1", "2"]), dates="a")) == [
        1.5,
        2.0,
    ]


def test_dates_that_can_be_read_in_two_ways_or_not_at_all(tmp_path):
    with pytest.raises(DataError, match="can be read in two ways"):
        scan(write(tmp_path / "t.csv", ["01/02/1970", "03/04/1970"], ["1", "2"]), dates=["a"])
    with pytest.raises(DataError, match="holds no dates in a form that is known"):
        scan(write(tmp_path / "t.csv", ["spring", "autumn"], ["1", "2"]), dates=["a"])


# ---- numbers in several parts ---------------------------------------------------------------------------------

IN_PARTS = {
    "hours, minutes and seconds": (["1:23:45", "0:00:30.5", "59:32", "0", "-0:01:00"], [5025, 30.5, 3572, 0, -60]),
    "days and a time": (["1 day, 2:00:00", "2 days 00:00:01"], [93_600, 172_801]),
    "minutes and seconds": (["02:15.3", "75:10"], [135.3, 4510]),
    "words of time": (["3h 20m", "45 min", "1 d 2 hours", "90s"], [12_000, 2_700, 93_600, 90]),
    "ISO 8601": (["PT1H30M", "P1DT2H", "PT0.5S"], [5_400, 93_600, 0.5]),
    "latitudes": (["52°30'N", "33°52′12″S", "12.5° S"], [52.5, -33.87, -12.5]),
    "longitudes": (["13°24'E", "0°7'30''W"], [13.4, -0.125]),
    "angles": (["12°30'", "-0°30'", "7°"], [12.5, -0.5, 7]),
    "feet and inches": (["5'11\"", "6'", "5 ft 4.5 in"], [71, 72, 64.5]),
    "fractions": (["3 1/4", "1/2", "2", "-1 1/2", "2½", "¾"], [3.25, 0.5, 2, -1.5, 2.5, 0.75]),
    "powers of ten": (["1.5×10^3", "-2 x 10^-3", "7·10⁻²", "4", "1,5*10**2"], [1500, -0.002, 0.07, 4, 150]),
    "a minus at the end": (["1200-", "300", "35.50-"], [-1200, 300, -35.5]),
    "errors": (["18.3 ± 0.4", "−2±0.35", "17 +/- 3", "5", "1e3 ± 2e1"], [18.3, -2, 17, 5, 1000]),
    "errors with a unit": (["1.5 ± 0.2 mg", "2,5±0,1 mg"], [1.5, 2.5]),
    "errors in brackets": (["18.3 (0.4)", "-2(3)", "17"], [18.3, -2, 17]),
    "counts with shares": (["34 (56%)", "2 (3.3%)"], [34, 2]),
    "intervals": (["18.3 [17.9, 18.7]", "2 [1; 3]", "−3.1 (−4.0 to −2.0)", "2.5 (1–3)"], [18.3, 2, -3.1, 2.5]),
}
LANGUAGES = {
    "ja and nein": (["ja", "Nein", "JA"], [1, 0, 1]),
    "sí and no": (["Sí", "no", "si"], [1, 0, 1]),
    "да and нет": (["Да", "нет"], [1, 0]),
    "evet and hayır": (["EVET", "HAYIR", "hayır"], [1, 0, 0]),
    "wahr and falsch": (["WAHR", "FALSCH"], [1, 0]),
}


@pytest.mark.parametrize(("cells", "values"), IN_PARTS.values(), ids=IN_PARTS)
def test_cells_that_can_mean_one_number_only(tmp_path, cells, values):
    quoted = ['"' + cell.replace('"', '""') + '"' for cell in [*cells, "NA"]]
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{cell},1\n" for cell in quoted))
    with pytest.warns(DataWarning, match=r"in column 'a' (is|are) read as .*; keep it as text with text=\['a'\]"):
        source = scan(tmp_path / "t.csv")
    np.testing.assert_allclose(column(source), [*values, np.nan], rtol=1e-15)
    assert scan(tmp_path / "t.csv", text=["a"]).fields[0].kind == "text"


ORDERED = {
    "ages": (["18-24", "25–34", "<18", "65+"], [21, 29.5, 18, 65]),
    "ages in words": (["18 to 24 years", "25 to 34 years", "Under 18 years", "35 years and over"], [21, 29.5, 18, 35]),
    "incomes": (["$10k–20k", "$20,000 - $29,999", "Less than $10k", "$1M or more"], [15e3, 24999.5, 10e3, 1e6]),
    "incomes with one factor": (["€10–20k", "€20–30k", "€30–40k"], [15e3, 25e3, 35e3]),
    "ranges and numbers": (["0", "1-5", "6-10", "more than 10"], [0, 3, 8, 10]),
    "grades": (["A+", "A", "B−", "c", "F"], [13, 12, 8, 6, 1]),
}


@pytest.mark.parametrize(("cells", "values"), ORDERED.values(), ids=ORDERED)
def test_ranges_and_grades_are_numbers_in_their_order(tmp_path, cells, values):
    source = scan(write(tmp_path / "t.csv", [*cells, "NA"], ["1"] * (len(cells) + 1)))
    np.testing.assert_array_equal(column(source), [*values, np.nan])
    [line] = reported(source, "words")
    assert "in column 'a'" in line
    assert line.endswith("keep it as text with text=['a'].")
    assert scan(tmp_path / "t.csv", text=["a"]).fields[0].kind == "text"


@pytest.mark.parametrize("name", LANGUAGES)
def test_yes_and_no_of_other_languages(tmp_path, name):
    cells, values = LANGUAGES[name]
    source = scan(write(tmp_path / "t.csv", [*cells, "NA"], ["1"] * (len(cells) + 1)))
    np.testing.assert_array_equal(column(source), [*values, np.nan])
    assert reported(source, "words") == [f"{name} in column 'a' are read as 1 and 0; keep it as text with text=['a']."]


@pytest.mark.parametrize(
    ("cells", "meanings"),
    [
        (["12:30", "12:45"], "hours and minutes, or minutes and seconds"),
        (["1:4", "2:3"], "ratios, scores or times"),
        (["1/2", "3/4"], "fractions, dates or parts of a total"),
        (["13°24'O", "2°21'O"], "east (German) or west (French, Spanish)"),
        (["1.5 ± 0.2 mg", "2.5 ± 0.1 g"], "numbers with errors in different units"),
        (["1,234 ± 5", "2 ± 3"], "numbers with errors in different units"),
    ],
)
def test_cells_of_several_meanings_stay_text_and_are_reported(tmp_path, cells, meanings):
    source = open_files(write(tmp_path / "t.csv", cells, ["1"] * len(cells)))
    assert source.fields[0].kind == "text"
    assert re.search(
        rf"^column 'a' stays text: cells such as {re.escape(repr(cells[0]))} (may be|are) {re.escape(meanings)}",
        reported(source, "units")[0],
    )


def test_a_form_that_a_fit_has_seen_is_known_in_a_file_that_does_not_show_it(tmp_path):
    seen = open_files(write(tmp_path / "t.csv", ["59:32", "1:02:10"], ["1", "2"]))
    assert seen.words == {"a": "clock"}
    new = write(tmp_path / "new.csv", ["18:10", "17:00"], ["1", "2"])
    assert open_files(new).fields[0].kind == "text"
    assert column(open_files(new, words=seen.words)) == [1090.0, 1020.0]


def test_minutes_and_seconds_beyond_the_hours_of_a_day(tmp_path):
    source = open_files(write(tmp_path / "t.csv", ["27:40", "9:05"], ["1", "2"]))
    assert (column(source), source.words) == ([1660.0, 545.0], {"a": "clock"})


def test_thousands_and_millions_by_their_letters(tmp_path):
    source = open_files(write(tmp_path / "t.csv", ["12K", "3.4M", "950", "-1B", "2k"], ["1"] * 5))
    assert column(source) == [12_000.0, 3_400_000.0, 950.0, -1e9, 2_000.0]
    assert source.words == {"a": "multiples"}
    new = write(tmp_path / "new.csv", ["7K", "8K"], ["1", "2"])
    assert open_files(new).fields[0].kind == "text"  # kelvins, perhaps
    assert column(open_files(new, words=source.words)) == [7_000.0, 8_000.0]


def test_ranges_that_a_fit_has_seen_are_known_beside_numbers(tmp_path):
    seen = open_files(write(tmp_path / "t.csv", ["18-24", "25-34", "65+"], ["1", "2", "3"]))
    assert seen.words == {"a": "ranges"}
    new = write(tmp_path / "new.csv", ["18-24", "70"], ["1", "2"])
    assert open_files(new).fields[0].kind == "mixed"
    assert column(open_files(new, words=seen.words)) == [21.0, 70.0]


def test_ranges_and_grades_are_categories_for_models_that_take_those(tmp_path):
    source = open_files(write(tmp_path / "t.csv", ["18-24", "25-34", "65+"], ["A", "B+", "C"]))
    assert [field.kind for field in source.fields] == ["number", "integer"]
    assert [field.kind for field in source.table().fields] == ["text", "text"]
    assert source.table().decisions == ()
    [ranges] = [each for each in reported(source, "words") if "ranges" in each]
    assert ranges == (
        "ranges in column 'a', '18-24' … '65+', are read as their middles, 21 … 65, an open one as its end; "
        "keep it as text with text=['a']."
    )


def test_letters_are_grades_by_the_name_of_their_column(tmp_path):
    letters = ["A", "C", "B", "F"]
    source = scan(
        write(tmp_path / "t.csv", letters, letters, ["1"] * 4, names=["final_grade", "group", "c"]), drop=["group"]
    )
    assert column(source) == [5.0, 3.0, 4.0, 1.0]


def test_values_below_a_limit_are_not_called_missing_without_a_word(tmp_path):
    for cell in ("<0.05", "< LOD", "n.d.", "BDL", "not detected"):
        with pytest.raises(
            DataError, match=r"not missing at random, add na=.* \(the mean is then that of the others\)"
        ):
            column(scan(write(tmp_path / "t.csv", ["0.3", cell, "0.2"], ["1", "2", "3"])))


@pytest.mark.parametrize(("late", "expected"), [("2.5", 2.5), ("07", "07"), ("x", "x"), ("", None)])
def test_a_column_is_numbers_where_all_its_pieces_are(tmp_path, monkeypatch, late, expected):
    """Pieces are read one after the other: a later one may make text, or decimals, of the numbers before it."""
    monkeypatch.setattr(text_reader, "HEAD_BYTES", 64)
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{i},{i + 10}\n" for i in range(40)) + f"{late},1\n" + "3,4\n" * 40)
    found = scan(path, label="a", text=["a"]).read_label()
    text = isinstance(expected, str)
    assert found.dtype.kind == ("U" if text else "f")
    assert found[0] == ("0" if text else 0.0)
    assert (found[40] == expected) if expected is not None else np.isnan(found[40])
    assert len(found) == 81


def test_a_scale_with_named_ends_means_its_numbers_in_new_rows(tmp_path):
    path, new = tmp_path / "t.csv", tmp_path / "new.csv"
    path.write_text("a,b\n" + "1 (never),1\n2,2\n3,7\n4,1\n5 (always),5\n")
    source = open_files(path)
    assert "'1 (never)' in column 'a' is read as 1" in str(source.decisions[0])
    np.testing.assert_array_equal(next(source.rows())[:, 0], np.arange(1.0, 6.0))
    new.write_text("a,b\n5 (always),2\n")
    np.testing.assert_array_equal(next(open_files(new, words=source.words).rows()), [[5.0, 2.0]])
    path.write_text("a,b\n" + "1 (Bonn),1\n2 (Graz),2\n3 (Linz),7\n")  # in a single column, places perhaps
    assert open_files(path).fields[0].kind == "text"


def test_the_example_of_a_reading_is_a_cell_that_needs_it(tmp_path):
    """'2.5' is read as 2.5 would tell nobody which cells were meant."""
    (tmp_path / "t.csv").write_text("x,y\n2.5,1\n\u22121.5,2\n3.5,4\n", encoding="utf-8")
    with pytest.warns(DataWarning, match=r"^'\u22121\.5' in column 'x' is read as -1\.5; keep it as text"):
        scan(tmp_path / "t.csv")
