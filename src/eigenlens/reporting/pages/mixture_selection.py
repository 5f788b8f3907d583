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
    """Return the charts of a mixture selection, then those of the best mixture on the rows."""
    charts = [_selection_facts(found), *criteria(found)]
    if found.best is None:
        return PageContent(charts, {})
    best = BEST_CHARTS[type(found.best).__name__](found.best, rows.of(found.best))
    title = f"The best: {count_noun(found.components[0], 'component')}, {found.types[0]}"
    return PageContent([*charts, best.charts[0] | {"title": title}, *best.charts[1:]], best.columns)


def _selection_facts(found: MixtureSelection) -> Chart:
    sizes = [count_noun(k, "component") for k in found.components]
    best = f"{sizes[0]}, {found.title_of_types} {found.types[0]}" if found.best else "none: all failed"
    pairs = [
        ("mixtures compared", len(found.types)),
        ("criterion", CRITERION_TITLES[found.criterion]),
        ("best", best),
    ]
    warnings = [f"{found.types[i]}, {sizes[i]}: {text}" for i, text in found.remarks.items()]
    return facts("The comparison", pairs, warnings=warnings[:12])
