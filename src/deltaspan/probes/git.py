"""Probes of git: commits, history, files, branches, tags, and the working tree.

    >>> from deltaspan import change, unchanged
    >>> from deltaspan.probes import git
    >>> checks = (
    ...     change("history", git.history("{repo}")).adding(count=1),  # one commit, and none rewritten
    ...     change("files", git.files("{repo}")).only("src/*.py"),  # it changed these files alone
    ...     unchanged("worktree", git.status("{repo}")),  # it left no uncommitted files
    ... )

Each read runs the `git` on the PATH once, unless the probe says otherwise. `repo` is the top folder of a
working tree, or a bare repository; folders above it are not searched. In `repo` and `ref`, `{name}` stands
for the action's argument of that name, which scopes the check. Double a brace that is part of the text
(`HEAD@{{1}}`), or give a path as a `Path`. In `ref` the argument is the name of a branch, tag or commit, or
after a colon a path in it. If git would parse an argument as more than a name, such as `main..main` or
`--all`, the check is inconclusive.

Cost, from the cheapest: `branches` and `tags` read one line for each reference, `commits` walks the history,
`history` and `log` list it, `files` lists a tree, and `status` checks every file of the working tree.

Each read sees one moment, except `status`, which takes time. Paths that are not UTF-8 contain surrogates, as
with `os.fsdecode`.

A read writes nothing, not even the index. It runs no hook, asks for no password, and fetches no object. It
ignores the environment of a hook (`GIT_DIR`, `GIT_INDEX_FILE`), replaced objects and grafts, and settings of
output, of renames and of each user's ignored files. Two settings of the repository do run programs: filters
(for `status`), and the access to a remote (for `remote=`). Do not read a repository if you would not trust
its configuration with git itself.

If git fails, the check is inconclusive, with git's error text: the repository is missing or belongs to
another user, the reference is missing or broken, or the remote does not answer. It is also inconclusive if
there are more than a million entries.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

from deltaspan._templates import Template, fields_of
from deltaspan.causal_tag import TRAILER_OF_ROOT, TRAILER_OF_TAG, is_tag
from deltaspan.probes._base.probe import StateProbe
from deltaspan.probes._base.secrets import secrets_of
from deltaspan.probes._files._paths import PathTemplate
from deltaspan.probes._git._command import GitError, run_git
from deltaspan.probes._git._references import fill_ref, list_commits, list_references, read_unless_unborn
from deltaspan.probes._git._status import describe_status

__all__ = ["Commit", "branches", "commits", "files", "history", "log", "status", "tags"]

S = TypeVar("S")


class Commit(NamedTuple):
    """A commit, as `log` reads it.

    Attributes:
        id: the full name of the commit.
        subject: the first paragraph of its message, on one line.
        causal_tag: the last trailer `Causal-Tag` that is a UUID; None without one.
        causal_root: the last trailer `Causal-Root`, in the same way.
    """

    id: str
    subject: str
    causal_tag: str | None
    causal_root: str | None


def commits(repo: Template, ref: str = "HEAD") -> StateProbe[int]:
    """Count the commits that a reference reaches.

    The count is 0 on a branch without commits. An amended commit does not change the count; `history`
    shows that it was rewritten. A shallow clone counts only the commits that it has.

    Args:
        repo: the repository.
        ref: a revision that git understands, including a range such as `main..HEAD`.

    Raises:
        DefinitionTypeError: `repo` is neither a str nor a path.
        DefinitionValueError: a field is not a plain name.

    Example:
        >>> from deltaspan import change
        >>> change("commits", commits("{repo}")).by(1)
        change('commits', git.commits('{repo}', 'HEAD')).by(1)
    """

    def read(repo: str, ref: str) -> int:
        [count] = list_commits(repo, ref, "--count") or ["0"]
        return int(count)

    return _probe("commits", read, repo, ref)


def history(repo: Template, ref: str = "HEAD", *, remote: str | None = None) -> StateProbe[set[str]]:
    """Read the commits that a reference reaches, as a set of full names.

    A rewritten commit has another name. An amended commit, a rebase, a reset and a forced push *remove*
    commits, so `.adding(count=1)` demands one commit on top of the existing ones. A merge adds the merged
    commits.

    Args:
        repo: the repository.
        ref: as for `commits`; with `remote`, a branch there.
        remote: the name or URL of a remote. One more command asks it for the commit of the branch. The
            repository itself must have the commits that this commit reaches, as after a push.

    Raises:
        DefinitionTypeError: as for `commits`.
        DefinitionValueError: as for `commits`.

    Example:
        >>> from deltaspan import change
        >>> change("pushed", history("{repo}", "main", remote="origin")).adding(count=1)
        change('pushed', git.history('{repo}', 'main', remote='origin')).adding(count=1)
    """

    def read(repo: str, ref: str) -> set[str]:
        if remote is not None:
            heads = list_references(repo, remote, "refs/heads/")
            if ref not in heads:
                raise GitError(f"the remote has no branch {ref!r}; read `branches` for those that it has")
            ref = heads[ref]
        return set(list_commits(repo, ref))

    return _probe("history", read, repo, ref, remote=remote)


def log(repo: Template, ref: str = "HEAD") -> StateProbe[list[Commit]]:
    """Read the commits that a reference reaches, newest first, with their tags.

    Use it with `tagged`, which credits each commit to the action whose tag `deltaspan.stamps.git` wrote
    into it. It costs more than `history`, since it reads each message.

    Args:
        repo: the repository.
        ref: as for `commits`.

    Raises:
        DefinitionTypeError: as for `commits`.
        DefinitionValueError: as for `commits`.

    Example:
        >>> from deltaspan import change, tagged
        >>> mine = tagged(log("{repo}"), key="id", tag="causal_tag", root="causal_root")
        >>> check = change("commits", mine).by(1)
    """
    trailers = (
        f"%(trailers:key={name},valueonly,unfold,separator=%x20)"
        for name in (TRAILER_OF_TAG, TRAILER_OF_ROOT)
    )
    shape = "%x00".join(("%H", "%s", *trailers))

    def read(repo: str, ref: str) -> list[Commit]:
        lines = list_commits(repo, ref, "--no-commit-header", "--encoding=UTF-8", f"--format={shape}")
        rows = (line.split("\0") for line in lines)
        return [Commit(name, subject, _tag(tag), _tag(root)) for name, subject, tag, root in rows]

    return _probe("log", read, repo, ref)


def files(repo: Template, ref: str = "HEAD") -> StateProbe[dict[str, str]]:
    """Read the files of a commit: path → mode and id of the content.

    A value is, for example, `"100644 1ab2…"`. The id differs for different content. The mode changes if a
    file becomes executable or a link. A submodule is one entry, with its commit. Uncommitted changes are
    not seen.

    Args:
        repo: the repository.
        ref: as for `commits`. `HEAD:src` reads one folder, with paths relative to it.

    Raises:
        DefinitionTypeError: as for `commits`.
        DefinitionValueError: as for `commits`.

    Example:
        >>> from deltaspan import change
        >>> change("files", files("{repo}")).only("src/*.py", "docs/**")
        change('files', git.files('{repo}', 'HEAD')).only('src/*.py', 'docs/**')
    """

    def read(repo: str, ref: str) -> dict[str, str]:
        command = ("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", ref)
        lines = read_unless_unborn(repo, ref, lambda: list(run_git(repo, *command, advice=_ONE_FOLDER)))
        entries = (entry.partition("\t") for entry in lines)
        return {path: f"{about[:6]} {about.rpartition(' ')[2]}" for about, _, path in entries}

    return _probe("files", read, repo, ref)


def branches(repo: Template, *, remote: str | None = None) -> StateProbe[dict[str, str]]:
    """Read the commit of each branch: name → commit.

    Args:
        repo: the repository.
        remote: the name or URL of a remote, which is asked for its present branches, and not for those of the
            last fetch. Needs a network and the permission to read there. No password is asked for.

    Raises:
        DefinitionTypeError: as for `commits`.
        DefinitionValueError: as for `commits`.

    Example:
        >>> from deltaspan import change
        >>> change("pushed", branches("{repo}", remote="origin")).only("main")
        change('pushed', git.branches('{repo}', remote='origin')).only('main')
    """
    return _probe("branches", lambda repo: list_references(repo, remote, "refs/heads/"), repo, remote=remote)


def tags(repo: Template, *, remote: str | None = None) -> StateProbe[dict[str, str]]:
    """Read the commit of each tag: name → commit.

    An annotated tag has the commit that it tags. If a tag tags another tag, git before 2.45 gives that
    other tag.

    Args:
        repo: the repository.
        remote: as for `branches`.

    Raises:
        DefinitionTypeError: as for `commits`.
        DefinitionValueError: as for `commits`.

    Example:
        >>> from deltaspan import change
        >>> change("releases", tags("{repo}")).adding("v1.2")
        change('releases', git.tags('{repo}')).adding('v1.2')
    """
    return _probe("tags", lambda repo: list_references(repo, remote, "refs/tags/"), repo, remote=remote)


def status(repo: Template) -> StateProbe[dict[str, str]]:
    """Read the uncommitted changes of a working tree: path → state in words.

    The state is empty if the working tree is clean. A value is, for example, "untracked", "modified",
    "staged: added", "staged: modified; deleted", "staged: renamed from a.py" (with "staged: renamed to
    b.py" for a.py), "in conflict: both modified", or "modified (new commits)" for a submodule. Each
    untracked file is an entry; an untracked repository inside the tree is one entry.

    It shows *that* a file is modified, not how. A further change of a modified or untracked file does not
    change the state. It does not see ignored files, or files marked `assume-unchanged` or
    `skip-worktree`. To see all of these, read the folder with `deltaspan.probes.files.tree`. A second
    command verifies that `core.worktree` does not put the working tree elsewhere.

    Args:
        repo: the top folder of a working tree; a bare repository has none.

    Raises:
        DefinitionTypeError: as for `commits`.
        DefinitionValueError: as for `commits`.

    Example:
        >>> from deltaspan import unchanged
        >>> unchanged("worktree", status("{repo}"))
        unchanged('worktree', git.status('{repo}'))
    """
    command = (
        "status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignored=no", "--ignore-submodules=none",
        "--find-renames=50%", "--no-ahead-behind", "--no-show-stash",
    )  # fmt: skip

    def read(repo: str) -> dict[str, str]:
        top = "\n".join(run_git(repo, "rev-parse", "--show-toplevel", end=b"\n"))
        if not Path(top).samefile(repo):
            raise GitError(
                f"core.worktree in its configuration puts the working tree in {top}; name that folder"
            )
        return describe_status(run_git(repo, *command, advice="let git ignore generated files"))

    return _probe("status", read, repo)


_ONE_FOLDER = "read one folder, `HEAD:src`"


def _probe(
    name: str, read: Callable[..., S], *templates: Template, remote: str | None = None
) -> StateProbe[S]:
    repo, *refs = templates
    path_template = PathTemplate(repo)
    call_arguments = [*map(repr, templates), *([] if remote is None else [f"remote={remote!r}"])]
    return StateProbe(
        lambda **values: read(path_template.path(values), *(fill_ref(ref, values) for ref in refs)),
        f"git.{name}({', '.join(call_arguments)})",
        fields_of(*templates),
        secrets_of(remote or ""),
        content=name == "log",
    )


def _tag(values: str) -> str | None:
    return next(filter(is_tag, reversed(values.split())), None)
