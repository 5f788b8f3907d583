"""Small files as people have them, each with what a command line must make of it: a fit to the right rows, or an error.

The same 24 people, with their height, mass and age, are written in every way that is wrong; `FILES` has one entry per
file, in the order of the score table.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import tempfile
from collections.abc import Callable, Iterable
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from eigenlens.cli import main
from written_tables import write_xlsx

N = 24
RNG, MORE = np.random.default_rng(16), np.random.default_rng(17)
NAMES = ("height", "mass", "age")
X = np.round(RNG.standard_normal((N, 3)) @ [[9.0, 6.0, 1.0], [0.0, 7.0, 2.0], [0.0, 0.0, 8.0]] + [171.0, 68.0, 41.0], 1)
PEOPLE = (
    "Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal", "Ida", "Jim", "Kai", "Leo", "Mia", "Ned", "Oda", "Pia",
    "Quin", "Ria", "Sam", "Tom", "Uma", "Vic", "Wim", "Zoe",
)  # fmt: skip
TOWNS = ("Graz", "Linz", "Wels")
Columns = list[tuple[str, Iterable[Any]]]


class UglyFile(NamedTuple):
    """A file and what must become of it.

    Attributes:
        title: what is ugly about it. path: its name. fill: writes it. words: options that its owner knows of.
        active: the columns that take part in a PCA; empty where no PCA is possible.
        rows: (n, d) these columns as NumPy has them, or the covariance matrix that the file is.
        notes: a piece of each decision, in their order. warnings: a piece of each warning.
        error: a piece of the error, where one is right. fix: the options that it suggests, with which the command
            works and gives `active` and `rows`; None where no option can help.
    """

    title: str
    path: str
    fill: Callable[[Path], Any]
    words: tuple[str, ...] = ()
    active: tuple[str, ...] = NAMES
    rows: Any = X
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    error: str = ""
    fix: tuple[str, ...] | None = None


FILES: list[UglyFile] = []


def ugly(title: str, content: Any, *, path: str = "people.csv", **expected: Any) -> None:
    """Add a file with this content: text, bytes, or a function that writes it."""
    fills = {
        str: lambda target: target.write_bytes(content.encode()),
        bytes: lambda target: target.write_bytes(content),
    }
    FILES.append(UglyFile(title, path, fills.get(type(content), content), **expected))


def fails(title: str, content: Any, error: str, fix: tuple[str, ...] | None = None, **expected: Any) -> None:
    """Add a file that is an error, with the options that mend it."""
    ugly(title, content, error=error, fix=fix, **({"active": ()} | expected))


def text(columns: Columns, sep: str = ",", end: str = "\n") -> str:
    """Return columns as delimited text with a line of names."""
    lines = [[name for name, _ in columns], *zip(*(map(str, values) for _, values in columns), strict=True)]
    return "".join(sep.join(line) + end for line in lines)


def people(X: Any = X, show: Callable[[Any], str] = str) -> Columns:
    """Return the three columns."""
    columns = np.transpose(X).tolist()
    return [(name, [show(value) for value in values]) for name, values in zip(NAMES, columns, strict=True)]


def marked(marks: dict[tuple[int, int], str]) -> tuple[str, np.ndarray]:
    """Return the table with marks in place of some entries, and the rows with NaN there."""
    cells, rows = [list(values) for _, values in people()], X.copy()
    for (i, j), mark in marks.items():
        cells[j][i], rows[i, j] = mark, np.nan
    return text(list(zip(NAMES, cells, strict=True))), rows


def cycled(values: Iterable[Any]) -> list[Any]:
    return list(islice(cycle(values), N))


def beside(column: Iterable[Any], name: str = "more") -> Columns:
    return [*people(), (name, column)]


# ---- columns that are no measurements ---------------------------------------------------------------------------

ugly("a column of text", text(beside(cycled(TOWNS), "town")), notes=("column 'town' colours the rows",))
ugly(
    "row names without a name of their own",
    ",".join(NAMES) + "\n" + "".join(f"{who},{a},{b},{c}\n" for who, (a, b, c) in zip(PEOPLE, X.tolist(), strict=True)),
    notes=("so the first column names the rows",),
)
IDS = RNG.choice(90_000, N, replace=False) + 10_000
ugly("an id, first", text([("id", IDS), *people()]), notes=("'id' names the rows",))
ugly("an id, last", text(beside(IDS, "patient_id")), notes=("'patient_id' names the rows",))
ugly(
    "an id, in the middle",
    text([*people()[:1], ("CustomerID", IDS), *people()[1:]]),
    notes=("'CustomerID' names the rows",),
)
ugly("ids as floats", text([("id", (f"{i}.0" for i in IDS)), *people()]), notes=("'id' names the rows",))
CODES = text([("code", (f"A-{i:03d}" for i in range(N))), *people()])
ugly("codes of letters and digits", CODES, notes=("'code' names the rows",))
ugly(
    "codes of letters and digits that repeat at times",
    text([("code", (f"A-{i - (i == 9):03d}" for i in range(N))), *people()]),
    notes=("'code' is left out (23 different texts in 24 rows)",),
)
ugly(
    "an index of pandas",
    text([("", range(N)), *people()]),
    notes=("count the rows",),
)
INDEX = text([("Unnamed: 0", range(N)), *people()])
ugly("an index of pandas, written twice", INDEX, notes=("'Unnamed: 0' names the rows",))
ugly(
    "zip codes and telephone numbers",
    text([("zip", cycled([8010, 4020, 4600, 1010])), *people(), ("phone", RNG.integers(5_550_000, 5_559_999, N))]),
    notes=("'zip', 'phone' are left out",),
)
PADDED = text(beside(cycled(["01067", "04103", "80331"]), "area"))
ugly("zip codes with a leading zero", PADDED, notes=("'area' is left out (codes with leading zeros)",))
DAYS = [(2024, i % 12 + 1, i + 1) for i in range(N)]
ugly(
    "dates in three formats",
    text([
        ("born", (f"{y}-{m:02d}-{d:02d}" for y, m, d in DAYS)), *people(),
        ("seen", (f"{d:02d}.{m:02d}.{y}" for y, m, d in DAYS)), ("left", (f"{m}/{d}/{y}" for y, m, d in DAYS)),
    ]),
    notes=("'born', 'seen', 'left' are left out (dates)",),
)  # fmt: skip
ugly("a constant column", text(beside([7] * N, "batch")), notes=("'batch' is left out (constant, 7)",))
ugly("an empty column", text(beside([""] * N, "remarks")), notes=("'remarks' is left out (no entry)",))

# ---- missing values ---------------------------------------------------------------------------------------------

SPELLINGS = ("NA", "N/A", "n/a", "#N/A", "NaN", "null", "NULL", "None", "")
content, rows = marked({(2 * i, i % 3): mark for i, mark in enumerate(SPELLINGS)})
ugly("nine spellings of missing", content, rows=rows, notes=("'n/a', 1 is '#N/A', 1 is 'NaN'",))
content, rows = marked({(3, 0): ".", (5, 1): "-", (8, 2): "?", (9, 2): "?"})
ugly("., - and ? for missing", content, rows=rows, notes=("1 cell is '.', 1 is '-', 2 are '?'",))
content, _ = marked({(3, 0): "-999", (11, 0): "-999", (5, 1): "9999", (13, 1): "9999"})
ugly(
    "-999 and 9999 for missing",
    content,
    rows=np.where(np.isnan(marked({(3, 0): "", (11, 0): "", (5, 1): "", (13, 1): ""})[1]), [-999.0, 9999.0, 0.0], X),
    warnings=("-999 stands in 2 cells of 'height'", "9999 stands in 2 cells of 'mass'", "98.6% of the variance"),
)
CODED = np.vstack([MORE.integers(1, 6, (N, 4)), np.arange(1, 6).repeat(4).reshape(5, 4)]).astype(float)
CODED[[2, 9, 15], [0, 2, 0]], CODED[[5, 11], 1] = 99.0, -9.0
ITEMS = ("item 1", "item 2", "item 3", "item 4")
ugly(
    "99 and -9 among answers from 1 to 5",
    text([(name, values.astype(int)) for name, values in zip(ITEMS, CODED.T, strict=True)]),
    active=ITEMS, rows=CODED,
    warnings=(
        "99 stands in 3 cells of 'item 1', 'item 3', where other values lie between 1 and 5: if it means missing, "
        "add --na 99 --na -9", "-9 stands in 2 cells of 'item 2'",
    ),
)  # fmt: skip
content, rows = marked({(i, j): "" for i in (6, 17) for j in range(3)})
ugly("rows without an entry", content, rows=rows, warnings=("2 rows have no observed entry",))
content, rows = marked({(3, 0): "not asked", (8, 0): "not asked"})
fails(
    "words of their own for missing", content, "'not asked'", ("--na", "not asked"), rows=rows, active=NAMES,
)  # fmt: skip
content, rows = marked({(4, 1): "inf", (7, 2): "-Inf"})
fails(
    "infinities", content, "contains infinity: 2 entries in 2 of 3 columns",
    ("--where", "mass > -inf", "--where", "mass < inf", "--where", "age > -inf", "--where", "age < inf"),
    active=NAMES, rows=np.delete(X, [4, 7], axis=0),
)  # fmt: skip

# ---- rows that are not of the table -----------------------------------------------------------------------------

LINES = text([("who", PEOPLE), *people()])
TOTALS = "Total," + ",".join(f"{value:.1f}" for value in X.sum(axis=0)) + "\n"
MEANS = "Mean," + ",".join(f"{value:.2f}" for value in X.mean(axis=0)) + "\n"
WHO = ("'who' names the rows",)
ugly(
    "a row of totals", LINES + TOTALS, rows=np.vstack([X, np.round(X.sum(axis=0), 1)]), notes=WHO,
    warnings=("the last row is called 'Total' in column 'who': if it is not data, leave it out with --footer 1",),
)  # fmt: skip
ugly(
    "a row of means", LINES + MEANS, rows=np.vstack([X, np.round(X.mean(axis=0), 2)]), notes=WHO,
    warnings=("the last row is called 'Mean' in column 'who': if it is not data, leave it out with --footer 1",),
)  # fmt: skip
ugly(
    "a row of totals, first", LINES.replace("Ada,", f"{TOTALS}Ada,"), notes=WHO,
    rows=np.vstack([np.round(X.sum(axis=0), 1), X]),
    warnings=("the first row is called 'Total' in column 'who': if it is not data, leave it out with --where",),
)  # fmt: skip
PARTS = [(f"from {PEOPLE[i]} to {PEOPLE[i + 7]}", np.round(X[i : i + 8].sum(axis=0), 1)) for i in (0, 8, 16)]
WITH_SUMS = [
    (who, row) for i in (0, 8, 16) for who, row in (*zip(PEOPLE[i : i + 8], X[i : i + 8], strict=True), PARTS[i // 8])
]
ugly(
    "rows of subtotals",
    text([("who", [who for who, _ in WITH_SUMS]), *people(np.array([row for _, row in WITH_SUMS]))]), notes=WHO,
    rows=np.array([row for _, row in WITH_SUMS]),
    warnings=("rows 9, 18, 27 hold the sums of the rows above them: if they are not data, leave them out with -",),
)  # fmt: skip
ugly(
    "the same rows twice", LINES + LINES.partition("\n")[2], rows=np.vstack([X, X]),
    notes=("'who' colours the rows",), warnings=("the second half of the rows repeats the first, 24 rows",),
)  # fmt: skip
ugly("title lines above the names", "People of 2024\nmeasured by Ida\n\n" + LINES, notes=("the first 3 lines", *WHO))
REMARK = "\nSource: our own measurements\n"
ugly("notes below the table", LINES + REMARK, notes=("the last line is taken for remarks and left out", *WHO))
ugly(
    "notes below the table, in cells of a spreadsheet",
    LINES + ',,,\n"* in cm, without shoes",,,\nour own figures,,,\n',
    notes=("the last 3 lines are taken for remarks and left out; give --footer 3 to confirm, or another number", *WHO),
)  # fmt: skip
ugly(
    "notes below the table with commas in them", LINES + "\nNote: in cm, kg\nSource: clinic, 2024\n",
    notes=("the last 2 lines are taken for remarks", *WHO),
)  # fmt: skip
fails("a last line that is cut short", LINES + "Zoro,17", "row 26 has 2 cells")
RAIN = "\nsite,rain\n" + "".join(f"S{i},{40 + i}\n" for i in range(6))
PLOTS = "\nplot,length,width,depth\n" + "".join(f"P{i},{40 + i},{i},{9 - i}\n" for i in range(6))
for shape, second in (("two columns", RAIN), ("as many columns", PLOTS)):
    fails(
        f"a second table of {shape} below the first", LINES + second, "holds a second table below a blank line",
        ("--footer", "7"), active=NAMES, notes=WHO,
    )  # fmt: skip
ugly("comments above the names", "# people\n# 2024\n" + LINES, notes=WHO)
AMONG = LINES.replace("Eve,", "# after lunch\nEve,")
fails("comments among the rows", AMONG, "row 6 has 1 cell", ("--comment", "#"), active=NAMES, notes=WHO)
fails("names and nothing below", ",".join(NAMES) + "\n", "no rows")
fails("an empty file", b"", "empty")
fails("one row", text([(name, [value]) for name, value in zip(NAMES, X[0], strict=True)]), "at least 2 rows")

# ---- numbers that are not plain ---------------------------------------------------------------------------------

ugly(
    "units", text(people(X, lambda x: f"{x} kg")), notes=("'165.6 kg' in column 'height' and 2 more is read as 165.6",)
)
ugly("currency", text(people(X, lambda x: f"${x:.2f}")), notes=("'$165.60' in column 'height' and 2 more is read as",))
ugly("percent", text(people(X, lambda x: f"{x}%")), notes=("'165.6%' in column 'height' and 2 more is read as 165.6",))
MANY = np.round(100.0 * X)
fails(
    "thousands", text(people(MANY, lambda x: f'"{x:,.0f}"')), "text in 24 rows (first: row 1, '16,560')",
    ("--thousands", ","), active=NAMES, rows=MANY,
)  # fmt: skip
ugly(
    "currency with thousands", text(people(MANY, lambda x: f'"${x:,.2f}"')), rows=MANY,
    notes=("'$16,560.00' in column 'height' and 2 more is read as 16560.00",),
)  # fmt: skip
COMMAS = text(people(X, lambda x: str(x).replace(".", ",")), ";")
ugly("decimal commas and semicolons", COMMAS, notes=("numbers are read with --decimal ','",))
ugly(
    "thin spaces between thousands", text(people(MANY, lambda x: f"{x:,.0f}".replace(",", "\u202f"))), rows=MANY,
    notes=("in column 'height' and 2 more is read as 16560",),
)  # fmt: skip
AROUND = np.round(X - X.mean(axis=0), 1)
ugly(
    "the printer's minus", text(people(AROUND, lambda x: str(x).replace("-", "\u2212"))), rows=AROUND,
    notes=("'\u22128.3' in column 'height' and 2 more is read as -8.3",),
)  # fmt: skip
ugly(
    "means with their errors", text(people(X, lambda x: f"{x} \u00b1 0.4")),
    notes=("'165.6 ± 0.4' in column 'height' and 2 more is read as 165.6, without its error",),
)  # fmt: skip
ugly(
    "means with errors in brackets", text(people(X, lambda x: f"{x} (1.2)")),
    notes=("'165.6 (1.2)' in column 'height' and 2 more is read as 165.6, without what is in brackets",),
)  # fmt: skip
ugly(
    "means with intervals", text(people(X, lambda x: f'"{x} [{x - 1:.1f}, {x + 1:.1f}]"')),
    notes=("in column 'height' and 2 more is read as 165.6, without its interval",),
)  # fmt: skip
SMOKES = {"active": (*NAMES, "smokes"), "rows": np.column_stack([X, cycled([1.0, 0.0, 0.0])])}
YES = "yes and no in column 'smokes' are read as 1 and 0"
ugly("yes and no", text(beside(cycled(["yes", "no", "no"]), "smokes")), notes=(YES,), **SMOKES)
ugly("words of truth", text(beside(cycled(["TRUE", "FALSE", "FALSE"]), "smokes")), **SMOKES)
SCALE = ("strongly disagree", "disagree", "neutral", "agree", "strongly agree")
ANSWERS = RNG.integers(0, 5, (N, 4))
QUESTIONS = ("q1", "q2", "q3", "q4")
ugly(
    "answers in words",
    text([(name, [SCALE[i] for i in values]) for name, values in zip(QUESTIONS, ANSWERS.T, strict=True)]),
    active=QUESTIONS, rows=ANSWERS + 1.0,
    notes=("'strongly disagree' … 'strongly agree' in column 'q1' and 3 more are read as 1 … 5",),
)  # fmt: skip
OFTEN = ("never", "rarely", "sometimes", "often", "always")
ugly(
    "answers in words, two scales, with capitals and empty cells",
    text([
        ("who", PEOPLE), ("q1", [SCALE[i].capitalize() if k else "" for k, i in enumerate(ANSWERS[:, 0])]),
        *((f"q{j + 1}", [OFTEN[i] for i in ANSWERS[:, j]]) for j in (1, 2, 3)),
    ]),
    active=QUESTIONS, rows=np.where(np.arange(4 * N).reshape(N, 4) == 0, np.nan, ANSWERS + 1.0),
    notes=("in column 'q1' are read as 1 … 5", "'never' … 'always' in column 'q2' and 2 more", *WHO),
)  # fmt: skip

MARKS = ("F", "D", "C", "C+", "B-", "B", "A-", "A")
GIVEN = np.random.default_rng(18).integers(0, 8, (N, 3))
SUBJECTS = ("maths", "music", "sports")
ugly(
    "letter grades", text([(name, [MARKS[i] for i in GIVEN[:, j]]) for j, name in enumerate(SUBJECTS)]),
    active=SUBJECTS, rows=np.array([1.0, 3.0, 6.0, 7.0, 8.0, 9.0, 11.0, 12.0])[GIVEN],
    notes=("'F' … 'A+' in column 'maths' and 2 more are read as 1 … 13",),
)  # fmt: skip
BRACKETS = ("under 18", "18-24", "25\u201334", "35-64", "65+")
ugly(
    "ages in ranges", text(beside(cycled(BRACKETS), "age group")), active=(*NAMES, "age group"),
    rows=np.column_stack([X, cycled([18.0, 21.0, 29.5, 49.5, 65.0])]),
    notes=("'under 18' … '65+', are read as their middles, 18 … 65, an open one as its end",),
)  # fmt: skip

# ---- names of columns -------------------------------------------------------------------------------------------

ugly(
    "a name that repeats", text(people()).replace("mass", "height"), active=("height", "height_2", "age"),
    notes=("is called 'height_2'",),
)  # fmt: skip
UNNAMED = text(people()).replace("mass", "").replace("age", "")
ugly("columns without names", UNNAMED, active=("height", "column_2", "column_3"))
ugly(
    "no line of names", text(people()).partition("\n")[2], active=("column_1", "column_2", "column_3"),
    notes=("the first line holds no names",),
)  # fmt: skip

COUNTED = np.column_stack([1 + (7 * np.arange(N) // (j + 2) + j * np.arange(N)) % 9 for j in range(5)])
COUNTED[0] = np.arange(1, 6)
ugly(
    "no line of names, and a first row that counts from 1 to 5",
    "".join(f"{who},{','.join(map(str, row))}\n" for who, row in zip(PEOPLE, COUNTED.tolist(), strict=True)),
    active=tuple(f"column_{j}" for j in range(2, 7)), rows=COUNTED,
    notes=("the first line holds no names", "'column_1' names the rows"),
)  # fmt: skip
ugly(
    "no line of names, and units in the cells",
    "".join(f"{who},{h} cm,{m} kg,{a} years\n" for who, (h, m, a) in zip(PEOPLE, X.tolist(), strict=True)),
    active=("column_2", "column_3", "column_4"),
    notes=("the first line holds no names", "'165.6 cm'", "kg'", "years'", "'column_1' names the rows"),
)  # fmt: skip

ROWS_BELOW = text(people()).partition("\n")[2]
ugly(
    "units below the names",
    "height,mass,age\ncm,kg,years\n" + ROWS_BELOW,
    notes=("the line below the names holds units",),
)
BEFORE = ("before height", "before mass", "after age")
ugly(
    "names of groups above the names", "before,,after\nheight,mass,age\n" + ROWS_BELOW,
    active=BEFORE, notes=("names are joined from the first 2 lines",),
)  # fmt: skip
HALF = ROWS_BELOW.splitlines(keepends=True)
ugly(
    "two exports in one file", text(people()).partition("\n")[0] + "\n" + "".join(HALF[:12])
    + "height,mass,age\n" + "".join(HALF[12:]), notes=("1 line repeats the names and is left out",),
)  # fmt: skip
ugly(
    "a word and its value above the names", "Report,,,\nDate,2024-05-06,,\n" + LINES,
    notes=("the first 2 lines are taken for a title", *WHO),
)  # fmt: skip
MERGED = text([("dose", ["low", *[""] * 11, "high", *[""] * 11]), *people()])
ugly("blanks of merged cells", MERGED, notes=("blank cells of column 'dose'", "'dose' colours the rows (2 categories)"))
content, rows = marked({(3, 0): "n.d.", (5, 1): "lost", (8, 2): "broken", (9, 2): "spilled"})
fails(
    "four words of their own in three columns", content, "so do 2 more",
    ("--na", "n.d.", "--na", "lost", "--na", "broken", "--na", "spilled"), rows=rows, active=NAMES,
)  # fmt: skip

# ---- how text is written ----------------------------------------------------------------------------------------

ugly("tabs", text(people(), "\t"), path="people.txt")
ugly("bars", text(people(), "|"))
ALIGNED = "".join("  ".join(f"{cell:>8}" for cell in line.split(",")) + "\n" for line in text(people()).splitlines())
ugly("spaces", ALIGNED, path="people.dat")
QUOTED = text([("note", (f'"{who},\nsays ""so"""' for who in PEOPLE)), *people()])
ugly("line ends within quotation marks", QUOTED, notes=("'note' names the rows",))
RAGGED = LINES.replace(f",{X[4, 2]}\nFinn", f",{X[4, 2]},7\nFinn").replace(f",{X[10, 2]}\nLeo", "\nLeo")
fails("ragged rows", RAGGED, "row 6 has 5 cells, and the first has 4")
ugly("a comma at the end of each line", text(beside([""] * N, "")), notes=("'column_4' is left out (no entry)",))
ENDS = text(people()).partition("\n")
ugly(
    "a comma at the end of each row, and none at that of the names",
    ENDS[0] + "\n" + ENDS[2].replace("\n", ",\n"), notes=("each row ends with a separator",),
)  # fmt: skip
ugly(
    "a comma at the end of the names alone", ENDS[0] + ",\n" + ENDS[2],
    notes=("the line of names ends with a separator",),
)  # fmt: skip
ugly("a byte order mark", b"\xef\xbb\xbf" + text(people()).encode())
ugly("UTF-16", text(people()).encode("utf-16"))
FOREIGN = text([("Größe", X[:, 0]), ("mass", X[:, 1]), ("age", X[:, 2]), ("Ort", cycled(["Köln", "Graz", "Wörth"]))])
ORT = ("'Ort' colours the rows",)
for encoding, sign in (("latin-1", "Größe"), ("cp1252", "Größe in €")):
    ugly(
        encoding, FOREIGN.replace("Größe", sign).encode(encoding), active=(sign, "mass", "age"),
        notes=(f"the text is not UTF-8 and is read with --encoding {encoding}; if letters look wrong", *ORT),
    )  # fmt: skip
GREEK = text([("μήκος", X[:, 0]), ("mass", X[:, 1]), ("age", X[:, 2])]).encode("cp1253")
fails(
    "an alphabet that the bytes do not tell", GREEK, "is not UTF-8", ("--encoding", "latin-1"),
    active=(GREEK.decode("latin-1").partition(",")[0], "mass", "age"),
)  # fmt: skip
MIXED = FOREIGN.encode().replace("Köln".encode(), b"K\xf6ln", 1)
MANGLED = "Größe".encode().decode("cp1252")
fails(
    "two encodings in one file", MIXED, "in line 2", ("--encoding", "cp1252"), active=(MANGLED, "mass", "age"),
    notes=ORT,
)  # fmt: skip
ugly("lines that end as in Windows", text(people(), end="\r\n"))
ugly("lines that end as on an old Macintosh", text(people(), end="\r"))
ugly("gzip", gzip.compress(text(people()).encode()), path="people.csv.gz")
fails("gzip without saying so", gzip.compress(text(people()).encode(), mtime=0), "is gzip")
fails("a program called .csv", bytes(RNG.integers(0, 256, 4_000, dtype=np.uint8)), "is binary")
fails("a folder", lambda target: target.mkdir(), "is a folder", path="people")

# ---- columns that by their names are not measurements ------------------------------------------------------------

WEIGHTS = np.round(np.linspace(0.4, 1.7, N), 3)
ugly(
    "a column of survey weights", text([*people(), ("weight", WEIGHTS)]), active=(*NAMES, "weight"),
    rows=np.column_stack([X, WEIGHTS]),
    warnings=("'weight' may hold weights of rows (positive, mean 1.05) and is fitted; if it does, give --weight",),
)  # fmt: skip
SCORES = np.round((X - X.mean(axis=0)) @ np.linalg.svd(X - X.mean(axis=0))[2].T[:, :2], 3)
ugly(
    "scores of an earlier fit beside the rows", text([*people(), ("PC1", SCORES[:, 0]), ("PC2", SCORES[:, 1])]),
    active=(*NAMES, "PC1", "PC2"), rows=np.hstack([X, SCORES]),
    warnings=("columns 'PC1', 'PC2' are called like scores of an earlier fit, which follow from the rest",),
)  # fmt: skip

ugly(
    "a year and a month", text([("year", cycled([2019, 2020, 2021])), ("month", cycled([3, 6, 9, 12])), *people()]),
    notes=("'year' is left out (calendar years, by the name); use --active year", "'month' is left out (months"),
)  # fmt: skip
YEARS_ONLY = [2024 - i for i in range(N)]
ugly(
    "one row per year, the last first", text([("Jahr", YEARS_ONLY), *people()]),
    notes=("'Jahr' names the rows (calendar years, a different one in each row)",),
)  # fmt: skip
BORN = np.array([1950 + 7 * i % 50 for i in range(N)], dtype=float)
ugly(
    "years of birth, and years without a name", text([*people(), ("year of birth", BORN.astype(int)),
    ("t", cycled([2019, 2020, 2021]))]), active=(*NAMES, "year of birth", "t"),
    rows=np.column_stack([X, BORN, cycled([2019.0, 2020.0, 2021.0])]),
    warnings=("'year of birth' holds calendar years and is fitted", "'t' may hold calendar years and is fitted"),
)  # fmt: skip
FEMALE, SITES = np.array(cycled([1, 0, 0, 1, 0])), np.array(cycled([0, 1, 2, 2]))
HOT = np.column_stack([FEMALE, 1 - FEMALE, *(i == SITES for i in range(3))]).astype(int)
HOT_NAMES = ("sex_female", "sex_male", "site_a", "site_b", "site_c")
ugly(
    "categories as columns of 0 and 1", text([*people(), *zip(HOT_NAMES, HOT.T, strict=True)]),
    active=(*NAMES, *HOT_NAMES), rows=np.column_stack([X, HOT]),
    warnings=(
        "columns 'sex_female', 'sex_male' are 0 or 1 and sum to 1 in every row, so each follows from the other",
        "columns 'site_a', 'site_b', 'site_c' are 0 or 1 and sum to 1 in every row, so one follows from the others",
    ),
)  # fmt: skip

# ---- few columns, many columns ----------------------------------------------------------------------------------

ugly("one column", text(people()[:1]), active=("height",), rows=X[:, :1], warnings=("is the only one that is fitted",))
ugly(
    "one column of numbers among text",
    text([("who", PEOPLE), ("town", cycled(TOWNS)), *people()[:1]]), active=("height",), rows=X[:, :1],
    notes=("'who' names the rows", "'town' colours the rows"), warnings=("is the only one that is fitted",),
)  # fmt: skip
fails(
    "nothing but text", text([("who", PEOPLE), ("town", cycled(TOWNS)), ("kind", cycled("ab"))]), "none holds numbers"
)
WIDE = np.round(RNG.standard_normal((N, 2_000)), 3)
WIDE_NAMES = tuple(f"g{j}" for j in range(2_000))
ugly("2,000 columns", text(list(zip(WIDE_NAMES, WIDE.T, strict=True))), active=WIDE_NAMES, rows=WIDE)
GENES = np.round(RNG.standard_normal((40, 6)) + 8.0, 3)
GENE_NAMES, SAMPLES = [f"G{i}" for i in range(40)], [f"s{j}" for j in range(6)]
TABLE_OF_GENES = text([("gene", GENE_NAMES), *zip(SAMPLES, GENES.T, strict=True)])
ugly(
    "genes as rows", TABLE_OF_GENES, active=tuple(SAMPLES), rows=GENES,
    notes=("if the columns are samples, exchange rows and columns with --transpose",),
)  # fmt: skip
ugly(
    "genes as rows, transposed", TABLE_OF_GENES, words=("--transpose",), active=tuple(GENE_NAMES), rows=GENES.T
)  # fmt: skip
DESCRIBED = text([
    ("gene_id", GENE_NAMES), ("symbol", [f"SYM{i // 2}" for i in range(40)]),
    ("chromosome", [f"chr{i % 9}" for i in range(40)]), ("Length", range(100, 140)),
    *zip(SAMPLES, GENES.T, strict=True),
])  # fmt: skip
ugly(
    "genes as rows, described, transposed", DESCRIBED, words=("--transpose",), active=tuple(GENE_NAMES), rows=GENES.T,
    notes=("'symbol', 'chromosome', 'Length' describe the features",),
)  # fmt: skip
ugly(
    "genes as rows with groups of samples, transposed",
    TABLE_OF_GENES.replace("\n", "\ngroup,old,old,old,new,new,new\n", 1), words=("--transpose",),
    active=tuple(GENE_NAMES), rows=GENES.T, notes=("a line of names describes the rows", "'group' colours the rows"),
)  # fmt: skip
ugly(
    "a GCT file",
    "#1.2\n40\t6\n" + text([
        ("Name", GENE_NAMES), ("Description", range(40)), *zip(SAMPLES, GENES.T, strict=True)
    ], "\t"), path="genes.gct", active=tuple(GENE_NAMES), rows=GENES.T,
    notes=("the rows of a GCT file are genes, which are read as columns",),
)  # fmt: skip
UNITS = X * [1e6, 1.0, 1e-4]
ugly("units that differ by ten orders", text(people(UNITS, repr)), rows=UNITS, warnings=("--standardize",))

ugly(
    "two columns, one of them in other units", text(people(UNITS, repr)[:2]), active=NAMES[:2], rows=UNITS[:, :2],
    warnings=("'height' has 100% of the variance of all columns",),
)  # fmt: skip
IN_UNITS = ("height (cm)", "mass_kg", "age")
ugly(
    "units in the names", text(people()).replace("height", "height (cm)").replace("mass", "mass_kg"), active=IN_UNITS,
    warnings=("columns are in different units (cm, kg), and their standard deviations differ by a factor of 1.",),
)  # fmt: skip
SPENT = np.round(np.abs(X[:, :1] * MORE.uniform(0.5, 1.5, (N, 4))), 1)
SPENT_ON = ("food", "rent", "travel", "books")
WITH_TOTAL = np.column_stack([SPENT, np.round(SPENT.sum(axis=1), 1)])
ugly(
    "a column of totals", text(list(zip((*SPENT_ON, "spent"), WITH_TOTAL.T, strict=True))),
    active=(*SPENT_ON, "spent"), rows=WITH_TOTAL,
    warnings=("column 'spent' is the sum of all other columns, so what they have in common counts twice",),
)  # fmt: skip
SPORTS = ("run", "jump", "throw", "swim")
EVENTS = np.round(MORE.standard_normal((N, 4)) + 5.0, 2)
POINTS = np.round(1000.0 * np.log(EVENTS).sum(axis=1))
RANKS = np.argsort(np.argsort(-POINTS)) + 1
ugly(
    "points and ranks beside what they are made of",
    text([*zip(SPORTS, EVENTS.T, strict=True), ("points", POINTS), ("rank", RANKS)]),
    active=(*SPORTS, "points"), rows=np.column_stack([EVENTS, POINTS]),
    notes=("'rank' names the rows",), warnings=("column 'points' follows from the others", "'points' has 100% of"),
)  # fmt: skip

# ---- tables that hold no rows -----------------------------------------------------------------------------------

R = np.round(np.corrcoef(X.T), 4)


def matrix(S: Any, half: bool = False, corner: str = "") -> str:
    shown = [[name, *("" if half and j > i else str(S[i, j]) for j in range(3))] for i, name in enumerate(NAMES)]
    return "\n".join(",".join(row) for row in [[corner, *NAMES], *shown]) + "\n"


CORRELATIONS = ("the table is a correlation matrix of 3 variables",)
ugly("a correlation matrix", matrix(R), rows=R, notes=CORRELATIONS)
ugly("the lower half of a correlation matrix", matrix(R, half=True), rows=R, notes=CORRELATIONS)
S = np.round(np.cov(X.T), 3)
ugly(
    "a covariance matrix",
    matrix(S, corner="column"),
    rows=S,
    notes=("the table is a covariance matrix of 3 variables",),
)
D = np.round(np.abs(X[:, :1] - X[:, 0]), 1)
ugly(
    "a matrix of distances",
    text([("", PEOPLE), *((who, D[:, j]) for j, who in enumerate(PEOPLE))]), active=PEOPLE, rows=D,
    notes=("names the rows",), warnings=("looks like a matrix of distances", "2 rows of 24 repeat others"),
)  # fmt: skip

# ---- other formats ----------------------------------------------------------------------------------------------

RECORDS = [dict(zip(("who", *NAMES), (who, *row), strict=True)) for who, row in zip(PEOPLE, X.tolist(), strict=True)]
ugly("JSON", json.dumps(RECORDS), path="people.json", notes=WHO)
JSON_LINES = "".join(json.dumps(each) + "\n" for each in RECORDS)
ugly("JSON lines", JSON_LINES, path="people.jsonl", notes=WHO)
ugly(
    "ARFF",
    "@relation people\n" + "".join(f"@attribute {name} numeric\n" for name in NAMES)
    + "@attribute town {Graz,Linz,Wels}\n@data\n"
    + "".join(f"{a},{b},{c},{town}\n" for (a, b, c), town in zip(X.tolist(), cycled(TOWNS), strict=True)),
    path="people.arff", notes=("'town' colours the rows",),
)  # fmt: skip
DATES = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 1, N), eager=True)
TOWN = pl.Series("town", cycled(TOWNS), dtype=pl.Categorical)
FRAME = pl.DataFrame({"day": DATES} | dict(zip(NAMES, X.T, strict=True))).with_columns(TOWN)
ugly(
    "Parquet with dates and categories", FRAME.write_parquet, path="people.parquet",
    notes=("'town' colours the rows", "'day' is left out"),
)  # fmt: skip
SHEET = [["who", *NAMES], *([who, *row] for who, row in zip(PEOPLE, X.tolist(), strict=True))]
SHEETS = {"about": [["measured by Ida"]], "people": SHEET, "more": [["a"], [1.0], [2.0]]}
ugly(
    "a spreadsheet of three sheets", lambda target: write_xlsx(target, SHEETS), path="people.xlsx",
    notes=("sheet 'people' of 'people.xlsx' is read, and 2 others not", *WHO),
)  # fmt: skip


# ---- exports of instruments, surveys and offices of statistics --------------------------------------------------

W = np.column_stack([X, np.round(X @ [0.1, 0.3, -0.2] + 3.0 * np.sin(np.arange(N)), 2)])
AXIS = ("900.5", "890.5", "880.5", "870.5")
ugly(
    "spectra: wavelengths as names", text([("sample", PEOPLE), ("kind", cycled(TOWNS)), *zip(AXIS, W.T, strict=True)]),
    active=AXIS, rows=W, notes=("is read as column names", "'sample' names the rows", "'kind' colours the rows"),
)  # fmt: skip
PLATE = ("4", "8", "12", "16")
ugly(
    "a plate: numbers as names, and none for the rows", text([("", PEOPLE), *zip(PLATE, W.T, strict=True)], "\t"),
    active=PLATE, rows=W, notes=("is read as column names", "'column_1' names the rows"),
)  # fmt: skip
ANSWERS = np.column_stack([1 + (np.arange(N) * step + np.arange(N) // 3) % 5 for step in (1, 2, 3)])
ASKED = ("rate price", "rate service", "rate range")
WORDS = ("Very dissatisfied", "Dissatisfied", "Neutral", "Satisfied", "Very satisfied")
ugly(
    "a question above three columns, what is asked below it",
    "who,rate,,,age\n,price,service,range,years\n"
    + "".join(f"{who},{','.join(WORDS[a - 1] for a in row)},{age}\n" for who, row, age in zip(
        PEOPLE, ANSWERS, X[:, 2], strict=True)),
    active=(*ASKED, "age years"), rows=np.column_stack([ANSWERS, X[:, 2]]),
    notes=("names are joined from the first 2 lines", "are read as 1 … 5", "'who' names the rows"),
)  # fmt: skip
ITEMS = ("i1", "i2", "i3")
ugly(
    "codes of answers, as LimeSurvey writes them",
    text([(item, [f"A{a}" for a in own]) for item, own in zip(ITEMS, ANSWERS.T, strict=True)]),
    active=ITEMS, rows=ANSWERS, notes=("'A1' in column 'i1' and 2 more, which share their answers, is read as 1",),
)  # fmt: skip
SAID = ("gar nicht", "kaum", "teils", "eher", "voll")
NINES = np.where(np.arange(3 * N).reshape(N, 3) % 23 == 5, 99, ANSWERS)
CODED = {99: "(99) keine Angabe"} | {a: f"({a}) {word}" for a, word in enumerate(SAID, 1)}
ugly(
    "codes with their labels, as SPSS writes them, and those of no answer",
    text([(item, map(CODED.get, own)) for item, own in zip(ITEMS, NINES.T.tolist(), strict=True)]),
    words=("--na", "99"),
    active=ITEMS, rows=np.where(NINES == 99, np.nan, NINES), notes=("'(1) gar nicht' in column 'i1' and 2 more",),
)  # fmt: skip
MARKS, FOOTNOTED = {2: "**", 5: "*", 9: "†", 11: "***"}, X.astype(str).astype(object)
for row, mark in MARKS.items():
    FOOTNOTED[row, row % 3] += mark
ugly(
    "stars of significance", text(people(FOOTNOTED)), notes=("in column 'height' and 1 more is read as",),
)  # fmt: skip
FLAGGED = X.astype(str).astype(object)
FLAGGED[[1, 4, 7], [0, 1, 2]] = [f"{X[1, 0]} [1]", f"{X[4, 1]} p", f"{X[7, 2]} (r)"]
ugly(
    "marks of footnotes, and remarks below", text(people(FLAGGED)) + "[1] revised\np provisional\n",
    notes=("the last 2 lines are taken for remarks", f"[1]' in column 'height' and 2 more is read as {X[1, 0]}"),
)  # fmt: skip
YEARS, OFFICIAL = ("2021", "2020", "2019", "2018"), W.astype(str).astype(object)
OFFICIAL[[1, 3, 6], [0, 1, 2]] = [f"{X[1, 0]} b", f"{X[3, 1]} bd", f"{X[6, 2]} u"]
OFFICIAL[[4, 8], [1, 2]] = [":", ": c"]
SEEN = W.copy()
SEEN[[4, 8], [1, 2]] = np.nan
ugly(
    "flags of Eurostat", text([("unit,geo\\time", [f"PC,{who}" for who in PEOPLE]), *(
        (f"{year} ", [f"{cell} " for cell in own]) for year, own in zip(YEARS, OFFICIAL.T, strict=True))], "\t"),
    path="people.tsv", active=YEARS, rows=SEEN,
    notes=("is read as column names", "without its mark", "1 cell is ':'", "names the rows"),
)  # fmt: skip
SILENT = {(1, 0): "Inapplicable", (4, 1): "Don't know", (9, 2): "Not applicable", (12, 1): "#DIV/0!", (17, 2): ".a"}
UNANSWERED, HEARD = marked(SILENT)
ugly(
    "answers that were not given, errors of a spreadsheet, Stata's .a", UNANSWERED, rows=HEARD,
    notes=("1 cell is",),
)  # fmt: skip
LAKH = (X * 123_456.7).astype(int)


def indian(number: int) -> str:
    """Return a number with commas as they are set in India: 1,23,45,678."""
    head, tail = divmod(int(number), 1000)
    pairs = str(head)
    groups = [pairs[max(end - 2, 0) : end] for end in range(len(pairs), 0, -2)][::-1]
    return f'"{",".join([*groups, f"{tail:03d}"])}"'


ugly(
    "lakhs and crores", text(people(LAKH, indian)), rows=LAKH.astype(float),
    notes=("in column 'height' and 2 more is read as",),
)  # fmt: skip
ugly(
    "times of a log in equal steps", text([("t", [f"{0.25 * i + 3:.2f}" for i in range(N)]), *people()]),
    notes=("'t' names the rows (evenly spaced numbers that grow from row to row)",),
)  # fmt: skip
DAYS = [20_230_100 + 1 + (7 * i) % 28 for i in range(N)]
ugly(
    "dates as whole numbers, IP addresses, dates with names of months",
    text([("day", DAYS), ("ip", [f"81.2.{i % 5}.14" for i in range(N)]),
          ("seen", [f"{1 + i % 9} Mar 2023" for i in range(N)]), *people()]),
    notes=("'day' is left out (dates)", "'ip' is left out (IP addresses)", "'seen' is left out (dates)"),
)  # fmt: skip
ugly(
    "a column with a single entry", text([*people(), ("remark", ["5", *[""] * (N - 1)])]),
    notes=("'remark' is left out (a single entry, 5)",),
)  # fmt: skip
ugly(
    "one row per measurement",
    text([("who", [who for who in PEOPLE[:8] for _ in NAMES]), ("what", list(NAMES) * 8), ("value", X[:8].ravel())]),
    active=("value",), rows=X[:8].reshape(-1, 1), notes=("'who' colours the rows", "'what' colours the rows"),
    warnings=("first make one column of each value of 'what'",),
)  # fmt: skip
SPLIT = X.copy()
SPLIT[::2, 0], SPLIT[1::2, 1] = np.nan, np.nan
ugly(
    "two columns that are never observed together", text(people(SPLIT, lambda v: "" if np.isnan(v) else str(v))),
    rows=SPLIT, warnings=("columns 'height', 'mass' are never observed in the same row",),
)  # fmt: skip
RECORDS = [
    {"who": who, "body": {"height": h, "mass": m}, "ages": [a]}
    for who, (h, m, a) in zip(PEOPLE, X.tolist(), strict=True)
]
ugly(
    "records inside an object of JSON, with records and lists inside them",
    json.dumps({"about": {"n": N}, "found": RECORDS}),
    path="people.json", active=("body.height", "body.mass", "ages.1"), notes=("'who' names the rows",),
)  # fmt: skip
ugly(
    "a series of GEO",
    '!Series_title\t"people"\n!Sample_title\t"a"\t"b"\n' + text([("who", PEOPLE), *people()], "\t") + "!table_end\n",
    path="people.txt", notes=("lines that start with ! are left out", "'who' names the rows"),
)  # fmt: skip
fails(
    "delimited text that is called a spreadsheet", text(people()), "is delimited text, not a spreadsheet",
    path="people.xlsx",
)  # fmt: skip
fails(
    "a web page that is called a spreadsheet", "<html><table><tr><td>1</td></tr></table></html>", "is a web page",
    path="people.xls",
)  # fmt: skip
CAPITALS, UNHEARD = marked({(3, 1): "DK", (5, 1): "REF"})
fails(
    "markers in capitals", CAPITALS, "has text in 2 rows", ("--na", "DK", "--na", "REF"), active=NAMES, rows=UNHEARD,
)  # fmt: skip


# ---- leftovers of the first rounds ------------------------------------------------------------------------------

VIEWS = np.round(MORE.integers(1, 900, N) * np.tile([100.0, 100_000.0], N // 2), 0)
SHORT = [f"{v / 1e3:.1f}K" if v < 1e6 else f"{v / 1e6:.1f}M" for v in VIEWS]
READ = np.array([float(cell[:-1]) * {"K": 1e3, "M": 1e6}[cell[-1]] for cell in SHORT])
ugly(
    "thousands as K and millions as M", text(beside(SHORT, "views")), active=(*NAMES, "views"),
    rows=np.column_stack([X, READ]), notes=("'views' is read as",), warnings=("'views' has 100% of the variance",),
)  # fmt: skip
SECONDS = MORE.integers(1_500, 3_500, N)
ugly(
    "minutes and seconds", text(beside([f"{s // 60}:{s % 60:02d}" for s in SECONDS], "split")),
    active=(*NAMES, "split"), rows=np.column_stack([X, SECONDS]), notes=("seconds",),
    warnings=("'split' has",),
)  # fmt: skip
FINISHED = np.where(np.isin(np.arange(N), (4, 9)), np.nan, SECONDS * 3.0)
ugly(
    "times of a race that two did not finish", text(beside(
        ["DNF" if np.isnan(s) else f"{s // 3600:.0f}:{s // 60 % 60:02.0f}:{s % 60:02.0f}" for s in FINISHED], "time")),
    active=(*NAMES, "time"), rows=np.column_stack([X, FINISHED]), notes=("seconds", "2 cells are 'DNF'"),
    warnings=("'time' has",),
)  # fmt: skip
ugly(
    "low, medium and high", text(beside(cycled(["low", "high", "medium", "low", "high"]), "risk")),
    active=(*NAMES, "risk"), rows=np.column_stack([X, cycled([1, 3, 2, 1, 3])]), notes=("'low' … 'high'",),
)  # fmt: skip
ugly(
    "a gradebook with the points that were possible", text([
        ("Student", ["Points Possible", *PEOPLE]),
        *((name, [200, *values]) for name, values in people())]),
    rows=np.vstack([np.full(3, 200.0), X]), notes=("'Student' names the rows",),
    warnings=("the first row is called 'Points Possible'",),
)  # fmt: skip

DRAWN = "the lines, bars or fixed widths that lay out the table are not read as cells"
RULER = "-" * 40 + "\n"
CELLS = [["who", *NAMES], *([who, *map(str, row)] for who, row in zip(PEOPLE, X, strict=True))]


def barred(cells: list[str]) -> str:
    """A row between bars."""
    return f"|{'|'.join(f'{cell:<8}' for cell in cells)}|\n"


ugly(
    "a list of SAP, with decimal commas", "List of people\n\n" + RULER + barred(CELLS[0]) + RULER
    + "".join(map(barred, CELLS[1:])).replace(".", ",") + RULER,
    path="people.txt", notes=("the first 2 lines", DRAWN, "--decimal ','", "'who' names the rows"),
)  # fmt: skip
ugly(
    "a table of Markdown", barred(CELLS[0]) + "|:--|--:|--:|--:|\n" + "".join(map(barred, CELLS[1:])), path="people.md",
    notes=(DRAWN, "'who' names the rows"),
)  # fmt: skip
ugly(
    "a table that a client of a database has drawn", "".join([
        rule := "+--------+--------+--------+--------+\n", barred(CELLS[0]), rule, *map(barred, CELLS[1:]), rule,
        "24 rows in set (0.01 sec)\n"]),
    path="people.txt", notes=(DRAWN, "'who' names the rows"),
)  # fmt: skip
ugly(
    "a frame as Polars prints it", "".join([
        "shape: (24, 4)\n┌────────┬────────┬────────┬────────┐\n",
        *(barred(cells).replace("|", "│", 1)[:-2].replace("|", "┆") + "│\n"
          for cells in (CELLS[0], ["---"] * 4, ["str", "f64", "f64", "i64"])),
        "╞════════╪════════╪════════╪════════╡\n", *(barred(cells).replace("|", "│") for cells in CELLS[1:]),
        "└────────┴────────┴────────┴────────┘\n"]),
    path="people.txt", notes=(DRAWN, "'who' names the rows"),
)  # fmt: skip
ugly(
    "a table as DuckDB prints it", "".join([
        "┌────────┬────────┬────────┬────────┐\n", barred(CELLS[0]), barred(["varchar", "double", "double", "int64"]),
        "├────────┼────────┼────────┼────────┤\n", *map(barred, CELLS[1:]),
        "├────────┴────────┴────────┴────────┤\n│ 24 rows                 4 columns │\n",
        "└───────────────────────────────────┘\n"]).replace("|", "│"),
    path="people.txt", notes=(DRAWN, "'who' names the rows"),
)  # fmt: skip
fails(
    "a frame that Polars has shortened for printing", "".join([
        "shape: (99, 4)\n┌────────┬────────┬────────┬────────┐\n", barred(CELLS[0]), barred(["---"] * 4),
        barred(["str", "f64", "f64", "i64"]), "╞════════╪════════╪════════╪════════╡\n", *map(barred, CELLS[1:6]),
        barred(["…"] * 4), *map(barred, CELLS[6:]), "└────────┴────────┴────────┴────────┘\n"]).replace("|", "│"),
    "a printed frame that leaves out rows", path="people.txt",
)  # fmt: skip
ugly(
    "columns of spaces below a ruler, and names with spaces", "".join([
        f"{'who':<12}{'height':>8}{'mass':>8}{'age':>8}\n----------- " + "------- " * 2 + "-------\n",
        *(f"{who + ' Moe':<12}{a:>7} {b:>7} {c:>7}\n" for who, a, b, c in CELLS[1:]), "\n(24 rows affected)\n"]),
    path="people.txt", notes=(DRAWN, "'who' names the rows"),
)  # fmt: skip
ugly(
    "columns of fixed widths, and names of one or two words", "".join([
        f"{'who':<12}{'height':>8}{'mass':>8}{'age':>8}\n",
        *(f"{who + ' Moe' * (place % 2):<12}{a:>8}{b:>8}{c:>8}\n" for place, (who, a, b, c) in enumerate(CELLS[1:]))]),
    path="people.txt", notes=(DRAWN, "'who' names the rows"),
)  # fmt: skip
fails(
    "numbered entries, as LIBSVM writes them", "".join(f"1 1:{a} 2:{b} 3:{c}\n" for _, a, b, c in CELLS[1:]),
    "has numbered entries such as 1:0.5", path="people.txt",
)  # fmt: skip
ugly(
    "a word among percentages", text([("who", PEOPLE), *people(show=lambda value: f"{value}%"),
        ("share", ["n.k.", *(f"{value}%" for value in np.arange(23) + 0.5)])]),
    notes=("is read as 165.6", "'n.k.' is among its numbers; if that means missing, give --na n.k.",
           "'who' names the rows",
           "'share' is left out"),
)  # fmt: skip
ugly(
    "the same column twice, in two units", text([*people(), ("height in", (X[:, 0] / 2.54).round(2))]),
    active=(*NAMES, "height in"), rows=np.column_stack([X, (X[:, 0] / 2.54).round(2)]),
    warnings=("'height in' follows exactly from 'height'",),
)  # fmt: skip
ugly(
    "a table of LaTeX", "\\begin{tabular}{lrrr}\n\\toprule\nwho & height & mass & age \\\\\n\\midrule\n"
    + "".join(f"\\textbf{{{a}}} & {b} & ${c}$ & {d} \\\\\n" for a, b, c, d in CELLS[1:])
    + "\\bottomrule\n\\end{tabular}\n",
    path="people.tex", notes=(DRAWN, "'who' names the rows"),
)  # fmt: skip
ugly(
    "categories that differ in case", text([*people(), ("sex", cycled(["Male", "female", "male ", "MALE", "female"]))]),
    notes=("'sex' colours the rows",), warnings=("('Male', 'male', 'MALE') and count apart",),
)  # fmt: skip


# ---- a second hostile hour --------------------------------------------------------------------------------------

LONG_NAMES = [f"{who} {'von ' * (place % 2)}Moe" for place, who in enumerate(PEOPLE)]


def printed(rows: list[list[str]], widths: tuple[int, ...]) -> str:
    """Rows as R prints a frame: names of rows flush left, numbers flush right."""
    return "".join(row[0].ljust(widths[0]) + "".join(map(str.rjust, row[1:], widths[1:])) + "\n" for row in rows)


FRAME_ROWS = [["", *NAMES], *([who, *cells[1:]] for who, cells in zip(LONG_NAMES, CELLS[1:], strict=True))]
ugly(
    "a frame as R prints it, with spaces in the names of its rows", printed(FRAME_ROWS, (16, 7, 6, 6)),
    path="people.txt", notes=(DRAWN, "'column_1' names the rows"),
)  # fmt: skip
ugly(
    "a frame as pandas prints it, numbered, with spaces in its text",
    printed([["", "person", *NAMES], *([str(place), *row] for place, row in enumerate(FRAME_ROWS[1:]))],
            (4, 14, 8, 6, 6)),
    path="people.txt", notes=(DRAWN, "'person' names the rows", "'column_1' is left out"),
)  # fmt: skip
fails(
    "a frame of R in two blocks of columns",
    printed([row[:3] for row in FRAME_ROWS], (16, 7, 6)) + printed([[row[0], row[3]] for row in FRAME_ROWS], (16, 6)),
    "a printed frame whose columns stand in blocks", path="people.txt",
)  # fmt: skip
fails(
    "a frame of R that leaves out rows", "# A tibble: 99 x 4\n" + printed(FRAME_ROWS, (16, 7, 6, 6))
    + "# i 75 more rows\n", "a printed frame that leaves out rows", path="people.txt",
)  # fmt: skip
ugly(
    "a logger: a line of its own, names, units, and how each was averaged", '"TOA5","S7","CR1000","12","Std","Table"\n'
    + text([("TIMESTAMP", ["TS", "", *(f"2024-03-01 {i // 6:02d}:{i % 6}0:00" for i in range(N))]),
            *((name, [unit, how, *own]) for name, unit, how, own in zip(
                NAMES, ("Deg C", "%", "mbar"), ("Avg", "Smp", "Avg"), X.T, strict=True))]),
    path="people.dat",
    notes=("the first line is taken for a title", "the 2 lines below the names hold units", "'TIMESTAMP' is left out"),
)  # fmt: skip
ugly(
    "the World Bank: a title of its own width, years as names, a separator at each end",
    '"Source","Indicators",\n\n"Updated","2024-05-30",\n\n'
    + text([("Country", PEOPLE), ("Code", [f"C{i}" for i in range(N)]),
            *zip(("2018", "2019", "2020"), X.T, strict=True), ("", [""] * N)]),
    active=("2018", "2019", "2020"),
    notes=("the first 4 lines", "is read as column names", "'Country' names", "'Code' is left", "'column_6' is left"),
)  # fmt: skip
ugly(
    "a table of the USGS, with the widths of its columns below the names", "# provisional\n#\n" + text([
        ("site", ["15s", *["0938"] * N]), *((name, ["14n", *values]) for name, values in people())], "\t"),
    path="people.rdb", notes=("the line below the names", "'site' is left out"),
)  # fmt: skip
ugly(
    "long texts of many lines", text([("note", (f'"{(who + chr(10)) * 900}"' for who in PEOPLE)), *people()]),
    notes=("'note' names the rows",),
)  # fmt: skip
for title, to_cell in (
    ("digits of Arabic", lambda x: str(x).translate(str.maketrans("0123456789.", "٠١٢٣٤٥٦٧٨٩٫"))),
    ("exponents of Fortran", lambda x: f"{x:.6E}".replace("E", "D")),
    ("numbers that a spreadsheet takes for text", lambda x: f'="{x}"'),
    ("numbers that are about right", lambda x: f"~{x}" if x > 100 else f"ca. {x}"),
    ("decimal points and decimal commas", lambda x: f'"{str(x).replace(".", ",")}"' if int(x) % 3 else str(x)),
):
    ugly(title, text(people(X, to_cell)), notes=("in column 'height' and 2 more is read as",))
PROFIT = np.round(100.0 * AROUND)
PROFIT[[3, 7], [0, 1]] = 0.0
ugly(
    "money that was lost, in brackets after its sign",
    text(people(PROFIT, lambda x: f'"${x:,.2f}"' if x > 0 else f'"$({-x:,.2f})"' if x else "$ -")), rows=PROFIT,
    notes=("in column 'height' and 2 more is read as",),
)  # fmt: skip
ugly(
    "times of the web", text([("seen", (f"2024-{month:02d}-05T10:00:00Z" for month in cycled([3, 4]))), *people()]),
    notes=("'seen' is left out (dates)",),
)  # fmt: skip
FILLED = np.hstack([X + 0.05, X[:, :1] + 0.05])
FILLED[[2, 9], 0], FILLED[[5, 6], 1], FILLED[[4, 8], 2] = 9.96921e36, 99.0, -1.0
FOUR = ("a", "b", "c", "d")
ugly(
    "fill values of NetCDF, 99 and -1 among decimals", text(list(zip(FOUR, FILLED.T, strict=True))), active=FOUR,
    rows=FILLED, warnings=("9.96921e+36 stands in 2 cells", "-1 stands in 2 cells", "'a' has 100% of the variance"),
)  # fmt: skip
AGREED = ("Pas du tout d’accord", "Plutôt pas d’accord", "Neutre", "Plutôt d’accord", "Tout à fait d’accord")
ugly(
    "answers in French", text([
        (name, [AGREED[a - 1] for a in own]) for name, own in zip(ITEMS[:3], ANSWERS.T, strict=True)]),
    active=ITEMS[:3], rows=ANSWERS, notes=("are read as 1 … 5",),
)  # fmt: skip
STATISTICS = np.vstack([X, X.mean(axis=0).round(2), X.std(axis=0, ddof=1).round(2), np.full(3, N)])
ugly(
    "means, deviations and numbers below the rows",
    text([("who", [*PEOPLE, "Mean", "SD", "N"]), *people(STATISTICS)]), rows=STATISTICS, notes=WHO,
    warnings=("rows 25, 26, 27 are called 'Mean', 'SD', 'N' in column 'who': if they are not data, leave them out with "
              "--footer 3",),
)  # fmt: skip
PLACES = np.column_stack([X, np.linspace(46.0, 49.0, N).round(4)[::-1] + cycled([0.0, 0.5]), cycled([9.5, 11.2, 16.1])])
AT = (*NAMES, "lat", "lon")
ugly(
    "coordinates beside what was measured there", text(list(zip(AT, PLACES.T, strict=True))), active=AT, rows=PLACES,
    warnings=("columns 'lat', 'lon' hold places, and are fitted like measurements; show them beside the result with "
              "--supplementary lat,lon",),
)  # fmt: skip
KINDS = np.array(cycled([1, 3, 2, 1]))
ugly(
    "classes as numbers, and no line of names", text([*people(), ("kind", KINDS)]).partition("\n")[2],
    active=("column_1", "column_2", "column_3", "column_4"), rows=np.column_stack([X, KINDS]),
    notes=("the first line holds no names",), warnings=("if they are classes, give --label column_4",),
)  # fmt: skip
fails(
    "correlations above the diagonal and p-values below it", matrix(np.where(np.tri(3, k=-1), np.abs(R) ** 3, R)),
    "its halves differ, as correlations and their p-values do",
)  # fmt: skip
fails(
    "correlations of an article: stars, dashes on the diagonal, means beside", ",M,SD,1,2,3,4\n" + "".join(
        f"{i}. {name},{i}.5,1.{i},{','.join([f'.{i}1*', f'-.{i}', '.45**'][: i - 1] + ['—'] + [''] * (4 - i))}\n"
        for i, name in enumerate(("anx", "dep", "str", "sle"), 1)),
    "one half of a matrix of correlations",
)  # fmt: skip
fails("columns that are all constant", text([("a", [1] * N), ("b", [2] * N)]), "none has two different entries")


# ---- exports of a third round -----------------------------------------------------------------------------------

BELOW = text([("who", PEOPLE), *people()])
SAVED = {"\t": "tabs", ";": "semicolons"}
for sep, called in SAVED.items():
    ugly(
        f"a title above columns between {called}",
        "Clinic of Graz\n" + text([("who", PEOPLE), *people()], sep),
        path="people.txt",
        notes=("the first line is taken for a title", *WHO),
    )
ugly(
    "an export of E-Prime: UTF-16, and the path of the experiment above the names",
    ("C:\\lab\\people.edat2\r\n" + text([("who", PEOPLE), *people()], "\t", "\r\n")).encode("utf-16"),
    path="people.txt",
    notes=("the first line is taken for a title", *WHO),
)
ugly(
    "a run of an instrument: words and values, a heading in brackets, then the table",
    "Block Type\t96fast\nChemistry\tSYBR\nPassive Reference\tROX\n\n[Results]\n"
    + text([("who", PEOPLE), *people()], "\t"),
    path="people.txt",
    notes=("the first 5 lines are taken for a title", *WHO),
)
ugly(
    "a license and a legend of fifteen lines above the names",
    "".join(
        [
            "THESE DATA CAN BE USED FREELY\n\nKlein, A., and Coauthors, 2002. Heights,\nJ. of People 22, 1441\n\n",
            "01-06 who   : name\n08-13 height: in cm\n15-22 mass  : in kg\n24-28 age   : in years\n\n" * 2,
            "Vienna (16)\n\n",
            BELOW,
        ]
    ),
    notes=("lines are taken for a title", *WHO),
)
ugly(
    "an account: its owner and balance in lines of two and three cells, twice the same name below",
    "Report;created: 1 April\n\nIBAN;DE12 3456\nBalance;1.234,56;EUR\n\nAll bookings follow.\n\n"
    + text(
        [
            ("who", PEOPLE),
            ("height", (f"{x:,.1f}".replace(".", ",") for x in X[:, 0])),
            ("unit", ["cm"] * N),
            ("mass", (f"{x:,.1f}".replace(".", ",") for x in X[:, 1])),
            ("unit", ["kg"] * N),
            ("age", (f"{x:,.1f}".replace(".", ",") for x in X[:, 2])),
        ],
        ";",
    ),
    notes=("the first 7 lines", "--decimal ','", "'unit_2'", *WHO, "'unit' is left out", "'unit_2' is left out"),
)
ugly(
    "remarks of several cells below the table, some with numbers",
    BELOW + '"Grand Totals (24 records)"\nSum of mass,1644.3\n'
    "Avg of age,33\n\nCopyright (c) 2024\nGenerated By: Ida, 1 April\n",
    notes=("the last 5 lines are taken for remarks", *WHO),
)
ugly(
    "names that are lacking for the first columns, days above, and what is counted below them",
    "Table: 12411-0010\n;;;;\nPeople: places, days;;;;\n;;31.12.2020;31.12.2021;31.12.2022\n;;Count;Count;Count\n"
    + "".join(
        f"{1001 + i:05d};{who};{a};{b};{c}\n" for i, (who, (a, b, c)) in enumerate(zip(PEOPLE, X.tolist(), strict=True))
    )
    + "__________\n© Office of people, 2024 | Stand: 01.04.2024\n",
    active=tuple(f"31.12.{year}" for year in (2020, 2021, 2022)),
    notes=(
        "the first 3 lines",
        "the last 2 lines",
        "the line below the names holds text above numbers ('Count')",
        "'column_2' names the rows",
        "'column_1' is left out (codes with leading zeros)",
    ),
)
for title, sep, lines in (
    ("names in a comment, and an empty comment below it", ",", "# made by Ida, in Graz\n# who,height,mass,age\n#\n"),
    ("names in a comment, and units in another below it", " ", "#who  height mass age\n#txt cm kg yr\n"),
):
    ugly(
        title,
        lines + text([("who", PEOPLE), *people()], sep).partition("\n")[2],
        path="people.txt",
        notes=("the names of columns stand in a comment", *WHO),
    )
ugly(
    "a table of BIOM: a comment, names after #, and lineages with semicolons",
    "# Constructed from biom file\n"
    + text([("#OTU ID", PEOPLE), *people(), ("taxonomy", (f"k__A; p__{i % 2}; c__{i % 3}" for i in range(N)))], "\t"),
    path="people.txt",
    notes=("the first line", "'#OTU ID' names the rows", "'taxonomy' colours the rows"),
)
ugly(
    "money of an account: losses in brackets, also in the first row",
    text([("who", PEOPLE), *people(-PROFIT, lambda x: f'"({-x:,.2f})"' if x < 0 else f'"{x:,.2f}"')]),
    rows=-PROFIT,
    notes=("in column 'height' and 2 more is read as", *WHO),
)
SOMETIMES = [
    ("who", PEOPLE),
    *(
        (name, [f"${v:,.2f}".join('""') if i % 4 == 3 else f"{v:.2f}" for i, v in enumerate(own)])
        for name, own in zip(NAMES, MANY.T.tolist(), strict=True)
    ),
]
ugly(
    "a sign of currency on some amounts only, as on totals",
    text(SOMETIMES),
    rows=MANY,
    notes=("in column 'height' and 2 more is read as", *WHO),
)
for title, to_cell in (
    ("credits and debits", lambda x: f"{abs(x)} {'CR' if x > 0 else 'DR'}"),
    ("rupees", lambda x: f"Rs. {x}"),
):
    ugly(title, text(people(AROUND, to_cell)), rows=AROUND, notes=("in column 'height' and 2 more is read as",))
ugly(
    "margins of error with their sign alone",
    text(beside((f"±{a}" for a in X[:, 2]), "margin")),
    active=(*NAMES, "margin"),
    rows=np.column_stack([X, X[:, 2]]),
    notes=("'margin' is read as",),
    warnings=("'margin' follows exactly from 'age'",),
)
SCORED = np.random.default_rng(19).integers(0, 21, (N, 3))
ugly(
    "marks out of 20",
    text([(name, [f"{mark}/20" for mark in own]) for name, own in zip(SUBJECTS, SCORED.T, strict=True)]),
    active=SUBJECTS,
    rows=SCORED / 20.0,
    notes=("in column 'maths' and 2 more is read as",),
)
fails(
    "marks with their tendency",
    text(
        [
            (name, [("1-", "2+", "2", "3-", "4", "3+")[mark % 6] for mark in own])
            for name, own in zip(SUBJECTS, SCORED.T, strict=True)
        ]
    ),
    "may be marks with their tendency",
)
ENDS_NAMED = {1: "1 - Never", 5: "5 - Always"}
ugly(
    "a scale of a form, of which only the ends have words",
    text(
        [
            ("Username", (f"{who}@mail.org" for who in PEOPLE)),
            *(
                (f'"How often, {name}?"', [ENDS_NAMED.get(a, a) for a in own])
                for name, own in zip(NAMES, ANSWERS.T.tolist(), strict=True)
            ),
            ("size", X[:, 0]),
        ]
    ),
    active=(*(f"How often, {name}?" for name in NAMES), "size"),
    rows=np.column_stack([ANSWERS, X[:, 0]]),
    notes=("and 2 more, which share their answers, is read as", "'Username' names the rows"),
)
ugly(
    "a scale with the words of its ends in brackets, in one column",
    text(beside([{1: "1 (not at all)", 5: "5 (very much)"}.get(a, a) for a in ANSWERS[:, 0].tolist()], "liked")),
    active=(*NAMES, "liked"),
    rows=np.column_stack([X, ANSWERS[:, 0]]),
    notes=("in column 'liked' is read as",),
)
for title, words in {
    "answers as Qualtrics words them, in five steps": (
        "Strongly disagree",
        "Somewhat disagree",
        "Neither agree nor disagree",
        "Somewhat agree",
        "Strongly agree",
    ),
    "likelihoods in five steps": (
        "Extremely unlikely",
        "Somewhat unlikely",
        "Neither likely nor unlikely",
        "Somewhat likely",
        "Extremely likely",
    ),
    "days of a fortnight": ("Not at all", "Several days", "More than half the days", "Nearly every day"),
    "passes with merit": ("Fail", "Pass", "Merit", "Distinction"),
    "grades from U to A*": ("U", "E", "D", "A", "A*"),
}.items():
    points = np.array([1.0, 4.0, 5.0, 8.0, 9.0]) if words[0] == "U" else np.arange(1.0, 6.0)
    ugly(
        title,
        text([(name, [words[a % len(words)] for a in own]) for name, own in zip(SUBJECTS, ANSWERS.T, strict=True)]),
        active=SUBJECTS,
        rows=points[ANSWERS % len(words)],
        notes=("in column 'maths' and 2 more are read as 1 … ",),
    )
REVERSED = np.column_stack([ANSWERS, 6 - ANSWERS[:, 0]])
ugly(
    "an item and its reverse",
    text(list(zip((*ITEMS, "i1_r"), REVERSED.T, strict=True))),
    active=(*ITEMS, "i1_r"),
    rows=REVERSED,
    warnings=("column 'i1_r' follows exactly from 'i1'",),
)
ESTIMATED = X.astype(str).astype(object)
ESTIMATED[[1, 4, 7], [0, 1, 2]] = [f"{X[1, 0]} (E)", f"{X[4, 1]} J", f"{X[7, 2]} UJ"]
ugly(
    "capital letters of laboratories and offices behind numbers",
    text(people(ESTIMATED)),
    notes=("in column 'height' and 2 more is read as",),
)
fails(
    "text behind numbers that is no mark",
    text(people()).replace(f"{X[3, 0]},", f"{X[3, 0]} or so,"),
    "or so'",
    ("--drop", "height"),
    active=NAMES[1:],
    rows=X[:, 1:],
)
ugly(
    "a limit among percentages",
    text([("who", PEOPLE), *people(), ("share", ["< 10%", *(f"{v}%" for v in np.arange(23) + 11.5)])]),
    notes=("'< 10%' is among its numbers; if that means missing, give --na '< 10%'", *WHO, "'share' is left out"),
)
COUNTS = np.vstack([X, np.round(9.0 * X[:3] + [[1.0, 5.0, 2.0], [7.0, 3.0, 3.0], [2.0, 2.0, 8.0]], 1)])
ugly(
    "reads that counting genes leaves over, below the genes",
    text([("gene", [*PEOPLE, "__no_feature", "__ambiguous", "__not_aligned"]), *people(COUNTS)], "\t"),
    path="people.tsv",
    rows=COUNTS,
    notes=("'gene' names the rows",),
    warnings=("rows 25, 26, 27 are called '__no_feature', '__ambiguous', '__not_aligned' in column 'gene'",),
)
LIMITS = np.vstack([[0.5, 0.2, 0.1], X])
ugly(
    "limits of detection in the first row, units above it",
    text(
        [
            ("sample", ["unit", "LOD", *PEOPLE]),
            *((name, ["mg/L", *own]) for name, own in zip(NAMES, LIMITS.T, strict=True)),
        ]
    ),
    rows=LIMITS,
    notes=("the line below the names holds units", "'sample' names the rows"),
    warnings=("the first row is called 'LOD' in column 'sample'",),
)
CLASS = np.vstack([[100.0, 50.0, 20.0], X.mean(axis=0).round(1), X])
ugly(
    "a gradebook with the points and the class average above the names of pupils",
    text([("Last Name", ["Points", "Class average", *PEOPLE]), *people(CLASS)]),
    rows=CLASS,
    notes=("'Last Name' names the rows",),
    warnings=("rows 1, 2 are called 'Points', 'Class average'",),
)
ugly(
    "years in brackets behind years as names, which are no units",
    text([("who", PEOPLE), *zip(("2018 [YR2018]", "2019 [YR2019]", "2020 [YR2020]"), X.T, strict=True)]),
    active=("2018 [YR2018]", "2019 [YR2019]", "2020 [YR2020]"),
    notes=WHO,
)
INCOME = np.column_stack([np.round(np.tile([900.0, 1.0], N // 2) * X[:, j], 1) for j in (0, 1, 2)])
ugly(
    "incomes and lengths of life in turn, as a column says",
    text([("who", np.repeat(PEOPLE[:12], 2)), ("Series Name", ["Income", "Life"] * (N // 2)), *people(INCOME)]),
    rows=INCOME,
    notes=("'who' colours the rows", "'Series Name' colours the rows"),
    warnings=("column 'Series Name' says what each row measures ('Income', 'Life')",),
)
STAMPS = [1_700_000_000_000 + 86_400_000 * int(day) for day in MORE.integers(0, 9, N)]
ugly(
    "milliseconds since 1970, and the years of SDMX",
    text([("timestamp", STAMPS), ("TIME_PERIOD", cycled([2020, 2021, 2022])), *people()]),
    notes=("'timestamp' is left out (times)", "'TIME_PERIOD' is left out (calendar years"),
)
ugly(
    "flags with commas and no digits",
    text([*people(), ("attributes", ['",,W"'] * N), ("week", cycled(["2024-W01", "2024-W02"]))]),
    notes=("'attributes' is left out (constant, ',,W')", "'week' is left out (dates)"),
)
REFUSED = np.random.default_rng(20).integers(1, 5, (60, 4)).astype(float)
REFUSED[[3, 11, 30, 41, 52], [0, 1, 2, 3, 0]], REFUSED[[7, 19, 33, 44], [0, 1, 2, 3]], REFUSED[5, 2] = -1.0, -2.0, -5.0
ugly(
    "-1, -2 and -5 for answers that were not given",
    text([(name, own.astype(int)) for name, own in zip(("q1", "q2", "q3", "q4"), REFUSED.T, strict=True)]),
    active=("q1", "q2", "q3", "q4"),
    rows=REFUSED,
    warnings=("-2 stands in 4 cells of 'q1', 'q2', 'q3', 'q4'", "-1 stands in 5 cells of 'q1', 'q2', 'q3', 'q4'"),
)

ugly(
    "answers with their codes behind them, in brackets",
    text(
        [
            (name, [f"{SCALE[a - 1].capitalize()} ({a})" for a in own])
            for name, own in zip(SUBJECTS, ANSWERS.T.tolist(), strict=True)
        ]
    ),
    active=SUBJECTS,
    rows=ANSWERS,
    notes=("in column 'maths' and 2 more, which share their answers, is read as",),
)
ugly(
    "marks out of 100.00, one of which was not handed in",
    text(
        [
            ("who", PEOPLE),
            *people(show=lambda x: f"{x:.2f} / 200.00"),
            ("essay", ["Not Submitted", *(f"{v:.2f} / 100.00" for v in np.arange(23) + 50.5)]),
        ]
    ),
    rows=X / 200.0,
    notes=(
        "/ 200.00' in column 'height' and 2 more is read as",
        "'Not Submitted' is among its numbers",
        *WHO,
        "'essay' is left out",
    ),
)
fails(
    "spaces before the quotation marks of all cells",
    "".join(", ".join(f'"{cell}"' for cell in row) + "\n" for row in CELLS),
    "has spaces before the quotation marks of its cells",
)


# ---- the score table --------------------------------------------------------------------------------------------


def score_line(file: UglyFile, folder: Path) -> str:
    """Return what `eigenlens fit pca` makes of a file, as a line of a Markdown table."""
    file.fill(folder / file.path)
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        main(["fit", "pca", str(folder / file.path), *file.words, "--json"])
    found = json.loads(out.getvalue())
    fitted = "error" not in found
    lines = found["decisions"] if fitted else [found["error"], found["try"] or found["fix"]]
    lines = [each.replace(f"{folder}/", "").replace(" --json", "") for each in [*lines, *found.get("warnings", [])]]
    active = ", ".join(file.active) if len(file.active) < 5 else f"{len(file.active):,} columns"
    result = f"a fit to {active}" if fitted else "an error, and what to do"
    return f"| {file.title} | {result} | {'<br>'.join(f'`{each}`' for each in lines)} |"


def score_table() -> str:
    """Return the lines of all files, below the names of the columns."""
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder) / str(number) for number in range(len(FILES))]
        for place in places:
            place.mkdir()
        lines = [score_line(file, place) for file, place in zip(FILES, places, strict=True)]
    return "\n".join(["| file | result | what is printed |", "|---|---|---|", *lines])


if __name__ == "__main__":
    print(score_table())
