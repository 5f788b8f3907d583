"""Write .ci/locked/*.txt: every pinned version with the SHA-256 of each of its wheels for Linux, as the index has them.

Run `.venv/bin/python .ci/lock.py` after a change of one of the lists of versions in LOCKS. Continuous integration
installs from the locked files alone, so that no package can change, or join, without a commit here.
"""

from __future__ import annotations

import os
import re
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from pip._internal.models.index import PyPI

ROOT = Path(__file__).parents[1]
INDEX = os.environ.get("PIP_INDEX_URL", PyPI.simple_url).rstrip("/")

LOCKS = {
    "tests.txt": ("constraints.txt", "docs/constraints.txt", ".ci/build.txt"),
    "extras.txt": (".ci/extras.txt",),
    "containers.txt": (".ci/containers.txt",),
}
"""Each locked file, and the lists of versions that it locks; the second and third are installed after the first."""

PYTHONS = (11, 12, 13)
LINK = re.compile(r"<a\b([^>]*)#sha256=([0-9a-f]{64})([^>]*)>([^<]+)</a>")
PIN = re.compile(r"([A-Za-z0-9._-]+)==(\S+)")


def pins(*lists: str) -> dict[str, str]:
    """Return the version of each package of the lists; a package pinned twice is an error."""
    found: dict[str, str] = {}
    for line in (line for path in lists for line in (ROOT / path).read_text(encoding="utf-8").splitlines()):
        if not line or line.startswith("#"):
            continue
        match = PIN.fullmatch(line)
        if not match or (name := canonicalize_name(match[1])) in found:
            raise ValueError(f"{line!r} in {' or '.join(lists)} is not a version of a package, or its second one")
        found[name] = match[2]
    return found


def fits(filename: str, version: str) -> bool:
    """Return whether a file is a wheel of this version for CPython of PYTHONS on Linux.

    >>> fits("numpy-2.4.6-cp312-cp312-musllinux_1_2_x86_64.whl", "2.4.6")
    True
    >>> fits("numpy-2.4.6-cp312-cp312-win_amd64.whl", "2.4.6")
    False
    """
    try:
        _, own, _, tags = parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return False
    interpreters = {"py3", *(f"cp3{minor}" for minor in PYTHONS)}
    return str(own) == version and any(
        (tag.platform == "any" or "linux" in tag.platform)
        and (tag.interpreter in interpreters or (tag.abi == "abi3" and int(tag.interpreter[3:]) <= PYTHONS[-1]))
        for tag in tags
    )


def locked(name: str, version: str) -> str:
    """Return the requirement of one package with the hashes of its wheels."""
    with urllib.request.urlopen(f"{INDEX}/{name}/", timeout=60) as answer:
        links = LINK.findall(answer.read().decode("utf-8"))
    wheels = [(before + after, digest) for before, digest, after, file in links if fits(unescape(file), version)]
    if not wheels or any("data-yanked" in attributes for attributes, _ in wheels):
        raise ValueError(f"{name} {version} has no wheel for Linux on the index, or was withdrawn: pin another version")
    hashes = sorted({f"    --hash=sha256:{digest}" for _, digest in wheels})
    return " \\\n".join([f"{name}=={version}", *hashes])


def main() -> None:
    """Write the locked files."""
    for target, lists in LOCKS.items():
        versions = pins(*lists)
        with ThreadPoolExecutor(8) as pool:
            lines = list(pool.map(locked, sorted(versions), (versions[name] for name in sorted(versions))))
        head = f"# Written by `python .ci/lock.py` from {', '.join(lists)}: do not edit."
        path = ROOT / ".ci" / "locked" / target
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
