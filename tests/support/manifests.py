"""The manifests of deploy/kubernetes, and the pods that their selectors match."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
KUBERNETES = ROOT / "deploy" / "kubernetes"
BASE = KUBERNETES / "base"
WORKLOADS = ("Deployment", "StatefulSet")


@cache
def read(path):
    """Return the one document of a file."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@cache
def resources(folder=BASE):
    """Return the resources that a kustomization lists as files, in order."""
    listed = [folder / name for name in read(folder / "kustomization.yaml")["resources"]]
    files = [path for path in listed if path.is_file()]
    return [each for path in files for each in yaml.safe_load_all(path.read_text(encoding="utf-8"))]


def of_kind(*kinds, among=None):
    return [each for each in among or resources() if each["kind"] in kinds]


def name_of(resource):
    return resource["metadata"]["name"]


def by_name(kind, name):
    """Return the one resource of that kind and name."""
    [found] = [each for each in of_kind(kind) if name_of(each) == name]
    return found


def pod_of(workload):
    return workload["spec"]["template"]["spec"]


def container_of(workload):
    [container] = pod_of(workload)["containers"]
    return container


def labels_of(workload):
    return workload["spec"]["template"]["metadata"]["labels"]


def ports_of(workload):
    """Return the container's ports by name."""
    return {port["name"]: port["containerPort"] for port in container_of(workload)["ports"]}


@cache
def generated(folder=BASE):
    """Return what the kustomization makes ConfigMaps of: their literals by key, or their files by key."""
    made = {}
    for each in read(folder / "kustomization.yaml")["configMapGenerator"]:
        literals = dict(text.split("=", 1) for text in each.get("literals", ()))
        files = dict(reversed_pair(text) for text in each.get("files", ()))
        made[each["name"]] = literals | files
    return made


def reversed_pair(text):
    key, _, path = text.rpartition("=")
    return key or Path(path).name, path


def selects(selector, labels):
    """Return whether a selector of `matchLabels` alone selects these labels."""
    assert set(selector) <= {"matchLabels"}
    return selector.get("matchLabels", {}).items() <= labels.items()


@dataclass(frozen=True)
class Pod:
    """A pod, ours or another's, as a network policy sees it."""

    name: str
    labels: dict
    namespace: dict
    ours: bool = False

    def is_peer(self, peer):
        assert set(peer) <= {"podSelector", "namespaceSelector"}
        within = (
            selects(peer["namespaceSelector"], self.namespace) if "namespaceSelector" in peer else self.ours
        )
        return within and selects(peer.get("podSelector", {}), self.labels)


def allowed(source, target, protocol, port):
    """Return whether the policies let a connection through, at both of its ends."""
    return _passes(source, target, "Egress", "to", (protocol, port)) and _passes(
        target, source, "Ingress", "from", (protocol, port)
    )


def _passes(pod, other, direction, word, port):
    if not pod.ours:
        return True
    policies = [each["spec"] for each in of_kind("NetworkPolicy")]
    isolating = [
        each
        for each in policies
        if direction in each["policyTypes"] and selects(each["podSelector"], pod.labels)
    ]
    rules = [rule for each in isolating for rule in each.get(direction.lower(), ())]
    return not isolating or any(
        any(other.is_peer(peer) for peer in rule[word])
        and port in [(each["protocol"], each["port"]) for each in rule["ports"]]
        for rule in rules
    )
