"""What is installed is what was committed: versions, their hashes, and the licences of what is passed on."""

from __future__ import annotations

import importlib.metadata
import json
import re
import runpy
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCK = runpy.run_path(str(ROOT / ".ci" / "lock.py"))
PROJECT = runpy.run_path(str(ROOT / "requirements.py"))["PROJECT"]
LOCKS, pins, fits = LOCK["LOCKS"], LOCK["pins"], LOCK["fits"]
PINNED = pins(*(path for lists in LOCKS.values() for path in lists if path != ".ci/containers.txt"))
OTHER_PINS = pins(".ci/containers.txt")

UNLOCKED = {"torch"}
"""Packages of extras that no list pins: PyTorch comes from an index of its own."""

OWN = "eigenlens"


def read_locked(name):
    """Return (version, hashes) of each package of a locked file."""
    text = (ROOT / ".ci" / "locked" / name).read_text(encoding="utf-8")
    packages = re.findall(r"^(\S+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", text, re.MULTILINE)
    assert text.count("\n") == 1 + sum(1 + hashes.count("\n") for *_, hashes in packages), "lines of another form"
    return {package: (version, re.findall("[0-9a-f]{64}", hashes)) for package, version, hashes in packages}


def requirements():
    """Return everything that pyproject.toml asks for."""
    extras = PROJECT["project"]["optional-dependencies"].values()
    lines = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"], *(x for e in extras for x in e)]
    return [Requirement(line) for line in lines if not line.startswith(OWN)]


# ---- Python ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOCKS)
def test_a_locked_file_has_the_pinned_versions(name):
    locked = read_locked(name)
    assert {package: version for package, (version, _) in locked.items()} == pins(*LOCKS[name]), "run .ci/lock.py"
    assert all(len(set(hashes)) == len(hashes) for _, hashes in locked.values())


@pytest.mark.parametrize("requirement", requirements(), ids=str)
def test_a_pinned_version_is_one_that_the_project_asks_for(requirement):
    name = canonicalize_name(requirement.name)
    version = PINNED.get(name, OTHER_PINS.get(name))
    assert version is not None or name in UNLOCKED
    assert name in UNLOCKED or requirement.specifier.contains(version)


def needed(name, extras=()):
    """Return the requirements of an installed package."""
    for line in importlib.metadata.requires(name) or ():
        requirement = Requirement(line)
        markers = ({"extra": extra} for extra in ("", *extras))
        if requirement.marker is None or any(requirement.marker.evaluate(each) for each in markers):
            yield requirement


def test_what_pinned_packages_need_is_pinned():
    """Of those that are installed here: the others are looked at where they are installed."""
    known, lacking = PINNED | OTHER_PINS, set()
    waiting = [(r.name, tuple(r.extras)) for r in requirements()] + [(name, ()) for name in known]
    for name, extras in waiting:
        try:
            wanted = list(needed(name, extras))
        except importlib.metadata.PackageNotFoundError:
            continue
        lacking |= {f"{r.name}, for {name}" for r in wanted if canonicalize_name(r.name) not in {*known, *UNLOCKED}}
    assert not {line for line in lacking if not line.endswith(tuple(f"for {name}" for name in UNLOCKED))}


@pytest.mark.parametrize(
    ("file", "fitting"),
    [
        ("numpy-2.4.6-cp313-cp313-manylinux_2_27_aarch64.manylinux_2_28_aarch64.whl", True),
        ("numpy-2.4.6-cp310-abi3-musllinux_1_2_x86_64.whl", True),
        ("numpy-2.4.6-py3-none-any.whl", True),
        ("numpy-2.4.6-cp314-cp314-manylinux_2_27_x86_64.whl", False),
        ("numpy-2.4.6-cp311-cp311-macosx_14_0_arm64.whl", False),
        ("numpy-2.4.60-py3-none-any.whl", False),
        ("numpy-2.4.6.tar.gz", False),
    ],
)
def test_wheels_for_linux_are_locked_and_nothing_else(file, fitting):
    assert fits(file, "2.4.6") is fitting


def test_a_package_pinned_twice_is_an_error():
    with pytest.raises(ValueError, match="its second one"):
        pins("constraints.txt", ".ci/containers.txt")  # pandas, of two generations


def test_continuous_integration_installs_locked_packages_alone():
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8").replace("\\\n", " ")
    installs = [line for line in text.splitlines() if "pip install" in line]
    assert [line for line in installs if "--require-hashes" not in line and "torch==" not in line] == []
    assert "--require-hashes" in text
    assert {name for name in LOCKS if f"locked {name}" not in text} == set()
    assert "PIP_NO_INDEX=1 make" in text


# ---- the report's script --------------------------------------------------------------------------------------

PACKAGES = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))["packages"]
LICENCES = (ROOT / "src/eigenlens/reporting/page/LICENSES.txt").read_text(encoding="utf-8")
FREE = {"ISC", "MIT", "BSD-3-Clause"}
"""Licences that let the script be passed on with any report, if their text goes with it."""


def test_every_package_of_npm_has_its_hash():
    packages = {path: package for path, package in PACKAGES.items() if path}
    assert packages
    assert [path for path, package in packages.items() if not package["integrity"].startswith("sha512-")] == []


def bundled():
    """Return (name, version, licence, text) of each package whose licence is in LICENSES.txt."""
    for part in LICENCES.split("-" * 80 + "\n\n"):
        yield re.fullmatch(r"(\S+) (\S+) \((\S+)\)\n\n(.*)", part.strip(), re.DOTALL).groups()


def test_licences_of_the_bundle_have_their_text():
    """`npm run check` compares the list with the files that went into the bundle; here, its versions and texts."""
    for name, version, licence, text in bundled():
        package = PACKAGES[f"node_modules/{name}"]
        assert (package["version"], package["license"]) == (version, licence)
        assert licence in FREE
        assert "Copyright" in text
        assert "WARRANTIES" in text or "WARRANTY" in text


def test_packages_that_the_page_needs_are_in_the_bundle_and_its_tools_are_not():
    names = {name for name, *_ in bundled()}
    assert set(PACKAGES[""]["dependencies"]) <= names
    assert [name for name in names if PACKAGES[f"node_modules/{name}"].get("dev")] == []
