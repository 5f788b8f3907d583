"""One self-contained HTML file: the report as data, the bundle that draws it, and a policy that keeps all else out."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

import numpy as np

__all__ = ["GAP_16", "packed", "page"]

LISTED = 256
"""Up to so many numbers stand in the page as they are; more are packed as float32."""

FINE, GAP_16 = 20_000, 65_534
"""Up to so many places keep float32; beyond, 16 bits, whose largest value stands for a missing one."""


CLOSE = 1e-3
"""A range this small beside the numbers themselves would lose digits to float32."""


def packed(values: Any, *, quantised: bool = False) -> Any:
    """Numbers for the page: a list with null for NaN, the base64 of float32, or that of 16 bits between two limits.

    Places on a screen need no more than 16 bits: `quantised` takes them where there are many numbers. Numbers that lie
    close together but far from zero, such as moments in seconds, are told from the least of them.

    >>> packed([1.0, float("nan")])
    [1.0, None]
    """
    array = np.asarray(values, dtype=np.float64).ravel()
    seen = np.isfinite(array)
    low, high = (float(array[seen].min()), float(array[seen].max())) if seen.any() else (0.0, 1.0)
    size = max(abs(low), abs(high))
    close = high - low < CLOSE * size and (low < high or size > 1.0 / CLOSE**2)
    if array.size <= LISTED:
        return [float(f"{v:.{15 if close else 7}g}") if np.isfinite(v) else None for v in array]
    if not quantised or array.size <= FINE:
        start = {"from": low} if close else {}
        return {"f32": _base64(np.asarray(array - start.get("from", 0.0)).astype("<f4"))} | start
    steps = np.where(seen, (array - low) / ((high - low) or 1.0) * GAP_16, GAP_16 + 1).round().astype("<u2")
    return {"u16": _base64(steps), "low": low, "high": high}


def _base64(array: Any) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")


def page(report: dict[str, Any]) -> str:
    """The HTML of a report (see web/src/report.ts for what it holds).

    The data stands in a block that no browser runs, with every `<` escaped, so a column called `</script>` is only
    text; scripts run by their hash alone, and nothing is loaded from anywhere.
    """
    script, style = _part("main.js"), _part("style.css")
    data = json.dumps(report, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in (("<", "\\u003c"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029")):
        data = data.replace(character, escape)
    data = data.encode("utf-8", "replace").decode("utf-8")  # halves of characters, as names of files may hold
    policy = (
        f"default-src 'none'; script-src 'sha256-{_hash(script)}'; style-src 'unsafe-inline'; img-src data:; "
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


def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
