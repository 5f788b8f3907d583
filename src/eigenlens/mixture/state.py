"""Mixtures as plain arrays, and several of them stacked: what climbs work on, until one is worth a `Mixture`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.densities.mixture import Mixture
from eigenlens.mixture.structures.base import Spread, Structure

__all__ = ["Stack", "State"]


@dataclass(eq=False, slots=True)
class State:
    """One mixture: weights (K,), means (K, d), the arrays of its covariances, and its coordinates once they are known.

    >>> from eigenlens.mixture.structures.families import STRUCTURES
    >>> structure = STRUCTURES["spherical"](0)
    >>> state = State(np.ones(1), np.zeros((1, 2)), {"variances": np.ones(1)})
    >>> State.of(state.mixture(structure), structure).spread
    {'variances': array([1.])}
    """

    weights: Array
    means: Array
    spread: Spread
    vector: Array | None = None

    @classmethod
    def of(cls, mixture: Mixture, structure: Structure) -> State:
        """The arrays of a mixture whose components have that structure."""
        return cls(mixture.weights, mixture.means, structure.arrays(mixture.components))

    def mixture(self, structure: Structure) -> Mixture:
        """The frozen value."""
        return Mixture(self.weights, structure.components(self.means, self.spread))


class Stack(NamedTuple):
    """S mixtures of equally many components: weights (S, K), means (S, K, d), and arrays (S, …) of the covariances."""

    weights: Array
    means: Array
    spread: Spread

    @classmethod
    def of(cls, states: Sequence[State]) -> Stack:
        """From one mixture after the other."""
        return cls(
            _stacked(state.weights for state in states),
            _stacked(state.means for state in states),
            {name: _stacked(state.spread[name] for state in states) for name in states[0].spread},
        )

    def states(self) -> list[State]:
        """One mixture after the other."""
        spreads = ({name: array[s] for name, array in self.spread.items()} for s in range(len(self.weights)))
        return [State(*parts) for parts in zip(self.weights, self.means, spreads, strict=True)]

    def some(self, which: Array) -> Stack:
        """Those that are chosen (S,)."""
        if which.all():
            return self
        spread = {name: array[which] for name, array in self.spread.items()}
        return Stack(self.weights[which], self.means[which], spread)


def _stacked(arrays: Iterable[Array]) -> Array:
    """As np.stack, which checks more and takes longer."""
    rows = list(arrays)
    return rows[0][None] if len(rows) == 1 else np.concatenate(rows).reshape(len(rows), *rows[0].shape)
