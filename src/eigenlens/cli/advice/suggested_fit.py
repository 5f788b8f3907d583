"""The model that a statistician would fit first to a table, by the roles of its columns."""

from __future__ import annotations

import glob
import itertools
import os
import re
import shlex
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eigenlens.cli.column_profile import Profile, profile_first_rows
from eigenlens.cli.files import is_model_file
from eigenlens.cli.guess_roles import HEAD_ROWS, GuessedRole, Role, guess_roles
from eigenlens.cli.input_table import open_input
from eigenlens.cli.options import ParsingOptions, given_flags
from eigenlens.data.files.cell_formats.total_names import is_total, names_statistic
from eigenlens.errors import EigenlensError

CLASS_NAME = re.compile(
    r"(?i)(y|class|classes|label|labels|target|species|diagnosis|outcome|party|cultivar|variety|categor(y|ies)|klasse|"
    r"art|diagnose|type)"
)
"""Names of columns that hold the classes to be learned."""

MAX_CLASSES = 50
MIN_PER_CLASS = 3
"""Rows per class, on average, below which classes are not learned."""

MAX_RANGE_RATIO = 10.0
"""From this ratio of the widest to the narrowest range on, columns are taken to have different units."""


def data_files(words: Sequence[str]) -> list[str]:
    """Return the words that are existing files of data, or patterns for them, and not files to be written."""
    pairs = itertools.pairwise(["", *words])
    read = [word for before, word in pairs if before not in TARGETS and not word.startswith("-")]
    return [word for word in read if not is_model_file(word) and _find_files(word)]


TARGETS = ("-o", "--output", "--report", "--data")
"""Options whose values are files to be written, which may exist from an earlier run."""


def _find_files(word: str) -> list[Path]:
    # Not by `Path.is_file`: it raises for words that no file can be called by.
    return [Path(name) for name in ([word] if os.path.exists(word) else glob.glob(word)) if os.path.isfile(name)]


def open_profiles(files: Sequence[str], reading: ParsingOptions | None = None) -> list[Profile]:
    """Return the profiles of the columns of files, by their first rows; none where they cannot be read."""
    try:
        return profile_first_rows(open_input(files, reading or ParsingOptions()), HEAD_ROWS)
    except (EigenlensError, OSError):
        return []


def last_cells(files: Sequence[str], reading: ParsingOptions | None = None) -> list[str]:
    """Return the cells of the last row as text; none where the files cannot be read, or are large."""
    if sum(path.stat().st_size for file in files for path in _find_files(file)) > MAX_BYTES:
        return []
    try:
        (last,) = deque(open_input(files, reading or ParsingOptions()).cells(), maxlen=1)  # not all of them at once
    except (EigenlensError, OSError):
        return []
    return [str(cell) for cell in last.row(-1) if cell is not None]


MAX_BYTES = 50_000_000
"""The size of files up to which their last row is looked for."""


def suggest_fits(
    files: Sequence[str], profiles: Sequence[Profile] | None = None, reading: ParsingOptions | None = None
) -> list[str]:
    """Return commands that fit a model to the table, the best first; the caller tries them."""
    columns = open_profiles(files, reading) if profiles is None else profiles
    flags = [] if reading is None else given_flags(reading)
    marks = list(dict.fromkeys(mark for column in columns for mark in column.perhaps_missing))
    marked = [word for mark in marks for word in ("--na", mark)]
    roles = guess_roles(columns)
    # A column of numbers and text, of which the text is not known to mean missing values, can only be left out.
    odd = [
        word
        for c in columns
        if c.type == "text" and roles[c.name].role == Role.ACTIVE and not c.perhaps_missing
        for word in ("--drop", str(c.name))
    ]
    # A row of totals makes a column of numbers one of text.
    footer = ["--footer", "1"] if marked + odd and any(map(is_total, last_cells(files, reading))) else []
    # The first way keeps the most entries.
    ways = [way for way in (footer, [*marked, *odd]) if way] or [[]]
    ways = [[*way, *([] if way and way is footer else _without_totals(columns, roles))] for way in ways]
    start = ["eigenlens", "fit"]
    return [shlex.join([*start, model, *files, *flags, *more, *way])
            for way in ways for model, *more in _suggest_models(columns, roles, without=way)]  # fmt: skip


def _without_totals(columns: Sequence[Profile], roles: Mapping[Any, GuessedRole]) -> list[str]:
    """Return the tests that leave out rows whose names are those of totals."""
    found = []
    for column in columns:
        alone = bool(column.numbers)  # among names that are numbers, no word is a name
        texts = column.values if roles[column.name].role == Role.ID else ()
        totals = [text for text in texts if is_total(text) or (alone and names_statistic(text))]
        found += [word for text in totals for word in ("--where", f"{column.name} != {text}")]
    return found


def _suggest_models(
    columns: Sequence[Profile], roles: Mapping[Any, GuessedRole], without: Sequence[str]
) -> list[list[str]]:
    """Return models with their options, the best first, for the columns without those that are left out."""
    left_out = set(without) if "--drop" in without else set()
    numbers = [each for each in columns if roles[each.name].role == Role.ACTIVE and str(each.name) not in left_out]
    labels = [each for each in columns if roles[each.name].role == Role.LABEL]
    classes = next((each for each in labels if _holds_classes(each)), None)
    found: list[list[str]] = []
    if classes is not None:
        label = ["--label", str(classes.name)]
        found += [["lda", *label]] if len(numbers) > 1 and not any(c.missing for c in numbers) else []
        found += [["nb", *label]] if len(numbers) + len(labels) > 1 else []
    if len(numbers) > 1:
        found += [["pca", "--standardize"]] if _units_differ(numbers) else [["pca"]]
    elif numbers:
        found += [["kde"], ["kde", "--skip-missing"]]
    elif labels:
        found += [["mix"]]
    return found


def _holds_classes(column: Profile) -> bool:
    few = 2 <= len(column.values) <= MAX_CLASSES and len(column.values) * MIN_PER_CLASS <= column.rows
    return few and CLASS_NAME.fullmatch(str(column.name)) is not None


def _units_differ(columns: Sequence[Profile]) -> bool:
    ranges = [each.greatest - each.least for each in columns if each.greatest > each.least]
    return bool(ranges) and max(ranges) > MAX_RANGE_RATIO * min(ranges)
