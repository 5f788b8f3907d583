"""Array libraries and the dtype policy: NumPy by default, arrays of other libraries where they are given.

float32 in gives float32 out; everything else is computed in float64. Sums are always float64.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from eigenlens.errors import DataError, EigenlensError, MissingExtra
from eigenlens.workers import compute_chunks

Array = np.ndarray[Any, np.dtype[Any]]

MIN_PINNED_BYTES, MAX_PINNED_BYTES = 1 << 18, 1 << 27
"""Tensors between these sizes come from a CUDA device into pinned memory, into which its copies are fastest; PyTorch
keeps that memory for later, so larger ones have none."""


def is_integer(rows: Any) -> bool:
    """Return whether rows are an array of integers or booleans, which can be used as codes."""
    return isinstance(rows, np.ndarray) and rows.dtype.kind in "iub"


def is_plain(x: Any) -> bool:
    """Return whether x is an array of NumPy's own kind, or of a file; masked arrays and matrices are other kinds."""
    return type(x) is np.ndarray or isinstance(x, np.memmap)


TENSORS = {"torch.Tensor", "cupy.ndarray", "array_api_strict.Array"}
"""Array types of other libraries on which computations run directly.

array-api-strict has the functions of the array API standard and nothing else: code that runs with it needs no other.
"""


def is_tensor(x: Any) -> bool:
    """Return whether x is one of `TENSORS`, or of a class derived from one; no library is imported to find out."""
    kind: Any = type(x)
    return _is_tensor_class(kind)


@functools.lru_cache
def _is_tensor_class(kind: type) -> bool:
    return any(f"{base.__module__.split('.')[0]}.{base.__name__}" in TENSORS for base in kind.__mro__)


def is_sparse(x: Any) -> bool:
    """Return whether x is a SciPy sparse matrix or array. SciPy is not imported to find out."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(x))


def namespace(x: Any) -> Any:
    """Return the array-API namespace of x, so that one expression serves every library."""
    if isinstance(x, np.ndarray):
        return np
    try:
        import array_api_compat
    except ImportError as error:
        raise MissingExtra("array-api-compat", extra="torch", need=f"an array of type {type(x).__name__}") from error
    return array_api_compat.array_namespace(x)


def dimensions(x: Any) -> int | None:
    """Return the number of dimensions of an array or a frame; None for anything else, modules and classes too.

    >>> dimensions(np.eye(2)), dimensions([1.0]), dimensions(np)
    (2, None, None)
    """
    found = getattr(x, "ndim", None)
    return found if isinstance(found, int) else None


def check_tensor(x: Any, argument: str = "X") -> None:
    """Raise for a tensor whose numbers cannot be read: sparse, quantised, or on a device without any."""
    if "sparse" in str(getattr(x, "layout", "")):
        fix = f"give it as a SciPy sparse matrix, or as {argument}.to_dense()"
        raise DataError("is a sparse tensor", argument=argument, fix=fix)
    if getattr(x, "is_quantized", False):
        raise DataError("is a quantised tensor", argument=argument, fix=f"give it as {argument}.dequantize()")
    if "meta" in str(getattr(x, "device", "")):
        what = "is a tensor on the device 'meta', which holds no numbers"
        raise DataError(what, argument=argument, fix="give it numbers")


def check_indices(X: Any, argument: str = "X") -> None:
    """Raise if a compressed sparse matrix stores entries outside its shape, where SciPy would write to foreign memory.

    SciPy checks indices when a matrix is made, not when its arrays are changed or replaced. Cost: one pass over them.
    """
    if getattr(X, "format", "") not in ("csr", "csc", "bsr"):
        return
    size = X.shape[X.format != "csc"] // getattr(X, "blocksize", (1, 1))[1]
    ends = np.asarray(X.indptr)
    ordered = ends[0] == 0 and ends[-1] <= min(len(X.indices), len(X.data)) and np.all(ends[:-1] <= ends[1:])
    if not ordered or X.indices.max(initial=-1) >= size or X.indices.min(initial=0) < 0:
        what = f"is a sparse matrix of shape {X.shape} with entries stored outside it"
        raise DataError(what, argument=argument, fix="make it again from its entries: X.check_format() says which")


READING_ERRORS = (RuntimeError, LookupError, AttributeError)
"""What objects of other libraries raise, besides TypeError and ValueError, where they are read as an array."""


def to_numpy(x: Any, argument: str = "X") -> Array:
    """Return x as a NumPy array on the host, without a copy where possible; an error about it names the argument.

    >>> to_numpy([1.0, 2.0])
    array([1., 2.])
    """
    if type(x) is np.ndarray:
        return x
    if is_tensor(x) and hasattr(x, "detach"):
        check_tensor(x, argument)
        return np.asarray(_fetch(x.float() if "bfloat16" in str(x.dtype) else x))
    if hasattr(x, "dask") and x.ndim == 1:
        return np.concatenate([np.asarray(part) for part in compute_chunks(x)])
    try:
        return np.asarray(x.get() if is_tensor(x) and hasattr(x, "get") else _as_known_to_numpy(x))
    except READING_ERRORS as error:
        if isinstance(error, EigenlensError):
            raise
        what = f"is a {type(x).__name__} that gives no array ({type(error).__name__}: {error})"
        raise DataError(what, argument=argument, fix="give its numbers as an array") from error


def _fetch(x: Any) -> Any:
    """Return a tensor of PyTorch in host memory: pinned, which CUDA devices write fastest, unless small or huge."""
    if x.device.type != "cuda" or not MIN_PINNED_BYTES <= x.nbytes <= MAX_PINNED_BYTES:
        return x.detach().cpu()
    import torch

    return torch.empty(x.shape, dtype=x.dtype, pin_memory=True).copy_(x.detach())


def _as_known_to_numpy(x: Any) -> Any:
    """Return a column of Polars with integers of 128 bits, which NumPy does not know, as floats; others unchanged."""
    return x.cast(float) if has_wide_integers(x) else x


def has_wide_integers(x: Any) -> bool:
    """Return whether a column of Polars holds integers of 128 bits, which NumPy does not know."""
    return str(getattr(x, "dtype", "")) in ("Int128", "UInt128")


def as_host(rows: Any) -> Any:
    """Return a tensor as a NumPy array on the host, and anything else unchanged."""
    return to_numpy(rows) if is_tensor(rows) else rows


def dense(rows: Any) -> Array:
    """Return rows of any kind, NumPy, sparse or tensor, as a dense float64 array; a copy only where one is needed.

    >>> from scipy import sparse
    >>> dense(sparse.csr_matrix(np.eye(2)))
    array([[1., 0.], [0., 1.]])
    """
    return np.asarray(rows.toarray() if is_sparse(rows) else to_numpy(rows), dtype=np.float64)


def as_floats(rows: Any) -> Array:
    """Return rows of any kind as a dense array of float32 or float64; a copy only where one is needed."""
    X = dense(rows) if is_sparse(rows) else to_numpy(rows)
    return np.asarray(X, dtype=working_dtype(X.dtype))


def working_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype of computations: float32 for float32, float64 for everything else.

    >>> working_dtype(np.float32), working_dtype(np.int16)
    (dtype('float32'), dtype('float64'))
    """
    return np.dtype(np.float32) if np.dtype(dtype) == np.float32 else np.dtype(np.float64)


def slices(n: int, step: int) -> Iterator[slice]:
    """Yield consecutive ranges of at most `step` out of n.

    >>> list(slices(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def overwrite(function: str, x: Any, *arguments: Any) -> Any:
    """Return the function of this name applied to each entry, written over x where its library allows that.

    Gram matrices fill the memory: a second one for the result would not fit. The standard has no such argument.
    """
    xp = namespace(x)
    place = {} if "strict" in xp.__name__ else {"out": x}
    return getattr(xp, function)(x, *arguments, **place)


def read_only(value: Any, *names: str) -> None:
    """Make array attributes of a frozen dataclass read-only views, so that the value cannot be changed by them."""
    for name in names:
        array = np.asarray(getattr(value, name)).view()
        array.flags.writeable = False
        object.__setattr__(value, name, array)


def _is_float32(dtype: Any) -> bool:
    return bool(dtype == np.float32) if isinstance(dtype, np.dtype) else "float32" in str(dtype)


class Like:
    """The library, device and dtype of an array, into which NumPy results are converted.

    Without a dtype, that of x: float32 if it is, else float64.
    """

    def __init__(self, x: Any, dtype: np.dtype[Any] | None = None) -> None:
        single = dtype is None and _is_float32(x.dtype)
        self.dtype: np.dtype[Any] = dtype or np.dtype(np.float32 if single else np.float64)
        # The name of the library, not the library itself, which could not be pickled.
        self._library: str | None = namespace(x).__name__ if is_tensor(x) else None
        self._device = x.device if self._library is not None else None

    def __call__(self, result: Any) -> Any:
        """Return a NumPy array in this dtype, library and device."""
        result = np.asarray(result)
        fits = np.abs(result).max(initial=0.0) <= np.finfo(self.dtype).max  # a variance may overflow float32
        return self.exact(np.asarray(result, dtype=self.dtype if fits else None))

    def exact(self, result: Any) -> Any:
        """Return a NumPy array in its own dtype, in this library and on this device; text, and frames, unchanged."""
        if self._library is None or not isinstance(result, np.ndarray) or result.dtype.kind not in "fiub":
            return result
        library = importlib.import_module(self._library)
        return library.asarray(np.array(result), device=self._device)
