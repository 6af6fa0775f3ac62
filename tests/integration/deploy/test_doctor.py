"""`deltaspan doctor`: the problems that would keep verdicts from arriving."""

from __future__ import annotations

import datetime as dt
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from integration._doctor import answering, doctor_in
from integration._otlp import grpc_receiver, http_receiver


@pytest.fixture
def doctor(monkeypatch, capsys):
    return doctor_in(monkeypatch, capsys)


@pytest.fixture
def collector():
    with answering() as server:
        yield server


def test_a_healthy_set_up_passes_every_check(doctor, collector):
    status, lines = doctor(OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint)

    assert lines == [
        "✓ the propagators carry baggage, and causal tags with it",
        f"✓ {collector.endpoint} answers",
        f"✓ a test span over http/protobuf to {collector.endpoint} was accepted",
        f"✓ an export of metrics over http/protobuf to {collector.endpoint} was accepted",
        f"✓ an export of logs over http/protobuf to {collector.endpoint} was accepted",
        f"✓ the clocks of this machine and {collector.endpoint} agree",
    ]
    assert status == 0


def test_the_test_span_arrives_over_http(doctor):
    with http_receiver() as (endpoint, received):
        status, _ = doctor(OTEL_EXPORTER_OTLP_ENDPOINT=endpoint)

    assert "deltaspan doctor" in received.span_names
    assert status == 0


def test_the_test_span_arrives_over_grpc(doctor):
    with grpc_receiver() as (endpoint, received):
        status, lines = doctor(OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, OTEL_EXPORTER_OTLP_PROTOCOL="grpc")

    assert received.span_names == ["deltaspan doctor"]
    assert status == 0
    assert [line for line in lines if "clock" in line]  # its verdict depends on what listens on 4318


def test_an_endpoint_without_a_listener_is_an_error(doctor):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{held.getsockname()[1]}"
        status, lines = doctor(OTEL_EXPORTER_OTLP_ENDPOINT=endpoint)

    assert lines[-1] == (
        f"✗ nothing listens on {endpoint}: start the collector, or correct OTEL_EXPORTER_OTLP_ENDPOINT"
    )
    assert status == 1


def test_a_host_that_has_no_address_is_wrong(doctor):
    status, lines = doctor(OTEL_EXPORTER_OTLP_ENDPOINT="http://collector.invalid:4318")

    assert lines[-1] == (
        "✗ the name collector.invalid is not known here: correct OTEL_EXPORTER_OTLP_ENDPOINT, or the DNS of "
        "this machine"
    )
    assert status == 1


def test_a_signal_that_the_server_does_not_take_is_wrong(doctor, collector):
    collector.statuses["/v1/metrics"] = 404
    status, lines = doctor(OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint)

    (wrong,) = [line for line in lines if line.startswith("✗")]
    assert wrong.startswith(
        f"✗ an export of metrics over http/protobuf to {collector.endpoint} was refused: "
    )
    assert wrong.endswith("or set OTEL_METRICS_EXPORTER=none; Jaeger alone accepts traces only")
    assert status == 1


def test_each_of_two_signals_that_a_server_does_not_take_over_grpc_says_so(doctor):
    with grpc_receiver("Trace") as (endpoint, _):
        status, lines = doctor(OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, OTEL_EXPORTER_OTLP_PROTOCOL="grpc")

    wrong = [line for line in lines if line.startswith("✗")]
    assert [line.partition(" to a collector that accepts them ")[0].split(": ")[-1] for line in wrong] == [
        "send metrics",
        "send logs",
    ]
    assert status == 1


def test_a_server_that_requires_credentials_is_an_error_without_the_headers(doctor, collector):
    collector.statuses.update({"/v1/traces": 401, "/v1/metrics": 401, "/v1/logs": 401})
    status, lines = doctor(
        OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint, OTEL_EXPORTER_OTLP_HEADERS="authorization=s3cret"
    )

    wrong = [line for line in lines if line.startswith("✗")]
    assert len(wrong) == 3
    assert all(
        line.endswith("set OTEL_EXPORTER_OTLP_HEADERS to the credentials that the collector requires")
        for line in wrong
    )
    assert "s3cret" not in "".join(lines)
    assert status == 1


@pytest.mark.parametrize(("seconds", "which"), [(-30, "30 s ahead of"), (30, "30 s behind")])
def test_a_clock_that_differs_is_wrong(doctor, collector, seconds, which):
    collector.skew = dt.timedelta(seconds=seconds)
    status, lines = doctor(OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint)

    assert lines[-1].startswith("✗ the clock of this machine is ")
    assert abs(int(lines[-1].split()[7]) - 30) <= 1
    assert which.split(" ", 2)[2] in lines[-1]
    assert status == 1


def test_the_wrong_protocol_for_a_port_is_wrong(doctor, collector):
    status, lines = doctor(
        OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint,
        OTEL_EXPORTER_OTLP_PROTOCOL="grpc",
        OTEL_METRICS_EXPORTER="console",
        OTEL_LOGS_EXPORTER="console",
    )

    (wrong,) = [line for line in lines if line.startswith("✗")]
    assert wrong.endswith(
        "check that the port speaks grpc; if not, set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"
    )
    assert status == 1


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"DELTASPAN_ENABLD": "true"}, "✗ DELTASPAN_ENABLD is not a setting of deltaspan: did you mean"),
        ({"DELTASPAN_ENABLED": "false"}, "• DELTASPAN_ENABLED is false: actions run unverified"),
        ({"DELTASPAN_ON_FAILURE": "explode"}, "✗ DELTASPAN_ON_FAILURE='explode' is not understood"),
        ({"DELTASPAN_CAPTURE_STATE": "none"}, "• DELTASPAN_CAPTURE_STATE is none"),
        ({"DELTASPAN_PROPAGATE": "off"}, "• DELTASPAN_PROPAGATE is off"),
        ({"OTEL_SDK_DISABLED": "true"}, "✗ OTEL_SDK_DISABLED is true"),
        ({"OTEL_CONFIG_FILE": "otel.yaml"}, "• OTEL_CONFIG_FILE is set: that file configures"),
        ({"OTEL_METRICS_EXPORTER": "none"}, "• OTEL_METRICS_EXPORTER is none: the counts that alerts"),
        ({"OTEL_TRACES_EXPORTER": "none"}, "✗ OTEL_TRACES_EXPORTER is none"),
        ({"OTEL_TRACES_SAMPLER": "always_off"}, "✗ OTEL_TRACES_SAMPLER is always_off"),
        ({"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "32"}, "✗ OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT is 32: causal"),
        ({"OTEL_SERVICE_NAME": ""}, "• no service name is set"),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, "✗ the OTLP protocol 'http/json' of traces"),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "udp"}, "✗ OTEL_EXPORTER_OTLP_PROTOCOL='udp' is not a protocol"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "there"}, "✗ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is not"),
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "✗ OTEL_TRACES_EXPORTER='zipkin' needs an exporter"),
    ],
)  # fmt: skip
def test_a_setting_that_loses_data_is_reported(doctor, collector, environment, said):
    status, lines = doctor(OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint, **environment)

    assert [line for line in lines if line.startswith(said)]
    assert status == (1 if said.startswith("✗") else 0)


@pytest.mark.parametrize(
    ("propagators", "said"),
    [
        (
            "tracecontext",
            "✗ the propagators carry no baggage: causal tags stay here: set OTEL_PROPAGATORS=tracecontext,",
        ),
        ("nowhere", "✗ OTEL_PROPAGATORS=nowhere cannot be loaded: "),
    ],
)
def test_propagators_without_baggage_are_an_error(propagators, said):
    # In a process of its own: they are chosen once, when OpenTelemetry is imported.
    done = subprocess.run(
        [sys.executable, "-m", "deltaspan.cli", "doctor"],
        env={
            **os.environ,
            "OTEL_PROPAGATORS": propagators,
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x.invalid:1",
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert [line for line in done.stdout.splitlines() if line.startswith(said)], done
    assert done.returncode == 1


@pytest.mark.parametrize("host", ["collector..internal", "a" * 80 + ".internal"])
def test_a_name_that_could_be_none_is_not_known(doctor, host):
    status, lines = doctor(OTEL_EXPORTER_OTLP_ENDPOINT=f"http://{host}:4318")

    assert any(line.startswith(f"✗ the name {host} is not known here: correct OTEL_") for line in lines)
    assert status == 1


def test_an_invalid_port_is_not_replaced_by_a_default(doctor):
    _, lines = doctor(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:0")

    assert any("OTEL_EXPORTER_OTLP_ENDPOINT is not a URL" in line for line in lines)


def test_a_token_that_an_exporter_quotes_is_not_shown(doctor, collector):
    _, lines = doctor(
        OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint,
        OTEL_EXPORTER_OTLP_HEADERS="x=1,authorization=Bearer%20t0ken%0Ax",
        OTEL_EXPORTER_OTLP_LOGS_HEADERS="authorization=l0gs%0Ax",
    )

    assert any("was refused" in line for line in lines)
    assert not [line for line in lines if "t0ken" in line or "l0gs" in line]


# Answers ----------------------------------------------------------------------------------------------------

OPERATIONS = Path(__file__).parents[3] / "docs" / "operations.md"
TRACES_ALONE = {"OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"}


def wrong(lines):
    return [line for line in lines if line.startswith("✗")]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html; charset=utf-8", b"<!doctype html><title>Jaeger UI</title>"),
        ("application/json", b'{"status":"Server available","uptime":"1h"}'),
        ("application/x-protobuf", b"\xff\xff"),
        ("", b"OK"),
    ],
)
def test_a_server_that_is_not_an_otlp_receiver_is_wrong(doctor, collector, kind, body):
    collector.kind, collector.body = kind, body
    status, lines = doctor(OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint)

    named = kind.partition(";")[0] or "no content type"
    assert wrong(lines) == [
        f"✗ {what} over http/protobuf to {collector.endpoint} was lost: the server is not an OTLP receiver "
        f"(200, {named}): correct OTEL_EXPORTER_OTLP_ENDPOINT: the usual port of OTLP over http/protobuf is "
        "4318"
        for what in ("a test span", "an export of metrics", "an export of logs")
    ]
    assert status == 1


@pytest.mark.parametrize(("kind", "body"), [("", b""), ("application/json", b'{"partialSuccess":{}}')])
def test_an_answer_that_is_nearly_otlp_is_a_note(doctor, collector, kind, body):
    collector.kind, collector.body = kind, body
    status, lines = doctor(OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint)

    notes = [line for line in lines if line.startswith("•")]
    assert len([line for line in notes if "was answered 200, but not in OTLP" in line]) == 3
    assert status == 0


def test_rejected_spans_are_an_error_in_the_words_of_the_collector(doctor, collector):
    answer = ExportTraceServiceResponse()
    answer.partial_success.rejected_spans = 1
    answer.partial_success.error_message = "over quota\nof s3cret"
    collector.body = answer.SerializeToString()
    status, lines = doctor(
        OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint,
        OTEL_EXPORTER_OTLP_HEADERS="authorization=s3cret",
        **TRACES_ALONE,
    )

    (line,) = wrong(lines)
    assert line == (
        f"✗ a test span over http/protobuf to {collector.endpoint} was answered, but not kept: over quota of "
        "***: check what the collector accepts, and how much of it"
    )
    assert status == 1


def test_a_warning_of_a_collector_without_rejections_is_a_note(doctor, collector):
    answer = ExportTraceServiceResponse()
    answer.partial_success.error_message = "near the quota"
    collector.body = answer.SerializeToString()
    status, lines = doctor(OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint, **TRACES_ALONE)

    assert [line for line in lines if "was accepted with a warning: near the quota" in line]
    assert status == 0


def test_an_endpoint_that_ends_in_the_path_of_a_signal_is_wrong_once(doctor):
    with http_receiver() as (endpoint, received):
        status, lines = doctor(OTEL_EXPORTER_OTLP_ENDPOINT=f"{endpoint}/v1/traces")

    (line,) = wrong(lines)
    assert line == (
        "✗ OTEL_EXPORTER_OTLP_ENDPOINT ends in /v1/traces, and /v1/traces, /v1/metrics and /v1/logs are "
        "appended to it: leave /v1/traces out, or set OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, to which "
        "nothing is appended"
    )
    assert received.requests == []
    assert status == 1


def test_the_endpoint_of_a_signal_needs_the_path_that_is_not_appended_to_it(doctor, collector):
    collector.statuses["/"] = 404
    _, lines = doctor(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=collector.endpoint, **TRACES_ALONE)

    (line,) = wrong(lines)
    assert line.endswith(
        "let OTEL_EXPORTER_OTLP_TRACES_ENDPOINT end in /v1/traces; nothing is appended to this variable"
    )


def test_traces_that_are_not_found_are_not_sent_to_another_protocol(doctor, collector):
    collector.statuses["/v1/traces"] = 404
    _, lines = doctor(OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint, **TRACES_ALONE)

    (line,) = wrong(lines)
    assert line.endswith("the usual port of OTLP over http/protobuf is 4318")


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_https_to_a_port_without_tls_is_an_error_of_its_own(doctor, protocol):
    with (grpc_receiver if protocol == "grpc" else http_receiver)() as (endpoint, _):
        secure = endpoint.replace("http", "https")
        status, lines = doctor(OTEL_EXPORTER_OTLP_ENDPOINT=secure, OTEL_EXPORTER_OTLP_PROTOCOL=protocol)

    assert wrong(lines) == [
        f"✗ {secure} does not use TLS, but OTEL_EXPORTER_OTLP_ENDPOINT requires it: write {endpoint} there"
    ]
    assert status == 1


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_an_untrusted_certificate_is_an_error_distinct_from_missing_tls(doctor, collector, tmp_path, version):
    files = ["-keyout", tmp_path / "key", "-out", tmp_path / "certificate"]
    options = ["-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1"]
    subprocess.run(["openssl", "req", "-x509", *options, *files], check=True, capture_output=True)  # noqa: S607  # wherever it is
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = version
    context.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
    collector.socket = context.wrap_socket(collector.socket, server_side=True)
    endpoint = collector.endpoint.replace("http", "https")
    _, lines = doctor(OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, OTEL_EXPORTER_OTLP_TIMEOUT="20", **TRACES_ALONE)

    (line,) = wrong(lines)
    assert "CERTIFICATE_VERIFY_FAILED" in line
    assert "set OTEL_EXPORTER_OTLP_CERTIFICATE to the authority's file" in line


def test_an_insecure_grpc_endpoint_without_a_scheme_is_accepted(doctor):
    with grpc_receiver() as (endpoint, received):
        status, lines = doctor(
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint.removeprefix("http://"),
            OTEL_EXPORTER_OTLP_PROTOCOL="grpc",
            OTEL_EXPORTER_OTLP_INSECURE="true",
        )

    assert received.span_names == ["deltaspan doctor"]
    assert wrong(lines) == []
    assert status == 0


def test_the_sample_output_in_the_documentation_is_current(doctor, collector, monkeypatch):
    # As for one who installed without the extra.
    monkeypatch.setitem(sys.modules, "opentelemetry.processor.baggage", None)
    _, lines = doctor(OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint, OTEL_SERVICE_NAME="")

    shown = re.search(r"^\$ deltaspan doctor\n(.*?)^```$", OPERATIONS.read_text(), re.DOTALL | re.MULTILINE)
    assert shown[1].replace("http://localhost:4318", collector.endpoint).splitlines() == lines
