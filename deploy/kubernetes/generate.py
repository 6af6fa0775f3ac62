"""Generate the manifests that depend on other files of the repository.

    python deploy/kubernetes/generate.py

    base/config/shared.yaml        from deploy/collector/config.yaml: redaction, filters, tail sampling and
                                   queues, without receivers and pipelines
    monitoring/prometheusrule.yaml from deploy/prometheus/rules/*.yml: one PrometheusRule with all groups
    grafana/dashboards/kustomization.yaml
                                   from the dashboards beside it: one ConfigMap each

Kustomize cannot read files outside the folder of a kustomization.yaml, and it has no globs. Therefore these
files are copies, and a kustomization.yaml is beside the dashboards. A test fails if one of them is stale.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
SHARED_EXPORTERS = ("otlp_grpc/jaeger", "otlp_http/prometheus")


class _Dumper(yaml.SafeDumper):
    """A dumper that writes multi-line texts as blocks and uses no aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  # PyYAML's signature
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def _written(source: str, document: dict[str, Any]) -> str:
    text = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**20)
    hint = (
        f"Written by deploy/kubernetes/generate.py from {source}. Change the source and run the script again."
    )
    return f"# {hint}\n{text}"


def shared_config(root: Path) -> str:
    """Return the collector configuration that the gateway and the sampling tier share."""
    source = "deploy/collector/config.yaml"
    config = yaml.safe_load((root / source).read_text(encoding="utf-8"))
    return _written(
        source,
        {
            "processors": config["processors"],
            "exporters": {name: config["exporters"][name] for name in SHARED_EXPORTERS},
            "extensions": config["extensions"],
            "service": {
                "extensions": config["service"]["extensions"],
                "telemetry": config["service"]["telemetry"],
            },
        },
    )


def prometheus_rule(root: Path) -> str:
    """Return all groups of rules as one PrometheusRule."""
    files = sorted((root / "deploy" / "prometheus" / "rules").glob("*.yml"))
    groups = [group for file in files for group in yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]]
    return _written(
        "deploy/prometheus/rules/*.yml",
        {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PrometheusRule",
            "metadata": {
                "name": "deltaspan",
                "labels": {"app.kubernetes.io/name": "rules", "app.kubernetes.io/part-of": "deltaspan"},
            },
            "spec": {"groups": groups},
        },
    )


def dashboards(root: Path) -> str:
    """Return the kustomization.yaml that makes a ConfigMap of each dashboard, for Grafana's sidecar."""
    files = sorted(file.name for file in (root / "grafana" / "dashboards").glob("*.json"))
    return _written(
        "the dashboards beside it",
        {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "generatorOptions": {
                "disableNameSuffixHash": True,
                "labels": {"grafana_dashboard": "1", "app.kubernetes.io/part-of": "deltaspan"},
            },
            "configMapGenerator": [
                {"name": f"dashboard-{name.removesuffix('.json').replace('_', '-')}", "files": [name]}
                for name in files
            ],
        },
    )


GENERATED = {
    "deploy/kubernetes/base/config/shared.yaml": shared_config,
    "deploy/kubernetes/monitoring/prometheusrule.yaml": prometheus_rule,
    "grafana/dashboards/kustomization.yaml": dashboards,
}


def main() -> None:
    """Write all generated files."""
    for name, write in GENERATED.items():
        (ROOT / name).write_text(write(ROOT), encoding="utf-8")


if __name__ == "__main__":
    main()
