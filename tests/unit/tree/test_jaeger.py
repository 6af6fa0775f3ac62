"""Faults of a Jaeger, and invalid selections, have clear errors."""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from deltaspan import DeltaspanError
from deltaspan.exceptions import DefinitionValueError
from deltaspan.tree import read_jaeger
from support.tree import tag

TRACE = "a" * 32
SPAN = {"traceId": TRACE, "spanId": "b" * 16, "name": "load"}
OTLP = {"result": {"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]}}


class Server(ThreadingHTTPServer):
    """Answers each path as it is told, and keeps what it was asked."""

    def __init__(self, answers):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.asked = answers, []
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        asked = urlsplit(self.path)
        self.server.asked.append((asked.path, {key: one for key, [one] in parse_qs(asked.query).items()}))
        status, body = self.server.answers.get(asked.path, (404, "404 page not found"))
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body.encode() if isinstance(body, str) else json.dumps(body).encode())

    def log_message(self, *words):
        pass


@pytest.fixture
def serving():
    servers = []

    def start(**answers):
        server = Server({f"/{path.replace('_', '/')}": answer for path, answer in answers.items()})
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def data(*found):
    return 200, {"data": list(found), "total": 0, "limit": 0, "offset": 0, "errors": None}


def test_a_run_is_searched_in_every_service_and_each_trace_read_once(serving):
    server = serving(
        api_services=data("one", "two"),
        api_traces=data({"traceID": TRACE}),
        **{f"api_v3_traces_{TRACE}": (200, OTLP)},
    )
    found = read_jaeger(server.url, root=tag(0))

    assert [span.name for span in found.spans] == ["load"]
    assert [path for path, _ in server.asked] == [
        "/api/services",
        "/api/traces",
        "/api/traces",
        f"/api/v3/traces/{TRACE}",
    ]
    assert [json.loads(query["tags"]) for _, query in server.asked[1:3]] == [
        {"delta.causal_tag.root_id": tag(0)}
    ] * 2
    assert [query["service"] for _, query in server.asked[1:3]] == ["one", "two"]


def test_a_run_is_searched_in_the_one_service_that_is_named(serving):
    server = serving(api_traces=data())
    read_jaeger(server.url, root=tag(0), service="two")

    assert [query["service"] for _, query in server.asked] == ["two"]


def test_a_trace_id_may_lack_its_zeros_and_be_in_capitals(serving):
    server = serving(**{f"api_v3_traces_{'0' * 16}{'a' * 16}": (200, OTLP)})

    assert len(read_jaeger(server.url, trace="A" * 16).spans) == 1


def test_a_jaeger_may_be_below_a_path(serving):
    server = serving(**{f"jaeger_api_v3_traces_{TRACE}": (200, OTLP)})

    assert len(read_jaeger(f"{server.url}/jaeger/", trace=TRACE).spans) == 1


@pytest.mark.parametrize("answer", [(200, "<html>"), (200, {}), (200, []), (404, "not here"), (500, "{")])
def test_what_is_no_jaeger_is_told_so(serving, answer):
    server = serving(**{f"api_v3_traces_{TRACE}": answer})

    with pytest.raises(DeltaspanError, match=r"the server at http://.* is not a Jaeger with /api/v3"):
        read_jaeger(server.url, trace=TRACE)


def test_what_a_jaeger_refuses_is_told_with_its_reason(serving):
    server = serving(
        api_v3_traces=(500, {"error": {"httpCode": 500, "message": "search depth\x1b must be less"}})
    )

    with pytest.raises(
        DeltaspanError, match=r"^the Jaeger at http://\S+ refused: search depth\\x1b must be less$"
    ):
        read_jaeger(server.url, service="one")


def test_what_the_search_refuses_is_told_with_its_reason(serving):
    server = serving(api_traces=(400, {"data": None, "errors": [{"code": 400, "msg": "no such service"}]}))

    with pytest.raises(DeltaspanError, match="refused: no such service"):
        read_jaeger(server.url, root=tag(0), service="one")


def test_a_trace_that_is_not_there_is_empty(serving):
    server = serving(
        **{f"api_v3_traces_{TRACE}": (404, {"error": {"httpCode": 404, "message": "No traces"}})}
    )

    assert read_jaeger(server.url, trace=TRACE).spans == ()


def test_hostile_traces_are_left_out(serving):
    server = serving(api_traces=data(7, {}, {"traceID": 7}, {"traceID": "../../secrets"}))

    assert read_jaeger(server.url, root=tag(0), service="one").spans == ()
    assert len(server.asked) == 1


def test_nobody_answering_is_told_in_words():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(DeltaspanError, match=rf"^no Jaeger answers at {url}: .*refused"):
            read_jaeger(url, trace=TRACE)


def test_a_server_that_never_answers_is_left_after_the_timeout():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        with pytest.raises(DeltaspanError, match=r"no Jaeger answers at .*: timed out"):
            read_jaeger(f"http://127.0.0.1:{listening.getsockname()[1]}", trace=TRACE, timeout=0.2)


@pytest.mark.parametrize(
    ("url", "asked", "sentence"),
    [
        ("file:///etc/passwd", {"trace": TRACE}, "is not the URL of a Jaeger"),
        ("localhost:16686", {"trace": TRACE}, "is not the URL of a Jaeger"),
        ("http://localhost", {}, "nothing is selected: give root, trace or service"),
        ("http://localhost", {"trace": "../x"}, "'../x' is not a trace id"),
        ("http://localhost", {"trace": TRACE, "service": "one"}, "leave root and service out"),
        ("http://localhost", {"root": "A"}, "'A' is not a causal tag"),
    ],
)
def test_what_a_jaeger_cannot_be_asked_is_refused(url, asked, sentence):
    with pytest.raises(DefinitionValueError, match=sentence):
        read_jaeger(url, **asked)
