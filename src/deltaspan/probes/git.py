"""Read git repositories: commits, history, files, branches, tags, and the state of a working tree.

    >>> from deltaspan import change, unchanged
    >>> from deltaspan.probes import git
    >>> checks = (
    ...     change("history", git.history("{repo}")).adding(count=1),  # one commit, and none rewritten
    ...     change("files", git.files("{repo}")).only("src/*.py"),  # it changed these files alone
    ...     unchanged("worktree", git.status("{repo}")),  # and left nothing lying about
    ... )

Each read runs the `git` on the PATH, once unless it says otherwise. `repo` is the top folder of a working
tree, or a bare repository; none above it is looked for. In `repo` and `ref`, `{name}` stands for the action's
argument of that name, which scopes the check; write a brace itself twice (`HEAD@{{1}}`), or give a path as a
`Path`. In `ref` the argument is the name of a branch, tag or commit, or behind a colon a path in it. One that
git would read as more, such as `main..main` or `--all`, is inconclusive.

From the cheapest: `branches` and `tags` cost a line a reference, `commits` walks the history, `history` and
`log` list it, `files` lists a tree, and `status` looks at every file of the working tree.

One read is of one moment, except that `status` takes as long as it takes. Paths that are no UTF-8 hold
surrogates, as those of `os.fsdecode` do.

Nothing is written, not even the index, no hook runs, no terminal is asked for a password, and no object is
fetched. The environment of a hook (`GIT_DIR`, `GIT_INDEX_FILE`) leads nowhere else, replaced objects and
grafts are not followed, and what a configuration says of the output, of renames or of what each user ignores
is set aside. What the repository's configuration says of filters (for `status`) and of how to reach a remote
(for `remote=`) does run: do not read a repository whose configuration you would not trust with git itself.

What cannot be read is inconclusive, in git's words: no repository there, or one of another owner, no such
reference, a broken one, a remote that does not answer. So is what has more than a million entries.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

from deltaspan._templates import Template, fields_of
from deltaspan.causal_tag import TRAILER_OF_ROOT, TRAILER_OF_TAG, is_tag
from deltaspan.probes._base.probe import StateProbe
from deltaspan.probes._base.secrets import secrets_of
from deltaspan.probes._files._place import Place
from deltaspan.probes._git._command import GitError, records
from deltaspan.probes._git._names import filled_ref
from deltaspan.probes._git._reading import reached, references, unless_unborn
from deltaspan.probes._git._status import in_words

__all__ = ["Commit", "branches", "commits", "files", "history", "log", "status", "tags"]

S = TypeVar("S")


class Commit(NamedTuple):
    """A commit, as `log` reads it.

    Attributes:
        id: its full name.
        subject: the first paragraph of its message, on one line.
        causal_tag: the last trailer `Causal-Tag` with the text of a UUID; None without.
        causal_root: likewise `Causal-Root`.
    """

    id: str
    subject: str
    causal_tag: str | None
    causal_root: str | None


def commits(repo: Template, ref: str = "HEAD") -> StateProbe[int]:
    """Count the commits that can be reached from a reference; 0 on a branch without any.

    An amended commit leaves the number as it was: `history` tells that it was rewritten. A shallow clone has
    those that it has.

    Args:
        repo: the repository.
        ref: anything that git understands, a range such as `main..HEAD` too.

    Raises:
        DefinitionTypeError: `repo` is neither text nor a path.
        DefinitionValueError: a field is no plain name.

    Example:
        >>> from deltaspan import change
        >>> change("commits", commits("{repo}")).by(1)
        change('commits', git.commits('{repo}', 'HEAD')).by(1)
    """

    def read(repo: str, ref: str) -> int:
        [count] = reached(repo, ref, "--count") or ["0"]
        return int(count)

    return _probe("commits", read, repo, ref)


def history(repo: Template, ref: str = "HEAD", *, remote: str | None = None) -> StateProbe[set[str]]:
    """Read which commits can be reached from a reference, as a set of their full names.

    What is rewritten has another name: an amended commit, a rebase, a reset or a forced push *removes*
    commits, so `.adding(count=1)` demands one commit on top of all that was there. A merge adds what it
    brings in.

    Args:
        repo: the repository.
        ref: as for `commits`; with `remote`, a branch there.
        remote: the name or URL of a remote: where the branch stands is asked of it, with one more command,
            and what is reachable from there of the repository, which must have those commits (whoever
            pushed them has).

    Raises:
        DefinitionTypeError: as for `commits`.
        DefinitionValueError: likewise.

    Example:
        >>> from deltaspan import change
        >>> change("pushed", history("{repo}", "main", remote="origin")).adding(count=1)
        change('pushed', git.history('{repo}', 'main', remote='origin')).adding(count=1)
    """

    def read(repo: str, ref: str) -> set[str]:
        if remote is not None:
            heads = references(repo, remote, "refs/heads/")
            if ref not in heads:
                raise GitError(f"the remote has no branch {ref!r}; `branches` tells which there are")
            ref = heads[ref]
        return set(reached(repo, ref))

    return _probe("history", read, repo, ref, remote=remote)


def log(repo: Template, ref: str = "HEAD") -> StateProbe[list[Commit]]:
    """Read the commits that can be reached from a reference, newest first, each with the tag it carries.

    For `tagged`, which credits each commit to the action whose tag `deltaspan.stamps.git` put on it. Costs
    more than `history`, as each message is read.

    Args:
        repo: the repository.
        ref: as for `commits`.

    Raises:
        DefinitionTypeError: as for `commits`.
        DefinitionValueError: likewise.

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
        lines = reached(repo, ref, "--no-commit-header", "--encoding=UTF-8", f"--format={shape}")
        rows = (line.split("\0") for line in lines)
        return [Commit(name, subject, _tag(tag), _tag(root)) for name, subject, tag, root in rows]

    return _probe("log", read, repo, ref)


def files(repo: Template, ref: str = "HEAD") -> StateProbe[dict[str, str]]:
    """Read the files of a commit: path → mode and id of the content, such as `"100644 1ab2…"`.

    The id tells one content from another, and the mode tells when a file becomes executable or a link. A
    submodule is one entry, with the commit that it stands at. What is not committed is not seen.

    Args:
        repo: the repository.
        ref: as for `commits`; `HEAD:src` is one folder of it, with paths from there.

    Raises:
        DefinitionTypeError: as for `commits`.
        DefinitionValueError: likewise.

    Example:
        >>> from deltaspan import change
        >>> change("files", files("{repo}")).only("src/*.py", "docs/**")
        change('files', git.files('{repo}', 'HEAD')).only('src/*.py', 'docs/**')
    """

    def read(repo: str, ref: str) -> dict[str, str]:
        command = ("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", ref)
        found = unless_unborn(repo, ref, lambda: list(records(repo, *command, instead=_ONE_FOLDER)))
        entries = (entry.partition("\t") for entry in found)
        return {path: f"{about[:6]} {about.rpartition(' ')[2]}" for about, _, path in entries}

    return _probe("files", read, repo, ref)


def branches(repo: Template, *, remote: str | None = None) -> StateProbe[dict[str, str]]:
    """Read where each branch stands: name → commit.

    Args:
        repo: the repository.
        remote: the name or URL of a remote, which is asked: what it has, not what was last fetched of it.
            Needs a network and the permission to read there; no password is asked for.

    Raises:
        DefinitionTypeError: as for `commits`.
        DefinitionValueError: likewise.

    Example:
        >>> from deltaspan import change
        >>> change("pushed", branches("{repo}", remote="origin")).only("main")
        change('pushed', git.branches('{repo}', remote='origin')).only('main')
    """
    return _probe("branches", lambda repo: references(repo, remote, "refs/heads/"), repo, remote=remote)


def tags(repo: Template, *, remote: str | None = None) -> StateProbe[dict[str, str]]:
    """Read what each tag names: name → commit, of an annotated tag too.

    (Of a tag that tags another tag, git before 2.45 tells that other one.)

    Args:
        repo: the repository.
        remote: as for `branches`.

    Raises:
        DefinitionTypeError: as for `commits`.
        DefinitionValueError: likewise.

    Example:
        >>> from deltaspan import change
        >>> change("releases", tags("{repo}")).adding("v1.2")
        change('releases', git.tags('{repo}')).adding('v1.2')
    """
    return _probe("tags", lambda repo: references(repo, remote, "refs/tags/"), repo, remote=remote)


def status(repo: Template) -> StateProbe[dict[str, str]]:
    """Read the state of a working tree: path → what is not committed, in words; empty when it is clean.

    Such as "untracked", "modified", "staged: added", "staged: modified; deleted", "staged: renamed from a.py"
    (and of a.py "staged: renamed to b.py"), "in conflict: both modified", "modified (new commits)" for a
    submodule. Untracked files are told one by one; an untracked repository within is one entry.

    It tells *that* a file is modified, not how: one that was modified before and is modified further reads
    the same, as does an untracked one. Nor does it see what git is told not to look at: ignored files, and
    those marked `assume-unchanged` or `skip-worktree`. Where that matters, read the folder itself. One more
    command makes sure that `core.worktree` has not put the working tree elsewhere.

    Args:
        repo: the top folder of a working tree; a bare repository has none.

    Raises:
        DefinitionTypeError: as for `commits`.
        DefinitionValueError: likewise.

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
        top = "\n".join(records(repo, "rev-parse", "--show-toplevel", end=b"\n"))
        if not Path(top).samefile(repo):
            raise GitError(f"its configuration (core.worktree) has the working tree elsewhere, in {top}")
        return in_words(records(repo, *command, instead="have git ignore what is generated"))

    return _probe("status", read, repo)


_ONE_FOLDER = "read one folder, `HEAD:src`"


def _probe(
    word: str, read: Callable[..., S], *templates: Template, remote: str | None = None
) -> StateProbe[S]:
    repo, *refs = templates
    place = Place(repo)
    said = [*map(repr, templates), *([] if remote is None else [f"remote={remote!r}"])]
    return StateProbe(
        lambda **values: read(place.path(values), *(filled_ref(ref, values) for ref in refs)),
        f"git.{word}({', '.join(said)})",
        fields_of(*templates),
        secrets_of(remote or ""),
        content=word == "log",
    )


def _tag(values: str) -> str | None:
    return next(filter(is_tag, reversed(values.split())), None)
