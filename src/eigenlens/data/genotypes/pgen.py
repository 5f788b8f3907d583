"""PLINK 2's .pgen files, by the library pgenlib: their hard calls."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.files.paths import Stamp, check_unchanged
from eigenlens.data.genotypes.base import Genotypes
from eigenlens.data.genotypes.variants import beside, read_psam, read_pvar
from eigenlens.errors import DataError, MissingExtra
from eigenlens.native.genotypes import pack_codes

CODE_OF_COPIES = np.array([3, 2, 0, 1], dtype=np.uint8)
"""The code for 0, 1 and 2 copies of the counted allele, and for −9, a missing call, at the place 3."""


class PgenGenotypes(Genotypes):
    """The people of a .pgen file, with .pvar and .psam beside it; copies of the alternative allele are counted."""

    def __init__(self, path: Path) -> None:
        try:
            import pgenlib
        except ImportError:
            raise MissingExtra("pgenlib", extra="genotypes", need="reading .pgen files") from None
        if beside(path, ".psam") and path.with_suffix(".pvar.zst").exists():
            fix = "decompress it first: plink2 --zst-decompress"
            raise DataError(f"'{path.with_suffix('.pvar.zst')}' is compressed", fix=fix)
        self.people, self.variants, self.source = read_psam(path), read_pvar(path).named(), f"'{path}'"
        self._stamps = tuple(Stamp.of(path.with_suffix(suffix)) for suffix in (".pgen", ".pvar", ".psam"))
        try:
            self._reader = pgenlib.PgenReader(str(path).encode(), raw_sample_ct=len(self.people))
        except RuntimeError as error:
            raise DataError(
                f"'{path}' cannot be read ({str(error).strip()})", fix="write it again with plink2"
            ) from None
        have, need = int(self._reader.get_variant_ct()), len(self.variants)
        if have != need:
            what = f"'{path}' has {have:,} variants, and its .pvar file {need:,}"
            raise DataError(what, fix="give the .pvar and .psam files that were written with it")

    def reading(self) -> AbstractContextManager[None]:
        """Return a context in which a file that changes is an error."""
        return check_unchanged(self._stamps)

    def read(self, index: Array) -> Array:
        """Return the packed calls of some variants."""
        copies = np.empty((len(index), self.n), dtype=np.int8)
        self._reader.read_list(np.ascontiguousarray(index, dtype=np.uint32), copies)
        return pack_codes(CODE_OF_COPIES[np.where(copies < 0, 3, copies)])
