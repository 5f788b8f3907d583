"""A compiled kernel at work for minutes ends soon after an interrupt, on every thread of it."""

import signal
import threading
import time

import numpy as np
import pytest

from eigenlens.native.kernel_sums import Cloud
from eigenlens.native.runtime import kernels

pytestmark = pytest.mark.skipif(kernels is None, reason="without compiled kernels Python itself takes interrupts")


def interrupt_once(condition):
    """Interrupt the main thread as soon as a condition is true, in a thread of its own."""

    def watch():
        end = time.monotonic() + 60.0
        while not condition() and time.monotonic() < end:
            time.sleep(0.01)
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=watch).start()


@pytest.mark.few(1)
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_an_interrupt_ends_the_work_in_the_middle(threads):
    points = np.random.default_rng(0).standard_normal((500_000, 3))
    cloud, sums = Cloud(points, np.ones(len(points)), None, "gaussian"), np.full((2, len(points)), np.nan)
    assert cloud.packed is not None  # made here, so that the interrupt comes while sums are made
    interrupt_once(lambda: np.isfinite(sums[0]).any())  # queries are sorted first
    with pytest.raises(KeyboardInterrupt):
        kernels.tile_sums(cloud.packed, points, "gaussian", 1e-14, sums, threads)
    left = np.isnan(sums[0]).mean()
    assert 0.0 < left < 1.0
    few = np.empty((2, 10))
    kernels.tile_sums(cloud.packed, points[:10], "gaussian", 1e-14, few, threads)  # nothing of it is left behind
    assert np.isfinite(few).all()
