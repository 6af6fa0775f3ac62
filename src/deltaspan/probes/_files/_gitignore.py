"""Rules of `.gitignore` files, nested and negated, as git applies them."""

from __future__ import annotations

import re
from typing import Any, Final

from deltaspan.exceptions import DefinitionError
from deltaspan.probes._files._open import open_regular, read_chunks

NAME: Final = ".gitignore"
GIT: Final = ".git"
"""The folder of git, or in a work tree its file. A tree with gitignore= never includes it."""

_BELOW_A_FOLDER: Final = "ps_d"
"""The group that has matched the `/` behind a folder."""
_TRAILING: Final = re.compile(r"(?<!\\)[ ]+\r?$|\r$")
"""White space that is not part of a pattern."""


def spec_class() -> Any:
    """Return the class that compiles the patterns.

    Raises:
        DefinitionError: pathspec is not installed.
    """
    try:
        from pathspec import GitIgnoreSpec  # noqa: PLC0415  # an optional dependency
    except ImportError:
        raise DefinitionError(
            "gitignore=True needs pathspec; install it with: pip install 'deltaspan[files]'"
        ) from None
    return GitIgnoreSpec


class GitIgnore:
    """The ignore rules in force in one folder.

    The rules of the folder's own file come first, then those of the folders above.

    Args:
        spec: the class of `spec_class()`.
        above: the rules of the folder around; None at the root.
        folder: the folder, relative to the root and with a `/` at its end; empty at the root.
        path: where its `.gitignore` lies.

    Raises:
        OSError: the file cannot be read.
    """

    __slots__ = ("_above", "_folder", "_of_files", "_of_folders")

    def __init__(self, spec_type: Any, above: GitIgnore | None, folder: str, path: str) -> None:
        with open_regular(path, follow=False) as descriptor:
            # The system decodes names with surrogates, so the patterns must be decoded alike.
            text = b"".join(read_chunks(descriptor)).decode("utf-8-sig", "surrogateescape")
        lines = [_TRAILING.sub("", line) for line in text.split("\n")]
        self._of_files = spec_type.from_lines(lines)
        # A folder is matched by its bare name: with a `/` at the end, `a/**` would match `a` itself.
        self._of_folders = spec_type.from_lines(line.removesuffix("/") for line in lines)
        self._above = above
        self._folder = folder

    def ignores(self, path: str, *, is_folder: bool) -> bool:
        """Return whether the rules ignore a path, relative to the root.

        The caller has not ignored its folder.
        """
        rules = self._of_folders if is_folder else self._of_files
        is_included = _last_word(rules, path[len(self._folder) :])
        if is_included is None and self._above is not None:
            return self._above.ignores(path, is_folder=is_folder)
        return bool(is_included)


def _last_word(rules: Any, path: str) -> bool | None:
    """Return whether the last pattern that matches a path ignores it, or None.

    None means that no pattern matches.

    A pattern of pathspec also matches whatever lies below a folder that it names, and tells so by a group of
    its expression. To git such a pattern says nothing about what is below: `!/a` brings the folder back, and
    the file `a/a` may still be ignored.
    """
    for pattern in reversed(rules.patterns):
        result = None if pattern.include is None else pattern.match_file(path)
        if result is not None and result.match.groupdict().get(_BELOW_A_FOLDER) is None:
            return bool(pattern.include)
    return None
