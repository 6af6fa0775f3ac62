"""Start and stop the services of compose.yaml, and explain what prevents it.

    python3 deploy/stack.py up      start it, wait until everything answers, say where it is
    python3 deploy/stack.py down    stop it; what is stored stays (with --volumes it goes)
    python3 deploy/stack.py check   say what is in the way of `up`, and do nothing

Needs Python and Docker, nothing else.
"""

from __future__ import annotations

import errno
import http.client
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
from ipaddress import ip_address
from pathlib import Path
from typing import Any

DEPLOY = Path(__file__).resolve().parent
SECRETS = DEPLOY / "secrets"
PASSWORD = SECRETS / "grafana-admin-password"
RECEIVERS = SECRETS / "alertmanager"
COMPOSE = ["docker", "compose", "-f", str(DEPLOY / "compose.yaml")]
READY = {
    "collector": (13133, "/"),
    "jaeger": (16686, "/"),
    "prometheus": (9090, "/-/ready"),
    "alertmanager": (9093, "/-/ready"),
    "grafana": (3000, "/api/health"),
}
"""Of each service: its port inside the network, and the path that answers 200 once it is ready."""
PATIENCE = 180.0
"""seconds; from the end of `docker compose up` until everything must have answered."""


WITHOUT = 'Where there can be none, see "Without containers" in docs/operations.md'


class InTheWayError(Exception):
    """An obstacle to starting the stack. The message names the remedy."""


def main(arguments: list[str]) -> int:
    """Run the command line, and return the exit status."""
    command, *rest = arguments or ["help"]
    if command not in {"up", "down", "check"} or (rest and (command, rest) != ("down", ["--volumes"])):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        require_docker()
        if command == "down":
            run(["down", "--remove-orphans", *rest])
            return 0
        plan = json.loads("\n".join(ask(["config", "--format", "json"])))
        refuse([*missing_files(plan), *taken_ports(plan)])
        if command == "up":
            up(plan)
    except InTheWayError as trouble:
        print(trouble, file=sys.stderr)
        return 1
    return 0


def up(plan: dict[str, Any]) -> None:
    """Start everything, wait for it, and say where it is."""
    changed = make_secrets() and grafana_has_one()
    run(["up", "--detach", "--remove-orphans"])
    addresses = {name: address(plan, name, port) for name, (port, _) in READY.items()}
    wait(addresses)
    otlp, grpc = address(plan, "collector", 4318), address(plan, "collector", 4317)
    print(f"""
Everything is up. Send telemetry to it:
  export OTEL_EXPORTER_OTLP_ENDPOINT=http://{url(otlp)}   (gRPC: {url(grpc)})
Look at it:
  Grafana       http://{url(addresses["grafana"])}   user admin, password in {shown(PASSWORD)}
  Jaeger        http://{url(addresses["jaeger"])}
  Prometheus    http://{url(addresses["prometheus"])}
  Alertmanager  http://{url(addresses["alertmanager"])}""")
    silent = [name for name in ("page_url", "ticket_url", "heartbeat_url") if not (RECEIVERS / name).exists()]
    if silent:
        print(
            f"\nAlerts are shown there and sent to nobody: write the address of a webhook into "
            f"{' and '.join(shown(RECEIVERS / name) for name in silent)}."
        )
    if changed:
        print(
            "\nThat password is new, and Grafana keeps the one of its first start. To give it this one:\n"
            f"  {' '.join(COMPOSE[:3])} {shown(DEPLOY / 'compose.yaml')} exec grafana "
            f"grafana cli admin reset-admin-password {PASSWORD.read_text()}"
        )
    if not ip_address(plan["services"]["grafana"]["ports"][0]["host_ip"]).is_loopback:
        print(
            "\nBIND opens all of this to the network, and Grafana alone asks for a password: whoever\n"
            "reaches the other ports can read and write telemetry. Put a firewall or a proxy that asks\n"
            "for one in front of them."
        )


def refuse(troubles: list[str]) -> None:
    """Raise what is in the way, all of it at once."""
    if troubles:
        raise InTheWayError("\n".join(troubles))


# What can be in the way -----------------------------------------------------------------------------------


def require_docker() -> None:
    """Refuse to go on without Docker, a running engine and its compose plugin.

    Raises:
        InTheWayError: one of them is missing.
    """
    if not shutil.which("docker"):
        raise InTheWayError(
            "Docker is missing: install Docker Engine and its compose plugin "
            f"(docs.docker.com/engine/install).\n{WITHOUT}"
        )
    engine = subprocess.run(["docker", "info"], check=False, capture_output=True, text=True)
    if engine.returncode and "permission denied" in (engine.stdout + engine.stderr).lower():
        raise InTheWayError(
            "Docker is running, but this user may not talk to it: sudo usermod -aG docker $USER, "
            "then log in again"
        )
    if engine.returncode:
        why = (
            (engine.stderr.strip() or engine.stdout.strip() or "no reason given").splitlines()[-1].rstrip(".")
        )
        raise InTheWayError(
            f"Docker is installed, but its engine does not answer ({why}).\n"
            f"Start it: sudo systemctl start docker, or open Docker Desktop. {WITHOUT}"
        )
    plugin = subprocess.run(["docker", "compose", "version"], check=False, capture_output=True, text=True)
    if plugin.returncode:
        raise InTheWayError(
            "Docker has no `docker compose`, version 2: install it (docs.docker.com/compose/install); "
            "the older docker-compose cannot read compose.yaml"
        )


def missing_files(plan: dict[str, Any]) -> list[str]:
    """Return a sentence for each file or folder that is mounted and not there."""
    mounts = {
        Path(mount["source"])
        for service in plan["services"].values()
        for mount in service.get("volumes", ())
        if mount["type"] == "bind"
    }
    return [
        f"{shown(path)} is missing, and compose.yaml mounts it: bring it back with git checkout {shown(path)}"
        for path in sorted(mounts)
        if not path.exists() and SECRETS not in path.parents
    ]


def taken_ports(plan: dict[str, Any]) -> list[str]:
    """Return a sentence for each port in use, with the setting for another."""
    ours = ask(["ps", "--services", "--status", "running"])
    troubles = []
    for name, service in plan["services"].items():
        for port in service.get("ports", ()) if name not in ours else ():
            published = int(port["published"])
            problem = bind_problem(port["host_ip"], published)
            if problem == errno.EADDRINUSE:
                setting = setting_of(published)
                troubles.append(
                    f"Port {published}, for {name}, is taken by {listener(published)}: stop that, or choose "
                    f"another: make up {setting}={published + 10000}"
                )
            elif problem == errno.EADDRNOTAVAIL:
                troubles.append(
                    f"BIND={port['host_ip']} is no address of this machine: set it to one that is"
                )
    return list(dict.fromkeys(troubles))


def bind_problem(host: str, port: int) -> int | None:
    """Return the error number of listening on a port, or None.

    Ports under 1024 are left to Docker.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            return error.errno
    return None


def listener(port: int) -> str:
    """Return who listens on a port, as far as this user may know."""
    for command, pattern in (
        (["ss", "-Hltnp", f"sport = :{port}"], r'\("(?P<name>[^"]+)",pid=(?P<pid>\d+)'),
        (["lsof", "-nP", f"-iTCP:{port}", "-sTCP:LISTEN", "-Fcp"], r"p(?P<pid>\d+)\nc(?P<name>.+)"),
    ):
        if shutil.which(command[0]):
            said = subprocess.run(command, check=False, capture_output=True, text=True).stdout
            if found := re.search(pattern, said):
                return f"{found['name']} (process {found['pid']})"
    return "a program that this user may not see"


def setting_of(port: int) -> str:
    """Return which variable of .env a port comes from."""
    pinned = re.findall(r"^(\w+_PORT)=(\d+)$", (DEPLOY / ".env").read_text(), re.MULTILINE)
    names = [name for name, value in pinned if int(os.environ.get(name, value)) == port]
    return names[0] if names else "ITS_PORT"


# Doing it -------------------------------------------------------------------------------------------------


def make_secrets() -> bool:
    """Create missing secrets. Return whether Grafana's password is new."""
    # The folder keeps other users out. What is in it is open, because containers run as other users.
    # Whoever wrote an address before the first `up` has made them with a mode of his own.
    for folder, mode in ((SECRETS, 0o700), (RECEIVERS, 0o755)):
        folder.mkdir(exist_ok=True)
        folder.chmod(mode)
    if PASSWORD.exists() and PASSWORD.read_text().strip():
        return False
    PASSWORD.write_text(secrets.token_urlsafe(18))
    PASSWORD.chmod(0o644)
    return True


def grafana_has_one() -> bool:
    """Return whether Grafana has been started before, with the password of then."""
    command = ["docker", "volume", "inspect", "deltaspan_grafana"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def run(arguments: list[str]) -> None:
    """Run a command of compose, for the user to see.

    Raises:
        InTheWayError: it failed; it has said why itself.
    """
    done = subprocess.run([*COMPOSE, *arguments], check=False)
    if done.returncode:
        raise InTheWayError(f"docker compose {arguments[0]} failed; what it said is above")


def ask(arguments: list[str]) -> list[str]:
    """Return the lines that a command of compose prints.

    Raises:
        InTheWayError: it failed; with what it said.
    """
    done = subprocess.run([*COMPOSE, *arguments], check=False, capture_output=True, text=True)
    if done.returncode:
        raise InTheWayError(f"docker compose {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout.splitlines()


def wait(addresses: dict[str, tuple[str, int]]) -> None:
    """Wait until every service answers.

    Raises:
        InTheWayError: time is up; names the services that did not, and where their logs are.
    """
    waiting, deadline = dict(addresses), time.monotonic() + PATIENCE
    while waiting:
        waiting = {name: there for name, there in waiting.items() if not answers(there, READY[name][1])}
        if waiting and time.monotonic() > deadline:
            names = " ".join(waiting)
            raise InTheWayError(
                f"After {PATIENCE:g} s these do not answer: {names}. What they say: "
                f"docker compose -f {shown(DEPLOY / 'compose.yaml')} logs {names}"
            )
        time.sleep(0.5 if waiting else 0)


def answers(there: tuple[str, int], path: str) -> bool:
    """Return whether a page is there."""
    connection = http.client.HTTPConnection(*there, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def address(plan: dict[str, Any], service: str, target: int) -> tuple[str, int]:
    """Return where a port of a service is on this machine."""
    [port] = [each for each in plan["services"][service]["ports"] if each["target"] == target]
    host = port["host_ip"]
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), int(port["published"])  # noqa: S104  # a lookup


def url(there: tuple[str, int]) -> str:
    """Return host and port as they stand in a URL."""
    host, port = there
    return f"{'localhost' if ip_address(host).is_loopback else host}:{port}"


def shown(path: Path) -> str:
    """Return a path as it can be typed here."""
    return os.path.relpath(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
