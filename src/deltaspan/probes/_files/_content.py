"""The probes of one file: `text` and `lines`."""

from __future__ import annotations

import codecs
from typing import Any, Literal, overload

from deltaspan.checks import call_text
from deltaspan.exceptions import DefinitionValueError, ProbeError
from deltaspan.probes._base.probe import StateProbe
from deltaspan.probes._files._lines import LogReader
from deltaspan.probes._files._open import open_regular, read_chunks
from deltaspan.probes._files._paths import AnyPath, PathTemplate, check_limit


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
    r"""Read the whole text of a file, with its line ends unchanged.

    Each read costs the bytes of the file. If a writer is not done, the text is what it has written so
    far, unless it replaces the file atomically. A link is followed. A pipe, a socket or a device is an
    error, and the read does not wait for it.

    Args:
        path: the file; `{name}` in its text is an argument of the action.
        encoding: its encoding. Bytes that cannot be decoded are an error, since replacement would make two
            contents equal. `tree(..., content=True)` reads any content.
        missing_ok: whether a missing file is a state, None, because the action creates or removes it.
        limit: the most bytes.

    Returns:
        The probe.

    Raises:
        DefinitionTypeError: the path is not a str or a path.
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
    path_template = PathTemplate(path)
    max_size = check_limit(limit)
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise DefinitionValueError(f"text of {path_template!r}: {error}") from None
    call = call_text(
        "text",
        path_template,
        encoding=None if encoding == "utf-8" else encoding,
        missing_ok=missing_ok or None,
    )

    def read(**arguments: Any) -> str | None:
        try:
            with open_regular(path_template.path(arguments)) as descriptor:
                content = b"".join(read_chunks(descriptor, max_size + 1))
        except FileNotFoundError:
            if missing_ok:
                return None
            raise
        if len(content) > max_size:
            raise ProbeError(
                f"{call} found more than {max_size} bytes: raise limit=, or read its digest with "
                f"tree(folder, glob=name, content=True), which reads it without keeping it"
            )
        return content.decode(encoding)

    return StateProbe(read, call, path_template.names, content=True)


def lines(
    path: AnyPath, *, missing_ok: bool = False, limit: int = 10_000_000
) -> StateProbe[tuple[range | str, ...]]:
    r"""Read the lines that are appended to a log.

    The first read of a run is its baseline: it notes where the log ends. The state is `range(n)`, which
    stands for the n bytes before the baseline, followed by each line since, without its line end. So
    `adding("imported 3 rows")`, `adding(count=3)`, `resizing(3)` and `unchanged` apply to appended lines.
    Each run has its own baseline, by its causal tag. Runs may overlap; each sees the lines of the others
    too.

    A read costs 64 KiB and the appended bytes, for a log of any length. To accept lines that others
    append, use `.allowing_others()`. If the last line has no line end yet, it is in the state from the
    baseline on. To complete it removes that member and adds the whole line.

    If the log was rotated, truncated or rewritten since the baseline, the read is an error, since the
    appended lines cannot be read any more. Some changes are not seen: old lines rewritten in place more
    than 64 KiB before the end, and the rotation of a log that was empty or missing at the baseline. The
    probe remembers the baselines of 32768 runs. If as many other runs begin during a run, that run gets a
    new baseline, and fails. A window with this probe cannot be handed over to another process, which does
    not know the baseline: `to_json()` raises.

    Args:
        path: the log; `{name}` in its text is an argument of the action. A link is followed.
        missing_ok: whether a log that is missing at the baseline counts as empty.
        limit: the most appended bytes.

    Returns:
        The probe.

    Raises:
        DefinitionTypeError: the path is not a str or a path.
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
    path_template = PathTemplate(path)
    max_size = check_limit(limit)
    call = call_text("lines", path_template, missing_ok=missing_ok or None)
    log = LogReader(call, max_size, missing_ok=missing_ok)
    return StateProbe(
        lambda **arguments: log.read(path_template.path(arguments)),
        call,
        path_template.names,
        content=True,
    )
