"""Stamps on commits: the trailers `Causal-Tag` and `Causal-Root`.

Git itself writes and parses them. Trailers are part of the commit message, so they survive clone, fetch,
cherry-pick and rebase. An amended or squashed commit may have several. The last one was written last.
"""

from __future__ import annotations

import os
import re
import subprocess
from typing import Final

from deltaspan.causal_tag import (
    TRAILER_OF_ROOT,
    TRAILER_OF_TAG,
    current_causal_root,
    current_causal_tag,
    is_tag,
)

__all__ = ["HOOK", "ROOT", "TAG", "causal_tag_of", "trailer_arguments"]

TAG: Final = TRAILER_OF_TAG
"""The trailer that holds the tag."""
ROOT: Final = TRAILER_OF_ROOT
"""The trailer that holds the root."""

_UUID: Final = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
HOOK: Final = f"""\
#!/bin/sh
# Stamps a commit with the causal tag in the environment (deltaspan.causal_environ()), if there is one.
found() {{
    printf '%s' "$BAGGAGE" | tr ',' '\\n' | sed -nE "s/^ *$1=({_UUID}) *(;.*)?\\$/\\1/p" | tail -n 1
}}
tag=$(found 'deltaspan\\.causal_tag\\.id')
[ -n "$tag" ] || exit 0
root=$(found 'deltaspan\\.causal_tag\\.root_id')
# Whatever the configuration says of trailers: ours are written, last, and as they are everywhere else.
separators=$(git config trailer.separators)
configured=$separators$(git config --get-regexp '^trailer\\.[Cc]ausal-([Tt]ag|[Rr]oot)\\.key$')
git -c trailer.separators="$separators:" \\
    ${{configured:+-c "trailer.{TAG}.key={TAG}: " -c "trailer.{ROOT}.key={ROOT}: "}} \\
    interpret-trailers --in-place --no-divider \\
    --where end --if-exists addIfDifferentNeighbor --if-missing add \\
    --trailer "{TAG}=$tag" ${{root:+--trailer "{ROOT}=$root"}} "$1"
"""
"""A `prepare-commit-msg` hook, for commits by a program without access to deltaspan, such as a shell."""

_STAMP: Final = re.compile(rf"{TAG}: (\S+)", re.IGNORECASE)


def trailer_arguments() -> list[str]:
    """Return arguments for `git commit` that stamp it. Empty outside any action.

    Git 2.32 or newer is required. Git's configuration applies to these trailers, so that
    `trailer.ifMissing=doNothing` leaves them out. `HOOK` is independent of it.

    Example:
        >>> import subprocess
        >>> def commit(message):
        ...     subprocess.run(["git", "commit", "-m", message, *trailer_arguments()], check=True)
        >>> trailer_arguments()
        []
    """
    trailers = ((TAG, current_causal_tag()), (ROOT, current_causal_root()))
    return [
        argument
        for name, value in trailers
        if value is not None
        for argument in ("--trailer", f"{name}={value}")  # accepted with any trailer.separators
    ]


def causal_tag_of(commit: str = "HEAD", repository: str | os.PathLike[str] = ".") -> str | None:
    """Return the causal tag of the action that made a commit.

    Trailers at the end of the message count. If none of them is a tag, those before the first line `---`
    count, where older versions of `git commit --trailer` write them. Anyone who can write the message can
    write any tag.

    Args:
        commit: a revision that git understands.
        repository: a path in the repository.

    Returns:
        The last trailer that is the canonical text of a UUID, or None.

    Raises:
        subprocess.CalledProcessError: the commit or the repository does not exist.
    """
    # The raw commit is read, because the configuration changes the encoding and format of `git log`.
    message = _git(repository, "cat-file", "commit", "--end-of-options", commit).partition(b"\n\n")[2]
    parse = (*_parsing_options(repository), "interpret-trailers", "--parse")
    return next(
        (
            tag
            for arguments in ((*parse, "--no-divider"), parse)
            for tag in _tags_in(_git(repository, *arguments, given=message))
        ),
        None,
    )


def _tags_in(trailers: bytes) -> list[str]:
    """Return the valid tags, last one first."""
    lines = trailers.decode("ascii", "replace").splitlines()
    tags = [match[1] for line in lines if (match := _STAMP.fullmatch(line))]
    return [tag for tag in reversed(tags) if is_tag(tag)]


def _parsing_options(repository: str | os.PathLike[str]) -> list[str]:
    """Return options that make git parse these trailers despite its configuration."""
    listed = os.fsdecode(_git(repository, "config", "--null", "--list"))
    configured = dict(each.partition("\n")[::2] for each in listed.split("\0"))
    settings = {"core.commentChar": "#", "trailer.separators": f":{configured.get('trailer.separators', '')}"}
    if any(name.lower() == f"trailer.{TAG}.key".lower() for name in configured):
        settings[f"trailer.{TAG}.key"] = TAG  # only then: a configured name turns prose into a trailer
    return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]


def _git(repository: str | os.PathLike[str], *arguments: str, given: bytes = b"") -> bytes:
    command = ["git", "-C", os.fspath(repository), *arguments]
    return subprocess.run(  # noqa: S603  # git, with a name that cannot be an option
        command, check=True, capture_output=True, input=given
    ).stdout
