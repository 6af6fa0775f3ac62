"""The listening ports of this process alone."""

from __future__ import annotations

import os

import psutil
import pytest


def hide_other_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the ports of other processes of this machine, which open and close at any time."""
    connections = psutil.net_connections
    monkeypatch.setattr(
        psutil,
        "net_connections",
        lambda kind: [each for each in connections(kind) if each.pid == os.getpid()],
    )
