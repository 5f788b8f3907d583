"""One fit in a process of its own: takes a request as JSON, prints time and peak memory as JSON."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import peers


def load(path: str) -> Any:
    """The rows of a file in memory, with no copy beside them."""
    if path.endswith(".npz"):
        from scipy import sparse

        return sparse.csr_array(sparse.load_npz(path))
    return np.load(path)


def peak() -> float:
    """Bytes resident at most, by this program alone.

    ru_maxrss survives exec: started by a process with 8 GB it begins at 8 GB. The kernel's own mark does not.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def forget_peak() -> None:
    """Start the mark of peak memory again from what is resident now, where the system can."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def warm_up(name: str, X: Any, k: int | float) -> None:
    """A fit of few rows: imports and the buffers of the threads are not memory of the fit that is measured."""
    try:
        peers.CONTESTANTS[name](peers.ready(name, X[: peers.few(name, k)], k), k)
    except Exception as error:  # whether it can fit at all is for the real fit to say
        print(f"warm-up of {name}: {error}", file=sys.stderr)


def main(request: dict[str, Any]) -> dict[str, Any]:
    name, k = request["name"], request["k"]
    X = request["path"]
    peers.prepare(name)
    if request["load"]:
        X = load(request["path"])
        warm_up(name, X, k)
        X = peers.ready(name, X, k)
        forget_peak()
    before, start = peak(), time.perf_counter()
    fit = peers.CONTESTANTS[name](X, k, **request["options"])
    seconds, most = time.perf_counter() - start, peak()
    return {
        "seconds": seconds, "peak": most, "extra": most - before, "note": fit.note, "passes": fit.passes,
        "share": fit.share, "variances": np.asarray(fit.variances, dtype=np.float64).tolist(),
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
