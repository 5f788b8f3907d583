"""Reports that a page shows where it speaks of them: the file itself, in a frame that can be opened on its own.

    ```{live-report} food.html
    :title: The report of the UK's food
    :height: 900px
    ```

shows a file that a block above it on the same page wrote. It is copied to `_reports/` of the built pages.
"""

from __future__ import annotations

import html
import shutil
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from run_blocks import page_of

FOLDER = "_reports"
FRAME = """<figure class="live-report">
<iframe src="{address}" title="{title}" loading="lazy" style="height: {height}"
  sandbox="allow-scripts allow-downloads allow-popups"></iframe>
<figcaption>{title}. <a href="{address}">Open it alone</a></figcaption>
</figure>"""


class LiveReport(SphinxDirective):
    """A report in a frame."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"title": directives.unchanged_required, "height": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        name = f"{self.env.docname.replace('/', '-')}-{self.arguments[0]}"
        folder = stored(self.env.srcdir)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(page_of(self.env.docname).folder / self.arguments[0], folder / name)
        address = "../" * self.env.docname.count("/") + f"{FOLDER}/{name}"
        title, height = html.escape(self.options["title"]), self.options.get("height", "800px")
        return [nodes.raw("", FRAME.format(address=address, title=title, height=height), format="html")]


def stored(source: Any) -> Path:
    """Return where reports are kept between builds: a page that has not changed is not run again."""
    return Path(source) / "build" / "reports"


def copy(app: Any, error: Exception | None) -> None:
    """Put the reports beside the built pages."""
    if error is None and app.builder.format == "html" and stored(app.srcdir).exists():
        shutil.copytree(stored(app.srcdir), Path(app.outdir) / FOLDER, dirs_exist_ok=True)


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("live-report", LiveReport)
    app.connect("build-finished", copy)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
