"""New people on the axes of a model, with the shrinkage of projections corrected.

People of a fit shape its axes, which lean towards their noise; new people did not, so that their plain projections lie
too near the origin, the more so the fewer people and the weaker the component. Online augmentation, decomposition and
Procrustes (OADP; Zhang, Dey and Lee 2020, Bioinformatics 36, 3439) asks where each new person would lie as a member of
the fit: the decomposition is updated with that person, and turned back to the axes of the model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eigenlens.arrays import Array, slices
from eigenlens.data.genotypes.base import Genotypes
from eigenlens.data.source import Progress
from eigenlens.genotypes.allele_frequencies import code_values, standardised_panels
from eigenlens.genotypes.match_variants import VariantMatch, match_variants
from eigenlens.genotypes.model import GenotypeComponents
from eigenlens.genotypes.relationship import reject_empty_people
from eigenlens.native.genotypes import genotype_panel

PEOPLE_STEP = 4096
"""People whose small decompositions are made at a time."""

SAME_PERSON = 0.05
"""A person of the fit projects to the fitted score within this share of the length of scores."""


@dataclass(frozen=True, eq=False)
class Projection:
    """New people on the axes of a model.

    Attributes:
        scores: (n, k). called: (n,) the variants that each person has, of those matched.
        fitted: (n,) whether a person is one of the fit, and has the score of the fit.
        match: the variants in common. corrected: whether shrinkage is corrected.
    """

    scores: Array
    called: Array
    fitted: Array
    match: VariantMatch
    corrected: bool


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over the matched variants of each new person: z vᵀ (n, k), ‖z‖² (n,) and calls (n,)."""

    products: Array
    squares: Array
    called: Array


def project_people(
    model: GenotypeComponents, data: Genotypes, correct: bool = True, progress: Progress | None = None
) -> Projection:
    """Return the scores of people in a file, in one pass.

    Variants that the file lacks are left out of the least-squares coordinates (V_c V_cᵀ)⁻¹ V_c z. A missing call is at
    the mean; where the model is over the calls in common, sums are divided by a person's share of calls.
    """
    match = match_variants(model.variants, data.variants)
    sums = _sum_up(model, data, match, progress)
    reject_empty_people(data, sums.called == 0)
    V = model.components[:, match.ours]
    m, c = len(model.variants), len(match.ours)
    share = sums.called / c if model.pairwise else np.ones(data.n)
    # A component without variance has no weights, and a file may have fewer variants than there are components.
    coordinates = (sums.products / share[:, None]) @ np.linalg.pinv(V @ V.T, hermitian=True)
    plain = coordinates / np.sqrt(m)
    fitted = _find_fitted(model, data, plain)
    scores = plain
    if correct:
        scores = corrected_coordinates(coordinates, sums.squares * m / (c * share), np.sqrt(m * model.values))
        scores /= np.sqrt(m)
    places = {pair: place for place, pair in enumerate(model.people.pairs)}
    scores[fitted] = model.scores[
        [places[pair] for pair, is_fitted in zip(data.people.pairs, fitted, strict=True) if is_fitted]
    ]
    return Projection(scores, sums.called, fitted, match, correct)


def _sum_up(model: GenotypeComponents, data: Genotypes, match: VariantMatch, progress: Progress | None) -> _Sums:
    V = model.components[:, match.ours].T
    values = code_values(model.frequency[match.ours], match.swapped)
    products, squares, missing = np.zeros((data.n, V.shape[1])), np.zeros(data.n), np.zeros(data.n)
    lacking = np.array([[0.0, 1.0, 0.0, 0.0]])
    for part, packed, panel in standardised_panels(data, match.theirs, values, progress, "projection"):
        z = panel.astype(np.float64)  # few components: the same scores on every machine cost next to nothing
        products += z.T @ V[part]
        squares += np.einsum("ji,ji->i", z, z)
        missing += genotype_panel(packed, data.n, np.repeat(lacking, len(packed), axis=0), panel).sum(axis=0)
    return _Sums(products, squares, len(match.theirs) - missing)


def _find_fitted(model: GenotypeComponents, data: Genotypes, plain: Array) -> Array:
    """Return which people (n,) are those of the fit: of the same name, and at the place that they had there."""
    known = {pair: place for place, pair in enumerate(model.people.pairs)}
    places = np.array([known.get(pair, -1) for pair in data.people.pairs])
    length = np.sqrt(model.values.sum() / len(model.people))
    near = np.linalg.norm(model.scores[places] - plain, axis=1) <= SAME_PERSON * length
    return np.asarray((places >= 0) & near)


def corrected_coordinates(coordinates: Array, squares: Array, singular_values: Array) -> Array:
    """Return the coordinates (n, k) that people would have had as members of the fit, by OADP.

    coordinates: (n, k) b of their plain projections. squares: (n,) ‖z‖². singular_values: (k,) d of the fit. For each,

        Q = [[D, b], [0, e]],  e² = ‖z‖² − ‖b‖²,   Q = A S Bᵀ,   R = (B S)[:k, :k],   y = (B S)[k, :k],

    and y is turned and scaled by the similarity that brings R back to D. Cost: n k³.
    """
    found = np.empty_like(coordinates)
    for part in slices(len(coordinates), PEOPLE_STEP):
        found[part] = _augmented(coordinates[part], squares[part], singular_values)
    return found


def _augmented(b: Array, squares: Array, d: Array) -> Array:
    n, k = b.shape
    Q = np.zeros((n, k + 1, k + 1))
    Q[:, range(k), range(k)] = d
    Q[:, :k, k] = b
    Q[:, k, k] = np.sqrt(np.maximum(squares - (b**2).sum(axis=1), 0.0))
    _, S, Bt = np.linalg.svd(Q)
    places = np.swapaxes(Bt, 1, 2)[:, :, :k] * S[:, None, :k]
    R, y = places[:, :k], places[:, k]
    left, sizes, right = np.linalg.svd(np.swapaxes(R, 1, 2) * d)
    scale = sizes.sum(axis=1) / (R**2).sum(axis=(1, 2))
    return np.asarray(scale[:, None] * np.einsum("nj,nji->ni", y, left @ right))
