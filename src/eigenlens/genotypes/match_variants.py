"""Variants of a new file matched to those of a model, by name and alleles, whichever strand they were read from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.genotypes.variants import Variants
from eigenlens.errors import DataError
from eigenlens.tables.text_table import count_noun

COMPLEMENTS = {"A": "T", "T": "A", "C": "G", "G": "C"}

UNKNOWN = ("0", ".")
"""Alleles that no person of a file has are written like this."""


@dataclass(frozen=True, eq=False)
class VariantMatch:
    """Variants that a file and a model have in common.

    Attributes:
        ours: (c,) their numbers among those of the model. theirs: (c,) among those of the file, ascending.
        swapped: (c,) whether the file counts the other allele.
        counts: how many variants of the model are matched "same" or "swapped", "flipped" (of these, on the other
            strand), and left out: "ambiguous", "other alleles" and "absent".
    """

    ours: Array
    theirs: Array
    swapped: Array
    counts: dict[str, int]

    def __str__(self) -> str:
        total = sum(self.counts.values()) - self.counts["flipped"]
        parts = [f"{count_noun(len(self.ours), 'variant')} of {total:,} matched"]
        words = {
            "swapped": "with the alleles exchanged", "flipped": "on the other strand",
            "ambiguous": "left out since A/T and C/G have no strand", "other alleles": "left out for other alleles",
            "absent": "absent",
        }  # fmt: skip
        return ", ".join(parts + [f"{self.counts[key]:,} {text}" for key, text in words.items() if self.counts[key]])


def match_variants(model: Variants, file: Variants) -> VariantMatch:
    """Return the variants that a model and a file have in common, by name and alleles.

    Alleles may be exchanged, and read from the other strand (A for T, C for G), which is mended. An A/T or C/G variant
    looks the same on both strands: it is used where all other variants are on the strand of the model, and left out
    where any is flipped, since nobody knows which of the two it is.
    """
    places = {name: place for place, name in enumerate(file.name)}
    kinds: list[str] = []
    found: list[tuple[int, int, bool]] = []
    ambiguous: list[bool] = []
    for ours, (name, counted, other) in enumerate(zip(model.name, model.counted, model.other, strict=True)):
        theirs = places.get(name)
        kind = "absent" if theirs is None else compare_alleles(counted, other, file.counted[theirs], file.other[theirs])
        kinds.append(kind)
        if theirs is not None and kind in SAME_VARIANT:
            found.append((ours, theirs, SAME_VARIANT[kind]))
            ambiguous.append(COMPLEMENTS.get(counted) == other)
    counts = Counter(kinds)
    flipped = counts["flipped"] + counts["flipped swapped"]
    keep = ~np.array(ambiguous, dtype=bool) if flipped else np.ones(len(found), dtype=bool)
    if not keep.any():
        what = f"the file has none of the {len(model):,} variants of the model (such as {model.name[0]!r})"
        fix = "give variants the same names: plink2 --set-all-var-ids @:#:\\$r:\\$a --make-bed"
        raise DataError(what, fix=fix)
    pairs = np.array(found, dtype=np.int64)[keep]
    pairs = pairs[np.argsort(pairs[:, 1], kind="stable")]
    used = np.flatnonzero(pairs[:, 2])
    summary = {
        "same": len(pairs) - len(used), "swapped": len(used), "flipped": flipped,
        "ambiguous": int(np.count_nonzero(~keep)), "other alleles": counts["other alleles"], "absent": counts["absent"],
    }  # fmt: skip
    return VariantMatch(pairs[:, 0], pairs[:, 1], pairs[:, 2].astype(bool), summary)


SAME_VARIANT = {"same": False, "swapped": True, "flipped": False, "flipped swapped": True}
"""How alleles can agree, and whether the file counts the other one."""


def compare_alleles(counted: str, other: str, their_counted: str, their_other: str) -> str:
    """Return how the alleles of a file are those of a model: a key of `SAME_VARIANT`, or "other alleles".

    An allele that nobody in the file has may be unknown there.

    >>> compare_alleles("A", "G", "G", "A"), compare_alleles("A", "G", "T", "C"), compare_alleles("A", "G", "0", "A")
    ('swapped', 'flipped', 'swapped')
    >>> compare_alleles("A", "G", "A", "C")
    'other alleles'
    """
    theirs = their_counted, their_other
    turned = tuple(COMPLEMENTS.get(allele, allele) for allele in theirs)
    for prefix, alleles in (("", theirs), ("flipped ", turned)):
        for kind, wanted in (("same", (counted, other)), ("swapped", (other, counted))):
            if any(a in UNKNOWN for a in alleles) and all(a in UNKNOWN for a in alleles):
                break
            if all(a == b or a in UNKNOWN for a, b in zip(alleles, wanted, strict=True)):
                return (prefix + kind).replace("flipped same", "flipped")
    return "other alleles"
