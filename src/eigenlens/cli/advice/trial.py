"""Trials of commands that are to be suggested: run on the first rows of their files, in silence, writing nothing."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import shlex
import signal
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from eigenlens.cli.errors import EXIT_CODES, Interrupted
from eigenlens.cli.files import is_model_file
from eigenlens.cli.output import IN_TRIAL

TRIAL_SECONDS = 3.0
"""Seconds of computing; a command that has not failed by then is taken to work."""

TRIAL_ROWS = 1_000
TRIAL_BYTES = 200_000
"""The rows of a table, and the bytes of a text, that a trial reads of a larger file."""

SMALL_FILE = 400_000
"""Files of at most this many bytes are read whole."""


def reads_standard_input(words: Sequence[str]) -> bool:
    """Return whether a command line reads standard input, which cannot be read a second time.

    >>> reads_standard_input(["fit", "pca", "-"]), reads_standard_input(["fit", "pca", "t.csv", "--na", "-"])
    (True, False)
    """
    pairs = itertools.pairwise(["", *words])
    return any(word in ("-", "/dev/stdin") and not before.startswith("-") for before, word in pairs)


class TrialResult(NamedTuple):
    """The end of a trial: the exit code, the message and the way out of an error, and whether its time was over."""

    code: int
    what: str = ""
    fix: str = ""
    stopped: bool = False

    @property
    def works(self) -> bool:
        """Whether the command ran to its end."""
        return self.code == EXIT_CODES["done"]


class TrialStopped(BaseException):
    """The time of a trial is over."""


def command_works(command: str) -> bool:
    """Return whether a trial of a command succeeds; one that reads standard input cannot be typed again."""
    words = shlex.split(command)[1:]
    return not reads_standard_input(words) and try_words(words).works


def try_words(words: Sequence[str]) -> TrialResult:
    """Run the words of a command on the first rows, and where that fails and there are more rows, on all of them."""
    with tempfile.TemporaryDirectory(prefix="eigenlens-") as folder:
        short = [_shortened(word, Path(folder) / str(i)) for i, word in enumerate(words)]
        whole = short == list(words)
        found = _run_quietly(short)
    if found.works or whole:
        return found
    # The first rows may be all of one class, or none of them pass a test.
    again = _run_quietly(words)
    return found if again.stopped else again


def _run_quietly(words: Sequence[str]) -> TrialResult:
    from eigenlens.cli import describe_error, run_command

    silence, token = io.StringIO(), IN_TRIAL.set(True)
    try:
        with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence), _time_limit():
            return TrialResult(run_command(list(words)))
    except TrialStopped:
        return TrialResult(EXIT_CODES["done"], stopped=True)
    except (KeyboardInterrupt, Interrupted):
        return TrialResult(EXIT_CODES["interrupted"])
    except Exception as error:
        return TrialResult(*describe_error(error))
    finally:
        IN_TRIAL.reset(token)


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    """Stop the block after a while; elsewhere than in the main thread, where signals do not arrive, it has no limit."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: Any) -> None:
        raise TrialStopped

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, TRIAL_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


# ---- the first rows -----------------------------------------------------------------------------------------


def _shortened(word: str, folder: Path) -> str:
    """Return a large data file that a word names as one with its first rows; any other word unchanged."""
    path = Path(word)
    if word.startswith("-") or is_model_file(word) or not os.path.isfile(word):
        return word
    writers = {".csv": _copy_text, ".tsv": _copy_text, ".txt": _copy_text, ".npy": _copy_array, ".parquet": _copy_table}
    write = writers.get(path.suffix.lower())
    # Few bytes of Parquet may be millions of rows.
    if write is None or (write is not _copy_table and path.stat().st_size <= SMALL_FILE):
        return word
    folder.mkdir()
    target = folder / path.name
    try:
        write(path, target)
    except Exception:  # the trial itself says what is wrong with the file
        return word
    return str(target)


def _copy_text(path: Path, target: Path) -> None:
    with path.open("rb") as file:
        head = file.read(TRIAL_BYTES)
    lines = head.split(b"\n")[: TRIAL_ROWS + 1]
    # Neither a line nor a quoted cell may be cut; text of two bytes per letter is not cut at all.
    while b"\0" not in head and len(lines) > 2 and (b"\n".join(lines[:-1]).count(b'"') % 2):
        lines.pop()
    if b"\0" in head or len(lines) < 3:
        raise ValueError("this text cannot be cut by its bytes")
    target.write_bytes(b"\n".join(lines[:-1]) + b"\n")


def _copy_array(path: Path, target: Path) -> None:
    import numpy as np

    np.save(target, np.load(path, mmap_mode="r")[:TRIAL_ROWS])


def _copy_table(path: Path, target: Path) -> None:
    from eigenlens.data.files.base import pl

    pl.scan_parquet(path).head(TRIAL_ROWS).collect().write_parquet(target)
