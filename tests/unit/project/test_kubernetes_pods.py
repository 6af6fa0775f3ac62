"""Pods of deploy/kubernetes: security, limits, probes, spreading and selectors."""

import importlib.util
import json
import re
from itertools import product

import jsonschema
import kubernetes_validate
import pytest

from support.manifests import (
    BASE,
    KUBERNETES,
    ROOT,
    WORKLOADS,
    Pod,
    allowed,
    by_name,
    container_of,
    generated,
    labels_of,
    name_of,
    of_kind,
    pod_of,
    ports_of,
    read,
    resources,
    selects,
)

SECRETS = {"gateway-tls", "agent-tokens", "opensearch"}  # made by hand, as README.md says

every_workload = pytest.mark.parametrize("workload", of_kind(*WORKLOADS), ids=name_of)


@pytest.mark.parametrize("resource", resources(), ids=lambda each: f"{each['kind']}-{name_of(each)}")
def test_a_resource_has_no_field_that_kubernetes_does_not_know(resource):
    kubernetes_validate.validate(resource, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize("resource", resources(), ids=lambda each: f"{each['kind']}-{name_of(each)}")
def test_a_resource_has_the_part_of_label(resource):
    assert resource["metadata"]["labels"]["app.kubernetes.io/part-of"] == "deltaspan"


@every_workload
def test_a_pod_runs_as_non_root_and_without_a_service_account_token(workload):
    pod = pod_of(workload)
    context = pod["securityContext"]

    assert context["runAsNonRoot"] is True
    assert context["runAsUser"] > 0
    assert context["runAsGroup"] > 0
    assert context["fsGroup"] > 0
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    assert {"hostNetwork", "hostPID", "hostIPC"}.isdisjoint(pod)


@every_workload
def test_a_container_may_do_nothing_but_run(workload):
    assert container_of(workload)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


@every_workload
def test_a_container_asks_for_and_is_held_to_cpu_memory_and_disk(workload):
    resources = container_of(workload)["resources"]

    assert set(resources["requests"]) == set(resources["limits"]) == {"cpu", "memory", "ephemeral-storage"}


@every_workload
def test_the_garbage_collector_knows_four_fifths_of_the_memory(workload):
    container = container_of(workload)
    [known] = [each["value"] for each in container["env"] if each["name"] == "GOMEMLIMIT"]
    number, unit = re.fullmatch(r"(\d+)(Mi|Gi)", container["resources"]["limits"]["memory"]).groups()
    limit = int(number) * {"Mi": 1, "Gi": 1024}[unit]

    assert 0.75 < int(known.removesuffix("MiB")) / limit <= 0.8


@every_workload
@pytest.mark.parametrize("probe", ["startupProbe", "readinessProbe", "livenessProbe"])
def test_a_probe_asks_a_port_that_the_container_has(workload, probe):
    assert container_of(workload)[probe]["httpGet"]["port"] in ports_of(workload)


@every_workload
def test_a_pod_is_spread_over_zones_and_nodes_with_its_own_kind(workload):
    constraints = pod_of(workload)["topologySpreadConstraints"]

    assert [each["topologyKey"] for each in constraints] == [
        "topology.kubernetes.io/zone",
        "kubernetes.io/hostname",
    ]
    assert all(selects(each["labelSelector"], labels_of(workload)) for each in constraints)


@every_workload
def test_one_budget_and_one_account_belong_to_a_workload(workload):
    [budget] = [
        each
        for each in of_kind("PodDisruptionBudget")
        if selects(each["spec"]["selector"], labels_of(workload))
    ]
    [account] = [
        each for each in of_kind("ServiceAccount") if name_of(each) == pod_of(workload)["serviceAccountName"]
    ]

    assert budget["spec"]["maxUnavailable"] == 1
    assert account["automountServiceAccountToken"] is False


@every_workload
def test_a_workload_selects_its_own_pods_and_no_others(workload):
    selected = [
        name_of(each)
        for each in of_kind(*WORKLOADS)
        if selects(workload["spec"]["selector"], labels_of(each))
    ]

    assert selected == [name_of(workload)]


@every_workload
def test_everything_that_a_pod_mounts_or_reads_exists(workload):
    pod, container = pod_of(workload), container_of(workload)
    volumes = {each["name"]: each for each in pod["volumes"]}
    claims = {each["metadata"]["name"] for each in workload["spec"].get("volumeClaimTemplates", ())}
    maps = [each["configMap"]["name"] for each in volumes.values() if "configMap" in each]
    secrets = [each["secret"]["secretName"] for each in volumes.values() if "secret" in each]
    read = [each["configMapRef"]["name"] for each in container["envFrom"]]

    assert {each["name"] for each in container["volumeMounts"]} == set(volumes) | claims
    assert set(maps + read) <= set(generated())
    assert set(secrets) <= SECRETS
    assert all(each.get("readOnly") for each in container["volumeMounts"] if each["name"] not in claims)


@every_workload
def test_every_configuration_that_an_argument_names_is_in_its_config_map(workload):
    container, [config] = (
        container_of(workload),
        [v for v in pod_of(workload)["volumes"] if v["name"] == "config"],
    )
    [folder] = [each["mountPath"] for each in container["volumeMounts"] if each["name"] == "config"]
    named = [argument.removeprefix(f"--config={folder}/") for argument in container["args"]]

    assert named
    assert set(named) <= set(generated()[config["configMap"]["name"]])


@pytest.mark.parametrize("service", of_kind("Service"), ids=name_of)
def test_a_service_leads_to_ports_that_its_pods_have(service):
    [workload] = [
        each for each in of_kind(*WORKLOADS) if service["spec"]["selector"].items() <= labels_of(each).items()
    ]
    ports = ports_of(workload)

    assert all(ports[port["targetPort"]] == port["port"] for port in service["spec"]["ports"])


@pytest.mark.parametrize("workload", of_kind("StatefulSet"), ids=name_of)
def test_the_members_of_a_set_get_their_names_from_a_headless_service(workload):
    [service] = [each for each in of_kind("Service") if name_of(each) == workload["spec"]["serviceName"]]

    assert service["spec"]["clusterIP"] == "None"


def test_the_gateway_is_scaled_by_its_load_and_the_sampling_tier_by_hand():
    [scaler] = of_kind("HorizontalPodAutoscaler")
    replicas = {name_of(each): each["spec"].get("replicas") for each in of_kind("StatefulSet")}

    assert scaler["spec"]["scaleTargetRef"] == {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "name": "gateway",
    }
    assert replicas == {"gateway": None, "sampler": 3}


def test_the_documented_secrets_are_those_that_are_mounted():
    text = (KUBERNETES / "README.md").read_text(encoding="utf-8")

    assert set(re.findall(r"create secret \w+ ([\w-]+)", text)) == SECRETS


# Collectors -------------------------------------------------------------------------------------------------

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
def test_generated_files_are_current(name):
    assert (ROOT / name).read_text(encoding="utf-8") == generate().GENERATED[name](ROOT)


@with_the_stack
def test_the_images_are_those_of_the_one_machine_stack():
    images = {f"{each['name']}:{each['newTag']}" for each in read(BASE / "kustomization.yaml")["images"]}

    assert images == {pinned()["COLLECTOR_IMAGE"], pinned()["JAEGER_IMAGE"]}


@with_the_stack
@pytest.mark.parametrize("name", ["KEEP_PERCENT", "SLOW_MS", "DECISION_WAIT"])
def test_the_sampling_tier_has_the_sampling_settings_of_the_single_machine_stack(name):
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
def test_a_pipeline_uses_only_configured_components(role):
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


def test_the_gateway_redacts_traces_and_logs():
    pipelines = config("gateway")["service"]["pipelines"]

    for name in ("traces", "logs"):
        assert {"transform/expose", "redaction"} <= set(pipelines[name]["processors"])


def test_every_trace_goes_whole_to_one_member_of_the_sampling_tier():
    assert config("gateway")["exporters"]["load_balancing/sampler"]["routing_key"] == "traceID"


def test_a_batch_of_the_gateway_fits_the_message_limit_of_its_receiver():
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


# Flows of the network ---------------------------------------------------------------------------------------

HOME = {"kubernetes.io/metadata.name": "deltaspan"}
OURS = [Pod(name_of(each), labels_of(each), HOME, ours=True) for each in of_kind(*WORKLOADS)]


def elsewhere(name, namespace, labels=None, **more):
    labels = {"app.kubernetes.io/name": name} if labels is None else labels
    return Pod(name, labels, {"kubernetes.io/metadata.name": namespace, **more})


OTHERS = [
    elsewhere("agent", "shop", {}, **{"deltaspan/agents": "true"}),
    elsewhere("stranger", "shop-next-door", {"app.kubernetes.io/name": "gateway"}),
    elsewhere("prometheus", "monitoring"),
    elsewhere("grafana", "monitoring"),
    elsewhere("loki", "monitoring"),
    elsewhere("opensearch", "opensearch"),
    elsewhere("dns", "kube-system", {"k8s-app": "kube-dns"}),
    elsewhere("api-server", "kube-system", {"component": "kube-apiserver"}),
]
PORTS = [
    ("UDP", 53),
    *(("TCP", port) for port in (53, 443, 3100, 4317, 4318, 8888, 9090, 9200, 13133, 16685, 16686)),
]
NAMES = [pod.name for pod in OURS]

EXPECTED = {
    ("agent", "gateway", "TCP", 4317),
    ("agent", "gateway", "TCP", 4318),
    ("gateway", "sampler", "TCP", 4317),
    ("gateway", "jaeger-collector", "TCP", 4317),
    ("gateway", "prometheus", "TCP", 9090),
    ("gateway", "loki", "TCP", 3100),
    ("sampler", "jaeger-collector", "TCP", 4317),
    ("jaeger-collector", "opensearch", "TCP", 9200),
    ("jaeger-query", "opensearch", "TCP", 9200),
    ("grafana", "jaeger-query", "TCP", 16686),
    *((name, "dns", protocol, 53) for name in NAMES for protocol in ("UDP", "TCP")),
    *(("prometheus", name, "TCP", 8888) for name in NAMES),
}


def test_the_policies_allow_exactly_the_expected_flows():
    pairs = [pair for pair in product(OURS + OTHERS, repeat=2) if pair[0].ours or pair[1].ours]
    found = {
        (source.name, target.name, *port)
        for (source, target), port in product(pairs, PORTS)
        if source != target and allowed(source, target, *port)
    }

    assert found == EXPECTED


def test_no_pod_is_left_out_of_the_default():
    default = by_name("NetworkPolicy", "default-deny")["spec"]

    assert default == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_the_endpoints_of_the_configurations_are_allowed_by_the_policies():
    backends = generated()["backends"]
    balancer = read(BASE / "config" / "gateway.yaml")["exporters"]["load_balancing/sampler"]
    resolver = balancer["resolver"]["dns"]

    assert (
        backends["JAEGER_ENDPOINT"],
        ports_of(by_name("Deployment", "jaeger-collector"))["otlp-grpc"],
    ) == ("dns:///jaeger-collector:4317", 4317)
    assert ":9090/" in backends["PROMETHEUS_ENDPOINT"]
    assert ":3100/" in backends["LOGS_ENDPOINT"]
    assert backends["OPENSEARCH_URL"].endswith(":9200")
    assert (resolver["hostname"], int(resolver["port"])) == (name_of(by_name("Service", "sampler")), 4317)
