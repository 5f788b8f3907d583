"""Exit codes, and errors as the command line prints them: what is wrong, and what to type instead.

Errors have fields (`eigenlens.errors`): arguments of Python are written here as the flags of the command line.
"""

from __future__ import annotations

import errno
import inspect
import os
import re
import shlex
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

from eigenlens.catalogue import MODELS
from eigenlens.errors import EigenlensError, MissingValues, python_setting

EXIT_CODES = {
    "done": 0,
    "internal error": 1,
    "usage": 2,
    "data": 3,
    "not converged under --strict": 4,
    "missing extra": 5,
    "resources": 6,
    "interrupted": 130,
}
"""Exit codes by what they mean, as `--help` lists them."""

EXCEPTIONS = {
    "MissingExtra": "missing extra",
    "ResourceError": "resources",
    "MemoryError": "resources",
    "DataError": "data",
    "OptionError": "usage",
    "OSError": "data",
}
"""The kind of an exception, a key of `EXIT_CODES`, by the first of its classes that is named here."""


class OutputClosed(Exception):
    """The reader of our standard output has stopped, as `head` does: not an error."""


class Interrupted(Exception):
    """The user has interrupted the command."""


class CommandError(EigenlensError):
    """An error that only the command line raises; `kind`: a key of `EXIT_CODES`."""

    def __init__(self, what: str, fix: str = "", kind: str = "usage") -> None:
        super().__init__(what, fix=fix)
        self.kind = kind


def fail(what: str, fix: str = "", kind: str = "usage") -> NoReturn:
    """Raise a `CommandError`."""
    raise CommandError(what, fix, kind)


def exit_status(error: BaseException) -> tuple[int, str, str]:
    """Return the exit code, the message and the fix of an exception.

    >>> exit_status(CommandError("two outputs", "give one -o"))
    (2, 'two outputs', 'give one -o')
    >>> exit_status(MemoryError("too large"))
    (6, 'too large', 'raise --max-memory, use fewer rows or columns, or a machine with more memory')
    """
    if isinstance(error, CommandError):
        return EXIT_CODES[error.kind], *error.phrased(flag_setting, flag_name)
    if isinstance(error, OSError) and (error.errno in FULL_DISK or (error.strerror and error.filename)):
        return _system_error(error)
    kind = next((EXCEPTIONS[c.__name__] for c in type(error).__mro__ if c.__name__ in EXCEPTIONS), None)
    if kind is None:
        what = f"{type(error).__name__}: {message_line(error)}"
        return EXIT_CODES["internal error"], f"this is a fault in eigenlens, not in your data: {what}", REPORT_FAULT
    what, fix = phrase_with_flags(error) if isinstance(error, EigenlensError) else (message_line(error).rstrip("."), "")
    if isinstance(error, MissingValues):
        able = ", ".join(entry.command for entry in MODELS.values() if entry.incomplete)
        fix = f"--skip-missing leaves those rows out; pca takes them if fitted with --missing em, and so do {able}"
    return EXIT_CODES[kind], what, fix or DEFAULT_FIXES.get(kind, "")


def message_line(error: object) -> str:
    """Return the message of an exception or a warning on one line."""
    return " ".join(str(error).split()) or type(error).__name__


def warning_line(warning: object) -> str:
    """Return the message of a warning on one line, with the flags of the command line."""
    if not hasattr(warning, "phrased"):
        return message_line(warning)
    return "; ".join(filter(None, phrase_with_flags(warning))) + "."


def phrase_with_flags(error: Any) -> tuple[str, str]:
    """Return what is wrong and the way out, with flags and with models as `fit` calls them.

    Settings that no text refers to are added to the way out.
    """
    what, fix = (" ".join(text.split()) for text in error.phrased(flag_setting, flag_name))
    fix = USED_CLASS.sub(lambda found: f"use {MODELS[found[1]].command}", fix)
    added = [
        flag_setting(name, value)
        for name, value in error.settings.items()
        if f"{{{name}}}" not in error.what + error.fix
    ]
    return what, " ".join([fix, *(["with"] if added else []), *added])


USED_CLASS = re.compile(rf"\buse ({'|'.join(MODELS)})\b(?!\()")
"""An estimator that a way out names."""


def _system_error(error: OSError) -> tuple[int, str, str]:
    if error.errno in FULL_DISK:
        what = f"nothing more can be written: {os.strerror(error.errno).lower()}"
        return EXIT_CODES["resources"], what, "make room on that disk, or write to another one"
    what = f"'{error.filename}': {str(error.strerror).lower()}"
    forbidden = isinstance(error, PermissionError)
    look = "its permissions and those of its folder" if forbidden else "the path, and what is there,"
    return EXIT_CODES["data"], what, f"check {look} with ls -ld"


FULL_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
REPORT_FAULT = "report it with the command; EIGENLENS_TRACEBACK=1 shows where it happened"
DEFAULT_FIXES = {
    "resources": "raise --max-memory, use fewer rows or columns, or a machine with more memory",
    "data": "look at the file with eigenlens info",
}
"""The way out of errors that have none of their own, by kind."""


# ---- arguments of Python as flags ---------------------------------------------------------------------------

NOUNS = {"X": "the table", "y": "the label column", "path": "the file"}
"""Arguments that are not options of the command line, as a reader knows them there."""

FLAGS = {
    "n_components": "-k", "random_state": "--seed", "sample_weight": "--weight", "overwrite": "--force",
    "covariance_types": "--covariance",
}  # fmt: skip
"""Flags whose names differ from those of the arguments; those of models are in the catalogue."""

COLUMN_LISTS = frozenset({"columns", "drop", "active", "supplementary", "text", "dates", "ignore_case"})
"""Options that take several columns, separated by commas."""

SHARED_OPTIONS = frozenset({
    "columns", "drop", "active", "supplementary", "id", "label", "where", "na", "text", "separator", "header",
    "decimal", "thousands", "comment", "encoding", "dates", "skip", "footer", "max_ratio", "sheet", "transpose",
    "max_memory", "cv", "weight", "skip_missing", "header_rows", "fill_down", "escape_formulas", "checkpoint",
    "dataset", "ignore_case", "device", "port",
})  # fmt: skip
"""Arguments of Python that commands have as options of the same name."""


def flag_name(argument: str) -> str:
    """Return how the command line calls an argument of Python.

    >>> from eigenlens import GaussianMixture  # whose parameters are known once it is imported
    >>> [flag_name(name) for name in ("n_components", "covariance_type", "sample_weight", "max_iter", "X", "other")]
    ['-k', '--covariance', '--weight', '--set max_iter', 'the table', 'other']
    """
    option = next((o for entry in MODELS.values() for o, name in entry.options.items() if name == argument), argument)
    if argument in NOUNS or argument in FLAGS:
        return NOUNS.get(argument) or FLAGS[argument]
    if option != argument or argument in SHARED_OPTIONS or any(argument in entry.options for entry in MODELS.values()):
        return f"--{option.replace('_', '-')}"
    return f"--set {argument}" if argument in set(_parameters()) else argument


def _parameters() -> Iterator[str]:
    """Yield the parameters of the models that have been imported: an error is about one of these."""
    for entry in MODELS.values():
        module, _, name = entry.estimator.rpartition(".")
        if module in sys.modules:
            yield from inspect.signature(getattr(sys.modules[module], name)).parameters


def flag_setting(argument: str, value: Any) -> str:
    """Return an argument of Python and its value as they are typed on the command line; `...` is any value.

    >>> flag_setting("n_components", 3), flag_setting("na", ["?", "a b"]), flag_setting("header", False)
    ('-k 3', "--na '?' --na 'a b'", '--no-header')
    >>> flag_setting("drop", ["ph", "age"]), flag_setting("drop", ["x,y", "a b"])
    ('--drop ph,age', "--drop x,y --drop 'a b'")
    >>> flag_setting("label", ...), flag_setting("path", "a.csv"), flag_setting("other", 1)
    ('--label', "'a.csv'", 'other=1')
    """
    if argument == "path":
        return repr(str(value))
    flag = flag_name(argument)
    if flag in NOUNS.values() or not flag.startswith("-"):
        return python_setting(argument, value)
    if value is ... or value is True or value is None:
        return flag
    if value is False:
        return f"--no-{flag.removeprefix('--')}"
    sign = "=" if flag.startswith("--set ") else " "
    each = (value or [""]) if isinstance(value, list | tuple) else [value]  # an empty list replaces a default
    if argument in COLUMN_LISTS and not any(re.search(r"[,:@\s'\"]", str(one)) for one in each):
        each = [",".join(map(str, each))]
    return " ".join(f"{flag}{sign}{_quote(str(one))}" for one in each)


def _quote(word: str) -> str:
    """Return a word as it is typed; one without letters and digits in quotation marks, or it would look like prose."""
    return shlex.quote(word) if any(map(str.isalnum, word)) or "'" in word else f"'{word}'"
