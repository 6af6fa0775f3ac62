"""The registry of open windows, which finds the windows that overlapped one.

A delta of a shared scope proves a change, and does not prove who made it.

Two windows of one metric do not overlap only if their scopes bind the same names and differ in a value. All
others may be in the same place. The registry keeps counts and the latest arrivals, and no list that must be
searched, so that the cost of a window does not depend on the number of open windows.

Each change of the registry is a step of `_steps`. So a signal handler or a finalizer that calls an action
during a step does not wait for its own thread.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice
from time import perf_counter
from typing import Final

from deltaspan._attribution._counters import Entry, Folders, Group, Metric, Place, Room, Scope, Seat, Windows
from deltaspan._attribution._overlap import ALONE, MAX_NAMED, Overlap, RivalNames, lineage
from deltaspan._concurrency import Serial
from deltaspan._process import on_fork, on_reset

_steps: Final = Serial()
_metrics: Final[dict[str, Entry | Metric]] = {}
"""By metric: the only open window, as nearly always, or all open windows."""


def open_window(entry: Entry) -> None:
    """Open a window in its scope.

    The caller can close it even if an interrupt ends this call early.
    """
    # A window that is alone in its metric, as nearly always, is registered by one atomic operation. Within an
    # interrupted step of this thread it waits: it must not come before the window that the step opens.
    if _steps.is_busy or _metrics.setdefault(entry.scope.metric, entry) is not entry:
        _steps.run(_open, entry)


def retire_window(entry: Entry) -> Overlap:
    """End a window for others, and return which windows overlapped until now.

    Windows that open later still count, until `close_window`.
    """
    now = perf_counter()  # before another thread has to be waited for
    overlaps: list[Overlap] = []
    return overlaps[0] if _steps.run(_retire, entry, overlaps, now) else _overlap(entry, now)


def close_window(entry: Entry) -> Overlap:
    """Close a window, and return which windows overlapped."""
    now = perf_counter()
    overlaps: list[Overlap] = []
    return overlaps[0] if _steps.run(_close, entry, overlaps, now) else _overlap(entry, now)


# Steps, which run one at a time ---------------------------------------------------------------------------


def _open(entry: Entry) -> None:
    name = entry.scope.metric
    registered = _metrics.setdefault(name, entry)
    if registered is entry:
        return
    metric = registered if isinstance(registered, Metric) else _metric_of(registered)
    _seat(entry, metric)


def _metric_of(only: Entry) -> Metric:
    """Count a window that was alone so far."""
    metric = Metric()
    _seat(only, metric)
    _metrics[only.scope.metric] = metric
    return metric


def _seat(entry: Entry, metric: Metric) -> None:
    group = _group_of(entry.scope, metric)
    if entry.scope.above or group.folders is not None:
        group = _group_by_folders(entry, metric, group)
    scope = entry.scope
    seat = entry.seat = Seat(metric, group)
    room = group.room_of(scope)
    met, met_writers = _count_open(entry, seat, room)
    metric.members.add(entry)
    if room is None:
        group.places[scope.places] = entry
    elif not isinstance(room, Group):
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


def _group_of(scope: Scope, metric: Metric) -> Group:
    names = (scope.names, scope.known)
    group = metric.groups.get(names)
    if group is None:
        group = metric.groups[names] = Group()
    return group


def _group_by_folders(entry: Entry, metric: Metric, group: Group) -> Group:
    """Return the group of a window among paths.

    If a path holds that of another window, or lies in it, its argument no longer tells the two apart. The
    later window then counts as one that may be anywhere.
    """
    folders = group.folders
    if folders is None:
        folders = Folders()
        for other in metric.members:
            if other.seat is not None and other.seat.group is group:
                folders.add(other)
        group.folders = folders
    names = folders.names_of(entry.scope, lineage(entry.tag))
    if names:
        entry.scope = entry.scope.without(names)
        return _group_of(entry.scope, metric)
    folders.add(entry)
    return group


def _place_of(only: Entry, group: Group) -> Place:
    """Count a window that was alone so far in its place."""
    place = Place()
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
            if isinstance(each, Windows):
                each.close(entry)
        seat.metric.retired[entry.tag.id] = entry


def _count_above(entry: Entry, seat: Seat) -> None:
    """Count open ancestors from now on, because later reads see what they write."""
    known = map(seat.metric.runs.get, set(lineage(entry.tag)) - {entry.tag.id})
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
    if isinstance(room, Place):
        room.close(entry)
        room.members.discard(entry)
    if room is entry or (isinstance(room, Place) and not room.members):
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


def _count_open(entry: Entry, seat: Seat, room: Entry | Room | None) -> tuple[int, int]:
    """Return how many runs and writers are open already, without its ancestors."""
    metric, group, scope = seat.metric, seat.group, entry.scope
    met, met_writers = len(metric.runs) - len(group.runs), len(metric.writers) - len(group.writers)
    if isinstance(room, Room):
        met, met_writers = met + len(room.runs), met_writers + len(room.writers)
    elif room is not None:
        met, met_writers = met + 1, met_writers + room.writes
    line, all_write = lineage(entry.tag), met == met_writers
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
        most, rooms = MAX_NAMED + len(line), _rooms_of(seat, room)
        alone = [room] if isinstance(room, Entry) else []
        seat.met_runs = seat.met_writers = alone + _newest([each.runs for each in rooms], most)
        if not all_write:
            seat.met_writers = [other for other in alone if other.writes]
            seat.met_writers += _newest([each.writers for each in rooms], most)
    return met, met_writers


def _overlap(entry: Entry, now: float) -> Overlap:
    """Return the windows that overlapped one until now.

    It is called within a step: its own, or an interrupted one of this thread. No other thread can take one.
    """
    seat = entry.seat
    if seat is None:
        return ALONE if _metrics.get(entry.scope.metric) is entry else _search_overlap(entry, now)
    arrived, arrived_writers = _count_arrived(entry, seat)
    runs, writers = arrived - seat.passed, arrived_writers - seat.passed_writers
    if runs <= 0:
        return ALONE
    rooms = _rooms_of(seat, seat.group.room_of(entry.scope))
    rival_names = RivalNames(
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


def _count_arrived(entry: Entry, seat: Seat) -> tuple[int, int]:
    """Return how many runs and writers in its reach have arrived, itself included."""
    metric, group = seat.metric, seat.group
    room = group.room_of(entry.scope)
    if room is group:
        return metric.arrived, metric.arrived_writers
    same, same_writers = (
        (room.arrived, room.arrived_writers) if isinstance(room, Room) else (1, int(entry.writes))
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
        known = registered.runs.values() if isinstance(registered, Metric) else (registered,)
    line = lineage(entry.tag)
    scope = entry.scope
    runs = [
        other
        for other in known
        if other.tag.id not in line and (scope.may_meet(other.scope) or scope.holds_or_lies_in(other.scope))
    ]
    writers = [other for other in runs if other.writes]
    return Overlap(len(writers), len(runs), rival_names=RivalNames(entry, now, writers, runs, (), ()))


def _rooms_of(seat: Seat, room: Entry | Room | None) -> list[Room]:
    """Return the rooms of windows that may overlap: its own, and other bound names."""
    groups = seat.metric.groups
    rooms: list[Room] = (
        [] if len(groups) == 1 else [each for each in groups.values() if each is not seat.group]
    )
    if isinstance(room, Room):
        rooms.insert(0, room)
    return rooms


def _newest(rooms: Iterable[dict[str, Entry]], most: int) -> list[Entry]:
    """Return the newest windows of each room, up to `most` of each."""
    newest: list[Entry] = []
    for known in rooms:
        newest += islice(reversed(known.values()), most)
    return newest


@on_reset
@on_fork
def _reset() -> None:
    # In a forked child the open windows belong to the parent.
    _metrics.clear()
