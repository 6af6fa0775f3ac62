"""Running git to read, whatever a configuration or the environment would have it do besides."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from threading import Timer
from typing import IO, Final

__all__ = ["LIMIT", "GitError", "records"]

LIMIT: Final = 1_000_000
"""How many records are read of one command; a state of more could not be frozen."""
_PATIENCE: Final = 300.0
"""Seconds that git may take; a remote may never answer."""
_CHUNK: Final = 1 << 20
_PREFIX: Final = ("rev-parse", "--show-prefix")
"""Asks how far below the top of its working tree a folder is."""

_CONFIG: Final = {
    "core.fsmonitor": "false",  # else a program of the repository's choice runs at each status
    "core.hooksPath": os.devnull,
    "core.excludesFile": os.devnull,  # what to ignore is for the repository to say, not for each user
    "core.untrackedCache": "false",
    "core.trustctime": "true",  # else what is written, and its time set back, is not looked at
    "core.checkStat": "default",  # likewise
    "diff.renames": "true",
    "status.renames": "true",
    "diff.renameLimit": "1000",
    "status.renameLimit": "1000",
    "protocol.ext.allow": "never",  # a remote may be a command
    "advice.graftFileDeprecated": "false",  # it speaks of grafts whenever their file is named, even as none
    "gc.auto": "0",
    "maintenance.auto": "false",
}
"""What is so whatever the repository's, the user's and the system's configuration says."""

_ENVIRON: Final = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",  # else `git replace` and grafts would tell another history
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
}
_KEPT: Final = (
    "GIT_ASKPASS", "GIT_EXEC_PATH", "GIT_SSH", "GIT_SSL_", "GIT_HTTP_", "GIT_PROXY_",
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_",
    "GIT_CONFIG_VALUE_",
)  # fmt: skip
"""What the environment may say: where configuration is, and how to reach a remote. No more, for a hook of git
has GIT_DIR and GIT_INDEX_FILE there, which would have us read another repository."""


class GitError(Exception):
    """What git said, when it could not."""


def records(repo: str, *arguments: str, end: bytes = b"\0", instead: str = "") -> Iterator[str]:
    """Run a command and return what it prints, piece by piece.

    Args:
        repo: the top folder of a working tree, or a bare repository; none above it is looked for.
        arguments: the command, with its options and the names that it takes.
        end: what ends each piece.
        instead: what to do where there are more than `LIMIT` pieces.

    Raises:
        GitError: git is not installed, fails, warns, or does not end.
    """
    if arguments != _PREFIX:
        _refuse_one_above(repo)
    rest, seen = b"", 0
    with tempfile.TemporaryFile() as said, _started(repo, arguments, said) as process:
        timer = Timer(_PATIENCE, _stop, [process])
        timer.start()
        try:
            assert process.stdout is not None  # noqa: S101  # it is a pipe
            while chunk := process.stdout.read(_CHUNK):
                *pieces, rest = (rest + chunk).split(end)
                seen += len(pieces)
                if seen > LIMIT:
                    raise GitError(f"there are more than {LIMIT} entries: {instead}")
                yield from (piece.decode("utf-8", "surrogateescape") for piece in pieces)
            status = process.wait()
        finally:
            timer.cancel()
            _stop(process)
        said.seek(0)
        words = " ".join(said.read().decode("utf-8", "replace").split())
    if status == -signal.SIGKILL:
        raise GitError(f"git was stopped (it may take {_PATIENCE:g} seconds) {words}".rstrip())
    # Of what it leaves out, such as a broken reference, git only warns. With a remote, ssh has its say too.
    if status or (words and arguments[0] != "ls-remote"):
        raise GitError(words or f"git ended with status {status}")
    if rest:
        raise GitError(f"git's answer breaks off at {rest[-80:]!r}")


def _refuse_one_above(repo: str) -> None:
    """Refuse a folder of a repository above where no ceiling keeps git from finding that."""
    if os.pathsep in _ceiling(repo) and any(records(repo, *_PREFIX, end=b"\n")):
        raise GitError("not a git repository, but a folder in one")


def _ceiling(repo: str) -> str:
    return os.path.dirname(os.path.realpath(repo))  # noqa: PTH120  # a Path would not keep it as it is


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # with the ssh that it may have started


def _started(repo: str, arguments: tuple[str, ...], said: IO[bytes]) -> subprocess.Popen[bytes]:
    if not repo:
        raise GitError("the path of the repository is empty")
    settings = [part for name, value in _CONFIG.items() for part in ("-c", f"{name}={value}")]
    environ = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(_KEPT) or not name.startswith(("GIT_", "SSH_ASKPASS"))
    }
    try:
        return subprocess.Popen(  # noqa: S603  # git, with names that cannot be options
            ["git", "--no-pager", "-C", repo, *settings, *arguments],  # noqa: S607  # the user's git
            env={**environ, **_ENVIRON, "GIT_CEILING_DIRECTORIES": _ceiling(repo)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            start_new_session=True,  # without a terminal nothing can ask for a password
        )
    except FileNotFoundError:
        raise GitError("git is not installed, or not on the PATH: install it") from None
