"""From fitted models and their rows to one self-contained HTML file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from eigenlens import __version__, checks
from eigenlens.app.page import page
from eigenlens.app.report.charts import Chart
from eigenlens.app.report.compared import compared_page
from eigenlens.app.report.density import density_page
from eigenlens.app.report.kernel import kernel_page
from eigenlens.app.report.latent import latent_page
from eigenlens.app.report.overview import overview
from eigenlens.app.report.pca import pca_page
from eigenlens.app.report.rows import ShownRows, shown_rows
from eigenlens.errors import OptionError
from eigenlens.io import replace_file
from eigenlens.views.tables import dense_rows, names_of

__all__ = ["PAGES", "report"]

PAGES: dict[str, Callable[[Any, ShownRows], list[Chart]]] = {
    "PCA": pca_page,
    "KernelPCA": kernel_page,
    "ProbabilisticPCA": latent_page,
    "FactorAnalysis": latent_page,
    "KernelDensity": density_page,
    "Comparison": compared_page,
}
"""Pages by the class of the model: (fitted estimator, rows) → charts."""


def report(
    models: Any,
    X: Any,
    path: str | os.PathLike[str],
    *,
    title: str = "Eigenlens report",
    ids: Iterable[Any] | None = None,
    columns: dict[str, Any] | None = None,
    command: str = "",
    random_state: Any = 0,
) -> Path:
    """Write a report of one fitted model, or several by name, on the rows of X; the path.

    Args:
        models: a fitted estimator, a list of them, or a dict from names to them.
        X: the rows to show, usually those of the fit. ids: names of rows. columns: more columns to colour by.
        path: the HTML file, written whole or not at all. command: the command line that made it, if one did.
        random_state: of the sample of rows where there are too many to show.
    """
    named = _named(models)
    rows = _rows(next(iter(named.values())), X, ids, columns or {}, checks.generator(random_state))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        pages = [_page(name, model, rows) for name, model in named.items()]
    found = list(dict.fromkeys(str(each.message) for each in said))
    first = {
        "id": "overview",
        "title": "Overview",
        "charts": overview(rows, _estimators(named), found, command, _python(named, path)),
    }
    subtitle = f"{rows.total:,} rows, {len(rows.names):,} columns"
    whole = {
        "title": title,
        "subtitle": subtitle,
        "version": __version__,
        "rows": rows.data(),
        "pages": [first, *pages],
    }
    return _write(Path(path), page(whole))


def _named(models: Any) -> dict[str, Any]:
    """Models by name; those without one are called by their class."""
    if isinstance(models, dict):
        given = {str(name): model for name, model in models.items()}
    else:
        each = list(models) if isinstance(models, list | tuple) else [models]
        given = {type(model).__name__ + (f" {i}" if i > 1 else ""): model for i, model in enumerate(each, start=1)}
    if not given:
        raise OptionError("models is empty; give at least one fitted model.")
    for name, model in given.items():
        if type(model).__name__ not in PAGES:
            known = ", ".join(PAGES)
            raise OptionError(
                f"models[{name!r}] is a {type(model).__name__}, which has no page; those with one: {known}."
            )
    return given


def _estimators(models: dict[str, Any]) -> dict[str, Any]:
    """Those that were fitted to the rows; a comparison of several is none."""
    return {name: model for name, model in models.items() if hasattr(model, "fit")}


def _page(name: str, model: Any, rows: ShownRows) -> Chart:
    slug = "".join(c if c.isalnum() else "-" for c in name.lower())
    return {"id": f"page-{slug}", "title": name, "charts": PAGES[type(model).__name__](model, rows)}


def _rows(model: Any, X: Any, ids: Any, columns: dict[str, Any], rng: np.random.Generator) -> ShownRows:
    values = dense_rows(X)
    named = getattr(X, "columns", None)
    names = names_of(model, values.shape[1], None if named is None else [str(name) for name in named])
    return shown_rows(values, names, None if ids is None else list(ids), columns, rng)


def _python(models: dict[str, Any], path: str | os.PathLike[str]) -> str:
    """Lines of Python that make the same report."""
    lines = ["import eigenlens", ""]
    for name, model in models.items():
        made = f"{' '.join(repr(model).split())}.fit(X)" if hasattr(model, "fit") else "compare(models, X)"
        lines.append(f"{_variable(name)} = eigenlens.{made}")
    inside = ", ".join(f"{name!r}: {_variable(name)}" for name in models)
    return "\n".join([*lines, f"eigenlens.report({{{inside}}}, X, {Path(path).name!r})"])


def _variable(name: str) -> str:
    plain = "".join(c if c.isalnum() else "_" for c in name.lower())
    return plain if plain.isidentifier() else f"model_{plain}"


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, text.encode("utf-8"))
    return path
