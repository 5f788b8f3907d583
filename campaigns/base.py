"""What all campaigns share: seeds of cases, outcomes, a watchdog that survives hangs and crashes, and the figures.

A campaign is a module with the functions `describe(seed, number)`, the line of Python that repeats a case, and
`run_case(seed, number) -> Result`, and the seconds that one case may take, `LIMIT`. The same seed and number always
give the same case. Cases run in a child process, which is killed and replaced where a case takes longer than that, and
replaced where it dies, so that one case cannot end the campaign.
"""

from __future__ import annotations

import importlib
import multiprocessing
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

MEMORY = 12 << 30
"""Bytes of address space that a child process may take: work that asks for more fails instead of swapping."""


class Outcome(StrEnum):
    """How a case ended; the first two are as they should be."""

    OK = "ok"
    CLEAR = "clear error"
    VAGUE = "vague error"
    FOREIGN = "foreign exception"
    NAN = "silent NaN"
    INFINITE = "silent infinity"
    WRONG = "wrong result"
    HANG = "hang"
    CRASH = "crash"


FINE = {Outcome.OK, Outcome.CLEAR}


class Result(NamedTuple):
    """The outcome of a case, the line of Python that repeats it, and what was seen."""

    outcome: Outcome
    call: str
    detail: str = ""


def case_rng(seed: int, number: int) -> np.random.Generator:
    """Return the generator of one case, which does not depend on the cases before it."""
    return np.random.default_rng([seed, number])


def judge_error(error: BaseException, subjects: Iterable[str]) -> tuple[Outcome, str]:
    """Return what an exception is: clear if it is one of the package's own and names one of the subjects.

    subjects: the names that the call could be wrong about: its arguments, the parameters, names of columns.
    scikit-learn's NotFittedError, which says what to call first, is clear too.
    """
    from sklearn.exceptions import NotFittedError

    from eigenlens.errors import EigenlensError

    detail = f"{type(error).__name__}: {error}"
    if isinstance(error, NotFittedError):
        return Outcome.CLEAR, detail
    if not isinstance(error, EigenlensError):
        return Outcome.FOREIGN, detail
    named = any(re.search(rf"(?<!\w){re.escape(each)}(?!\w)", str(error)) for each in subjects)
    return (Outcome.CLEAR if named else Outcome.VAGUE), detail


# ---- the watchdog ---------------------------------------------------------------------------------------------


def run(module: str, seed: int, numbers: range) -> Iterator[tuple[int, Result]]:
    """Yield (number, result) of the cases of a campaign, whatever becomes of each."""
    limit, waiting = importlib.import_module(module).LIMIT, list(numbers)
    while waiting:
        receiver, sender = multiprocessing.Pipe(duplex=False)
        # A fresh interpreter: threads and locks of this one do not survive a fork.
        child = multiprocessing.get_context("spawn").Process(target=_work, args=(module, seed, waiting, sender))
        child.start()
        sender.close()
        for number, result in _watch(receiver, waiting, limit):
            waiting = [each for each in waiting if each != number]
            yield number, result
        child.kill()
        child.join()


def _watch(receiver: Connection, waiting: list[int], limit: float) -> Iterator[tuple[int, Result]]:
    """Yield the results that a child sends, and that of the case at which it stopped."""
    call = ""
    for number in waiting:
        try:
            if not call:  # the start of the interpreter, and its imports, are not part of the first case
                receiver.recv()
            call = receiver.recv()
            if not receiver.poll(limit):
                yield number, Result(Outcome.HANG, call, f"longer than {limit:g} s")
                return
            yield number, receiver.recv()
        except EOFError:
            yield number, Result(Outcome.CRASH, call, "the process died")
            return


def _work(module: str, seed: int, numbers: list[int], sender: Connection) -> None:
    """Run cases, sending the description and then the result of each."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    campaign = importlib.import_module(module)
    sender.send("ready")
    for number in numbers:
        sender.send(campaign.describe(seed, number))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sender.send(campaign.run_case(seed, number))


# ---- figures --------------------------------------------------------------------------------------------------


def figures(name: str, seed: int, results: Iterable[Result]) -> str:
    """Return the line of figures: cases, and how many ended in each way.

    >>> figures("calls", 3, [Result(Outcome.OK, ""), Result(Outcome.CLEAR, ""), Result(Outcome.HANG, "")])
    'calls, seed 3: 3 cases, 1 ok, 1 clear error, 0 vague error, 0 foreign exception, 0 silent NaN, \
0 silent infinity, 0 wrong result, 1 hang, 0 crash'
    """
    counts: Counter[Any] = Counter(result.outcome for result in results)
    return f"{name}, seed {seed}: {counts.total()} cases, " + ", ".join(f"{counts[each]} {each}" for each in Outcome)
