"""Print the libraries that pyproject.toml asks for, one per line: `python requirements.py plot app`, or `--build`.

The Makefile installs them while the kernels compile, which `pip install .` would do one after the other.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parent / "pyproject.toml").read_text(encoding="utf-8"))


def requirements(extras: list[str]) -> list[str]:
    """Return the dependencies of the package and of its extras, with extras of extras resolved."""
    found = list(PROJECT["project"]["dependencies"])
    waiting = list(extras)
    while waiting:
        for line in PROJECT["project"]["optional-dependencies"][waiting.pop()]:
            own = re.fullmatch(r"eigenlens\[(.*)\]", line)
            waiting.extend(own[1].split(",") if own else [])
            found.extend([] if own else [line])
    return list(dict.fromkeys(found))


if __name__ == "__main__":
    asked = sys.argv[1:]
    print(*(PROJECT["build-system"]["requires"] if asked == ["--build"] else requirements(asked)), sep="\n")
