"""Results of `deltaspan doctor` for servers that are not OTLP receivers."""

from __future__ import annotations

import re
import shutil
import ssl
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from integration._doctor import answering, doctor_in
from integration._otlp import grpc_receiver, http_receiver

OPERATIONS = Path(__file__).parents[3] / "docs" / "operations.md"
TRACES_ALONE = {"OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"}


@pytest.fixture
def doctor(monkeypatch, capsys):
    return doctor_in(monkeypatch, capsys)


@pytest.fixture
def collector():
    with answering() as server:
        yield server


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
def test_an_answer_that_is_nearly_one_of_otlp_is_a_note(doctor, collector, kind, body):
    collector.kind, collector.body = kind, body
    status, lines = doctor(OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint)

    notes = [line for line in lines if line.startswith("•")]
    assert len([line for line in notes if "was answered 200, but not in OTLP" in line]) == 3
    assert status == 0


def test_spans_that_a_collector_rejects_are_wrong_in_its_own_words(doctor, collector):
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


def test_a_warning_of_a_collector_that_rejects_nothing_is_a_note(doctor, collector):
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
def test_https_to_a_port_without_tls_is_wrong_and_told_apart(doctor, protocol):
    with (grpc_receiver if protocol == "grpc" else http_receiver)() as (endpoint, _):
        secure = endpoint.replace("http", "https")
        status, lines = doctor(OTEL_EXPORTER_OTLP_ENDPOINT=secure, OTEL_EXPORTER_OTLP_PROTOCOL=protocol)

    assert wrong(lines) == [
        f"✗ {secure} does not use TLS, but OTEL_EXPORTER_OTLP_ENDPOINT requires it: write {endpoint} there"
    ]
    assert status == 1


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_certificate_that_is_not_trusted_is_wrong_and_not_taken_for_no_tls(
    doctor, collector, tmp_path, version
):
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


def test_a_name_and_port_for_grpc_that_are_said_to_be_insecure_are_taken_so(doctor):
    with grpc_receiver() as (endpoint, received):
        status, lines = doctor(
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint.removeprefix("http://"),
            OTEL_EXPORTER_OTLP_PROTOCOL="grpc",
            OTEL_EXPORTER_OTLP_INSECURE="true",
        )

    assert received.span_names == ["deltaspan doctor"]
    assert wrong(lines) == []
    assert status == 0


def test_the_sample_in_the_documentation_is_what_the_doctor_says(doctor, collector, monkeypatch):
    # As for one who installed without the extra.
    monkeypatch.setitem(sys.modules, "opentelemetry.processor.baggage", None)
    _, lines = doctor(OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint, OTEL_SERVICE_NAME="")

    shown = re.search(r"^\$ deltaspan doctor\n(.*?)^```$", OPERATIONS.read_text(), re.DOTALL | re.MULTILINE)
    assert shown[1].replace("http://localhost:4318", collector.endpoint).splitlines() == lines
