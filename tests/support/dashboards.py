"""The dashboards of grafana/dashboards, and the PromQL `expressions` in them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "grafana" / "dashboards"
RULES = ROOT / "deploy" / "prometheus" / "rules"

BUILT_IN = {"__rate_interval": "5m", "__interval": "1m", "__range": "1h"}
"""The variables that Grafana puts into a query, with values that suit a test of an hour."""


class Expression(NamedTuple):
    """A query of a panel to Prometheus, with no variable left in it.

    Attributes:
        dashboard: the dashboard's uid.
        panel: the panel's title.
        expr: the PromQL.
    """

    dashboard: str
    panel: str
    expr: str


def dashboards() -> list[dict[str, Any]]:
    """Return all dashboards."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))]


def panels(dashboard: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the panels of a dashboard, those in closed rows as well, and the rows themselves."""
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", ())


def texts(value: Any) -> Iterator[str]:
    """Yield every text in a piece of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)


def expressions(**variables: str) -> list[Expression]:
    """Return every query to Prometheus, as Grafana would send it.

    Args:
        **variables: values of dashboard variables and of Grafana's own, as `action="order"` or
            `__range="6h"`; every agent, every metric and no action in particular unless given.
    """
    values = {**BUILT_IN, "job": ".*", "metric": ".*", "action": "", **variables}
    return [
        Expression(dashboard["uid"], panel["title"], substituted(target["expr"], values))
        for dashboard in dashboards()
        for panel in panels(dashboard)
        for target in panel.get("targets", ())
        if "expr" in target
    ]


def searches(**variables: str) -> list[tuple[str, dict[str, str]]]:
    """Return the panels' searches in Jaeger, as Grafana would send them: title, and tags by their name.

    Args:
        **variables: values of dashboard variables, as `action="order"`.
    """
    return [
        (
            panel["title"],
            dict(each.split("=", 1) for each in shlex.split(substituted(target["tags"], variables))),
        )
        for dashboard in dashboards()
        for panel in panels(dashboard)
        for target in panel.get("targets", ())
        if target.get("queryType") == "search"
    ]


def substituted(text: str, values: dict[str, str]) -> str:
    """Return a text with its variables replaced; KeyError names one that has no value."""
    return re.sub(r"\$(\w+)|\$\{(\w+)[^}]*\}", lambda found: values[found[1] or found[2]], text)
