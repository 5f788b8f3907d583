"""The reference of `eigenlens.plot` shows what its examples draw: each docstring is run, and its figures follow it."""

from __future__ import annotations

import doctest
import functools
import inspect
from pathlib import Path
from typing import Any

import figures
from docstrings import escaped
from gallery_images import IMAGE

MODULE = "eigenlens.plot."


def draw(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Add to the lines of a plot's docstring the figures of its example, light and dark."""
    if not name.startswith(MODULE):
        return
    alt = escaped((inspect.getdoc(obj) or "").split("\n")[0])
    folder = Path(app.srcdir) / "build" / "figures"
    for light in figures_of(obj, folder, name.removeprefix(MODULE)):
        width = min(figures.css_width(light), figures.SHOWN_WIDTH)
        for path, kind in zip((light, figures.dark_sibling(light)), ("only-light", "only-dark"), strict=True):
            uri = path.relative_to(app.srcdir).as_posix()
            lines += IMAGE.format(uri=uri, alt=alt, width=width, kind=kind).split("\n")


@functools.cache
def figures_of(function: Any, folder: Path, stem: str) -> tuple[Path, ...]:
    """Run the example of a plotting function, save its figures in the folder, and return the light ones."""
    import matplotlib.pyplot as plt

    figures.reset()
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(inspect.getdoc(function) or ""):
        exec(compile(example.source, f"<example of {stem}>", "exec"), names)
    folder.mkdir(parents=True, exist_ok=True)
    saved = [
        figures.save_twice(plt.figure(number), folder / f"{stem}-example-{i}.png")[0]
        for i, number in enumerate(plt.get_fignums(), start=1)
    ]
    plt.close("all")
    if not saved:
        raise RuntimeError(f"the example of {MODULE}{stem} draws nothing")
    return tuple(saved)


def setup(app: Any) -> dict[str, Any]:
    # After `docstrings`, which writes the lines anew.
    app.connect("autodoc-process-docstring", draw, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
