"""Where the modules that make the pages are, and how a script of the gallery is run."""

from __future__ import annotations

import runpy
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "docs"), str(ROOT / "docs" / "extensions"), str(ROOT / "benchmarks")]

GALLERY = ROOT / "docs" / "gallery"
SMALLEST_FONT = 11.0


@pytest.fixture
def run_script(monkeypatch):
    """Run a script of the gallery without warnings, check that its figure can be read, and return its variables."""
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.delenv("DISPLAY", raising=False)

    def run(name):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            left = runpy.run_path(str(GALLERY / f"{name}.py"))
        (number,) = plt.get_fignums()
        readable(plt.figure(number))
        return left

    with plt.rc_context({"backend": "agg"}):
        yield run
    plt.close("all")


def readable(figure):
    from matplotlib.text import Text

    figure.draw_without_rendering()
    texts = [text for text in figure.findobj(Text) if text.get_text().strip()]
    assert min(text.get_fontsize() for text in texts) >= SMALLEST_FONT
    drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert min(drawn.x0, drawn.y0, width - drawn.x1, height - drawn.y1) > -0.03  # nothing is cut off


@pytest.fixture
def claims_of():
    """Return the script that a claim is about: claims and scripts have the same order, and every script has a claim."""

    def name(folder, claims, claim):
        named = [f"plot_{number:02}_{each.__name__}" for number, each in enumerate(claims, start=1)]
        assert named == sorted(path.stem for path in (GALLERY / folder).glob("plot_*.py"))
        return f"{folder}/{named[claims.index(claim)]}"

    return name
