"""Start and stop the stack of compose.yaml, and explain what prevents its start.

    python3 deploy/stack.py up      start it, wait until every service answers, print the addresses
    python3 deploy/stack.py down    stop it and keep its data (--volumes deletes the data)
    python3 deploy/stack.py check   print what prevents `up`, and do nothing else

It needs only Python and Docker.
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
"""Port of each service inside the network, and the path that answers 200 when it is ready."""
READY_TIMEOUT_SECONDS = 180.0
"""Time limit, from the end of `docker compose up`, within which every service must answer."""


WITHOUT_DOCKER = 'If you cannot use Docker, see "Without containers" in docs/operations.md'


class StackError(Exception):
    """The stack cannot start. The message names the cause and the solution."""


def main(arguments: list[str]) -> int:
    """Run the command and return the exit status."""
    command, *rest = arguments or ["help"]
    if command not in {"up", "down", "check"} or (rest and (command, rest) != ("down", ["--volumes"])):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        require_docker()
        if command == "down":
            run(["down", "--remove-orphans", *rest])
            return 0
        plan = json.loads("\n".join(read_lines(["config", "--format", "json"])))
        raise_problems([*missing_mounts(plan), *occupied_ports(plan)])
        if command == "up":
            up(plan)
    except StackError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def up(plan: dict[str, Any]) -> None:
    """Start every service, wait until all answer, and print their addresses."""
    changed = create_secrets() and has_grafana_started()
    run(["up", "--detach", "--remove-orphans"])
    addresses = {name: address(plan, name, port) for name, (port, _) in READY.items()}
    wait(addresses)
    otlp, grpc = address(plan, "collector", 4318), address(plan, "collector", 4317)
    print(f"""
All services are up. Send telemetry to:
  export OTEL_EXPORTER_OTLP_ENDPOINT=http://{url(otlp)}   (gRPC: {url(grpc)})
Open:
  Grafana       http://{url(addresses["grafana"])}   user admin, password in {relative(PASSWORD)}
  Jaeger        http://{url(addresses["jaeger"])}
  Prometheus    http://{url(addresses["prometheus"])}
  Alertmanager  http://{url(addresses["alertmanager"])}""")
    missing = [
        name for name in ("page_url", "ticket_url", "heartbeat_url") if not (RECEIVERS / name).exists()
    ]
    if missing:
        print(
            f"\nAlerts are shown but not sent. To send them, write the address of a webhook into "
            f"{' and '.join(relative(RECEIVERS / name) for name in missing)}."
        )
    if changed:
        print(
            "\nThis password is new, but Grafana keeps the password of its first start. To set the new one:\n"
            f"  {' '.join(COMPOSE[:3])} {relative(DEPLOY / 'compose.yaml')} exec grafana "
            f"grafana cli admin reset-admin-password {PASSWORD.read_text()}"
        )
    if not ip_address(plan["services"]["grafana"]["ports"][0]["host_ip"]).is_loopback:
        print(
            "\nBIND opens all ports to the network, but only Grafana asks for a password. Anybody who\n"
            "reaches the other ports can read and write telemetry. Protect them with a firewall, or\n"
            "with a proxy that asks for a password."
        )


def raise_problems(problems: list[str]) -> None:
    """Raise all problems as one error, if there are any."""
    if problems:
        raise StackError("\n".join(problems))


# Problems before the start --------------------------------------------------------------------------------


def require_docker() -> None:
    """Check that Docker, a running engine and its compose plugin are available.

    Raises:
        StackError: one of them is missing.
    """
    if not shutil.which("docker"):
        raise StackError(
            "Docker is not installed. Install Docker Engine and its compose plugin "
            f"(docs.docker.com/engine/install).\n{WITHOUT_DOCKER}"
        )
    engine = subprocess.run(["docker", "info"], check=False, capture_output=True, text=True)
    if engine.returncode and "permission denied" in (engine.stdout + engine.stderr).lower():
        raise StackError(
            "Docker is running, but this user has no permission to use it. "
            "Run sudo usermod -aG docker $USER, then log in again"
        )
    if engine.returncode:
        why = (
            (engine.stderr.strip() or engine.stdout.strip() or "no reason given").splitlines()[-1].rstrip(".")
        )
        raise StackError(
            f"Docker is installed, but its engine does not answer ({why}).\n"
            f"Start it: sudo systemctl start docker, or open Docker Desktop. {WITHOUT_DOCKER}"
        )
    plugin = subprocess.run(["docker", "compose", "version"], check=False, capture_output=True, text=True)
    if plugin.returncode:
        raise StackError(
            "Docker has no `docker compose`, version 2. Install it (docs.docker.com/compose/install). "
            "The older docker-compose cannot read compose.yaml"
        )


def missing_mounts(plan: dict[str, Any]) -> list[str]:
    """Return a message for each mounted file or folder that does not exist."""
    mounts = {
        Path(mount["source"])
        for service in plan["services"].values()
        for mount in service.get("volumes", ())
        if mount["type"] == "bind"
    }
    return [
        f"{relative(path)} is missing, but compose.yaml mounts it. "
        f"Restore it with git checkout {relative(path)}"
        for path in sorted(mounts)
        if not path.exists() and SECRETS not in path.parents
    ]


def occupied_ports(plan: dict[str, Any]) -> list[str]:
    """Return a message for each port that another program uses."""
    running = read_lines(["ps", "--services", "--status", "running"])
    problems = []
    for name, service in plan["services"].items():
        for port in service.get("ports", ()) if name not in running else ():
            published = int(port["published"])
            error = bind_error(port["host_ip"], published)
            if error == errno.EADDRINUSE:
                setting = port_setting(published)
                problems.append(
                    f"Port {published} of {name} is used by {listener(published)}. "
                    f"Stop that program, or choose another port: make up {setting}={published + 10000}"
                )
            elif error == errno.EADDRNOTAVAIL:
                problems.append(
                    f"BIND={port['host_ip']} is not an address of this machine. Set it to an address that is"
                )
    return list(dict.fromkeys(problems))


def bind_error(host: str, port: int) -> int | None:
    """Return the error number of binding a port, or None if it succeeds."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            return error.errno
    return None


def listener(port: int) -> str:
    """Return the program that listens on a port, if this user may see it."""
    for command, pattern in (
        (["ss", "-Hltnp", f"sport = :{port}"], r'\("(?P<name>[^"]+)",pid=(?P<pid>\d+)'),
        (["lsof", "-nP", f"-iTCP:{port}", "-sTCP:LISTEN", "-Fcp"], r"p(?P<pid>\d+)\nc(?P<name>.+)"),
    ):
        if shutil.which(command[0]):
            output = subprocess.run(command, check=False, capture_output=True, text=True).stdout
            if match := re.search(pattern, output):
                return f"{match['name']} (process {match['pid']})"
    return "a program that this user may not see"


def port_setting(port: int) -> str:
    """Return the variable of .env that sets a port."""
    pinned = re.findall(r"^(\w+_PORT)=(\d+)$", (DEPLOY / ".env").read_text(), re.MULTILINE)
    names = [name for name, value in pinned if int(os.environ.get(name, value)) == port]
    return names[0] if names else "ITS_PORT"


# Starting and waiting -------------------------------------------------------------------------------------


def create_secrets() -> bool:
    """Create the secrets, and return whether Grafana's password is new."""
    # Only this user can enter the folder. Its files are readable, because containers run as other users.
    # The folders may exist with another mode, if an address was written before the first `up`.
    for folder, mode in ((SECRETS, 0o700), (RECEIVERS, 0o755)):
        folder.mkdir(exist_ok=True)
        folder.chmod(mode)
    if PASSWORD.exists() and PASSWORD.read_text().strip():
        return False
    PASSWORD.write_text(secrets.token_urlsafe(18))
    PASSWORD.chmod(0o644)
    return True


def has_grafana_started() -> bool:
    """Return whether Grafana has been started before, with an earlier password."""
    command = ["docker", "volume", "inspect", "deltaspan_grafana"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def run(arguments: list[str]) -> None:
    """Run a compose command and show its output.

    Raises:
        StackError: the command failed. Its output has the reason.
    """
    done = subprocess.run([*COMPOSE, *arguments], check=False)
    if done.returncode:
        raise StackError(f"docker compose {arguments[0]} failed. Its output is above")


def read_lines(arguments: list[str]) -> list[str]:
    """Return the output lines of a compose command.

    Raises:
        StackError: the command failed. The message contains its output.
    """
    done = subprocess.run([*COMPOSE, *arguments], check=False, capture_output=True, text=True)
    if done.returncode:
        raise StackError(f"docker compose {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout.splitlines()


def wait(addresses: dict[str, tuple[str, int]]) -> None:
    """Wait until every service answers.

    Raises:
        StackError: the time limit passed. The message names the services that do not answer.
    """
    waiting, deadline = dict(addresses), time.monotonic() + READY_TIMEOUT_SECONDS
    while waiting:
        waiting = {name: place for name, place in waiting.items() if not is_ready(place, READY[name][1])}
        if waiting and time.monotonic() > deadline:
            names = " ".join(waiting)
            raise StackError(
                f"After {READY_TIMEOUT_SECONDS:g} s these services do not answer: {names}. Read their logs: "
                f"docker compose -f {relative(DEPLOY / 'compose.yaml')} logs {names}"
            )
        time.sleep(0.5 if waiting else 0)


def is_ready(place: tuple[str, int], path: str) -> bool:
    """Return whether a path answers 200."""
    connection = http.client.HTTPConnection(*place, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def address(plan: dict[str, Any], service: str, target: int) -> tuple[str, int]:
    """Return host and published port of a service on this machine."""
    [port] = [each for each in plan["services"][service]["ports"] if each["target"] == target]
    host = port["host_ip"]
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), int(port["published"])  # noqa: S104  # a lookup


def url(place: tuple[str, int]) -> str:
    """Return host and port in the form of a URL."""
    host, port = place
    return f"{'localhost' if ip_address(host).is_loopback else host}:{port}"


def relative(path: Path) -> str:
    """Return a path relative to the current folder."""
    return os.path.relpath(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
