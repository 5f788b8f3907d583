"""The HTML page of the explorer: its script and style, and the policy that lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files


@cache
def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def page_policy() -> str:
    """Return the content policy: the page's own script, by its hash, and requests to its own server alone."""
    digest = base64.b64encode(hashlib.sha256(_part("explorer.js").encode("utf-8")).digest()).decode("ascii")
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'"
    )


@cache
def page_html() -> str:
    """Return the page; all that is in it comes from the package, and the table by requests."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>Eigenlens</title>\n<style>{_part('explorer.css')}</style>\n</head>\n<body>\n"
        f"<script>{_part('explorer.js')}</script>\n</body>\n</html>\n"
    )
