"""Rotations: R's and GPArotation's numbers, the laws they obey, and slow twins that find the same optimum."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linear_sum_assignment, minimize
from scipy.stats import ortho_group

from eigenlens.errors import OptionError
from eigenlens.linalg.spectrum import orient
from eigenlens.rotation import ROTATIONS, Rotation, geomin, oblimin, orthomax, promax, quartimax, rotate, varimax
from references import psych
from references import rotations as numbers

TO_THE_TOP = ROTATIONS | {name: partial(ROTATIONS[name], polish=True) for name in ("varimax", "promax")}
"""The rotations, none of them stopped where R stops."""

ORTHOGONAL = {name: TO_THE_TOP[name] for name in ("varimax", "quartimax", "equamax")}
FITS = ["ABILITY_2", "HARMAN_4", "HARMAN_5"]

SIMPLE = np.array(
    [[0.9, 0, 0], [0.8, 0, 0], [0.85, 0, 0], [0, 0.75, 0], [0, 0.7, 0], [0, 0.72, 0], [0, 0, 0.6], [0, 0, 0.5]]
)
PHI = np.array([[1.0, 0.4, 0.3], [0.4, 1.0, -0.2], [0.3, -0.2, 1.0]])


def of(fit, rotation):
    return getattr(numbers, f"{fit}_{rotation}")


def matched(found, wanted):
    """The columns of `found` in the order and with the signs that come nearest to `wanted`."""
    products = wanted.T @ found
    _, order = linear_sum_assignment(-np.abs(products))
    return found[:, order] * np.sign(products[np.arange(len(order)), order])


def loadings(d=12, k=3, seed=0):
    return np.random.default_rng(seed).standard_normal((d, k))


def gamma_of(name, k):
    return {"quartimax": 0.0, "varimax": 1.0, "equamax": k / 2}[name]


def orthomax_value(L, T, gamma):
    """The definition, in loops."""
    B = L @ T / np.linalg.norm(L, axis=1, keepdims=True)
    d, k = B.shape
    return sum(
        sum(B[i, j] ** 4 for i in range(d)) - gamma / d * sum(B[i, j] ** 2 for i in range(d)) ** 2 for j in range(k)
    )


def oblimin_value(L, T, gamma):
    """The definition, in loops."""
    B = L @ np.linalg.inv(T).T
    d, k = B.shape
    pairs = [(j, l) for j in range(k) for l in range(k) if j != l]
    S = B**2
    return 0.25 * sum(S[:, j] @ S[:, l] - gamma / d * S[:, j].sum() * S[:, l].sum() for j, l in pairs)


# ---- numbers of others ------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit", FITS)
def test_stopped_where_r_stops_the_loadings_are_those_of_r(fit, accuracy):
    L, what, close = of(fit, "NONE"), f"rotation of R's loadings, {fit}", {"system": "R 4.2.2, factanal", "atol": 1e-7}
    wanted = of(fit, "VARIMAX")
    accuracy.close(f"{what}: varimax", matched(varimax(L).loadings, wanted), wanted, **close)
    found, wanted = promax(L), of(fit, "PROMAX")
    accuracy.close(f"{what}: promax", matched(found.loadings, wanted), wanted, **close)
    U = of(fit, "PROMAX_U")
    upper = np.triu_indices(len(U), 1)
    ours, theirs = (np.sort(np.abs(phi[upper])) for phi in (found.correlations, np.linalg.inv(U.T @ U)))
    accuracy.close(f"{what}: promax, correlations of the factors", ours, theirs, **close)


@pytest.mark.parametrize(("fit", "short"), [("ABILITY_2", 3.1e-3), ("HARMAN_4", 1e-4), ("HARMAN_5", 2.7e-3)])
def test_the_maximum_is_higher_than_where_r_stops_and_where_its_iteration_would_lead(fit, short):
    L, stopped = of(fit, "NONE"), of(fit, "VARIMAX")
    best = varimax(L, polish=True)
    assert_allclose(matched(best.loadings, stopped), stopped, atol=short)
    assert_allclose(matched(promax(L, polish=True).loadings, of(fit, "PROMAX")), of(fit, "PROMAX"), atol=2e-3)
    assert best.criterion > orthomax_value(stopped, np.eye(L.shape[1]), 1.0)
    B, T = L / np.linalg.norm(L, axis=1, keepdims=True), np.eye(L.shape[1])
    for _ in range(300):  # R's iteration, not stopped
        U, _, Vt = np.linalg.svd(B.T @ ((B @ T) ** 3 - B @ T * np.mean((B @ T) ** 2, axis=0)))
        T = U @ Vt
    assert_allclose(matched(L @ T, best.loadings), best.loadings, atol=1e-7)


def test_quartimin_and_quartimax_of_gparotation(accuracy):
    what, system = "rotation of eight physical variables", "GPArotation"
    wanted = numbers.PHYSICAL_QUARTIMIN
    found = oblimin(numbers.PHYSICAL_QUARTIMAX @ ortho_group.rvs(2, random_state=1))
    accuracy.close(f"{what}: quartimin", found.loadings, wanted, system=system, atol=1e-6)
    between, theirs = found.correlations[0, 1], numbers.PHYSICAL_CORRELATION
    accuracy.close(f"{what}: quartimin, correlation of the factors", between, theirs, system=system, atol=1e-7)
    wanted = numbers.PHYSICAL_QUARTIMAX
    found = quartimax(wanted @ ortho_group.rvs(2, random_state=2), kaiser=False)
    accuracy.close(f"{what}: quartimax", found.loadings, wanted, system=system, atol=1e-7)


# ---- laws -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ROTATIONS)
@pytest.mark.parametrize(("d", "k"), [(12, 3), (30, 6), (7, 2), (5, 5)])
def test_the_model_is_not_changed(name, d, k):
    L = loadings(d, k)
    found = ROTATIONS[name](L)
    T, Phi = found.matrix, found.correlations
    assert found.converged
    assert_allclose(found.loadings @ Phi @ found.loadings.T, L @ L.T, atol=1e-12 * d)
    assert_allclose(found.loadings, L @ np.linalg.inv(T).T, atol=1e-11)
    assert_allclose(Phi, T.T @ T, atol=1e-14)
    assert_allclose(np.diag(Phi), 1.0, rtol=0, atol=0)
    assert_allclose(found.structure, L @ T, atol=1e-11)
    assert np.linalg.eigvalsh(Phi)[0] > 0.0


@pytest.mark.parametrize("name", ORTHOGONAL)
def test_orthogonal_rotations_are_orthogonal(name):
    T = ORTHOGONAL[name](loadings(40, 7)).matrix
    assert_allclose(T.T @ T, np.eye(7), atol=1e-14)


@pytest.mark.parametrize("name", ORTHOGONAL)
def test_no_rotation_has_a_higher_criterion(name):
    L = loadings(15, 4, seed=3)
    found, gamma = ORTHOGONAL[name](L, n_starts=5, rng=np.random.default_rng(0)), gamma_of(name, 4)
    assert_allclose(found.criterion, orthomax_value(L, found.matrix, gamma), rtol=1e-12)
    others = [np.eye(4), *ortho_group.rvs(4, 200, random_state=0)]
    assert found.criterion > max(orthomax_value(L, T, gamma) for T in others)
    rng = np.random.default_rng(1)
    for _ in range(20):  # nor does a small turn away from it lead up
        S = rng.standard_normal((4, 4)) * 1e-3
        nearby = found.matrix @ np.linalg.qr(np.eye(4) + S - S.T)[0]
        assert orthomax_value(L, nearby, gamma) < found.criterion + 1e-12


@pytest.mark.parametrize("gamma", [0.0, -1.0, 0.3])
def test_oblimin_is_where_a_general_optimiser_ends(gamma):
    L = SIMPLE @ np.linalg.cholesky(PHI) + 0.08 * loadings(8, 3, seed=1)
    found = oblimin(L, gamma=gamma)
    assert_allclose(found.criterion, oblimin_value(L, found.matrix, gamma), atol=1e-13)

    def value(t):
        T = t.reshape(3, 3)
        return oblimin_value(L, T / np.linalg.norm(T, axis=0), gamma)

    start = varimax(L).matrix
    twin = minimize(value, start.ravel(), method="BFGS", options={"gtol": 1e-7})
    T = twin.x.reshape(3, 3) / np.linalg.norm(twin.x.reshape(3, 3), axis=0)
    assert found.criterion <= twin.fun + 1e-10
    assert_allclose(matched(L @ np.linalg.inv(T).T, found.loadings), found.loadings, atol=1e-4)


@pytest.mark.parametrize("name", ROTATIONS)
def test_a_perfect_simple_structure_is_found(name):
    found = TO_THE_TOP[name](SIMPLE @ ortho_group.rvs(3, random_state=5), n_starts=4, rng=np.random.default_rng(0))
    assert_allclose(found.loadings, SIMPLE, atol=1e-7)
    assert_allclose(found.correlations, np.eye(3), atol=1e-6)


def test_oblimin_finds_a_perfect_simple_structure_of_correlated_factors():
    found = oblimin(SIMPLE @ np.linalg.cholesky(PHI))
    assert_allclose(found.loadings, SIMPLE, atol=1e-6)
    assert_allclose(found.correlations, PHI, atol=1e-6)
    assert_allclose(found.criterion, 0.0, atol=1e-12)


@pytest.mark.parametrize("name", ROTATIONS)
def test_how_the_loadings_were_turned_before_does_not_matter(name):
    L = of("HARMAN_4", "NONE")
    turned = L @ ortho_group.rvs(4, random_state=2)
    assert_allclose(TO_THE_TOP[name](turned).loadings, TO_THE_TOP[name](L).loadings, atol=1e-6)


@pytest.mark.parametrize("name", ROTATIONS)
def test_factors_are_ordered_and_signed(name):
    found = ROTATIONS[name](loadings(20, 4, seed=8))
    assert np.all(np.diff(np.sum(found.loadings**2, axis=0)) <= 0.0)
    assert_allclose(orient(found.loadings), found.loadings, rtol=0, atol=0)


@pytest.mark.parametrize("name", sorted(set(ROTATIONS) - {"promax"}))  # which normalises only inside its varimax
def test_kaiser_makes_rows_count_the_same_whatever_their_length(name):
    L = loadings(12, 3)
    lengths = np.random.default_rng(1).uniform(0.1, 10.0, (12, 1))
    once, scaled = (ROTATIONS[name](A, kaiser=True) for A in (L, L * lengths))
    assert_allclose(matched(once.loadings * lengths, scaled.loadings), scaled.loadings, atol=1e-6)


# ---- edges ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ROTATIONS)
def test_one_factor_stays_as_it_is(name):
    L = orient(loadings(6, 1))
    found = ROTATIONS[name](L)
    assert_allclose(found.loadings, L, rtol=0, atol=0)
    assert_allclose(found.matrix, [[1.0]])
    assert found.converged


@pytest.mark.parametrize("name", ROTATIONS)
def test_a_variable_without_communality_stays_at_zero(name):
    L = np.insert(SIMPLE @ ortho_group.rvs(3, random_state=5), 3, 0.0, axis=0)
    found = TO_THE_TOP[name](L)
    assert_allclose(found.loadings[3], 0.0, atol=0)
    assert_allclose(np.delete(found.loadings, 3, axis=0), SIMPLE, atol=1e-6)


@pytest.mark.parametrize("name", ROTATIONS)
def test_factors_that_load_on_nothing_are_left_at_the_end(name):
    L = np.column_stack([SIMPLE[:, :2] @ ortho_group.rvs(2, random_state=1), np.zeros(8)])
    found = ROTATIONS[name](L @ ortho_group.rvs(3, random_state=0))
    assert_allclose(found.loadings, SIMPLE * [1.0, 1.0, 0.0], atol=1e-6)
    assert_allclose(found.correlations, np.eye(3), atol=1e-6)


@pytest.mark.parametrize("name", ROTATIONS)
def test_no_loadings_at_all(name):
    found = ROTATIONS[name](np.zeros((4, 2)))
    assert_allclose(found.loadings, 0.0, atol=0)
    assert_allclose(found.matrix.T @ found.matrix, np.eye(2), atol=1e-15)


@pytest.mark.parametrize("name", sorted({*ROTATIONS} - {"geomin"}))  # its delta is for loadings of correlations
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_do_not_matter(name, unit):
    L = loadings(12, 3)
    assert_allclose(ROTATIONS[name](unit * L).loadings, unit * ROTATIONS[name](L).loadings, rtol=1e-6, atol=unit * 1e-7)


@pytest.mark.parametrize("name", ROTATIONS)
def test_with_a_scale_the_matrix_is_that_of_correlations_whatever_the_units(name):
    L = of("HARMAN_4", "NONE")
    unit = np.random.default_rng(3).uniform(0.01, 100.0, 24)
    plain, scaled = rotate(L, name), rotate(L * unit[:, None], name, scale=unit)
    assert_allclose(scaled.matrix, plain.matrix, atol=1e-9)
    assert_allclose(scaled.loadings, plain.loadings * unit[:, None], rtol=1e-7, atol=1e-7)
    assert scaled.criterion == pytest.approx(plain.criterion, rel=1e-9)
    if name == "geomin":  # its delta is for loadings of correlations
        return
    blind = rotate(L * unit[:, None], name)
    if name in {"promax", "oblimin"}:  # the others normalise rows
        assert np.abs(blind.correlations - plain.correlations).max() > 1e-3


@pytest.mark.parametrize("name", ["varimax", "equamax", "oblimin"])
def test_too_few_steps_are_reported(name):
    L = loadings(30, 6, seed=2)
    found = TO_THE_TOP[name](L, max_iter=1)
    assert not found.converged
    assert found.residual > 1e-10
    assert_allclose(found.loadings @ found.correlations @ found.loadings.T, L @ L.T, atol=1e-11)


@pytest.mark.parametrize(("name", "k", "seed"), [("varimax", 6, 10), ("oblimin", 4, 4)])
def test_more_starts_find_a_better_optimum_where_there_is_one(name, k, seed):
    L = loadings(60, k, seed)
    one = TO_THE_TOP[name](L)
    many, again = (TO_THE_TOP[name](L, n_starts=8, rng=np.random.default_rng(0)) for _ in range(2))
    better = one.criterion - many.criterion if name == "oblimin" else many.criterion - one.criterion
    assert better > 1e-6
    assert_allclose(many.loadings, again.loadings, rtol=0, atol=0)


def test_the_result_is_frozen_and_the_loadings_given_are_untouched():
    L = loadings()
    before = L.copy()
    found = varimax(L)
    assert_allclose(L, before, rtol=0, atol=0)
    with pytest.raises(ValueError, match="read-only"):
        found.loadings[0, 0] = 1.0


def test_orthomax_of_two_columns_is_best_among_all_angles():
    L = loadings(9, 2)
    angles = np.linspace(0.0, np.pi / 2, 2001)
    turns = np.array([[np.cos(angles), np.sin(angles)], [-np.sin(angles), np.cos(angles)]]).transpose(2, 0, 1)
    for gamma in (0.0, 0.5, 1.0):
        values = [orthomax_value(L, T, gamma) for T in turns]
        found = orthomax(L, gamma)
        assert max(values) <= found.criterion
        assert_allclose(max(values), found.criterion, rtol=1e-5)


# ---- by name, and one's own -------------------------------------------------------------------------------


def test_by_name_with_options():
    L = of("HARMAN_4", "NONE")
    assert_allclose(rotate(L, "promax", power=3.0).loadings, promax(L, power=3.0).loadings, atol=0)
    assert not np.allclose(rotate(L, "promax").loadings, promax(L, power=3.0).loadings, atol=1e-3)


def test_ones_own_rotation_gives_a_matrix_or_a_rotation():
    L = loadings(6, 2)
    T = np.array([[1.0, 0.6], [0.0, 0.8]])
    found = rotate(L, lambda A: T)
    assert_allclose(found.loadings @ found.correlations @ found.loadings.T, L @ L.T, atol=1e-13)
    assert_allclose(found.correlations, [[1.0, 0.6], [0.6, 1.0]])
    whole = Rotation.by(L, np.eye(2))
    assert rotate(L, lambda A: whole) is whole


@pytest.mark.parametrize(
    ("T", "message"),
    [
        (np.eye(3), r"rotation='mine' returned an array of shape \(3, 3\); return a Rotation, or T of shape \(2, 2\)"),
        (2.0 * np.eye(2), r"columns of length \[2.0, 2.0\]; its columns must have length 1"),
        ([[1.0, 1.0], [0.0, 0.0]], "singular"),
        ([[np.nan, 1.0], [0.0, 0.0]], "length"),
    ],
)
def test_ones_own_rotation_is_checked(T, message):
    def mine(L):
        return T

    with pytest.raises(OptionError, match=message):
        rotate(loadings(6, 2), mine)


def test_promax_of_normalised_rows_is_that_of_psych(accuracy):
    found = promax(psych.MINRES_2, normalize=True)
    what = "promax of normalised rows of 2 minres factors: loadings"
    accuracy.close(what, found.loadings, psych.PROMAX_2, system="R, psych 2.2.9", atol=5e-5)
    assert np.abs(promax(psych.MINRES_2).loadings - psych.PROMAX_2).max() > 0.05


@pytest.mark.parametrize("k", [2, 3])
def test_geomin_is_that_of_gparotation(k, accuracy):
    L, expected = (psych.MINRES_2, psych.GEOMIN_2) if k == 2 else (psych.MINRES_3, psych.GEOMIN_3)
    found = geomin(L)
    what = f"geomin of {k} minres factors: loadings"
    accuracy.close(what, found.loadings, expected, system="R, GPArotation", atol=5e-5)
    assert found.converged


def test_geomin_is_where_a_general_optimiser_ends():
    L = np.random.default_rng(3).uniform(-0.8, 0.8, (12, 3))

    def value(t):
        T = t.reshape(3, 3) / np.linalg.norm(t.reshape(3, 3), axis=0)
        B = np.linalg.solve(T, L.T).T
        return np.sum(np.prod(B**2 + 0.01, axis=1) ** (1 / 3))

    found = geomin(L, n_starts=20)
    assert found.criterion == pytest.approx(value(found.matrix), rel=1e-12)
    rng = np.random.default_rng(0)
    for start in (found.matrix, *(rng.standard_normal((3, 3)) for _ in range(10))):
        assert found.criterion <= minimize(value, start.ravel(), method="BFGS").fun + 1e-7


def test_varimax_goes_on_where_r_stops_far_from_the_maximum():
    """Three factors on which R 4.2.2 stops after two steps, with a general first factor left."""
    found, best = varimax(numbers.STALLED), varimax(numbers.STALLED, polish=True)
    assert_allclose(found.loadings, best.loadings, atol=1e-12)
    assert found.criterion > 3.0 * numbers.STALLED_CRITERION
