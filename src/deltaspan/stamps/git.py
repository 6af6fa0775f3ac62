"""Stamps on commits: the trailers `Causal-Tag` and `Causal-Root`, written by git itself and read by it.

Trailers are part of the commit message, so they survive clone, fetch, cherry-pick and rebase; an amended or
squashed commit may carry several, of which the last one was written last.
"""

from __future__ import annotations

import os
import subprocess
from typing import Final

from deltaspan._tags import TRAILER_OF_ROOT, TRAILER_OF_TAG
from deltaspan.causal_tag import current_causal_root, current_causal_tag, is_tag

__all__ = ["HOOK", "ROOT", "TAG", "causal_tag_of", "trailer_arguments"]

TAG: Final = TRAILER_OF_TAG
"""The trailer that holds the tag."""
ROOT: Final = TRAILER_OF_ROOT
"""The trailer that holds the root."""

_UUID: Final = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
HOOK: Final = f"""\
#!/bin/sh
# Stamps a commit with the causal tag in the environment (deltaspan.causal_environ()), if there is one.
stamp() {{
    value=$(printf '%s' "$BAGGAGE" | tr ',' '\\n' | sed -nE "s/^ *$2=({_UUID}) *\\$/\\1/p")
    [ -z "$value" ] || git interpret-trailers --in-place --trailer "$1: $value" "$3"
}}
stamp {TAG} 'delta\\.causal_tag\\.id' "$1" && stamp {ROOT} 'delta\\.causal_tag\\.root_id' "$1"
"""
"""A `prepare-commit-msg` hook, for commits by a program that knows nothing of tags, such as a shell."""


def trailer_arguments() -> list[str]:
    """Return the arguments of `git commit` that stamp it; empty outside any action. Git 2.32 or newer.

    Example:
        >>> import subprocess
        >>> def commit(message):
        ...     subprocess.run(["git", "commit", "-m", message, *trailer_arguments()], check=True)
        >>> trailer_arguments()
        []
    """
    found = ((TAG, current_causal_tag()), (ROOT, current_causal_root()))
    return [
        argument
        for name, value in found
        if value is not None
        for argument in ("--trailer", f"{name}: {value}")
    ]


def causal_tag_of(commit: str = "HEAD", repository: str | os.PathLike[str] = ".") -> str | None:
    """Return the causal tag of the action that made a commit.

    Args:
        commit: names it in any way that git understands.
        repository: a path in the repository.

    Returns:
        The last trailer that holds the canonical text of a UUID; None when there is none.

    Raises:
        subprocess.CalledProcessError: there is no such commit or repository.
    """
    command = ["git", "-C", os.fspath(repository), "log", "-1", f"--format=%(trailers:key={TAG},valueonly)"]
    shown = subprocess.run(  # noqa: S603  # git, with a name that cannot be an option
        [*command, "--end-of-options", commit, "--"], check=True, capture_output=True, text=True
    ).stdout
    return next(filter(is_tag, reversed(shown.split())), None)
