"""Probes of one file: its text, and the lines appended to it."""

from __future__ import annotations

import codecs
from typing import Any, Literal, overload

from deltaspan.checks import call_text
from deltaspan.exceptions import DefinitionValueError, ProbeError
from deltaspan.probes._base.probe import StateProbe
from deltaspan.probes._files._lines import Log
from deltaspan.probes._files._open import chunks, opened
from deltaspan.probes._files._place import AnyPath, Place, checked_limit

__all__ = ["lines", "text"]


@overload
def text(
    path: AnyPath, *, encoding: str = "utf-8", missing_ok: Literal[False] = False, limit: int = 1_000_000
) -> StateProbe[str]: ...
@overload
def text(
    path: AnyPath, *, encoding: str = "utf-8", missing_ok: Literal[True], limit: int = 1_000_000
) -> StateProbe[str | None]: ...
def text(
    path: AnyPath, *, encoding: str = "utf-8", missing_ok: bool = False, limit: int = 1_000_000
) -> StateProbe[Any]:
    r"""Read the whole text of a file, line ends as they are in it.

    It costs the file's bytes at each read. A writer that is not done shows as far as it got, which an
    atomic replacement does not. A link is followed; a pipe, a socket or a device is an error, and not waited
    for.

    Args:
        path: the file; `{name}` in its text is an argument of the action.
        encoding: how it is encoded. What is not is an error: bytes that were replaced would make two contents
            one. `tree(..., content=True)` reads any content.
        missing_ok: whether a file that is not there is a state, None, because the action makes or removes it.
        limit: the most bytes.

    Returns:
        The probe.

    Raises:
        DefinitionTypeError: the path is none.
        DefinitionValueError: there is no such encoding, or the limit is not positive.

    Example:
        >>> import pathlib, tempfile
        >>> from deltaspan import change, window
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder) / "VERSION"
        ...     with window("release", change("version", text(file, missing_ok=True)).to("1.0\n")) as w:
        ...         _ = file.write_text("1.0\n")
        >>> print(w.report["version"].explanation)
        version changed, as expected
    """
    place = Place(path)
    most = checked_limit(limit)
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise DefinitionValueError(f"text of {place!r}: {error}") from None
    words = call_text(
        "text", place, encoding=None if encoding == "utf-8" else encoding, missing_ok=missing_ok or None
    )

    def read(**arguments: Any) -> str | None:
        try:
            with opened(place.path(arguments)) as descriptor:
                found = b"".join(chunks(descriptor, most + 1))
        except FileNotFoundError:
            if missing_ok:
                return None
            raise
        if len(found) > most:
            raise ProbeError(
                f"{words} found more than {most} bytes: raise limit=, or read its digest with "
                f"tree(folder, glob=name, content=True), which reads it without keeping it"
            )
        return found.decode(encoding)

    return StateProbe(read, words, place.names, content=True)


def lines(
    path: AnyPath, *, missing_ok: bool = False, limit: int = 10_000_000
) -> StateProbe[tuple[range | str, ...]]:
    r"""Read the lines that are appended to a log, and none of its old ones.

    The first read of a run, its baseline, notes where the log ends. The state is `range(n)`, which stands for
    the n bytes before, and then each line since, without its line end: so `adding("imported 3 rows")`,
    `adding(count=3)`, `resizing(3)` and `unchanged` speak of lines appended. Runs are told apart by causal
    tag; each has a beginning of its own, and may overlap with others, whose lines it sees like its own.

    A read costs 64 KiB and what was appended, however long the log is. What others append in the meantime is
    there as well: allow it by `.allowing_others()`. A last line without a line end is in the state from the
    beginning, as far as it is written; completing it removes that member and adds the whole line.

    A log that was rotated, truncated or rewritten since the baseline is an error, because what was appended
    before that is no longer there to be read. Rewriting old lines in place, further back than 64 KiB, is not
    seen, nor is a rotation of a log that was empty, or missing, at the baseline. The beginnings of 32768 runs
    are remembered; a run during which as many others began is judged on another beginning, and fails. A
    window with this probe cannot be handed over to another process, which would not know where it began:
    `to_json()` refuses.

    Args:
        path: the log; `{name}` in its text is an argument of the action. A link is followed.
        missing_ok: whether a log that is not there at the baseline is an empty one.
        limit: the most bytes appended.

    Returns:
        The probe.

    Raises:
        DefinitionTypeError: the path is none.
        DefinitionValueError: the limit is not positive.

    Example:
        >>> import pathlib, tempfile
        >>> from deltaspan import change, window
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     log = pathlib.Path(folder) / "app.log"
        ...     _ = log.write_text("started\n")
        ...     with window("import", change("log", lines(log)).adding("imported 3 rows")) as w:
        ...         with log.open("a") as file:
        ...             _ = file.write("imported 3 rows\n")
        >>> w.report["log"].passed
        True
    """
    place = Place(path)
    most = checked_limit(limit)
    words = call_text("lines", place, missing_ok=missing_ok or None)
    log = Log(words, most, missing_ok=missing_ok)
    return StateProbe(lambda **arguments: log.read(place.path(arguments)), words, place.names, content=True)
