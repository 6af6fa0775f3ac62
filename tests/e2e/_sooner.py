"""The shipped rules, routes and dashboards in accelerated time: an hour takes half a minute.

Every duration of a rule file (`interval`, `for`, `keep_firing_for`, ranges, offsets), of the routes and of a
dashboard's query is divided by `FASTER`. Nothing else is changed: no threshold, no label, no expression. What
is measured in seconds stays in seconds.

What does not get faster is the way of a sample through the collector, so rules look `LATE` back in time:
a minute of late arrival, as it were, would be half a second here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from pathlib import Path

FASTER = 120
LATE = "10s"
SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
RULE_DURATIONS = ("for", "keep_firing_for")
ROUTE_DURATIONS = ("group_wait", "group_interval", "repeat_interval")


def sooner(duration: str) -> str:
    """Return a duration of Prometheus' divided: `5m` is `2500ms`."""
    parts = re.findall(r"(\d+)(ms|[smhdw])", duration)
    assert "".join(map("".join, parts)) == duration, duration
    return f"{round(sum(int(number) * SECONDS[unit] for number, unit in parts) * 1000 / FASTER)}ms"


def sooner_query(expression: str) -> str:
    """Return PromQL with the durations of its ranges, subqueries and offsets divided."""
    ranges = re.sub(
        r"\[(\w+)(?:(:)(\w*))?\]",
        lambda found: (
            f"[{sooner(found[1])}{found[2] or ''}{sooner(found[3]) if found[3] else ''}]"  # [range:step]
        ),
        expression,
    )
    return re.sub(r"\boffset (\w+)", lambda found: f"offset {sooner(found[1])}", ranges)


def hasten_prometheus(folder: Path) -> None:
    """Change a copy of `deploy/prometheus/`: its rules, and once a second what it does every 15 seconds."""
    for path in (folder / "rules").glob("*.yml"):
        text = yaml.safe_load(path.read_text())
        for group in text["groups"]:
            group["interval"] = sooner(group["interval"])
            for rule in group["rules"]:
                rule["expr"] = sooner_query(rule["expr"])
                rule.update({key: sooner(rule[key]) for key in RULE_DURATIONS if key in rule})
        path.write_text(yaml.safe_dump(text, sort_keys=False))
    config = yaml.safe_load((folder / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s", "rule_query_offset": LATE}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config, sort_keys=False))


def hasten_routes(config: dict[str, Any]) -> None:
    """Change the configuration of Alertmanager, as it was read."""
    for route in (config["route"], *config["route"]["routes"]):
        route.update({key: sooner(route[key]) for key in ROUTE_DURATIONS if key in route})
