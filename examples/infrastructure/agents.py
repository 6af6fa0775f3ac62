"""Four infrastructure agents that all report one more server and no other change."""

from __future__ import annotations

import httpx


def honest(cloud: str, team: str) -> str:
    """Order one server."""
    httpx.post(f"{cloud}/teams/{team}/servers", json={"name": f"{team}-new"}).raise_for_status()
    return "done"


def repeating(cloud: str, team: str) -> str:
    """Order a server, lose the answer to a timeout, and order another one."""
    honest(cloud, team)
    return honest(cloud, team)


def careless(cloud: str, team: str) -> str:
    """Order a server, and also open the firewall."""
    httpx.put(f"{cloud}/teams/{team}/firewall", json={"open": [22, 443]}).raise_for_status()
    return honest(cloud, team)


def astray(cloud: str, team: str) -> str:
    """Order a server for the wrong team."""
    del team
    return honest(cloud, "blue")
