"""What was appended to a log, read from where each run found its end."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import Final, NamedTuple

from deltaspan._concurrency import keep_newest
from deltaspan.causal_tag import current_causal_tag
from deltaspan.exceptions import ProbeError
from deltaspan.probes._files._open import chunks, opened

__all__ = ["MAX_RUNS", "Log"]

MAX_RUNS: Final = 1 << 15
"""Of how many runs the probe remembers where they began; it takes some 10 MB."""

_LOOK_BACK: Final = 1 << 16
"""How many bytes before the end are looked at, for the last line's beginning and for what a rotation left."""


class _End(NamedTuple):
    """Where a run found the end of the log.

    Attributes:
        file: device and inode; None when there was no file.
        start: the offset at which the last line begins, if it has no line end yet; else that of the end.
        end: the offset of the end.
        seen: a digest of the bytes before the end.
    """

    file: tuple[int, int] | None
    start: int
    end: int
    seen: bytes


_NO_FILE: Final = _End(None, 0, 0, sha256().digest())


class Log:
    """A log, and where each run that reads it began; any number of runs and threads may at once.

    Args:
        words: the call that made the probe, for errors.
        limit: the most bytes of lines to read.
        missing_ok: whether a log that is missing is an empty one.
    """

    def __init__(self, words: str, limit: int, *, missing_ok: bool) -> None:
        self._words = words
        self._limit = limit
        self._missing_ok = missing_ok
        self._ends: dict[tuple[str | None, str], _End] = {}

    def read(self, path: str) -> tuple[range | str, ...]:
        """Return what is appended since the run that reads read first, after the range of bytes before it."""
        run = (current_causal_tag(), path)
        began = self._ends.get(run)
        try:
            with opened(path) as descriptor:
                if began is None:
                    began = self._remembered(run, self._end_of(descriptor))
                else:
                    self._refuse_another(descriptor, began)
                content = self._after(descriptor, began.start)
        except FileNotFoundError:
            if not self._missing_ok or (began is not None and began.file is not None):
                raise
            began, content = self._remembered(run, _NO_FILE), b""
        return (range(began.start), *_lines(content))

    def _remembered(self, run: tuple[str | None, str], end: _End) -> _End:
        end = self._ends.setdefault(run, end)
        keep_newest(self._ends, MAX_RUNS)
        return end

    def _end_of(self, descriptor: int) -> _End:
        found = os.fstat(descriptor)
        first = max(0, found.st_size - _LOOK_BACK)
        last = _between(descriptor, first, found.st_size)
        newline = last.rfind(b"\n")
        if newline < 0 and first > 0:
            raise ProbeError(
                f"{self._words} found no line end in the last {_LOOK_BACK} bytes: this is no log of lines"
            )
        return _End(
            (found.st_dev, found.st_ino), first + newline + 1, first + len(last), sha256(last).digest()
        )

    def _refuse_another(self, descriptor: int, began: _End) -> None:
        """Refuse a log that does not begin with what was there: what came after that is elsewhere."""
        if began.file is None:
            return
        found = os.fstat(descriptor)
        if (found.st_dev, found.st_ino) != began.file:
            what = "has another file in its place"
        elif found.st_size < began.end:
            what = "has become shorter"
        elif sha256(_between(descriptor, max(0, began.end - _LOOK_BACK), began.end)).digest() != began.seen:
            what = "has been rewritten"
        else:
            return
        raise ProbeError(
            f"{self._words} cannot tell what was appended: the log {what} since the baseline, as by a "
            f"rotation; read a log that is not rotated while the action runs"
        )

    def _after(self, descriptor: int, start: int) -> bytes:
        content = _between(descriptor, start, start + self._limit + 1)
        if len(content) > self._limit:
            raise ProbeError(
                f"{self._words} found more than {self._limit} bytes appended: raise limit=, or read no more "
                f"than its size and time, with tree() of its folder"
            )
        return content


def _between(descriptor: int, start: int, end: int) -> bytes:
    os.lseek(descriptor, start, os.SEEK_SET)
    return b"".join(chunks(descriptor, end - start))


def _lines(content: bytes) -> list[str]:
    lines = content.split(b"\n")
    if not lines[-1]:
        lines.pop()  # what follows the last line end is no line yet
    return [line.removesuffix(b"\r").decode("utf-8", "backslashreplace") for line in lines]
