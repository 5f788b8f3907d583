"""Genotypes of people, read by blocks of variants: the protocol of files and arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.genotypes.variants import People, Variants


class Genotypes(ABC):
    """Calls of n people at m variants, two bits each, as `native.genotypes` describes them.

    Attributes:
        people: (n,) the rows. variants: (m,) the columns.
        source: what they are called in messages.
    """

    people: People
    variants: Variants
    source: str = "X"

    @property
    def n(self) -> int:
        """The number of people."""
        return len(self.people)

    @abstractmethod
    def read(self, index: Array) -> Array:
        """Return the packed calls (b, ⌈n/4⌉) uint8 of the variants of these ascending numbers (b,)."""

    def reading(self) -> AbstractContextManager[None]:
        """Return a context for a pass, in which files must not change."""
        return nullcontext()

    def blocks(self, chosen: Array, step: int) -> Iterator[tuple[Array, Array]]:
        """Yield the numbers (b,) and the packed calls of at most `step` of the chosen variants at a time, in order."""
        with self.reading():
            for start in range(0, len(chosen), step):
                index = chosen[start : start + step]
                yield index, self.read(index)


class PackedArray(Genotypes):
    """Packed calls (m, ⌈n/4⌉) in memory."""

    def __init__(self, packed: Array, people: People, variants: Variants) -> None:
        self._packed, self.people, self.variants = packed, people, variants

    def read(self, index: Array) -> Array:
        """Return the packed calls of some variants."""
        return np.asarray(self._packed[index])


class ChosenVariants(Genotypes):
    """Some of the variants of other genotypes, by their ascending numbers."""

    def __init__(self, whole: Genotypes, index: Array) -> None:
        self._whole, self._index = whole, index
        self.people, self.variants, self.source = whole.people, whole.variants.take(index), whole.source

    def read(self, index: Array) -> Array:
        """Return the packed calls of some of these variants."""
        return self._whole.read(self._index[index])

    def reading(self) -> AbstractContextManager[None]:
        """Return a context in which a file that changes is an error."""
        return self._whole.reading()
