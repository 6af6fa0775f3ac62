"""Importing, decorating and running do not import the OpenTelemetry SDK."""

from __future__ import annotations

import subprocess
import sys
import textwrap

PROGRAM = """
    import asyncio, sys
    import deltaspan

    flows = []

    @deltaspan.expects(deltaspan.change("flows", lambda: len(flows)).by(1))
    def create():
        flows.append("new")

    @deltaspan.expects(deltaspan.unchanged("flows", lambda: len(flows)))
    async def read():
        return len(flows)

    create()
    asyncio.run(read())
    with deltaspan.window("by_block", deltaspan.observe("flows", lambda: len(flows))):
        create()
    print(*sorted(sys.modules))
"""


def loaded(program: str) -> set[str]:
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(program)]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_a_verified_action_loads_no_sdk_and_no_exporter():
    heavy = (
        "opentelemetry.sdk",
        "opentelemetry.exporter",
        "opentelemetry.proto",
        "google",
        "grpc",
        "requests",
    )

    assert [name for name in loaded(PROGRAM) if name.startswith(heavy)] == []


def test_asking_for_the_version_loads_no_sdk():
    program = "import sys, deltaspan; deltaspan.__version__; print(*sys.modules)"

    assert [name for name in loaded(program) if name.startswith("opentelemetry.sdk")] == []


def test_naming_configure_telemetry_loads_the_sdk():
    program = "import sys; from deltaspan import configure_telemetry; print(*sys.modules)"

    assert "opentelemetry.sdk.trace" in loaded(program)


def test_naming_configure_telemetry_loads_no_transport():
    program = "import sys; from deltaspan import configure_telemetry; print(*sys.modules)"

    assert [name for name in loaded(program) if name.startswith(("grpc", "requests", "google"))] == []
