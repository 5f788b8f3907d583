"""The file of a checkpoint: whole or not at all, a cut last record left out, all other damage an error."""

from __future__ import annotations

import os
import resource
import signal

import numpy as np
import pytest

from eigenlens.checkpoint.journal import MAGIC, JournalFile, frame
from eigenlens.errors import DataError, OptionError, ResourceError


def written(path, *values):
    journal = JournalFile(path)
    for value in values:
        journal.append(frame(value))
    journal.close(remove=False)


def read(path):
    journal = JournalFile(path)
    try:
        return [journal.read(place) for place in range(len(journal))]
    finally:
        journal.close(remove=False)


def test_the_file_appears_with_its_first_record(tmp_path):
    path = tmp_path / "fit"
    journal = JournalFile(path)
    assert not path.exists()
    journal.append(frame("first"), frame(2.5))
    journal.append(frame({"n": 3}))
    assert os.listdir(tmp_path) == ["fit"]
    journal.close(remove=False)
    assert read(path) == ["first", 2.5, {"n": 3}]
    JournalFile(path).close(remove=True)
    assert os.listdir(tmp_path) == []


def test_a_record_that_is_cut_anywhere_is_left_out_and_the_next_takes_its_place(tmp_path):
    path = tmp_path / "fit"
    written(path, "one", "two")
    whole = path.read_bytes()
    first = len(MAGIC) + sum(map(len, frame("one")))
    for length in range(first, len(whole)):
        path.write_bytes(whole[:length])
        assert read(path) == ["one"]
        written(path, "three")
        assert read(path) == ["one", "three"]


def test_a_changed_byte_is_an_error_wherever_it_is(tmp_path):
    path = tmp_path / "fit"
    written(path, np.arange(3.0), "two")
    whole = bytearray(path.read_bytes())
    for place in range(len(whole)):
        damaged = whole.copy()
        damaged[place] ^= 0x41
        path.write_bytes(bytes(damaged))
        with pytest.raises((DataError, OptionError), match=r"damaged|not a checkpoint"):
            read(path)


def test_records_are_dropped_by_writing_the_file_anew(tmp_path):
    journal = JournalFile(tmp_path / "fit")
    journal.append(*map(frame, ["head", "old", "new"]))
    journal.drop({1})
    journal.append(frame("last"))
    journal.close(remove=False)
    assert read(tmp_path / "fit") == ["head", "new", "last"]


def test_another_file_is_not_touched(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(OptionError, match=r"checkpoint='.*data.csv' is not a checkpoint"):
        JournalFile(path)
    assert path.read_text() == "a,b\n1,2\n"


def test_a_file_is_used_by_one_process_at_a_time(tmp_path):
    written(tmp_path / "fit", "one")
    first = JournalFile(tmp_path / "fit")
    with pytest.raises(OptionError, match="in use by another fit"):
        JournalFile(tmp_path / "fit")
    first.close(remove=False)
    assert read(tmp_path / "fit") == ["one"]


def test_a_full_disk_is_an_error_that_leaves_what_was_written(tmp_path):
    path = tmp_path / "fit"
    written(path, "one")
    journal = JournalFile(path)
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(ResourceError, match=r"cannot be written \(File too large\); make room"):
            journal.append(frame(np.zeros(10_000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
        journal.close(remove=False)
    assert read(path) == ["one"]
