"""What the search shows of each page it found, also where pages are opened as files and cannot fetch one another.

Sphinx's search fetches a page to show the lines about the words. A browser forbids that to pages of file://; for these,
`scorer.js` loads `_static/excerpts.js`, which holds the text of every section.
"""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from docutils import nodes

LEFT_OUT = (nodes.section, nodes.title, nodes.math_block, nodes.raw, nodes.comment)
"""Children of a section that are no part of its excerpt: its subsections have their own."""


def page(doctree: nodes.document) -> str:
    """The sections of a page, one after the other, as the search wants them: HTML with their names.

    >>> from docutils.core import publish_doctree
    >>> text = "One\\n===\\n\\nCats & dogs.\\n\\nTwo\\n---\\n\\nBirds."
    >>> page(publish_doctree(text, settings_overrides={"doctitle_xform": False}))
    '<div role="main"><section id="one">Cats &amp; dogs.</section> <section id="two">Birds.</section></div>'
    """
    sections = [
        f'<section id="{html.escape(name)}">{html.escape(_text(section))}</section>'
        for section in doctree.findall(nodes.section)
        for name in section["ids"][:1]
    ]
    return f'<div role="main">{" ".join(sections)}</div>'


def _text(section: nodes.section) -> str:
    parts = [child.astext() for child in section.children if not isinstance(child, LEFT_OUT)]
    return " ".join(" ".join(parts).split())


def write(app: Any, exception: Exception | None) -> None:
    if exception is None and app.builder.name == "html":
        found = {f"{name}.html": page(app.env.get_doctree(name)) for name in sorted(app.env.found_docs)}
        path = Path(app.outdir) / "_static" / "excerpts.js"
        path.write_text(f"setExcerpts({json.dumps(found, ensure_ascii=False)});\n", encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
