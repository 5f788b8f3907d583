"""Text of NumPy's fixed width as codes, by the integers that its bytes are: no string is made but the categories."""

from __future__ import annotations

import numpy as np

from eigenlens.arrays import Array

__all__ = ["fixed_width_codes"]


def fixed_width_codes(values: Array) -> tuple[Array, tuple[str, ...]]:
    """Codes (n,) int32 of text (n,), and the categories that they stand for, in any order.

    >>> fixed_width_codes(np.array(["no", "yes", "no"]))
    (array([0, 1, 0], dtype=int32), ('no', 'yes'))
    """
    words = _words(values)
    codes, _ = _hashed(words[:, 0])
    for word in words.T[1:]:
        inner, count = _hashed(word)
        codes = _hashed(codes * count + inner)[0] if count > 1 else codes
    rows = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.intp)
    rows[codes] = np.arange(len(codes))
    return codes.astype(np.int32), tuple(values[rows].tolist())


def _words(values: Array) -> Array:
    """The letters of text (n,) as words (n, m) of 64 bits, of one byte a letter where that is enough."""
    native = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))
    letters = native.view(np.uint32).reshape(len(values), values.itemsize // 4)
    narrow = letters.astype(np.uint8) if letters.max(initial=0) < 256 else letters
    width = narrow.itemsize * narrow.shape[1]
    padded = np.zeros((len(values), max(1, -(-width // 8)) * 8), dtype=np.uint8)
    padded[:, :width] = narrow.view(np.uint8)
    return padded.view(np.uint64)


def _hashed(values: Array) -> tuple[Array, int]:
    """Integers (n,) as codes from 0 on, and how many are different."""
    try:
        from pandas import factorize
    except ImportError:
        categories, codes = np.unique(values, return_inverse=True)
        return codes.reshape(-1), len(categories)
    codes, categories = factorize(values)
    return codes.astype(np.int64, copy=False), len(categories)
