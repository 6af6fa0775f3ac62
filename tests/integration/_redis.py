"""A real Redis server, and clients of every kind that the probes read with."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from integration._services import HOST, free_port, program, running

PASSWORD = "s3cr/t-word"  # noqa: S105  # of a server that lives for one test run


@contextlib.contextmanager
def redis_server(factory: pytest.TempPathFactory, *options: str) -> Iterator[int]:
    """Run a Redis server of its own until the block ends, and give its port."""
    import redis  # noqa: PLC0415  # installed for these tests alone

    port = free_port()
    command = [program("redis-server", "redis-server"), "--port", str(port), "--bind", HOST, "--save", ""]
    with redis.Redis(HOST, port, protocol=2) as client:  # that of every server, however it is configured

        def is_ready() -> None:
            with contextlib.suppress(redis.AuthenticationError):
                client.ping()

        with running([*command, *options], is_ready, factory.mktemp("redis")):
            yield port
