"""Who may ask: pages of this server alone, by its own address and with its token, and messages of a sensible size."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from secrets import token_urlsafe
from typing import NamedTuple
from urllib.parse import parse_qs

MAX_BODY_BYTES = 4 << 20
"""The largest message that a page sends: a question of some thousand columns, or which of 200,000 rows are selected."""

TOKEN_HEADER = "x-eigenlens-token"

LOOPBACK = "127.0.0.1"


class Refusal(NamedTuple):
    """An answer to who may not ask: the status of HTTP and the reason."""

    status: int
    reason: str


@dataclass(frozen=True)
class Guard:
    """The checks of each request.

    Host: another name that leads to this machine, as in DNS rebinding, is rejected. Origin and Sec-Fetch-Site: pages of
    other servers are. Token: so is whoever has not got the link; the page sends it in a header, which pages of others
    cannot set without being asked for permission first, and that is never given.
    """

    port: int
    token: str

    @property
    def origins(self) -> tuple[str, ...]:
        """The addresses of this server."""
        return tuple(f"http://{host}:{self.port}" for host in (LOOPBACK, "localhost"))

    @property
    def link(self) -> str:
        """The address that opens the page."""
        return f"{self.origins[0]}/?token={self.token}"

    def check(self, method: str, path: str, query: str, headers: Mapping[str, str]) -> Refusal | None:
        """Return why a request is rejected, or None."""
        if f"http://{headers.get('host', '')}" not in self.origins:
            return Refusal(421, "this server answers to its own address only")
        origin = headers.get("origin")
        if origin is not None and origin not in self.origins:
            return Refusal(403, "pages of other servers may not ask")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and path != "/":
            return Refusal(403, "pages of other servers may not ask")
        if int(headers.get("content-length") or 0) > MAX_BODY_BYTES:
            return Refusal(413, f"a message has at most {MAX_BODY_BYTES >> 20} MiB")
        given = (
            parse_qs(query).get("token", [""])[0] if path == "/" and method == "GET" else headers.get(TOKEN_HEADER, "")
        )
        if not hmac.compare_digest(given.encode("utf-8"), self.token.encode("utf-8")):
            return Refusal(403, "the link of this page is not complete: use the one that eigenlens explore printed")
        return None


def new_token() -> str:
    """Return a token that nobody guesses: 256 random bits."""
    return token_urlsafe(32)
