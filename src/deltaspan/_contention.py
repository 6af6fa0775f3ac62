"""Which windows overlapped: a delta of a shared scope proves a change, not who made it.

Two windows of one metric are apart only if their scopes bind the same names and differ in a value. All others
may be in the same place. The registry keeps counts and the latest arrivals, never lists that have to be
searched, so that a window costs the same among ten and among ten thousand.

Everything that changes the registry is a step of `_steps`, so that a signal handler or a finalizer that calls
an action in the midst of one does not wait for its own thread.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final, NamedTuple

from deltaspan._serial import Serial
from deltaspan.causal_tag import CausalTag

__all__ = ["ALONE", "Entry", "Overlap", "Rival", "Scope", "enter", "leave", "retire"]

MOST_NAMED: Final = 3
"""How many of the windows that overlapped are named; further ones are counted."""

_MOST_RECENT: Final = 8
"""How many of the latest arrivals are remembered in each place, for their names."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a check's probe reads: a metric, and the arguments that narrow it down.

    Attributes:
        metric: the name of the metric.
        names: the arguments that the probe names, sorted.
        known: those of them whose place is known.
        places: the canonical text of each known one.
        unknown: the others, as an explanation shows them: `client (a Client)`.
    """

    metric: str
    names: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    places: tuple[Hashable, ...] = ()
    unknown: tuple[str, ...] = ()

    def may_meet(self, other: Scope) -> bool:
        """Return whether another scope of the same metric may be the same place."""
        return self.names != other.names or self.known != other.known or self.places == other.places


@dataclass(frozen=True, slots=True)
class Rival:
    """A window that overlapped another one in what may be the same scope.

    Attributes:
        action: the action's name.
        tag: its causal tag, canonical UUID text.
        seconds: for how long both were open, in seconds.
        doubt: why the two scopes may be the same; empty where they are equal.
    """

    action: str
    tag: str
    seconds: float
    doubt: str = ""


class Overlap(NamedTuple):
    """The windows that overlapped one, of runs that are neither above nor below it.

    Attributes:
        writers: some of those that claim to change the scope.
        writer_count: how many there were.
        runs: some of those with any claim at all, writers included.
        run_count: how many there were.
    """

    writers: tuple[Rival, ...] = ()
    writer_count: int = 0
    runs: tuple[Rival, ...] = ()
    run_count: int = 0

    def joined(self, more: Overlap) -> Overlap:
        """Return both together, as of a window that was open in two processes."""
        return Overlap(
            (self.writers + more.writers)[:MOST_NAMED],
            self.writer_count + more.writer_count,
            (self.runs + more.runs)[:MOST_NAMED],
            self.run_count + more.run_count,
        )


ALONE: Final = Overlap()
"""The overlap of a window that met no other."""


class Entry:
    """One open window in one scope; lives as long as the window.

    Args:
        scope: what is read.
        action: the action's name, for the explanation of others.
        tag: the run's tag; its ancestors and descendants do not contend.
        writes: whether the action claims to change the scope.
    """

    __slots__ = ("action", "ended_at", "number", "scope", "seat", "started_at", "tag", "writes")

    def __init__(self, scope: Scope, action: str, tag: CausalTag, *, writes: bool) -> None:
        self.scope = scope
        self.action = action
        self.tag = tag
        self.writes = writes
        self.started_at = time.perf_counter()
        self.ended_at: float | None = None
        self.number = 0  # counts the arrivals in its metric; those with a higher one came later
        self.seat: _Seat | None = None  # None while it is alone in its metric


class _Count(NamedTuple):
    """How many windows: those that write, and all of them."""

    writers: int
    runs: int

    def plus(self, other: _Count) -> _Count:
        return _Count(self.writers + other.writers, self.runs + other.runs)

    def minus(self, other: _Count) -> _Count:
        return _Count(self.writers - other.writers, self.runs - other.runs)

    def after(self, entry: Entry) -> _Count:
        return _Count(self.writers + entry.writes, self.runs + 1)


_NOBODY: Final = _Count(0, 0)


class _Room:
    """Windows that are counted together: those of a metric, of equal names, or of equal scope.

    Attributes:
        runs: those that are open, by causal tag.
        writers: those of them that write.
        arrived: how many have come so far.
        members: those that have come and not left; one that has retired is no longer open but still a member.
        recent: the latest arrivals, the newest last.
        recent_writers: the latest writers among the arrivals.
    """

    __slots__ = ("arrived", "members", "recent", "recent_writers", "runs", "writers")

    def __init__(self) -> None:
        self.runs: dict[str, Entry] = {}
        self.writers: dict[str, Entry] = {}
        self.arrived = _NOBODY
        self.members: set[Entry] = set()
        self.recent: tuple[Entry, ...] = ()
        self.recent_writers: tuple[Entry, ...] = ()

    @property
    def open(self) -> _Count:
        return _Count(len(self.writers), len(self.runs))

    def add(self, entry: Entry) -> None:
        self.members.add(entry)
        self.arrived = self.arrived.after(entry)
        self.recent = (*self.recent[1 - _MOST_RECENT :], entry)
        if entry.writes:
            self.recent_writers = (*self.recent_writers[1 - _MOST_RECENT :], entry)
            self.writers[entry.tag.id] = entry
        self.runs[entry.tag.id] = entry

    def close(self, entry: Entry) -> None:
        """Count it no longer among those that are open."""
        for known in (self.runs, self.writers):
            # A window that was handed over may be open twice, under the one tag of its run.
            if known.get(entry.tag.id) is entry:
                del known[entry.tag.id]


class _Group(_Room):
    """The windows of a metric whose scopes bind the same names; two of them are apart if a value differs."""

    __slots__ = ("rooms",)

    def __init__(self) -> None:
        super().__init__()
        self.rooms: dict[Hashable, Entry | _Room] = {}  # the only window there, as nearly always, or a room


class _Metric(_Room):
    """The windows of one metric; made when a second one opens."""

    __slots__ = ("groups", "retired")

    def __init__(self) -> None:
        super().__init__()
        self.groups: dict[Hashable, _Group] = {}
        self.retired: dict[str, Entry] = {}  # by causal tag


class _Seat:
    """Where a window is counted, and what it has met.

    Attributes:
        metric: all windows of its metric.
        group: those that bind the same names.
        arrived: how many had come that it may meet, itself included, right after it came.
        kin: how many of those that came later are its descendants.
        met: how many were open when it came, its ancestors left out.
        met_writers: some of the writers among them.
        met_runs: some of all of them.
    """

    __slots__ = ("arrived", "group", "kin", "met", "met_runs", "met_writers", "metric")

    def __init__(self, metric: _Metric, group: _Group) -> None:
        self.metric = metric
        self.group = group
        self.arrived = self.kin = self.met = _NOBODY
        self.met_writers: tuple[Entry, ...] = ()
        self.met_runs: tuple[Entry, ...] = ()


_steps: Final = Serial()
_metrics: Final[dict[str, Entry | _Metric]] = {}
"""By name: the only window that is open, as nearly always, or all of them."""


def enter(entry: Entry) -> None:
    """Open a window in its scope; whoever made the entry can close it, however far this came."""
    _steps.run(_open, entry)


def retire(entry: Entry) -> Overlap:
    """End a window for others, and return which windows overlapped until now.

    It still notes who comes later, until `leave`.
    """
    now = time.perf_counter()
    return _told(_retire, entry, now)


def leave(entry: Entry) -> Overlap:
    """Close a window, and return which windows overlapped."""
    now = time.perf_counter()
    return _told(_leave, entry, now)


def _told(step: Callable[[Entry, list[Overlap], float], None], entry: Entry, now: float) -> Overlap:
    found: list[Overlap] = []
    if not _steps.run(step, entry, found, now):
        # In the midst of another step of this thread, which alone can change anything now.
        return _overlap(entry, now)
    return found[0]


# Steps, which run one at a time ---------------------------------------------------------------------------


def _open(entry: Entry) -> None:
    name = entry.scope.metric
    there = _metrics.setdefault(name, entry)
    if there is entry:
        return
    metric = there if isinstance(there, _Metric) else _metric_of(there)
    _seat(entry, metric)


def _metric_of(only: Entry) -> _Metric:
    """Count what was alone so far."""
    metric = _Metric()
    _seat(only, metric)
    _metrics[only.scope.metric] = metric
    return metric


def _seat(entry: Entry, metric: _Metric) -> None:
    scope = entry.scope
    group = metric.groups.setdefault((scope.names, scope.known), _Group())
    seat = entry.seat = _Seat(metric, group)
    room = group.rooms.get(scope.places)
    _meet(entry, seat, room)
    if room is None:
        group.rooms[scope.places] = entry
    elif isinstance(room, Entry):
        _room_of(room, group).add(entry)
    else:
        room.add(entry)
    # In this order a window that closes in the midst of this step counts one too many rather than too few.
    metric.add(entry)
    group.add(entry)
    entry.number = metric.arrived.runs
    seat.arrived = _arrived(entry, seat)


def _room_of(only: Entry, group: _Group) -> _Room:
    """Count what was alone so far among those of its names."""
    room = _Room()
    room.add(only)
    group.rooms[only.scope.places] = room
    return room


def _retire(entry: Entry, found: list[Overlap], now: float) -> None:
    if _metrics.get(entry.scope.metric) is entry:
        _metric_of(entry)
    found.append(_overlap(entry, now))
    entry.ended_at = now
    seat = entry.seat
    if seat is not None:
        room = seat.group.rooms.get(entry.scope.places)
        for each in (seat.group, seat.metric, _room_of(entry, seat.group) if room is entry else room):
            if isinstance(each, _Room):
                each.close(entry)
        seat.metric.retired[entry.tag.id] = entry


def _leave(entry: Entry, found: list[Overlap], now: float) -> None:
    found.append(_overlap(entry, now))
    if entry.ended_at is None:
        entry.ended_at = now
    name, places, seat = entry.scope.metric, entry.scope.places, entry.seat
    if seat is None:
        # It was alone all the time; in a forked child the parent's windows are not known at all.
        if _metrics.get(name) is entry:
            del _metrics[name]
        return
    # The links are cut, or windows that overlap in an endless chain would keep each other alive.
    entry.seat = None
    metric, group = seat.metric, seat.group
    if metric.retired.get(entry.tag.id) is entry:
        del metric.retired[entry.tag.id]
    room = group.rooms.get(places)
    if room is entry or (isinstance(room, _Room) and _left(room, entry)):
        del group.rooms[places]
    if _left(group, entry):
        metric.groups.pop((entry.scope.names, entry.scope.known), None)
    if _left(metric, entry) and _metrics.get(name) is metric:
        del _metrics[name]


def _left(room: _Room, entry: Entry) -> bool:
    """Take a window out, and return whether nobody is there any more."""
    room.close(entry)
    room.members.discard(entry)
    return not room.members


# What they find -------------------------------------------------------------------------------------------


def _meet(entry: Entry, seat: _Seat, room: Entry | _Room | None) -> None:
    """Note who is open already: ancestors as kin, all others by number, and some by name."""
    metric, scope, above = seat.metric, entry.scope, _NOBODY
    ancestors = _line(entry.tag)
    for tag in ancestors:
        if tag in metric.runs:
            ancestor = metric.runs[tag]
            if scope.may_meet(ancestor.scope):
                above = above.after(ancestor)
                _note_descendant(ancestor, entry)
        elif tag in metric.retired and scope.may_meet(metric.retired[tag].scope):
            _note_descendant(metric.retired[tag], entry)
    same = room.open if isinstance(room, _Room) else _NOBODY if room is None else _NOBODY.after(room)
    seat.met = metric.open.minus(seat.group.open).plus(same).minus(above)
    if seat.met.writers > 0:
        seat.met_writers = _some(_newest(seat, room, _writers_in), ancestors)
    if seat.met.runs > 0:
        seat.met_runs = _some(_newest(seat, room, _runs_in), ancestors)


def _note_descendant(ancestor: Entry, entry: Entry) -> None:
    if ancestor.seat is not None:
        ancestor.seat.kin = ancestor.seat.kin.after(entry)


def _overlap(entry: Entry, now: float) -> Overlap:
    seat = entry.seat
    if seat is None:
        return ALONE if _metrics.get(entry.scope.metric) is entry else _searched(entry, now)
    later = _arrived(entry, seat).minus(seat.arrived).minus(seat.kin)
    writers, runs = seat.met.plus(later)
    if writers <= 0 and runs <= 0:
        return ALONE
    room = seat.group.rooms.get(entry.scope.places)
    later_writers = _came_later(entry, _newest(seat, room, _recent_writers_in))
    later_runs = _came_later(entry, _newest(seat, room, _recent_runs_in))
    return Overlap(
        _rivals(entry, chain(seat.met_writers, later_writers), now),
        max(writers, 0),
        _rivals(entry, chain(seat.met_runs, later_runs), now),
        max(runs, 0),
    )


def _arrived(entry: Entry, seat: _Seat) -> _Count:
    """Return how many have come so far that the window may meet, itself included."""
    room = seat.group.rooms.get(entry.scope.places)
    same = room.arrived if isinstance(room, _Room) else _NOBODY.after(entry)
    return seat.metric.arrived.minus(seat.group.arrived).plus(same)


def _searched(entry: Entry, now: float) -> Overlap:
    """Find whom a window overlaps that opens and closes in the midst of a step, and so was never counted."""
    there = _metrics.get(entry.scope.metric)
    known = there.runs.values() if isinstance(there, _Metric) else () if there is None else (there,)
    ancestors = _line(entry.tag)
    runs = [other for other in known if other.tag.id not in ancestors and entry.scope.may_meet(other.scope)]
    writers = [other for other in runs if other.writes]
    return Overlap(_rivals(entry, writers, now), len(writers), _rivals(entry, runs, now), len(runs))


def _line(tag: CausalTag) -> Collection[str | None]:
    """Return a run's own tag and those above it, as far as they are known here."""
    # Its own tag too: a window that was handed over may be open twice. Parent and root are known by name even
    # where the run between is another process's.
    line: set[str | None] = {tag.root_id}
    run: CausalTag | None = tag
    while run is not None:
        line.update((run.id, run.parent_id))
        run = run.parent
    return line


def _runs_in(room: Entry | _Room) -> Iterable[Entry]:
    return reversed(room.runs.values()) if isinstance(room, _Room) else (room,)


def _writers_in(room: Entry | _Room) -> Iterable[Entry]:
    return reversed(room.writers.values()) if isinstance(room, _Room) else (room,) if room.writes else ()


def _recent_runs_in(room: Entry | _Room) -> Iterable[Entry]:
    return reversed(room.recent) if isinstance(room, _Room) else ()


def _recent_writers_in(room: Entry | _Room) -> Iterable[Entry]:
    return reversed(room.recent_writers) if isinstance(room, _Room) else ()


def _newest(
    seat: _Seat, room: Entry | _Room | None, entries: Callable[[Entry | _Room], Iterable[Entry]]
) -> Iterator[Entry]:
    """Yield windows that another may meet: those of equal scope, then those that bind other names."""
    rooms = [other for other in seat.metric.groups.values() if other is not seat.group]
    same = [] if room is None else [room]
    return chain.from_iterable(entries(each) for each in (*same, *rooms))


def _some(found: Iterator[Entry], ancestors: Collection[str | None]) -> tuple[Entry, ...]:
    # Only a nest of ancestors makes this look further than at a few windows.
    return tuple(islice((entry for entry in found if entry.tag.id not in ancestors), MOST_NAMED))


def _came_later(entry: Entry, found: Iterator[Entry]) -> Iterator[Entry]:
    for other in found:
        if other.number > entry.number and entry.tag.id not in _line(other.tag):
            yield other


def _rivals(entry: Entry, found: Iterable[Entry], now: float) -> tuple[Rival, ...]:
    distinct = {other.tag.id: other for other in found}
    return tuple(
        Rival(
            other.action,
            other.tag.id,
            max(min(other.ended_at or now, now) - max(entry.started_at, other.started_at), 0.0),
            _doubt(entry.scope, other.scope),
        )
        for other in islice(distinct.values(), MOST_NAMED)
    )


def _doubt(own: Scope, other: Scope) -> str:
    """Say why two scopes of one metric may be the same, where they are not equal."""
    if own.names != other.names:
        return f"its scope names {_listed(other.names)} where this one names {_listed(own.names)}"
    unknown = own.unknown or other.unknown
    if unknown:
        return f"the place of {' and '.join(unknown)} cannot be told and may be any; name an id or a path"
    return ""


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "no argument"


def _forget() -> None:
    # In a forked child the windows that are open are its parent's.
    _metrics.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
