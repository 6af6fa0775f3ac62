"""Read spans from OTLP/JSON files, one export a line.

SDKs and the collector's file exporter write such files.
"""

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

_STDIN: Final = "-"
_STANDARD_INPUT: Final = Path("standard input")
"""Represents standard input among the paths. It is never opened by this name."""
_NOT_JSON: Final = object()
_MARK: Final = "\ufeff"
"""A byte order mark. In a concatenated file it can be at the beginning of any line."""


def read_files(*paths: str | os.PathLike[str]) -> Reading:
    """Read the spans in OTLP/JSON files.

    Lines that are not OTLP/JSON are skipped with a complaint, such as the last line of a process that was
    killed. Metrics and logs may be between them. A file without spans causes a complaint if other files have
    spans. The encoding is UTF-8, or that of the first bytes, such as UTF-16.

    Args:
        *paths: files, or patterns like `traces/*.jsonl`. `-` is standard input.

    Raises:
        SourceError: a file is missing, cannot be read, or has no line of OTLP/JSON, or no file has spans.

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
    files = list(dict.fromkeys(each for given in paths for each in _expand(given)))
    spanless = [reason for path in files if (reason := _read(path, spans, complaints)) is not None]
    if files and len(spanless) == len(files):
        raise SourceError(f"{spanless[0]}: name a file that a span exporter wrote, one export a line")
    return Reading(tuple(spans), (*complaints, *spanless))


def _expand(given: str | os.PathLike[str]) -> list[Path]:
    path = Path(given)
    if given == _STDIN:
        return [_STANDARD_INPUT]
    if path.exists() or not glob.has_magic(str(given)):
        return [path]
    matches = sorted(glob.glob(str(given), recursive=True))  # noqa: PTH207  # shell patterns
    if not matches:
        raise SourceError(f"no file matches {given}")
    return [Path(each) for each in matches]


def _read(path: Path, spans: list[Span], complaints: list[str]) -> str | None:
    """Add the spans of a file. Return a complaint if it has none."""
    has_spans, others, has_unknown, invalid_count = False, set[str](), False, 0
    for number, document in _documents(path):
        if holds_spans(document):
            has_spans = True
            read = list(spans_in(document))
            spans += [span for span in read if span is not None]
            invalid_count += read.count(None)
        elif signals := signals_in(document):
            others.update(signals)
        else:
            has_unknown = True
            problem = "not JSON" if document is _NOT_JSON else "JSON, but not OTLP"
            complaints.append(f"{path}, line {number}: {problem}; left out")
    if invalid_count:
        complaints.append(f"{path}: spans without valid ids, left out: {invalid_count}")
    if has_spans:
        return None
    if others:
        return f"{path} holds {' and '.join(sorted(others))}, but no spans"
    if has_unknown:
        raise SourceError(
            f"{path} is not OTLP/JSON: name a file that a span exporter wrote, one export a line"
        )
    return f"{path} is empty"


def _documents(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield each line's number and document. One document may span all lines."""
    try:
        with _open(path) as raw, TextIOWrapper(raw, _detect_encoding(raw), errors="replace") as file:
            first = next((line for line in file if line.strip()), "")
            if _parse(first) is _NOT_JSON:
                whole = _parse(first + file.read())
                if whole is not _NOT_JSON:
                    yield 1, whole
                    return
            file.seek(0)
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, _parse(line)
    except FileNotFoundError:
        raise SourceError(f"{path} does not exist") from None
    except IsADirectoryError:
        raise SourceError(f"{path} is a folder: name the files in it, such as {path}/*.jsonl") from None
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror or error}") from error


def _open(path: Path) -> BinaryIO:
    """Open a file. Buffer standard input, which may be a pipe."""
    if path is not _STANDARD_INPUT:
        return path.open("rb")
    if sys.stdin is None:
        raise SourceError("standard input is closed: pipe OTLP/JSON into it, or name files")
    return BytesIO(sys.stdin.buffer.read())


def _detect_encoding(raw: BinaryIO) -> str:
    """Detect the encoding by a byte order mark or the first bytes of JSON."""
    encoding = json.detect_encoding(raw.read(4))
    raw.seek(0)
    return encoding


def _parse(text: str) -> Any:
    try:
        return json.loads(text.removeprefix(_MARK))
    except (ValueError, RecursionError):
        return _NOT_JSON
