"""Probes of files: a tree, a file count, a text, appended log lines.

    change("report", tree("{workspace}/out")).adding("report.md")
    unchanged("source", tree("src", content=True, ignore="**/__pycache__"))
    change("parts", count("lake", glob="**/*.parquet")).by(3)
    change("log", lines("/var/log/app.log")).adding("imported 3 rows")

A probe takes a path. In a str, `{name}` stands for an argument of the action, so that two runs in two
workspaces do not contend. Double a brace that is part of the path. A `pathlib.Path` is used literally. A
relative path is relative to the current folder at each read, as it is in the action.

If a file is missing or unreadable, the check is inconclusive, with the error text of the system. An
unreadable file is never skipped or treated as absent, since it may be the one that changed. To leave it out,
use `ignore=`.

Nothing is locked. Each file is read at its own moment. If others write to a tree meanwhile, one file may show
the state before their write, and another the state after it. A file that vanishes during the walk is left
out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias, overload

from deltaspan._state.snapshot import MAX_NODES
from deltaspan.checks import keep_values_whole, said
from deltaspan.exceptions import ProbeError
from deltaspan.probes._base.probe import StateProbe
from deltaspan.probes._files._content import lines, text
from deltaspan.probes._files._gitignore import spec_class
from deltaspan.probes._files._paths import AnyPath, PathTemplate, check_limit
from deltaspan.probes._files._patterns import PatternTemplates
from deltaspan.probes._files._walk import TreeWalk, size_and_digest

__all__ = ["count", "lines", "text", "tree"]

_MAX_FILES: Final = MAX_NODES // 3
"""A file takes three of the values that a state may have: the pair and its two items."""

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
    r"""Read the files below a folder: path → size and time or digest.

    The state is path → (size in bytes, time of the last write in ns), from one `lstat` for each file. It
    misses a write that keeps the size within one tick of the file system's clock (1 to 10 ms on Linux, 2
    s on FAT), and a write after which the time is set back, as `cp -p` and `os.utime` do. A touch counts
    as a change. A chmod or another hard link does not, since neither changes the content.

    With `content=True` the state is path → (size, SHA-256 as `sha256sum` prints it). It misses no change,
    and a touch is not a change. Each read reads every byte, so the files must be readable. Without it,
    only their folders must be.

    Paths are relative to the root, in POSIX form. Case and Unicode form are those of the file system. A
    byte of a name that is not UTF-8 reads `\xNN`, and a backslash in a name is doubled. Empty folders are
    not seen. Links are not followed, so a read cannot loop or leave the tree. A link is an entry of its
    own, with the content `link to ` and its target. Pipes, sockets and devices are entries too, and are
    not opened.

    Args:
        root: the folder, with `{name}` as above. If it is a link, the link is followed.
        glob: a pattern, or several, of the files to read. In a name, `*` matches any characters, `?` one
            character, and `[ab]` one of these. `**` in place of a name matches any number of folders. So
            `*.csv` is in the root, and `**/*.csv` anywhere. A folder without possible matches is not listed.
            `{name}` is an argument of the action, matched literally. Double a brace that is part of the text.
        ignore: a pattern, or several, of files to leave out. A matching folder is left out as a whole:
            `**/.venv`.
        gitignore: leaves out `.git`, and the files that the `.gitignore` files in the tree ignore, nested and
            negated, even if git tracks such a file. Needs the extra `files`.
        content: whether the state has the digest of the content instead of the time.
        limit: the most files, up to 333333. A larger tree is an error, which names a cheaper probe.

    Returns:
        The probe.

    Raises:
        DefinitionTypeError: the root is not a str or a path, or a pattern is not a str.
        DefinitionValueError: a pattern matches no path, or the limit is out of range.
        DefinitionError: `gitignore` is set, and pathspec is not installed.

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
    path_template, selection = PathTemplate(root), _FileSelection(glob, ignore, gitignore=gitignore)
    max_size = check_limit(limit, _MAX_FILES)
    call = _render_call("tree", path_template, glob, ignore, gitignore=gitignore, content=content or None)

    def read(**arguments: Any) -> dict[str, tuple[int, Any]]:
        state: dict[str, tuple[int, Any]] = {}
        for path, entry in selection.walk(arguments).files(path_template.path(arguments)):
            try:
                if content:
                    state[path] = size_and_digest(entry)
                else:
                    status = entry.stat(follow_symlinks=False)
                    state[path] = (status.st_size, status.st_mtime_ns)
            except FileNotFoundError:  # it has vanished since it was listed
                continue
            if len(state) > max_size:
                raise ProbeError(
                    f"{call} found more than {max_size} files: narrow it by glob= or ignore=, "
                    f"raise limit=, or read count() of the same files, which is cheaper and has no limit"
                )
        return state

    probe = StateProbe(read, call, (*path_template.names, *selection.names))
    keep_values_whole(probe)
    return probe


def count(
    root: AnyPath,
    *,
    glob: _Patterns | None = None,
    ignore: _Patterns | None = None,
    gitignore: bool = False,
) -> StateProbe[int]:
    """Count the files below a folder.

    It counts what `tree` would show, without reading size and time. It costs a listing of each folder and
    no memory, and has no limit. A file that is replaced or rewritten does not change the count.

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
    path_template, selection = PathTemplate(root), _FileSelection(glob, ignore, gitignore=gitignore)
    return StateProbe(
        lambda **arguments: sum(1 for _ in selection.walk(arguments).files(path_template.path(arguments))),
        _render_call("count", path_template, glob, ignore, gitignore=gitignore),
        (*path_template.names, *selection.names),
    )


class _FileSelection:
    """Patterns that select files of a tree, filled with the action's arguments."""

    def __init__(self, glob: _Patterns | None, ignore: _Patterns | None, *, gitignore: bool) -> None:
        self._glob = None if glob is None else PatternTemplates("glob", glob)
        self._ignore = None if ignore is None else PatternTemplates("ignore", ignore)
        self._spec = spec_class() if gitignore else None
        self.names = tuple(
            name for patterns in (self._glob, self._ignore) if patterns for name in patterns.names
        )

    def walk(self, arguments: Mapping[str, Any]) -> TreeWalk:
        return TreeWalk(
            None if self._glob is None else self._glob.fill(arguments),
            None if self._ignore is None else self._ignore.fill(arguments),
            self._spec,
        )


def _render_call(
    name: str,
    path_template: PathTemplate,
    glob: _Patterns | None,
    ignore: _Patterns | None,
    *,
    gitignore: bool,
    **options: Any,
) -> str:
    return said(name, path_template, glob=glob, ignore=ignore, gitignore=gitignore or None, **options)
