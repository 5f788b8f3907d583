"""Docstrings as the package writes them, as reStructuredText.

`name` is code; sections ("Parameters:", "Attributes:", "Example:", …) are a word and a colon above indented lines; an
indented paragraph is shown as it is written. Everything else is text, in which *, | and a trailing _ mean themselves.
Examples begin with the imports that their docstring leaves out, so that what a reader copies works.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import functools
import importlib
import inspect
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from sklearn.base import BaseEstimator

SECTION = re.compile(r"^([A-Z][A-Za-z ]{2,24}):$")
FIELD = re.compile(r"^([^\s:`(][^:`(]*?|`[^`]+`): +(\S.*)$")
NEXT_FIELD = re.compile(r"(?<=\.)\s+(?=[a-z]\w*(?:, [a-z]\w*)*: )")
MODULES = ("eigenlens", "eigenlens.densities", "eigenlens.datasets", "eigenlens.textbook")
"""Where names of examples come from; the first module that has a name is the one it is imported from."""
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
    head = [f".. rubric:: {'Parameters' if name == 'Args' else name}", "", ""]
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


def with_imports(text: str) -> str:
    """Return a docstring whose first example is preceded by imports of the names that its examples do not make."""
    unknown = unbound([example.source for example in doctest.DocTestParser().get_examples(text)])
    by_module = defaultdict(list)
    for name in sorted(unknown & public_names().keys()):
        by_module[public_names()[name]].append(name)
    lines = ["import numpy as np"] if "np" in unknown else []
    lines += ["from pathlib import Path"] if "Path" in unknown else []
    lines += [f"from {module} import {', '.join(names)}" for module, names in sorted(by_module.items())]
    return re.sub(r"^( *)(?=>>> )", lambda indent: "".join(f"{indent[1]}>>> {line}\n" for line in lines) + indent[1],
                  text, count=1, flags=re.MULTILINE)  # fmt: skip


def unbound(blocks: Iterable[str]) -> set[str]:
    """Names that a block reads before this or an earlier block has bound them, anywhere in it."""
    known, unknown = {*dir(builtins), "__name__"}, set()
    for block in blocks:
        nodes = list(ast.walk(ast.parse(block)))
        names = [node for node in nodes if isinstance(node, ast.Name)]
        known |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
        known |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        known |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        known |= {(node.asname or node.name).split(".")[0] for node in nodes if isinstance(node, ast.alias)}
        unknown |= {node.id for node in names} - known
    return unknown


@functools.cache
def public_names() -> dict[str, str]:
    """The module that each public name is imported from."""
    return {name: module for module in reversed(MODULES) for name in importlib.import_module(module).__all__}


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Only our own docstrings; those of modules are shown by pages of their own."""
    lines[:] = to_rest(with_imports("\n".join(lines)))


def signature(app: Any, what: str, name: str, obj: Any, options: Any, text: str, returned: str) -> Any:
    """Estimators are called as their `__init__` says; autodoc would show their common `__new__`."""
    if what != "class" or not issubclass(obj, BaseEstimator):
        return None
    from sphinx.util.inspect import stringify_signature  # the tests of this file's text need no Sphinx

    return stringify_signature(inspect.signature(obj), show_annotation=False, show_return_annotation=False), None


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
    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-skip-member", skip)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
