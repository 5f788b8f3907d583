"""Mixtures as plain arrays, and several of them stacked: the state of EM, until one is worth a `Mixture`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.densities.mixture import Mixture
from eigenlens.mixture.structures.base import CovarianceArrays, CovarianceStructure


@dataclass(eq=False, slots=True)
class MixtureState:
    """One mixture as arrays.

    Attributes:
        weights: (K,). means: (K, d). arrays: those of its covariances. vector: its coordinates once they are known.

    >>> from eigenlens.mixture.structures import make_structure
    >>> structure = make_structure("spherical")
    >>> state = MixtureState(np.ones(1), np.zeros((1, 2)), {"variances": np.ones(1)})
    >>> MixtureState.of(state.mixture(structure), structure).arrays
    {'variances': array([1.])}
    """

    weights: Array
    means: Array
    arrays: CovarianceArrays
    vector: Array | None = None

    @classmethod
    def of(cls, mixture: Mixture, structure: CovarianceStructure) -> MixtureState:
        """Return the arrays of a mixture whose components have that structure."""
        return cls(mixture.weights, mixture.means, structure.arrays(mixture.components))

    def mixture(self, structure: CovarianceStructure) -> Mixture:
        """Return the frozen mixture."""
        return Mixture(self.weights, structure.components(self.means, self.arrays))


class StackedStates(NamedTuple):
    """S mixtures of equally many components: weights (S, K), means (S, K, d), and arrays (S, …) of the covariances."""

    weights: Array
    means: Array
    arrays: CovarianceArrays

    @classmethod
    def of(cls, states: Sequence[MixtureState]) -> StackedStates:
        """Stack one mixture after the other."""
        return cls(
            _stack(state.weights for state in states),
            _stack(state.means for state in states),
            {name: _stack(state.arrays[name] for state in states) for name in states[0].arrays},
        )

    def states(self) -> list[MixtureState]:
        """Return one mixture after the other."""
        arrays = ({name: array[s] for name, array in self.arrays.items()} for s in range(len(self.weights)))
        return [MixtureState(*parts) for parts in zip(self.weights, self.means, arrays, strict=True)]

    def select(self, which: Array) -> StackedStates:
        """Return the mixtures that are chosen by booleans (S,)."""
        if which.all():
            return self
        arrays = {name: array[which] for name, array in self.arrays.items()}
        return StackedStates(self.weights[which], self.means[which], arrays)


def _stack(arrays: Iterable[Array]) -> Array:
    """Return np.stack of arrays; NumPy's own checks take longer than the copy, and this runs in every step."""
    rows = list(arrays)
    return rows[0][None] if len(rows) == 1 else np.concatenate(rows).reshape(len(rows), *rows[0].shape)
