"""Components that one region of the genome makes: linked variants there, such as an inversion, and not ancestry."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eigenlens.genotypes.model import GenotypeComponents

REGION = 10_000_000
"""The length of a region in base pairs: longer than the regions of linked variants of the human genome."""

MIN_SHARE, MIN_EXCESS, MIN_VARIANTS = 0.2, 10.0, 5
"""A region makes a component if it has this share of its squared weights, this many times its share of the variants,
and this many variants. Ancestry spreads over the genome: no region has more than a few per cent of it."""


class LinkedRegion(NamedTuple):
    """A region that has too large a share of the squared weights of a component, counted from 1."""

    component: int
    chromosome: str
    start: int
    end: int
    share: float
    variants: int

    def __str__(self) -> str:
        place = f"{self.start / 1e6:.0f}–{self.end / 1e6:.0f} Mb of chromosome {self.chromosome}"
        return f"PC{self.component}: {self.share:.0%} of its squared weights are on {self.variants} variants at {place}"


def linked_regions(model: GenotypeComponents) -> list[LinkedRegion]:
    """Return the region of largest share of each component that one region makes, if any.

    Regions are cut in two ways, half a length apart, so that one of them has what the other divides.
    """
    found: dict[int, LinkedRegion] = {}
    squares = model.components**2
    shares = squares / np.maximum(squares.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    names, chromosome = np.unique(model.variants.chromosome.astype(str), return_inverse=True)
    for offset in (0, REGION // 2):
        place = (model.variants.position + offset) // REGION
        keys, group, counts = np.unique(
            chromosome * (int(place.max(initial=0)) + 1) + place, return_inverse=True, return_counts=True
        )
        for j, share in enumerate(shares):
            inside = np.bincount(group, share, minlength=len(keys))
            best = int(np.argmax(inside))
            expected = counts[best] / len(group)
            if inside[best] >= max(MIN_SHARE, MIN_EXCESS * expected) and counts[best] >= MIN_VARIANTS:
                first = int(np.argmax(group == best))
                start = max(0, int(place[first]) * REGION - offset)
                region = LinkedRegion(
                    j + 1, str(names[chromosome[first]]), start, int(place[first] + 1) * REGION - offset,
                    float(inside[best]), int(counts[best]),
                )  # fmt: skip
                found[j] = max(found.get(j, region), region, key=lambda each: each.share)
    return [found[j] for j in sorted(found)]
