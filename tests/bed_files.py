"""Simulated genotypes, and the files of PLINK that hold them."""

from __future__ import annotations

import numpy as np

from eigenlens.native.genotypes import pack_codes

CODES = {0: 3, 1: 2, 2: 0}


def simulate(n, m, seed=0, groups=3, fst=0.05, missing=0.0):
    """Return copies (n, m) of people of several populations, NaN where missing, and their populations (n,)."""
    rng = np.random.default_rng(seed)
    p, a = rng.uniform(0.1, 0.9, m), (1.0 - fst) / fst
    frequency, group = rng.beta(p * a, (1.0 - p) * a, (groups, m)), np.arange(n) % groups
    X = rng.binomial(2, frequency[group]).astype(float)
    X[rng.random((n, m)) < missing] = np.nan
    return X, group


def write_bed(folder, X, name="people", *, chromosomes=None, alleles=None, ids=None, people=None, positions=None):
    """Write people and variants as .bed, .bim and .fam, and return the path of the first."""
    n, m = X.shape
    chromosomes = ["1"] * m if chromosomes is None else chromosomes
    alleles = [("A", "G")] * m if alleles is None else alleles
    ids = [f"rs{j}" for j in range(m)] if ids is None else ids
    people = [(f"f{i}", f"p{i}") for i in range(n)] if people is None else people
    positions = [1000 * (j + 1) for j in range(m)] if positions is None else positions
    codes = np.ones((m, n), dtype=np.uint8)
    for copies, code in CODES.items():
        codes[copies == X.T] = code
    path = folder / f"{name}.bed"
    path.write_bytes(b"\x6c\x1b\x01" + pack_codes(codes).tobytes())
    lines = zip(chromosomes, ids, positions, alleles, strict=True)
    path.with_suffix(".bim").write_text("".join(f"{c}\t{i}\t0\t{p}\t{a}\t{b}\n" for c, i, p, (a, b) in lines))
    path.with_suffix(".fam").write_text("".join(f"{f}\t{i}\t0\t0\t0\t-9\n" for f, i in people))
    return path


def slow_relationships(X, pairwise=True):
    """Return the relationship matrix by a double loop over people."""
    p = np.nanmean(X, axis=0) / 2.0
    used = (p > 0.0) & (p < 1.0)
    Z = (X[:, used] - 2.0 * p[used]) / np.sqrt(2.0 * p[used] * (1.0 - p[used]))
    seen = ~np.isnan(Z)
    Z = np.where(seen, Z, 0.0)
    G = np.empty((len(X), len(X)))
    for i in range(len(X)):
        for k in range(len(X)):
            G[i, k] = Z[i] @ Z[k] / ((seen[i] & seen[k]).sum() if pairwise else used.sum())
    return G, Z
