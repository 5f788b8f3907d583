"""Files of SPSS, Stata and SAS: value labels are categories, and values that users declared missing are missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenlens.data.files.base import pl, unreadable
from eigenlens.data.files.cell_formats.base import list_names
from eigenlens.data.files.cell_formats.words import find_word_formats
from eigenlens.data.files.decision import Decision
from eigenlens.data.files.formats.parquet import TableReader
from eigenlens.errors import MissingExtra

if TYPE_CHECKING:
    from polars import DataFrame, LazyFrame

NO_ANSWER = re.compile(
    r"(?i)refus(ed|al)|declined( to answer)?|do(es)? ?n[o'’]?t know|dk|no answer|no response|not answered|"
    r"(not|in)[ -]?applicable|n\.?/?a\.?|missing|not (asked|ascertained)|keine angaben?|k\.? ?a\.?|wei(ß|ss) nicht|"
    r"(verweigert|trifft nicht zu|nicht zutreffend|ne sait pas|sans r[eé]ponse|no sabe|no contesta)"
)
"""Labels of values that mean no answer, though the file does not declare them missing."""

READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
"""Functions of pyreadstat by suffix."""


class StatisticsReader(TableReader):
    """Columns of files of statistics programs, which are read whole.

    A column whose values all have labels is one of categories. Where the file declares an order, or where the labels
    are the answers of a questionnaire, it stays one of numbers unless `text` names it.
    """

    def __init__(self, paths: tuple[Path, ...], *, text: Sequence[str] = (), **options: Any) -> None:
        self._as_text, self._ordered = {text} if isinstance(text, str) else set(text), dict[str, None]()
        self._unanswered = dict[str, str]()
        super().__init__(paths, open_table=self._read, text=text, **options)
        if self._unanswered:
            names = list(self._unanswered)
            what = f"{self._unanswered[names[0]]} in {list_names(names)} means no answer by its label: missing values"
            found = Decision("missing values", what, tuple(names), "if they are answers, give {na}", {"na": []})
            self.decisions = (*self.decisions, found)
        if self._ordered:
            names = list(self._ordered)
            what = f"labels of {list_names(names)} have an order, and are read as their numbers"
            fix = "for the labels as categories give {text}"
            found = Decision("labels", what, tuple(names), fix, {"text": names})
            self.decisions = (*self.decisions, found)

    def _read(self, path: Path) -> LazyFrame:
        try:
            import pyreadstat
        except ImportError as error:
            raise MissingExtra("pyreadstat", extra="statistics", need="reading files of SPSS, Stata and SAS") from error
        read: Callable[..., Any] = getattr(pyreadstat, READERS[path.suffix.lower()])
        try:
            found: tuple[DataFrame, Any] = read(str(path), output_format="polars")
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeDecodeError) as error:
            raise unreadable(path, error) from error
        frame, about = found
        measures = about.variable_measure if path.suffix.lower() in (".sav", ".zsav", ".por") else {}
        named = {
            n: {_value(v): str(label) for v, label in labels.items()}
            for n, labels in about.variable_value_labels.items()
        }
        frame = frame.with_columns(self._without_answer(frame, named))
        return frame.with_columns(self._labelled(frame, named, measures)).lazy()

    def _without_answer(self, frame: DataFrame, labels: Mapping[str, Mapping[Any, str]]) -> Iterable[Any]:
        """Yield the columns of numbers with null for values whose label means that there is no answer."""
        for name, own in labels.items() if self._markers.uses_usual_markers else ():
            codes = [value for value, label in own.items() if NO_ANSWER.fullmatch(label.strip())]
            if name not in frame.columns or not codes or not frame[name].dtype.is_numeric():
                continue
            met = frame[name].cast(pl.Float64).is_in(codes).fill_null(False)
            if met.any():
                first = next(code for code in codes if (frame[name] == code).any())
                self._unanswered |= {name: f"{first:g} ({own[first]!r})"}
                yield pl.when(~met).then(pl.col(name)).alias(name)

    def _labelled(
        self, frame: DataFrame, labels: Mapping[str, Mapping[Any, str]], measures: Mapping[str, str]
    ) -> Iterable[Any]:
        """Yield the columns that labels make categories, and text without its empty cells."""
        words = find_word_formats({name: list(own.values()) for name, own in labels.items()})
        for name, own in labels.items():
            if name not in frame.columns or not set(map(_value, frame[name].drop_nulls().unique())) <= set(own):
                continue
            ordered = measures.get(name) in ("ordinal", "scale") or _is_ordered(own, words.get(name))
            if ordered and name not in self._as_text:
                self._ordered |= {name: None}
                continue
            categories = pl.Enum(list(dict.fromkeys(own.values())))
            values = [None if value is None else own[_value(value)] for value in frame[name].to_list()]
            yield pl.Series(name, values, dtype=categories)
        for name, dtype in frame.schema.items():
            if dtype == pl.String and name not in labels:
                yield pl.when(pl.col(name) != "").then(pl.col(name)).alias(name)


def _value(value: Any) -> Any:
    return float(value) if isinstance(value, int | float) else value


def _is_ordered(labels: Mapping[Any, str], written: Any) -> bool:
    """Return whether the labels are answers in the order of their values."""
    codes = getattr(getattr(written, "scale", None), "codes", None)
    if codes is None:
        return False
    points = [codes[" ".join(label.lower().split())] for _, label in sorted(labels.items())]
    return points == sorted(points)
