"""Probes of this machine: environment, processes, listening ports, installed packages.

    >>> from deltaspan import change, unchanged
    >>> from deltaspan.probes import system
    >>> checks = (
    ...     change("packages", system.packages("{venv}")).only("requests", "urllib3"),
    ...     unchanged("environment", system.environment(digests=True)),
    ...     unchanged("processes", system.processes()),  # no process was left running
    ... )

Cost, from the cheapest: `environment` copies a mapping. `processes` and `ports` read a few kernel files for
each process of the machine. `packages` reads a file for each package, and starts another interpreter if you
name one. No read sees one moment: a process that starts or ends meanwhile may or may not be in the state. All
programs on the machine share this state, so a claim holds if the action runs alone, or with
`.allowing_others()`.

The module needs psutil: `pip install 'deltaspan[system]'`. If this user may not read something, the check is
inconclusive, with the error text of the system.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Final

from deltaspan._templates import Template, fields_of, fill
from deltaspan.exceptions import DefinitionTypeError
from deltaspan.probes._base.probe import StateProbe
from deltaspan.probes._base.secrets import without
from deltaspan.probes._system._interpreters import installed_for, installed_here

try:
    import psutil
except ImportError:
    raise ImportError("deltaspan.probes.system needs psutil: pip install 'deltaspan[system]'") from None

__all__ = ["environment", "packages", "ports", "processes"]

_KEY: Final = os.urandom(32)
"""A key of this process alone, so that values cannot be guessed from digests outside of it."""


def environment(values: Iterable[str] = (), *, digests: bool = False) -> StateProbe[dict[str, str]]:
    """Read the environment variables of this process: name → "set".

    Values are shown only of the names in `values`. Variables of child processes, and those that C code
    sets for itself, are not seen. Without `digests` only names are compared: a new value of a variable is
    not a change, unless `values` names the variable.

    Args:
        values: names of variables whose values are shown. States are recorded, so do not name a secret.
            Credentials in a URL are hidden.
        digests: show a digest of each other value, so that a new value is a change. Digests are comparable
            within this process only, and reveal nothing.

    Raises:
        DefinitionTypeError: `values` is a str, or contains something else than str.

    Example:
        >>> from deltaspan import change, window
        >>> with window("set up", change("environment", environment(["MODE"])).adding("MODE")) as w:
        ...     os.environ["MODE"] = "test"
        >>> w.report["environment"].outcome, w.report["environment"].actual_delta["added"]["MODE"]
        ('pass', 'test')
        >>> del os.environ["MODE"]
    """
    names = tuple(values) if not isinstance(values, str) else None
    if names is None or not all(isinstance(name, str) for name in names):
        raise DefinitionTypeError(f"environment(values=...) takes a list of names, not {values!r}")
    shown_names = frozenset(names)
    call_arguments = [*([repr(list(names))] if names else []), *(["digests=True"] if digests else [])]

    def read() -> dict[str, str]:
        return {
            name: _render_value(value) if name in shown_names else _digest(value) if digests else "set"
            for name, value in os.environ.copy().items()
        }

    return StateProbe(read, f"system.environment({', '.join(call_arguments)})")


def processes(*, arguments: bool = False) -> StateProbe[dict[str, str]]:
    """Read the descendant processes of this process.

    The state is pid and start time → name of the program. The start time is part of the key, since the
    system reuses pids. Two kinds of process are left out: those that have ended and were not waited for,
    and those that have detached from this process tree (a daemon, `setsid` in a shell that ends).
    Processes that a probe of another check runs at the same time are included.

    Args:
        arguments: show the whole command line. It often has passwords, and states are recorded.

    Example:
        >>> import subprocess
        >>> from deltaspan import change, window
        >>> wait = [sys.executable, "-c", "import sys; sys.stdin.read()"]
        >>> with window("serve", change("processes", processes()).adding(count=1)) as w:
        ...     server = subprocess.Popen(wait, stdin=subprocess.PIPE)
        >>> w.report["processes"].outcome
        'pass'
        >>> _ = server.communicate()
    """
    known_keys: dict[psutil.Process, str] = {}

    def read() -> dict[str, str]:
        nonlocal known_keys
        found: dict[psutil.Process, str] = {}
        names: dict[str, str] = {}
        for process in psutil.Process().children(recursive=True):
            try:
                with process.oneshot():
                    if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
                        continue
                    # Kept, because the system computes it from its boot time, which moves with its clock.
                    key = known_keys.get(process) or f"{process.pid} since {_time(process.create_time())}"
                    names[key] = _command(process) if arguments else process.name()
                    found[process] = key
            except psutil.NoSuchProcess:
                continue  # it has ended meanwhile
        known_keys = found
        return names

    return StateProbe(read, f"system.processes({'arguments=True' if arguments else ''})")


def ports() -> StateProbe[dict[int, str]]:
    """Read the listening TCP ports of the machine: port → addresses with pids.

    A value is, for example, `"127.0.0.1 pid 4242, ::1 pid 4242"`. The pid of another user's process is
    "unknown", unless this process runs as the superuser. On macOS only the superuser may read ports at
    all. In a container the ports are those of the container.

    Example:
        >>> import socket
        >>> from deltaspan import change, window
        >>> with window("serve", change("ports", ports()).adding(lambda result: result)) as w:
        ...     server = socket.create_server(("127.0.0.1", 0))
        ...     w.result = server.getsockname()[1]
        >>> w.report["ports"].outcome
        'pass'
        >>> server.close()
    """

    def read() -> dict[int, str]:
        found: dict[int, set[str]] = {}
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr:
                owner = "unknown" if connection.pid is None else connection.pid
                found.setdefault(connection.laddr.port, set()).add(f"{connection.laddr.ip} pid {owner}")
        return {port: ", ".join(sorted(found[port])) for port in sorted(found)}

    return StateProbe(read, "system.ports()")


def packages(python: Template = sys.executable) -> StateProbe[dict[str, str]]:
    """Read the installed packages of an interpreter: name → version.

    Names are normalized as on PyPI. For this interpreter, packages are read here, along `sys.path`.
    Another interpreter is started isolated (`-I`), so the working folder and `PYTHONPATH` do not count,
    but its own `.pth` files run. A broken install without a name is left out. A reinstall of the same
    version is not seen.

    Args:
        python: an interpreter, or the folder of a virtual environment. `{name}` stands for the action's
            argument of that name. A `Path` is used literally.

    Raises:
        DefinitionTypeError: it is neither a str nor a path.
        DefinitionValueError: a field is not a plain name.

    Example:
        >>> from deltaspan import change
        >>> change("packages", packages("{venv}")).adding("requests")
        change('packages', system.packages('{venv}')).adding('requests')
    """

    def read(**values: object) -> dict[str, str]:
        interpreter = fill(python, values)
        return installed_here() if interpreter == sys.executable else installed_for(interpreter)

    call_arguments = "" if python == sys.executable else repr(python)
    return StateProbe(read, f"system.packages({call_arguments})", fields_of(python))


def _render_value(value: str) -> str:
    shown = without(value, ())
    return value if shown == value else f"{shown} ({_digest(value)})"


def _digest(value: str) -> str:
    data = value.encode("utf-8", "surrogateescape")
    return "digest " + hashlib.blake2b(data, key=_KEY, digest_size=8).hexdigest()


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds")


def _command(process: psutil.Process) -> str:
    return " ".join(process.cmdline()) or process.name()
