"""Naive Bayes with Gaussians and with kernel densities beside Weka's, on ARFF files, by 10-fold cross-validation.

python benchmarks/weka.py FOLDER TABLE [--only NAME ...] [--shuffles 5] [--rule john-langley] [--write]

FOLDER holds NAME.arff or NAME.arff.gz, the class being the last attribute. TABLE is a CSV file of accuracies of Weka's
NaiveBayes, by 10-fold cross-validation, with the columns data (NAME), option (gaussian, -K or -D) and cv10_pct. The
exit code is 1 if a kernel naive Bayes is more than 1.5 points below Weka's -K.

Folds are stratified and drawn anew for each shuffle, and accuracies are means over all of them: the folds of Weka are
not ours, and one draw of folds moves the accuracy on a few hundred rows by a point. Sets of more than 10,000 rows are
shuffled once. Nominal attributes have the levels that the file declares, smoothed by one row each, as in Weka; a
missing value leaves its factor out.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import re
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

import results
from eigenlens import NaiveBayes

SLACK = 1.5
"""Points by which a kernel naive Bayes may be below Weka's."""

LARGE = 10_000
"""Rows from which one shuffle says enough."""

VALUE = re.compile(r"""\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,]*?)\s*(?:,|$)""")
ATTRIBUTE = re.compile(r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+)\s+(.*)""", re.IGNORECASE)
NUMERIC = ("numeric", "real", "integer")


# ---- ARFF files ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """Rows as a frame, the columns of numbers among them by name, and the class of each row."""

    frame: pd.DataFrame
    numbers: tuple[str, ...]
    labels: np.ndarray


def load(path: Path) -> Table:
    """The last attribute is the class."""
    with gzip.open(path, "rt", errors="replace") if path.suffix == ".gz" else path.open(errors="replace") as file:
        levels, rows = read_arff(file)
    if any(len(row) != len(levels) for row in rows):
        raise ValueError(f"{path} has rows of other than {len(levels)} values")
    columns = {name: _column(given, [row[j] for row in rows]) for j, (name, given) in enumerate(levels.items())}
    *names, label = columns
    frame = pd.DataFrame({name: columns[name] for name in names})
    return Table(frame, tuple(name for name in names if levels[name] is None), np.asarray(columns[label], dtype=str))


def read_arff(file: TextIO) -> tuple[dict[str, list[str] | None], list[list[str | None]]]:
    """Of each attribute its levels, None for numbers, and the values of each row, None where missing."""
    levels: dict[str, list[str] | None] = {}
    lines = (line.strip() for line in file)
    for line in lines:
        if line.lower().startswith("@data"):
            break
        if line.lower().startswith("@attribute"):
            name, given = _attribute(line)
            if name in levels:
                raise ValueError(f"two attributes are named {name!r}")
            levels[name] = given
    return levels, [values(line) for line in lines if line and not line.startswith("%")]


def _attribute(line: str) -> tuple[str, list[str] | None]:
    found = ATTRIBUTE.match(line)
    if found is None:
        raise ValueError(f"no attribute: {line}")
    name, kind = _unquoted(found[1]), found[2].strip()
    if kind.startswith("{"):
        return name, [level for level in values(kind[1 : kind.rindex("}")]) if level is not None]
    if not kind.lower().startswith(NUMERIC):
        raise ValueError(f"attribute {name!r} is {kind}; only nominal and numeric ones are read")
    return name, None


def values(line: str) -> list[str | None]:
    """The values between the commas of a line, without quotes; None for a bare question mark.

    >>> values("1.5, 'it, too',?")
    ['1.5', 'it, too', None]
    """
    if line.startswith("{"):
        raise ValueError("the rows are sparse; only dense ARFF files are read")
    found, at = [], 0
    while at <= len(line):
        match = VALUE.match(line, at)
        if match is None:
            raise ValueError(f"no list of values: {line}")
        found.append(None if match[1] == "?" else _unquoted(match[1]))
        if not line[at : match.end()].endswith(","):
            break
        at = match.end()
    return found


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[:1] in ("'", '"') else text


def _column(levels: list[str] | None, found: list[str | None]) -> pd.Series | pd.Categorical:
    if levels is None:
        return pd.Series([np.nan if value is None else float(value) for value in found])
    odd = set(found) - {*levels, None}
    if odd:
        raise ValueError(f"the values {sorted(map(str, odd))} are not among the levels {levels}")
    return pd.Categorical(found, categories=levels)


# ---- cross-validation ------------------------------------------------------------------------------------------


def accuracy(table: Table, family: str, rule: str, shuffles: int) -> float:
    """Per cent of the rows whose class is found, numbers having this family."""
    classifier = NaiveBayes(dict.fromkeys(table.numbers, family), bandwidth=rule)
    right = 0
    for seed in range(shuffles):
        folds = StratifiedKFold(10, shuffle=True, random_state=seed)
        for train, test in folds.split(table.frame, table.labels):
            classifier.fit(table.frame.iloc[train], table.labels[train])
            right += int(np.sum(classifier.predict(table.frame.iloc[test]) == table.labels[test]))
    return 100.0 * right / (shuffles * len(table.labels))


def weka_figures(path: Path) -> dict[str, dict[str, float]]:
    """Accuracies by data set and option."""
    found: dict[str, dict[str, float]] = {}
    with path.open(newline="") as file:
        for line in csv.DictReader(file):
            found.setdefault(line["data"], {})[line["option"]] = float(line["cv10_pct"])
    return found


@dataclass(frozen=True)
class Line:
    """Accuracies on one data set."""

    name: str
    shape: str
    weka: dict[str, float]
    gaussian: float
    kernel: float

    @property
    def lead(self) -> float:
        """Points of our kernels above Weka's."""
        return self.kernel - self.weka["-K"]

    def cells(self) -> tuple[str, ...]:
        weka = (f"{self.weka[option]:.2f}" for option in ("gaussian", "-K", "-D"))
        verdict = "met" if self.lead >= -SLACK else "missed"
        return (
            self.name,
            self.shape,
            *weka,
            f"{self.gaussian:.2f}",
            f"{self.kernel:.2f}",
            f"{self.lead:+.2f}",
            verdict,
        )


def measured(name: str, path: Path, weka: dict[str, float], rule: str, shuffles: int) -> Line:
    table = load(path)
    n, d, p = len(table.frame), table.frame.shape[1], len(table.numbers)
    times = 1 if n > LARGE else shuffles
    gaussian, kernel = (accuracy(table, family, rule, times) for family in ("gaussian", "kde"))
    return Line(name, f"{n:,}×{d}, {p} of numbers, {len(set(table.labels))} classes", weka, gaussian, kernel)


def missed(found: list[Line]) -> list[str]:
    return [line.name for line in found if line.lead < -SLACK]


def collected(found: list[Line], shuffles: int, rule: str) -> results.Compared:
    """The run as a value."""
    header = ("data", "rows", "Weka", "Weka -K", "Weka -D", "Gaussian", "kernel", "kernel above -K", "verdict")
    met = len(found) - len(missed(found))
    part: results.Part = {
        "before": f"Per cent right; bandwidths by the rule {rule}; means of {shuffles} draws of the folds, one for "
        f"sets of more than {LARGE:,} rows.",
        "table": results.table(header, [line.cells() for line in found]),
        "after": f"Kernels within {SLACK:g} points of Weka's, or better: {met} of {len(found)}.",
    }
    return results.compared("weka", ("numpy", "scipy", "scikit-learn", "pandas"), [part])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of ARFF files")
    parser.add_argument("table", type=Path, help="CSV file of Weka's accuracies")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="some of the data sets")
    parser.add_argument("--shuffles", type=int, default=5, help="draws of the folds (default 5)")
    parser.add_argument("--rule", default="john-langley", help="of the bandwidths (default john-langley)")
    parser.add_argument("--write", action="store_true", help="keep the run in benchmarks/results and README.md")
    options = parser.parse_args()
    if options.write and options.only:
        parser.error("--write keeps whole tables only: leave out --only.")
    warnings.simplefilter("ignore")  # classes of fewer rows than folds, and columns that are constant within a class
    found = []
    for name, weka in sorted(weka_figures(options.table).items()):
        if options.only and name not in options.only:
            continue
        path = next((p for p in (options.folder / f"{name}.arff{end}" for end in ("", ".gz")) if p.exists()), None)
        if path is None:
            parser.error(f"{options.folder} has neither {name}.arff nor {name}.arff.gz.")
        found.append(measured(name, path, weka, options.rule, options.shuffles))
        print(" ".join(found[-1].cells()), file=sys.stderr, flush=True)
    kept = collected(found, options.shuffles, options.rule)
    print(results.markdown(kept))
    if options.write:
        results.write(kept)
    return 1 if missed(found) else 0


if __name__ == "__main__":
    sys.exit(main())
