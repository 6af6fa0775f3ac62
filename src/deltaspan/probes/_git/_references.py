"""References of git: filled from a template, listed, and the commits that they reach."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from deltaspan._templates import Template, fill, places_of, relative_fault
from deltaspan.probes._git._command import GitError, run_git

_SYNTAX: Final = re.compile(r"^-|[\x00-\x20~^:?*\[\\\x7f]|\.\.|@\{|^@$|//|^/|/$|\.$|\.lock(?:/|$)")
"""Parts of git's revision syntax, which no name of a reference may have (git-check-ref-format)."""
_COUNT: Final = "count them with `commits`, or read a range, `main..HEAD`"


def fill_ref(template: Template, values: Mapping[str, Any]) -> str:
    """Fill the fields of a reference with names, or after `:` with paths.

    An argument is only ever a name, and never a part of git's revision syntax.

    Raises:
        ValueError: an argument is not a name, such as `main..main` or `--all`, or leads out of its folder.
    """
    for before, name, _ in places_of(template):
        text = fill(f"{{{name}}}", values)
        if ":" in before:
            fault = relative_fault(name, text)
            if fault is not None:
                raise ValueError(fault)
        elif _SYNTAX.search(text):
            raise ValueError(
                f"the field {{{name}}} is {text!r}, which is not the name of a branch, a tag or a commit; "
                f"write a range in the template, as in 'main..{{{name}}}'"
            )
    return fill(template, values)


def list_commits(repo: str, ref: str, *options: str) -> list[str]:
    """Run `git rev-list` for a reference and return its lines."""
    command = ("rev-list", *options, "--end-of-options", ref, "--")
    return read_unless_unborn(repo, ref, lambda: list(run_git(repo, *command, end=b"\n", advice=_COUNT)))


def read_unless_unborn(repo: str, ref: str, read: Callable[[], list[str]]) -> list[str]:
    """Read, or return no lines if HEAD is a branch without commits."""
    try:
        return read()
    except GitError:
        if ref != "HEAD" or not _is_unborn(repo):
            raise
        return []


def _is_unborn(repo: str) -> bool:
    try:
        [branch] = run_git(repo, "symbolic-ref", "HEAD", end=b"\n")
        # A broken branch exists: git lists it, and warns.
        return not list(run_git(repo, "for-each-ref", branch, end=b"\n"))
    except GitError:
        return False


def list_references(repo: str, remote: str | None, prefix: str) -> dict[str, str]:
    """Return name → commit of the references below a prefix."""
    if remote is None:
        shape = "%(refname)%00%(objectname)%00%(*objectname)"
        command = ("for-each-ref", f"--format={shape}", prefix)
        rows: Iterable[list[str]] = (line.split("\0") for line in run_git(repo, *command, end=b"\n"))
        return {name.removeprefix(prefix): peeled or target for name, target, peeled in rows}
    ls_remote = ("ls-remote", "--upload-pack=git-upload-pack", "--", remote, f"{prefix}*")
    commits = {}
    for line in run_git(repo, *ls_remote, end=b"\n"):
        commit, _, name = line.partition("\t")
        # An annotated tag has two lines. The second one, `name^{}`, has the commit.
        if name.startswith(prefix):  # git itself compares only the end of a name
            commits[name.removeprefix(prefix).removesuffix("^{}")] = commit
    return commits
