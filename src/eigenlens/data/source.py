"""A Source is a re-iterable stream of row blocks; `accumulate` folds it with `+`.

Every model reads its rows through these two, so rows that are chunked, sparse, weighted, in files or
distributed are one case. Two passes over a source give the same rows in the same order. The progress of a pass is
given to a callback, or shown on standard error.
"""

from __future__ import annotations

import contextlib
import copy
import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.checkpoint.passes import NOTHING, PartialTotal, PassUnderWay, current_call
from eigenlens.errors import DataError, OptionError, SourceChanged

BLOCK_BYTES = 16 << 20
"""The size a source aims at for one block: large enough for BLAS, small beside the data."""

FILE_BLOCK_BYTES = 4 * BLOCK_BYTES
"""The same for files that are read in blocks: fewer blocks mean fewer merges."""


class Block(NamedTuple):
    """Some consecutive rows (b, d) and their weights (b,), or None where each weight is one.

    `rows` is a floating NumPy array in either order, a SciPy CSR matrix, or a tensor of another array library.
    """

    rows: Any
    weight: Any = None


class Addable(Protocol):
    """Anything that merges with `+`: moments, counts, arrays."""

    def __add__(self, other: Any, /) -> Any: ...


class FieldSums:
    """The base of frozen dataclasses that merge field by field."""

    def __add__(self, other: Self) -> Self:
        sums = {name: value + getattr(other, name) for name, value in vars(self).items()}
        return type(self)(**sums)


S = TypeVar("S", bound=Addable)
Progress = Callable[[int, int | None, str], None]
"""Called as progress(rows done, rows in all or None, what is being done)."""


class Source(ABC):
    """A re-iterable stream of row blocks. A new kind of source implements `rows` and sets the attributes.

    Attributes:
        n_features: the number d of columns.
        n_rows: the number n of rows, or None while it is unknown.
        names: the d column names, or None.
        own_names: whether only this source has them, since scikit-learn cannot read them off X.
        dtype: float32 or float64, the dtype of every block.
        weight: the n row weights, or None where each is one.
        in_memory: whether a pass costs no reading; a solver may then make many.
        reads_ahead: whether a second thread should fetch the next block while this one is used.
        on_workers: whether rows are with the workers of a cluster, where a fold runs, and are better left there.
        near: a tensor in the memory where the blocks are, if they are tensors; else None.

    >>> class Stripes(Source):
    ...     n_rows, n_features, dtype = 600, 2, np.dtype(np.float64)
    ...     def rows(self):
    ...         for k in range(3):
    ...             yield np.full((200, 2), [float(k), -float(k)])
    >>> from eigenlens import PCA
    >>> PCA(1).fit(Stripes()).explained_variance_
    array([1.3356])
    """

    n_features: int
    n_rows: int | None
    names: tuple[str, ...] | None = None
    own_names: bool = False
    dtype: np.dtype[Any]
    weight: Array | None = None
    in_memory: bool = False
    reads_ahead: bool = False
    on_workers: bool = False
    near: Any = None

    @abstractmethod
    def rows(self) -> Iterator[Any]:
        """Yield the rows: arrays (b, d) in order, missing entries NaN."""

    def blocks(self) -> Iterator[Block]:
        """Yield the rows with their weights.

        >>> from eigenlens.data.memory import ArraySource
        >>> source = ArraySource(np.ones((5, 2)), block_rows=3).weighted(np.arange(5.0))
        >>> [block.weight.tolist() for block in source.blocks()]
        [[0.0, 1.0, 2.0], [3.0, 4.0]]
        """
        start = 0
        for rows in self.rows():
            stop = start + rows.shape[0]
            yield Block(rows, None if self.weight is None else self.weight[start:stop])
            start = stop

    def table(self) -> Source:
        """Return the same rows for a model that takes text, which `rows` rejects."""
        return self

    def numbers(self) -> Source:
        """Return the same rows for a model that needs numbers."""
        return self

    def weighted(self, weight: Array | None) -> Self:
        """Return the same rows, row i counting weight[i] times."""
        other = copy.copy(self)
        other.weight = weight
        return other

    def fold(self, summarise: Callable[[Block], S], progress: Progress | None = None, label: str = "") -> S:
        """Return the sum of `summarise(block)` over one pass. A cluster overrides this with a tree of sums."""
        under_way = progress if isinstance(progress, PassUnderWay) else None
        shown = progress if under_way is None else under_way.shown
        stream = _read_ahead(self.blocks()) if self.reads_ahead else self.blocks()
        done = NOTHING if under_way is None else _skip_blocks(stream, under_way.start)
        try:
            for block in stream:
                part = summarise(block)
                total = part if done.total is None else done.total + part
                done = PartialTotal(total, done.blocks + 1, done.rows + block.rows.shape[0])
                if under_way is not None:
                    under_way.note(done)
                if shown is not None:
                    shown(done.rows, self.n_rows, label)
        except KeyboardInterrupt:
            if under_way is not None:
                under_way.note(done, now=True)
            raise
        if done.total is None:
            raise DataError("has 0 rows; at least 1 is needed", argument="X")
        found: S = done.total
        return found


def accumulate(
    source: Source, summarise: Callable[[Block], S], progress: Progress | None = None, label: str = "reading rows"
) -> S:
    """Fold the blocks of a source with `+`: serially, with reading ahead, or as a tree on Dask workers.

    The total is a function of the rows, their weights and `summarise` alone; one that a checkpoint has is not computed.

    >>> from eigenlens.data.memory import ArraySource
    >>> source = ArraySource(np.ones((10, 3)), block_rows=4)
    >>> accumulate(source, lambda block: block.rows.sum(axis=0))
    array([10., 10., 10.])
    """
    checks.instance("source", source, Source, "give eigenlens.scan(path), or a Source of your own")
    for argument, given in (("summarise", summarise), ("progress", progress)):
        if not callable(given) and (given is not None or argument == "summarise"):
            raise OptionError("must be a function", argument=argument, value=given)
    checks.function("summarise", summarise)
    try:
        call = current_call()
        if call is None:
            return source.fold(summarise, progress, label)
        whole = (source, summarise)
        return call.total(label, whole, lambda under_way: source.fold(summarise, under_way, label), progress)
    except TypeError:  # only now, since reading a signature may take longer than the pass
        checks.function("summarise", summarise, "block")
        if progress is not None:
            checks.function("progress", progress, "done, total, label")
        raise


def _skip_blocks(stream: Iterator[Block], start: PartialTotal) -> PartialTotal:
    """Read the blocks that an interrupted pass has used, and return their total."""
    rows = sum(block.rows.shape[0] for block in islice(stream, start.blocks))
    if rows != start.rows:
        what = (
            f"has {rows} rows in its first {start.blocks} blocks, and had {start.rows} before the fit was interrupted"
        )
        raise SourceChanged(what, argument="X", fix="delete the checkpoint to begin anew")
    return start


def column_block(columns: Iterable[Array], shape: tuple[int, int], dtype: Any) -> Array:
    """Return columns (b,) as one block (b, d) in column order."""
    block = np.empty(shape, dtype=dtype, order="F")
    for j, column in enumerate(columns):
        block[:, j] = column
    return block


def _read_ahead(blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the same blocks, each fetched by a second thread while the first works on the block before.

    An error of the reader is raised here; leaving early waits for the block that is being read, and no other.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="eigenlens-reader") as reader:
        following = reader.submit(next, blocks, None)
        while (block := following.result()) is not None:
            following = reader.submit(next, blocks, None)
            yield block


SECONDS_BETWEEN_LINES = 10.0
"""Seconds between lines of progress, which keeps logs short."""


@contextlib.contextmanager
def progress_callback(verbose: Any) -> Iterator[Progress | None]:
    """Provide the callback for `verbose`: None for False, itself if callable, else a bar on stderr."""
    if callable(verbose):
        yield checks.function("verbose", verbose, "done, total, label")
    elif not isinstance(verbose, bool | int):
        raise OptionError("must be True, False or a callable (done, total, label)", argument="verbose", value=verbose)
    elif not verbose:
        yield None
    else:
        with show_bars() as callback:
            yield callback


@contextlib.contextmanager
def show_bars(only: str = "") -> Iterator[Progress]:
    """Provide a callback that shows a bar per task with rich, or lines where rich is not installed.

    only: the first words of a single bar, which is removed at the end.
    """
    try:
        from rich import progress as rich
        from rich.console import Console
    except ImportError:
        yield print_lines(only)
        return
    seconds = rich.TextColumn("{task.elapsed:.1f} s")
    columns = rich.SpinnerColumn(), *rich.Progress.get_default_columns()[:-1], seconds
    with rich.Progress(*columns, console=Console(stderr=True), transient=bool(only)) as bars:
        tasks = {only: bars.add_task(only, total=None)} if only else {}

        def report(done: int, total: int | None, what: str) -> None:
            kind = only or what.split(":")[0]  # "EM: step 3, …" continues the bar of "EM: step 2, …"
            if kind not in tasks:
                tasks[kind] = bars.add_task(what, total=total)
            bars.update(tasks[kind], description=what, completed=done, total=total)

        yield report
        for task in bars.tasks:  # an iteration may end before its last step: what stays on the screen is done
            bars.update(task.id, completed=task.completed or 1, total=task.completed or 1)


def print_lines(first: str = "") -> Progress:
    """Return a callback that prints a line now and then, for logs; `first` is printed at once."""
    last = -math.inf
    if first:
        last = time.monotonic()
        print(f"{first} …", file=sys.stderr, flush=True)

    def report(done: int, total: int | None, what: str) -> None:
        nonlocal last
        if time.monotonic() - last > SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            print(f"{what}: {done:,}" + ("" if total is None else f" of {total:,}"), file=sys.stderr, flush=True)

    return report
