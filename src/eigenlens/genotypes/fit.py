"""Principal components of genotypes: allele counts, relationship matrix, eigenpairs, weights of variants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.genotypes.base import Genotypes
from eigenlens.data.source import Progress
from eigenlens.errors import OptionError, ResourceError
from eigenlens.genotypes.allele_frequencies import AlleleCounts, code_values, count_alleles, standardised_panels
from eigenlens.genotypes.model import GenotypeComponents
from eigenlens.genotypes.options import GenotypeOptions
from eigenlens.genotypes.relationship import RelationshipOperator, reject_empty_people, relationship_matrix
from eigenlens.linalg.covariance import matrix_spectrum
from eigenlens.linalg.lanczos import lanczos
from eigenlens.linalg.operators import Matrix
from eigenlens.linalg.spectrum import Requested, Spectrum, column_signs
from eigenlens.native.genotypes import genotype_panel
from eigenlens.resources import available_memory

MAX_GRAM_PEOPLE = 10_000
"""Up to this many people the relationship matrix costs about as much as the passes of Lanczos steps, or less."""

GRAM_BYTES = 16
"""Bytes per pair of people that the relationship matrix takes while it is made."""

LANCZOS_TOL, LANCZOS_BLOCK = 1e-6, 16
"""The residuals that products of float32 allow, as a share of the largest eigenvalue, and columns per product."""

PROBES = 32
"""Random vectors for the sum of squared eigenvalues where G is known by its products."""


@dataclass(frozen=True)
class EigenProblem:
    """The problem that a solver of `GENOTYPE_SOLVERS` is given; `pairwise`: whether G is over the calls in common."""

    data: Genotypes
    alleles: AlleleCounts
    k: int
    pairwise: bool
    progress: Progress | None


def solve_by_gram(problem: EigenProblem) -> tuple[Spectrum, float]:
    """Return the leading eigenpairs of the relationship matrix, and the sum of all squared eigenvalues. One pass."""
    G = relationship_matrix(problem.data, problem.alleles, problem.pairwise, problem.progress)
    wanted = Requested.count(problem.k, len(G))
    spectrum = matrix_spectrum(Matrix(G), wanted, 1e-9, np.random.default_rng(0), "gram")
    outcome = replace(spectrum.outcome, passes=3)  # allele counts, relationships and weights of variants
    return replace(spectrum, outcome=outcome), float(np.einsum("ij,ij->", G, G))


def solve_by_lanczos(problem: EigenProblem) -> tuple[Spectrum, float]:
    """Return the same by block Lanczos steps, each of them a pass over the calls.

    The sum of squares is Σλ² of those found, and the rest by random vectors ω in the space orthogonal to them:
    E‖G ω‖² = Σλ². Without its leading terms, that mean has a relative error near √(2 / (32 n)).
    """
    operator = RelationshipOperator(problem.data, problem.alleles, problem.progress)
    wanted = Requested.count(problem.k, operator.size)
    spectrum = lanczos(operator, wanted, LANCZOS_TOL, np.random.default_rng(0), block=LANCZOS_BLOCK)
    U = spectrum.vectors
    probes = np.random.default_rng(0).standard_normal((operator.size, PROBES))
    probes -= U @ (U.T @ probes)
    rest = operator.matmat(probes)
    rest -= U @ (U.T @ rest)
    squares = float((spectrum.values**2).sum() + (rest**2).sum() / PROBES)
    return replace(spectrum, outcome=replace(spectrum.outcome, passes=operator.products + 2)), squares


GENOTYPE_SOLVERS: dict[str, Callable[[EigenProblem], tuple[Spectrum, float]]] = {
    "gram": solve_by_gram,
    "lanczos": solve_by_lanczos,
}
"""Solvers by name: a problem to its spectrum, and the sum of all squared eigenvalues."""


def choose_genotype_solver(n: int, pairwise: bool, memory: int) -> tuple[str, str]:
    """Return the solver for n people and the reason. The first line that fits:

    | if                                                        | solver  |
    |-----------------------------------------------------------|---------|
    | n ≤ 10,000 and 16 n² bytes are free                       | gram    |
    | calls are missing, and pairs of people have their own n   | gram    |
    | anything larger                                           | lanczos |

    >>> choose_genotype_solver(957, True, 1 << 33)[0], choose_genotype_solver(100_000, False, 1 << 33)[0]
    ('gram', 'lanczos')
    """
    if n <= MAX_GRAM_PEOPLE and GRAM_BYTES * n * n <= memory:
        return "gram", f"a relationship matrix of {n:,} people is small"
    if pairwise:
        return "gram", "pairwise-complete relationships need the whole matrix"
    return "lanczos", f"a relationship matrix of {n:,} people is large"


def fit_genotypes(
    data: Genotypes, options: GenotypeOptions, progress: Progress | None = None
) -> tuple[GenotypeComponents, AlleleCounts, Spectrum]:
    """Return the components of genotypes, the allele counts behind them, and how the eigenpairs were found."""
    chosen = options.choose_variants(data.variants)
    alleles = count_alleles(data, chosen, progress)
    k = options.count_components(data.n, len(alleles.index))
    pairwise = options.missing == "pairwise" and alleles.missing > 0
    if alleles.missing:
        reject_empty_people(data, count_missing(data, alleles.index) == len(alleles.index))
    solver, reason = _choose(options.solver, data.n, pairwise)
    spectrum, squares = GENOTYPE_SOLVERS[solver](EigenProblem(data, alleles, k, pairwise, progress))
    spectrum = replace(spectrum, outcome=replace(spectrum.outcome, reason=reason))
    components = variant_weights(data, alleles, spectrum, progress)
    signs = column_signs(components.T)
    model = GenotypeComponents(
        data.variants.take(alleles.index), data.people, alleles.frequency, components * signs[:, None], spectrum.values,
        spectrum.vectors * signs, spectrum.total, squares, alleles.missing, options.missing == "pairwise",
    )  # fmt: skip
    return model, alleles, spectrum


def _choose(solver: str, n: int, pairwise: bool) -> tuple[str, str]:
    memory = available_memory()
    name, reason = choose_genotype_solver(n, pairwise, memory) if solver == "auto" else (solver, "asked for")
    if name == "lanczos" and pairwise:
        what = "needs one matrix product for all people, and pairwise-complete relationships have none"
        fix = "use {missing}, or solver='gram'"
        raise OptionError(what, argument="solver", value="lanczos", fix=fix, settings={"missing": "mean"})
    if name == "gram" and GRAM_BYTES * n * n > memory:
        size = f"{GRAM_BYTES * n * n / 1e9:.0f} GB, and {memory / 1e9:.0f} are free"
        what = f"a relationship matrix of {n:,} people takes {size}"
        raise ResourceError(what, fix="use {missing}, which needs no such matrix", settings={"missing": "mean"})
    return name, reason


def count_missing(data: Genotypes, index: Array) -> Array:
    """Return the number (n,) of missing calls of each person among the variants of these numbers."""
    total, marker = np.zeros(data.n), np.array([[0.0, 1.0, 0.0, 0.0]])
    for _, packed in data.blocks(index, 4096):
        total += genotype_panel(packed, data.n, np.repeat(marker, len(packed), axis=0)).sum(axis=0)
    return total


def variant_weights(
    data: Genotypes, alleles: AlleleCounts, spectrum: Spectrum, progress: Progress | None = None
) -> Array:
    """Return v = Zᵀu / √(m λ), (k, m), in one pass; 0 for a component without variance."""
    U, m = spectrum.vectors.astype(np.float32), len(alleles.index)
    found = np.empty((m, U.shape[1]))
    for part, _, panel in standardised_panels(
        data, alleles.index, code_values(alleles.frequency), progress, "weights of variants"
    ):
        found[part] = panel @ U
    scale = np.sqrt(m * spectrum.values)
    return np.asarray(np.divide(found.T, scale[:, None], out=np.zeros(found.T.shape), where=scale[:, None] > 0.0))
