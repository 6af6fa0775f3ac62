"""deploy/kubernetes as the real kustomize, collector, Jaeger and promtool see it."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache

import jsonschema
import kubernetes_validate
import pytest
import yaml

from e2e._servers import ServerMissingError, binary
from support.manifests import BASE, KUBERNETES, ROOT, generated

OVERLAYS = ["base", "overlays/example"]
OURS = json.loads((ROOT / "tests" / "support" / "schemas" / "prometheus-operator.json").read_text())
CONFIG = BASE / "config"


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
def test_what_is_built_has_no_field_that_kubernetes_or_the_operator_does_not_know(overlay):
    for resource in built(overlay):
        if resource["kind"] in OURS:
            jsonschema.Draft202012Validator(OURS[resource["kind"]]).validate(resource)
        else:
            kubernetes_validate.validate(resource, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_what_is_built_is_in_one_namespace_and_fits_into_it(overlay):
    resources = built(overlay)
    namespaces = {each["metadata"].get("namespace") for each in resources if each["kind"] != "Namespace"}
    largest = max(len(json.dumps(each)) for each in resources)

    assert namespaces == {"deltaspan"}
    assert largest < 2**20  # of etcd, and of a ConfigMap


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_what_is_read_and_mounted_is_built_under_the_name_that_is_asked_for(overlay):
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


def test_promtool_finds_nothing_wrong_with_the_rules(tmp_path):
    rule = yaml.safe_load((KUBERNETES / "monitoring" / "prometheusrule.yaml").read_text(encoding="utf-8"))
    rules = tmp_path / "rules.yml"
    rules.write_text(yaml.safe_dump(rule["spec"]), encoding="utf-8")
    done = subprocess.run(
        [tool("promtool"), "check", "rules", rules], check=False, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
