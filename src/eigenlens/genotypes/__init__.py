"""Principal components of genotypes: ancestry from single-nucleotide variants, as geneticists compute it."""
