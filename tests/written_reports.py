"""What a written report holds: the data behind its page, and its charts by title."""

from __future__ import annotations

import base64
import json
import re

import numpy as np


def contents(path):
    """The data of a report, which is one of its two scripts."""
    text = path.read_text(encoding="utf-8")
    assert text.count("<script") == 2
    found = json.loads(re.search(r'id="report">(.*?)</script>', text, flags=re.DOTALL).group(1))
    return found | {"first": first_page(found), "overview": found["pages"][-1]}


def first_page(found):
    """The page of the first model."""
    return next(page for page in found["pages"] if page["id"].startswith("page-1-"))


def numbers(values, whole):
    """Packed numbers, or those that stand once for several charts."""
    if isinstance(values, dict) and "ref" in values:
        return numbers(whole["shared"][values["ref"]], whole)
    if isinstance(values, list):
        return np.array([np.nan if v is None else v for v in values], dtype=float)
    if "f32" in values:
        return np.frombuffer(base64.b64decode(values["f32"]), "<f4").astype(float) + values.get("from", 0.0)
    codes = np.frombuffer(base64.b64decode(values["u16"]), "<u2").astype(float)
    return np.where(codes == 65_535, np.nan, values["low"] + codes * (values["high"] - values["low"]) / 65_534)


def axis(chart, place):
    """The values along one of the axes that a scatter offers."""
    return chart["axes"][place]["values"]


def named(charts, title):
    """The chart with this title."""
    return next(chart for chart in charts if chart["title"] == title)


def layers(chart, kind):
    """The data of the layers of one kind."""
    return [layer["data"] for layer in chart["marks"] if layer["type"] == kind]


def table(chart):
    """The columns of a table by name."""
    return {column["name"]: column["values"] for column in chart["columns"]}
