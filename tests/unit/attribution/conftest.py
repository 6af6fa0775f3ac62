"""Fixtures for tests of attribution."""

import pytest

from support.overlapping import Overlap


@pytest.fixture
def overlap():
    """Two parties whose windows are open at the same time."""
    return Overlap()
