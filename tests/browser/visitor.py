"""A visit to a report in a real browser: what it complained of and asked for, and places read off its axes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

PATIENCE = 30.0
"""Seconds after which what is waited for will not come."""

FLAGS = [
    "--no-sandbox", "--enable-unsafe-swiftshader", "--disable-background-networking", "--disable-component-update",
    "--disable-default-apps", "--disable-sync", "--no-first-run", "--metrics-recording-only",
]  # fmt: skip

REMARKS = "GL Driver Message", "willReadFrequently"
"""What software rendering says of its own speed, and canvases of being read, as only these tests do."""

SLOWNESS = int(os.environ.get("EIGENLENS_SLOW_PAGES", "0"))
"""Milliseconds by which frames, observers and requests of pages are late: a test that does not wait for them then fails
every time, and not once in a hundred."""

WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
{
  const own = [requestAnimationFrame, setTimeout, clearTimeout, fetch];
  const [frame, wait, forget, plain] = own.map((act) => act.bind(window));
  const due = new Set();
  const counted = (ask, act) => {
    const id = ask((...given) => (due.delete(id), act(...given)));
    due.add(id);
    return id;
  };
  const framed = SLOWNESS ? (later) => wait(() => frame(later), SLOWNESS) : (later) => -frame(later);
  window.requestAnimationFrame = (act) => counted(framed, act);
  window.setTimeout = (act, ms = 0) => (ms > 500 ? wait(act, ms) : counted((later) => wait(later, ms), act));
  window.clearTimeout = (id) => (due.delete(id), forget(id));
  for (const name of SLOWNESS ? ["ResizeObserver", "IntersectionObserver"] : [])
    window[name] = class extends window[name] {
      constructor(act, more) {
        super((...given) => setTimeout(() => act(...given), SLOWNESS), more);
      }
    };
  if (SLOWNESS) window.fetch = (...given) => new Promise((done) => wait(done, SLOWNESS)).then(() => plain(...given));
  const rest = (done) => frame(() => frame(() => wait(() => (due.size ? rest(done) : done()), 30)));
  window.atRest = () => new Promise(rest);
}
""".replace("SLOWNESS", str(SLOWNESS))
"""Counts what a page has still to do: frames that it waits for, and what it does a moment later."""

TICKS = """(all) => all.map((each) => {
  const [x, y, side] = ["x", "y", "text-anchor"].map((name) => each.getAttribute(name));
  return [each.textContent, Number(x), Number(y), side];
})"""

PIXELS = """(canvas, places) => {
  const context = canvas.getContext("2d");
  const ratio = canvas.width / canvas.clientWidth;
  return places.map((place) => [...context.getImageData(...place.map((v) => Math.round(v * ratio)), 1, 1).data]);
}"""

CONTRAST = """() => {
  const parse = (c) => { const [r, g, b, a = 1] = c.match(/[\\d.]+/g).map(Number); return { rgb: [r, g, b], a }; };
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = ({ rgb }) => rgb.reduce((sum, v, i) => sum + linear(v / 255) * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => {
    const colour = parse(getComputedStyle(node).backgroundColor);
    return colour.a === 1 ? colour : behind(node.parentElement);
  };
  const found = [];
  for (const node of document.querySelectorAll("body *")) {
    const text = [...node.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent.trim()).join("");
    if (!text || !node.checkVisibility() || ["SCRIPT", "STYLE", "OPTION"].includes(node.tagName)) continue;
    const onCell = node.closest("[aria-label=text]")?.parentElement.querySelector("[aria-label=cell]");
    if (onCell) continue;
    const style = getComputedStyle(node);
    const colour = parse(node instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(colour), light(behind(node))].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), text.slice(0, 40), parseFloat(style.fontSize)]);
  }
  return found;
}"""
"""Of every text that is seen: its contrast with what lies behind it, its beginning, and its size."""


class Visit:
    """A page that is open, and what it did."""

    def __init__(
        self, browser, path: Path | str, *, page: str = "", width: int = 1400, scheme: str = "light", ratio=1.0
    ):
        """Open a file, or an address of this machine."""
        self.address = path if isinstance(path, str) else path.as_uri()
        looks = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme, "device_scale_factor": ratio}
        self.context = browser.new_context(**looks, accept_downloads=True)
        self.context.add_init_script(WATCH)
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.context.on("request", lambda request: self.asked.append(request.url))
        self.page = self.context.new_page()
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(self.address + (f"#{page}" if page else ""))
        self.page.wait_for_selector("html[data-ready=yes]")
        self.settle()

    def _hear(self, message) -> None:
        if message.type in ("error", "warning") and not any(each in message.text for each in REMARKS):
            self.complaints.append(message.text)

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.page.evaluate("window.atRest()")

    def until(self, condition: str) -> None:
        """Wait until an expression is true. The page's policy forbids playwright's own way, which evaluates text."""
        end = time.monotonic() + PATIENCE
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, f"never came true: {condition}"
            self.settle()

    def leave(self) -> None:
        """Close it; nothing may have gone wrong or out."""
        violations = self.page.evaluate("window.violations")
        hit = self.page.evaluate("window.hit")
        self.context.close()
        own = self.address.partition("?")[0] if self.address.startswith("http") else "file:"
        outside = [url for url in self.asked if not url.startswith((own, "data:", "blob:"))]
        assert self.complaints == []
        assert violations == []
        assert outside == []
        assert own != "file:" or sum(url.startswith("file:") for url in self.asked) == 1
        assert hit is None

    # ---- parts of the page ----------------------------------------------------------------------------

    def card(self, title: str):
        """The card of a chart."""
        return self.page.get_by_role("article", name=title, exact=True)

    def stage(self, title: str):
        """Where the points of a chart are."""
        return self.card(title).locator(".stage")

    def download(self, button) -> Path:
        """The file that a button saves."""
        with self.page.expect_download() as saved:
            button.click()
        return Path(saved.value.path())

    def axis(self, title: str, *, up: bool) -> np.ndarray:
        """(2,) slope and intercept from values to pixels of the stage, as the ticks say once the page is at rest."""
        self.settle()
        ticks = self.stage(title).locator("text.tick").evaluate_all(TICKS)
        mine = [(text, y - 4 if up else x) for text, x, y, side in ticks if (side == "end") == up]
        assert len(mine) >= 2
        values = [float(text.replace("−", "-").replace(",", "")) for text, _ in mine]
        return np.polyfit(values, [place for _, place in mine], 1)

    def places(self, title: str, x, y) -> np.ndarray:
        """(n, 2) where points are in the stage, in pixels."""
        across, up = self.axis(title, up=False), self.axis(title, up=True)
        return np.stack([np.polyval(across, x), np.polyval(up, y)], axis=1)

    def mouse(self, title: str, place) -> tuple[float, float]:
        """A place of a stage as a place of the window."""
        self.stage(title).scroll_into_view_if_needed()
        self.settle()
        box = self.stage(title).bounding_box()
        return box["x"] + float(place[0]), box["y"] + float(place[1])

    def colours(self, title: str, places) -> np.ndarray:
        """(n, 4) red, green, blue and opacity of the canvas at some places."""
        self.settle()
        canvas = self.stage(title).locator("canvas")
        return np.array(canvas.evaluate(PIXELS, np.asarray(places, dtype=float).tolist()))

    def lasso(self, title: str, corners) -> None:
        """Drag around some corners with the shift key down."""
        mouse, keyboard = self.page.mouse, self.page.keyboard
        places = [self.mouse(title, corner) for corner in corners]
        keyboard.down("Shift")
        mouse.move(*places[0])
        mouse.down()
        for place in places[1:]:
            mouse.move(*place, steps=4)
        mouse.up()
        keyboard.up("Shift")
        self.settle()
