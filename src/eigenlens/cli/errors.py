"""Exit codes, and errors as the command line says them: what is wrong, and what to type instead."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
from typing import Any, NoReturn

from eigenlens.errors import EigenlensError, python_setting

__all__ = [
    "CODES",
    "CommandError",
    "ReaderGone",
    "Stopped",
    "advised",
    "explained",
    "in_flags",
    "refuse",
]

CODES = {
    "done": 0, "fault": 1, "usage": 2, "data": 3, "not-converged": 4, "extra": 5, "resources": 6, "interrupted": 130,
}  # fmt: skip
"""Exit codes by what they mean."""

KINDS = {
    "MissingExtra": "extra",
    "ResourceError": "resources",
    "MemoryError": "resources",
    "DataError": "data",
    "OptionError": "usage",
    "OSError": "data",
}
"""What an exception means, by the first of its classes that is named here."""


class ReaderGone(Exception):
    """Whoever read our standard output has stopped, as `head` does: no fault of anybody."""


class Stopped(Exception):
    """The user has interrupted the command."""


class CommandError(Exception):
    """Something that the command line itself refuses: what is wrong, the way out, and what kind of trouble it is."""

    def __init__(self, message: str, fix: str = "", kind: str = "usage") -> None:
        super().__init__(message)
        self.fix, self.kind = fix, kind


def refuse(message: str, fix: str = "", kind: str = "usage") -> NoReturn:
    """Raise a `CommandError`."""
    raise CommandError(message, fix, kind)


def explained(error: BaseException) -> tuple[int, str, str]:
    """The exit code, the message and the fix of an exception.

    >>> explained(CommandError("two outputs", "give one -o"))
    (2, 'two outputs', 'give one -o')
    >>> explained(MemoryError("too large"))
    (6, 'too large', 'raise --max-memory, use fewer rows or columns, or a machine with more memory')
    """
    if isinstance(error, CommandError):
        return CODES[error.kind], str(error), error.fix
    if isinstance(error, OSError) and error.errno in FULL:
        return CODES["resources"], f"nothing more can be written: {os.strerror(error.errno).lower()}", FULL_FIX
    if isinstance(error, PermissionError):
        return CODES["data"], _said(error), "check its permissions and those of its folder with ls -ld"
    if isinstance(error, OSError) and error.strerror and error.filename:
        return CODES["data"], _said(error), "check the path, and what is there, with ls -ld"
    kind = next((KINDS[c.__name__] for c in type(error).__mro__ if c.__name__ in KINDS), None)
    if kind is None:
        what = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return CODES["fault"], f"this is a fault in eigenlens, not in your data: {what}", FAULT
    message, fix = _phrased(error)
    return CODES[kind], message, fix or FIXES.get(kind, "")


def _phrased(error: BaseException) -> tuple[str, str]:
    if isinstance(error, EigenlensError) and (error.argument or error.fix or error.settings):
        return error.phrased(flag_setting)
    return advised(*_split(in_flags(_said(error))))


def flag_setting(argument: str, value: Any) -> str:
    """Return an argument of Python and its value as they are typed on the command line.

    >>> flag_setting("n_components", 3), flag_setting("drop", ["ph", "a b"]), flag_setting("max_iter", 500)
    ('-k 3', "--drop ph --drop 'a b'", '--set max_iter=500')
    """
    if argument in BARE:
        return repr(value) if value is not None else BARE[argument]
    option = OPTIONS.get(argument, argument if argument in SAME.split("|") else None)
    if option is None:
        return python_setting(argument, value) if value is None else f"--set {argument}={value}"
    flag = "-k" if option == "k" else f"--{option}"
    if value is None or value is True or value is ...:
        return flag
    if value is False:
        return f"--no-{option}"
    return " ".join(f"{flag} {shlex.quote(str(each))}" for each in (value if isinstance(value, list) else [value]))


OPTIONS = {
    "n_components": "k", "max_memory": "max-memory", "random_state": "seed", "covariance_type": "covariance",
    "n_landmarks": "landmarks", "n_factors": "factors", "sample_weight": "weight", "overwrite": "force",
}  # fmt: skip
"""Options of the command line by the parameter of Python, where the two names differ."""
BARE = {"X": "the table", "y": "the label column", "path": "the path"}

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
FULL_FIX = "make room on that disk, or write to another one"
FAULT = "report it with the command; EIGENLENS_TRACEBACK=1 shows where it happened"
FIXES = {
    "resources": "raise --max-memory, use fewer rows or columns, or a machine with more memory",
    "data": "look at the file with eigenlens info",
}


def _said(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"'{error.filename}': {error.strerror.lower()}"
    return " ".join(str(error).split()) or type(error).__name__


# ---- the library speaks Python; here its advice becomes flags ----------------------------------------------

SAME = (
    "columns|drop|id|label|solver|kernel|gamma|rotation|bandwidth|cv|missing|approximation|preimage|smoothing|shrinkage|"
    "degree|density|standardize|whiten|adaptive|encoding|na|text|header|separator|decimal|thousands|comment|prior"
)
"""Parameters whose options have the same name."""

WORDS: list[tuple[str, str]] = [
    (r"convert it to text \(astype\(str\)\), or read it as such: scan\(…, text=\[…\]\)",
     "write it as text, or in CSV name it with --text"),
    (r"leave it out \(of a scan by id= or drop=\)", "leave it out with --drop or --id"),
    (r"column '([^']*)' of X has no observed entry \(NaN in every row\)([:;.]) [Ll]eave it out",
     "column '\\1' has no entry in any row\\2 leave it out with drop=[\"\\1\"]"),
    (r"holds (?:dates or times \()?(?:Datetime|Time|Duration)\([^)]*\)\)?", "holds dates or times"),
    (r"\b1 entries\b", "1 entry"),
    (r"pass (--na .*) if that means missing, or leave it out with (--drop .*), id= or label=",
     r"add \1, or leave it out with \2"),
    (r"leave it out with (--drop .*), id= or label=", r"leave it out with \1, or name it with --id or --label"),
    (r"pass header=False if it is a row, header=True if these are names",
     r"add --no-header if it is a row, --header if these are names"),
    (r"PCA\(missing='em'\) can fit and transform such rows", "or fit with --missing em"),
    (r"leave those rows or columns out, or impute them; or fit", "--skip-missing leaves those rows out, or fit"),
    (r"leave those rows out or replace the values", "leave those rows out with --where, or mend the file"),
    (r"is not known; did you mean ('[^']*')\? Known: (.*)\.", r"is not known: use \1, or another of \2."),
    (r"is not known\. Known: (.*)\.", r"is not known: use one of \1."),
    (r"cannot be read: (.*)\. Write it again, or check its suffix",
     r"cannot be read (\1): write it again, or check its suffix"),
    (r"leave out encoding:", "leave out --encoding,"),
    (r"\bn_components=", "-k "),
    (r"\bmax_memory=", "--max-memory "),
    (r"\bmax_memory\b", "--max-memory"),
    (r"\brandom_state=", "--seed "),
    (r"\bcovariance_types?=", "--covariance "),
    (r"the files of one scan need", "files that are read together need"),
    (r"\bsample_weight\b", "--weight"),
    (r"\bmax_iter=(\S+)", r"--set max_iter=\1"),
    (r"pass overwrite=True", "pass --force"),
    (r"^Input X contains", "the rows contain"),
    (r"^X has (\d+) features, but (\w+) is expecting (\d+) features as input\.?",
     r"the table has \1 columns, and the \2 was fitted to \3: choose those it was fitted to with --columns or --drop"),
    (r"^X has", "the table has"),
    (r"^y has", "the label column has"),
    (r"^n_samples=1:", "the table has 1 row:"),
    (r"\bn_samples ?= ?1\b", "1 row"),
    (r"\bn_samples ?= ?(\d+)", r"\1 rows"),
    (r"\bn_landmarks=", "--landmarks "),
    (r"\bn_factors=", "--factors "),
    (r"\bpath='([^']*)'", r"'\1'"),
    (rf"\b({SAME})=(?=['\d-])", r"--\1 "),
]  # fmt: skip
"""From what the library calls things to what the command line does: patterns and their replacements, in order."""


def in_flags(text: str) -> str:
    """What the library says, with options of the command line for parameters of Python."""
    for pattern, replacement in WORDS:
        text = re.sub(pattern, replacement, re.sub(LISTED, _listed, text))
    return text


LISTED = re.compile(r'\b(na|drop|text)=(\[("([^"\\]|\\.)*"(, )?)+\])')
"""Columns or texts as Python lists them."""


def _listed(found: re.Match[str]) -> str:
    """na=["n/a", "-"] as it is typed: --na n/a --na -."""
    values = json.loads(found[2])
    typed = [shlex.quote(value) if re.search(r"[^\w./-]", value) or not value else value for value in values]
    return " ".join(f"--{found[1]} {value}" for value in typed)


def _split(text: str) -> tuple[str, str]:
    """What is wrong, and the way out that follows the last colon or semicolon outside quotes and brackets.

    >>> _split("'a.csv' is empty (0 bytes): write it again, or leave it out.")
    ("'a.csv' is empty (0 bytes)", 'write it again, or leave it out')
    """
    cut, depth, quoted = 0, 0, False
    for i, c in enumerate(text):
        quoted ^= c == "'" and (quoted or i == 0 or not text[i - 1].isalnum())
        depth += (c in "([{") - (c in ")]}")
        if c in ":;" and text[i + 1 : i + 2] == " " and depth == 0 and not quoted and i:
            cut = i
    if not cut:
        return text.rstrip("."), ""
    return text[:cut], text[cut + 1 :].strip().rstrip(".")


def advised(message: str, fix: str) -> tuple[str, str]:
    """An error with the way out that its value suggests: the bound it passed.

    >>> advised("-k 7 must be at most 3, the number of features", "")[1]
    'use -k 3 or less'
    """
    bound = re.match(r"(--?[\w-]+) \S+ must be at (most|least) (\d[\d.]*\d|\d)(?![\d.]*\w)", message)
    if bound and not fix:
        return message, f"use {bound[1]} {bound[3]} or {'less' if bound[2] == 'most' else 'more'}"
    return message, fix
