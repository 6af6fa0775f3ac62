"""The gateway and the sampling tier of deploy/kubernetes, as configured there, run by the real collector."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import contextmanager

import grpc
import pytest
import yaml
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from e2e._servers import HOST, free_ports, required, running, until
from integration._otlp import grpc_receiver
from support.manifests import BASE, generated

CONFIG = BASE / "config"


@contextmanager
def collector(role, folder, overrides, **variables):
    """Run one, with addresses of this machine in place of the cluster's."""
    program = required("collector")
    folder.mkdir()
    (folder / "here.yaml").write_text(yaml.safe_dump(overrides), encoding="utf-8")
    health, metrics = free_ports(2)
    made = generated()
    environment = {
        **os.environ,
        **made["backends"],
        **made["settings"],
        "POD_IP": HOST,
        "HEALTH_ENDPOINT": f"{HOST}:{health}",
        "METRICS_HOST": HOST,
        "METRICS_PORT": str(metrics),
        "STORAGE_DIRECTORY": str(folder),
        **variables,
    }
    files = [CONFIG / "shared.yaml", CONFIG / f"{role}.yaml", folder / "here.yaml"]
    command = [str(program), *(f"--config={file}" for file in files)]
    with running(command, folder / "log", healthy=(health, "/"), env=environment):
        yield


def listening(port, **more):
    return {"otlp": {"protocols": {"grpc": {"endpoint": f"{HOST}:{port}", **more}}}}


@pytest.fixture
def stack(tmp_path):
    """Both tiers before a receiver that stands for Jaeger; what it has received, and how to send."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate: install it")
    certificate, key, tokens = (tmp_path / name for name in ("tls.crt", "tls.key", "tokens"))
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=gateway",
    ]
    command += ["-addext", f"subjectAltName=IP:{HOST}", "-keyout", key, "-out", certificate]
    subprocess.run(command, check=True, capture_output=True)
    tokens.write_text("old\nsesame\n", encoding="utf-8")
    gateway_port, http_port, sampler_port = free_ports(3)
    tls = {"cert_file": str(certificate), "key_file": str(key)}
    receivers = listening(gateway_port, tls=tls)
    receivers["otlp"]["protocols"]["http"] = {"endpoint": f"{HOST}:{http_port}", "tls": tls}
    gateway = {
        "receivers": receivers,
        "extensions": {"bearertokenauth": {"filename": str(tokens)}},
        "exporters": {
            "load_balancing/sampler": {
                "resolver": {"dns": {"hostname": "localhost", "port": str(sampler_port)}}
            }
        },
    }
    sampler = {"receivers": listening(sampler_port)}

    def send(token, *outcomes):
        credentials = grpc.ssl_channel_credentials(certificate.read_bytes())
        exporter = OTLPSpanExporter(
            f"https://{HOST}:{gateway_port}",
            credentials=credentials,
            headers=(("authorization", f"Bearer {token}"),),
            timeout=60,
        )
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        for outcome in outcomes:
            provider.get_tracer("test").start_span(
                outcome, attributes={"delta.action.outcome": outcome}
            ).end()
        provider.shutdown()

    with grpc_receiver() as (endpoint, received):
        jaeger = endpoint.removeprefix("http://")
        kept = {"JAEGER_ENDPOINT": jaeger, "KEEP_PERCENT": "100", "DECISION_WAIT": "1s"}
        with (
            collector("sampler", tmp_path / "sampler", sampler, **kept),
            collector("gateway", tmp_path / "gateway", gateway, **kept),
        ):
            yield received, send


def test_every_span_arrives_once_and_verdicts_arrive_without_waiting(stack):
    received, send = stack

    send("sesame", "pass", "fail", "pass", "inconclusive")
    until(lambda: len(received.spans) >= 4)
    time.sleep(2)  # what is stored twice would be by now

    assert sorted(received.span_names) == ["fail", "inconclusive", "pass", "pass"]
    assert set(received.span_names[:2]) == {"fail", "inconclusive"}


def test_whoever_has_no_token_is_refused(stack, caplog):
    received, send = stack

    send("wrong", "pass")
    send("sesame", "fail")
    until(lambda: received.spans)

    assert received.span_names == ["fail"]
    assert "UNAUTHENTICATED" in caplog.text
