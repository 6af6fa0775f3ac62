"""What `.gitignore` files leave out, nested and negated, by the rules of git."""

from __future__ import annotations

import re
from typing import Any, Final

from deltaspan.exceptions import DefinitionError
from deltaspan.probes._files._open import chunks, opened

__all__ = ["GIT", "NAME", "GitIgnore", "spec_class"]

NAME: Final = ".gitignore"
GIT: Final = ".git"
"""What git keeps for itself, a folder or, in a work tree, a file; never part of a tree that honours it."""

_TRAILING: Final = re.compile(r"(?<!\\)[ ]+\r?$|\r$")
"""White space that is no part of a pattern."""


def spec_class() -> Any:
    """Return the class that understands the patterns.

    Raises:
        DefinitionError: pathspec is not installed.
    """
    try:
        from pathspec import GitIgnoreSpec  # noqa: PLC0415  # only who asks for it needs it
    except ImportError:
        raise DefinitionError(
            "gitignore=True needs pathspec; install it with: pip install 'deltaspan[files]'"
        ) from None
    return GitIgnoreSpec


class GitIgnore:
    """The rules in force in one folder: those of its own file, then those above.

    Args:
        spec: the class of `spec_class()`.
        above: the rules of the folder around; None at the root.
        folder: the folder, relative to the root and with a `/` at its end; empty at the root.
        path: where its `.gitignore` lies.

    Raises:
        OSError: the file cannot be read.
    """

    __slots__ = ("_above", "_folder", "_of_files", "_of_folders")

    def __init__(self, spec: Any, above: GitIgnore | None, folder: str, path: str) -> None:
        with opened(path, follow=False) as descriptor:
            # Names come as the system decodes them; a byte that is no text must meet its like.
            text = b"".join(chunks(descriptor)).decode("utf-8-sig", "surrogateescape")
        lines = [_TRAILING.sub("", line) for line in text.split("\n")]
        self._of_files = spec.from_lines(lines)
        # A folder is asked by its bare name: with a `/` after it, `a/**` would match `a` itself.
        self._of_folders = spec.from_lines(line.removesuffix("/") for line in lines)
        self._above = above
        self._folder = folder

    def leaves_out(self, path: str, *, is_folder: bool) -> bool:
        """Return whether a path, relative to the root, is ignored; its folder is not."""
        rules = self._of_folders if is_folder else self._of_files
        said = rules.check_file(path[len(self._folder) :]).include
        if said is None and self._above is not None:
            return self._above.leaves_out(path, is_folder=is_folder)
        return bool(said)
