"""Fixtures for framework tests: a state to act on, and a decorator that claims a change.

No model is called. In each module our decorator stands below the framework's: the tool must look as the bare
function's does, and calling it the framework's public way must run the window.
"""

import pytest

from deltaspan import change, expects


class Flows:
    """A piece of state to act on."""

    def __init__(self):
        self.rows = []

    def count(self):
        return len(self.rows)


@pytest.fixture
def flows():
    return Flows()


@pytest.fixture
def verified(flows):
    """The decorator under test: the action adds one row."""
    return expects(change("flows", flows.count).by(1), name="create")


@pytest.fixture
def bare():
    """The decorator that does nothing, to compare with."""
    return lambda function: function
