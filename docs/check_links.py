"""Check the built pages: local links lead somewhere, nothing is loaded from elsewhere, and images have descriptions.

python docs/check_links.py docs/build/html
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script", "img", "iframe", "source", "video", "audio", "embed"}
"""Elements that load what their `src` names."""

LOADED_LINKS = {"stylesheet", "icon", "preload", "prefetch", "modulepreload", "preconnect", "dns-prefetch"}
"""Relations of <link> for which a browser goes somewhere by itself."""

FAR = re.compile(r"^(https?:)?//", re.IGNORECASE)
LOADED_BY_STYLE = re.compile(
    r"@import\s+['\"]?((?:https?:)?//[^'\");]+)|url\(\s*['\"]?((?:https?:)?//[^'\")]+)", re.IGNORECASE
)


class Page(HTMLParser):
    """The links, loaded resources, anchors and images without a description of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors: set[str] = set()
        self.wordless: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        if tag == "link" and LOADED_LINKS & set(given.get("rel", "").lower().split()):
            self.loaded.add(given.get("href", ""))
        if tag in LOADED and "src" in given:
            self.loaded.add(given["src"])
        # An empty text is right for what a caption beside it says already: thumbnails.
        if tag == "img" and ("alt" not in given or ("run-image" in given.get("class", "") and not given["alt"])):
            self.wordless.add(given.get("src", ""))


def problems(root: Path) -> list[str]:
    """Everything that is wrong, a line each."""
    pages = {
        path: Page(path.read_text(encoding="utf-8"))
        for path in sorted(root.rglob("*.html"))
        if "_static" not in path.parts
    }
    found = [
        f"{path.relative_to(root)}: {what}" for path, page in pages.items() for what in _of_page(path, page, pages)
    ]
    for path in sorted(root.rglob("*.css")):
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [f"{path.relative_to(root)}: loads {a or b}" for a, b in LOADED_BY_STYLE.findall(text)]
    return found


def _of_page(path: Path, page: Page, pages: dict[Path, Page]) -> list[str]:
    found = [f"loads {address}" for address in sorted(page.loaded) if FAR.match(address)]
    found += [f"no description of the image {address}" for address in sorted(page.wordless)]
    for address in sorted(page.links | page.loaded):
        parts = urlsplit(address)
        if parts.scheme or FAR.match(address):
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
        if not target.exists():
            found.append(f"no file {address}")
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
            found.append(f"no anchor {address}")
    return found


def main() -> int:
    root = Path(sys.argv[1]).resolve()
    found = problems(root)
    print("\n".join(found) or f"{len(list(root.rglob('*.html')))} pages: every local link leads somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
