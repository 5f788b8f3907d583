"""How long the explorer takes from a click to new plots in chromium, and the shares of server, transfer and drawing.

    python benchmarks/explorer.py [ROWS …]        # needs the extras `explore` and `browser`, and chromium on the path

Tables of 100 columns; each change is made several times. Prints the median of the times, and fails nothing; before, how
long the command takes from Enter to the first picture.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

COLUMNS, TIMES = 100, 5

FLAGS = ["--no-sandbox", "--enable-unsafe-swiftshader", "--disable-background-networking"]

WATCH = """
window.seen = [];
const plain = window.fetch;
window.fetch = async (address, ...more) => {
  const asked = performance.now();
  const found = await plain(address, ...more);
  if (!String(address).endsWith("/answer")) return found;
  const text = await found.text();
  window.seen.push({ asked, came: performance.now(), ms: JSON.parse(text).ms, size: text.length });
  return new Response(text, { status: found.status, headers: found.headers });
};
"""

CHANGED = """async (act) => {
  const count = Number(document.documentElement.dataset.answered);
  window.seen = [];
  const [id, value] = act;
  const field = document.querySelector(id);
  const start = performance.now();
  if (typeof value === "number") field.selectedIndex = value; else field.value = value;
  field.dispatchEvent(new Event("change", { bubbles: true }));
  await new Promise((done) => new MutationObserver((_, watch) => {
    if (Number(document.documentElement.dataset.answered) !== count) done(watch.disconnect());
  }).observe(document.documentElement, { attributeFilter: ["data-answered"] }));
  const [high, drawn] = [innerHeight, { ".holder": ".card", ".stage": ".overlay text.tick", ".plot": "svg" }];
  const lacking = ([part, inside]) => [...document.querySelectorAll(`.answers ${part}`)].some((each) => {
    const { top, bottom } = each.getBoundingClientRect();
    return bottom > 0 && top < high && !each.querySelector(inside);
  });
  let end;
  do {
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    end = performance.now();
  } while (Object.entries(drawn).some(lacking));
  const [{ asked, came, ms, size }] = window.seen;
  return [end - start, ms, came - asked - ms, end - came, size / 1e6];
}"""
"""Milliseconds of a change until a frame has all charts in view: in all, of the server, of the transfer, of reading and
drawing; and megabytes."""

PANNED = """async () => {
  const stage = document.querySelector(".stage");
  const box = stage.getBoundingClientRect();
  const place = { bubbles: true, pointerId: 1, clientY: box.top + 200 };
  const at = (type, x) => stage.dispatchEvent(new PointerEvent(type, { ...place, clientX: x }));
  stage.setPointerCapture = () => {};
  at("pointerdown", box.left + 200);
  const start = performance.now();
  for (let i = 1; i <= 30; i++) {
    at("pointermove", box.left + 200 + 3 * i);
    await new Promise((done) => requestAnimationFrame(done));
  }
  const each = (performance.now() - start) / 30;
  at("pointerup", box.left + 290);
  return each;
}"""


def written(n: int, folder: Path) -> Path:
    """A file of n rows of a few factors and noise."""
    rng, path = np.random.default_rng(0), folder / f"{n}.npy"
    W = rng.standard_normal((12, COLUMNS), dtype=np.float32)
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, COLUMNS))
    for start in range(0, n, 50_000):
        part = rows[start : start + 50_000]
        part[:] = rng.standard_normal((len(part), 12), dtype=np.float32) @ W
        part += rng.standard_normal(part.shape, dtype=np.float32)
    rows.flush()
    return path


def from_enter(browser, folder: Path) -> None:
    """Print how long the command takes from Enter to the first picture of 1,000 rows, in a browser that is open."""
    np.savetxt(path := folder / "rows.csv", np.load(written(1_000, folder)), delimiter=",", fmt="%.4f")
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    start = time.perf_counter()
    command = [sys.executable, "-u", "-m", "eigenlens", "explore", str(path), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        link = next(line.split()[1] for line in running.stdout if line.startswith("open"))
        listening = time.perf_counter() - start
        page.goto(link)
        page.wait_for_selector("html[data-ready=yes]")
        print(f"first picture of a CSV of 1,000 rows: {time.perf_counter() - start:.2f} s after Enter, of which "
              f"{listening:.2f} s until the server listens")  # fmt: skip
        running.send_signal(signal.SIGINT)
    page.close()


CHANGES = {
    "column": lambda i: ["[data-column='3']", 5 if i % 2 == 0 else 0],
    "scaling": lambda i: ["#scaling", (i + 1) % 2],
    "components": lambda i: ["#k", str(4 + i % 2)],
    "plane": lambda i: ["#up", 2 + i % 2],
}
"""A change of the page, back and forth."""


def measured(browser, path: Path) -> None:
    from eigenlens.explorer.explored_table import open_explored
    from eigenlens.explorer.explorer import Explorer
    from eigenlens.explorer.server import ExplorerServer

    start = time.perf_counter()
    table = open_explored(path)
    read = time.perf_counter() - start
    server = ExplorerServer(lambda: Explorer(table))
    thread = server.start()
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.add_init_script(WATCH)
    start = time.perf_counter()
    page.goto(server.guard.link)
    page.wait_for_selector("html[data-ready=yes]")
    first = time.perf_counter() - start
    shown = len(table.sample.chosen)
    print(f"\n{table.n:,} rows, {shown:,} shown: read in {read:.1f} s, first plots {first:.2f} s after the link")
    print("change           all   server  transfer  drawing   size")
    for name, act in CHANGES.items():
        found = [page.evaluate(CHANGED, act(i)) for i in range(TIMES + 1)][1:]
        whole, served, sent, drawn, size = np.median(found, axis=0)
        print(f"{name:<12} {whole:5.0f} ms {served:5.0f} ms  {sent:5.0f} ms {drawn:5.0f} ms {size:5.2f} MB", flush=True)
    print(f"a frame while panning: {page.evaluate(PANNED):.1f} ms")
    page.close()
    server.stop()
    thread.join()


def main(counts: list[int]) -> None:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        from_enter(browser, Path(folder))
        for n in counts:
            measured(browser, written(n, Path(folder)))
        browser.close()


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [1_000, 10_000, 1_000_000])
