"""The gateway and the sampling tier of deploy/kubernetes, run by the real collector."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from contextlib import contextmanager
from functools import cache

import grpc
import jsonschema
import kubernetes_validate
import pytest
import yaml
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from e2e._servers import HOST, ServerMissingError, binary, free_ports, required, running, until
from integration._otlp import grpc_receiver
from support.manifests import BASE, KUBERNETES, ROOT, generated

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
    """Both tiers in front of a receiver in place of Jaeger; yield the receiver and a sending function."""
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
                outcome, attributes={"deltaspan.action.outcome": outcome}
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
    time.sleep(2)  # a duplicate would have arrived by now

    assert sorted(received.span_names) == ["fail", "inconclusive", "pass", "pass"]
    assert set(received.span_names[:2]) == {"fail", "inconclusive"}


def test_a_sender_without_a_valid_token_is_refused(stack, caplog):
    received, send = stack

    send("wrong", "pass")
    send("sesame", "fail")
    until(lambda: received.spans)

    assert received.span_names == ["fail"]
    assert "UNAUTHENTICATED" in caplog.text


# Manifests --------------------------------------------------------------------------------------------------

OVERLAYS = ["base", "overlays/example"]
OURS = json.loads((ROOT / "tests" / "support" / "schemas" / "prometheus-operator.json").read_text())


def tool(name):
    """Return a built tool, or skip saying how to build it."""
    try:
        return binary(name)
    except (ServerMissingError, subprocess.CalledProcessError) as missing:
        if os.environ.get("CI"):
            pytest.fail(str(missing))
        pytest.skip(str(missing))


@cache
def built(overlay):
    command = [tool("kustomize"), "build", KUBERNETES / overlay]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_built_resources_have_only_fields_that_kubernetes_or_the_operator_knows(overlay):
    for resource in built(overlay):
        if resource["kind"] in OURS:
            jsonschema.Draft202012Validator(OURS[resource["kind"]]).validate(resource)
        else:
            kubernetes_validate.validate(resource, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_built_resources_share_one_namespace_and_stay_below_the_size_limit(overlay):
    resources = built(overlay)
    namespaces = {each["metadata"].get("namespace") for each in resources if each["kind"] != "Namespace"}
    largest = max(len(json.dumps(each)) for each in resources)

    assert namespaces == {"deltaspan"}
    assert largest < 2**20  # of etcd, and of a ConfigMap


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_config_map_that_a_pod_uses_is_built_under_that_name(overlay):
    resources = built(overlay)
    made = {each["metadata"]["name"] for each in resources if each["kind"] == "ConfigMap"}
    pods = [
        each["spec"]["template"]["spec"]
        for each in resources
        if each["kind"] in {"Deployment", "StatefulSet"}
    ]
    mounted = {v["configMap"]["name"] for pod in pods for v in pod["volumes"] if "configMap" in v}
    read = {each["configMapRef"]["name"] for pod in pods for each in pod["containers"][0]["envFrom"]}

    assert mounted | read <= made


def environment():
    settings = generated()
    return (
        os.environ
        | settings["backends"]
        | settings["settings"]
        | {"POD_IP": "127.0.0.1", "OPENSEARCH_USERNAME": "u"}
    )


def validated(name, *files):
    configs = [f"--config={CONFIG / file}" for file in files]
    return subprocess.run(
        [tool(name), "validate", *configs], check=False, capture_output=True, text=True, env=environment()
    )


@pytest.mark.parametrize("role", ["gateway", "sampler"])
def test_the_real_collector_takes_the_configuration(role):
    done = validated("collector", "shared.yaml", f"{role}.yaml")

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("role", ["jaeger-collector", "jaeger-query"])
def test_the_real_jaeger_takes_the_configuration(role):
    done = validated("jaeger", "jaeger-storage.yaml", f"{role}.yaml")

    assert done.returncode == 0, done.stderr


def test_promtool_accepts_the_rules(tmp_path):
    rule = yaml.safe_load((KUBERNETES / "monitoring" / "prometheusrule.yaml").read_text(encoding="utf-8"))
    rules = tmp_path / "rules.yml"
    rules.write_text(yaml.safe_dump(rule["spec"]), encoding="utf-8")
    done = subprocess.run(
        [tool("promtool"), "check", "rules", rules], check=False, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
