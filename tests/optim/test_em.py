"""Monotone iterations, alone and side by side."""

from __future__ import annotations

import numpy as np
import pytest

from eigenlens.optim.em import (
    EXTRAPOLATION_STEPS,
    ParameterMap,
    StepBudget,
    StepHistory,
    StepResult,
    em_iterations,
    extrapolate,
    remaining_gain,
    run_em,
    run_together,
)

CHART = ParameterMap(lambda x: x, lambda v, like: v)


def towards(goal, rates):
    """A step that leaves of the way to a goal the rates in each direction, and its value."""

    def step(x):
        return float(-np.sum((x - goal) ** 2)), goal + rates * (x - goal)

    return step


def silent(steps, value):
    pass


def test_extrapolation_solves_a_linear_iteration():
    """As many moves as there are rates: the next guess is the goal itself."""
    goal, rates = np.array([1.0, -2.0, 0.5]), np.array([0.9, 0.99, 0.3])
    known, x = StepHistory(), np.array([4.0, 5.0, 6.0])
    for _ in range(4):
        image = goal + rates * (x - goal)
        known.add(x, image)
        x = image
    (guess,) = extrapolate([known])
    np.testing.assert_allclose(guess, goal, atol=1e-8)


def test_extrapolation_at_once_is_that_of_each_by_least_squares():
    rng, known = np.random.default_rng(0), []
    for m in (1, 2, 5, 5, 12):
        one = StepHistory()
        for _ in range(m):
            one.add(*rng.standard_normal((2, 20)))
        known.append(one)
    assert len(known[-1].points) == EXTRAPOLATION_STEPS + 1
    found = extrapolate(known)
    assert found[0] is None
    for one, guess in zip(known[1:], found[1:], strict=True):
        moves = np.subtract(one.images, one.points)
        gamma = np.linalg.lstsq(np.diff(moves, axis=0).T, moves[-1], rcond=1e-8)[0]
        np.testing.assert_allclose(guess, one.images[-1] - np.diff(one.images, axis=0).T @ gamma, rtol=1e-10)


def test_moves_that_repeat_themselves_are_no_trouble():
    known = StepHistory()
    for x in (0.0, 1.0, 1.0, 1.0):
        known.add(np.array([x, x]), np.array([0.5 * x + 1.0, 0.5 * x + 1.0]))
    (guess,) = extrapolate([known])
    np.testing.assert_allclose(guess, 2.0)


def test_side_by_side_is_as_alone():
    goals = [np.array([1.0, 2.0]), np.array([-3.0, 1.0]), np.array([0.0, 0.1])]
    steps = [towards(goal, np.array([0.95, 0.6])) for goal in goals]
    start = np.array([7.0, 7.0])
    alone = [run_em(step, start, CHART, tol=1e-9, max_iter=40) for step in steps]
    climbs = [em_iterations((i, start), StepBudget(40), tol=1e-9, note=silent) for i in range(3)]

    def answer(wanted):
        found = []
        for model, previous, history in wanted:
            (i, x), guess = model, None
            if previous is not None:
                history.add(previous[1], x)
                (guess,) = extrapolate([history])
            x = x if guess is None else guess
            value, better = steps[i](x)
            found.append(StepResult((i, x), value, (i, better), guess is not None))
        return found

    for one, other in zip(run_together(climbs, answer), alone, strict=True):
        assert one.path == other.path
        assert one.ended == other.ended


def test_an_interrupt_reaches_every_iteration():
    """The first has ended, the second keeps its best, the third has nothing yet."""
    climbs = [em_iterations(i, StepBudget(most), tol=0.0, note=silent) for i, most in enumerate((1, 9, 9))]
    asked = []

    def answer(wanted):
        asked.append(len(wanted))
        if len(asked) == 2:
            raise KeyboardInterrupt
        return [
            KeyboardInterrupt() if one.model == 2 else StepResult(one.model, 1.0, one.model, False) for one in wanted
        ]

    first, second, third = run_together(climbs, answer)
    assert not first.interrupted
    assert second.interrupted
    assert second.path == (1.0,)
    assert third is None


def test_an_error_is_raised_where_it_belongs():
    class Gone(Exception):
        pass

    def forgiving(i):
        try:
            return (yield from em_iterations(i, StepBudget(2), tol=0.0, note=silent))
        except Gone:
            return (yield from em_iterations(-i, StepBudget(2), tol=0.0, note=silent))

    def answer(wanted):
        return [Gone() if one.model == 2 else StepResult(one.model, 0.0, one.model, False) for one in wanted]

    ends = run_together([forgiving(i) for i in (1, 2, 3)], answer)
    assert [end.best for end in ends] == [1, -2, 3]
    with pytest.raises(Gone):
        run_together([em_iterations(2, StepBudget(2), tol=0.0, note=silent)], answer)


def test_a_known_answer_is_not_asked_for_again():
    passes = StepBudget(5)
    again = em_iterations(1.0, passes, tol=0.0, note=silent, known=StepResult(1.0, -1.0, 0.5, False))
    wanted = next(again)
    assert wanted.model == 0.5
    assert passes.steps == 1


def test_what_is_left_is_the_slowest_series():
    path = [0.0, 8.0, 12.0, 15.0, 16.0]
    assert remaining_gain(path) == pytest.approx(1.0 * 0.75 / 0.25)
    assert remaining_gain([0.0, 1.0]) == np.inf
    assert remaining_gain([0.0, 1.0, 1.0]) == 0.0
