"""Ask the index for known vulnerabilities of the locked versions; exit status 1 if there are any, 2 if it is silent."""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lock import LOCKS, pins
from pip._internal.models.index import PyPI

DATABASE = PyPI.pypi_url + "/{name}/{version}/json"
"""The address of a release in the index's own database, which takes its vulnerabilities from the advisories of PyPA."""

ACCEPTED: dict[str, str] = {}
"""Vulnerabilities that do not concern us, by their names, and why not."""


def vulnerabilities(release: tuple[str, str]) -> list[str] | None:
    """Return a line per known vulnerability of a release, or None where the database does not answer."""
    name, version = release
    try:
        with urllib.request.urlopen(DATABASE.format(name=name, version=version), timeout=10) as answer:
            known: list[dict[str, Any]] = json.load(answer)["vulnerabilities"]
    except (urllib.error.URLError, TimeoutError, json.JSONDecodeError, KeyError):
        return None
    return [
        f"{name} {version}: {each['id']}, mended in {', '.join(each['fixed_in']) or 'no version'}: {each.get('link')}"
        for each in known
        if not each.get("withdrawn") and not {each["id"], *each.get("aliases", ())} & set(ACCEPTED)
    ]


def main() -> int:
    """Print what is known, and return the exit status."""
    releases = sorted({release for lists in LOCKS.values() for release in pins(*lists).items()})
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(vulnerabilities, releases))
    found = [line for answer in answers for line in answer or ()]
    unknown = [name for (name, _), answer in zip(releases, answers, strict=True) if answer is None]
    print(
        *found, f"{len(releases)} releases: {len(found)} known vulnerabilities, {len(unknown)} not looked up", sep="\n"
    )
    return 1 if found else 2 * bool(unknown)


if __name__ == "__main__":
    sys.exit(main())
