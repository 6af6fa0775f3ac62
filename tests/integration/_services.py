"""Database servers of the system's packages: started on loopback for the tests that need one, and stopped."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

HOST = "127.0.0.1"
_START_SECONDS = 120.0


def free_port() -> int:
    """Return a port without a listener."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def program(name: str, package: str) -> str:
    """Return the path of a server's program; skip, or fail where CI is set, when its package is missing."""
    found = shutil.which(name) or next(
        map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None
    )
    if found is not None:
        return found
    missing = f"{name} is not installed: apt-get install {package}"
    if os.environ.get("CI"):
        pytest.fail(missing)
    pytest.skip(missing)


@contextlib.contextmanager
def running(
    command: Sequence[str], is_ready: Callable[[], object], cwd: Path, user: str | None = None
) -> Iterator[None]:
    """Run a server until the block ends.

    Args:
        command: starts it in the foreground.
        is_ready: raises until it answers.
        cwd: where it runs.
        user: as whom; None for whoever runs the tests.
    """
    log = cwd / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(command, cwd=cwd, stdout=output, stderr=output, user=user)
        try:
            _wait(server, is_ready, log)
            yield
        finally:
            server.terminate()
            server.wait(_START_SECONDS)


def other_than_root() -> str | None:
    """Return as whom to run a server that refuses to run as root; None when that is not root anyway."""
    if os.geteuid() != 0:
        return None
    return "postgres" if any(entry.pw_name == "postgres" for entry in pwd.getpwall()) else "nobody"


@contextlib.contextmanager
def _home(name: str) -> Iterator[Path]:
    """Give a folder for a server that may run as somebody else, to whom pytest's own are closed."""
    with tempfile.TemporaryDirectory(prefix=f"deltaspan-{name}-") as folder:
        home = Path(folder)
        home.chmod(0o777)
        yield home


@contextlib.contextmanager
def postgresql() -> Iterator[str]:
    """Run a PostgreSQL server of its own until the block ends, and give its address for `psycopg.connect`."""
    import psycopg  # noqa: PLC0415  # installed for these tests alone

    user, port = other_than_root(), free_port()
    with _home("postgresql") as home:
        data = str(home / "data")
        initialise = [
            program("initdb", "postgresql"),
            "-D",
            data,
            "-A",
            "trust",
            "-U",
            "postgres",
            "--no-sync",
        ]
        subprocess.run(initialise, check=True, capture_output=True, cwd=home, user=user)
        server = program("postgres", "postgresql")
        command = [server, "-D", data, "-p", str(port), "-h", HOST, "-k", str(home), "-F"]
        address = f"host={HOST} port={port} user=postgres dbname=postgres"
        with running(command, lambda: psycopg.connect(address).close(), home, user):
            yield address


@contextlib.contextmanager
def mariadb() -> Iterator[tuple[str, int]]:
    """Run a MariaDB server of its own until the block ends; give its host and port. root has no password."""
    import pymysql  # noqa: PLC0415  # installed for these tests alone

    user, port = other_than_root(), free_port()
    with _home("mariadb") as home:
        data = f"--datadir={home / 'data'}"
        install = [program("mariadb-install-db", "mariadb-server"), "--no-defaults", data, "--skip-test-db"]
        install.append("--auth-root-authentication-method=normal")
        subprocess.run(install, check=True, capture_output=True, cwd=home, user=user)
        server = program("mariadbd", "mariadb-server")
        command = [server, "--no-defaults", data, f"--port={port}", f"--bind-address={HOST}"]
        command += [
            f"--socket={home / 's'}",
            f"--pid-file={home / 'pid'}",
            "--innodb-flush-log-at-trx-commit=0",
        ]
        with running(command, lambda: pymysql.connect(host=HOST, port=port, user="root").close(), home, user):
            yield HOST, port


def _wait(server: subprocess.Popen[bytes], is_ready: Callable[[], object], log: Path) -> None:
    ends = time.monotonic() + _START_SECONDS
    while not _answers(is_ready):
        if server.poll() is not None or time.monotonic() > ends:
            raise RuntimeError(f"{server.args!r} did not start: {log.read_text(errors='replace')}")
        time.sleep(0.02)


def _answers(is_ready: Callable[[], object]) -> bool:
    try:
        is_ready()
    except Exception:
        return False
    return True
