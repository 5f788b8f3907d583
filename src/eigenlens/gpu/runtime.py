"""Where a tensor is, what its device can run, and errors of its memory that name the need and the way out."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import traceback
from collections.abc import Iterator
from typing import Any

from eigenlens.arrays import is_tensor
from eigenlens.errors import ResourceError

PROCESSORS = {"cpu", "array_api_strict.Device('CPU_DEVICE')"}
"""What the libraries of tensors call the processor and its memory."""

ROOMY = 230_000
"""The fast memory of a multiprocessor from which the largest tiles fit: that of Hopper."""

OUT_OF_MEMORY = {"OutOfMemoryError"}
"""Names of the errors with which the libraries of tensors say that a device has no memory left."""


def on_device(x: Any) -> bool:
    """Return whether x is a tensor in the memory of a device other than the processor.

    >>> import numpy as np
    >>> on_device(np.zeros(3))
    False
    """
    return is_tensor(x) and str(getattr(x.device, "type", x.device)) not in PROCESSORS


def runs_triton(x: Any) -> bool:
    """Return whether x is a float32 tensor of PyTorch on a CUDA device for which Triton can compile kernels."""
    if not is_tensor(x) or getattr(getattr(x, "device", None), "type", "") != "cuda":
        return False
    return str(x.dtype) == "torch.float32" and _compiles(x.device.index or 0)


@functools.cache
def _compiles(device: int) -> bool:
    import torch

    return importlib.util.find_spec("triton") is not None and torch.cuda.get_device_capability(device) >= (8, 0)


def shared_memory(x: Any) -> int:
    """Return the bytes of fast memory that a program may use on a multiprocessor of the CUDA device of x."""
    return _shared_memory(x.device.index or 0)


@functools.cache
def _shared_memory(device: int) -> int:
    import torch

    properties: Any = torch.cuda.get_device_properties(device)
    return int(properties.shared_memory_per_block_optin)


def free_memory(x: Any) -> int | None:
    """Return the bytes that the device of a tensor can give; None where that is not known, as on the processor."""
    if not on_device(x):
        return None
    if hasattr(x, "detach"):
        import torch

        if x.device.type != "cuda":
            return None
        unused = torch.cuda.memory_reserved(x.device) - torch.cuda.memory_allocated(x.device)
        return int(torch.cuda.mem_get_info(x.device)[0]) + int(unused)
    import cupy

    return int(cupy.cuda.Device(x.device.id).mem_info[0])


@contextlib.contextmanager
def device_memory(what: str, needed: int | None, fix: str) -> Iterator[None]:
    """Turn an error of the device's memory into a `ResourceError` that names the bytes needed and the way out.

    Where they are not known, None, it names what the allocator could not give. What the failed work had allocated is
    freed: its frames are cleared, and the error does not refer to it.
    """
    reason = ""
    try:
        yield
    except Exception as error:
        if type(error).__name__ not in OUT_OF_MEMORY:
            raise
        traceback.clear_frames(error.__traceback__)
        reason = f"{what} needs {needed / 1e9:.1f} GB" if needed else f"{what} failed ({str(error).split('. GPU')[0]})"
    if reason:
        _give_back()
        raise ResourceError(f"the memory of the device is too small: {reason}", fix=fix)


def _give_back() -> None:
    """Return the memory that PyTorch keeps for later to the device."""
    import sys

    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
