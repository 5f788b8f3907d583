"""Blocks of rows from the host's memory to a device, through pinned buffers, while earlier blocks are computed with."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Self

import numpy as np

from eigenlens.arrays import Array, slices
from eigenlens.errors import MissingExtra, OptionError
from eigenlens.gpu.runtime import device_memory

COPY_THREADS, BUFFERS, BUFFER_BYTES = 8, 2, 8 << 20
"""The most threads that copy, pinned buffers of each, and their size. One thread is several times slower than the bus,
and more than these wait for each other; one buffer is filled while the other is sent, small enough for a cache."""

BLOCK_BYTES_ON_DEVICE = 1 << 30
"""The size of a block on the device: few blocks, as each costs a merge of statistics on the processor."""


def find_device(device: Any) -> Any:
    """Return a device of PyTorch by its name, such as "cuda" or "cuda:1"; raise if this machine has none of that name.

    None for None and "cpu", the processor.
    """
    if device is None or str(device) == "cpu":
        return None
    try:
        import torch
    except ImportError as error:
        raise MissingExtra("torch", extra="torch", need=f"device={str(device)!r}") from error
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError):
        found = None
    if found is None or found.type != "cuda":
        what = "is not a device that rows can be sent to"
        raise OptionError(
            what, argument="device", value=str(device), fix='use "cuda" or "cuda:1", or leave it out for the processor'
        )
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if (found.index or 0) >= count:
        what = "is not a device of this machine, on which PyTorch finds no CUDA device"
        if count:
            what = f"is not a device of this machine, which has {', '.join(f'cuda:{i}' for i in range(count))}"
        raise OptionError(
            what, argument="device", value=str(device), fix="use one that it has, or leave it out for the processor"
        )
    return found


def nothing_on(device: Any) -> Any:
    """Return an empty tensor on a device, beside which others can be made."""
    import torch

    return torch.empty(0, device=device)


@functools.cache
def _copy_stream(device: Any) -> Any:
    """Return the stream of copies to a device, one for all passes: PyTorch keeps freed memory for each stream."""
    import torch

    make: Any = torch.cuda.Stream
    return make(device)


def _event() -> Any:
    import torch

    make: Any = torch.cuda.Event
    return make()


class Sender:
    """The threads of one pass over rows, the pinned buffers of each, and the stream of copies to a CUDA device."""

    def __init__(self, dtype: np.dtype[Any], device: Any) -> None:
        import torch

        self._dtype, self._device = getattr(torch, dtype.name), device
        self._stream = _copy_stream(device)
        self._count = min(COPY_THREADS, max(2, os.cpu_count() or 1))
        self._pool = ThreadPoolExecutor(self._count)
        self._buffers: list[list[Any]] = [[] for _ in range(self._count)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown()
        self._stream.synchronize()

    def blocks(self, rows: Array) -> Iterator[Any]:
        """Yield rows (b, d) as tensors on the device, at most `BLOCK_BYTES_ON_DEVICE` each.

        A block that is yielded has arrived. Copies are made beside whatever the device computes.
        """
        step = max(1, BLOCK_BYTES_ON_DEVICE // (self._dtype.itemsize * max(1, rows.shape[1])))
        for part in slices(rows.shape[0], step):
            with device_memory("a block of rows", BLOCK_BYTES_ON_DEVICE, "free memory of the device for it"):
                sent = self.send(rows[part])
            yield sent

    def send(self, rows: Array) -> Any:
        """Return a copy of rows (b, d) on the device."""
        import torch

        with torch.cuda.stream(self._stream):
            block = torch.empty(rows.shape, dtype=self._dtype, device=self._device)
        entries = max(int(rows.shape[1]), BUFFER_BYTES // block.element_size())
        parts = list(slices(len(rows), max(1, entries // max(1, rows.shape[1]))))
        send = partial(self._send_parts, rows, block, parts, entries)
        list(self._pool.map(send, range(min(self._count, len(parts)))))
        self._stream.synchronize()
        block.record_stream(torch.cuda.current_stream(self._device))
        return block

    def _send_parts(self, rows: Array, block: Any, parts: list[slice], entries: int, thread: int) -> None:
        """Send every part of the rows that is one thread's own, so that none waits for the slowest of the others."""
        import torch

        own = self._buffers[thread]
        with torch.cuda.stream(self._stream):  # each thread has a current stream of its own
            for k, part in enumerate(parts[thread :: self._count]):
                if len(own) < min(BUFFERS, k + 1):
                    own.append((torch.empty(entries, dtype=self._dtype, pin_memory=True), _event()))
                buffer, sent = own[k % BUFFERS]
                target = block[part]
                source = buffer[: target.numel()].view(target.shape)
                sent.synchronize()  # the buffer has left, or was never sent
                np.copyto(source.numpy(), rows[part], casting="unsafe")
                target.copy_(source, non_blocking=True)
                sent.record(self._stream)
