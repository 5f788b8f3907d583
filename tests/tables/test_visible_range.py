"""Which part of an axis is shown: nearly all of the mass, whatever a row far off does."""

from __future__ import annotations

import numpy as np
import pytest

from eigenlens import GaussianMixture, KernelDensity
from eigenlens.densities import Gaussian
from eigenlens.kde import tables as density_tables
from eigenlens.mixture import tables as mixture_plane
from eigenlens.mixture import tables as mixture_tables
from eigenlens.plot._kde import density, density_contours
from eigenlens.plot._mixture import mixture_density
from eigenlens.tables.rows import count_outside, shortest_interval, visible_range

FAR = np.random.default_rng(0).standard_normal((200, 2))
FAR[0] = [1e6, -1e6]


def shortest(values, weight, share):
    """The slow twin: the length of the shortest of all intervals between two values that hold enough."""
    held = [
        (b - a, weight[(values >= a) & (values <= b)].sum()) for a in values for b in values if b >= a
    ]  # fmt: skip
    return min(length for length, mass in held if mass >= share * weight.sum() * (1.0 - 1e-9))


@pytest.mark.few(10)
@pytest.mark.parametrize("seed", range(40))
def test_the_smallest_range_is_that_of_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 14))
    values, weight = rng.integers(0, 12, n).astype(float), rng.integers(1, 5, n).astype(float)
    share = rng.uniform(0.1, 1.0)
    low, high = shortest_interval(values, weight, share)
    assert high - low == shortest(values, weight, share)
    assert weight[(values >= low) & (values <= high)].sum() >= share * weight.sum() * (1.0 - 1e-9)


def test_weights_are_copies():
    values, weight = FAR[:, 0], np.random.default_rng(1).integers(1, 4, 200)
    assert shortest_interval(values, weight, 0.9) == shortest_interval(np.repeat(values, weight), None, 0.9)
    assert visible_range(values, weight) == visible_range(np.repeat(values, weight))


@pytest.mark.parametrize(
    ("values", "cut"),
    [
        (FAR[1:, 0], False),
        (FAR[:, 0], True),
        (np.append(FAR[1:20, 0], 1e6), True),  # one of twenty, more than half a per cent
        (np.append(FAR[1:, 0], [60.0] * 6), False),  # three per cent are rows that count
        (np.append(np.zeros(990), [1e5] * 10), False),  # nearly all alike: there is nothing to see but the others
        (np.exp(FAR[1:, 0]), False),
        (np.array([3.0]), False),
        (np.array([0.0, 1e9]), False),
    ],
)
def test_only_stray_rows_are_left_out(values, cut):
    found = visible_range(values)
    assert (found != (values.min(), values.max())) == cut
    assert count_outside(values[:, None], *np.array(found)[:, None]) == cut


def test_a_row_of_great_weight_is_not_left_out():
    weight = np.ones(200)
    weight[0] = 20.0
    assert visible_range(FAR[:, 0], weight)[1] == 1e6


# ---- what is drawn ------------------------------------------------------------------------------------------


def test_a_curve_is_seen_beside_a_row_far_off():
    model = KernelDensity().fit(FAR[:, :1])
    table = density_tables.density(model)
    assert np.trapezoid(table.values, table.x) == pytest.approx(0.995, abs=2e-3)
    assert np.ptp(table.x) < 12.0
    assert table.beyond == 1
    ax = density(model)
    assert ax.get_xlim()[1] < 10.0
    assert "1 row lies far off" in ax.get_title(loc="left")
    assert density_tables.density(KernelDensity().fit(FAR[1:, :1])).beyond == 0


def test_new_rows_far_off_leave_the_curve_as_it_is():
    model = KernelDensity(bandwidth=0.4).fit(FAR[1:, :1])
    assert density_tables.density(model, FAR[:, :1]).beyond == 1
    assert np.ptp(density_tables.density(model, FAR[:, :1]).x) < 12.0


@pytest.mark.parametrize("make", [lambda: KernelDensity().fit(FAR), lambda: Gaussian.fit(FAR[1:])])
def test_regions_are_seen_beside_a_row_far_off(make):
    model = make()
    table = density_tables.masses_of_plane(model, FAR)
    assert table.mass.covered > 0.99
    assert np.isfinite(table.mass.levels).all()
    assert table.beyond == 1
    title = density_contours(model, FAR).get_title(loc="left")
    assert "1 row lies far off" in title
    assert "the grid holds" not in title


@pytest.mark.filterwarnings("ignore:.*collapsed")
def test_a_component_of_one_row_far_off_does_not_hide_the_others():
    model = GaussianMixture(2, random_state=0).fit(FAR[:, :1])
    assert model.weights_.min() == pytest.approx(0.005)
    table = mixture_tables.line(model, FAR[:, :1])
    assert np.trapezoid(table.density, table.x) == pytest.approx(0.995, abs=2e-3)
    assert table.heights @ np.diff(table.edges) == pytest.approx(0.995)
    assert table.beyond == 1
    assert "1 row lies far off" in mixture_density(model, FAR[:, :1]).get_title(loc="left")
    by_density = density_tables.density(model)
    assert np.trapezoid(by_density.values, by_density.x) == pytest.approx(0.995, abs=2e-2)


def test_rows_far_off_are_counted_in_bins_without_an_end():
    edges, counts = mixture_plane.weighted_bins(FAR[:, 1], None)
    assert np.isneginf(edges[0])
    assert np.isfinite(edges[1:]).all()
    assert (counts[0], counts.sum()) == (1.0, 200.0)
