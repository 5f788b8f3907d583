"""Rows from files: delimited text, Parquet, Arrow and .npy."""
