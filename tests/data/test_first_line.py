"""Whether the first line holds names or a row: a row is never lost, and what is decided in doubt is reported."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from eigenlens import DataWarning, scan
from eigenlens.data.files.layout.first_line import judge_first_line
from eigenlens.data.files.scan import open_files

RNG = np.random.default_rng(3)
WHO = ("Bob", "Cem", "Dan", "Eve", "Fay", "Gus", "Hal")
SMALL, LARGE = RNG.integers(1, 9, (7, 12)), RNG.integers(100, 999, (7, 12))
SHARES = np.round(RNG.uniform(size=(7, 12)), 3)


def table(first: str, below: np.ndarray, names: tuple[str, ...] | None = WHO) -> list[list[str]]:
    """Return a first line, and below it rows of as many cells, with row names or without."""
    cells = first.split(",")
    width = len(cells) - (names is not None)
    rows = [[*([names[i]] if names else []), *map(str, row[:width])] for i, row in enumerate(below.tolist())]
    return [cells, *rows]


ROWS = {
    "two successive numbers": table("Ada,2,3", SMALL),
    "five successive numbers": table("Ada,1,2,3,4,5", SMALL),
    "even steps like the rest": table("Ada,100,200,300,400,500", LARGE),
    "numbers alone": table("1,2,3,4,5", SMALL, None),
    "sorted by chance": table("0.1,0.22,0.41,0.77", SHARES, None),
    "ids that go on": [["1", "2", "3"], *([str(i), "0.5", f"{i}.25"] for i in range(2, 9))],
    "a label that recurs": table("Gus,4,5,6,7", LARGE),
    "one column": [["1"], *([str(x)] for x in SHARES[:, 0])],
    "years below years": [["Ada", "2019", "2020"], *([who, "2018", "2021"] for who in WHO)],
    "a word for missing": table("Ada,lost,0.31,0.7", SHARES),
    "units": [["Ada", "12 kg"], *([who, f"{i} kg"] for i, who in enumerate(WHO))],
    "dates": [["Ada", "2020-01-01", "3", "4"], *([who, "2020-02-03", "1", "5"] for who in WHO)],
    "words that recur": [["r", "y", "n"], *(["d", "n", "y"], ["r", "y", "n"]) * 4],
}
NAMES = {
    "years": table("Land,2019,2020,2021", LARGE),
    "years with no name for the rows": table(",2019,2020", LARGE),
    "years alone": table("2019,2020,2021", SHARES, None),
    "many years above counts of their size": table("x,2001,2002,2003,2004,2005", LARGE + 1500),
    "wavelengths": table("400,402,404,406,408", SHARES, None),
    "uneven wavelengths": table("400,402.1,404,406,408,410,412.3,414,416,418", SHARES, None),
    "wavelengths, then a class": [["400", "410", "420", "430", "k"], *(
        [*map(str, row[:4]), "ab"[i % 2]] for i, row in enumerate(SHARES.tolist()))],
    "many numbers from 0": table("0,1,2,3,4,5,6,7,8,9,10,11", LARGE % 256, None),
    "doses below a name": table("compound,10,50,100", LARGE),
    "samples by number, in no order": table("gene,12,3,7", LARGE),
    "an index of pandas": [["", "0", "1"], *([str(i), str(i % 3), str(i % 2)] for i in range(7))],
    "items": [["id", "age", "1", "2", "3"], *(
        [str(900 - i * i), "44", *map(str, row[:3])] for i, row in enumerate(SMALL))],
}  # fmt: skip


@pytest.mark.parametrize("case", ROWS)
def test_rows_are_no_names(case):
    assert judge_first_line(ROWS[case], ()) == (False, False)


@pytest.mark.parametrize("case", NAMES)
def test_numbers_that_are_names_are_reported(case, tmp_path):
    assert judge_first_line(NAMES[case], ()) == (True, True)
    path = tmp_path / "t.csv"
    path.write_text("".join(",".join(row) + "\n" for row in NAMES[case]))
    (decision,) = (each for each in open_files(path).decisions if each.subject == "names")
    assert "is read as column names; if it is a row of data, give header=False" in str(decision)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # a name among the numbers of its column may mean missing
        assert scan(path, header=False).n_rows == len(NAMES[case])


@pytest.mark.parametrize("seed", range(20))
def test_no_row_of_drawn_numbers_is_lost(seed):
    rng = np.random.default_rng(seed)
    d, high = rng.integers(1, 9), rng.choice([2, 5, 10, 1000])
    for rows in (rng.integers(0, high, (30, d)), np.round(rng.normal(0, high, (30, d)), 1)):
        rows[0].sort()
        assert not judge_first_line([[*map(str, row)] for row in rows.tolist()], ()).named
