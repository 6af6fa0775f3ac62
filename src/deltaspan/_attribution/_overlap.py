"""The windows that overlapped one, and their names.

Their names are looked up when they are read, because most windows that overlap are never named.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

from deltaspan._attribution._counters import Entry, Scope
from deltaspan.causal_tag import CausalTag

MAX_NAMED: Final = 3
"""How many of the windows that overlapped are named; further ones are counted."""


@dataclass(frozen=True, slots=True)
class Rival:
    """A window that overlapped another one in what may be the same scope.

    Attributes:
        action: the action's name.
        tag: its causal tag, canonical UUID text.
        seconds: for how long both were open, in seconds.
        doubt: why the two scopes may be the same; empty if they are equal.
    """

    action: str
    tag: str
    seconds: float
    doubt: str = ""


class Overlap:
    """The windows that overlapped one, of runs that are neither above nor below it.

    Their names are looked up when they are read, because most windows that overlap are never named.

    Args:
        writer_count: how many of them claim to change the scope.
        run_count: how many there are with any claim at all, writers included.
        writers: some of the writers that are known already, such as those of another process.
        runs: some of all of them, likewise.
        rival_names: the source of their names in this process.
    """

    __slots__ = ("_rival_names", "_runs", "_writers", "run_count", "writer_count")

    def __init__(
        self,
        writer_count: int = 0,
        run_count: int = 0,
        writers: tuple[Rival, ...] = (),
        runs: tuple[Rival, ...] = (),
        rival_names: RivalNames | None = None,
    ) -> None:
        self.writer_count = writer_count
        self.run_count = run_count
        self._writers = writers
        self._runs = runs
        self._rival_names = rival_names

    @property
    def writers(self) -> tuple[Rival, ...]:
        """Some of the runs that claim to change the scope."""
        named = () if self._rival_names is None else self._rival_names.rivals(writers_only=True)
        return (*self._writers, *named)[:MAX_NAMED]

    @property
    def runs(self) -> tuple[Rival, ...]:
        """Some of the runs with any claim at all."""
        named = () if self._rival_names is None else self._rival_names.rivals(writers_only=False)
        return (*self._runs, *named)[:MAX_NAMED]

    def joined(self, more: Overlap) -> Overlap:
        """Return both together, as of a window that was open in two processes."""
        if not self.run_count:
            return more
        return Overlap(
            self.writer_count + more.writer_count,
            self.run_count + more.run_count,
            self.writers + more.writers,
            self.runs + more.runs,
        )


ALONE: Final = Overlap()
"""The overlap of a window that met no other."""


class RivalNames(NamedTuple):
    """The source of the names of overlapping windows.

    Attributes:
        entry: the window that they overlapped.
        closed_at: when it closed.
        met_writers: the newest writers that were open when it came.
        met_runs: the newest of all of them.
        recent_writers: the latest writers to arrive, in each place where it may meet them.
        recent_runs: the latest of all of them.
    """

    entry: Entry
    closed_at: float
    met_writers: Sequence[Entry]
    met_runs: Sequence[Entry]
    recent_writers: Sequence[Sequence[Entry]]
    recent_runs: Sequence[Sequence[Entry]]

    def rivals(self, *, writers_only: bool) -> tuple[Rival, ...]:
        """Return the rivals that are neither above the window nor below it."""
        entry = self.entry
        line = lineage(entry.tag)
        met, recent = (
            (self.met_writers, self.recent_writers) if writers_only else (self.met_runs, self.recent_runs)
        )
        rivals = {other.tag.id: other for other in met if other.tag.id not in line}
        for arrivals in recent:
            for other in reversed(arrivals):
                if other.number > entry.number and entry.tag.id not in lineage(other.tag):
                    rivals.setdefault(other.tag.id, other)
        return tuple(self.rival(other) for other in islice(rivals.values(), MAX_NAMED))

    def rival(self, other: Entry) -> Rival:
        """Return another window as an explanation names it."""
        entry = self.entry
        ended_at = min(other.ended_at or self.closed_at, self.closed_at)
        seconds = max(ended_at - max(entry.started_at, other.started_at), 0.0)
        return Rival(other.action, other.tag.id, seconds, _describe_doubt(entry.scope, other.scope))


def lineage(tag: CausalTag) -> Collection[str]:
    """Return the tag of a run and the known tags above it."""
    # Its own tag too: a window that was handed over may be open twice. Parent and root are known by name even
    # where the run between is another process's.
    if tag.parent_id is None:
        return (tag.id,) if tag.root_id == tag.id else (tag.id, tag.root_id)
    line = {tag.root_id}
    run: CausalTag | None = tag
    while run is not None:
        line.add(run.id)
        if run.parent_id is not None:
            line.add(run.parent_id)
        run = run.parent
    return line


def _describe_doubt(own: Scope, other: Scope) -> str:
    """Return why two scopes that are not equal may be the same, or ""."""
    if own.names != other.names:
        return f"its scope names {_join(other.names)} where this one names {_join(own.names)}"
    return "; ".join(own.unknown or other.unknown)


def _join(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "no argument"
