"""How long reports of many rows take to open in chromium: until a page stands, and until its charts in view are drawn.

    python benchmarks/report_open.py [ROWS …]        # needs the extra `browser`, and chromium on the path

Prints the time, and fails nothing.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import eigenlens

FLAGS = ["--no-sandbox", "--enable-unsafe-swiftshader", "--disable-background-networking"]
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"


def written(n: int, folder: Path) -> Path:
    """A report of a PCA of n rows of 8 columns in three groups."""
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=n)
    X = rng.standard_normal((n, 8)) @ rng.standard_normal((8, 8)) + 4.0 * rng.standard_normal((3, 8))[group]
    names = np.array(["first", "second", "third"])[group]
    return eigenlens.report(eigenlens.PCA(5).fit(X), X, folder / f"{n}.html", columns={"group": names})


def opened(browser, address: str) -> tuple[float, float]:
    """Seconds from asking for the page until it stands, and until its charts are drawn."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    start = time.perf_counter()
    page.goto(address)
    page.wait_for_selector("html[data-ready=yes]")
    ready = time.perf_counter() - start
    page.evaluate(DRAWN)
    if page.locator(".stage").count():
        page.wait_for_selector(".stage text.tick")
    drawn = time.perf_counter() - start
    page.close()
    return ready, drawn


def main(counts: list[int]) -> None:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        print("rows      file      page        stands    drawn")
        for n in counts:
            path = written(n, Path(folder))
            for page in re.findall(r'"id":"([^"]+)","title"', path.read_text(encoding="utf-8"))[:2]:
                ready, drawn = np.median([opened(browser, f"{path.as_uri()}#{page}") for _ in range(3)], axis=0)
                size = path.stat().st_size / 1e6
                print(f"{n:<9,} {size:5.2f} MB  {page:<11} {ready:6.2f} s  {drawn:6.2f} s", flush=True)
        browser.close()


if __name__ == "__main__":
    main([int(value) for value in sys.argv[1:]] or [1_000, 10_000, 200_000])
