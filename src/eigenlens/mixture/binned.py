"""Gaussian mixtures of one dimension from counts in bins: the likelihood is that of the bins, not of their centres.

A bin from a to b has the probability Σ_k pi_k (Phi((b − mu_k) / s_k) − Phi((a − mu_k) / s_k)), and EM needs the first
two moments of each component within it (McLachlan and Jones 1988). A row of the source here is a bin: its ends, the
first of which may be −∞ and the last ∞, with its count as weight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from eigenlens.arrays import Array
from eigenlens.data.memory import ArraySource
from eigenlens.data.source import Block, Progress
from eigenlens.densities.mixture_terms import EStep, Terms
from eigenlens.mixture.fit import MixtureFit, MixtureOptions, best_fit, summarise_rows
from eigenlens.mixture.missing import responsibilities_and_loglik
from eigenlens.mixture.problem import make_problem
from eigenlens.native.mixture_incomplete import LOG_2PI

QUADRATURE_NODES, QUADRATURE_WEIGHTS = np.polynomial.legendre.leggauss(12)
"""Nodes and weights of Gauss–Legendre quadrature over −1 to 1, exact to rounding over narrow bins."""

NARROW_BIN = 0.5
"""A bin is narrow if its width in standard deviations, times its distance from the mean if above 1, is below this.

There differences of Phi would lose digits; elsewhere twelve nodes would not be enough.
"""


class TruncatedMoments(NamedTuple):
    """The moments of a standard Gaussian within a ≤ z ≤ b: ln P(a ≤ z ≤ b), E[z] and E[z²]."""

    log_mass: Array
    first: Array
    second: Array


def truncated_moments(a: Array, b: Array) -> TruncatedMoments:
    """Return the mass and moments of standard Gaussians between ends a < b of one shape.

    They are accurate in tails and narrow bins: where a bin is narrow they are integrals by quadrature.

    >>> found = truncated_moments(np.array([0.0, 40.0]), np.array([np.inf, 40.001]))
    >>> np.exp(found.log_mass[0]), found.first, found.second[0]
    (np.float64(0.5), array([ 0.7979, 40.0005]), np.float64(1.0))
    """
    flip = a < -b  # small tail probabilities are computed in the upper tail, without cancellation
    low, high = np.where(flip, -b, a), np.where(flip, -a, b)
    with np.errstate(all="ignore"):
        narrow = (high - low) * np.maximum(1.0, np.abs(low)) < NARROW_BIN
        wide, fine = _by_ends(low, high), _by_quadrature(low, high)
    log_mass, first, second = (np.where(narrow, x, y) for x, y in zip(fine, wide, strict=True))
    return TruncatedMoments(log_mass, np.where(flip, -first, first), second)


def _by_ends(a: Array, b: Array) -> TruncatedMoments:
    """Return, with P = Phi(b) − Phi(a), E[z] = (phi(a) − phi(b)) / P and E[z²] = 1 + (a phi(a) − b phi(b)) / P."""
    above = log_ndtr(-a)
    log_mass = above + np.log1p(-np.exp(log_ndtr(-b) - above))
    at_a, at_b = (np.where(np.isinf(z), 0.0, np.exp(-0.5 * (z * z + LOG_2PI) - log_mass)) for z in (a, b))
    tails = (np.where(np.isinf(z), 0.0, z) * p for z, p in ((a, at_a), (b, at_b)))
    return TruncatedMoments(log_mass, at_a - at_b, 1.0 + next(tails) - next(tails))


def _by_quadrature(a: Array, b: Array) -> TruncatedMoments:
    middle, half = 0.5 * (a + b), 0.5 * (b - a)
    z = middle[..., None] + half[..., None] * QUADRATURE_NODES
    p = QUADRATURE_WEIGHTS * np.exp(0.5 * (middle[..., None] - z) * (middle[..., None] + z))
    mass = p.sum(axis=-1)
    log_mass = np.log(half * mass) - 0.5 * (middle * middle + LOG_2PI)
    return TruncatedMoments(log_mass, (p * z).sum(axis=-1) / mass, (p * z * z).sum(axis=-1) / mass)


def _binned_e_step(terms: Terms, S: int) -> Callable[[Block], EStep]:
    """Return the E-step of S mixtures for bins (b, 2) and their counts. Cost b S K differences of Phi."""
    return partial(_sum_bins, terms=terms, S=S)


def _sum_bins(block: Block, terms: Terms, S: int) -> EStep:
    ends, count = np.asarray(block.rows), block.weight
    mu, s = terms.means[:, 0], np.exp(0.5 * terms.log_determinants)
    with np.errstate(invalid="ignore"):
        a, b = ((ends[:, j] - mu[:, None]) / s[:, None] for j in (0, 1))
    within = truncated_moments(a, b)
    joint = terms.log_weights[:, None] + within.log_mass
    logliks, shares = responsibilities_and_loglik(joint.reshape(S, -1, len(ends)), count)
    r = shares.reshape(joint.shape)
    first, second = (np.where(r > 0.0, r * each, 0.0).sum(axis=1) for each in (within.first, within.second))
    square = (second * s * s).reshape(terms.shapes.shape)
    return EStep(logliks, terms.moments.about(terms.means, r.sum(axis=1), (first * s)[:, None], square))


def bin_centres(edges: Array) -> Array:
    """Return the centres (m,) of bins with edges (m + 1,); an open bin is taken to be as wide as its neighbour.

    >>> bin_centres(np.array([-np.inf, 0.0, 1.0, np.inf]))
    array([-0.5,  0.5,  1.5])
    """
    ends, widths = edges.astype(np.float64), np.diff(edges[np.isfinite(edges)])
    if np.isinf(ends[0]):
        ends[0] = ends[1] - widths[0]
    if np.isinf(ends[-1]):
        ends[-1] = ends[-2] + widths[-1]
    return np.asarray(0.5 * (ends[1:] + ends[:-1]))


def fit_binned_mixture(
    edges: Array,
    counts: Array,
    K: int,
    options: MixtureOptions,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> MixtureFit:
    """Fit a mixture of K Gaussians to counts (m,) in bins with edges (m + 1,), starting from the bin centres.

    >>> edges = np.linspace(-4.0, 4.0, 9)
    >>> counts = np.array([1.0, 21.0, 136.0, 341.0, 341.0, 136.0, 21.0, 1.0])
    >>> fit = fit_binned_mixture(edges, counts, 1, MixtureOptions(), np.random.default_rng(0))
    >>> fit.model.means.round(6), fit.model.covariance().round(2)
    (array([[0.]]), array([[1.]]))
    """
    structure, some = options.make_structure(), counts > 0.0
    overall = summarise_rows(ArraySource(bin_centres(edges)[some, None]).weighted(counts[some]), structure)
    centres = make_problem(overall, K, structure, **options.regularisation)
    bins = ArraySource(np.column_stack([edges[:-1], edges[1:]])[some]).weighted(counts[some])
    rows = max(1, round(float(counts.sum())))
    problem = replace(centres, source=bins, rows=rows, make_e_step=_binned_e_step)
    return best_fit(problem, options.starting(centres, K, rng, options.max_iter), options, progress)
