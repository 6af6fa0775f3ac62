"""What the collectors of deploy/kubernetes share with the one-machine stack, and what they promise."""

import importlib.util
import json
import re

import jsonschema
import pytest

from support.manifests import BASE, KUBERNETES, ROOT, by_name, generated, read, resources

SCHEMAS = json.loads((ROOT / "tests" / "support" / "schemas" / "prometheus-operator.json").read_text())
UNITS = {"Gi": 2**30}


SOURCES = (
    ROOT / "deploy" / ".env",
    ROOT / "deploy" / "prometheus" / "rules",
    ROOT / "grafana" / "dashboards",
)
with_the_stack = pytest.mark.skipif(
    not all(path.exists() for path in SOURCES), reason="the one-machine stack is not in this tree"
)


def generate():
    spec = importlib.util.spec_from_file_location("generate", KUBERNETES / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pinned():
    """Return the variables of deploy/.env."""
    lines = (ROOT / "deploy" / ".env").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


@with_the_stack
@pytest.mark.parametrize("name", generate().GENERATED)
def test_what_is_generated_is_what_would_be_generated_now(name):
    assert (ROOT / name).read_text(encoding="utf-8") == generate().GENERATED[name](ROOT)


@with_the_stack
def test_the_images_are_those_of_the_one_machine_stack():
    images = {f"{each['name']}:{each['newTag']}" for each in read(BASE / "kustomization.yaml")["images"]}

    assert images == {pinned()["COLLECTOR_IMAGE"], pinned()["JAEGER_IMAGE"]}


@with_the_stack
@pytest.mark.parametrize("name", ["KEEP_PERCENT", "SLOW_MS", "DECISION_WAIT"])
def test_the_sampling_tier_keeps_what_the_one_machine_stack_keeps(name):
    assert generated()["settings"][name] == pinned()[name]


@pytest.mark.parametrize("resource", resources(KUBERNETES / "monitoring"), ids=lambda each: each["kind"])
def test_the_operators_objects_have_the_fields_that_the_operator_knows(resource):
    jsonschema.Draft202012Validator(SCHEMAS[resource["kind"]]).validate(resource)


def test_the_monitor_finds_a_port_for_metrics_on_a_service_of_each_workload():
    [monitor] = [each for each in resources(KUBERNETES / "monitoring") if each["kind"] == "ServiceMonitor"]
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    [endpoint] = monitor["spec"]["endpoints"]
    found = [
        each["spec"]["selector"]["app.kubernetes.io/name"]
        for each in resources()
        if each["kind"] == "Service"
        and wanted <= each["metadata"]["labels"].items()
        and endpoint["port"] in {port["name"] for port in each["spec"]["ports"]}
    ]

    assert sorted(found) == ["gateway", "jaeger-collector", "jaeger-query", "sampler"]


def config(role):
    """Return a role's configuration as the collector merges it: mappings by key, all else replaced."""
    return merged(read(BASE / "config" / "shared.yaml"), read(BASE / "config" / f"{role}.yaml"))


def merged(below, above):
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return below | {key: merged(below[key], value) if key in below else value for key, value in above.items()}


@pytest.mark.parametrize("role", ["gateway", "sampler"])
def test_a_pipeline_is_made_of_what_is_configured(role):
    merged = config(role)
    there = {
        part: set(merged.get(part, ())) for part in ("receivers", "processors", "exporters", "connectors")
    }
    for pipeline in merged["service"]["pipelines"].values():
        assert set(pipeline["receivers"]) <= there["receivers"] | there["connectors"]
        assert set(pipeline.get("processors", ())) <= there["processors"]
        assert set(pipeline["exporters"]) <= there["exporters"] | there["connectors"]
    assert set(merged["service"]["extensions"]) <= set(merged["extensions"])


def test_nothing_that_the_gateway_acknowledges_is_in_memory_alone():
    gateway = config("gateway")
    for pipeline in gateway["service"]["pipelines"].values():
        assert not [
            name for name in pipeline.get("processors", ()) if name.startswith(("batch", "tail_sampling"))
        ]
        for name in set(pipeline["exporters"]) - set(gateway["connectors"]):
            exporter = gateway["exporters"][name]
            assert exporter["sending_queue"]["storage"] == "file_storage"
            assert exporter["retry_on_failure"]["max_elapsed_time"] in {0, "0s"}
    assert gateway["extensions"]["file_storage"]["fsync"] is True


def test_a_verdict_other_than_a_pass_does_not_wait_for_the_sampling_tier_and_is_stored_once():
    gateway, sampler = config("gateway")["service"]["pipelines"], config("sampler")["service"]["pipelines"]

    assert gateway["traces/at_once"]["processors"] == ["filter/at_once"]
    assert gateway["traces/at_once"]["exporters"] == ["otlp_grpc/jaeger"]
    assert sampler["traces"]["processors"][-2:] == ["tail_sampling", "filter/the_rest"]


def test_what_must_not_be_stored_is_hidden_before_anything_is_written():
    pipelines = config("gateway")["service"]["pipelines"]

    for name in ("traces", "logs"):
        assert {"transform/expose", "redaction"} <= set(pipelines[name]["processors"])


def test_every_trace_goes_whole_to_one_member_of_the_sampling_tier():
    assert config("gateway")["exporters"]["load_balancing/sampler"]["routing_key"] == "traceID"


def test_what_the_gateway_sends_at_once_is_what_the_next_one_takes_at_once():
    takes = {
        "load_balancing/sampler": config("sampler")["receivers"]["otlp"],
        "otlp_grpc/jaeger": read(BASE / "config" / "jaeger-collector.yaml")["receivers"]["otlp"],
    }
    for name, receiver in takes.items():
        batch = config("gateway")["exporters"][name]["sending_queue"]["batch"]

        assert (
            batch["sizer"] == "bytes"
        )  # a number of spans is no size: each may hold a kilobyte or a hundred
        assert batch["max_size"] <= receiver["protocols"]["grpc"]["max_recv_msg_size_mib"] * 2**20 / 2


def test_the_gateway_takes_as_much_at_once_as_the_one_machine_collector():
    there = read(ROOT / "deploy" / "collector" / "config.yaml")["receivers"]["otlp"]["protocols"]
    here = config("gateway")["receivers"]["otlp"]["protocols"]

    assert here["grpc"]["max_recv_msg_size_mib"] == there["grpc"]["max_recv_msg_size_mib"]


@pytest.mark.parametrize("role", ["gateway", "sampler"])
def test_the_queues_of_a_pod_leave_a_third_of_its_volume_free(role):
    settings = generated()["settings"]
    queued = 0
    merged = config(role)
    used = {name for each in merged["service"]["pipelines"].values() for name in each["exporters"]}
    for name in used & set(merged["exporters"]):
        size = str(merged["exporters"][name]["sending_queue"]["queue_size"])
        variable = re.fullmatch(r"\$\{env:(\w+):-\d+\}", size)
        queued += int(settings[variable[1]] if variable else size)
    [claim] = by_name("StatefulSet", role)["spec"]["volumeClaimTemplates"]
    number, unit = re.fullmatch(r"(\d+)(\w+)", claim["spec"]["resources"]["requests"]["storage"]).groups()

    assert queued < int(number) * UNITS[unit] * 2 / 3


@pytest.mark.parametrize("role", ["gateway", "sampler"])
def test_every_variable_without_a_default_is_set(role):
    text = json.dumps(config(role))
    container = by_name("StatefulSet", role)["spec"]["template"]["spec"]["containers"][0]
    known = {each["name"] for each in container["env"]}
    for reference in container["envFrom"]:
        known |= set(generated()[reference["configMapRef"]["name"]])

    assert set(re.findall(r"\$\{env:(\w+)\}", text)) <= known
