"""Totals as bytes: what comes back has the same bits, types and memory order, and nothing else is ever made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from eigenlens.bayes.latent_classes.distinct_rows import DistinctRows
from eigenlens.checkpoint.encode import Unencodable, decode_value, encode_value
from eigenlens.stats.moments import ColumnMoments

ARRAYS = {
    "C order": np.arange(6.0).reshape(2, 3),
    "Fortran order": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "axes exchanged": np.arange(24.0).reshape(2, 3, 4).transpose(1, 2, 0),
    "every other entry": np.arange(10)[::2],
    "no entries": np.empty((0, 3), dtype=np.float32),
    "no axes": np.array(2.5),
    "not finite": np.array([np.nan, np.inf, -np.inf, -0.0]),
    "labels and weights": np.array([(1, 0.5), (2, 1.5)], dtype=[("label", "<i4"), ("weight", "<f8")]),
    "text": np.array(["a", "ß"]),
    "objects": np.array([["a", None], [1, 2.5]], dtype=object),
    "booleans": np.array([True, False]),
}


def copied(value):
    return decode_value(b"".join(encode_value(value)))


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_keep_their_bits_types_and_order(name):
    array = ARRAYS[name]
    found = copied(array)
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.tobytes() == array.tobytes() if array.dtype != object else found.tolist() == array.tolist()
    same_order = found.copy(order="K").strides == array.copy(order="K").strides
    assert same_order
    assert found.flags.writeable


@pytest.mark.parametrize(
    "value",
    [
        0,
        -(10**30),
        True,
        None,
        "ü\0",
        0.1,
        5e-324,
        (1, (2.0,)),
        [],
        {"a": {1: "b"}},
        {1, 2},
        np.float32(0.1),
        np.int64(3),
    ],
)
def test_plain_values_come_back_as_they_were(value):
    found = copied(value)
    assert found == value
    assert type(found) is type(value)


def test_infinities_and_nan_come_back():
    low, nan = copied((-np.inf, np.nan))
    assert low == -np.inf
    assert np.isnan(nan)


def test_values_of_the_package_come_back_without_a_call():
    moments = ColumnMoments.of_observed(np_block())
    found = copied(moments)
    assert type(found) is ColumnMoments
    assert all(np.array_equal(getattr(found, name), value) for name, value in vars(moments).items())
    distinct = DistinctRows(np.array([3]), np.array([1.5]))
    assert type(copied(distinct)) is DistinctRows
    assert copied(distinct).weight == 1.5


def np_block():
    from eigenlens.data.source import Block

    return Block(np.array([[1.0, np.nan], [2.0, 5.0]]))


def test_sparse_rows_come_back():
    rows = sparse.csr_matrix(np.array([[0.0, 1.0], [2.0, 0.0]]))
    found = copied((rows,))[0]
    assert found.format == "csr"
    assert np.array_equal(found.toarray(), rows.toarray())


@dataclass
class Foreign:
    x: int


@pytest.mark.parametrize("value", [Foreign(1), print, lambda: 0, object(), sparse.coo_matrix(np.eye(2))])
def test_what_is_not_of_the_package_has_no_encoding(value):
    with pytest.raises(Unencodable):
        encode_value((1.0, value))


@pytest.mark.parametrize("module", ["os", "builtins", "eigenlens.no_such_module", "eigenlens.errors"])
def test_bytes_cannot_name_other_classes(module):
    import json

    text = json.dumps(["object", module, "system" if module == "os" else "exec", None, ["dict"]]).encode()
    with pytest.raises(ValueError, match="has no"):
        decode_value(len(text).to_bytes(8, "little") + text)
