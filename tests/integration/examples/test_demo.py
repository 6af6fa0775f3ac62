"""The demo in a fresh process: its output, its files and its time limits."""

import gzip
import json
import os
import subprocess
import sys
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Status

DEMO = Path(__file__).parents[3] / "examples" / "demo"
SETTINGS = ("DELTASPAN_", "OTEL_", "NO_COLOR", "FORCE_COLOR")
RUNS = [
    ("create_flow", "pass"),
    ("clone_flow", "fail"),
    ("request_flow", "fail"),
    ("publish_flow", "fail"),
    ("import_flow", "fail"),
    ("create_flow", "inconclusive"),
    ("create_flow", "inconclusive"),
    ("create_tagged_flow", "pass"),
    ("clone_tagged_flow", "fail"),
]


def run_demo(folder, *arguments, demo=DEMO, **environment):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    return subprocess.run(  # our own demo
        [sys.executable, demo, *arguments],
        cwd=folder,
        env={**inherited, "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=180,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def demo(folder):
    return run_demo(folder)


@pytest.fixture(scope="module")
def spans(demo, folder):
    exported = read_lines(folder / "demo-output" / "spans.jsonl")
    return [
        span
        for line in exported
        for resource in line["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


@pytest.fixture(scope="module")
def metrics(demo, folder):
    exported = read_lines(folder / "demo-output" / "metrics.jsonl")
    return {
        metric["name"]: metric
        for line in exported
        for resource in line["resourceMetrics"]
        for scope in resource["scopeMetrics"]
        for metric in scope["metrics"]
    }


class Collector(ThreadingHTTPServer):
    """An OTLP/HTTP endpoint that keeps what it is sent."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Receiver)
        self.received, self.refused = [], ()
        self.endpoint = f"http://127.0.0.1:{self.server_port}"

    def spans(self):
        return [
            span
            for path, body in self.received
            if path == "/v1/traces"
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        unpacked = gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body
        self.server.received.append((self.path, unpacked))
        self.send_response(404 if self.path in self.server.refused else 200)
        self.end_headers()

    def log_message(self, *words):
        pass


@pytest.fixture
def collector():
    with Collector() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def read_lines(file):
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def attributes(thing):
    """Return OTLP/JSON attributes as a dict of plain values."""
    return {
        pair["key"]: next(iter(pair["value"].values()), None) if pair["value"] else None
        for pair in thing.get("attributes", [])
    }


def test_exits_with_status_0_and_without_warnings(demo):
    assert (demo.returncode, demo.stderr) == (0, "")


@pytest.mark.parametrize(
    "line",
    [
        "delta   ✓ PASS  create_flow: active_flows changed by 1, as expected (3 → 4)",
        "delta   ✗ FAIL  clone_flow: expected active_flows to change by 1, but it changed by 0 (3 → 3)",
        "delta   ✗ FAIL  request_flow: expected active_flows to change by 1, but it changed by 2 (3 → 5)",
        "delta   ✗ FAIL  publish_flow: expected drafts_of_others to stay unchanged, but it changed by -2",
        "delta   ✗ FAIL  import_flow: expected orphan_steps to stay unchanged, but it changed by 1 (0 → 1)",
        "delta   ? INCONCLUSIVE: contended  Ada's create_flow: active_flows",
        "delta   ? INCONCLUSIVE: contended  Bo's create_flow: active_flows",
        "delta   ✓ PASS  Ada's create_tagged_flow: active_flows changed by 1, as expected (0 → 1)",
        "delta   ✗ FAIL  Bo's clone_tagged_flow: expected active_flows to change by 1, but it changed by 0",
    ],
)
def test_prints_the_verdict_of_each_scene(demo, line):
    assert f"\n{line}" in demo.stdout


def test_the_naive_assertion_passes_in_every_scene(demo):
    assert demo.stdout.count("\nnaive   ✓ PASSED  there is at least 1 flow") == 7


def test_prints_the_observable_signal_of_each_check(demo):
    lines = demo.stdout.splitlines()
    first = next(number for number, line in enumerate(lines) if "check: active_flows_delta" in line)
    assert [line[8:48].strip() for line in lines[first : first + 7]] == [
        "check: active_flows_delta",
        "metric: active_flows",
        "passed: true",
        "pre_state: 3",
        "post_state: 4",
        "expected_delta: 1",
        "actual_delta: 1",
    ]
    assert demo.stdout.count("check: ") == 18


def test_sums_up_in_a_table_with_a_line_for_each_call(demo):
    table = demo.stdout.partition("── Summary")[2].partition("\n\n")[0].splitlines()[2:]
    assert [line.split("passed")[1].split()[1].rstrip(":") for line in table] == [
        outcome for _, outcome in RUNS
    ]
    assert "\nnaive: 9 pass, whatever happened\ndelta: 2 pass, 5 fail, 2 inconclusive\n" in demo.stdout


def test_prints_no_colour_when_it_is_not_a_terminal(demo):
    assert "\033" not in demo.stdout


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_colours_as_the_environment_says(tmp_path, environment, coloured):
    assert ("\033[31m✗ FAIL\033[0m" in run_demo(tmp_path, **environment).stdout) is coloured


def test_writes_telemetry_to_a_folder_of_choice_names_it_and_replaces_an_earlier_one(tmp_path):
    run_demo(tmp_path, "--output", "here/and there")
    again = run_demo(tmp_path, "--output", "here/and there")
    assert str(Path("here/and there", "spans.jsonl")) in again.stdout
    written = tmp_path / "here" / "and there"
    assert [len(read_lines(written / name)) for name in ("spans.jsonl", "metrics.jsonl")] == [len(RUNS), 1]
    assert not (tmp_path / "demo-output").exists()


def test_each_action_is_a_root_span_with_the_outcome_of_its_delta(spans):
    found = [(span["name"], attributes(span)["deltaspan.action.outcome"]) for span in spans]
    assert Counter(found) == Counter((f"execute_tool {action}", outcome) for action, outcome in RUNS)
    assert not any(span.get("parentSpanId") for span in spans)
    assert len({span["traceId"] for span in spans}) == len(RUNS)


def test_each_check_is_one_event_of_its_span(spans):
    checks = [
        [event for event in span["events"] if event["name"] == "deltaspan.check.result"] for span in spans
    ]
    assert [len(events) for events in checks] == [2] * len(RUNS)
    found = Counter(
        (attributes(event)["deltaspan.check.metric"], attributes(event)["deltaspan.check.outcome"])
        for event in chain.from_iterable(checks)
    )
    assert found == {
        ("active_flows", "pass"): 3,
        ("active_flows", "fail"): 3,
        ("active_flows", "inconclusive"): 3,
        ("users", "pass"): 7,
        ("drafts_of_others", "fail"): 1,
        ("orphan_steps", "fail"): 1,
    }


def test_attributes_the_two_tagged_actions_by_causal_tag(spans):
    tagged = [event for span in spans if "tagged" in span["name"] for event in span["events"]]
    found = {
        attributes(event)["deltaspan.check.outcome"]: attributes(event)["deltaspan.check.attribution"]
        for event in tagged
        if attributes(event)["deltaspan.check.metric"] == "active_flows"
    }
    assert found == {"pass": "causal_tag", "fail": "causal_tag"}


def test_counts_its_checks_by_outcome(metrics):
    counted = Counter()
    for point in metrics["deltaspan.checks"]["sum"]["dataPoints"]:
        counted[attributes(point)["deltaspan.check.outcome"]] += int(point["asInt"])
    assert counted == {"pass": 10, "fail": 5, "inconclusive": 3}


def test_the_service_name_is_that_of_the_demo_or_of_the_environment(demo, folder, tmp_path):
    run_demo(tmp_path, OTEL_SERVICE_NAME="mine")
    found = [
        attributes(read_lines(place / "demo-output" / "spans.jsonl")[0]["resourceSpans"][0]["resource"])
        for place in (folder, tmp_path)
    ]
    assert [resource["service.name"] for resource in found] == ["deltaspan-demo", "mine"]


@pytest.mark.parametrize(
    "refused", [(), ("/v1/metrics", "/v1/logs")], ids=["takes all", "takes traces, as Jaeger"]
)
def test_sends_everything_to_an_endpoint_and_links_to_the_traces_of_failed_actions(
    tmp_path, collector, refused
):
    collector.refused = refused
    demo = run_demo(
        tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint, DELTASPAN_JAEGER_URL="http://jaeger.test/"
    )
    assert (demo.returncode, demo.stderr) == (0, "")
    spans = collector.spans()
    assert Counter(span.name for span in spans) == Counter(f"execute_tool {action}" for action, _ in RUNS)
    assert {path for path, _ in collector.received} == {"/v1/traces", "/v1/metrics", "/v1/logs"}
    assert ("\nMetrics and logs did not get through to" in demo.stdout) is bool(refused)
    *links, search = demo.stdout.splitlines()[-6:]
    failed = {span.trace_id.hex() for span in spans if span.status.code == Status.STATUS_CODE_ERROR}
    assert {link.split()[-1] for link in links} == {f"http://jaeger.test/trace/{trace}" for trace in failed}
    query = {"service": ["deltaspan-demo"], "tags": ['{"deltaspan.action.outcome":"fail"}']}
    assert parse_qs(urlsplit(search.split()[-1]).query) == query
    assert not (tmp_path / "demo-output").exists()


def test_an_unreachable_endpoint_neither_breaks_nor_stops_the_demo(tmp_path):
    began = time.monotonic()
    demo = run_demo(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1")
    assert time.monotonic() - began < 60
    assert demo.returncode == 0
    assert "\ndelta: 2 pass, 5 fail, 2 inconclusive\n" in demo.stdout
    assert demo.stdout.splitlines()[-1].startswith("Telemetry did not get through to http://127.0.0.1:1: ")


def test_says_so_when_deltaspan_is_disabled(tmp_path):
    demo = run_demo(tmp_path, DELTASPAN_ENABLED="false")
    assert demo.returncode == 1
    assert "deltaspan is disabled (DELTASPAN_ENABLED): there is nothing to show" in demo.stderr


def test_exits_with_status_1_and_a_sentence_if_a_verdict_is_unexpected(tmp_path):
    # A tool that is honest after all: the scene that should catch it does not.
    changed = tmp_path / "demo"
    changed.mkdir()
    for module in DEMO.glob("*.py"):
        source = module.read_text(encoding="utf-8")
        cured = source.replace(
            'f"{name}-copy")\n    return', 'f"{name}-copy")\n        db.commit()\n    return'
        )
        (changed / module.name).write_text(cured, encoding="utf-8")
    demo = run_demo(tmp_path, demo=changed)
    assert demo.returncode == 1
    assert demo.stderr.startswith("scene 2, Ada with clone_flow: the verdicts were")
