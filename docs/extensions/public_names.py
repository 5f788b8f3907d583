"""The reference: a page for each estimator, and one for each group of functions, from the package's own lists."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import eigenlens
from docstrings import escaped
from eigenlens.catalogue import MODELS

ESTIMATORS = {
    group: tuple(name for name, entry in MODELS.items() if entry.group == group)
    for group in dict.fromkeys(entry.group for entry in MODELS.values())
}
GROUPS = {
    "rows": (
        "Rows",
        "Where rows come from: tables in memory, files, and sources of your own.",
        ("scan", "Source", "accumulate", "fitting"),
    ),
    "choosing": (
        "Choosing",
        "How many components, which structure, how wide, and is a model better than another.",
        ("select_components", "select_mixture", "bandwidth", "compare", "kmo", "bartlett_sphericity", "cronbach_alpha"),
    ),
    "keeping": ("Keeping and showing", "Files of models, reports, versions.", ("load", "report", "show_versions")),
    "errors": (
        "Errors and warnings",
        "All derive from `EigenlensError`, and name the argument, the value, the bound and the way out.",
        ("EigenlensError", "OptionError", "DataError", "DataWarning", "ConvergenceWarning"),
    ),
}
MODULES = {
    "densities": "Densities with a closed form: frozen values, built by hand or by `fit`.",
    "plot": "Plots of fitted models. Each function returns the matplotlib Axes it drew on.",
    "datasets": "The embedded examples.",
    "textbook": "Algorithms as they are taught, step by step: the power method, and EM for probabilistic PCA.",
}


def pages() -> dict[str, str]:
    """Every file of the reference by name."""
    found = {f"reference/{name}.rst": _class_page(name) for names in ESTIMATORS.values() for name in names}
    for slug, (title, about, names) in groups().items():
        found[f"reference/{slug}.rst"] = _title(title) + f"{escaped(about)}\n\n" + _all("eigenlens", names)
    for name, about in MODULES.items():
        public = importlib.import_module(f"eigenlens.{name}").__all__
        members = _all(f"eigenlens.{name}", [each for each in public if not each.isupper()])
        extra = _examples() if name == "datasets" else ""
        found[f"reference/{name}.rst"] = _title(f"eigenlens.{name}") + f"{escaped(about)}\n\n{extra}{members}"
    found["reference-index.rst"] = _index()
    return found


def groups() -> dict[str, tuple[str, str, tuple[str, ...]]]:
    """GROUPS, with public names that nobody has grouped among the functions for keeping."""
    known = {name for names in ESTIMATORS.values() for name in names} | set(MODULES)
    known |= {name for _, _, names in GROUPS.values() for name in names}
    errors = sorted(name for name in _errors() if name not in known)
    rest = [name for name in eigenlens.__all__ if name not in known and name not in errors]
    found = dict(GROUPS)
    found["errors"] = (*GROUPS["errors"][:2], (*GROUPS["errors"][2], *(n for n in errors if n in eigenlens.__all__)))
    if rest:
        found["more"] = ("More", "Other public names.", tuple(rest))
    return found


def _errors() -> list[str]:
    return list(importlib.import_module("eigenlens.errors").__all__)


def _title(text: str) -> str:
    return f"{text}\n{'=' * len(text)}\n\n"


def _class_page(name: str) -> str:
    return _title(name) + _entry("eigenlens", name)


def _all(module: str, names: Any) -> str:
    return "\n".join(_entry(module, name) for name in names)


def _entry(module: str, name: str) -> str:
    found = getattr(importlib.import_module(module), name)
    if not inspect.isclass(found):
        return f".. autofunction:: {module}.{name}\n"
    if issubclass(found, BaseException):
        return f".. autoexception:: {module}.{name}\n   :no-members:\n"
    return f".. autoclass:: {module}.{name}\n   :members:\n   :inherited-members:\n"


def _examples() -> str:
    """The table of embedded data sets: name, shape, what it is. The search finds the names."""
    from eigenlens.data.examples import EXAMPLES

    lines = [f".. index:: {', '.join(f'! {name}' for name in EXAMPLES)}", "", ".. list-table::", "   :header-rows: 1"]
    lines += ["", "   * - name", "     - rows × columns", "     - what it is"]
    for name in EXAMPLES:
        example = eigenlens.datasets.load(name)
        n, d = example.data.shape
        lines += [f"   * - ``{name}``", f"     - {n:,} × {d:,}", f"     - {escaped(example.about)}"]
    return "\n".join(lines) + "\n\n"


def _index() -> str:
    """Tables of names with their first sentence, and the tree of pages."""
    parts, order = [], []
    for title, names in ESTIMATORS.items():
        parts += [f"**{title}**", "", *_table([(name, name) for name in names]), ""]
        order += names
    for slug, (title, _, names) in groups().items():
        parts += [f"**{title}**", "", *_table([(name, slug) for name in names]), ""]
        order.append(slug)
    for name, about in MODULES.items():
        parts += [f"**eigenlens.{name}**", "", f":doc:`/generated/reference/{name}`: {escaped(about)}", ""]
        order.append(name)
    tree = ["", ".. toctree::", "   :hidden:", "", *(f"   /generated/reference/{name}" for name in order)]
    return "\n".join([*parts, *tree]) + "\n"


def _table(rows: list[tuple[str, str]]) -> list[str]:
    lines = [".. list-table::", "   :widths: 30 70", "   :class: reference-table", ""]
    for name, page in rows:
        about = (inspect.getdoc(getattr(eigenlens, name)) or "").split("\n\n")[0].replace("\n", " ")
        link = f":doc:`{name} </generated/reference/{page}>`"
        lines += [f"   * - {link}", f"     - {escaped(about)}"]
    return lines
