"""The server: what it answers, and to whom it does not."""

from __future__ import annotations

import base64
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from explorer.requests_to import ask, chart, page_data, send

RNG = np.random.default_rng(5)
KIND = np.array(["oak", "ash", "elm"])[np.arange(60) % 3]
TREES = pd.DataFrame(RNG.standard_normal((60, 3)) @ RNG.standard_normal((3, 3)), columns=["high", "wide", "old"])
TREES["high"] += 4.0 * (KIND == "oak")
TREES.insert(0, "kind", KIND)


@pytest.fixture
def trees(serve, tmp_path):
    TREES.to_csv(tmp_path / "trees.csv", index=False)
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    return serve(tmp_path / "trees.csv")[0]


def test_a_page_is_given_its_table_and_its_first_question(trees):
    data = page_data(trees)
    assert data["title"] == "trees.csv"
    assert data["subtitle"] == "60 rows, 4 columns"
    assert [(each["name"], each["role"]) for each in data["shelf"]][:2] == [("kind", "colour"), ("high", "active")]
    assert data["rows"]["columns"][0]["values"] == KIND.tolist()
    assert data["question"]["k"] == 3


def test_an_answer_has_charts_and_the_question_as_it_was_understood(trees):
    question = page_data(trees)["question"] | {"k": 99, "axes": [0, 1]}
    found = ask(trees, "answer", id="1", question=question)
    assert found["question"]["k"] == found["most"] == 3
    assert chart(found, "Scores")["axes"][0]["label"].startswith("PC1")
    assert found["rows"] == {}


def test_names_and_weights_of_rows_are_sent_when_they_change(trees):
    question = page_data(trees)["question"]
    question["roles"] |= {"old": "ignore", "kind": "name"}
    found = ask(trees, "answer", id="1", question=question, have={"name": None, "weight": None})
    assert found["rows"]["ids"] == KIND.tolist()
    assert "weights" not in found["rows"]
    back = page_data(trees)["question"]
    assert ask(trees, "answer", id="2", question=back, have={"name": "kind", "weight": None})["rows"] == {"ids": None}


def bits(rows):
    """Which rows are selected, as a page sends it."""
    return base64.b64encode(np.packbits(rows, bitorder="little").tobytes()).decode()


def test_the_difference_of_a_selection_is_named_first(trees):
    question = page_data(trees)["question"]
    found = ask(trees, "contrast", question=question, first=bits(KIND == "oak"))
    table = chart(found, "Differences")["columns"]
    names, effects = table[0]["values"], table[1]["values"]
    assert set(names[:2]) == {"high", "kind: oak"}
    assert effects[0] >= effects[1] > max(map(abs, effects[2:]))
    others = dict(zip(names, effects, strict=True))
    x, y = TREES["high"][KIND == "oak"], TREES["high"][KIND != "oak"]
    pooled = np.sqrt((19 * x.var() + 39 * y.var()) / 58)
    assert others["high"] == pytest.approx((1 - 3 / (4 * 60 - 9)) * (x.mean() - y.mean()) / pooled, rel=1e-5)
    both = ask(trees, "contrast", question=question, first=bits(KIND == "oak"), second=bits(KIND == "elm"))
    assert chart(both, "Differences")["columns"][4]["name"] == "selection A"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"first": "####"}, "one bit per row"),
        ({"first": bits(np.ones(300, dtype=bool))}, "one bit per row"),
        ({"first": bits(np.arange(60) == 3)}, "at least 2 rows"),
        ({"first": bits(np.ones(60, dtype=bool))}, "at least 2 rows"),
        ({"first": bits(KIND == "oak"), "second": bits(KIND == "oak")}, "in both groups"),
    ],
)
def test_selections_that_cannot_be_compared_are_errors_in_words(trees, body, words):
    status, _, content = send(trees, "POST", "/contrast", {"question": page_data(trees)["question"]} | body)
    assert status == 400
    assert words in json.loads(content)["error"]


# ---- who may ask ----------------------------------------------------------------------------------------------


def test_the_page_needs_the_token_of_its_link(trees):
    assert send(trees, "GET", f"/?token={trees.guard.token}")[0] == 200
    for query in ("", "?token=", "?token=wrong", f"?token={trees.guard.token[:-1]}"):
        assert send(trees, "GET", f"/{query}")[0] == 403


@pytest.mark.parametrize(
    "path", ["/data", "/answer", "/clusters", "/reasons", "/scores", "/quit", "/report", "/anything"]
)
@pytest.mark.parametrize("token", ["", "wrong", "ünïcödé"])
def test_nothing_is_answered_without_the_token(trees, path, token):
    method = "GET" if path == "/data" else "POST"
    assert send(trees, method, path, {}, token=token.encode("utf-8").decode("latin-1"))[0] == 403


def test_a_token_in_the_address_is_not_enough_for_questions(trees):
    assert send(trees, "POST", f"/quit?token={trees.guard.token}", {}, token="")[0] == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}", "", "[::1]:{port}"]
)
def test_another_host_is_rejected(trees, host):
    status, _, _ = send(trees, "GET", f"/?token={trees.guard.token}", host=host.format(port=trees.guard.port))
    assert status == 421
    assert send(trees, "GET", "/data", host=f"localhost:{trees.guard.port}")[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"])
def test_another_origin_is_rejected(trees, origin):
    given = origin.format(port=trees.guard.port)
    assert send(trees, "POST", "/answer", {}, Origin=given)[0] == 403
    assert send(trees, "OPTIONS", "/answer", Origin=given, Access_Control_Request_Method="POST")[0] == 403


def test_no_answer_lets_other_origins_read_it(trees):
    question = page_data(trees)["question"]
    own = f"http://127.0.0.1:{trees.guard.port}"
    status, headers, _ = send(
        trees, "POST", "/answer", {"question": question}, Origin=own, Sec_Fetch_Site="same-origin"
    )
    assert status == 200
    assert not any(name.startswith("access-control") for name in headers)
    assert send(trees, "POST", "/answer", {"question": question}, Sec_Fetch_Site="cross-site")[0] == 403


def test_the_policy_allows_the_own_script_alone(trees):
    for path in (f"/?token={trees.guard.token}", "/data", "/nothing"):
        policy = send(trees, "GET", path)[1]["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "script-src 'sha256-" in policy
        assert "unsafe-eval" not in policy
        assert "script-src 'unsafe-inline'" not in policy


@pytest.mark.parametrize(
    "path",
    [
        "/secret.csv",
        "/../secret.csv",
        "/%2e%2e/secret.csv",
        "//etc/passwd",
        "/data/../../secret.csv",
        "/answer/",
        "/page_data",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_no_path_reads_a_file(trees, path, method):
    status, _, content = send(trees, method, path, {})
    assert status in (307, 404, 405)
    assert b"1,2" not in content


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/answer"), ("PUT", "/answer"), ("DELETE", "/data"), ("POST", "/"), ("TRACE", "/data")]
)
def test_other_methods_are_rejected(trees, method, path):
    assert send(trees, method, path, {})[0] in (403, 405)


def test_columns_are_those_of_the_table_alone(trees):
    assert ask(trees, "column", name="high")["column"]["kind"] == "number"
    for name in ("../secret.csv", "", None, "__class__"):
        assert send(trees, "POST", "/column", {"name": name})[0] == 400


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"3", b"\xff\xfe", b'{"question": {"roles": []}}', b'{"question": null}', b"[" * 100_000]
)
def test_messages_of_another_form_are_rejected_and_the_server_lives(trees, body):
    assert send(trees, "POST", "/answer", body)[0] == 400
    assert page_data(trees)["title"] == "trees.csv"


def test_large_messages_are_rejected_with_or_without_their_length(trees):
    port, token = trees.guard.port, trees.guard.token
    head = f"POST /answer HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nx-eigenlens-token: {token}\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=30) as sent:
        sent.sendall(f"{head}Content-Length: 999999999\r\n\r\n".encode())
        assert b" 413 " in sent.recv(100)
    with socket.create_connection(("127.0.0.1", port), timeout=30) as sent:
        sent.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        piece = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
        answer = b""
        try:
            for _ in range(6):
                sent.sendall(piece)
            sent.sendall(b"0\r\n\r\n")
            answer = sent.recv(100)
        except OSError:  # the server has closed the connection, and has answered before
            answer = answer or b" 400 "
        assert b" 400 " in answer
    assert page_data(trees)["title"] == "trees.csv"


def test_only_this_machine_is_served(trees):
    address = socket.gethostbyname(socket.gethostname())
    if address.startswith("127."):
        pytest.skip("this machine has no other address")
    with pytest.raises(OSError):
        socket.create_connection((address, trees.guard.port), timeout=2)


# ---- many pages, and the end ------------------------------------------------------------------------------------


def test_fifty_pages_at_once_have_the_answers_of_one(trees):
    question = page_data(trees)["question"]
    questions = [question | {"k": 1 + i % 3, "standardize": bool(i % 2)} for i in range(50)]
    alone = [ask(trees, "answer", id=str(i), question=each) for i, each in enumerate(questions[:6])]
    with ThreadPoolExecutor(50) as pool:
        together = list(
            pool.map(lambda pair: ask(trees, "answer", id=str(pair[0]), question=pair[1]), enumerate(questions))
        )
    for i, found in enumerate(together):
        assert found["charts"] == alone[i % 6]["charts"]


def test_a_slow_fit_says_how_far_it_is_and_is_given_up(serve, monkeypatch):
    monkeypatch.setattr("eigenlens.explorer.answer.LIVE_ENTRIES", 10)
    X = RNG.standard_normal((4_000, 12)) @ RNG.standard_normal((12, 12))
    X[RNG.random(X.shape) < 0.3] = np.nan
    server, _ = serve(X)
    question = page_data(server)["question"] | {"k": 6}
    assert "several times" in ask(server, "answer", id="a", question=question)["slow"]
    found = {}
    running = threading.Thread(target=lambda: found.update(ask(server, "answer", id="b", question=question, run=True)))
    running.start()
    seen = {}
    while running.is_alive() and not seen.get("done"):
        seen = ask(server, "progress", id="b")
    assert ask(server, "cancel", id="b") == {"cancelled": True}
    running.join(60)
    assert seen["done"] > 0
    assert found == {"cancelled": True}
    assert ask(server, "progress", id="b") == {}


def test_a_page_can_stop_the_server(serve):
    server, _ = serve(TREES)
    assert ask(server, "quit") == {"stopped": True}
    end = time.monotonic() + 10.0
    while time.monotonic() < end:
        try:
            page_data(server)
        except OSError:
            break
        time.sleep(0.05)
    with pytest.raises(OSError):
        page_data(server)


def test_the_command_serves_its_file_until_it_is_interrupted(tmp_path, serve):
    TREES.to_csv(tmp_path / "trees.csv", index=False)
    before = sorted(tmp_path.iterdir())
    command = [sys.executable, "-u", "-m", "eigenlens", "explore", "trees.csv", "--no-browser"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        lines = iter(running.stdout.readline, "")
        link = next(line.split()[1] for line in lines if line.startswith("open"))
        port, token = link.split(":")[2].split("/")[0], link.split("token=")[1].strip()

        class Guard:
            pass

        server, server.guard = Guard(), Guard()
        server.guard.port, server.guard.token = int(port), token
        assert page_data(server)["subtitle"] == "60 rows, 4 columns"
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=30)
    assert running.returncode == 0, errors
    assert "Traceback" not in errors
    assert sorted(tmp_path.iterdir()) == before


# ---- from Python ------------------------------------------------------------------------------------------------


def test_rows_in_memory_are_explored_from_python(serve):
    import eigenlens

    found = eigenlens.explore(TREES, wait=False, browser=False)
    try:
        assert page_data(found.server)["title"] == "Rows in memory"
        assert f'<iframe src="{found.link}"' in found._repr_html_()
        assert found.link in repr(found)
        question = page_data(found.server)["question"]
        scripts = ask(found.server, "scripts", question=question)
        assert scripts["command"] == ""
        assert "X[['high', 'wide', 'old']]" in scripts["python"]
    finally:
        found.stop()
    assert not found.thread.is_alive()


def test_a_notebook_on_this_machine_may_show_the_page_in_a_frame(serve):
    server, _ = serve(TREES, frames=True)
    _, headers, _ = send(server, "GET", f"/?token={server.guard.token}", Sec_Fetch_Site="cross-site")
    assert "frame-ancestors http://localhost:* http://127.0.0.1:*" in headers["content-security-policy"]


def test_a_missing_library_is_named_with_its_extra(monkeypatch):
    pytest.importorskip("polars")
    import eigenlens

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(
        eigenlens.EigenlensError, match=r"the explorer needs uvicorn: pip install 'eigenlens\[explore\]'"
    ):
        eigenlens.explore(TREES, wait=False, browser=False)


@pytest.fixture
def late(serve):
    """A server whose answers come from what a function makes: `late(function)`."""
    from eigenlens.explorer.server import ExplorerServer

    running = []

    def served(make_explorer):
        server = ExplorerServer(make_explorer)
        running.append((server, server.start()))
        return server

    yield served
    for server, thread in running:
        server.stop()
        thread.join(10.0)


def test_the_page_is_served_while_models_are_imported_and_its_questions_wait(late):
    from eigenlens.explorer.explored_table import open_explored
    from eigenlens.explorer.explorer import Explorer

    ready, table = threading.Event(), open_explored(TREES)

    def make_explorer():
        assert ready.wait(60.0)
        return Explorer(table)

    server = late(make_explorer)
    assert send(server, "GET", f"/?token={server.guard.token}")[0] == 200
    assert send(server, "GET", "/data", token="other")[0] == 403
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(page_data, server)
        time.sleep(0.3)
        assert not asked.done()
        ready.set()
        assert asked.result(60.0)["subtitle"] == "60 rows, 4 columns"


def test_an_import_that_fails_is_an_answer_and_not_a_page_that_waits_for_ever(late):
    def make_explorer():
        raise ImportError("a library that is broken")

    assert send(late(make_explorer), "GET", "/data")[0] == 500


def test_a_table_of_text_says_that_models_need_numbers(serve):
    server, _ = serve(pd.DataFrame({"a": list("xyz") * 5, "b": list("pqrst") * 3}))
    for model in ("pca", "fa", "gmm", "kde", "kpca"):
        question = page_data(server)["question"] | {"model": model}
        status, _, content = send(server, "POST", "/answer", {"id": "1", "question": question})
        assert status == 400
        assert "no column of numbers" in json.loads(content)["error"]


def test_a_port_that_is_taken_is_an_error_that_says_so(serve):
    from eigenlens.errors import OptionError
    from eigenlens.explorer.server import ExplorerServer

    port = serve(TREES)[0].guard.port
    with pytest.raises(OptionError, match=f"port={port} cannot be listened at .* give another one"):
        ExplorerServer(lambda: None, port=port)


def test_a_model_of_complete_rows_names_what_the_page_can_do_about_missing_values(serve):
    X = pd.DataFrame(RNG.standard_normal((40, 3)), columns=["up", "down", "strange"])
    X.loc[:3, "strange"] = np.nan
    server, _ = serve(X)
    question = page_data(server)["question"] | {"model": "kpca", "k": 2}
    aside = question | {"rows": {"kind": "without", "bits": bits(np.arange(40) <= 3)}}
    for each in (question, aside):  # rows that are set aside keep their places, which need their values
        status, _, content = send(server, "POST", "/answer", {"id": "1", "question": each})
        assert status == 400
        said = json.loads(content)["error"]
        assert "1 active column has missing values ('strange'); drag them to another place, or choose PCA" in said
    question["roles"]["strange"] = "ignore"
    assert ask(server, "answer", id="2", question=question)["charts"]
