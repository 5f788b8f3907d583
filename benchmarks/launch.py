"""Whole processes as contestants: their time, that of the processor, and memory that is their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

# ru_maxrss survives exec: a process begins with the memory of the one that started it. So the command is started by a
# small process, whose own memory is less than that of any command worth measuring.
_LAUNCHER = """
import resource, subprocess, sys, time
start = time.perf_counter()
status = subprocess.call(sys.argv[1:], stderr=subprocess.STDOUT)
wall = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(status, wall, used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss, file=sys.stderr)
"""


class Usage(NamedTuple):
    """How a command ended: what it printed, seconds from start to end and of the processor, bytes resident at most."""

    printed: str
    seconds: float
    processor: float
    memory: float


def launch(command: list[str], folder: Path | None = None, environment: dict[str, str] | None = None) -> Usage:
    """Run a command to its end and return what it took; one that fails ends the benchmark."""
    ended = subprocess.run(
        [sys.executable, "-S", "-c", _LAUNCHER, *command],
        cwd=folder, env=os.environ | (environment or {}), capture_output=True, text=True, check=True,
    )  # fmt: skip
    status, seconds, processor, memory = map(float, ended.stderr.splitlines()[-1].split())
    if status:
        raise SystemExit(f"{' '.join(command)} failed:\n{ended.stdout}")
    return Usage(ended.stdout, seconds, processor, memory)
