"""For authors of pages: code that runs when the page is built, so that every number on it is computed by it.

In a Markdown page,

    ```{run}
    import eigenlens
    food = eigenlens.datasets.load("uk-food")
    pca = eigenlens.PCA(n_components=0.9).fit(food.data)
    print(pca.explained_variance_ratio_.round(3))
    eigenlens.plot.scree(pca)
    ```

shows the code, then what it prints (and, as in a notebook, the value of a last line that is an expression: not
axes and None), then each open matplotlib figure, once for the light and once for the dark page.

* Names live on to the next block of the same page, and so do files: every page runs in a temporary folder of its own.
* `np`, `plt` and so on are undefined until you import them: what a reader copies must work.
* An exception, and also a warning, fails the build with the page and line. To show one on purpose, name it:

      ```{run}
      :raises: OptionError
      eigenlens.PCA(n_components=99).fit(food.data)
      ```

* Options: `:hide-code:` (for set-up and figures that need no code), `:hide-output:` (no text), `:alt: text` (says what
  the figure shows; a figure without it fails the build), `:caption: text`, `:width: 480px`, `:warns:` (warnings are
  printed like output instead of failing the build).

A number in a sentence is a value of the page too: {value}`f"{pca.explained_variance_ratio_[0]:.0%}"` puts the text
of any Python expression, in the names of the page so far.

    ```{run-shell}
    eigenlens fit pca wine.csv -k 0.9 --standardize --label cultivar -o wine.safetensors
    ```

runs a command line in the same folder, shows it and what it prints (results and messages together). Lines are joined by
a backslash as in a shell; each command must end with 0, or with the number in `:exit: 3`. `:hide-code:` and
`:hide-output:` work as above.

A page is run again when it changes, and all are when the package does. Keep a page below ten seconds or so: two cores
build all of them. Seeds are arguments, so give them.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

import figures

logger = logging.getLogger(__name__)

COLUMNS = 94
"""Characters that a line of code or output has on a page with a table of contents beside it."""


class Page:
    """The state that the blocks of one page share: names, a folder, and a count of figures."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.folder = Path(tempfile.mkdtemp(prefix="eigenlens-page-"))
        self.n_figures = 0
        self.where = self.folder.resolve()
        command = self.folder / ".bin" / "eigenlens"
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m eigenlens "$@"\n')
        command.chmod(0o755)

    def tidy(self, text: str) -> str:
        """Output without the name of the temporary folder."""
        for folder in (str(self.where), str(self.folder)):
            text = text.replace(f"{folder}/", "").replace(folder, ".")
        return text.rstrip()


PAGES: dict[str, Page] = {}
SECONDS: Counter[str] = Counter()
"""By page, how long its blocks have run in this build."""


def page_of(name: str) -> Page:
    if name not in PAGES:
        PAGES[name] = Page(name)
    return PAGES[name]


@contextlib.contextmanager
def timed(page: Page) -> Iterator[None]:
    start = time.perf_counter()
    try:
        yield
    finally:
        SECONDS[page.name] += time.perf_counter() - start


class Run(SphinxDirective):
    """Python that is shown and run."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "hide-code": directives.flag,
        "hide-output": directives.flag,
        "alt": directives.unchanged,
        "caption": directives.unchanged,
        "width": directives.unchanged,
        "raises": directives.unchanged,
        "warns": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        page, code = page_of(self.env.docname), "\n".join(self.content)
        try:
            with timed(page):
                text = execute(page, code, self.options.get("raises"), "warns" in self.options)
        except Exception as error:
            return failed(self, code, "".join(traceback.format_exception(error, limit=-3)))
        found: list[nodes.Node] = []
        if "hide-code" not in self.options:
            found.append(literal(code, "python", "run-code"))
        if text and "hide-output" not in self.options:
            found.append(literal(text, "text", "run-output"))
        with timed(page):
            return [*found, *self.figures(page)]

    def figures(self, page: Page) -> list[nodes.Node]:
        import matplotlib.pyplot as plt

        found: list[nodes.Node] = []
        for number in plt.get_fignums():
            page.n_figures += 1
            path = image_folder(self.env) / f"{page.name.replace('/', '-')}-{page.n_figures}.png"
            found.extend(shown(self, figures.save_twice(plt.figure(number), path)))
        plt.close("all")
        if found and not self.options.get("alt"):
            logger.warning("a figure needs :alt:, which says what it shows", location=self.get_location())
        if found and "caption" in self.options:
            found.append(nodes.paragraph("", self.options["caption"], classes=["run-caption"]))
        return found


class RunShell(SphinxDirective):
    """Commands that are shown and run."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "hide-code": directives.flag,
        "hide-output": directives.flag,
        "exit": directives.nonnegative_int,
    }

    def run(self) -> list[nodes.Node]:
        page, code = page_of(self.env.docname), "\n".join(self.content)
        found: list[nodes.Node] = []
        for command in commands(code):
            with timed(page):
                done = in_shell(page, command)
            if done.returncode != self.options.get("exit", 0):
                return failed(self, command, f"exit code {done.returncode}\n{done.stdout}")
            if "hide-code" not in self.options:
                asked = "\n".join(f"{'$' if i == 0 else '>'} {line}" for i, line in enumerate(command.split("\n")))
                found.append(literal(asked, "console", "run-code"))
            output = page.tidy(done.stdout)
            if output and "hide-output" not in self.options:
                found.append(literal(output, "text", "run-output"))
        return found


class Value(SphinxRole):
    """The text of an expression, in the names of the page."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        page = page_of(self.env.docname)
        try:
            text = str(eval(self.text, page.names))
        except Exception as error:
            logger.error("{value}`%s`: %r", self.text, error, location=self.get_location())
            text = "?"
        return [nodes.Text(text)], []


def execute(page: Page, code: str, raises: str | None, warns: bool) -> str:
    """Run code in the names and the folder of a page; what it printed, and its last value."""
    output = io.StringIO()
    with contextlib.chdir(page.folder), contextlib.redirect_stdout(output), warnings.catch_warnings():
        warnings.simplefilter("always" if warns else "error")
        warnings.showwarning = lambda message, kind, *_, **__: print(f"{kind.__name__}: {message}")
        figures.reset()
        try:
            show(run_to_last(code, page.names))
        except Exception as error:
            if raises is None or type(error).__name__ != raises:
                raise
            print(f"{type(error).__name__}: {error}")
        else:
            if raises is not None:
                raise RuntimeError(f"the block was to raise {raises}, and did not")
    return page.tidy(output.getvalue())


def run_to_last(code: str, names: dict[str, Any]) -> Any:
    """Run a block; the value of its last line if that is an expression, else None."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<page>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<page>", "eval"), names) if last is not None else None


def show(value: Any) -> None:
    """Print a last value as a notebook would: nothing for None, axes and figures."""
    parts = np.ravel(value)[:1] if isinstance(value, np.ndarray) and value.dtype == object else value
    kinds = [type(part) for part in parts] if isinstance(parts, (list, tuple, np.ndarray)) else [type(parts)]
    if value is not None and not any(kind.__module__.startswith("matplotlib") for kind in kinds):
        print(repr(value))


def commands(code: str) -> list[str]:
    """The commands of a block: its lines, those that end in a backslash with the next."""
    found: list[str] = []
    for line in code.split("\n"):
        if found and found[-1].endswith("\\"):
            found[-1] += f"\n{line}"
        elif line.strip():
            found.append(line)
    return found


def in_shell(page: Page, command: str) -> subprocess.CompletedProcess[str]:
    source = Path(__file__).parents[2] / "src"
    settings = {
        "PATH": os.pathsep.join((str(page.folder / ".bin"), str(Path(sys.executable).parent), os.environ["PATH"])),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(source), os.environ.get("PYTHONPATH")))),
        "COLUMNS": str(COLUMNS),
        "NO_COLOR": "1",
        "TERM": "dumb",
    }
    return subprocess.run(
        ["sh", "-c", command],
        cwd=page.folder,
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )


def literal(text: str, language: str, kind: str) -> nodes.container:
    block = nodes.literal_block(text, text, language=language)
    return nodes.container("", block, classes=[kind], literal_block=False)


def shown(directive: Run, paths: tuple[Path, Path]) -> list[nodes.Node]:
    """Return the light and the dark image of a figure, of which the theme shows one."""
    width = directive.options.get("width", f"{min(figures.css_width(paths[0]), figures.SHOWN_WIDTH)}px")
    root, alt = Path(directive.env.srcdir), directive.options.get("alt", "")
    found: list[nodes.Node] = []
    for path, kind in zip(paths, ("only-light", "only-dark"), strict=True):
        uri = f"/{path.relative_to(root).as_posix()}"
        image = nodes.image(uri=uri, alt=alt, width=width, classes=[kind, "run-image"])
        found.append(image)
    return found


def image_folder(env: Any) -> Path:
    folder = Path(env.srcdir) / "build" / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def failed(directive: SphinxDirective, code: str, why: str) -> list[nodes.Node]:
    """Say what failed; the build goes on to find what else does, and then fails."""
    logger.error("a block failed:\n\n%s\n\n%s", code, why, location=directive.get_location())
    return [literal(why, "text", "run-output")]


def forget(app: Any, env: Any, name: str) -> None:
    """Before a page is read (again): its names and files are gone."""
    if name in PAGES:
        shutil.rmtree(PAGES.pop(name).folder, ignore_errors=True)


def forget_all(app: Any, *_: Any) -> None:
    for name in list(PAGES):
        forget(app, None, name)


def setup(app: Any) -> dict[str, Any]:
    app.add_config_value("code_digest", "", "env")
    app.add_directive("run", Run)
    app.add_directive("run-shell", RunShell)
    app.add_role("value", Value())
    app.connect("env-purge-doc", forget)
    app.connect("env-updated", forget_all)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
