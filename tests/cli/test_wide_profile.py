"""Profiles of tables with hundreds of columns are those that the cells of each column give."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

import eigenlens
from eigenlens.cli import column_profile

N, D = 40, 600
FACTS = ("rows", "missing", "numbers", "flags", "integers", "least", "greatest", "infinite", "whole", "increasing")


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(2)
    cells = np.char.mod("%.3f", rng.normal(size=(N, D))).astype(object)
    cells[:, 0] = [f"person {i}" for i in range(N)]
    cells[:, 100] = np.char.mod("%d", rng.integers(0, 3, N))
    cells[:, 200] = "7.5"
    cells[:, 300] = [str(i / 2) for i in range(N)]
    cells[:, 400] = ""
    cells[3:9, 500], cells[0, 501], cells[N - 1, 502], cells[4, 503] = "", "NA", "", "inf"
    cells[:, 504] = [""] * (N - 1) + ["1.5"]
    lines = [[f"c{j}" for j in range(D)], *cells.tolist()]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(",".join(line) for line in lines) + "\n")
    return path


@pytest.mark.parametrize("rows", [None, 10])
def test_profiles_are_those_of_the_cells(file, rows):
    found, n = column_profile.profile_columns(eigenlens.scan(file), rows)
    with mock.patch.object(column_profile, "MIN_WIDE_COLUMNS", 10**9):
        expected, m = column_profile.profile_columns(eigenlens.scan(file), rows)
    assert n == m == (N if rows is None else rows)
    for one, other in zip(found, expected, strict=True):
        assert {fact: getattr(one, fact) for fact in FACTS} == {fact: getattr(other, fact) for fact in FACTS}
        assert (one.type, min(len(one.values), 2)) == (other.type, min(len(other.values), 2))
        assert (one.last, one.step, one.total) == pytest.approx((other.last, other.step, other.total), rel=1e-12)
        assert one.evenly_spaced == other.evenly_spaced
    assert list(found[100].values) == list(expected[100].values)


def test_the_profile_of_a_table_for_categories_is_the_same(file):
    """Models that take categories read blocks of mixed rows."""
    expected, n = column_profile.profile_columns(eigenlens.scan(file))
    found, m = column_profile.profile_columns(eigenlens.scan(file).table())
    assert n == m
    for one, other in zip(found[100:], expected[100:], strict=True):
        assert {fact: getattr(one, fact) for fact in FACTS} == {fact: getattr(other, fact) for fact in FACTS}
