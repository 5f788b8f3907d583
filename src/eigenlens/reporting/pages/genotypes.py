"""The page of components of genotypes: the map of people, significance, and the weights of variants."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.genotypes.tables import genome_places, genotype_variance, heaviest_variants
from eigenlens.reporting.charts import Chart, axes_points, facts, layer, marks, table_chart
from eigenlens.reporting.rows import ShownRows
from eigenlens.tables.names import axis_names

LISTED, DRAWN = 20, 3000
"""Variants in the table of weights of a component, and points in a plot of all weights."""

LEVEL = 0.01
"""The level of significance."""


def genotype_page(model: Any, rows: ShownRows) -> list[Chart]:
    """Return the charts of a fitted GenotypePCA; the rows are the scores of people."""
    found, shares = model.model_, genotype_variance(model.model_).shares
    axes = [f"{name} ({share:.1f}%)" for name, share in zip(axis_names(model, len(shares)), shares, strict=True)]
    about = "People by their genotypes: those near each other share ancestry."
    plots = [axes_points("Map of people", rows.X, axes, about, equal=True)]
    plots += [_scree(model), _tests(model)]
    plots += [_weights(model, j) for j in range(min(2, len(found.values)))]
    return [*plots, _heaviest(model), _about(model)]


def _scree(model: Any) -> Chart:
    values, test = model.model_.values, model.significance_
    x, real = axis_names(model, values.size), test.leading(LEVEL)
    layers = [layer("bar", "significant", x=x[:real], y=values[:real])] if real else []
    layers += [layer("bar", "not significant", x=x[real:], y=values[real:], colour="grey")] if real < len(x) else []
    about = f"Eigenvalues of the relationship matrix; {real} of {len(x)} are significant at {LEVEL:g}."
    return marks("Eigenvalues", *layers, about=about, x="component", y="eigenvalue")


def _tests(model: Any) -> Chart:
    test, values = model.significance_, model.model_.values
    columns = {
        "component": axis_names(model, values.size), "eigenvalue": values,
        "share %": genotype_variance(model.model_).shares, "Tracy–Widom": test.statistic, "p-value": test.p_texts,
        "effective markers": test.markers,
    }  # fmt: skip
    about = "Whether an eigenvalue, given those before it, is larger than chance makes it (Patterson et al. 2006)."
    return table_chart("Significance", columns, about)


def _weights(model: Any, j: int) -> Chart:
    """Return the squared weights of variants along the genome; of many variants the largest."""
    found, places = model.model_, genome_places(model.model_)
    size = found.components[j] ** 2 * len(found.variants)
    shown = np.sort(np.argsort(-size, kind="stable")[:DRAWN])
    parts = [shown[places.number[shown] % 2 == odd] for odd in (0, 1)]
    titles = [[f"{found.variants.name[i]}: {size[i]:.1f}" for i in part] for part in parts]
    layers = [
        layer("dot", x=places.position[part] / 1e6, y=size[part], title=title, colour=colour)
        for part, title, colour in zip(parts, titles, ("blue", "grey"), strict=True)
        if part.size
    ]
    some = f" The {DRAWN:,} largest of {len(size):,}." if len(size) > DRAWN else ""
    about = (
        "Squared weights of variants along the genome, 1 on average, chromosomes in turns of colour. Ancestry spreads "
        f"evenly; a tower is a region of linked variants.{some}"
    )
    name = axis_names(model, j + 1)[j]
    return marks(
        f"Weights of variants on {name}", *layers, about=about, x="place in the genome (Mb)", y="squared weight"
    )


def _heaviest(model: Any) -> Chart:
    found = model.model_
    chosen = [(j, i) for j in range(min(2, len(found.values))) for i in heaviest_variants(found, j, LISTED)]
    component, index = (np.array(part) for part in zip(*chosen, strict=True))
    names = axis_names(model, len(found.values))
    columns: dict[str, Array | list[str]] = {
        "component": [names[j] for j in component],
        "variant": found.variants.name[index],
        "chromosome": found.variants.chromosome[index],
        "position": [f"{place:,}" for place in found.variants.position[index]],
        "allele": found.variants.counted[index],
        "frequency": found.frequency[index],
        "weight": found.weights[index, component],
    }
    return table_chart(
        "Variants of largest weight", columns, "The weight is that of a copy of the allele, as PLINK has it."
    )


def _about(model: Any) -> Chart:
    found = model.model_
    how = "over the calls that two people have in common" if found.pairwise else "missing calls at the mean"
    left = ", ".join(f"{count:,} ({why})" for why, count in model.left_out_.items() if count)
    pairs = [
        ("people", f"{len(found.people):,}"),
        ("variants", f"{len(found.variants):,}" + (f"; left out: {left}" if left else "")),
        ("missing calls", f"{found.missing:,}"),
        ("relationships", f"standardised by √(2p(1 − p)), {how}"),
        ("solver", model.solver_),
    ]
    return facts("The model", pairs)
