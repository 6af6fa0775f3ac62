"""Files: the tree below a folder, how many there are, the text of one, the lines appended to a log.

    change("report", tree("{workspace}/out")).adding("report.md")
    unchanged("source", tree("src", content=True, ignore="**/__pycache__"))
    change("parts", count("lake", glob="**/*.parquet")).by(3)
    change("log", lines("/var/log/app.log")).adding("imported 3 rows")

Where a probe reads is a path. In text, `{name}` is an argument of the action, so that two runs in two
workspaces do not contend; a brace that is part of the path is doubled. A `pathlib.Path` is taken as it is. A
relative path is relative to the current folder at each read, as it is to the action itself.

What is missing, and what must not be read, is an error with the system's own words, and the check is
inconclusive. An unreadable file is never taken for an absent one, nor passed over: it may be the one that was
changed. Leave it out by `ignore=`, which is a decision of yours.

Nothing is locked. Each file is read at a moment of its own, so a tree that others write to meanwhile may show
one of their files before and another after a write. A file that vanishes during the walk is not in the state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias, overload

from deltaspan._state.snapshot import MAX_NODES
from deltaspan.checks import call_text, keep_values_whole
from deltaspan.exceptions import ProbeError
from deltaspan.probes._base.probe import StateProbe
from deltaspan.probes._files._content import lines, text
from deltaspan.probes._files._ignored import spec_class
from deltaspan.probes._files._patterns import PatternsWithFields
from deltaspan.probes._files._place import AnyPath, Place, checked_limit
from deltaspan.probes._files._walk import Walk, content_of

__all__ = ["count", "lines", "text", "tree"]

_MOST_FILES: Final = MAX_NODES // 3
"""A file is three values of a state: the pair, and what is in it."""

_Patterns: TypeAlias = str | Iterable[str]


@overload
def tree(
    root: AnyPath,
    *,
    glob: _Patterns | None = None,
    ignore: _Patterns | None = None,
    gitignore: bool = False,
    content: Literal[False] = False,
    limit: int = 200_000,
) -> StateProbe[dict[str, tuple[int, int]]]: ...
@overload
def tree(
    root: AnyPath,
    *,
    glob: _Patterns | None = None,
    ignore: _Patterns | None = None,
    gitignore: bool = False,
    content: Literal[True],
    limit: int = 200_000,
) -> StateProbe[dict[str, tuple[int, str]]]: ...
def tree(
    root: AnyPath,
    *,
    glob: _Patterns | None = None,
    ignore: _Patterns | None = None,
    gitignore: bool = False,
    content: bool = False,
    limit: int = 200_000,
) -> StateProbe[Any]:
    r"""Read which files are below a folder, and what tells that one of them changed.

    The state is path → (size in bytes, time of the last write in ns), as one `lstat` a file tells it. It
    misses a write that leaves the size and comes within the same tick of the file system's clock (1 to 10 ms
    on Linux, 2 s on FAT), and one that sets the time back, as `cp -p` and `os.utime` do. A touch counts as a
    change, a chmod or another hard link does not: neither changes a file's content.

    With `content=True` it is path → (size, SHA-256 as `sha256sum` prints it): it misses no change, a touch is
    none, and every byte is read at each read. Files must then be readable; without it their folders must.

    Paths are relative to the root, in POSIX form, upper and lower case and Unicode forms kept as the file
    system keeps them. A byte of a name that is not UTF-8 reads `\xNN`, and a backslash in a name is doubled.
    Empty folders are not seen. Links are not followed, so there are no loops and nothing outside is read: a
    link is an entry of its own, with content `link to ` and the target; so are pipes, sockets and devices,
    which are not opened.

    Args:
        root: the folder; see above for `{name}`. Where it is a link, what it leads to.
        glob: reads only files whose path matches this pattern, or one of these. In a name `*` is any
            characters, `?` one, `[ab]` one of these; `**` in place of a name is any number of folders:
            `*.csv` lies in the root itself, `**/*.csv` anywhere. A folder in which nothing can match is not
            listed. `{name}` is an argument of the action, matched as it is; a brace itself is doubled.
        ignore: leaves out what matches this, likewise; of a folder that matches, all of it: `**/.venv`.
        gitignore: leaves out what the `.gitignore` files in the tree say, nested and negated, and `.git`. A
            file that git tracks all the same is left out too. Needs the extra `files`.
        content: whether the content counts, instead of the time.
        limit: the most files, up to 333333; a larger tree is an error that says what to read instead.

    Returns:
        The probe.

    Raises:
        DefinitionTypeError: the root is no path, or a pattern is not text.
        DefinitionValueError: a pattern matches no path, or a limit is out of range.
        DefinitionError: `gitignore` is asked for, and pathspec is not installed.

    Example:
        >>> import pathlib, tempfile
        >>> from deltaspan import change, collect_reports, expects
        >>> @expects(change("out", tree("{workspace}")).adding("report.md"))
        ... def write_report(workspace):
        ...     (pathlib.Path(workspace) / "report.md").write_text("All is well.")
        ...     (pathlib.Path(workspace) / "notes.tmp").touch()
        >>> with tempfile.TemporaryDirectory() as folder, collect_reports() as reports:
        ...     write_report(folder)
        >>> print(reports[0]["out"].explanation)
        expected out to change by adding 'report.md', but it also added 'notes.tmp', which was not ...
    """
    place, chosen = Place(root), _Chosen(glob, ignore, gitignore=gitignore)
    most = checked_limit(limit, _MOST_FILES)
    words = _words("tree", place, glob, ignore, gitignore=gitignore, content=content or None)

    def read(**arguments: Any) -> dict[str, tuple[int, Any]]:
        state: dict[str, tuple[int, Any]] = {}
        for path, entry in chosen.walk(arguments).files(place.path(arguments)):
            try:
                if content:
                    state[path] = content_of(entry)
                else:
                    found = entry.stat(follow_symlinks=False)
                    state[path] = (found.st_size, found.st_mtime_ns)
            except FileNotFoundError:  # it has vanished since it was listed
                continue
            if len(state) > most:
                raise ProbeError(
                    f"{words} found more than {most} files: narrow it by glob= or ignore=, raise limit=, or "
                    f"read count() of the same files, which is cheaper and has no limit"
                )
        return state

    made = StateProbe(read, words, (*place.names, *chosen.names))
    keep_values_whole(made)
    return made


def count(
    root: AnyPath,
    *,
    glob: _Patterns | None = None,
    ignore: _Patterns | None = None,
    gitignore: bool = False,
) -> StateProbe[int]:
    """Read how many files are below a folder: what `tree` would show, without asking for size and time.

    It costs a listing of each folder, no memory, and has no limit. A file that replaces another, or is
    written anew, does not change it.

    Args:
        root: the folder, as for `tree`.
        glob: as for `tree`.
        ignore: as for `tree`.
        gitignore: as for `tree`.

    Returns:
        The probe.

    Raises:
        DefinitionError: as for `tree`.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     count(folder, glob="**/*.parquet")()
        0
    """
    place, chosen = Place(root), _Chosen(glob, ignore, gitignore=gitignore)
    return StateProbe(
        lambda **arguments: sum(1 for _ in chosen.walk(arguments).files(place.path(arguments))),
        _words("count", place, glob, ignore, gitignore=gitignore),
        (*place.names, *chosen.names),
    )


class _Chosen:
    """Which files of a tree are read, with the arguments that their patterns name."""

    def __init__(self, glob: _Patterns | None, ignore: _Patterns | None, *, gitignore: bool) -> None:
        self._glob = None if glob is None else PatternsWithFields("glob", glob)
        self._ignore = None if ignore is None else PatternsWithFields("ignore", ignore)
        self._spec = spec_class() if gitignore else None
        self.names = tuple(name for each in (self._glob, self._ignore) if each for name in each.names)

    def walk(self, arguments: Mapping[str, Any]) -> Walk:
        return Walk(
            None if self._glob is None else self._glob.filled(arguments),
            None if self._ignore is None else self._ignore.filled(arguments),
            self._spec,
        )


def _words(
    name: str,
    place: Place,
    glob: _Patterns | None,
    ignore: _Patterns | None,
    *,
    gitignore: bool,
    **options: Any,
) -> str:
    return call_text(name, place, glob=glob, ignore=ignore, gitignore=gitignore or None, **options)
