"""Fixtures for tests of the engine."""

import pytest

from support.flows import Flows


@pytest.fixture
def flows():
    """A state to act on."""
    return Flows()
