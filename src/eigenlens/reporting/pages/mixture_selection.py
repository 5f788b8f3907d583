"""The page of a choice among mixtures: the criteria of all, then the charts of the best."""

from __future__ import annotations

from eigenlens.mixture.select import MixtureSelection
from eigenlens.reporting.charts import Chart, PageContent, facts
from eigenlens.reporting.pages.latent_classes import latent_class_charts
from eigenlens.reporting.pages.mixture import mixture_charts
from eigenlens.reporting.pages.selection_criteria import CRITERION_TITLES, criteria
from eigenlens.reporting.rows import ShownRows
from eigenlens.tables.text_table import count_noun

BEST_CHARTS = {"GaussianMixture": mixture_charts, "MixtureModel": latent_class_charts}
"""The charts of the best mixture, by the name of its class."""


def selection_page(found: MixtureSelection, rows: ShownRows) -> PageContent:
    """Return the curve of the criterion, the best mixture on the rows, the other criteria, and the facts."""
    charts = criteria(found)
    if found.best is None:
        return PageContent([*charts, _selection_facts(found)], {}, _remarks(found))
    best = BEST_CHARTS[type(found.best).__name__](found.best, rows.of(found.best))
    main, *others, about = best.charts
    name = f"{count_noun(found.components[0], 'component')}, {found.types[0]}"
    first, *curves = sorted(charts, key=lambda chart: not chart["title"].startswith(CRITERION_TITLES[found.criterion]))
    whole = [first, main | {"title": f"The best: {name}"}, *curves, *others, about | {"title": f"The best: {name}"}]
    return PageContent([*whole, _selection_facts(found)], best.columns, _remarks(found))


def _selection_facts(found: MixtureSelection) -> Chart:
    sizes = [count_noun(k, "component") for k in found.components]
    best = f"{sizes[0]}, {found.title_of_types} {found.types[0]}" if found.best else "none: all failed"
    pairs = [
        ("mixtures compared", len(found.types)),
        ("criterion", CRITERION_TITLES[found.criterion]),
        ("best", best),
    ]
    return facts("The comparison", pairs)


def _remarks(found: MixtureSelection) -> list[str]:
    """Return what the fit of the best mixture warned of; the table of all has the remarks on the others."""
    return [f"The best, {found.types[0]}: {text}" for i, text in found.remarks.items() if i == 0]
