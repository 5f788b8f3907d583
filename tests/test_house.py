"""The rules of the source tree: sizes, names that mean one thing, and the vocabulary of its prose."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "eigenlens"
MODULES = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}


@cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax tree of each module, read once and only where these tests run."""
    return {name: ast.parse(text) for name, text in MODULES.items()}


ROLES = {"__init__", "base", "estimator", "fit", "model", "options", "storage", "tables"}
"""Modules that every subject has."""

STEPS = {"binned", "em", "errors", "missing", "moments", "n_components", "newton", "rows", "starts"}
"""Modules that several subjects have for the same step: the package says of which model."""

NAMESAKES = {
    "covariance": "a solver of linalg, and the covariances of densities",
    "gram": "a solver of linalg, and the public function",
}
"""Modules that share a name with a module of another package, and why that is right."""

KINDS = {"commands", "families", "gpu", "kernels", "native", "pages", "structures", "src"}
"""Folders with one kind per module, which are called by their kind, as the subject of that name is."""

SHARED = {"plot", "commands"}
"""Packages whose functions have the names of the tables that they draw and the functions that they call."""

TWICE = {"pack_fit", "restore_fit", "load", "gram"}
"""Functions of a role; `eigenlens.load` for models beside `eigenlens.datasets.load` for examples; `eigenlens.gram`
beside the solver of that name, of which users know the name only."""

NOT_PARTICIPLES = {
    "binned", "fit_missing", "fitting", "missing", "packed", "packing", "precomputed", "predict_missing", "randomized",
    "resampling", "stored", "tied",
}  # fmt: skip
"""Words of the field, names of kinds, and verbs with their object."""

WORDS = {
    r"\bgaps?\b": "missing value",
    r"\bclimb\w*|\bcrawl\w*": "optimise, iterate, EM step",
    r"\b(?:told|said)\b": "reported, warned",
    r"\brefus\w+": "raise, reject",
    r"\blent\b|\bamends\b": "pooled variance, fallback",
    r"\bis no (?:number|name|model|column)\b": "is not a",
    r"\blikeliest\b|\bsurest\b|\bforemost\b": "most likely, most certain, largest",
    r"\brows that count\b": "rows with positive weight",
    r"\bthe gate\b": "validation, options",
    r"\bfaces? of\b": "scikit-learn estimator for",
    r"\bcolumns? of one value\b": "constant column",
    r"\bmarks? of missing\b": "missing-value markers",
    r"\b(?:one|one (?!is|in|on)\w+|number|value|entry|label) a (?:row|column|class|component|group|feature)\b": "per",
    r"\bpictures?\b": "plot, figure",
    r"\bat (?:most|least) so many\b|\b(?:up to|beyond|after) so many\b": "this many",
    r"\bas far as\b": "if, where, up to",
    r"\bstands? for\b": "means, represents",
    r"\b(?:is|are) not there\b|\bthat (?:is|are) there\b": "missing, absent, observed",
    r"\bbut for (?:rounding|an?|the) ": "up to, except",
    r"\bin the place of\b": "in place of",
    r"\bcounts? for nothing\b": "is ignored",
    r"\bheld at\b": "clamped at",
}
"""Patterns that the prose avoids, and the words of the field."""

LITERAL = ("spectral gap", "eigenvalue gap")
"""Terms of the field in which one of these words has its own sense."""


def code_lines(text: str) -> set[int]:
    """Return the numbers of lines that hold code: neither blank lines nor comments nor docstrings."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or 0) + 1))
    return lines


SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@cache
def code() -> dict[str, set[int]]:
    """Return the numbers of the lines of code of each module."""
    return {name: code_lines(text) for name, text in MODULES.items()}


def functions(tree: ast.Module):
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def docstrings(tree: ast.Module):
    """Yield (name, docstring) of a module, its classes and functions, and of documented constants."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "name", "module"), text


@cache
def prose() -> list[tuple[str, str]]:
    """Return (place, text) of all comments and of the strings that hold a sentence."""
    return [
        (f"{name}:{token.start[0]}", token.string)
        for name, text in MODULES.items()
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT or (token.type in STRINGS and " " in token.string)
    ]


@cache
def pages() -> list[tuple[str, str]]:
    """Return (place, text) of the lines of the documents, the gallery and the other scripts of the pages."""
    documents = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    documents += [path for kind in ("md", "rst", "py") for path in (ROOT / "docs").rglob(f"*.{kind}")]
    return [
        (f"{path.relative_to(ROOT)}:{number}", line)
        for path in sorted(documents)
        if not {"build", "generated"} & set(path.relative_to(ROOT).parts)
        for number, line in enumerate(path.read_text(encoding="utf-8").split(VOCABULARY)[0].splitlines(), start=1)
    ]


VOCABULARY = "## Vocabulary"
"""The heading in docs/notation.md below which the words to avoid are listed."""


@cache
def prose_of_tests() -> list[tuple[str, str]]:
    """Return (place, text) of the names and docstrings of the tests' functions, classes and modules."""
    return [
        (f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}", text)
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        for text in (getattr(node, "name", "").replace("_", " "), ast.get_docstring(node) or "")
    ]


STRINGS = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


def test_no_folder_has_more_than_twenty_modules():
    folders = defaultdict(list)
    for name in MODULES:
        folders[Path(name).parent.as_posix()].append(name)
    assert {folder: len(names) for folder, names in folders.items() if len(names) > 20} == {}


def test_no_module_has_more_than_300_lines_of_code():
    sizes = {name: len(lines) for name, lines in code().items()}
    assert {name: size for name, size in sizes.items() if size > 300} == {}


def test_no_function_has_more_than_30_lines_of_code():
    long = {
        f"{name}:{node.name}": size
        for name, tree in trees().items()
        for node in functions(tree)
        if (size := len(code()[name] & set(range(node.body[0].lineno, (node.end_lineno or 0) + 1)))) > 30
    }
    assert long == {}


def public_definitions():
    found = defaultdict(list)
    for name, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(name)
    return found


def test_a_public_name_is_defined_once():
    repeated = {}
    for name, homes in public_definitions().items():
        own = [home for home in homes if not SHARED & set(Path(home).parts)]
        if len(own) > 1 and name not in TWICE:
            repeated[name] = homes
    assert repeated == {}


def test_module_names_repeat_only_as_roles():
    homes = defaultdict(list)
    for name in MODULES:
        if not KINDS & set(Path(name).parts[:-1]):
            homes[Path(name).stem].append(name)
    assert {
        stem: names for stem, names in homes.items() if len(names) > 1 and stem not in ROLES | STEPS | set(NAMESAKES)
    } == {}


def test_modules_are_called_by_what_they_define():
    stems = {Path(name).stem for name in MODULES}
    participles = {stem for stem in stems if re.search(r"(ing|ed)$", stem)}
    assert participles - NOT_PARTICIPLES == set()


def test_docstrings_are_sentences():
    poor = []
    for name, tree in trees().items():
        for owner, text in docstrings(tree):
            first = text.split("\n")[0]
            if first.startswith("What ") or len(first.split()) < 3:
                poor.append(f"{name}:{owner}: {first}")
    assert poor == []


@pytest.mark.parametrize("texts", [prose, pages, prose_of_tests], ids=["source", "pages", "tests"])
def test_the_prose_uses_the_words_of_the_field(texts):
    found = [
        f"{place}: {text.strip()[:100]} (better: {better})"
        for pattern, better in WORDS.items()
        for place, text in texts()
        if re.search(pattern, re.sub("|".join(LITERAL), "", text), re.IGNORECASE)
    ]
    assert found == []


def test_private_names_stay_in_their_module():
    """An underscore marks a private name, so that no module needs a list of its public ones."""
    borrowed = [
        f"{name}:{node.lineno}: {alias.name}"
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("eigenlens.")
        for alias in node.names
        if alias.name.startswith("_") and not (ROOT / "src" / Path(*node.module.split("."))).is_dir()
    ]
    assert borrowed == []


def test_warnings_are_given_by_one_function():
    """`errors.warn_user` finds the user's line; a number of stack frames is wrong as soon as a function is added."""
    found = [
        f"{name}:{node.lineno}"
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn" and not name.endswith("errors.py")
    ]
    assert found == []
