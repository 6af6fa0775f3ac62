"""Run git to read, with a configuration and environment of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from threading import Timer
from typing import IO, Final

MAX_RECORDS: Final = 1_000_000
"""The most records of one command. A larger state could not be frozen."""
_TIMEOUT_SECONDS: Final = 300.0
"""The time limit of a command, since a remote may never answer."""
_CHUNK: Final = 1 << 20
_PREFIX: Final = ("rev-parse", "--show-prefix")
"""Prints the path of a folder below the top of its working tree."""

_CONFIG: Final = {
    "core.fsmonitor": "false",  # otherwise the repository chooses a program that runs at each status
    "core.hooksPath": os.devnull,
    "core.excludesFile": os.devnull,  # ignored files must not depend on the user
    "core.untrackedCache": "false",
    "core.trustctime": "true",  # otherwise a file is skipped if its time was set back after a write
    "core.checkStat": "default",  # for the same reason
    "diff.renames": "true",
    "status.renames": "true",
    "diff.renameLimit": "1000",
    "status.renameLimit": "1000",
    "protocol.ext.allow": "never",  # a remote may be a command
    "advice.graftFileDeprecated": "false",  # otherwise git warns of grafts even if their file is /dev/null
    "gc.auto": "0",
    "maintenance.auto": "false",
}
"""Settings that override the configuration of the repository, the user and the system."""

_ENVIRON: Final = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",  # otherwise `git replace` and grafts show another history
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
}
_KEPT_VARIABLES: Final = (
    "GIT_ASKPASS", "GIT_EXEC_PATH", "GIT_SSH", "GIT_SSL_", "GIT_HTTP_", "GIT_PROXY_",
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_",
    "GIT_CONFIG_VALUE_",
)  # fmt: skip
"""Variables that are passed on: they locate the configuration, and say how to reach a remote. Others are not:
a hook of git has GIT_DIR and GIT_INDEX_FILE, with which git would read another repository."""


class GitError(Exception):
    """A git command failed."""


def run_git(repo: str, *arguments: str, end: bytes = b"\0", advice: str = "") -> Iterator[str]:
    """Run a command and yield its output, one record at a time.

    Args:
        repo: the top folder of a working tree, or a bare repository. Folders above it are not searched.
        arguments: the command, with its options and operands.
        end: the end of each record.
        advice: the advice of the error if there are more than `MAX_RECORDS` records.

    Raises:
        GitError: git is not installed, fails, warns, or does not end in time.
    """
    if arguments != _PREFIX:
        _check_not_inside(repo)
    rest, count = b"", 0
    with tempfile.TemporaryFile() as stderr, _start(repo, arguments, stderr) as process:
        timer = Timer(_TIMEOUT_SECONDS, _stop, [process])
        timer.start()
        try:
            assert process.stdout is not None  # noqa: S101  # it is a pipe
            while chunk := process.stdout.read(_CHUNK):
                *pieces, rest = (rest + chunk).split(end)
                count += len(pieces)
                if count > MAX_RECORDS:
                    raise GitError(f"there are more than {MAX_RECORDS} entries: {advice}")
                yield from (piece.decode("utf-8", "surrogateescape") for piece in pieces)
            status = process.wait()
        finally:
            timer.cancel()
            _stop(process)
        stderr.seek(0)
        words = " ".join(stderr.read().decode("utf-8", "replace").split())
    if status == -signal.SIGKILL:
        raise GitError(
            f"git did not end within {_TIMEOUT_SECONDS:g} seconds and was stopped {words}".rstrip()
        )
    # git only warns of references that it leaves out, such as broken ones. ssh may print more for a remote.
    if status or (words and arguments[0] != "ls-remote"):
        raise GitError(words or f"git ended with status {status}")
    if rest:
        raise GitError(f"the output of git ends within a record: {rest[-80:]!r}")


def _check_not_inside(repo: str) -> None:
    """Raise if the folder only lies inside a repository.

    A ceiling cannot be set if its path contains the separator of the list.
    """
    if os.pathsep in _ceiling(repo) and any(run_git(repo, *_PREFIX, end=b"\n")):
        raise GitError("not a git repository, but a folder in one; name its top folder")


def _ceiling(repo: str) -> str:
    return os.path.dirname(os.path.realpath(repo))  # noqa: PTH120  # a Path would normalize it


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # together with an ssh that it may have started


def _start(repo: str, arguments: tuple[str, ...], stderr: IO[bytes]) -> subprocess.Popen[bytes]:
    if not repo:
        raise GitError("the path of the repository is empty; name its top folder")
    settings = [part for name, value in _CONFIG.items() for part in ("-c", f"{name}={value}")]
    environ = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(_KEPT_VARIABLES) or not name.startswith(("GIT_", "SSH_ASKPASS"))
    }
    try:
        return subprocess.Popen(  # noqa: S603  # git, with names that cannot be options
            ["git", "--no-pager", "-C", repo, *settings, *arguments],  # noqa: S607  # the user's git
            env={**environ, **_ENVIRON, "GIT_CEILING_DIRECTORIES": _ceiling(repo)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,  # without a terminal, no program can ask for a password
        )
    except FileNotFoundError:
        raise GitError("git is not installed, or not on the PATH: install it") from None
