"""The page of the explorer for tests: tables to open it on, and what it shows."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

import eigenlens
from browser.visitor import PATIENCE

WINE = eigenlens.datasets.load("wine")
FRAME = pd.DataFrame(np.asarray(WINE.data), columns=[str(name) for name in WINE.columns])
NAMES = list(FRAME.columns)
FRAME.insert(0, "cultivar", list(WINE.labels))
FRAME.insert(0, "bottle", list(WINE.rows))


def expect(located):
    """Return playwright's expectations, which wait; it is imported on use, since tests are collected without it too."""
    from playwright.sync_api import expect as expectations

    expectations.set_options(timeout=1_000 * PATIENCE)
    return expectations(located)


def answered(seen, count):
    """Wait until this number of questions has been answered and drawn, and no other is under way."""
    now = "document.documentElement.dataset"
    seen.until(f"{now}.answered === '{count}' && {now}.drawn === '{count}' && !{now}.asking")
    seen.settle()


def axes(seen):
    """The labels of the axes of the scores."""
    label = seen.stage("Scores").get_attribute("aria-label")
    return re.search(r"points, (.*) against (.*?)\. Arrow", label).groups()


def expected(names, k=2, **options):
    """The labels of the first two axes, by a fit of the rows."""
    shares = eigenlens.PCA(k, **options).fit(FRAME[names]).explained_variance_ratio_
    stem = "RC" if options.get("rotation") else "PC"
    return tuple(f"{stem}{j + 1} ({100 * shares[j]:.1f}%)" for j in range(2))


def role(seen, name):
    return seen.page.get_by_label(f"Role of {name}", exact=True)


def place(seen, name):
    return seen.page.locator(f".place[data-role={name}]")
