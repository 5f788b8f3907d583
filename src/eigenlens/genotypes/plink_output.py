"""Components of genotypes in the files that PLINK 2 writes: .eigenvec, .eigenval and .eigenvec.var."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.data.genotypes.variants import People
from eigenlens.file_replacement import replace_file
from eigenlens.genotypes.model import GenotypeComponents

CHROMOSOMES = {"23": "X", "24": "Y", "25": "XY", "26": "MT"}
"""Numbers that PLINK 2 writes as names."""

PLINK_SUFFIXES = (".eigenvec", ".eigenval", ".eigenvec.var")


def plink_paths(prefix: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Return the three files of a prefix.

    >>> [path.name for path in plink_paths("people")]
    ['people.eigenvec', 'people.eigenval', 'people.eigenvec.var']
    """
    name = checks.file_name(prefix, "prefix")
    return tuple(checks.target_file(f"{name}{suffix}") for suffix in PLINK_SUFFIXES)


def write_plink(model: GenotypeComponents, prefix: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write the three files of `plink2 --pca biallelic-var-wts`, each whole or not at all, and return their paths."""
    paths = plink_paths(prefix)
    for path, text in zip(paths, plink_texts(model), strict=True):
        replace_file(path, text.encode("utf-8"))
    return paths


def plink_texts(model: GenotypeComponents) -> tuple[str, str, str]:
    """Return the texts of the three files."""
    return eigenvec_text(model.people, model.vectors), eigenval_text(model.values), variant_text(model)


def eigenvec_text(people: People, vectors: Array) -> str:
    """Return the .eigenvec file: people with their eigenvectors (n, k); families are left out where all are "0"."""
    with_family = any(family != "0" for family in people.family)
    heads = [f"{family}\t{name}" if with_family else name for family, name in people.pairs]
    return _lines(["#FID\tIID" if with_family else "#IID", *_axes(vectors.shape[1])], heads, vectors)


def eigenval_text(values: Array) -> str:
    """Return the .eigenval file: one eigenvalue per line.

    >>> eigenval_text(np.array([26.27332, 2.5]))
    '26.2733\\n2.5\\n'
    """
    return "".join(f"{value:.6g}\n" for value in values)


def variant_text(model: GenotypeComponents) -> str:
    """Return the .eigenvec.var file: weights of the rarer allele of each variant, or of two equal ones the counted."""
    variants, swapped = model.variants, model.frequency > 0.5
    major = np.where(swapped, variants.counted, variants.other)
    minor = np.where(swapped, variants.other, variants.counted)
    chromosomes = [CHROMOSOMES.get(name, name) for name in variants.chromosome]
    heads = ["\t".join(parts) for parts in zip(chromosomes, variants.name, major, minor, strict=True)]
    weights = np.where(swapped[:, None], -model.weights, model.weights)
    return _lines(["#CHROM\tID\tMAJ\tNONMAJ", *_axes(weights.shape[1])], heads, weights)


def _axes(k: int) -> list[str]:
    return [f"PC{j + 1}" for j in range(k)]


def _lines(header: Iterable[str], heads: Iterable[str], numbers: Array) -> str:
    pattern = "\t%.6g" * numbers.shape[1] + "\n"
    rows = (head + pattern % tuple(row) for head, row in zip(heads, numbers.tolist(), strict=True))
    return "\t".join(header) + "\n" + "".join(rows)
