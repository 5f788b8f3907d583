"""The ways out of an error, tried before they are printed: those that fail are left out, one that works is shown."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import fields
from difflib import get_close_matches
from typing import NamedTuple

from eigenlens.catalogue import MODELS
from eigenlens.cli.advice.suggested_fit import data_files, last_cells, open_profiles, suggest_fits
from eigenlens.cli.advice.trial import command_works, reads_standard_input, try_words
from eigenlens.cli.errors import DEFAULT_FIXES
from eigenlens.cli.files import free_name, is_model_file
from eigenlens.cli.model_options import ModelOptions
from eigenlens.cli.options import ReadingOptions, RunningOptions
from eigenlens.cli.output import drop_flags
from eigenlens.data.files.cell_formats.total_names import is_total
from eigenlens.data.files.scan import format_options

MAX_STEPS = 3
"""The most mistakes of one command line that are mended one after the other."""

GROUPS = (ReadingOptions, ModelOptions, RunningOptions)
REPEATED = {f"--{each.name.replace('_', '-')}" for each in fields(ReadingOptions) if "list" in str(each.type)}
SWITCHES = {f"--{each.name.replace('_', '-')}" for kind in GROUPS for each in fields(kind) if "bool" in str(each.type)}
SWITCHES |= {"--no-header", "--no-center", "--rows", "--strict"}

WAYS = re.compile(r"; |, or |(?:,| or) (?=add )")
"""What lies between two ways out."""

QUOTED = r"""'[^']*'|"[^"]*\""""
SETTING = re.compile(rf"""(?<!\S)(-k|--[a-z][a-z-]+)(?:[ ]((?:{QUOTED}|[^\s,;:'"]|,(?=[^\s,;:]))+))?""")
PROSE = re.compile(r"or|and|with|for|is|to|leaves?|takes?|…")
PLACEHOLDERS = {("--label", "COLUMN"), ("--n-samples", "N")}
"""Words after an option that are not its value. A column may be called N, and a marker DK."""


class Way(NamedTuple):
    """A way out of an error: its words, and the options that it sets, or that it leaves out."""

    text: str
    settings: tuple[tuple[str, str | None], ...]
    leaves_out: bool

    @property
    def complete(self) -> bool:
        """Whether it says everything that has to be typed."""
        return bool(self.settings) and all(
            v is not None or self.leaves_out or flag in SWITCHES for flag, v in self.settings
        )


def find_ways(fix: str) -> list[Way]:
    """Return the ways out that the text of a fix names.

    >>> [way.settings for way in find_ways("add --na n/a, or leave it out with --drop x; use -k 2 or less")]
    [(('--na', 'n/a'),), (('--drop', 'x'),), (('-k', '2'),)]
    >>> [way.complete for way in find_ways("leave out --strict, or name it with --id or --label")]
    [True, False]
    >>> find_ways("add --na DK --na 'no idea'")[0].settings
    (('--na', 'DK'), ('--na', 'no idea'))
    """
    found = []
    for text in WAYS.split(fix):
        pairs = [(flag, None if flag in SWITCHES else _value(flag, word)) for flag, word in SETTING.findall(text)]
        found.append(Way(text, tuple(pairs), "leave out -" in text))
    return found


def _value(flag: str, word: str) -> str | None:
    prose = not word or PROSE.fullmatch(word) or (flag, word) in PLACEHOLDERS
    return None if prose else "".join(shlex.split(word))


def mend(words: Sequence[str], way: Way) -> list[str]:
    """Return a command line with the options that a way out sets, or without those that it leaves out.

    >>> mend(["fit", "pca", "t.csv", "-k", "9"], find_ways("use -k 2 or less")[0])
    ['fit', 'pca', 't.csv', '-k', '2']
    >>> mend(["fit", "pca", "t.csv", "--active", "kind"], find_ways("leave it out with --drop kind")[0])
    ['fit', 'pca', 't.csv', '--drop', 'kind']
    """
    kept = list(words)
    for flag, value in way.settings:
        pairs = list(itertools.pairwise(kept))
        if flag == "--drop" and ("--active", value) in pairs:  # a column is not both left out and used
            place = pairs.index(("--active", str(value)))
            kept = kept[:place] + kept[place + 2 :]
        if flag not in REPEATED or way.leaves_out:
            kept = drop_flags(kept, flag) if flag in SWITCHES else drop_flags(kept, valued=flag)
        if not way.leaves_out and (flag, value) not in pairs:
            kept += [flag] if value is None else [flag, value]
    return kept


def check_fix(typed: Sequence[str], kind: str, what: str, fix: str) -> tuple[str, str | None]:
    """Return the ways out that work, or may, and a whole command that works; None without one.

    `kind`: that of the error, a key of `EXIT_CODES`; where the table is at fault, another model may suit it.
    """
    files = data_files(typed)
    if reads_standard_input(typed) or not files:
        return fix, None
    if fix.startswith("write: eigenlens "):
        command = fix.removeprefix("write: ")
        return fix, command if command_works(command) else None
    fix = _total_fix(files, fix) if kind == "data" else fix
    kept, commands = [], [] if (meant := _meant(typed, fix)) is None else [meant]
    for way in find_ways(fix):
        found = _try_way(typed, what, way) if way.complete else ()
        kept += [] if found is None else [way.text]
        commands += [shlex.join(["eigenlens", *found])] if found else []
    if not commands and kind == "data":
        others = [*_other_models(typed, what, fix), *suggest_fits(files)] if typed[0] == "fit" else []
        commands = list(itertools.islice(filter(command_works, [*others, *_able_models(typed, fix)]), 1))
    text = fix if len(kept) == len(find_ways(fix)) else ", or ".join(kept) or DEFAULT_FIXES["data"]
    return text, next(iter(commands), None)


def _total_fix(files: Sequence[str], fix: str) -> str:
    """Return a fix with the way that leaves out a last row of totals, where there is one."""
    cells = last_cells(files) if "footer" in format_options(files) else ()
    named = next((cell for cell in cells if is_total(cell)), None)
    return fix if named is None else f"leave out the last row, '{named}', by --footer 1, or {fix}"


def _meant(typed: Sequence[str], fix: str) -> str | None:
    """Return the command with the name that was meant instead of the one that was typed, where it works."""
    found = MEANT.match(fix)
    near = get_close_matches(found[1], typed, 1) if found else []
    command = shlex.join(["eigenlens", *(found[1] if word in near else word for word in typed)]) if found else ""
    return command if near and command_works(command) else None


MEANT = re.compile("did you mean '([^']+)'")


def _other_models(typed: Sequence[str], what: str, fix: str) -> list[str]:
    """Return the command with the model that the way out names, and with that for one column, where one is chosen."""
    if typed[1].startswith("-"):
        return []
    named = [model for model in USED.findall(fix) if model in {entry.command for entry in MODELS.values()}]
    found = [["eigenlens", "fit", model, *typed[2:]] for model in named]
    if "1 feature" in what:
        rest = drop_flags(typed[2:], "--standardize", "--whiten", valued="-k")
        found.append(["eigenlens", "fit", "kde", *rest])
    return list(map(shlex.join, found))


USED = re.compile(r"\buse ([a-z]+)\b")
"""A model that a way out names."""


def _able_models(typed: Sequence[str], fix: str) -> list[str]:
    """Return commands that fit the models that a way out names to the rows of a command.

    `fix`: "fit" and names of models. Where a label is typed, classifiers come first.
    """
    if not ABLE.fullmatch(fix):
        return []
    able = [entry for entry in MODELS.values() if entry.command in re.findall("[a-z]+", fix)[1:]]
    able.sort(key=lambda entry: "--label" in typed and not entry.classes)
    words = drop_flags(drop_flags(typed[1:], "--std", "--proba", "--force", valued="-o"), valued="--output")
    rows = [word for word in words if not is_model_file(word)]
    return [
        shlex.join(["eigenlens", "fit", each.command, *rows, "-o", free_name(f"{each.command}.safetensors")])
        for each in able
    ]


ABLE = re.compile(r"fit ([a-z]+, )*[a-z]+( or [a-z]+)?")
"""Models that can do what a fitted one cannot."""


def _try_way(typed: Sequence[str], what: str, way: Way, steps: int = MAX_STEPS) -> list[str] | None:
    """Return the words of a command that a way out leads to; [] where another mistake remains, None for nonsense."""
    words = mend(typed, way)
    if words == list(typed) or not _is_sensible(words, way):
        return None
    if "--max-ratio" in words:
        return []  # what may be a decompression bomb is not read to see whether it is one
    found = try_words(words)
    if found.works:
        return words
    if found.what == what or NOTHING_LEFT in found.what:
        return None
    return next(_go_on(words, found.what, found.fix, steps), [])


NOTHING_LEFT = "no column is left"


def _go_on(words: Sequence[str], what: str, fix: str, steps: int) -> Iterator[list[str]]:
    """Yield the commands that the ways out of the next error lead to."""
    for way in find_ways(fix) if steps > 1 else ():
        found = _try_way(words, what, way, steps - 1) if way.complete else None
        if found:
            yield found


def _is_sensible(words: Sequence[str], way: Way) -> bool:
    """Return whether markers of missing values are marks among numbers, rather than classes, names or totals."""
    marks = {value for flag, value in way.settings if flag == "--na"}
    if not marks:
        return True
    known = {mark for column in open_profiles(data_files(words)) for mark in column.perhaps_missing}
    return any(mark in known for mark in marks)
