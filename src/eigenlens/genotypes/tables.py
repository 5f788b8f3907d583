"""Tables of components of genotypes: scores of people, weights of variants, and the map of ancestry."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.memory import ArraySource
from eigenlens.data.source import Source
from eigenlens.genotypes.model import GenotypeComponents
from eigenlens.tables.names import axis_names
from eigenlens.tables.values import VarianceTable


def genotype_scores(model: Any, X: Any = None) -> Source:
    """Return the scores (n, k) of people as rows with the names of the axes.

    X: None for the people of the fit, genotypes for others, or scores that are known already, with these names.
    """
    names = tuple(axis_names(model, model.n_components_))
    if X is not None and tuple(getattr(X, "names", None) or ()) == names:
        return X  # type: ignore[no-any-return]
    scores = model.scores_ if X is None else model.transform(X)
    return ArraySource(np.asarray(scores), names=names)


def genotype_variance(model: GenotypeComponents) -> VarianceTable:
    """Return the eigenvalues of the relationship matrix and their shares of its trace."""
    return VarianceTable(model.values, model.total)


class ChromosomeWeights(NamedTuple):
    """Weights of variants along the genome.

    Attributes:
        chromosomes: (c,) names, in the order of the file. position: (m,) places along the genome, one chromosome after
            the other. number: (m,) of the chromosome. middle: (c,) of each chromosome.
    """

    chromosomes: tuple[str, ...]
    position: Array
    number: Array
    middle: Array


def genome_places(model: GenotypeComponents) -> ChromosomeWeights:
    """Return where each variant lies along the genome, for a plot of weights.

    Chromosomes follow each other as in the file; variants of unknown position are spread evenly.
    """
    names, first, number = np.unique(model.variants.chromosome.astype(str), return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    number = rank[number]
    position, middle, start = np.empty(len(number)), np.empty(len(order)), 0.0
    for c in range(len(order)):
        mine = number == c
        places = model.variants.position[mine].astype(np.float64)
        places = places if places.any() else np.arange(places.size, dtype=np.float64)
        position[mine] = start + places
        middle[c] = start + 0.5 * places.max(initial=0.0)
        start += places.max(initial=0.0) + 1.0
    return ChromosomeWeights(tuple(names[order].tolist()), position, number, middle)


def heaviest_variants(model: GenotypeComponents, j: int, most: int) -> Array:
    """Return the numbers of the variants of largest weight on component j, counted from 0, the largest first."""
    return np.argsort(-np.abs(model.components[j]), kind="stable")[:most]
