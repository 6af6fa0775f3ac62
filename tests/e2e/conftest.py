"""Marks every test of this folder `e2e` and starts the servers that they talk to, once per session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from e2e._servers import Jaeger, required, running_jaeger

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Leave the folder alone when its tests are deselected: what they import may not be installed."""
    return True if "not e2e" in config.getoption("markexpr") else None


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("e2e")


@pytest.fixture(scope="session")
def jaeger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jaeger]:
    """Run a real Jaeger for the session."""
    required("jaeger")
    with running_jaeger(tmp_path_factory.mktemp("jaeger")) as server:
        yield server


@pytest.fixture(scope="session")
def built() -> None:
    """Skip a test when a server of `deploy/` has not been built; in CI, fail it."""
    for name in ("collector", "jaeger", "prometheus", "alertmanager"):
        required(name)
