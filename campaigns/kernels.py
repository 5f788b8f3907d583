"""Calls of the compiled functions with arrays that do not go together: an exception, or a right answer, never a crash.

A call that is as the package makes it gives what its NumPy twin finds. One with other shapes, types or strides either
raises, or gives what it gives for plain copies of the same arrays.

    python -m campaigns.kernels 20000      # in this process, as `make sanitize` does
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from campaigns.base import FINE, Outcome, Result, case_rng, figures
from campaigns.kernel_calls import FLOAT32_TOL, MAKERS, KernelCall, use_instruction_set
from eigenlens.native.runtime import aligned, kernels

LIMIT = 20.0

REFUSED = (TypeError, ValueError, OverflowError, BufferError, MemoryError)
"""What a function may raise for arrays that it does not take."""

MOST_BYTES = 1 << 28
"""The size up to which arrays are copied."""

Array = np.ndarray[Any, Any]
Change = Callable[[np.random.Generator, Array], Any]


def _resized(rng: np.random.Generator, a: Array) -> Array:
    """Another number of entries along one axis, or of axes."""
    if a.ndim == 0 or rng.random() < 0.2:
        return np.zeros(rng.choice([0, 1, 3], int(rng.integers(0, 4))), a.dtype)
    axis, size = int(rng.integers(a.ndim)), int(rng.choice([0, 1, 2, 5, 8, 64, 100]))
    return np.ascontiguousarray(np.resize(a, (*a.shape[:axis], size, *a.shape[axis + 1 :])))


def _unaligned(_rng: np.random.Generator, a: Array) -> Array:
    raw = np.zeros(a.nbytes + 1, dtype=np.uint8)[1:].view(np.uint8)
    return np.frombuffer(raw.data, dtype=a.dtype, count=a.size).reshape(a.shape) if a.size else a


def _every_second(_rng: np.random.Generator, a: Array) -> Array:
    wide = np.zeros(tuple(2 * size for size in a.shape), a.dtype)
    view = wide[tuple(slice(None, None, 2) for _ in a.shape)]
    view[...] = a
    return view


def _wild(rng: np.random.Generator, a: Array) -> Array:
    """Values that are out of every range."""
    ends = np.iinfo(a.dtype) if a.dtype.kind in "iu" else np.finfo(a.dtype)
    wild = [ends.max, ends.min, *([np.nan, np.inf, -np.inf, -0.0] if a.dtype.kind == "f" else [])]
    out = a.copy()
    if out.size:
        out.flat[rng.integers(out.size, size=3)] = rng.choice(np.array(wild, dtype=a.dtype), 3)
    return out


CHANGES: tuple[Change, ...] = (
    _resized,
    _resized,
    _unaligned,
    _every_second,
    _wild,
    lambda rng, a: np.asfortranarray(a),
    lambda rng, a: a[tuple(slice(None, None, -1) for _ in a.shape)],
    lambda rng, a: a.astype(rng.choice(["float32", "float64", "int32", "int64", "uint8", "complex128", ">f8"])),
    lambda rng, a: a.tolist(),
    lambda rng, a: None,
    lambda rng, a: np.broadcast_to(a.ravel()[:1], (*a.shape[:1], 1 << 40)) if a.size else a,
    lambda rng, a: np.lib.stride_tricks.as_strided(a, strides=tuple(0 for _ in a.shape)),
    lambda rng, a: memoryview(np.ascontiguousarray(a)),
    lambda rng, a: a.reshape(-1),
)
"""What is done to one array of a call."""

NUMBERS = (0, 1, 3, 64, 65, 1 << 40, (1 << 63) - 1, 1 << 70, -1, np.nan, np.inf, 1e-300, "gaussian", None)


def _changed(rng: np.random.Generator, value: Any, threads: bool) -> Any:
    """Return another value in place of an argument."""
    if isinstance(value, list):
        panels = [_changed(rng, each, False) if rng.random() < 0.5 else each for each in value]
        return panels if rng.random() < 0.7 else panels[: int(rng.integers(len(panels) + 1))] * int(rng.integers(1, 3))
    if isinstance(value, np.ndarray):
        with np.errstate(all="ignore"):
            return CHANGES[int(rng.integers(len(CHANGES)))](rng, value)
    if isinstance(value, int) and not isinstance(value, bool) and not threads:
        return int(rng.choice([0, 1, 2, 64, 1 << 12]))  # a count of steps: more of them would only take longer
    return NUMBERS[int(rng.integers(len(NUMBERS)))]


def _case(seed: int, number: int) -> tuple[KernelCall, bool]:
    rng = case_rng(seed, number)
    use_instruction_set(rng)
    call = MAKERS[int(rng.integers(len(MAKERS)))](rng)
    changed = bool(rng.random() < 0.8)
    given = list(call.arguments)
    for _ in range(int(rng.integers(1, 3)) if changed else 0):
        place = int(rng.integers(len(given)))
        given[place] = _changed(rng, given[place], place == len(given) - 1)
    # What stands for `wide` may mean True, and then sums of float32 in another order have other digits.
    wide = call.name == "moments_float32" and bool(given[4])
    return call._replace(arguments=given, tol=FLOAT32_TOL if wide else call.tol), changed


def describe(seed: int, number: int) -> str:
    """Return the command that repeats a case."""
    return f"python -m campaigns kernels --seed {seed} --first {number} --cases 1"


def run_case(seed: int, number: int) -> Result:
    """Call a compiled function, and compare what it wrote."""
    try:
        call, changed = _case(seed, number)
    except REFUSED as error:  # packed points of no rows
        return Result(Outcome.CLEAR, describe(seed, number), repr(error))
    label = f"{describe(seed, number)}  # {call.name}"
    plain = [_plain(value) for value in call.arguments]
    try:
        getattr(kernels, call.name)(*call.arguments)
    except REFUSED as error:
        return Result(Outcome.CLEAR if changed else Outcome.WRONG, label, repr(error))
    wrong = _differs(call, plain) if changed else _differs_from_twin(call)
    return Result(Outcome.WRONG if wrong else Outcome.OK, label, wrong)


def _plain(value: Any) -> Any:
    """Return a contiguous, aligned copy of an array, whose rows are whole cache lines where that is possible."""
    if not isinstance(value, (np.ndarray, memoryview)):
        return [_plain(each) for each in value] if isinstance(value, list) else value
    array = np.asarray(value)
    if array.nbytes > MOST_BYTES:
        return value
    if array.ndim == 2 and array.dtype == np.float64 and array.shape[1] % 8 == 0 and array.size:
        lines = aligned(*array.shape)
        lines[...] = array
        return lines
    return np.array(array, order="C")


def _differs(call: KernelCall, plain: list[Any]) -> str:
    """Return how the outputs differ from those of plain copies, or ""."""
    getattr(kernels, call.name)(*plain)
    for place in call.outputs:
        found, wanted = call.arguments[place], plain[place]
        if found is not None and not _close(np.asarray(found), np.asarray(wanted), call.tol):  # added in another order
            return f"output {place} is not that of plain copies"
    return ""


def _differs_from_twin(call: KernelCall) -> str:
    """Return how the outputs differ from those of NumPy, or "", also where there is no twin to compare with."""
    try:
        expected = list(call.expected())
    except (ValueError, ZeroDivisionError):
        return ""
    for place, wanted in zip(call.outputs, expected, strict=False):
        found, wanted = np.asarray(call.arguments[place]), np.asarray(wanted)
        if not _close(found, wanted, call.tol):
            return f"output {place} is not that of the twin: {found.ravel()[:3]}, {wanted.ravel()[:3]}"
    return ""


def _close(found: Array, wanted: Array, tol: float) -> bool:
    scale = np.max(np.abs(wanted), initial=1e-300, where=np.isfinite(wanted))
    return bool(np.allclose(found, wanted, rtol=tol, atol=tol * scale, equal_nan=True))


def main(cases: int, seed: int = 0) -> int:
    """Run the cases in this process; return 1 if one did not end well."""
    results = [run_case(seed, number) for number in range(cases)]
    for result in results:
        if result.outcome not in FINE:
            print(result.outcome, result.call, result.detail)
    print(figures("kernels", seed, results))
    return int(any(result.outcome not in FINE for result in results))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
