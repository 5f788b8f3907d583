"""What a process takes: seconds of the processor, and memory that is its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

# ru_maxrss survives exec: a process begins with the memory of the one that started it. So the command is started by a
# small process, whose own memory is less than that of any command worth measuring.
_LAUNCHER = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(status, used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss, file=sys.stderr)
"""


class Usage(NamedTuple):
    """How a command ended: what it printed, its status, seconds of the processor, and bytes resident at most."""

    printed: str
    status: int
    seconds: float
    memory: int


def run_measured(command: list[str], folder: Path) -> Usage:
    """Run a command in a folder, with the modules of this process, and return what it took."""
    path = os.pathsep.join(str(Path(each).resolve()) for each in sys.path if each)
    ended = subprocess.run(
        [sys.executable, "-S", "-c", _LAUNCHER, *command],
        cwd=folder, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    status, seconds, memory = ended.stderr.splitlines()[-1].split()
    return Usage(ended.stdout, int(status), float(seconds), int(memory))


def peak_memory() -> int:
    """Return the bytes that were resident at most since this program began, by the count of the system."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
