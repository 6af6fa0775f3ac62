"""Read the bytes appended to a log since a run's first read."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import Final, NamedTuple

from deltaspan._concurrency import keep_newest
from deltaspan.causal_tag import current_causal_tag
from deltaspan.exceptions import ProbeError
from deltaspan.probes._files._open import open_regular, read_chunks

MAX_RUNS: Final = 1 << 15
"""The most runs whose baselines are kept. They take some 10 MB."""

_LOOK_BACK: Final = 1 << 16
"""Bytes before the end that are read to find the start of the last line, and to recognize a rotation."""


class _LogEnd(NamedTuple):
    """The end of a log at a run's first read.

    Attributes:
        file: device and inode; None when there was no file.
        start: the offset at which the last line begins, if it has no line end yet; else that of the end.
        end: the offset of the end.
        seen: a digest of the bytes before the end.
    """

    file: tuple[int, int] | None
    start: int
    end: int
    digest: bytes


_NO_FILE: Final = _LogEnd(None, 0, 0, sha256().digest())


class LogReader:
    """Reads a log for any number of runs and threads at once.

    It remembers for each run where the log ended at its first read.

    Args:
        call: the call that made the probe, for errors.
        limit: the most bytes of lines to read.
        missing_ok: whether a log that is missing is an empty one.
    """

    def __init__(self, call: str, limit: int, *, missing_ok: bool) -> None:
        self._call = call
        self._limit = limit
        self._missing_ok = missing_ok
        self._ends: dict[tuple[str | None, str], _LogEnd] = {}

    def read(self, path: str) -> tuple[range | str, ...]:
        """Return the range of the old bytes, then each line appended since."""
        run = (current_causal_tag(), path)
        baseline = self._ends.get(run)
        try:
            with open_regular(path) as descriptor:
                if baseline is None:
                    baseline = self._remember(run, self._end_of(descriptor))
                else:
                    self._check_same_log(descriptor, baseline)
                content = self._read_after(descriptor, baseline.start)
        except FileNotFoundError:
            if not self._missing_ok or (baseline is not None and baseline.file is not None):
                raise
            baseline, content = self._remember(run, _NO_FILE), b""
        return (range(baseline.start), *_split_lines(content))

    def _remember(self, run: tuple[str | None, str], end: _LogEnd) -> _LogEnd:
        end = self._ends.setdefault(run, end)
        keep_newest(self._ends, MAX_RUNS)
        return end

    def _end_of(self, descriptor: int) -> _LogEnd:
        status = os.fstat(descriptor)
        first = max(0, status.st_size - _LOOK_BACK)
        last = _read_range(descriptor, first, status.st_size)
        newline = last.rfind(b"\n")
        if newline < 0 and first > 0:
            raise ProbeError(
                f"{self._call} found no line end in the last {_LOOK_BACK} bytes, so the file is not a "
                f"log of lines; read it with text() or tree()"
            )
        return _LogEnd(
            (status.st_dev, status.st_ino), first + newline + 1, first + len(last), sha256(last).digest()
        )

    def _check_same_log(self, descriptor: int, baseline: _LogEnd) -> None:
        """Raise if the log is not the file of the baseline any more.

        What was appended to that file before it was replaced cannot be read here.
        """
        if baseline.file is None:
            return
        status = os.fstat(descriptor)
        if (status.st_dev, status.st_ino) != baseline.file:
            change = "has another file in its place"
        elif status.st_size < baseline.end:
            change = "has become shorter"
        elif (
            sha256(_read_range(descriptor, max(0, baseline.end - _LOOK_BACK), baseline.end)).digest()
            != baseline.digest
        ):
            change = "has been rewritten"
        else:
            return
        raise ProbeError(
            f"{self._call} cannot tell what was appended: the log {change} since the baseline, as by a "
            f"rotation; read a log that is not rotated while the action runs"
        )

    def _read_after(self, descriptor: int, start: int) -> bytes:
        content = _read_range(descriptor, start, start + self._limit + 1)
        if len(content) > self._limit:
            raise ProbeError(
                f"{self._call} found more than {self._limit} bytes appended: raise limit=, or read only "
                f"its size and time, with tree() of its folder"
            )
        return content


def _read_range(descriptor: int, start: int, end: int) -> bytes:
    os.lseek(descriptor, start, os.SEEK_SET)
    return b"".join(read_chunks(descriptor, end - start))


def _split_lines(content: bytes) -> list[str]:
    lines = content.split(b"\n")
    if not lines[-1]:
        lines.pop()  # the text after the last line end is not a line yet
    return [line.removesuffix(b"\r").decode("utf-8", "backslashreplace") for line in lines]
