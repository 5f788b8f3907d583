"""Record how the explorer is used, for its page: `python docs/record_explorer.py`, with chromium and playwright.

A real explorer of the table of wines is asked what a newcomer would ask; each frame is its page with a line that says
what was done. The files, light and dark, and a still one for readers who want no motion, are kept in `docs/_static`.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

import eigenlens

TARGET = Path(__file__).parent / "_static"
SIZE = {"width": 1280, "height": 860}
SHOWN = (960, 645)
CAPTION = 40
SECONDS = 2.6

COLORS = {"light": ("#ffffff", "#1f2933"), "dark": ("#14181e", "#d7dde4")}
"""By theme, the colours of the line below each frame: its ground and its text."""


def drop_proline(page: Any) -> None:
    page.locator(".chip", has_text="proline").drag_to(page.locator(".place[data-role=ignore]"))


def own_units(page: Any) -> None:
    page.locator("#scaling").select_option("in their own units")


def undo(page: Any) -> None:
    page.get_by_role("button", name="Undo", exact=True).click()


def factors(page: Any) -> None:
    page.locator("#rotation").select_option("varimax")


def select(page: Any) -> None:
    page.locator(".legend button", has_text="Barbera").first.click()


def explain(page: Any) -> None:
    page.get_by_role("button", name="What makes them different?").click()
    page.wait_for_timeout(800)
    page.get_by_role("heading", name="different").first.scroll_into_view_if_needed()


STEPS: dict[str, Callable[[Any], None] | None] = {
    "A file is opened: names, classes and numbers have found their places": None,
    "A column is dragged to Ignored, and the components follow": drop_proline,
    "In their own units one column decides, and the page says so": own_units,
    "Undo": undo,
    "Rotated by varimax": factors,
    "A class is selected by a click on its name": select,
    "What makes it different? Columns by the size of the difference": explain,
}


def frames(link: str, theme: str) -> Iterator[Image.Image]:
    """Yield a frame per step, with its line."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = chromium.new_page(viewport=SIZE, color_scheme=theme)
        page.goto(link)
        for text, act in STEPS.items():
            if act is not None:
                act(page)
            page.wait_for_timeout(1500)
            yield captioned(Image.open(io.BytesIO(page.screenshot())), text, theme)
        chromium.close()


def captioned(screen: Image.Image, text: str, theme: str) -> Image.Image:
    """Return a screenshot at the size of the page, with a line of text below it."""
    ground, color = COLORS[theme]
    frame = Image.new("RGB", (SHOWN[0], SHOWN[1] + CAPTION), ground)
    frame.paste(screen.convert("RGB").resize(SHOWN, Image.Resampling.LANCZOS))
    place = (SHOWN[0] // 2, SHOWN[1] + CAPTION // 2)
    ImageDraw.Draw(frame).text(place, text, color, ImageFont.load_default(18), anchor="mm")
    return frame


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        wine = eigenlens.datasets.load("wine")
        table = wine.frame().reset_index(names="bottle")
        table.insert(1, "cultivar", wine.labels)
        table.to_csv(Path(folder) / "wine.csv", index=False)
        exploration = eigenlens.explore(Path(folder) / "wine.csv", wait=False, browser=False)
        for theme in COLORS:
            first, *rest = frames(exploration.link, theme)
            first.save(TARGET / f"explorer-{theme}.png", optimize=True)
            more = {"append_images": rest, "duration": int(1000 * SECONDS), "loop": 0, "quality": 70, "method": 6}
            first.save(TARGET / f"explorer-{theme}.webp", save_all=True, **more)
        exploration.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
