"""Rows on their way to a device, with a stream that copies late and in order, as that of a device does."""

from __future__ import annotations

import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed, so nothing was tested about its streams")

from eigenlens.errors import ResourceError  # noqa: E402
from eigenlens.gpu import sender  # noqa: E402

RNG = np.random.default_rng(0)
CURRENT = threading.local()


class LateStream:
    """A stream whose copies read their source some time after they were asked for."""

    def __init__(self):
        self.work = ThreadPoolExecutor(1)
        self.copies = 0

    def copy(self, target, source):
        self.copies += 1
        self.work.submit(self._copy, target, source)

    def _copy(self, target, source):
        time.sleep(0.002)
        target.numpy()[...] = source.numpy()

    def synchronize(self):
        self.work.submit(int).result()


class Mark:
    """An event: a place in the order of a stream."""

    passed = None

    def record(self, stream):
        self.passed = stream.work.submit(int)

    def synchronize(self):
        if self.passed is not None:
            self.passed.result()


@pytest.fixture
def stream(monkeypatch):
    """Provide the stream of copies to a device in the processor's memory."""
    late, empty = LateStream(), torch.empty

    @contextlib.contextmanager
    def as_current(given):
        CURRENT.stream = given
        yield
        CURRENT.stream = None

    def copy_of(target, source, non_blocking=False):
        assert non_blocking
        CURRENT.stream.copy(target, source)

    monkeypatch.setattr(sender, "_copy_stream", lambda device: late)
    monkeypatch.setattr(sender, "_event", Mark)
    monkeypatch.setattr(torch, "empty", lambda *shape, pin_memory=False, **given: empty(*shape, **given))
    monkeypatch.setattr(torch.cuda, "stream", as_current)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: None)
    monkeypatch.setattr(torch.Tensor, "copy_", copy_of)
    monkeypatch.setattr(torch.Tensor, "record_stream", lambda block, stream: None)
    yield late
    late.work.shutdown()


def sent(rows, dtype=np.float64):
    with sender.Sender(np.dtype(dtype), torch.device("cpu")) as way:
        return [part.numpy().copy() for part in way.blocks(rows)]


@pytest.mark.parametrize("buffers", [1, 2])
@pytest.mark.parametrize("threads", [1, 3, 16])
def test_no_buffer_is_filled_again_before_it_was_sent(stream, monkeypatch, threads, buffers):
    monkeypatch.setattr(sender, "BUFFER_BYTES", 8 * 7 * 10)
    monkeypatch.setattr(sender, "BLOCK_BYTES_ON_DEVICE", 8 * 7 * 400)
    monkeypatch.setattr(sender, "COPY_THREADS", threads)
    monkeypatch.setattr(sender, "BUFFERS", buffers)
    monkeypatch.setattr(sender.os, "cpu_count", lambda: 16)
    rows = RNG.standard_normal((1003, 7))
    parts = sent(rows)
    assert [len(part) for part in parts] == [400, 400, 203]
    np.testing.assert_array_equal(np.concatenate(parts), rows)
    assert stream.copies == 40 + 40 + 21


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_any_order_and_type_arrive(stream, monkeypatch, dtype):
    monkeypatch.setattr(sender, "BUFFER_BYTES", 100)  # a row is larger than a buffer
    rows = np.asfortranarray(RNG.integers(-9, 9, (60, 41)))
    for kind in ("i8", "f4", "f8", ">f8", "f2"):
        typed = rows.astype(kind)
        for given in (typed, typed[::-2, ::3], typed[::2, 1:], typed[:1], typed[:0]):
            found = sent(given, dtype)
            np.testing.assert_array_equal(np.concatenate([*found, np.empty((0, given.shape[1]))]), given)


def test_rows_that_may_only_be_read_arrive_without_a_warning(stream, tmp_path, recwarn):
    np.save(tmp_path / "rows.npy", rows := RNG.standard_normal((50, 3)))
    np.testing.assert_array_equal(sent(np.load(tmp_path / "rows.npy", mmap_mode="r"))[0], rows)
    assert not recwarn.list


def test_an_error_within_a_thread_is_raised(stream, monkeypatch):
    class OutOfMemoryError(RuntimeError):
        pass

    def fail(*given, **options):
        raise OutOfMemoryError

    monkeypatch.setattr(sender, "_event", fail)
    with pytest.raises(ResourceError, match=r"a block of rows needs 1\.1 GB; free memory of the device"):
        sent(RNG.standard_normal((50, 3)))
