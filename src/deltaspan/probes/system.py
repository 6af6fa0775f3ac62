"""Read the machine that this process runs on: environment, processes, listening ports, installed packages.

    >>> from deltaspan import change, unchanged
    >>> from deltaspan.probes import system
    >>> checks = (
    ...     change("packages", system.packages("{venv}")).only("requests", "urllib3"),
    ...     unchanged("environment", system.environment(digests=True)),
    ...     unchanged("processes", system.processes()),  # nothing that it started was left running
    ... )

From the cheapest: `environment` copies a mapping, `processes` and `ports` read a few files of the kernel for
each process of the machine, `packages` reads a file for each package, and for another interpreter starts it.
None is of one moment: what starts or ends during a read may or may not be in it. All of it is shared by
whatever else runs here, so the claims hold where the action is alone, or with `.allowing_others()`.

The module needs psutil: `pip install 'deltaspan[system]'`. What the system does not let this user read is
inconclusive, in its words.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Final

from deltaspan._templates import Template, fields_of, filled
from deltaspan.exceptions import DefinitionTypeError
from deltaspan.probes._base.probe import StateProbe
from deltaspan.probes._base.secrets import without
from deltaspan.probes._system._interpreters import installed_here, installed_of

try:
    import psutil
except ImportError:
    raise ImportError("deltaspan.probes.system needs psutil: pip install 'deltaspan[system]'") from None

__all__ = ["environment", "packages", "ports", "processes"]

_KEY: Final = os.urandom(32)
"""Digests are of this process alone: outside it nobody can try which value gives one."""


def environment(values: Iterable[str] = (), *, digests: bool = False) -> StateProbe[dict[str, str]]:
    """Read the environment of this process: name → "set", so that no value is told that nobody asked for.

    What a child process has, or what C code sets for itself, is not seen. Without `digests` only names are
    compared: a variable that is given another value has not changed, unless `values` names it.

    Args:
        values: names whose values are told. States are recorded: name none that holds a secret. Of a URL
            with credentials these are hidden.
        digests: tell a digest of each other value, which says *that* it changed. It compares within this
            process only, and gives nothing away.

    Raises:
        DefinitionTypeError: `values` is one text, or holds what is none.

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
    told = frozenset(names)
    said = [*([repr(list(names))] if names else []), *(["digests=True"] if digests else [])]

    def read() -> dict[str, str]:
        return {
            name: _shown(value) if name in told else _digest(value) if digests else "set"
            for name, value in os.environ.copy().items()
        }

    return StateProbe(read, f"system.environment({', '.join(said)})")


def processes(*, arguments: bool = False) -> StateProbe[dict[str, str]]:
    """Read the processes below this one, children's children too: pid and start → name of the program.

    The start is part of the key, as the system gives pids out again. Left out are those that have ended and
    were not waited for, and those that nobody below this process is the parent of any more: what detaches
    itself (a daemon, `setsid` in a shell that ends) is no descendant. Those that a probe of another check
    runs at the same time are seen.

    Args:
        arguments: tell the whole command line. Passwords are often in there, and states are recorded.

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
    known: dict[psutil.Process, str] = {}

    def read() -> dict[str, str]:
        nonlocal known
        found: dict[psutil.Process, str] = {}
        names: dict[str, str] = {}
        for process in psutil.Process().children(recursive=True):
            try:
                with process.oneshot():
                    if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
                        continue
                    # Kept, for the system computes it from when it booted, which moves with its clock.
                    key = known.get(process) or f"{process.pid} since {_time(process.create_time())}"
                    names[key] = _command(process) if arguments else process.name()
                    found[process] = key
            except psutil.NoSuchProcess:
                continue  # it ended meanwhile
        known = found
        return names

    return StateProbe(read, f"system.processes({'arguments=True' if arguments else ''})")


def ports() -> StateProbe[dict[int, str]]:
    """Read the TCP ports on which something listens, whoever it is: port → addresses, each with its pid.

    Such as `"127.0.0.1 pid 4242, ::1 pid 4242"`. Of other users' processes the pid is "unknown", unless this
    is the superuser; on macOS only the superuser may read this at all. In a container these are its own.

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
        for each in psutil.net_connections("tcp"):
            if each.status == psutil.CONN_LISTEN and each.laddr:
                owner = "unknown" if each.pid is None else each.pid
                found.setdefault(each.laddr.port, set()).add(f"{each.laddr.ip} pid {owner}")
        return {port: ", ".join(sorted(found[port])) for port in sorted(found)}

    return StateProbe(read, "system.ports()")


def packages(python: Template = sys.executable) -> StateProbe[dict[str, str]]:
    """Read the packages that are installed for an interpreter: name → version, names as PyPI spells them.

    Of this interpreter they are read here, along `sys.path`. Another is started for it, isolated (`-I`), so
    that neither the working folder nor `PYTHONPATH` counts; what its own `.pth` files say is run, as always.
    An install that broke off and has no name is left out, and one of the same version again is not seen.

    Args:
        python: an interpreter, or the folder of a virtual environment. `{name}` stands for the action's
            argument of that name; a `Path` is meant as it is written.

    Raises:
        DefinitionTypeError: it is neither text nor a path.
        DefinitionValueError: a field is no plain name.

    Example:
        >>> from deltaspan import change
        >>> change("packages", packages("{venv}")).adding("requests")
        change('packages', system.packages('{venv}')).adding('requests')
    """

    def read(**values: object) -> dict[str, str]:
        chosen = filled(python, values)
        return installed_here() if chosen == sys.executable else installed_of(chosen)

    said = "" if python == sys.executable else repr(python)
    return StateProbe(read, f"system.packages({said})", fields_of(python))


def _shown(value: str) -> str:
    shown = without(value, ())
    return value if shown == value else f"{shown} ({_digest(value)})"


def _digest(value: str) -> str:
    data = value.encode("utf-8", "surrogateescape")
    return "digest " + hashlib.blake2b(data, key=_KEY, digest_size=8).hexdigest()


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds")


def _command(process: psutil.Process) -> str:
    return " ".join(process.cmdline()) or process.name()
