"""Spans from OTLP/JSON files, valid, damaged and concatenated."""

from __future__ import annotations

import json
import re
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from deltaspan import DeltaspanError
from deltaspan.exceptions import DefinitionValueError
from deltaspan.tree import Span, read_files, read_jaeger
from support.tree import tag

ONE = {"traceId": "A" * 32, "spanId": "b" * 16, "name": "load"}
READ = Span("a" * 32, "b" * 16, name="load")


def export(*spans, **resource):
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in resource.items()]
    return {
        "resourceSpans": [{"resource": {"attributes": attributes}, "scopeSpans": [{"spans": list(spans)}]}]
    }


def lines(*documents):
    return "".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in documents)


@pytest.fixture
def reading(tmp_path):
    def read(text):
        file = tmp_path / "spans.jsonl"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        found = read_files(file)
        return list(found.spans), [each.replace(str(file), "FILE") for each in found.complaints]

    return read


def test_a_span_is_read_with_all_that_a_tree_needs(reading):
    span = ONE | {
        "parentSpanId": "c" * 16,
        "kind": 3,
        "startTimeUnixNano": "1796044280299079759",
        "endTimeUnixNano": 1796044280299079760,
        "attributes": [
            {"key": "text", "value": {"stringValue": "x"}},
            {"key": "whole", "value": {"intValue": "-7"}},
            {"key": "number", "value": {"intValue": 7}},
            {"key": "real", "value": {"doubleValue": 0.5}},
            {"key": "yes", "value": {"boolValue": True}},
            {"key": "list", "value": {"arrayValue": {"values": [{"stringValue": "a"}]}}},
            {"key": "empty", "value": {"arrayValue": {}}},
            {"key": "nothing", "value": {}},
        ],
    }
    assert reading(lines(export(span, **{"service.name": "shop"}))) == (
        [
            Span(
                "a" * 32,
                "b" * 16,
                "c" * 16,
                "load",
                "client",
                "shop",
                1796044280299079759,
                1796044280299079760,
                {
                    "text": "x",
                    "whole": -7,
                    "number": 7,
                    "real": 0.5,
                    "yes": True,
                    "list": ["a"],
                    "empty": [],
                    "nothing": None,
                },
            )
        ],
        [],
    )


def test_every_line_is_an_export(reading):
    other = ONE | {"spanId": "d" * 16}

    assert reading(lines(export(ONE), "", export(other)))[0] == [READ, Span("a" * 32, "d" * 16, name="load")]


def test_a_file_may_be_one_document_over_many_lines(reading):
    assert reading(json.dumps(export(ONE), indent=2)) == ([READ], [])


def test_other_signals_may_stand_between(reading):
    assert reading(lines({"resourceMetrics": []}, export(ONE), {"resourceLogs": []})) == ([READ], [])


def test_a_truncated_line_is_left_out_and_reported(reading):
    text = lines(export(ONE), export(ONE))[:-20]

    assert reading(text) == ([READ], ["FILE, line 2: not JSON; left out"])


@pytest.mark.parametrize("line", ["[]", "7", '{"a": 1}', '{"resourceSpans": 7}'])
def test_a_line_that_is_not_otlp_is_left_out_and_reported(reading, line):
    assert reading(lines(line, export(ONE))) == ([READ], ["FILE, line 1: JSON, but not OTLP; left out"])


@pytest.mark.parametrize("line", ["[" * 100_000, "7" * 10_000, "\x00", "{"])
def test_a_hostile_line_is_left_out(reading, line):
    assert reading(lines(export(ONE), line)) == ([READ], ["FILE, line 2: not JSON; left out"])


def test_bytes_that_are_not_text_are_left_out(reading):
    assert reading(lines(export(ONE)).encode() + b"\xff\xfe\n") == (
        [READ],
        ["FILE, line 2: not JSON; left out"],
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"traceId": "0" * 32},
        {"traceId": "a"},
        {"spanId": None},
        {"spanId": "z" * 16},
        {"traceId": ["a" * 32]},
    ],
)
def test_a_span_without_valid_ids_is_left_out_and_reported(reading, wrong):
    assert reading(lines(export(ONE, ONE | wrong))) == (
        [READ],
        ["FILE: spans without valid ids, left out: 1"],
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"startTimeUnixNano": "soon"},
        {"startTimeUnixNano": -1},
        {"startTimeUnixNano": "9" * 30},
        {"endTimeUnixNano": [1]},
        {"kind": 99},
        {"kind": "SPAN_KIND_OTHER"},
        {"attributes": {"a": 1}},
        {"attributes": [7, {"key": 7, "value": {"stringValue": "x"}}, {}]},
        {"parentSpanId": 7},
    ],
)
def test_an_invalid_value_is_ignored(reading, wrong):
    assert reading(lines(export(ONE | wrong))) == ([READ], [])


def test_several_files_and_patterns_are_read_and_each_once(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.jsonl").write_text(lines(export(ONE | {"spanId": f"{number + 1:016x}"})))

    found = read_files(tmp_path / "2.jsonl", str(tmp_path / "*.jsonl"))
    assert [int(span.span_id) for span in found.spans] == [3, 1, 2]


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path):
    (tmp_path / "[1].jsonl").write_text(lines(export(ONE)))

    assert read_files(tmp_path / "[1].jsonl").spans == (READ,)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is empty"),
        ('{"resourceMetrics": []}\n{"resourceLogs": []}\n', "holds logs and metrics, but no spans"),
    ],
)
def test_a_file_without_spans_among_others_is_reported(tmp_path, content, sentence):
    (tmp_path / "spans.jsonl").write_text(lines(export(ONE)))
    (tmp_path / "metrics.jsonl").write_text(content)

    assert read_files(tmp_path / "*.jsonl") == ((READ,), (f"{tmp_path / 'metrics.jsonl'} {sentence}",))


def test_an_unintelligible_file_is_an_error_even_among_others(tmp_path):
    (tmp_path / "spans.jsonl").write_text(lines(export(ONE)))
    (tmp_path / "cut.jsonl").write_text(lines(export(ONE))[:-20])

    with pytest.raises(DeltaspanError, match=r"cut.jsonl is not OTLP/JSON"):
        read_files(tmp_path / "*.jsonl")


def test_files_that_all_hold_no_spans_are_an_error(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text('{"resourceMetrics": []}')

    with pytest.raises(DeltaspanError, match=r"a.jsonl holds metrics, but no spans: name a file"):
        read_files(tmp_path / "*.jsonl")


def test_an_export_without_spans_is_not_an_error(reading):
    assert reading('{"resourceSpans": []}') == ([], [])


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"]
)
@pytest.mark.parametrize("indent", [None, 2])
def test_lines_in_every_unicode_encoding_are_read(reading, encoding, indent):
    second = export(ONE | {"spanId": "d" * 16, "name": "schön"})
    text = json.dumps(second, indent=2) if indent else lines(export(ONE), second)
    found, complaints = reading(text.encode(encoding))

    assert complaints == []
    assert [span.name for span in found] == (["schön"] if indent else ["load", "schön"])


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_files_put_together_may_each_begin_with_a_byte_order_mark(reading, encoding):
    text = b"".join(lines(export(each)).encode(encoding) for each in (ONE, ONE | {"spanId": "d" * 16}))

    assert [span.span_id for span in reading(text)[0]] == ["b" * 16, "d" * 16]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("missing.jsonl", None, r"missing.jsonl does not exist$"),
        ("*.nothing", None, r"^no file matches .*\*\.nothing$"),
        ("", None, r" is a folder: name the files in it, such as .*\*\.jsonl$"),
        ("empty.jsonl", "", r"empty.jsonl is empty: name a file that a span exporter wrote"),
        ("blank.jsonl", "\n\n", r"blank.jsonl is empty: name a file that a span exporter wrote"),
        ("other.jsonl", "[]", r"other.jsonl is not OTLP/JSON: name a file that a span exporter wrote"),
        ("text.txt", "hello\n", r"text.txt is not OTLP/JSON"),
        ("metrics.jsonl", '{"resourceMetrics": []}\n', r"metrics.jsonl holds metrics, but no spans"),
    ],
)
def test_an_unreadable_file_is_an_error_with_a_sentence(tmp_path, name, content, sentence):
    if content is not None:
        (tmp_path / name).write_text(content)

    with pytest.raises(DeltaspanError) as raised:
        read_files(str(tmp_path / name) if name else tmp_path)
    assert re.search(sentence, str(raised.value))


# Jaeger -----------------------------------------------------------------------------------------------------

TRACE = "a" * 32
SPAN = {"traceId": TRACE, "spanId": "b" * 16, "name": "load"}
OTLP = {"result": {"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]}}


class Server(ThreadingHTTPServer):
    """Answers each path as configured, and keeps the requests."""

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
        {"deltaspan.causal_tag.root_id": tag(0)}
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
def test_a_server_that_is_not_a_jaeger_is_an_error(serving, answer):
    server = serving(**{f"api_v3_traces_{TRACE}": answer})

    with pytest.raises(DeltaspanError, match=r"the server at http://.* is not a Jaeger with /api/v3"):
        read_jaeger(server.url, trace=TRACE)


def test_a_refusal_of_jaeger_is_an_error_with_its_reason(serving):
    server = serving(
        api_v3_traces=(500, {"error": {"httpCode": 500, "message": "search depth\x1b must be less"}})
    )

    with pytest.raises(
        DeltaspanError, match=r"^the Jaeger at http://\S+ refused: search depth\\x1b must be less$"
    ):
        read_jaeger(server.url, service="one")


def test_a_refusal_of_the_search_is_an_error_with_its_reason(serving):
    server = serving(api_traces=(400, {"data": None, "errors": [{"code": 400, "msg": "no such service"}]}))

    with pytest.raises(DeltaspanError, match="refused: no such service"):
        read_jaeger(server.url, root=tag(0), service="one")


def test_an_unknown_trace_is_empty(serving):
    server = serving(
        **{f"api_v3_traces_{TRACE}": (404, {"error": {"httpCode": 404, "message": "No traces"}})}
    )

    assert read_jaeger(server.url, trace=TRACE).spans == ()


def test_hostile_traces_are_left_out(serving):
    server = serving(api_traces=data(7, {}, {"traceID": 7}, {"traceID": "../../secrets"}))

    assert read_jaeger(server.url, root=tag(0), service="one").spans == ()
    assert len(server.asked) == 1


def test_an_unreachable_jaeger_is_an_error_with_a_sentence():
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
def test_an_invalid_query_to_jaeger_is_refused(url, asked, sentence):
    with pytest.raises(DefinitionValueError, match=sentence):
        read_jaeger(url, **asked)
