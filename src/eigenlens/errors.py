"""Every exception and warning of the package.

An error is a value: what is wrong, the argument and its value or the columns concerned, and the way out. `str(error)`
is the sentence for users of Python; the command line phrases the same fields with its flags. The classes are also
subclasses of the built-in that a reader would expect, so `except ValueError` keeps working.
"""

from __future__ import annotations

import functools
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

__all__ = [
    "CategoryError",
    "ClusterError",
    "ConvergenceWarning",
    "DataError",
    "DataWarning",
    "EigenlensError",
    "MissingExtra",
    "MissingValues",
    "ModelFileError",
    "OptionError",
    "ResourceError",
    "SourceChanged",
    "closest",
    "join_limited",
    "list_columns",
    "python_setting",
    "recorded_warnings",
    "show_value",
    "suggest",
    "warn_user",
]

_NO_VALUE: Any = object()

MOST_LISTED = 16
"""How many known names an error lists; no list of options is longer, but tables have more columns."""


MAX_VALUE_LETTERS = 200
"""How much of a value an error shows."""


def show_value(value: Any) -> str:
    """Return a value as Python writes it, or its class where its own text fails.

    >>> show_value(10**5000)
    'an int'
    """
    try:
        return repr(value)
    except Exception:  # whatever the class of a user raises, and integers of more digits than Python writes
        kind = type(value).__name__
        return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"


def python_setting(argument: str, value: Any) -> str:
    """Return an argument and its value as Python writes them.

    >>> python_setting("drop", ["ph"])
    "drop=['ph']"
    >>> python_setting("label", ...)
    'label=…'
    """
    if value is ...:
        return f"{argument}=…"
    text = re.sub(r"\s*\n\s*", " ", show_value(value))  # arrays and frames have several lines
    return f"{argument}={text if len(text) <= MAX_VALUE_LETTERS else text[:MAX_VALUE_LETTERS] + '…'}"


def closest(value: Any, known: Iterable[Any], count: int = 1) -> list[Any]:
    """Return up to `count` known names that are spelled like `value`, in any case, the most similar first.

    >>> closest("Lanczoz", ["svd", "lanczos"])
    ['lanczos']
    """
    import difflib

    spellings = {str(name).lower(): name for name in known}
    text = str(value).lower() if isinstance(value, str | int | float) else ""  # what else is given has no spelling
    near = difflib.get_close_matches(text, spellings, n=count, cutoff=0.55)
    return [spellings[name] for name in near]


def suggest(near: Iterable[Any], known: Iterable[Any], other: str = "") -> str:
    """Return the way out of an unknown name: those `near` it, and the known ones; `other` says what else may be given.

    >>> suggest([], ["svd", "lanczos"], "a callable")
    "use one of 'svd', 'lanczos', or a callable"
    """
    names, guess = list(known), " or ".join(map(repr, near))
    listed = ", ".join([*map(repr, names[:MOST_LISTED]), *(["…"] if len(names) > MOST_LISTED else [])])
    listed += f", or {other}" if other else ""
    return f"did you mean {guess}? Known: {listed}" if guess else f"use one of {listed}"


def join_limited(things: Sequence[str], shown: int = 5, of: str = "") -> str:
    """Return the first few texts, joined by commas, and the number of those left out.

    >>> join_limited(["a", "b", "c"], 2, of=" letters")
    'a, b and 1 more letters'
    """
    more = f" and {len(things) - shown} more{of}" if len(things) > shown else ""
    return ", ".join(things[:shown]) + more


def list_columns(columns: Iterable[int], names: Sequence[Any] | None) -> str:
    """Return columns for a message: their names, or their numbers where they have none.

    >>> list_columns([2, 0], ["height", "width", "mass"]), list_columns(range(7), None)
    ("'mass', 'height'", '0, 1, 2, 3, 4 and 2 more')
    """
    return join_limited([str(j) if names is None else repr(str(names[j])) for j in columns])


class _Fields(Exception):
    """The fields of errors and warnings, described at `EigenlensError`, and the sentence that is made of them."""

    def __init__(
        self,
        what: str = "",
        *,
        argument: str | None = None,
        value: Any = _NO_VALUE,
        columns: Sequence[str] = (),
        fix: str = "",
        settings: Mapping[str, Any] | None = None,
        within: str = "",
    ) -> None:
        self.what, self.argument, self.columns, self.within = what, argument, tuple(columns), within
        self.has_value = value is not _NO_VALUE
        self.value = value if self.has_value else None
        self.fix, self.settings = fix, dict(settings or {})
        # The sentence is made now: what the value is may change before anybody reads it.
        what, fix = self.phrased()
        sentence = f"{what}; {fix}" if fix else what
        super().__init__(sentence if sentence.endswith("?") or not sentence else f"{sentence}.")

    def phrased(
        self, setting: Callable[[str, Any], str] = python_setting, name: Callable[[str], str] = str
    ) -> tuple[str, str]:
        """Return what is wrong and the way out.

        Arguments are written by `setting(argument, value)`, and by `name(argument)` where the value was not given.
        """
        what, fix = self.what, self.fix
        for key, value in self.settings.items():
            what, fix = (text.replace(f"{{{key}}}", setting(key, value)) for text in (what, fix))
        if self.argument is not None:
            subject = setting(self.argument, self.value) if self.has_value else name(self.argument)
            what = f"{subject} {what}"
        what = f"{self.within}: {what}" if self.within else what
        return what.rstrip("."), fix.rstrip(".")

    def _fields(self) -> dict[str, Any]:
        names = ("what", "argument", "columns", "fix", "settings", "within")
        return {name: getattr(self, name) for name in names} | ({"value": self.value} if self.has_value else {})

    def replace(self, **changes: Any) -> Self:
        """Return the same error or warning with other values of some fields."""
        return type(self)(**(self._fields() | changes))

    def about(self, argument: str) -> Self:
        """Return the same error where what it calls X is another argument."""
        mine = self.argument and re.sub(r"\bX\b", argument, self.argument)
        what, fix, within = (re.sub(r"\bX\b", argument, text) for text in (self.what, self.fix, self.within))
        return self.replace(argument=mine, what=what, fix=fix, within=within)

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild the error from its fields: workers of a cluster send errors as pickles."""
        fields = self._fields()
        import pickle

        try:
            pickle.dumps(self.value)
        except Exception:  # a function of the user's, for example; its name is enough
            fields["value"] = show_value(self.value)
        return functools.partial(type(self), **fields), ()


class EigenlensError(_Fields):
    """The base of all errors that this package raises on purpose; `DataWarning` has the same fields.

    Attributes:
        what: what is wrong; where `argument` is given, the words that follow it.
        argument: the parameter at fault, by its Python name, or None. value: what it was, if that was given.
        columns: names of the columns concerned.
        fix: the way out, or "". It may refer to arguments as {name}, which `settings` gives values.
        settings: {argument: value} for the {name}s of `what` and `fix`. The command line adds those that neither refers
            to: "leave it out" becomes "leave it out with --drop ph".
        within: the part of the data that this is about, such as a class; it begins the sentence.

    >>> what = "must be at most 8, the number of features"
    >>> print(OptionError(what, argument="n_components", value=12))
    n_components=12 must be at most 8, the number of features.
    >>> fix = {"fix": "leave it out: {drop}", "settings": {"drop": "ph"}}
    >>> print(DataError("column 'ph' has text", columns=["ph"], **fix))
    column 'ph' has text; leave it out: drop='ph'.
    """


class OptionError(EigenlensError, ValueError):
    """A parameter is outside its range, or does not fit the data."""


class DataError(EigenlensError, ValueError):
    """X cannot be used: it holds text, infinities or missing values, has no rows, …"""


class CategoryError(DataError, TypeError):
    """A value can be neither a number nor a category: a list, a dictionary, …"""


class MissingValues(DataError):
    """Rows have missing values, and the model needs complete rows."""


class SourceChanged(DataError):
    """A file vanished or changed between two passes over it."""


class ModelFileError(DataError):
    """A model file is truncated, altered, foreign or of a newer format."""


class ResourceError(EigenlensError, MemoryError):
    """The work needs more memory than it may take."""


class ClusterError(EigenlensError, RuntimeError):
    """A Dask cluster could not do the work: no worker is left, or a chunk failed on each that tried."""


class MissingExtra(EigenlensError, ImportError):
    """An optional library is needed and not installed.

    >>> raise MissingExtra("polars", extra="tables", need="reading tables from files")
    Traceback (most recent call last):
      ...
    eigenlens.errors.MissingExtra: reading tables from files needs polars: pip install 'eigenlens[tables]'
    """

    def __init__(self, library: str, *, extra: str, need: str) -> None:
        super().__init__(f"{need} needs {library}", fix=f"pip install 'eigenlens[{extra}]'")
        self.library, self.extra, self.need = library, extra, need

    def __str__(self) -> str:
        return ": ".join(self.phrased())

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(type(self), self.library, extra=self.extra, need=self.need), ()


class DataWarning(_Fields, UserWarning):
    """The rows can be used, but the answer deserves a second look (a constant column, …)."""


if TYPE_CHECKING:

    class ConvergenceWarning(_Fields, UserWarning):
        """An iteration stopped before its tolerance; the class itself is made by `_convergence_warning`."""


def count_empty_rows(n: int) -> str:
    """Return how many rows have no observed entry, in words.

    >>> count_empty_rows(1), count_empty_rows(2)
    ('1 row has no observed entry', '2 rows have no observed entry')
    """
    return f"{n} row{' has' if n == 1 else 's have'} no observed entry"


def warn_user(message: str | Warning, category: type[Warning] = DataWarning) -> None:
    """Warn at the line of the user's program that led here: the innermost outside this package and its helpers."""
    frame, level = sys._getframe(1), 2  # `warnings.warn` counts the frame of this function as 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _NOT_THE_USERS:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def recorded_warnings(function: Callable[..., Any], *arguments: Any) -> list[Warning]:
    """Return the warnings that a call gives, each once, instead of giving them.

    >>> recorded_warnings(warn_user, "a column is constant")
    [DataWarning('a column is constant.')]
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*arguments)
    found = {str(each.message): each.message for each in caught}
    return [each for each in found.values() if isinstance(each, Warning)]


_NOT_THE_USERS = frozenset({"eigenlens", "sklearn", "contextlib"})  # scikit-learn wraps methods and calls ours in turn


def __getattr__(name: str) -> Any:
    """Create `ConvergenceWarning` on first access, since importing its scikit-learn base class takes a second."""
    if name != "ConvergenceWarning":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = _convergence_warning()
    return globals()[name]


def _convergence_warning() -> type[Warning]:
    from sklearn import exceptions

    about = "An iteration stopped before its tolerance; the message has the shortfall and what to raise."
    bases = _Fields, exceptions.ConvergenceWarning
    return type("ConvergenceWarning", bases, {"__module__": __name__, "__doc__": about})
