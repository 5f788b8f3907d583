"""Mixtures as plain arrays, and several of them stacked: what climbs work on, until one is worth a `Mixture`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.densities.mixture import Mixture
from eigenlens.mixture.structures.base import CovarianceArrays, CovarianceStructure

__all__ = ["MixtureState", "StackedStates"]


@dataclass(eq=False, slots=True)
class MixtureState:
    """One mixture: weights (K,), means (K, d), the arrays of its covariances, and its coordinates once they are known.

    >>> from eigenlens.mixture.structures.families import COVARIANCE_STRUCTURES
    >>> structure = COVARIANCE_STRUCTURES["spherical"](0)
    >>> state = MixtureState(np.ones(1), np.zeros((1, 2)), {"variances": np.ones(1)})
    >>> MixtureState.of(state.mixture(structure), structure).spread
    {'variances': array([1.])}
    """

    weights: Array
    means: Array
    spread: CovarianceArrays
    vector: Array | None = None

    @classmethod
    def of(cls, mixture: Mixture, structure: CovarianceStructure) -> MixtureState:
        """The arrays of a mixture whose components have that structure."""
        return cls(mixture.weights, mixture.means, structure.arrays(mixture.components))

    def mixture(self, structure: CovarianceStructure) -> Mixture:
        """The frozen value."""
        return Mixture(self.weights, structure.components(self.means, self.spread))


class StackedStates(NamedTuple):
    """S mixtures of equally many components: weights (S, K), means (S, K, d), and arrays (S, …) of the covariances."""

    weights: Array
    means: Array
    spread: CovarianceArrays

    @classmethod
    def of(cls, states: Sequence[MixtureState]) -> StackedStates:
        """From one mixture after the other."""
        return cls(
            _stack(state.weights for state in states),
            _stack(state.means for state in states),
            {name: _stack(state.spread[name] for state in states) for name in states[0].spread},
        )

    def states(self) -> list[MixtureState]:
        """One mixture after the other."""
        spreads = ({name: array[s] for name, array in self.spread.items()} for s in range(len(self.weights)))
        return [MixtureState(*parts) for parts in zip(self.weights, self.means, spreads, strict=True)]

    def some(self, which: Array) -> StackedStates:
        """Those that are chosen (S,)."""
        if which.all():
            return self
        spread = {name: array[which] for name, array in self.spread.items()}
        return StackedStates(self.weights[which], self.means[which], spread)


def _stack(arrays: Iterable[Array]) -> Array:
    """As np.stack, which checks more and takes longer."""
    rows = list(arrays)
    return rows[0][None] if len(rows) == 1 else np.concatenate(rows).reshape(len(rows), *rows[0].shape)
