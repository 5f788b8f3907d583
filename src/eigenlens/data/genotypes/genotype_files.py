"""Genotypes of any kind: files by their suffixes, and rows of 0, 1, 2 and NaN in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.files.other_formats import unknown_format
from eigenlens.data.files.paths import expand_paths
from eigenlens.data.genotypes.base import Genotypes, PackedArray
from eigenlens.data.genotypes.bed_file import BedFile, BedGenotypes
from eigenlens.data.genotypes.pgen import PgenGenotypes
from eigenlens.data.genotypes.variants import People, Variants
from eigenlens.data.source import Source
from eigenlens.errors import DataError
from eigenlens.native.genotypes import pack_codes


def _open_bed(paths: Sequence[Path]) -> Genotypes:
    return BedGenotypes([BedFile.of(path) for path in paths])


def _open_pgen(paths: Sequence[Path]) -> Genotypes:
    if len(paths) > 1:
        fix = "merge them first: plink2 --pmerge-list"
        raise DataError(f"{len(paths)} .pgen files are given, and one is read at a time", fix=fix)
    return PgenGenotypes(paths[0])


GENOTYPE_FORMATS: dict[str, Callable[[Sequence[Path]], Genotypes]] = {".bed": _open_bed, ".pgen": _open_pgen}
"""Formats of genotypes by their suffixes."""


def is_genotype_path(path: Any) -> bool:
    """Return whether a path, or the first of a list of them, names a file of genotypes by its suffix.

    >>> is_genotype_path("people.bed"), is_genotype_path(["a.bed", "b.bed"]), is_genotype_path([[0, 1]])
    (True, True, False)
    """
    first = path[0] if isinstance(path, list | tuple) and path else path
    return isinstance(first, str | os.PathLike) and Path(first).suffix.lower() in GENOTYPE_FORMATS


def open_genotypes(path: Any) -> Genotypes:
    """Return the genotypes of files: a path, a pattern or a list of them, all of one format."""
    paths = expand_paths(path, GENOTYPE_FORMATS)
    suffixes = sorted({each.suffix.lower() for each in paths})
    other = next((each for each in paths if each.suffix.lower() not in GENOTYPE_FORMATS), None)
    if other is not None:
        raise unknown_format(other, list(GENOTYPE_FORMATS))
    if len(suffixes) > 1:
        kinds = " or ".join(GENOTYPE_FORMATS)
        raise DataError(
            f"'{paths[-1]}' is not a file of genotypes like the others", fix=f"give files of one kind, {kinds}"
        )
    return GENOTYPE_FORMATS[suffixes[0]](paths)


def pack_rows(source: Source) -> Genotypes:
    """Return rows (n, m) of 0, 1, 2 and NaN, copies of an allele, as packed genotypes; other values are an error."""
    blocks = [_codes(rows, source) for rows in source.rows()]
    if not blocks:
        raise DataError("has 0 rows; at least 1 is needed", argument="X")
    codes = np.concatenate(blocks) if len(blocks) > 1 else blocks[0]
    people, variants = People.numbered(len(codes)), Variants.numbered(codes.shape[1], source.names)
    return PackedArray(pack_codes(np.ascontiguousarray(codes.T)), people, variants)


def _codes(rows: Any, source: Source) -> Array:
    """Return the codes (b, m) of copies: 3, 2 and 0 for 0, 1 and 2 copies, 1 for NaN."""
    X = np.asarray(rows.todense() if hasattr(rows, "todense") else rows)
    with np.errstate(invalid="ignore"):
        valid = (X == 0) | (X == 1) | (X == 2)
    missing = np.isnan(X)
    odd = ~(valid | missing)
    if odd.any():
        _, j = np.argwhere(odd)[0]
        name = j if source.names is None else repr(source.names[j])
        what = f"has {X[odd][0]:g} in column {name}, and genotypes are 0, 1 or 2 copies of an allele, NaN if missing"
        raise DataError(
            what, argument="X", fix="round dosages first, or use PCA(standardize=True), which takes any numbers"
        )
    return np.where(missing, 1, np.where(valid, np.array([3, 2, 0])[np.where(valid, X, 0).astype(np.intp)], 1)).astype(
        np.uint8
    )


def genotypes_of_source(source: Any) -> Genotypes | None:
    """Return the genotypes that `scan` of .bed files means, with the columns chosen there; None for other rows."""
    reader = getattr(source, "genotypes", None)
    return None if reader is None else reader()
