"""Open files that an agent may have made, without blocking on a pipe."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_CHUNK: Final = 1 << 20

# Without O_NONBLOCK, opening a pipe without a writer would block for ever.
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NOT_A_LINK: Final = getattr(os, "O_NOFOLLOW", 0)

_KINDS: Final = (
    (stat.S_ISDIR, "folder"),
    (stat.S_ISLNK, "link"),
    (stat.S_ISFIFO, "fifo"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "character device"),
    (stat.S_ISBLK, "block device"),
)


def special_kind(mode: int) -> str | None:
    """Return the name of a file kind other than regular, or None."""
    return next((name for is_kind, name in _KINDS if is_kind(mode)), None)


@contextmanager
def open_regular(path: str, *, follow: bool = True) -> Iterator[int]:
    """Open a regular file for reading, as a descriptor.

    Args:
        path: where it lies.
        follow: whether a link may lead to it.

    Raises:
        OSError: it is missing, unreadable, or not a regular file.
    """
    descriptor = os.open(path, _FLAGS if follow else _FLAGS | _NOT_A_LINK)
    try:
        kind = special_kind(os.fstat(descriptor).st_mode)
        if kind == "folder":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if kind is not None:
            raise OSError(f"{path!r} is a {kind}, not a file")
        yield descriptor
    finally:
        os.close(descriptor)


def read_chunks(descriptor: int, limit: int | None = None) -> Iterator[bytes]:
    """Yield chunks up to the end of the file, or up to `limit` bytes."""
    left = _CHUNK if limit is None else limit
    while left > 0 and (chunk := os.read(descriptor, min(left, _CHUNK))):
        yield chunk
        if limit is not None:
            left -= len(chunk)
