"""Answers of a Prometheus on loopback, in whole and in part."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from deltaspan import unchanged, window
from deltaspan.exceptions import DefinitionValueError, ProbeError
from deltaspan.probes import prometheus


class Answering(BaseHTTPRequestHandler):
    """Gives the server's answer to every query."""

    def do_GET(self):
        data = json.dumps(self.server.answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        """Say nothing."""


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        server.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def vector(*rows, **beside):
    """Return an answer with rows of labels, value and time."""
    result = [{"metric": labels, "value": [at, str(value)]} for labels, value, at in rows]
    return {"status": "success", "data": {"resultType": "vector", "result": result}, **beside}


def fault_of(probe):
    with pytest.raises(ProbeError) as caught:
        probe()
    return str(caught.value)


def test_no_series_hides_another_whatever_its_labels_say(server):
    server.answer = vector(
        ({"__name__": "up", "a": 'x",b="y'}, 1, 0),
        ({"__name__": "up", "a": "x", "b": "y"}, 2, 0),
        ({"__name__": "up", "a": "\\"}, 3, 0),
        ({"__name__": "up", 'a="1",b': "2"}, 4, 0),
        ({"__name__": "up", "a": "1", "b": "2"}, 5, 0),
        ({"__name__": "my.up", "b": "2\n"}, 6, 0),
    )

    assert prometheus.series(server.url, "up")() == {
        r'up{a="x\",b=\"y"}': 1,
        'up{a="x",b="y"}': 2,
        r'up{a="\\"}': 3,
        r'up{"a=\"1\",b"="2"}': 4,
        'up{a="1",b="2"}': 5,
        r'{"my.up",b="2\n"}': 6,
    }


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        ({"warnings": ["store down", "another"]}, "the server warns: store down; another"),
        ({"isPartial": True}, "the server warns: the answer is partial"),
    ],
)
def test_a_part_of_the_series_is_not_taken_for_all_of_them(server, beside, said):
    server.answer = vector(({}, 1, 0), **beside)
    with window("act", unchanged("sum", prometheus.value(server.url, "sum(x)"))) as w:
        pass

    assert w.report["sum"].reason == "baseline_failed"
    assert said in w.report["sum"].explanation


def test_what_the_server_says_for_information_is_not_a_fault(server):
    server.answer = vector(({}, 1, 0), infos=["metric might not be a counter"], warnings=None)

    assert prometheus.value(server.url, "sum(x)")() == 1


def test_a_native_histogram_is_not_a_number(server):
    result = [{"metric": {}, "histogram": [0, {"count": "1"}]}]
    server.answer = {"status": "success", "data": {"resultType": "vector", "result": result}}

    assert "the query gives native histograms" in fault_of(prometheus.value(server.url, "x"))


def test_a_counter_that_rises_while_the_clock_is_set_back_has_changed(server):
    server.answer = vector(({}, 5, 1000))
    with window("act", unchanged("errors", prometheus.counter(server.url, "errors_total"))) as w:
        server.answer = vector(({}, 9, 998))

    assert w.report["errors"].outcome == "fail"


def test_a_counter_that_falls_while_the_clock_is_set_back_is_inconclusive(server):
    probe = prometheus.counter(server.url, "errors_total")
    server.answer = vector(({}, 5, 1000))
    probe()
    server.answer = vector(({}, 4, 998))

    assert "its clock was set back, or another server answered" in fault_of(probe)


@pytest.mark.parametrize("value", ['"{job}"', "'{job}'", '":job"', "`:job`"])
@pytest.mark.parametrize("read", [prometheus.value, prometheus.series, prometheus.counter])
def test_a_field_as_other_probes_have_it_is_rejected(read, value):
    query = f"up{{job={value}}}"
    with pytest.raises(DefinitionValueError) as caught:
        read("http://127.0.0.1:9090", query, missing_ok=True)

    assert str(caught.value) == (
        f'{query!r}: {value} is literal text, not an argument; write "$job"; to match the text '
        f'itself, write =~"[{value[1]}]{value[2:-1]}"'
    )


@pytest.mark.parametrize(
    "query",
    ['up{path="/jobs/{job}"}', 'up{job="job:"}', 'up{job=~"[{]job}"}', 'up # {job="{job}"}', '{":a:b"}'],
)
def test_a_value_that_only_has_a_brace_or_a_colon_in_it_is_a_text(query):
    assert prometheus.value("http://127.0.0.1:9090", query).__signature__.parameters == {}


@pytest.mark.parametrize("read", [prometheus.value, prometheus.series, prometheus.counter])
def test_a_server_without_its_scheme_is_rejected(read):
    with pytest.raises(DefinitionValueError, match="'localhost:9090' does not say where the server is"):
        read("localhost:9090", "up")
