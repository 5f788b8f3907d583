"""The campaigns of kernels, accuracy, threads and interrupts at small sizes."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from campaigns import accuracy, interrupts, kernels, threads
from campaigns.base import FINE, Outcome
from campaigns.processes import peak_memory, run_measured

from eigenlens.native.runtime import active
from eigenlens.native.runtime import kernels as compiled

needs_kernels = pytest.mark.skipif(compiled is None, reason="the kernels were not built here")


@needs_kernels
@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(8))
def test_calls_of_kernels_with_arrays_of_all_kinds(seed):
    before = active()
    try:
        results = [kernels.run_case(seed, number) for number in range(250)]
    finally:
        compiled.set_isa(before)
    assert [result for result in results if result.outcome not in FINE] == []
    assert {result.outcome for result in results} == FINE


@pytest.mark.few(12)
@pytest.mark.parametrize("number", range(len(accuracy.CASES)))
def test_accuracy_of_hard_data(number):
    result = accuracy.run_case(1, number)
    assert result.outcome == Outcome.OK, result


@pytest.mark.long
@pytest.mark.parametrize("number", [0, 6, 17])
def test_bits_do_not_depend_on_the_run(number):
    result = threads.run_case(0, number)
    assert result.outcome == Outcome.OK, result


@pytest.mark.long
@pytest.mark.parametrize("number", [0, 3])
def test_state_after_an_interrupt(number):
    result = interrupts.run_case(0, number)
    assert result.detail.endswith(("as before", "best so far", "finished")), result


def test_a_command_does_not_count_the_memory_of_the_process_that_starts_it(tmp_path):
    held = np.ones(40_000_000)
    used = run_measured([sys.executable, "-c", "print(1); raise SystemExit(3)"], tmp_path)
    assert (used.printed, used.status) == ("1\n", 3)
    assert used.memory < held.nbytes / 2
    assert peak_memory() > held.nbytes
