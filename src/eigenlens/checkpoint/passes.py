"""The passes of a call with a checkpoint: the totals of finished ones are read, and that under way goes on."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from eigenlens.checkpoint.describe import digest
from eigenlens.checkpoint.encode import Unencodable
from eigenlens.checkpoint.journal import DELETE, JournalFile, buffers_size, frame
from eigenlens.errors import DataError, EigenlensError, OptionError

FREE_BYTES, BYTES_PER_SECOND = 64 << 20, 4 << 20
"""A checkpoint takes at most this many bytes, and this many for each second of work. Totals beyond that are left out.

They are computed again when the call is resumed. This happens where a pass takes less time than writing its total.
"""

SAVING_SHARE = 0.02
"""The share of the time that may be spent on saving the total of a pass under way."""

T = TypeVar("T")


@dataclass(frozen=True)
class Checkpoint:
    """Where a fit is saved while it runs: a path, and how often.

    Attributes:
        path: of the file; it is made by the fit, and removed when the fit has ended well.
        seconds: between saves of the total of a pass under way. Those of finished passes are saved at once.

    The same call, with the same rows and parameters, goes on from the file and ends with the same bits.
    """

    path: str | os.PathLike[str]
    seconds: float = 30.0

    @classmethod
    def of(cls, value: Any) -> Checkpoint:
        """Return the checkpoint that an argument means: a path, or a checkpoint itself."""
        found = value if isinstance(value, Checkpoint) else cls(value)
        named = isinstance(found.path, str | os.PathLike) and os.fsdecode(found.path)
        if not named or "\0" in named:
            fix = "give the path of a file"
            raise OptionError("is not a path", argument="checkpoint", value=found.path, fix=fix)
        if isinstance(found.seconds, bool) or not isinstance(found.seconds, int | float) or not found.seconds >= 0.0:
            raise OptionError("must be a number of at least 0", argument="seconds", value=found.seconds)
        path = Path(os.path.expanduser(named))  # the user of ~user may not exist
        try:
            usable = os.fsencode(path) and not path.is_dir() and path.absolute().parent.is_dir()
        except (OSError, ValueError) as error:  # a name that no file can have
            raise OptionError(f"cannot be used: {error}", argument="checkpoint", fix="give another path") from error
        if not usable:
            what = "is a folder" if path.is_dir() else "is in a folder that does not exist"
            raise OptionError(what, argument="checkpoint", value=str(path), fix="give the path of a file in one")
        return cls(path, float(found.seconds))


class PartialTotal(NamedTuple):
    """The total of the first blocks of a pass: how many they are, and their rows."""

    total: Any
    blocks: int
    rows: int


NOTHING = PartialTotal(None, 0, 0)
_CURRENT: ContextVar[RecordedCall | None] = ContextVar("checkpoint", default=None)


def current_call() -> RecordedCall | None:
    """Return the call with a checkpoint that this is part of, or None."""
    return _CURRENT.get()


def recorded(label: str, of: tuple[Any, ...], compute: Callable[[], T]) -> T:
    """Return what `compute` gives, or gave before the call was killed; `of`: everything that it depends on."""
    call = current_call()
    return compute() if call is None else call.total(label, of, lambda under_way: compute(), None)


def seed_entropy() -> list[int] | None:
    """Return the numbers that seed a generator without a seed: None for fresh ones, unless there is a checkpoint."""
    call = current_call()
    return None if call is None else call.next_entropy()


class PassUnderWay:
    """A pass whose total is saved now and then; called as a callback of progress, which it hands on.

    `start` is the total of the blocks that are done. shown: the callback itself, or None.
    """

    def __init__(self, start: PartialTotal, save: Callable[[PartialTotal], None], shown: Any, seconds: float) -> None:
        self.start, self.shown = start, shown
        self._save, self._seconds, self._last = save, seconds, time.monotonic()

    def __call__(self, done: int, total: int | None, label: str) -> None:
        """Report the progress of the pass to the callback that is shown."""
        if self.shown is not None:
            self.shown(done, total, label)

    def note(self, done: PartialTotal, *, now: bool = False) -> None:
        """Save the total so far if it is time to; `now`: at once."""
        began = time.monotonic()
        if done.blocks and (now or began - self._last >= self._seconds):
            self._save(done)
            self._last = time.monotonic()
            self._seconds = max(self._seconds, (self._last - began) / SAVING_SHARE)


class RecordedCall:
    """A call and its journal. The n-th total that is asked for is the n-th that was recorded, or is computed.

    Each record has the digest of what its total depends on, so that none is used in place of another.
    """

    def __init__(self, checkpoint: Checkpoint, about: Mapping[str, str]) -> None:
        self.interrupted = False
        self.failure: EigenlensError | None = None
        self._seconds, self._path = checkpoint.seconds, Path(checkpoint.path)
        self._journal = JournalFile(self._path)
        self._began = self._synced = time.monotonic()
        self._passes = self._seeds = 0
        self._header: dict[str, Any] = {"about": dict(about), "seed": secrets.randbits(128)}
        self._free = FREE_BYTES + self._journal.size
        self._finished: dict[int, int] = {}  # the records of passes, by the numbers of these
        self._partial: dict[int, int] = {}  # and the newest of passes under way
        try:
            self._read_journal(about)
        except BaseException:
            self._journal.close(remove=False)
            raise

    # ---- what a call asks for -------------------------------------------------------------------------------

    def total(self, label: str, of: tuple[Any, ...], fold: Callable[[PassUnderWay], T], shown: Any) -> T:
        """Return the total of the next pass: the recorded one, or what `fold` computes.

        After an interrupt nothing is recorded: a fit that ends with its best result so far makes other passes for that
        than it would have made, and the call that goes on makes those.
        """
        if self.interrupted:
            return fold(PassUnderWay(NOTHING, lambda done: None, shown, self._seconds))
        number, self._passes = self._passes, self._passes + 1
        entry = {"pass": number, "key": digest(label, *of), "label": label}
        if number in self._finished:
            found: T = self._recorded(self._finished[number], entry)
            return found
        start = PartialTotal(*self._recorded(self._partial[number], entry)) if number in self._partial else NOTHING
        under_way = PassUnderWay(start, lambda done: self._save_partial(entry, done), shown, self._seconds)
        found = fold(under_way)
        self._partial.pop(number, None)
        self._save(entry | {"partial": False, "total": found}, self._finished)
        return found

    def next_entropy(self) -> list[int]:
        """Return numbers that seed the next generator without a seed: those of the call before it was killed."""
        self._seeds += 1
        return [self._header["seed"], self._seeds]

    def close(self, *, ended_well: bool) -> None:
        """Remove the file if the call has ended well and was not interrupted; else leave it for the next call."""
        remove = ended_well and not self.interrupted
        if not remove:
            self._journal.sync()
        self._journal.close(remove=remove)

    # ---- records --------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _note_failure(self) -> Iterator[None]:
        """Note an error of the checkpoint: a comparison of models must not take it for one of a model."""
        try:
            yield
        except EigenlensError as error:
            self.failure = error
            raise

    def _recorded(self, place: int, wanted: Mapping[str, Any]) -> Any:
        """Return the total of a record, once it is that of the wanted pass."""
        with self._note_failure():
            entry = self._journal.read(place)
            if entry["key"] != wanted["key"]:
                what = f"pass {entry['pass'] + 1}, {entry['label']!r}, was of other values"
                raise DataError(f"the checkpoint '{self._path}' does not belong to this call: {what}", fix=DELETE)
            return entry["total"]

    def _save(self, entry: dict[str, Any], places: dict[int, int]) -> None:
        """Append a record, the header first; what has no encoding, or is too large, is computed again instead."""
        try:
            record = frame(entry)
        except Unencodable:
            return
        most = self._free + BYTES_PER_SECOND * (time.monotonic() - self._began)
        if self._journal.size + buffers_size(record) > most:
            return
        with self._note_failure():
            self._journal.append(*([] if len(self._journal) else [frame(self._header)]), record)
            places[entry["pass"]] = len(self._journal) - 1
            if time.monotonic() - self._synced >= self._seconds:
                self._journal.sync()
                self._synced = time.monotonic()

    def _save_partial(self, entry: dict[str, Any], done: PartialTotal) -> None:
        self._save(entry | {"partial": True, "total": tuple(done)}, self._partial)
        self._drop_outdated()

    def _drop_outdated(self) -> None:
        """Write the file anew without totals of passes under way that newer ones replace, once these are most of it."""
        kept = sorted({0, *self._finished.values(), *self._partial.values()})
        outdated = set(range(len(self._journal))) - set(kept)
        spans = self._journal.spans
        if 2 * sum(spans[place].length for place in outdated) > max(self._journal.size, FREE_BYTES):
            with self._note_failure():
                self._journal.drop(outdated)
            moved = {place: rank for rank, place in enumerate(kept)}
            for places in (self._finished, self._partial):
                places.update({number: moved[place] for number, place in places.items()})

    def _read_journal(self, about: Mapping[str, str]) -> None:
        """Read what an earlier call has left, once it is known to be the same call."""
        if len(self._journal):
            self._check_header(about)
        for place in range(1, len(self._journal)):
            entry = self._journal.read(place)
            (self._partial if entry["partial"] else self._finished)[entry["pass"]] = place

    def _check_header(self, about: Mapping[str, str]) -> None:
        self._header = self._journal.read(0)
        before = self._header["about"]
        for name in [*about, *(each for each in before if each not in about)]:
            was, now = before.get(name), about.get(name)
            if was != now:
                words = f"{name} was {was}" if was is not None else f"it had no {name}"
                what = f"is of another call: {words}, and {'is now ' + now if now is not None else 'is absent now'}"
                fix = "repeat that call, give another path, or delete the file to begin anew"
                raise OptionError(what, argument="checkpoint", value=str(self._path), fix=fix)


@contextlib.contextmanager
def record_passes(checkpoint: Any, about: Callable[[], Mapping[str, str]]) -> Iterator[None]:
    """Record the passes of the block, or read those of an earlier one that was killed; nothing for None.

    `about` describes the call, by names for messages.
    """
    if checkpoint is None:
        yield
        return
    if current_call() is not None:
        what, fix = "is given within a call that has one", "give it to the outer call alone"
        raise OptionError(what, argument="checkpoint", value=checkpoint, fix=fix)
    call = RecordedCall(Checkpoint.of(checkpoint), about())
    token, ended_well = _CURRENT.set(call), False
    try:
        with _note_interrupts(call):
            yield
        if call.failure is not None:
            raise call.failure
        ended_well = True
    finally:
        _CURRENT.reset(token)
        call.close(ended_well=ended_well)


@contextlib.contextmanager
def _note_interrupts(call: RecordedCall) -> Iterator[None]:
    """Note an interrupt: a fit may answer it with its best result so far, and then its checkpoint stays."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return

    def note(number: int, frame: Any) -> Any:
        call.interrupted = True
        return before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
