"""The HTML that a notebook shows for a fitted estimator: its parameters and its main plot, an image without scripts."""

from __future__ import annotations

import html
import io
import warnings
from base64 import b64encode
from typing import Any

import numpy as np

from eigenlens.catalogue import entry_of, import_part

MAIN_PLOTS = "eigenlens.plot._main_plots.MAIN_PLOTS"
"""The plots by the names of models, imported on first use: matplotlib is an extra, and plots are above estimators."""

SIZE = (6.0, 4.0)
"""The size of a plot in inches, which some plots change."""

SVG_SETTINGS: Any = {
    "svg.fonttype": "path",
    "svg.image_inline": True,
    "svg.hashsalt": "eigenlens",
    "text.usetex": False,
}
"""Text as outlines, which need no font, no other files, and names of parts that are the same each time."""


def main_plot_html(estimator: Any) -> str:
    """Return the main plot of a fitted model as HTML; "" if it has none, is not fitted, or matplotlib is missing.

    Nothing is drawn on a screen, or left open.
    """
    entry = entry_of(estimator)
    if entry is None or not estimator.__sklearn_is_fitted__():
        return ""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # the fit has warned of what is wrong with the model
            plots = import_part(MAIN_PLOTS)
            image = _draw_svg(plots[entry.estimator.rpartition(".")[2]], estimator)
    except Exception:  # a model that cannot be drawn, as one without components, still has its diagram
        return ""
    name = type(estimator).__name__
    return (
        '<figure style="margin: 0">'
        f'<figcaption><code style="white-space: pre-wrap">{html.escape(repr(estimator))}</code></figcaption>'
        f'<img style="max-width: 100%" alt="{html.escape(f"The main plot of this {name}")}"'
        f' src="data:image/svg+xml;base64,{b64encode(image).decode()}"></figure>'
    )


def _draw_svg(draw: Any, estimator: Any) -> bytes:
    """Return a plot as SVG; a figure that pyplot does not know opens no window, and is shown nowhere else."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    file = io.BytesIO()
    with rc_context(SVG_SETTINGS):
        figure = Figure(figsize=SIZE, layout="constrained")
        FigureCanvasAgg(figure)
        draw(estimator, figure.subplots())
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()
