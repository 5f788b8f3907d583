"""Genotypes by blocks of variants: PLINK's .bed and .pgen files, and arrays of 0, 1, 2 and NaN."""
