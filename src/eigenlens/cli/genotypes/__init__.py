"""Genotypes on the command line: people as rows of a table, and the files of PLINK beside a model."""
