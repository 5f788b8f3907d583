"""Where the table lies in a file: lines of names, units, titles, lines that repeat the names, merged cells."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from eigenlens import scan
from eigenlens.data.files.layout.header import count_header_rows, join_names
from eigenlens.data.files.scan import open_files
from eigenlens.data.files.text import DelimitedReader
from eigenlens.errors import DataError
from written_tables import write_xlsx

ROWS = [["170", "65.5"], ["181", "80"], ["165", "58"]]
X = np.array(ROWS, dtype=float)
BELOW = "".join(",".join(row) + "\n" for row in ROWS)

UNITS = {
    "words": "height,mass\ncm,kg\n",
    "brackets": "height,mass\n[cm],[kg]\n",
    "unknown in brackets": "height,mass\n(a.u.),(beans)\n",
    "one without": "height,mass\ncm,-\n",
}


@pytest.mark.parametrize("lines", UNITS)
def test_a_line_of_units_is_not_data(tmp_path, lines):
    (tmp_path / "t.csv").write_text(UNITS[lines] + BELOW)
    with pytest.warns(UserWarning, match="the line below the names holds units.*header_rows=1"):
        source = scan(tmp_path / "t.csv")
    assert source.names == ("height", "mass")
    np.testing.assert_array_equal(next(source.rows()), X)


def test_units_below_names_below_a_title(tmp_path):
    (tmp_path / "t.csv").write_text("People\n\nheight,mass\ncm,kg\n" + BELOW)
    with pytest.warns(UserWarning, match="title|units") as told:
        np.testing.assert_array_equal(next(scan(tmp_path / "t.csv").rows()), X)
    assert ["title" in str(each.message) for each in told] == [True, False]


def test_units_are_kept(tmp_path):
    (tmp_path / "t.csv").write_text("height,mass\n[cm],kg\n" + BELOW)
    with pytest.warns(UserWarning, match="units"):
        assert scan(tmp_path / "t.csv").units == {"height": "cm", "mass": "kg"}


FIRST_ROWS = {
    "a marker above one column": ["site,ph", "a,n.d.", "b,7.1", "c,7.3"],
    "one marker above all": ["u,v", "lost,lost", "1,2", "3,4"],
    "text below too": ["u,v", "red,round", "blue,square", "red,square"],
    "markers below repeated names": ["u,u,v", "lost,lost,", "1,2,5", "3,4,6"],
    "dates": ["u,v", "2020-01-01,2020-01-02", "1,2", "3,4"],
}


@pytest.mark.parametrize("case", FIRST_ROWS)
def test_a_row_of_data_is_not_a_line_of_names(case):
    assert count_header_rows([line.split(",") for line in FIRST_ROWS[case]], ()) == 1


LEVELS = {
    "merged": ([["id", "before", "", "after", ""], ["", "mass", "bp", "mass", "bp"]], "before mass"),
    "repeated": ([["", "before", "before", "after", "after"], ["id", "mass", "bp", "mass", "bp"]], "before mass"),
    "one alone": ([["id", "2019", "2019", "2020", "total"], ["", "sales", "cost", "sales", ""]], "2019 sales"),
    "an index of pandas": ([["", "a", "a", "b", "b"], ["", "x", "y", "x", "y"], ["id", "", "", "", ""]], "a x"),
}


@pytest.mark.parametrize("case", LEVELS)
def test_names_of_groups_are_joined(tmp_path, case):
    levels, second = LEVELS[case]
    rows = [[f"p{i}", *map(str, np.arange(4) + i)] for i in range(5)]
    (tmp_path / "t.csv").write_text("".join(",".join(row) + "\n" for row in [*levels, *rows]))
    with pytest.warns(UserWarning, match=f"names are joined from the first {len(levels)} lines, as '{second}'"):
        source = scan(tmp_path / "t.csv", id="id")
    assert source.names is not None
    assert source.names[0] == second
    assert len(set(source.names)) == 4
    np.testing.assert_array_equal(next(source.rows()), [np.arange(4) + i for i in range(5)])
    assert join_names(levels)[1:] == list(source.names)


def test_the_number_of_lines_can_be_given(tmp_path, recwarn):
    (tmp_path / "t.csv").write_text("height,mass\nof people,of people\n" + BELOW)
    source = scan(tmp_path / "t.csv", header_rows=2)
    np.testing.assert_array_equal(next(source.rows()), X)
    (tmp_path / "t.csv").write_text("height,mass\ncm,kg\n" + BELOW)
    assert scan(tmp_path / "t.csv", header_rows=1, na=["cm", "kg"]).n_rows == 4
    assert not recwarn.list


def test_lines_that_repeat_the_names_are_left_out(tmp_path):
    (tmp_path / "t.csv").write_text("height,mass\n" + BELOW + "height,mass\r\n" + BELOW)
    with pytest.warns(UserWarning, match="1 line repeats the names and is left out"):
        source = scan(tmp_path / "t.csv")
    np.testing.assert_array_equal(next(source.rows()), np.vstack([X, X]))
    assert source.n_rows == 6


def test_lines_that_repeat_the_names_below_the_first_rows_are_a_warning(tmp_path, monkeypatch):
    monkeypatch.setattr("eigenlens.data.files.text.HEAD_BYTES", 64)
    (tmp_path / "t.csv").write_text("height,mass\n" + BELOW * 9 + "height,mass\n" + BELOW)
    source = scan(tmp_path / "t.csv")
    with pytest.warns(UserWarning, match="1 line repeats the names and is left out"):
        np.testing.assert_array_equal(np.concatenate(list(source.rows())), np.vstack([X] * 10))


def test_words_that_look_like_the_first_line_stay(tmp_path):
    (tmp_path / "t.csv").write_text("yes,no\nno,yes\nyes,no\nno,no\n")
    assert scan(tmp_path / "t.csv", header=True).n_rows == 3


# ---- merged cells ---------------------------------------------------------------------------------------------


def grouped(groups):
    return "dose,rat,mass\n" + "".join(f"{group},r{i},{i}\n" for i, group in enumerate(groups))


def test_blanks_of_merged_cells_are_filled(tmp_path):
    (tmp_path / "t.csv").write_text(grouped(["low", "", "", "high", "", ""]))
    with pytest.warns(UserWarning, match=r"blank cells of column 'dose' have the value above.*fill_down=\[\]"):
        source = scan(tmp_path / "t.csv", id="rat", label="dose")
    assert source.read_label().tolist() == ["low"] * 3 + ["high"] * 3
    kept = scan(tmp_path / "t.csv", id="rat", label="dose", fill_down=[])
    assert kept.read_label().tolist() == ["low", None, None, "high", None, None]


def test_groups_go_on_from_piece_to_piece(tmp_path, monkeypatch):
    monkeypatch.setattr("eigenlens.data.files.text.PIECE_BYTES", 20)
    (tmp_path / "t.csv").write_text(grouped(["low", *[""] * 20, "high", *[""] * 20]))
    with pytest.warns(UserWarning, match="blank cells"):
        source = scan(tmp_path / "t.csv", id="rat", label="dose")
    assert source.read_label().tolist() == ["low"] * 21 + ["high"] * 21


REMARKS = {"at the end": ["wet", "", "", "", "", "dry"], "not first": ["", "wet", "", "", "dry", ""],
           "twice": ["wet", "", "dry", "", "wet", ""], "one": ["wet", "", "", "", "", ""]}  # fmt: skip


@pytest.mark.parametrize("case", REMARKS)
def test_other_blanks_stay_missing(tmp_path, case, recwarn):
    (tmp_path / "t.csv").write_text(grouped(REMARKS[case]))
    label = scan(tmp_path / "t.csv", id="rat", label="dose").read_label().tolist()
    assert label == [text or None for text in REMARKS[case]]
    assert not recwarn.list
    filled = scan(tmp_path / "t.csv", id="rat", label="dose", fill_down=["dose"]).read_label().tolist()
    assert sum(text is None for text in filled) == (1 if case == "not first" else 0)


SHEET = [
    ["Rats", None, None, None], ["dose", "rat", "before", None], [None, None, "mass", "age"],
    ["low", "a", 1.0, 2.0], [None, "b", 3.0, 4.0], ["high", "c", 5.0, 6.0], ["low", "d", 7.0, 8.0],
]  # fmt: skip


def test_merged_cells_of_a_sheet_are_filled_exactly(tmp_path):
    pytest.importorskip("python_calamine")
    write_xlsx(tmp_path / "t.xlsx", {"s": SHEET}, ["A1:D1", "A2:A3", "B2:B3", "C2:D2", "A4:A5"])
    with pytest.warns(UserWarning, match="joined|title"):
        source = scan(tmp_path / "t.xlsx", id="rat", label="dose")
    assert source.names == ("before mass", "before age")
    assert source.read_label().tolist() == ["low", "low", "high", "low"]
    assert "3 cells below the first of merged ones" in " ".join(map(str, source.decisions))


def test_every_reader_of_text_takes_the_options():
    assert {"header_rows", "fill_down"} <= DelimitedReader.options


# ---- separators at the end of lines ---------------------------------------------------------------------------

BODY = "1.5,2,3\n4,5.5,6\n7,,8\n"
ENDS = {
    "each row": "a,b,c\n" + BODY.replace("\n", ",\n"),
    "each row, tabs": ("a,b,c\n" + BODY.replace("\n", ",\n")).replace(",", "\t"),
    "each row, as in Windows": ("a,b,c\n" + BODY.replace("\n", ",\n")).replace("\n", "\r\n"),
    "each row, quoted": "a,b,c\n" + BODY.replace("\n", ',""\n'),
    "the line of names": "a,b,c,\n" + BODY,
}


@pytest.mark.parametrize("case", ENDS)
def test_a_separator_at_the_end_of_rows_or_names_alone_makes_no_column(tmp_path, case):
    (tmp_path / "t.csv").write_bytes(ENDS[case].encode())
    source = open_files(tmp_path / "t.csv")
    assert source.names == ("a", "b", "c")
    np.testing.assert_array_equal(next(source.rows()), [[1.5, 2, 3], [4, 5.5, 6], [7, np.nan, 8]])
    [decision] = [str(each) for each in source.decisions]
    assert decision.startswith(case.partition(",")[0] + " ends with a separator and ")
    assert decision.endswith(" not, so no column is made of what follows it.")


@pytest.mark.parametrize("last", ["9", '"9"', "NA"])
def test_a_cell_below_without_a_name_is_an_error(tmp_path, last):
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2,\n" * 200 + f"3,4,{last}\n")
    with pytest.raises(DataError, match="row 202 has 3 cells, and the first has 2"):
        scan(tmp_path / "t.csv")


def test_a_first_row_of_data_without_the_separator_of_the_others_is_an_error(tmp_path):
    (tmp_path / "t.csv").write_text("1,2\n3,4,\n5,6,\n")
    with pytest.raises(DataError, match="ragged"):
        scan(tmp_path / "t.csv")


# ---- titles and names in comments -----------------------------------------------------------------------------


def test_a_table_above_another_is_no_title(tmp_path):
    above = "site,rain,wind\na,1,2\nb,3,4\n\n"
    below = "who,height,mass,age,size\n" + "".join(f"p{i},{i},{i * i},3,{7 * i % 5}\n" for i in range(9))
    (tmp_path / "t.csv").write_text(above + below)
    with pytest.raises(DataError, match=r"holds a second table|is ragged"):
        scan(tmp_path / "t.csv")


COMMENTS = {
    "the last": "# made by us\n# height,mass\n",
    "an empty one below it": "# made by us\n# height,mass\n#\n",
    "units below it": "# height,mass\n# cm,kg\n",
}


@pytest.mark.parametrize("case", COMMENTS)
def test_names_in_a_comment(tmp_path, case):
    (tmp_path / "t.csv").write_text(COMMENTS[case] + BELOW)
    source = open_files(tmp_path / "t.csv")
    assert source.names == ("height", "mass")
    assert source.n_rows == 3
    np.testing.assert_array_equal(next(source.rows()), X)
    assert any("stand in a comment" in str(each) for each in source.decisions)
    plain = scan(tmp_path / "t.csv", comment="#", header=False)
    np.testing.assert_array_equal(next(plain.rows()), X)


def test_a_sentence_in_a_comment_holds_no_names(tmp_path):
    (tmp_path / "t.csv").write_text("# made by us, in 2024, with care\n# and 12\n" + "height,mass\n" + BELOW)
    assert open_files(tmp_path / "t.csv").names == ("height", "mass")


PEOPLE = [("Anna Lee", "172", "61.5"), ("Bo", "181", "80.2"), ("Cara van M", "165", "55.0"), ("Dan", "90", "9.1")]
NAMES = ("name", "height", "weight")


def fixed_width(formats: str, head: str, rows=PEOPLE, names=NAMES, below=()) -> str:
    return "\n".join([head.format(*names), *below, *(formats.format(*row) for row in rows)]) + "\n"


LAYOUTS = {
    "left names over right numbers": fixed_width("{:<14}{:>10}{:>10}", "{:<14}{:<10}{:<10}"),
    "right names": fixed_width("{:<14}{:>10}{:>10}", "{:<14}{:>10}{:>10}"),
    "names far to the left": fixed_width("{:<20}{:>10}{:>10}", "{}  {}  {}"),
    "names far to the right": fixed_width("{:<12}{:>6}{:>6}", "{:>20}{:>20}{:>20}"),
    "names between columns": fixed_width("{:<14}{:>10}{:>10}", "{:<11}{:<10}{:<10}"),
    "names over the middle": fixed_width("{:<14}{:>10}{:>10}", "   {:<14}{:<12}{:<10}"),
    "two columns below one name": fixed_width("{:<12}{:<15}{:<10}", "{:<17}  {}  {}"),
    "a line of units": fixed_width(
        "{:<14}{:>10}{:>10}", "{:<14}{:>10}{:>10}", below=["{:>24}{:>10}".format("(cm)", "(kg)")]
    ),
}


@pytest.mark.filterwarnings("ignore:the line below the names holds units")
@pytest.mark.parametrize("case", LAYOUTS)
def test_columns_of_fixed_widths_are_read_wherever_their_names_stand(tmp_path, case):
    (tmp_path / "t.txt").write_text(LAYOUTS[case])
    found = scan(tmp_path / "t.txt")
    assert [each.split(" ")[0] for each in found.names] == list(NAMES)
    rows = pl.concat(list(found.frames())).rows()
    assert rows == [(name, float(height), float(weight)) for name, height, weight in PEOPLE]


def test_a_blank_cell_of_fixed_width_is_missing(tmp_path):
    rows = [*PEOPLE, ("Eve", "", "48.7"), ("Flo", "160", "")]
    (tmp_path / "t.txt").write_text(fixed_width("{:<14}{:>10}{:>10}", "{:<14}{:>10}{:>10}", rows))
    assert pl.concat(list(scan(tmp_path / "t.txt").frames())).rows()[-2:] == [("Eve", None, 48.7), ("Flo", 160.0, None)]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (fixed_width("{:<14}{:>10}{:>10}", "{:<15}{}", names=("name", "height")), "'height' stands above '172"),
        (
            fixed_width("{:<14}{} {}", "{:<14}{}  {}", names=("name", "body height", "w")),
            "'body height  w' stands above",
        ),
    ],
)
def test_names_that_do_not_stand_above_their_columns_are_an_error(tmp_path, text, what):
    (tmp_path / "t.txt").write_text(text)
    with pytest.raises(DataError, match="names that do not stand above them: " + what):
        scan(tmp_path / "t.txt")
