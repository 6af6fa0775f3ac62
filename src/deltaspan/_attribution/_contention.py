"""The registry of open windows, which finds the windows that overlapped one.

A delta of a shared scope proves a change, and does not prove who made it.

Two windows of one metric do not overlap only if their scopes bind the same names and differ in a value. All
others may be in the same place. The registry keeps counts and the latest arrivals, and no list that must be
searched, so that the cost of a window does not depend on the number of open windows.

Each change of the registry is a step of `_steps`. So a signal handler or a finalizer that calls an action
during a step does not wait for its own thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

from deltaspan._concurrency import Serial
from deltaspan._process import on_fork, on_reset
from deltaspan.causal_tag import CausalTag

__all__ = ["ALONE", "Entry", "Overlap", "Rival", "Scope", "close_window", "open_window", "retire_window"]

MOST_NAMED: Final = 3
"""How many of the windows that overlapped are named; further ones are counted."""

_MOST_RECENT: Final = 8
"""How many of the latest arrivals are remembered in each place, for their names."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope of a check: its metric and the arguments that narrow it down.

    Attributes:
        metric: the name of the metric.
        names: the arguments that the probe names, sorted.
        known: those of them whose place is known.
        places: the canonical text of each known one.
        unknown: a clause for each of the others, as an explanation shows it.
        above: the folders above each place, by which one path may hold another. Empty if none is a path.
    """

    metric: str
    names: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    places: tuple[Hashable, ...] = ()
    unknown: tuple[str, ...] = ()
    above: tuple[tuple[str, ...], ...] = ()

    def may_meet(self, other: Scope) -> bool:
        """Return whether another scope of the same metric may be the same place."""
        return self.names != other.names or self.known != other.known or self.places == other.places

    def holds_or_lies_in(self, other: Scope) -> bool:
        """Return whether a path of one scope lies in one of the other."""
        mine, theirs = (each.above or ((),) * len(each.places) for each in (self, other))
        return all(
            own == place or own in above_place or place in above_own
            for own, place, above_own, above_place in zip(
                self.places, other.places, mine, theirs, strict=True
            )
        )

    def without(self, names: Collection[str]) -> Scope:
        """Return the scope with the place of these arguments unknown."""
        kept = [at for at, name in enumerate(self.known) if name not in names]
        clauses = tuple(
            f"the place of {name} lies in the folder of another open window, or holds it" for name in names
        )
        return Scope(
            self.metric,
            self.names,
            tuple(self.known[at] for at in kept),
            tuple(self.places[at] for at in kept),
            (*self.unknown, *clauses),
            tuple(self.above[at] for at in kept) if self.above else (),
        )


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
        rival_names: _RivalNames | None = None,
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
        return (*self._writers, *named)[:MOST_NAMED]

    @property
    def runs(self) -> tuple[Rival, ...]:
        """Some of the runs with any claim at all."""
        named = () if self._rival_names is None else self._rival_names.rivals(writers_only=False)
        return (*self._runs, *named)[:MOST_NAMED]

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


class Entry:
    """One open window in one scope.

    It lives as long as the window.

    Args:
        scope: what is read.
        action: the action's name, for the explanation of others.
        tag: the tag of the run. Its ancestors and descendants do not contend.
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


class _RivalNames(NamedTuple):
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
        line = _lineage(entry.tag)
        met, recent = (
            (self.met_writers, self.recent_writers) if writers_only else (self.met_runs, self.recent_runs)
        )
        rivals = {other.tag.id: other for other in met if other.tag.id not in line}
        for arrivals in recent:
            for other in reversed(arrivals):
                if other.number > entry.number and entry.tag.id not in _lineage(other.tag):
                    rivals.setdefault(other.tag.id, other)
        return tuple(self.rival(other) for other in islice(rivals.values(), MOST_NAMED))

    def rival(self, other: Entry) -> Rival:
        """Return another window as an explanation names it."""
        entry = self.entry
        ended_at = min(other.ended_at or self.closed_at, self.closed_at)
        seconds = max(ended_at - max(entry.started_at, other.started_at), 0.0)
        return Rival(other.action, other.tag.id, seconds, _describe_doubt(entry.scope, other.scope))


class _Counted:
    """Windows that are counted together.

    Attributes:
        runs: those that are open, by causal tag.
        writers: those of them that write.
        arrived: how many have come so far.
        arrived_writers: how many of them write.
    """

    __slots__ = ("arrived", "arrived_writers", "runs", "writers")

    def __init__(self) -> None:
        self.runs: dict[str, Entry] = {}
        self.writers: dict[str, Entry] = {}
        self.arrived = self.arrived_writers = 0

    def add(self, entry: Entry) -> None:
        tag = entry.tag.id
        self.arrived += 1
        if entry.writes:
            self.arrived_writers += 1
            self.writers[tag] = entry
        self.runs[tag] = entry

    def close(self, entry: Entry) -> None:
        """Remove it from the open windows."""
        tag = entry.tag.id
        # A window that was handed over may be open twice, under the one tag of its run.
        if self.runs.get(tag) is entry:
            del self.runs[tag]
        if self.writers.get(tag) is entry:
            del self.writers[tag]


class _Room(_Counted):
    """Windows that may overlap one: of equal scope, or with other bound names.

    Attributes:
        recent: the latest arrivals, the newest last.
        recent_writers: the latest writers among the arrivals.
    """

    __slots__ = ("recent", "recent_writers")

    def __init__(self) -> None:
        super().__init__()
        self.recent: list[Entry] = []
        self.recent_writers: list[Entry] = []

    def add(self, entry: Entry) -> None:
        super().add(entry)
        self.recent.append(entry)
        del self.recent[:-_MOST_RECENT]
        if entry.writes:
            self.recent_writers.append(entry)
            del self.recent_writers[:-_MOST_RECENT]


class _Place(_Room):
    """The windows of equal scope, from the second one on.

    Attributes:
        members: those that have come and not left; one that has retired is no longer open but still a member.
    """

    __slots__ = ("members",)

    def __init__(self) -> None:
        super().__init__()
        self.members: set[Entry] = set()


class _Folders:
    """The paths of the windows of a group, indexed by folder.

    The cost of a window is the depth of its paths, and does not depend on the number of open windows.

    Attributes:
        at: the windows by position and text of each place.
        below: the windows by position and text of each folder above a place.
    """

    __slots__ = ("at", "below")

    def __init__(self) -> None:
        self.at: dict[Hashable, set[Entry]] = {}
        self.below: dict[Hashable, set[Entry]] = {}

    def add(self, entry: Entry) -> None:
        for windows, key in self._keys(entry.scope):
            windows.setdefault(key, set()).add(entry)

    def discard(self, entry: Entry) -> None:
        for windows, key in self._keys(entry.scope):
            present = windows.get(key)
            if present is not None:
                present.discard(entry)
                if not present:
                    del windows[key]

    def _keys(self, scope: Scope) -> Iterable[tuple[dict[Hashable, set[Entry]], Hashable]]:
        for position, place in enumerate(scope.places):
            yield self.at, (position, place)
        for position, folders in enumerate(scope.above):
            for folder in folders:
                yield self.below, (position, folder)

    def names_of(self, entry: Entry) -> list[str]:
        """Return the arguments whose folder holds that of another run, or lies in it.

        The runs above and below the window do not count.
        """
        scope, line = entry.scope, _lineage(entry.tag)
        above = scope.above or ((),) * len(scope.places)

        def has_others(windows: set[Entry] | None) -> bool:
            # One more than its own line has runs is enough to look at.
            return windows is not None and any(
                each.tag.id not in line for each in islice(windows, len(line) + 1)
            )

        return [
            name
            for position, (name, place, folders) in enumerate(
                zip(scope.known, scope.places, above, strict=True)
            )
            if has_others(self.below.get((position, place)))
            or any(has_others(self.at.get((position, folder))) for folder in folders)
        ]


class _Group(_Room):
    """The windows of a metric whose scopes bind the same names.

    Two of them do not contend if a value differs.

    Attributes:
        places: the windows of each scope, or the only one there, as nearly always. Empty where no value is
            known: then all of the group are in one place, which is the group itself.
        folders: their paths, from the first path on. None if none of them was a path.
    """

    __slots__ = ("folders", "places")

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[Hashable, Entry | _Place] = {}
        self.folders: _Folders | None = None

    def room_of(self, scope: Scope) -> Entry | _Place | _Group | None:
        """Return the windows in the place of a scope of this group."""
        return self.places.get(scope.places) if scope.known else self


class _Metric(_Counted):
    """The windows of one metric, from the second one on.

    Attributes:
        groups: the windows that bind the same names, by these.
        members: those that have come and not left.
        retired: those that have retired and not left, by causal tag.
    """

    __slots__ = ("groups", "members", "retired")

    def __init__(self) -> None:
        super().__init__()
        self.groups: dict[Hashable, _Group] = {}
        self.members: set[Entry] = set()
        self.retired: dict[str, Entry] = {}


class _Seat:
    """The counters of one window, and the windows that were open when it came.

    Attributes:
        metric: all windows of its metric.
        group: those that bind the same names.
        passed: how many had come that it may meet, itself included, right after it came, less those that were
            open then and are not its ancestors, and plus those of its descendants that came later.
        passed_writers: how many of them write.
        met_runs: the newest of those that were open.
        met_writers: the newest writers among them.
        above: its ancestors that were open when it retired. What they write later is not its work.
    """

    __slots__ = ("above", "group", "met_runs", "met_writers", "metric", "passed", "passed_writers")

    def __init__(self, metric: _Metric, group: _Group) -> None:
        self.metric = metric
        self.group = group
        self.passed = self.passed_writers = 0
        self.met_runs: Sequence[Entry] = ()
        self.met_writers: Sequence[Entry] = ()
        self.above: Sequence[Entry] = ()


_steps: Final = Serial()
_metrics: Final[dict[str, Entry | _Metric]] = {}
"""By metric: the only open window, as nearly always, or all open windows."""


def open_window(entry: Entry) -> None:
    """Open a window in its scope.

    The caller can close it even if an interrupt ends this call early.
    """
    _steps.run(_open, entry)


def retire_window(entry: Entry) -> Overlap:
    """End a window for others, and return which windows overlapped until now.

    Windows that open later still count, until `close_window`.
    """
    now = time.perf_counter()
    return _run_step(_retire, entry, now)


def close_window(entry: Entry) -> Overlap:
    """Close a window, and return which windows overlapped."""
    now = time.perf_counter()
    return _run_step(_close, entry, now)


def _run_step(step: Callable[[Entry, list[Overlap], float], None], entry: Entry, now: float) -> Overlap:
    overlaps: list[Overlap] = []
    if not _steps.run(step, entry, overlaps, now):
        # Another step of this thread is interrupted, and nothing else can change the registry now.
        return _overlap(entry, now)
    return overlaps[0]


# Steps, which run one at a time ---------------------------------------------------------------------------


def _open(entry: Entry) -> None:
    name = entry.scope.metric
    registered = _metrics.setdefault(name, entry)
    if registered is entry:
        return
    metric = registered if isinstance(registered, _Metric) else _metric_of(registered)
    _seat(entry, metric)


def _metric_of(only: Entry) -> _Metric:
    """Count a window that was alone so far."""
    metric = _Metric()
    _seat(only, metric)
    _metrics[only.scope.metric] = metric
    return metric


def _seat(entry: Entry, metric: _Metric) -> None:
    group = _group_of(entry.scope, metric)
    if entry.scope.above or group.folders is not None:
        group = _group_by_folders(entry, metric, group)
    scope = entry.scope
    seat = entry.seat = _Seat(metric, group)
    room = group.room_of(scope)
    met, met_writers = _count_open(entry, seat, room)
    metric.members.add(entry)
    if room is None:
        group.places[scope.places] = entry
    elif not isinstance(room, _Group):
        place = _place_of(room, group) if isinstance(room, Entry) else room
        place.members.add(entry)
        place.add(entry)
    # In this order a window that closes in the midst of this step counts one too many rather than too few.
    metric.add(entry)
    group.add(entry)
    entry.number = metric.arrived
    arrived, arrived_writers = _count_arrived(entry, seat)
    seat.passed += arrived - met
    seat.passed_writers += arrived_writers - met_writers


def _group_of(scope: Scope, metric: _Metric) -> _Group:
    names = (scope.names, scope.known)
    group = metric.groups.get(names)
    if group is None:
        group = metric.groups[names] = _Group()
    return group


def _group_by_folders(entry: Entry, metric: _Metric, group: _Group) -> _Group:
    """Return the group of a window among paths.

    If a path holds that of another window, or lies in it, its argument no longer tells the two apart. The
    later window then counts as one that may be anywhere.
    """
    folders = group.folders
    if folders is None:
        folders = _Folders()
        for other in metric.members:
            if other.seat is not None and other.seat.group is group:
                folders.add(other)
        group.folders = folders
    names = folders.names_of(entry)
    if names:
        entry.scope = entry.scope.without(names)
        return _group_of(entry.scope, metric)
    folders.add(entry)
    return group


def _place_of(only: Entry, group: _Group) -> _Place:
    """Count a window that was alone so far in its place."""
    place = _Place()
    place.members.add(only)
    place.add(only)
    group.places[only.scope.places] = place
    return place


def _retire(entry: Entry, overlaps: list[Overlap], now: float) -> None:
    if _metrics.get(entry.scope.metric) is entry:
        _metric_of(entry)
    overlaps.append(_overlap(entry, now))
    entry.ended_at = now
    seat = entry.seat
    if seat is not None:
        _count_above(entry, seat)
        room = seat.group.room_of(entry.scope)
        for each in (seat.group, seat.metric, _place_of(entry, seat.group) if room is entry else room):
            if isinstance(each, _Counted):
                each.close(entry)
        seat.metric.retired[entry.tag.id] = entry


def _count_above(entry: Entry, seat: _Seat) -> None:
    """Count open ancestors from now on, because later reads see what they write."""
    known = map(seat.metric.runs.get, set(_lineage(entry.tag)) - {entry.tag.id})
    seat.above = [run for run in known if run is not None and entry.scope.may_meet(run.scope)]
    seat.passed -= len(seat.above)
    seat.passed_writers -= sum(run.writes for run in seat.above)


def _close(entry: Entry, overlaps: list[Overlap], now: float) -> None:
    scope, seat = entry.scope, entry.seat
    if _metrics.get(scope.metric) is entry:
        # It was alone all the time. It has a seat if an interrupt came before its metric was known by it.
        overlaps.append(ALONE)
        entry.seat = None
        del _metrics[scope.metric]
        return
    overlaps.append(_overlap(entry, now))
    if entry.ended_at is None:
        entry.ended_at = now
    if seat is None:
        return  # in a forked child the parent's windows are not known at all
    metric, group = seat.metric, seat.group
    if metric.retired.get(entry.tag.id) is entry:
        del metric.retired[entry.tag.id]
    room = group.room_of(scope)
    if isinstance(room, _Place):
        room.close(entry)
        room.members.discard(entry)
    if room is entry or (isinstance(room, _Place) and not room.members):
        del group.places[scope.places]
    if group.folders is not None:
        group.folders.discard(entry)
    # An empty group is kept, as it knows the names of who was there. There are as many as ways to bind names.
    group.close(entry)
    metric.close(entry)
    metric.members.discard(entry)
    if not metric.members and _metrics.get(scope.metric) is metric:
        del _metrics[scope.metric]
    # The links are cut, or windows that overlap in an endless chain would keep each other alive. They are cut
    # last, so that a step which was interrupted can be taken again.
    entry.seat = None


# Overlaps --------------------------------------------------------------------------------------------------


def _count_open(entry: Entry, seat: _Seat, room: Entry | _Room | None) -> tuple[int, int]:
    """Return how many runs and writers are open already, without its ancestors."""
    metric, group, scope = seat.metric, seat.group, entry.scope
    met, met_writers = len(metric.runs) - len(group.runs), len(metric.writers) - len(group.writers)
    if isinstance(room, _Room):
        met, met_writers = met + len(room.runs), met_writers + len(room.writers)
    elif room is not None:
        met, met_writers = met + 1, met_writers + room.writes
    line, all_write = _lineage(entry.tag), met == met_writers
    for tag in line:
        ancestor = metric.runs.get(tag)
        if ancestor is not None and scope.may_meet(ancestor.scope):
            met, met_writers = met - 1, met_writers - ancestor.writes
        if ancestor is None and metric.retired:
            ancestor = metric.retired.get(tag)
        if ancestor is not None and ancestor.seat is not None and scope.may_meet(ancestor.scope):
            ancestor.seat.passed += 1
            ancestor.seat.passed_writers += entry.writes
    if met > 0:
        # Its ancestors are told from the others when these are named.
        most, rooms = MOST_NAMED + len(line), _rooms_of(seat, room)
        alone = [room] if isinstance(room, Entry) else []
        seat.met_runs = seat.met_writers = alone + _newest([each.runs for each in rooms], most)
        if not all_write:
            seat.met_writers = [other for other in alone if other.writes]
            seat.met_writers += _newest([each.writers for each in rooms], most)
    return met, met_writers


def _overlap(entry: Entry, now: float) -> Overlap:
    seat = entry.seat
    if seat is None:
        return ALONE if _metrics.get(entry.scope.metric) is entry else _search_overlap(entry, now)
    arrived, arrived_writers = _count_arrived(entry, seat)
    runs, writers = arrived - seat.passed, arrived_writers - seat.passed_writers
    if runs <= 0:
        return ALONE
    rooms = _rooms_of(seat, seat.group.room_of(entry.scope))
    rival_names = _RivalNames(
        entry,
        now,
        seat.met_writers,
        seat.met_runs,
        [each.recent_writers.copy() for each in rooms],
        [each.recent.copy() for each in rooms],
    )
    above = tuple(map(rival_names.rival, seat.above))
    above_writers = tuple(map(rival_names.rival, (run for run in seat.above if run.writes)))
    return Overlap(writers, runs, above_writers, above, rival_names)


def _count_arrived(entry: Entry, seat: _Seat) -> tuple[int, int]:
    """Return how many runs and writers in its reach have arrived, itself included."""
    metric, group = seat.metric, seat.group
    room = group.room_of(entry.scope)
    if room is group:
        return metric.arrived, metric.arrived_writers
    same, same_writers = (
        (room.arrived, room.arrived_writers) if isinstance(room, _Room) else (1, int(entry.writes))
    )
    return (
        metric.arrived - group.arrived + same,
        metric.arrived_writers - group.arrived_writers + same_writers,
    )


def _search_overlap(entry: Entry, now: float) -> Overlap:
    """Return the overlap of a window that opened and closed within another step.

    Such a window was never counted.
    """
    registered = _metrics.get(entry.scope.metric)
    known: Collection[Entry] = ()
    if registered is not None:
        known = registered.runs.values() if isinstance(registered, _Metric) else (registered,)
    line = _lineage(entry.tag)
    scope = entry.scope
    runs = [
        other
        for other in known
        if other.tag.id not in line and (scope.may_meet(other.scope) or scope.holds_or_lies_in(other.scope))
    ]
    writers = [other for other in runs if other.writes]
    return Overlap(len(writers), len(runs), rival_names=_RivalNames(entry, now, writers, runs, (), ()))


def _lineage(tag: CausalTag) -> Collection[str]:
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


def _rooms_of(seat: _Seat, room: Entry | _Room | None) -> list[_Room]:
    """Return the rooms of windows that may overlap: its own, and other bound names."""
    groups = seat.metric.groups
    rooms: list[_Room] = (
        [] if len(groups) == 1 else [each for each in groups.values() if each is not seat.group]
    )
    if isinstance(room, _Room):
        rooms.insert(0, room)
    return rooms


def _newest(rooms: Iterable[dict[str, Entry]], most: int) -> list[Entry]:
    """Return the newest windows of each room, up to `most` of each."""
    newest: list[Entry] = []
    for known in rooms:
        newest += islice(reversed(known.values()), most)
    return newest


def _describe_doubt(own: Scope, other: Scope) -> str:
    """Return why two scopes that are not equal may be the same, or ""."""
    if own.names != other.names:
        return f"its scope names {_join(other.names)} where this one names {_join(own.names)}"
    return "; ".join(own.unknown or other.unknown)


def _join(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "no argument"


@on_reset
@on_fork
def _reset() -> None:
    # In a forked child the open windows belong to the parent.
    _metrics.clear()
