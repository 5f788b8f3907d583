"""Sources of rows: arrays, frames, sparse matrices, tensors, files and Dask arrays."""
