"""`fitting`: the context in which fits compute on a device with rows that are in the host's memory or in files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from eigenlens.arrays import to_numpy
from eigenlens.data.source import Source
from eigenlens.gpu.runtime import on_device
from eigenlens.gpu.sender import Sender, find_device, nothing_on

_DEVICE: ContextVar[Any] = ContextVar("device", default=None)


@contextlib.contextmanager
def fitting(*, device: Any = None) -> Iterator[None]:
    """Fit models on a device: rows of arrays, frames and files are sent to it block by block, in every pass.

        with eigenlens.fitting(device="cuda"):
            pca = eigenlens.PCA(20).fit(X)

    Blocks are copied through pinned buffers while the device computes with the one before, so neither the rows nor a
    copy of them need to fit its memory. The fitted model, and what its methods return, are as without the context.

    Args:
        device: "cuda", "cuda:1", … of PyTorch; None or "cpu" for the processor.

    >>> with fitting(device=None):
    ...     pass
    """
    token = _DEVICE.set(find_device(device))
    try:
        yield
    finally:
        _DEVICE.reset(token)


def send_rows(source: Source) -> Source:
    """Return the source with its dense blocks on the device of the context; unchanged where there is none.

    Rows that are on a device already stay there, and sparse ones where they are.
    """
    device = _DEVICE.get()
    stay = on_device(source.near) or hasattr(source, "matrix") or source.on_workers
    return source if device is None or stay else DeviceRows(source, device)


def rows_on_host(source: Source) -> Source:
    """Return the source whose blocks are where the user has them."""
    return source.source if isinstance(source, DeviceRows) else source


class DeviceRows(Source):
    """The rows of another source of dense blocks, as tensors on a device."""

    reads_ahead = True

    def __init__(self, source: Source, device: Any) -> None:
        self.source, self._device = source, device
        self.n_rows, self.n_features, self.names = source.n_rows, source.n_features, source.names
        self.weight, self.dtype, self.in_memory = source.weight, source.dtype, source.in_memory
        self.own_names, self.near = source.own_names, nothing_on(device)

    def rows(self) -> Iterator[Any]:
        """Yield the blocks once they are on the device."""
        with Sender(self.dtype, self._device) as sender:
            for rows in self.source.rows():
                yield from sender.blocks(rows if isinstance(rows, np.ndarray) else to_numpy(rows))
