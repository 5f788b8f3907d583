"""Reports: one self-contained HTML file of fitted models and their rows.

It opens on the plots of the model; what the rows are and how to make the report again is on the last page.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from eigenlens import __version__, checks
from eigenlens.arrays import Array, is_sparse
from eigenlens.catalogue import entry_of, import_part, page_of
from eigenlens.errors import OptionError
from eigenlens.file_replacement import replace_file
from eigenlens.reporting import code
from eigenlens.reporting.charts import Chart, PageContent, facts
from eigenlens.reporting.class_names import words_of_class
from eigenlens.reporting.inputs import check_models, report_table
from eigenlens.reporting.packing import fit_page, share_repeats
from eigenlens.reporting.page import render_page
from eigenlens.reporting.pages.overview import overview
from eigenlens.reporting.pages.reconstruction import row_images
from eigenlens.reporting.remarks import data_remarks, fit_remarks
from eigenlens.reporting.rows import ShownRows, make_shown_rows, matrix_words, no_rows, values_per_row
from eigenlens.tables.names import shorten
from eigenlens.tables.rows import max_rows, sample_rows
from eigenlens.tables.text_table import count_noun

MAX_WARNINGS = 20
"""The largest number of warnings on a page."""


def report(
    models: Any,
    X: Any,
    path: str | os.PathLike[str],
    y: Any = None,
    *,
    title: str = "Eigenlens report",
    ids: Iterable[Any] | None = None,
    columns: dict[str, Any] | None = None,
    sample_weight: Any = None,
    warnings: Mapping[str, Iterable[Any]] | None = None,
    decisions: Iterable[Any] | None = None,
    command: str = "",
    reading: str = "",
    random_state: Any = 0,
) -> Path:
    """Write a report of one fitted model, or several by name, on the rows of X, and return its path.

    The report has a page for each model, which opens on its plots. If there are several models, a first page shows the
        main plot of each. The last page describes the rows and has the script that makes the report again.

    Args:
        models: a fitted estimator, a list of them, or a dict from names to them; also the results of `compare` and
            `select_mixture`.
        X: the rows to show, usually those of the fit: of any kind, columns of text among them. A model takes the
            columns that it was fitted on. From more than 200,000 rows, or 20 million entries, a random sample is drawn
            in one pass, so that not all are kept in memory. None for models that were fitted to a covariance matrix:
            the page then shows what they say about the columns.
        path: the HTML file, written whole or not at all, below 10 MB whatever X is.
        y: (n,) the classes of the rows, for classifiers; if None, the first of `columns` that holds their classes.
        ids: (n,) names of rows. columns: {name: (n,)} more columns to colour by; the first of them does so when the
            page is opened, and few whole numbers are classes. Those, and columns of X that a PCA was not fitted on, are
            compared with its components: numbers by correlation, categories by the means of their rows.
        sample_weight: (n,) as in the fit; a row of weight 0 is supplementary.
        warnings: {name of a model: what its fit warned of}, for the top of its page; without them, those that can be
            derived from the model. decisions: what was decided about a file; without them, those of X if it is a scan.
        command: the command line that made it, if one did. reading: Python that reads X and what is given with it, so
            that the script in the report runs as it stands.
        random_state: the seed of the sample of rows, where there are too many to show.

    >>> import eigenlens, tempfile
    >>> food = eigenlens.datasets.load("uk-food")
    >>> target = Path(tempfile.mkdtemp()) / "food.html"
    >>> report(eigenlens.PCA(2).fit(food.data), food.data, target, ids=food.rows).name
    'food.html'
    """
    named, target = check_models(models), checks.target_file(path, make_folder=True)
    _check_given(columns, warnings, named, title=title, command=command, reading=reading)
    rows = _rows(named, X, y, ids, columns or {}, sample_weight, checks.generator(random_state))
    known = {str(name): list(map(str, texts)) for name, texts in (warnings or {}).items()}
    sheets = {name: _sheet(model, rows, known.get(name)) for name, model in named.items()}
    given = {"y": y, "ids": ids, "columns": columns or None, "sample_weight": sample_weight}
    python = _python(named, rows, target, given, title, reading, random_state)
    estimators = {name: model for name, model in named.items() if hasattr(model, "fit")}
    decided = getattr(X, "decisions", ()) if decisions is None else checks.listed("decisions", decisions)
    last = overview(rows, estimators, list(map(str, decided)), command, python, random_state)
    # A choice and its best mixture are about one model, which opens the report.
    several = len({id(getattr(model, "best", model)) for model in named.values()}) > 1
    pages, more = _pages(sheets, last, several), _columns(sheets)
    pictures = next(filter(None, (row_images(rows.of(model)) for model in estimators.values())), {})

    def whole(keep: Array | None) -> Chart:
        head = {"title": shorten(title, 300), "subtitle": _size(rows, estimators.values()), "version": __version__}
        return share_repeats(head | {"rows": rows.data(more, keep) | pictures, "pages": pages}, keep)

    text = fit_page(whole, len(rows.X), render_page, np.random.default_rng(0))
    target.parent.mkdir(parents=True, exist_ok=True)
    replace_file(target, text.encode("utf-8"))
    return target


def _check_given(columns: Any, warnings: Any, models: dict[str, Any], **texts: Any) -> None:
    for argument, value, fix in (
        ("columns", columns, "give {name: values} with one value per row"),
        ("warnings", warnings, "give {name of a model: texts}"),
    ):
        if value is not None and (not isinstance(value, Mapping) or is_sparse(value)):  # a dok_array is a dictionary
            raise OptionError(f"is a {type(value).__name__}", argument=argument, fix=fix)
    unknown = [name for name in warnings or {} if str(name) not in models]
    if unknown:
        what, fix = f"names {unknown[0]!r}, which is not among the models", f"their names are {list(models)}"
        raise OptionError(what, argument="warnings", fix=fix)
    for name, text in texts.items():
        if not isinstance(text, str):
            raise OptionError(f"is a {type(text).__name__}", argument=name, value=text, fix="give text")


def _python(
    models: dict[str, Any], rows: ShownRows, target: Path, given: dict[str, Any], title: str, reading: str, seed: Any
) -> str:
    """Return the script that makes the report again."""
    labels = _label_column(models, given["columns"] or {}, rows.total) if given["y"] is None else None
    return code.script(
        models, str(target), given={name: value is not None for name, value in given.items()}, title=title, seed=seed,
        shape=f"{rows.total or len(rows.names):,} × {len(rows.names):,}", covariance=not rows.total, names=rows.names,
        labels="y" if labels is None else f"columns[{labels!r}]", reading=reading,
    )  # fmt: skip


# ---- pages --------------------------------------------------------------------------------------------------


def _sheet(model: Any, rows: ShownRows, known: list[str] | None) -> PageContent:
    """Return the page of a model, with warnings at its top: those of its fit, of its rows, and of making the page."""
    checks.has_components(model)
    fitted = hasattr(model, "fit")
    own = rows.of(model) if fitted else rows
    with catch_warnings(record=True) as caught:
        simplefilter("always")
        made = import_part(page_of(model))(model, own)
    texts = known if known is not None else list(map(str, fit_remarks(model))) if fitted else []
    found = made if isinstance(made, PageContent) else PageContent(made, {})
    texts = [*texts, *(data_remarks(model, own, texts) if fitted else []), *found.warnings]
    texts = [*texts, *(str(each.message) for each in caught)]
    texts = [shorten(text, 600) for text in dict.fromkeys(texts)][:MAX_WARNINGS]
    return found._replace(charts=[facts("Warnings", warnings=texts), *found.charts]) if texts else found


def _size(rows: ShownRows, models: Iterable[Any]) -> str:
    """Return the number of rows and columns, or the matrix in their place, in words."""
    first: Any = next(iter(models), None)  # none of comparisons and choices
    if (entry := entry_of(first)) is not None and entry.genotypes:  # whose rows are scores by now
        return f"{rows.total:,} people, {count_noun(first.n_features_in_, 'variant')}"
    columns = count_noun(len(rows.names), "column")
    return f"{count_noun(rows.total, 'row')}, {columns}" if rows.total else matrix_words(first, columns)


def _pages(sheets: dict[str, PageContent], last: list[Chart], several: bool) -> list[Chart]:
    """Return the page of each model, before them the main plot of each if they are several, and the overview last."""
    pages = [_page(i, name, sheet) for i, (name, sheet) in enumerate(sheets.items())]
    if several:
        main = [_main_plot(page) for page in pages]
        pages.insert(0, {"id": "models", "title": "All models", "charts": main})
    return [*pages, {"id": "overview", "title": "Data and code", "charts": last}]


def _page(place: int, name: str, sheet: PageContent) -> Chart:
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in name.lower())[:40]
    return {
        "id": f"page-{place + 1}-{slug}",
        "title": shorten(words_of_class(name), 80) or "(no name)",
        "charts": sheet.charts,
    }


def _main_plot(page: Chart) -> Chart:
    """Return the first chart of a page that is not text, under the name of its model."""
    charts: list[Chart] = page["charts"]
    first = next((chart for chart in charts if chart["kind"] != "text"), charts[0])
    return first | {"title": f"{page['title']}: {first['title']}"}


def _columns(sheets: dict[str, PageContent]) -> dict[str, Any]:
    """Return the columns that pages made, by name; where several models differ, the model's name comes before it."""
    made: dict[str, dict[str, Any]] = {}
    for name, sheet in sheets.items():
        for column, values in sheet.columns.items():
            same = made.setdefault(column, {})
            if not any(np.array_equal(values, other) for other in same.values()):
                same[words_of_class(name)] = values
    return {
        column if len(same) == 1 else f"{name}: {column}": values
        for column, same in made.items()
        for name, values in same.items()
    }


# ---- rows ---------------------------------------------------------------------------------------------------


def _rows(
    models: dict[str, Any], X: Any, y: Any, ids: Any, columns: dict[str, Any], weight: Any, rng: np.random.Generator
) -> ShownRows:
    if X is None and all(hasattr(model, "fit_covariance") for model in models.values()):
        _reject_without_rows(y=y, ids=ids, columns=columns or None, sample_weight=weight)
        return no_rows(models.values())
    source = report_table(_score_genotypes(models, X))
    sample = sample_rows(source, max_rows(source.n_features), rng)
    n = sample.total
    labels, y = _labels(models, y, columns, n)
    weight = checks.weights(weight, n)
    names, named = _column_names(models, source)
    texts = {} if labels is None else {labels: [None if value is None else str(value) for value in y.tolist()]}
    more = (columns if labels in columns else texts | columns) | texts
    return make_shown_rows(sample, names, ids=ids, extra=more, y=y, weight=weight, named=named)


def _score_genotypes(models: dict[str, Any], X: Any) -> Any:
    """Return the scores of people in place of their genotypes, which are far too wide for a page; other rows as given.

    X: genotypes, their scores, or None for the people of the fit.
    """
    takers = [model for model in models.values() if (entry := entry_of(model)) is not None and entry.genotypes]
    if not takers:
        return X
    if len(models) > 1:
        what = "has components of genotypes and other models, which take other rows"
        raise OptionError(what, argument="models", fix="write one report for each")
    from eigenlens.genotypes.tables import genotype_scores  # which most reports do not need

    return genotype_scores(takers[0], X)


def _reject_without_rows(**given: Any) -> None:
    for argument, value in given.items():
        if value is not None:
            raise OptionError("has one entry per row, and X is None", argument=argument, fix="give the rows too")


def _column_names(models: dict[str, Any], source: Any) -> tuple[tuple[str, ...], bool]:
    """Return the column names of X, else of a fit to as many columns, else x0, x1, …, and whether they are real."""
    if source.names is not None:
        return tuple(map(str, source.names)), True
    for model in models.values():
        known = getattr(model, "feature_names_in_", None)
        if known is not None and len(known) == source.n_features:
            return tuple(map(str, known)), True
    return tuple(f"x{j}" for j in range(source.n_features)), False


def _labels(models: dict[str, Any], y: Any, columns: dict[str, Any], n: int) -> tuple[str | None, Any]:
    """Return the name under which classes colour the rows, and the classes (n,); None for both without any."""
    if y is None:
        found = _label_column(models, columns, n)
        return found, None if found is None else values_per_row(f"columns[{found!r}]", columns[found], n)
    same = next((name for name, values in columns.items() if values is y), None)
    if same is None:
        own = getattr(y, "name", None)
        same = str(own) if own is not None and str(own) not in columns else "class"
    return same, values_per_row("y", y, n)


def _label_column(models: dict[str, Any], columns: dict[str, Any], n: int) -> str | None:
    """Return the first column that holds only classes of the first classifier, or None."""
    classes = next((np.asarray(model.classes_) for model in models.values() if hasattr(model, "classes_")), None)
    if classes is None:
        return None
    from eigenlens.bayes.tables import class_codes

    for name, values in columns.items():
        if np.all(class_codes(classes, values_per_row(f"columns[{name!r}]", values, n)) >= 0):
            return name
    return None
