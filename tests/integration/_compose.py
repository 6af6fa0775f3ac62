"""deploy/compose.yaml with .env filled in, as `docker compose config` prints it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def settings() -> dict[str, str]:
    """Return what deploy/.env pins."""
    lines = (DEPLOY / ".env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def compose(overrides: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return compose.yaml with variables filled in, ports taken apart, and paths made absolute.

    Args:
        overrides: what is set in the environment, and wins over .env.

    Raises:
        KeyError: compose.yaml uses a variable that .env has not.
    """
    values = {**settings(), **(overrides or {})}
    text = (DEPLOY / "compose.yaml").read_text()
    read: dict[str, Any] = yaml.safe_load(re.sub(r"\$\{(\w+)\}", lambda found: values[found[1]], text))
    for service in read["services"].values():
        service["ports"] = [_port(each) for each in service.get("ports", ())]
        for mount in service.get("volumes", ()):
            if mount["type"] == "bind":
                mount["source"] = str((DEPLOY / mount["source"]).resolve())
    return read


def _port(short: str) -> dict[str, Any]:
    host, published, target = short.split(":")
    return {"host_ip": host, "published": published, "target": int(target), "protocol": "tcp"}
