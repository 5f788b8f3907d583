"""The gallery's figures, each for a light and a dark page: a scraper for sphinx-gallery, and thumbnails."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import figures

IMAGE = """
.. image:: /{uri}
   :alt: {alt}
   :width: {width}px
   :class: {kind} run-image
"""


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the open figures, close them, and return the reST that shows them."""
    import matplotlib.pyplot as plt

    found = []
    for number, target in zip(plt.get_fignums(), block_vars["image_path_iterator"], strict=False):
        paths = figures.save_twice(plt.figure(number), Path(target))
        alt = title_of(Path(block_vars["src_file"]))
        width = min(figures.css_width(paths[0]), figures.SHOWN_WIDTH)
        for path, kind in zip(paths, ("only-light", "only-dark"), strict=True):
            uri = os.path.relpath(path, gallery_conf["src_dir"])
            found.append(IMAGE.format(uri=uri, alt=alt, width=width, kind=kind))
    plt.close("all")
    return "\n".join(found)


def title_of(script: Path) -> str:
    """The first line of a script's docstring that is words: the description of its figures."""
    lines = script.read_text(encoding="utf-8").splitlines()
    words = (line.strip().strip('"').strip() for line in lines)
    return next((line for line in words if line and not set(line) <= set('=-"r')), script.stem)


SHOWN = re.compile(r"\n\.\. image:: [^\n]+\n(?:   :[^\n]+\n)+")
"""An image directive as `scrape` wrote it."""


def images_first(text: str) -> str:
    """Return a gallery page with its figures above its code: sphinx-gallery puts them below it if text follows."""
    found, code = list(SHOWN.finditer(text)), text.find(".. GENERATED")
    if not found or code < 0 or found[0].start() < text.find(".. code-block:: Python"):
        return text
    below = SHOWN.sub("", text[code:])
    return text[:code] + "".join(match[0] for match in found) + below


def put_images_first(app: Any, docname: str, source: list[str]) -> None:
    if docname.startswith("generated/gallery/") and "/plot_" in docname:
        source[0] = images_first(source[0])


def forget(app: Any) -> None:
    """Run all scripts again when the package or an extension has changed: their checksums are deleted."""
    folder = Path(app.srcdir) / "generated" / "gallery"
    kept, now = folder / ".code", app.config.code_digest
    if kept.exists() and kept.read_text(encoding="utf-8") == now:
        return
    for path in folder.rglob("*.md5"):
        path.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    kept.write_text(now, encoding="utf-8")


def reset(gallery_conf: dict[str, Any], script: str) -> None:
    """Reset matplotlib to the style of the pages before each script."""
    figures.reset()


# ---- thumbnails ------------------------------------------------------------------------------------------------

DARK = "#14181e"
RULE = 'html[data-theme="dark"] img[src$="{name}.png"] {{ content: url("../_images/{name}-dark.png"); }}'
NUMBER = re.compile(r"sphinx_gallery_thumbnail_number\s*=\s*(\d+)")


def darken_thumbnails(app: Any, error: Exception | None) -> None:
    """Write a dark thumbnail beside each light one; a style sheet swaps them."""
    if error or app.builder.format != "html":
        return
    images, rules = Path(app.outdir) / "_images", []
    for script in sorted((Path(app.srcdir) / "gallery").rglob("plot_*.py")):
        chosen = NUMBER.search(script.read_text(encoding="utf-8"))
        name = f"sphx_glr_{script.stem}"
        dark = images / f"{name}_{int(chosen[1]) if chosen else 1:03d}-dark.png"
        if dark.exists() and (images / f"{name}_thumb.png").exists():
            _thumbnail(dark, images / f"{name}_thumb.png", images / f"{name}_thumb-dark.png")
            rules.append(RULE.format(name=f"{name}_thumb"))
    (Path(app.outdir) / "_static" / "gallery-dark.css").write_text("\n".join(rules) + "\n", encoding="utf-8")


def _thumbnail(dark: Path, light: Path, target: Path) -> None:
    """Save the dark figure on a dark background at the size of the light thumbnail."""
    from PIL import Image

    size = Image.open(light).size
    shown = Image.open(dark).convert("RGBA")
    shown.thumbnail(size, Image.Resampling.LANCZOS)
    ground = Image.new("RGBA", size, DARK)
    ground.alpha_composite(shown, ((size[0] - shown.width) // 2, (size[1] - shown.height) // 2))
    ground.convert("RGB").save(target)


def setup(app: Any) -> dict[str, Any]:
    app.add_css_file("gallery-dark.css")
    app.connect("builder-inited", forget, priority=100)
    app.connect("source-read", put_images_first)
    app.connect("build-finished", darken_thumbnails)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
