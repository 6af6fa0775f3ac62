"""`make up` reports the problems that prevent a start, and starts the stack if there are none."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from integration._compose import DEPLOY, settings

FAKE = DEPLOY.parent / "tests" / "integration" / "_fake_docker.py"
PORTS = [name for name in settings() if name.endswith("_PORT")]
RUNNING = "collector jaeger prometheus alertmanager grafana"
NO_ENGINE = {"DOCKER_HOST": "unix:///nowhere/docker.sock"}


@pytest.fixture
def stack(tmp_path):
    """Run a copy of deploy/stack.py, so that no password is left in the repository."""
    for name in ("stack.py", ".env", "compose.yaml"):
        (tmp_path / "deploy").mkdir(exist_ok=True)
        shutil.copy(DEPLOY / name, tmp_path / "deploy" / name)

    def run(*arguments, **environment):
        inherited = {key: value for key, value in os.environ.items() if key not in settings()}
        return subprocess.run(
            [sys.executable, "deploy/stack.py", *arguments],
            cwd=tmp_path,
            env={**inherited, "FAKE_LOG": str(tmp_path / "docker.log"), **environment},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    return run


@pytest.fixture
def docker(tmp_path):
    """Put the docker that starts nothing first on PATH; return that PATH."""
    script = tmp_path / "bin" / "docker"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" "$@"\n')
    script.chmod(0o755)
    return {"PATH": f"{script.parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture
def free():
    """Return a free port for every port of .env."""
    sockets = [socket.socket() for _ in PORTS]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = {name: str(each.getsockname()[1]) for name, each in zip(PORTS, sockets, strict=True)}
    for each in sockets:
        each.close()
    return ports


class Healthy(BaseHTTPRequestHandler):
    """Answers 200 to everything."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def answering():
    """Return a port for every port of .env, at each of which something answers as if healthy."""
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), Healthy) for _ in PORTS]
    for server in servers:
        Thread(target=server.serve_forever, daemon=True).start()
    yield {name: str(server.server_port) for name, server in zip(PORTS, servers, strict=True)}
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_missing_docker_is_reported_with_the_package_to_install(stack, tmp_path):
    done = stack("up", PATH=str(tmp_path))

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "Docker is not installed. Install Docker Engine and its compose plugin "
        "(docs.docker.com/engine/install).\n"
        'If you cannot use Docker, see "Without containers" in docs/operations.md\n'
    )
    assert "\n## Without containers\n" in (DEPLOY.parent / "docs" / "operations.md").read_text(
        encoding="utf-8"
    )


@pytest.mark.skipif(not shutil.which("docker"), reason="docker is not installed")
def test_a_missing_docker_engine_is_reported_with_the_start_command(stack):
    done = stack("up", **NO_ENGINE)

    assert done.returncode == 1
    assert done.stderr.startswith("Docker is installed, but its engine does not answer (")
    assert "\nStart it: sudo systemctl start docker, or open Docker Desktop. " in done.stderr
    assert done.stderr.endswith('see "Without containers" in docs/operations.md\n')


def test_a_user_without_permission_for_docker_gets_the_command_for_it(stack, docker):
    done = stack(
        "up", **docker, FAKE_INFO="permission denied while trying to connect to the Docker daemon socket"
    )

    assert done.returncode == 1
    assert done.stderr == (
        "Docker is running, but this user has no permission to use it. "
        "Run sudo usermod -aG docker $USER, then log in again\n"
    )


def test_a_docker_with_the_old_compose_only_is_rejected(stack, docker):
    done = stack("up", **docker, FAKE_NO_COMPOSE="1")

    assert done.returncode == 1
    assert done.stderr.startswith("Docker has no `docker compose`, version 2. Install it")


def test_an_occupied_port_is_reported_with_its_program_and_the_setting(stack, docker, free):
    with socket.create_server(("127.0.0.1", int(free["GRAFANA_PORT"]))):
        done = stack("check", **docker, **free)

    port = int(free["GRAFANA_PORT"])
    assert done.returncode == 1
    assert done.stderr.startswith(f"Port {port} of grafana is used by ")
    assert done.stderr.endswith(
        f". Stop that program, or choose another port: make up GRAFANA_PORT={port + 10000}\n"
    )
    if shutil.which("ss") or shutil.which("lsof"):
        assert f"(process {os.getpid()})" in done.stderr


def test_all_problems_are_reported_at_once(stack, docker, free, tmp_path):
    with (
        socket.create_server(("127.0.0.1", int(free["JAEGER_PORT"]))),
        socket.create_server(("127.0.0.1", int(free["OTLP_GRPC_PORT"]))),
    ):
        done = stack("up", **docker, **free, FAKE_MOUNTS=str(tmp_path / "gone.yaml"))

    missing, *ports = done.stderr.splitlines()
    assert (
        missing == "gone.yaml is missing, but compose.yaml mounts it. Restore it with git checkout gone.yaml"
    )
    assert [line.rpartition(" ")[2].partition("=")[0] for line in ports] == ["OTLP_GRPC_PORT", "JAEGER_PORT"]
    assert not (tmp_path / "docker.log").exists()


def test_an_address_of_another_machine_is_rejected(stack, docker, free):
    done = stack("check", **docker, **free, BIND="192.0.2.1")

    assert (done.returncode, done.stderr) == (
        1,
        "BIND=192.0.2.1 is not an address of this machine. Set it to an address that is\n",
    )


def test_check_prints_nothing_without_problems(stack, docker, free, tmp_path):
    done = stack("check", **docker, **free)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (tmp_path / "docker.log").exists()


def test_up_waits_until_all_services_answer_and_prints_their_addresses(stack, docker, answering, tmp_path):
    done = stack("up", **docker, **answering, FAKE_RUNNING=RUNNING)

    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "docker.log").read_text() == "up --detach --remove-orphans\n"
    assert (
        f"export OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:{answering['OTLP_HTTP_PORT']}   "
        f"(gRPC: localhost:{answering['OTLP_GRPC_PORT']})\n"
    ) in done.stdout
    assert (
        f"Grafana       http://localhost:{answering['GRAFANA_PORT']}   "
        "user admin, password in deploy/secrets/grafana-admin-password\n"
    ) in done.stdout
    assert "BIND" not in done.stdout


def test_unsent_alerts_are_reported_until_the_addresses_exist(stack, docker, answering, tmp_path):
    first = stack("up", **docker, **answering, FAKE_RUNNING=RUNNING)
    for name in ("page_url", "ticket_url", "heartbeat_url"):
        (tmp_path / "deploy" / "secrets" / "alertmanager" / name).write_text("http://localhost:1")
    second = stack("up", **docker, **answering, FAKE_RUNNING=RUNNING)

    notice = (
        "Alerts are shown but not sent. To send them, write the address of a webhook into "
        "deploy/secrets/alertmanager/page_url and deploy/secrets/alertmanager/ticket_url "
        "and deploy/secrets/alertmanager/heartbeat_url.\n"
    )
    assert (notice in first.stdout, notice in second.stdout) == (True, False)


def test_the_password_is_created_once_and_hidden_from_other_users(stack, docker, answering, tmp_path):
    file = tmp_path / "deploy" / "secrets" / "grafana-admin-password"

    stack("up", **docker, **answering, FAKE_RUNNING=RUNNING)
    first = file.read_text()
    stack("up", **docker, **answering, FAKE_RUNNING=RUNNING)

    assert file.read_text() == first
    assert len(first) >= 24
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_existing_folders_are_closed_to_others_and_open_to_alertmanager(stack, docker, answering, tmp_path):
    receivers = tmp_path / "deploy" / "secrets" / "alertmanager"
    receivers.mkdir(parents=True)
    receivers.chmod(0o700)
    receivers.parent.chmod(0o755)

    stack("up", **docker, **answering, FAKE_RUNNING=RUNNING)

    assert [path.stat().st_mode & 0o777 for path in (receivers.parent, receivers)] == [0o700, 0o755]


def test_a_new_password_for_an_existing_grafana_comes_with_the_command_to_set_it(
    stack, docker, answering, tmp_path
):
    done = stack("up", **docker, **answering, FAKE_RUNNING=RUNNING, FAKE_VOLUME="1")

    password = (tmp_path / "deploy" / "secrets" / "grafana-admin-password").read_text()
    assert done.stdout.endswith(
        "  docker compose -f deploy/compose.yaml exec grafana grafana cli admin reset-admin-password "
        f"{password}\n"
    )


def test_opening_the_ports_to_the_network_prints_a_warning(stack, docker, answering):
    done = stack("up", **docker, **answering, FAKE_RUNNING=RUNNING, BIND="0.0.0.0")  # noqa: S104  # nothing binds it

    assert "\nBIND opens all ports to the network, but only Grafana asks for a password" in done.stdout


def test_down_keeps_the_data_unless_volumes_is_given(stack, docker, tmp_path):
    assert stack("down", **docker).returncode == 0
    assert stack("down", "--volumes", **docker).returncode == 0

    assert (tmp_path / "docker.log").read_text() == "down --remove-orphans\ndown --remove-orphans --volumes\n"


def test_an_unknown_command_prints_the_usage(stack):
    done = stack("restart")

    assert done.returncode == 2
    assert "python3 deploy/stack.py up" in done.stderr
