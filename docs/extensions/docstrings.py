"""Docstrings as the package writes them, as reStructuredText.

`name` is code; sections ("Parameters:", "Attributes:", "Example:", …) are a word and a colon above indented lines; an
indented paragraph is shown as it is written. Everything else is text, in which *, | and a trailing _ mean themselves.
"""

from __future__ import annotations

import re
import textwrap
from typing import Any

SECTION = re.compile(r"^([A-Z][A-Za-z ]{2,24}):$")
FIELD = re.compile(r"^([^\s:`(][^:`(]*?|`[^`]+`): +(\S.*)$")
NEXT_FIELD = re.compile(r"(?<=\.)\s+(?=[a-z]\w*(?:, [a-z]\w*)*: )")
FIELDS = {"Parameters", "Attributes", "Args", "Arguments", "Options", "Fields", "Keywords"}


def to_rest(text: str) -> list[str]:
    """The lines of a docstring, dedented, as reStructuredText."""
    found: list[str] = []
    for paragraph in paragraphs(text):
        found += [*_converted(paragraph), ""]
    return found


def paragraphs(text: str) -> list[list[str]]:
    """Runs of lines: a section keeps its indented lines, blank ones among them."""
    found: list[list[str]] = [[]]
    inside = False
    for line in textwrap.dedent(text).strip("\n").split("\n"):
        if inside and (not line.strip() or line.startswith(" ")):
            found[-1].append(line)
            continue
        left, inside = inside, bool(SECTION.match(line))
        if inside or left:
            found.append([line])
        elif line.strip():
            found[-1].append(line)
        else:
            found.append([])
    return [part for part in found if any(line.strip() for line in part)]


def _converted(lines: list[str]) -> list[str]:
    section = SECTION.match(lines[0])
    if section and len(lines) > 1:
        return _section(section[1], textwrap.dedent("\n".join(lines[1:])).strip("\n"))
    if lines[0].lstrip().startswith(">>>"):
        return lines
    if all(line.startswith(" ") for line in lines):
        return ["::", "", *(f"    {line}" for line in lines)]
    if any(line.startswith("  ") for line in lines):
        return _hanging(lines)
    return [escaped(line) for line in lines]


def _hanging(lines: list[str]) -> list[str]:
    """Text, then indented lines that belong to it: a list is a list, anything else is shown as it is written."""
    first = next(i for i, line in enumerate(lines) if line.startswith("  "))
    if re.match(r"^([-*•]|\d+\.) ", lines[first - 1]):
        return [escaped(line) for line in lines]
    after = [line for line in lines[first:] if line.startswith("  ")]
    rest = lines[first + len(after) :]
    shown = [f"    {line}" for line in textwrap.dedent("\n".join(after)).split("\n")]
    return [*map(escaped, lines[:first]), "", "::", "", *shown, "", *(_converted(rest) if rest else [])]


def _section(name: str, body: str) -> list[str]:
    head = [f".. rubric:: {name}", "", ""]
    if name not in FIELDS:
        return head[:2] + to_rest(body)
    return [*head, *_fields(body)]


def _fields(body: str) -> list[str]:
    """name: text, with continuation lines indented. A sentence that begins with "name:" is a field of its own."""
    found: list[str] = []
    for line in re.sub(NEXT_FIELD, "\n", body).split("\n"):
        match = FIELD.match(line)
        if match:
            found += ["", f"``{match[1].strip('`')}``", f"    {escaped(match[2])}"]
        elif line.startswith(" "):
            found.append(f"    {escaped(line.strip())}")
        elif line.strip():
            found += [f"    {escaped(line)}" if found else escaped(line)]
    return [*found, ""]


def escaped(line: str) -> str:
    """One line of text: code in double backticks, no other markup."""
    parts = re.split(r"(``[^`]+``|`[^`]+`)", line)
    return "".join(_code(part) if part.startswith("`") else _plain(part) for part in parts)


def _code(part: str) -> str:
    return f"``{part.strip('`')}``"


def _plain(part: str) -> str:
    part = part.replace("\\", "\\\\").replace("*", "\\*").replace("|", "\\|").replace("`", "\\`")
    return re.sub(r"(?<=\w)_(?=\W|$)", r"\\_", part)


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Only our own docstrings; those of modules are shown by pages of their own."""
    lines[:] = to_rest("\n".join(lines))


def skip(app: Any, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """What comes from scikit-learn is documented there; what has no docstring is not for users."""
    function = getattr(obj, "fget", None) or getattr(obj, "__func__", obj)
    module = getattr(function, "__module__", "") or ""
    inherited = module.startswith(("sklearn", "enum", "builtins")) or getattr(obj, "__objclass__", None) in (
        tuple,
        object,
    )
    text = getattr(obj, "__doc__", None) or ""
    if inherited or not text or text.startswith("Alias for field number"):
        return True
    return None


def setup(app: Any) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", process)
    app.connect("autodoc-skip-member", skip)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
