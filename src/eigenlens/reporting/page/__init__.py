"""The HTML file of a report: its data, the script that draws it, and a content policy that lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

import numpy as np

LISTED = 256
"""Up to this many numbers are written as text; more are packed as float32."""

FINE, MAX_16_BIT = 20_000, 65_534
"""Up to this many coordinates keep float32; more are packed as 16 bits, whose largest value means missing."""


CLOSE = 1e-3
"""A range this small relative to the numbers would lose digits in float32."""


def pack_numbers(values: Any, *, fine: float = np.inf) -> Any:
    """Return numbers for the page: a list with null for NaN, or the base64 of float32 or of 16 bits between two limits.

    Coordinates on a screen need no more than 16 bits, which more numbers than `fine` have. Numbers that lie close
    together but far from zero, such as times in seconds, are written as differences from their min.

    >>> pack_numbers([1.0, float("nan")])
    [1.0, None]
    """
    array = np.asarray(values, dtype=np.float64).ravel()
    seen = np.isfinite(array)
    low, high = (float(array[seen].min()), float(array[seen].max())) if seen.any() else (0.0, 1.0)
    size = max(abs(low), abs(high))
    close = high - low < CLOSE * size and (low < high or size > 1.0 / CLOSE**2)
    if array.size <= LISTED:
        return [float(f"{v:.{15 if close else 7}g}") if np.isfinite(v) else None for v in array]
    if array.size <= fine:
        start = {"from": low} if close else {}
        return {"f32": _base64(np.asarray(array - start.get("from", 0.0)).astype("<f4"))} | start
    return pack_16_bits(np.where(seen, (array - low) / ((high - low) or 1.0) * MAX_16_BIT, MAX_16_BIT + 1), low, high)


def pack_16_bits(steps: Any, low: float, high: float) -> dict[str, Any]:
    """Return steps from 0 to `MAX_16_BIT`, which represent numbers from low to high, as base64."""
    return {"u16": _base64(np.round(steps).astype("<u2")), "low": low, "high": high}


def _base64(array: Any) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")


def render_page(report: dict[str, Any]) -> str:
    """Return the HTML of a report; web/src/report.ts describes its data.

    The data is in a block that browsers do not run, with every `<` escaped, so that a column called `</script>` is
    only text. Scripts run only if their hash matches, and nothing is loaded from elsewhere.
    """
    script, style = (files(__package__).joinpath(name).read_text(encoding="utf-8") for name in ("main.js", "style.css"))
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    data = json.dumps(report, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in (("<", "\\u003c"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029")):
        data = data.replace(character, escape)
    data = data.encode("utf-8", "replace").decode("utf-8")  # unpaired surrogates, which file names may hold
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>Eigenlens</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<script type="application/json" id="report">{data}</script>\n<script>{script}</script>\n</body>\n</html>\n'
    )
