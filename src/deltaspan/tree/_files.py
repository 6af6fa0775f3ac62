"""Spans from files of OTLP/JSON: one export a line, as SDKs and the collector's file exporter write them."""

from __future__ import annotations

import glob
import json
import os
import sys
from collections.abc import Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, Final

from deltaspan.exceptions import SourceError
from deltaspan.tree._model import Span
from deltaspan.tree._otlp import Reading, holds_spans, signals_in, spans_in

__all__ = ["read_files"]

_STDIN: Final = "-"
_STANDARD_INPUT: Final = Path("standard input")
"""Stands for it where others are files; what is read is never opened by this name."""
_NOT_JSON: Final = object()
_MARK: Final = "\ufeff"
"""A byte order mark, which stands inside a file that was put together from several."""


def read_files(*paths: str | os.PathLike[str]) -> Reading:
    """Read the spans in files of OTLP/JSON.

    Lines that are no such thing, as the last one of a process that was killed, are left out and complained
    of. Metrics and logs may stand between them; a file that holds nothing else, or nothing at all, is
    complained of where others hold spans. Text is UTF-8, or what its first bytes say, such as UTF-16.

    Args:
        *paths: files, or patterns like `traces/*.jsonl`; `-` is standard input.

    Raises:
        SourceError: a file is missing, cannot be read, or holds something and none of it could be understood;
            or no file holds spans.

    Example:
        >>> import json, tempfile
        >>> from deltaspan.tree import read_files
        >>> span = {"traceId": "1" * 32, "spanId": "2" * 16, "name": "load"}
        >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        ...     json.dump({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}, file)
        ...     file.flush()
        ...     [read] = read_files(file.name).spans
        >>> read.name
        'load'
    """
    spans: list[Span] = []
    complaints: list[str] = []
    files = list(dict.fromkeys(each for given in paths for each in _matching(given)))
    without = [told for path in files if (told := _read(path, spans, complaints)) is not None]
    if files and len(without) == len(files):
        raise SourceError(f"{without[0]}: name a file that a span exporter wrote, one export a line")
    return Reading(tuple(spans), (*complaints, *without))


def _matching(given: str | os.PathLike[str]) -> list[Path]:
    path = Path(given)
    if given == _STDIN:
        return [_STANDARD_INPUT]
    if path.exists() or not glob.has_magic(str(given)):
        return [path]
    found = sorted(glob.glob(str(given), recursive=True))  # noqa: PTH207  # patterns are of the shell's kind
    if not found:
        raise SourceError(f"no file matches {given}")
    return [Path(each) for each in found]


def _read(path: Path, spans: list[Span], complaints: list[str]) -> str | None:
    """Add what a file holds; return what there is to say of one that holds no export of spans."""
    understood, others, strange, unreadable = False, set[str](), False, 0
    for number, document in _documents(path):
        if holds_spans(document):
            understood = True
            read = list(spans_in(document))
            spans += [span for span in read if span is not None]
            unreadable += read.count(None)
        elif signals := signals_in(document):
            others.update(signals)
        else:
            strange = True
            what = "not JSON" if document is _NOT_JSON else "JSON, but no OTLP"
            complaints.append(f"{path}, line {number}: {what}; left out")
    if unreadable:
        complaints.append(f"{path}: spans without valid ids, left out: {unreadable}")
    if understood:
        return None
    if others:
        return f"{path} holds {' and '.join(sorted(others))}, but no spans"
    if strange:
        raise SourceError(
            f"{path} is no OTLP/JSON: name a file that a span exporter wrote, one export a line"
        )
    return f"{path} is empty"


def _documents(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield each line's document and number; a file that is one document over many lines is the first."""
    try:
        with _opened(path) as raw, TextIOWrapper(raw, _encoding(raw), errors="replace") as file:
            first = next((line for line in file if line.strip()), "")
            if _parsed(first) is _NOT_JSON:
                whole = _parsed(first + file.read())
                if whole is not _NOT_JSON:
                    yield 1, whole
                    return
            file.seek(0)
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, _parsed(line)
    except FileNotFoundError:
        raise SourceError(f"{path} does not exist") from None
    except IsADirectoryError:
        raise SourceError(f"{path} is a folder: name the files in it, such as {path}/*.jsonl") from None
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror or error}") from error


def _opened(path: Path) -> BinaryIO:
    """Open a file; standard input, which may be a pipe, is read whole so that it can be read twice."""
    if path is not _STANDARD_INPUT:
        return path.open("rb")
    if sys.stdin is None:
        raise SourceError("standard input is closed: pipe OTLP/JSON into it, or name files")
    return BytesIO(sys.stdin.buffer.read())


def _encoding(raw: BinaryIO) -> str:
    """Return the encoding that the first bytes show, by a byte order mark or as JSON begins in it."""
    encoding = json.detect_encoding(raw.read(4))
    raw.seek(0)
    return encoding


def _parsed(text: str) -> Any:
    try:
        return json.loads(text.removeprefix(_MARK))
    except (ValueError, RecursionError):
        return _NOT_JSON
