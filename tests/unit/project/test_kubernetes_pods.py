"""Every pod of deploy/kubernetes: confined, limited, probed, spread, and found by whoever looks for it."""

import re

import kubernetes_validate
import pytest

from support.manifests import (
    KUBERNETES,
    WORKLOADS,
    container_of,
    generated,
    labels_of,
    name_of,
    of_kind,
    pod_of,
    ports_of,
    resources,
    selects,
)

SECRETS = {"gateway-tls", "agent-tokens", "opensearch"}  # made by hand, as README.md says

every_workload = pytest.mark.parametrize("workload", of_kind(*WORKLOADS), ids=name_of)


@pytest.mark.parametrize("resource", resources(), ids=lambda each: f"{each['kind']}-{name_of(each)}")
def test_a_resource_has_no_field_that_kubernetes_does_not_know(resource):
    kubernetes_validate.validate(resource, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize("resource", resources(), ids=lambda each: f"{each['kind']}-{name_of(each)}")
def test_a_resource_says_what_it_is_part_of(resource):
    assert resource["metadata"]["labels"]["app.kubernetes.io/part-of"] == "deltaspan"


@every_workload
def test_a_pod_runs_as_nobody_in_particular_and_gets_no_token(workload):
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
def test_all_that_is_mounted_and_read_is_there(workload):
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
