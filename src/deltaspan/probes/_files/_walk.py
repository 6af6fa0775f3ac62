"""Walk a tree: yield each selected file once, and follow no link."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple

from deltaspan.probes._files._gitignore import GIT, NAME, GitIgnore
from deltaspan.probes._files._open import open_regular, read_chunks, special_kind
from deltaspan.probes._files._patterns import Patterns, Progress

_NONE: Progress = frozenset()


class _Folder(NamedTuple):
    """A folder that is still to be read.

    Attributes:
        path: where it lies.
        raw: its path relative to the root, with a final `/`, as the system decodes it; empty for the root.
        shown: the same path in the form of the state.
        wanted: the progress of the patterns of files to read.
        unwanted: the progress of the patterns of files to leave out.
        rules: the rules of `.gitignore` files in force; None for none.
    """

    path: str
    raw: str
    shown: str
    wanted: Progress
    unwanted: Progress
    rules: GitIgnore | None


class TreeWalk:
    """Selects the files of a tree by patterns and `.gitignore` rules.

    Args:
        wanted: patterns of files to read; None for all files.
        unwanted: patterns of files and folders to leave out; None for none.
        git: the class that compiles `.gitignore` patterns; None to ignore no files.
    """

    def __init__(self, wanted: Patterns | None, unwanted: Patterns | None, git: Any) -> None:
        self._wanted = wanted
        self._unwanted = unwanted
        self._git = git

    def files(self, root: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
        """Yield the relative POSIX path and the entry of each file, unordered.

        A link is an entry of its own, wherever it leads, and so is a pipe, a socket or a device.

        Raises:
            OSError: the root, or a folder in it, cannot be listed. One that has vanished has no files.
        """
        wanted, unwanted = self._wanted, self._unwanted
        start = _Folder(
            root, "", "", wanted.start if wanted else _NONE, unwanted.start if unwanted else _NONE, None
        )
        below: list[_Folder] = []
        yield from self._read(start, below)
        while below:
            folder = below.pop()
            with suppress(FileNotFoundError):  # it has vanished since it was listed, and its files with it
                yield from self._read(folder, below)

    def _read(self, folder: _Folder, below: list[_Folder]) -> Iterator[tuple[str, os.DirEntry[str]]]:
        takes = self._wanted.file_matcher(folder.wanted) if self._wanted else None
        leaves = self._unwanted.file_matcher(folder.unwanted) if self._unwanted else None
        prefix = folder.shown
        with os.scandir(folder.path) as listed:
            # Checked while the folder is open: a link that has replaced it would lead outside.
            if folder.raw and os.path.islink(folder.path):  # noqa: PTH114  # a Path would cost more
                raise NotADirectoryError(
                    errno.ENOTDIR, "it has become a link since it was listed", folder.path
                )
            entries: Iterable[os.DirEntry[str]] = listed
            if self._git is not None:
                folder, entries = self._with_rules(folder, list(listed))
            for entry in entries:
                name = entry.name
                shown = name if name.isascii() and "\\" not in name else printable(name)
                is_folder = entry.is_dir(follow_symlinks=False)
                if self._git is not None and _is_ignored(folder, name, is_folder=is_folder):
                    continue
                if is_folder:
                    self._add(folder, entry, shown, below)
                elif not (leaves and leaves(shown)) and (takes is None or takes(shown)):
                    yield prefix + shown, entry

    def _add(self, folder: _Folder, entry: os.DirEntry[str], shown: str, below: list[_Folder]) -> None:
        """Queue a folder, unless no file below it can be selected."""
        wanted = unwanted = _NONE
        if self._wanted is not None:
            wanted = self._wanted.advance(folder.wanted, shown)
            if not self._wanted.can_match_below(wanted):
                return
        if self._unwanted is not None:
            unwanted = self._unwanted.advance(folder.unwanted, shown)
            if self._unwanted.is_match(unwanted):
                return
        raw = f"{folder.raw}{entry.name}/"
        below.append(_Folder(entry.path, raw, f"{folder.shown}{shown}/", wanted, unwanted, folder.rules))

    def _with_rules(
        self, folder: _Folder, entries: list[os.DirEntry[str]]
    ) -> tuple[_Folder, list[os.DirEntry[str]]]:
        for entry in entries:
            # As in git, a link of that name is not followed, since it could lead out of the tree.
            if entry.name == NAME and entry.is_file(follow_symlinks=False):
                with suppress(FileNotFoundError):  # it has vanished since it was listed
                    rules = GitIgnore(self._git, folder.rules, folder.raw, entry.path)
                    return folder._replace(rules=rules), entries
        return folder, entries


def _is_ignored(folder: _Folder, name: str, *, is_folder: bool) -> bool:
    """Return whether git ignores a name in a folder."""
    if name == GIT:
        return True
    return folder.rules is not None and folder.rules.ignores(folder.raw + name, is_folder=is_folder)


def printable(name: str) -> str:
    r"""Return a unique printable form of a file name.

    A byte that is not UTF-8 becomes `\xNN`; so that no other name reads the same, a backslash is doubled.
    """
    return os.fsencode(name.replace("\\", "\\\\")).decode("utf-8", "backslashreplace")


def size_and_digest(entry: os.DirEntry[str]) -> tuple[int, str]:
    """Return the size of a file and the SHA-256 of its content.

    A pipe, socket or device is not opened.

    Raises:
        OSError: it cannot be read, or has become something else since it was listed.
    """
    if entry.is_symlink():
        target = os.readlink(entry.path)  # noqa: PTH115  # a Path would normalize the target
        return len(os.fsencode(target)), f"link to {printable(target)}"
    kind = (
        None
        if entry.is_file(follow_symlinks=False)
        else special_kind(entry.stat(follow_symlinks=False).st_mode)
    )
    if kind is not None:
        return 0, kind
    digest, size = sha256(), 0
    with open_regular(entry.path, follow=False) as descriptor:
        for chunk in read_chunks(descriptor):
            digest.update(chunk)
            size += len(chunk)
    return size, digest.hexdigest()
