"""Who may speak to whom under deploy/kubernetes: everything that has to, and nothing else."""

from itertools import product

from support.manifests import (
    BASE,
    WORKLOADS,
    Pod,
    allowed,
    by_name,
    generated,
    labels_of,
    name_of,
    of_kind,
    ports_of,
    read,
)

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


def test_the_policies_allow_every_flow_there_is_and_no_other():
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


def test_what_the_configurations_send_to_is_what_the_policies_allow():
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
