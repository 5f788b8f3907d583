"""Requests to the server of the explorer as a page sends them, and as one that may not ask could."""

from __future__ import annotations

import base64
import http.client
import json

import numpy as np


def send(server, method, path, body=None, *, token=None, host=None, **headers):
    """The status, the headers and the body of an answer; `headers` have _ for -."""
    guard = server.guard
    connection = http.client.HTTPConnection("127.0.0.1", guard.port, timeout=60)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", f"127.0.0.1:{guard.port}" if host is None else host)
    connection.putheader("x-eigenlens-token", guard.token if token is None else token)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    connection.putheader("Content-Length", str(len(content)))
    connection.endheaders(content)
    answer = connection.getresponse()
    found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    connection.close()
    return found


def ask(server, path, /, **body):
    """The JSON of an answer that must succeed."""
    status, _, content = send(server, "POST", f"/{path}", body)
    assert status == 200, content
    return json.loads(content)


def page_data(server):
    """What a page is given at first."""
    status, _, content = send(server, "GET", "/data")
    assert status == 200
    return json.loads(content)


def bits_of(rows):
    """Which rows are marked, as the base64 of one bit for each."""
    return base64.b64encode(np.packbits(rows, bitorder="little").tobytes()).decode()


def chart(answer, title):
    """The chart of this title."""
    return next(each for each in answer["charts"] if each["title"] == title)


def axis_values(chart, way, shared=()):
    """The values of an axis of a scatter plot, with its factor."""
    axis = chart["axes"][way]
    values = axis["values"]
    values = shared[values["ref"]] if "ref" in values else values
    return np.array(values, dtype=float) * axis.get("times", 1.0)
