"""What `.gitignore` files leave out, nested and negated, by the rules of git."""

from __future__ import annotations

from typing import Any, Final

from deltaspan.exceptions import DefinitionError
from deltaspan.probes._files_open import chunks, opened

__all__ = ["GIT", "NAME", "GitIgnore", "spec_class"]

NAME: Final = ".gitignore"
GIT: Final = ".git"
"""What git keeps for itself, a folder or, in a work tree, a file; never part of a tree that honours it."""


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

    __slots__ = ("_above", "_folder", "_rules")

    def __init__(self, spec: Any, above: GitIgnore | None, folder: str, path: str) -> None:
        # Names come as the system decodes them; a byte that is no text must meet its like.
        with opened(path, follow=False) as descriptor:
            text = b"".join(chunks(descriptor)).decode("utf-8-sig", "surrogateescape")
        self._rules = spec.from_lines(line.removesuffix("\r") for line in text.split("\n"))
        self._above = above
        self._folder = folder

    def leaves_out(self, path: str, *, is_folder: bool) -> bool:
        """Return whether a path, relative to the root, is ignored; its folder is not."""
        below = path[len(self._folder) :]
        said = self._rules.check_file(f"{below}/" if is_folder else below).include
        if said is None and self._above is not None:
            return self._above.leaves_out(path, is_folder=is_folder)
        return bool(said)
