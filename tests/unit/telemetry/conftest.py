"""Fixtures for tests of telemetry."""

import pytest

from support.active_flows import flows


@pytest.fixture(autouse=True)
def three_flows():
    """Three flows before each test."""
    flows[:] = ["a", "b", "c"]
