"""What several git probes read: which commits a reference reaches, and where references stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from deltaspan.probes._git._command import GitError, records

__all__ = ["reached", "references", "unless_unborn"]

_COUNT: Final = "count them with `commits`, or read a range, `main..HEAD`"


def reached(repo: str, ref: str, *options: str) -> list[str]:
    """Return a line for each commit that can be reached, or one for them all."""
    command = ("rev-list", *options, "--end-of-options", ref, "--")
    return unless_unborn(repo, ref, lambda: list(records(repo, *command, end=b"\n", instead=_COUNT)))


def unless_unborn(repo: str, ref: str, read: Callable[[], list[str]]) -> list[str]:
    """Read, or return nothing where HEAD is a branch that no commit was made on yet."""
    try:
        return read()
    except GitError:
        if ref != "HEAD" or not _is_unborn(repo):
            raise
        return []


def _is_unborn(repo: str) -> bool:
    try:
        [branch] = records(repo, "symbolic-ref", "HEAD", end=b"\n")
        # A broken branch is there, and is warned of.
        return not list(records(repo, "for-each-ref", branch, end=b"\n"))
    except GitError:
        return False


def references(repo: str, remote: str | None, under: str) -> dict[str, str]:
    """Return name → commit of the references under a prefix."""
    if remote is None:
        shape = "%(refname)%00%(objectname)%00%(*objectname)"
        command = ("for-each-ref", f"--format={shape}", under)
        rows: Iterable[list[str]] = (line.split("\0") for line in records(repo, *command, end=b"\n"))
        return {name.removeprefix(under): peeled or found for name, found, peeled in rows}
    asked = ("ls-remote", "--upload-pack=git-upload-pack", "--", remote, f"{under}*")
    found = {}
    for line in records(repo, *asked, end=b"\n"):
        commit, _, name = line.partition("\t")
        # Of an annotated tag there are two lines, of which the second, `name^{}`, has the commit.
        if name.startswith(under):  # git compares the end of a name
            found[name.removeprefix(under).removesuffix("^{}")] = commit
    return found
