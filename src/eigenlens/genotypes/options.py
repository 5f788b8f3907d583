"""The parameters of `GenotypePCA`, checked once, and the warnings of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.data.genotypes.variants import NOT_DIPLOID, Variants
from eigenlens.errors import ConvergenceWarning, DataError, DataWarning, OptionError, join_limited, warn_user
from eigenlens.genotypes.linked_regions import linked_regions
from eigenlens.genotypes.match_variants import VariantMatch

MISSING_CALL_METHODS = {
    "pairwise": "over the calls that two people have in common",
    "mean": "filled with the mean of the variant",
}
"""Treatments of missing calls."""

SOLVER_NAMES = ("auto", "gram", "lanczos")

AUTOSOMES = "autosomes"


@dataclass(frozen=True)
class GenotypeOptions:
    """Parameters that have been checked.

    Attributes:
        k: the number of components wanted. missing: a key of `MISSING_CALL_METHODS`. solver: a name.
        chromosomes: "autosomes", None for all, or their names in capitals, without "chr".
    """

    k: int
    missing: str
    chromosomes: str | frozenset[str] | None
    solver: str

    @classmethod
    def of(cls, estimator: Any) -> GenotypeOptions:
        """Return the checked parameters of an estimator."""
        return cls(
            checks.integer("n_components", estimator.n_components, 1),
            checks.name("missing", estimator.missing, MISSING_CALL_METHODS),
            _check_chromosomes(estimator.chromosomes),
            checks.name("solver", estimator.solver, SOLVER_NAMES),
        )

    def choose_variants(self, variants: Variants) -> Array:
        """Return the numbers (m,) of the variants on the chromosomes that are wanted."""
        if self.chromosomes is None:
            return np.arange(len(variants))
        if isinstance(self.chromosomes, str):
            chosen = np.flatnonzero(variants.diploid)
        else:
            names = {NOT_DIPLOID.get(name, name) for name in self.chromosomes}
            mine = [NOT_DIPLOID.get(name, name) for name in variants.plain_chromosome]
            chosen = np.flatnonzero([name in names for name in mine])
        if not chosen.size:
            found = join_limited(sorted(set(map(str, variants.chromosome))))
            what = f"leaves none of the {len(variants):,} variants, which are on {found}"
            value = self.chromosomes if isinstance(self.chromosomes, str) else sorted(self.chromosomes)
            raise OptionError(what, argument="chromosomes", value=value, fix="name chromosomes that the file has")
        return chosen

    def count_components(self, n: int, m: int) -> int:
        """Return the number of components, at most n − 1 and m."""
        if n < 2:
            raise DataError("has 1 person, and relationships need at least 2", argument="X")
        bound = "one fewer than the people" if n - 1 <= m else "the number of variants that differ between people"
        return checks.integer("n_components", self.k, 1, min(n - 1, m), bound)


def _check_chromosomes(chromosomes: Any) -> str | frozenset[str] | None:
    if chromosomes is None or (isinstance(chromosomes, str) and chromosomes == AUTOSOMES):
        return chromosomes
    given = [chromosomes] if isinstance(chromosomes, str | int) and not isinstance(chromosomes, bool) else chromosomes
    listed = checks.listed("chromosomes", given) if checks.is_list(given) else []
    if not listed or not all((isinstance(name, str) and name) or (type(name) is int and name >= 0) for name in listed):
        fix = "use 'autosomes', None for all, or a list such as [1, 2, 'X']"
        raise OptionError("is not a list of chromosomes", argument="chromosomes", value=chromosomes, fix=fix)
    return frozenset(str(name).upper().removeprefix("CHR") for name in listed)


def warn_of_match(match: VariantMatch) -> None:
    """Warn where variants of the model are absent from a file, left out, or mended."""
    if any(count for kind, count in match.counts.items() if kind not in ("same", "swapped")):
        warn_user(DataWarning(f"{match}", fix="scores are by the variants in common"))


def warn_of_fit(estimator: Any) -> None:
    """Warn of what deserves a second look in a fit."""
    for remark in genotype_remarks(estimator):
        warn_user(remark)


def genotype_remarks(estimator: Any) -> list[Warning]:
    """Return the warnings of a fit: components that one region of linked variants makes, chromosomes not diploid."""
    model, found = estimator.model_, list[Warning]()
    regions = linked_regions(model)
    if regions:
        fix = "thin the variants first: plink2 --indep-pairwise 200kb 1 0.2, then --extract its .prune.in file"
        what = f"linked variants make a component ({join_limited(list(map(str, regions)), 3)})"
        found.append(DataWarning(what, fix=fix))
    haploid = sorted({str(name) for name in model.variants.chromosome[~model.variants.diploid]})
    if haploid:
        what = f"variants on {join_limited(haploid)} are used as if everybody had two copies"
        found.append(DataWarning(what, fix="use {chromosomes}", settings={"chromosomes": AUTOSOMES}))
    if not estimator.solver_.converged:
        found.append(ConvergenceWarning(f"solver {estimator.solver_.solver!r} stopped before its tolerance"))
    return found
