"""Open windows, counted by metric, by bound names and by place.

The counters keep numbers and the latest arrivals. They keep no list that must be searched. So the cost of a
window does not depend on the number of open windows.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from typing import Final

from deltaspan.causal_tag import CausalTag

_MAX_RECENT: Final = 8
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

    # By position, because a class that is called by keyword takes half as long again.
    def __init__(self, scope: Scope, action: str, tag: CausalTag, writes: bool) -> None:  # noqa: FBT001
        self.scope = scope
        self.action = action
        self.tag = tag
        self.writes = writes
        self.started_at = perf_counter()
        self.ended_at: float | None = None
        self.number = 0  # counts the arrivals in its metric; those with a higher one came later
        self.seat: Seat | None = None  # None while it is alone in its metric


class Windows:
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


class Room(Windows):
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
        del self.recent[:-_MAX_RECENT]
        if entry.writes:
            self.recent_writers.append(entry)
            del self.recent_writers[:-_MAX_RECENT]


class Place(Room):
    """The windows of equal scope, from the second one on.

    Attributes:
        members: those that have come and not left; one that has retired is no longer open but still a member.
    """

    __slots__ = ("members",)

    def __init__(self) -> None:
        super().__init__()
        self.members: set[Entry] = set()


class Folders:
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

    def names_of(self, scope: Scope, line: Collection[str]) -> list[str]:
        """Return the arguments whose folder holds that of another run, or lies in it.

        Args:
            scope: the scope that holds the arguments.
            line: the causal tags of its own run and of those above it, which do not count.
        """
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


class Group(Room):
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
        self.places: dict[Hashable, Entry | Place] = {}
        self.folders: Folders | None = None

    def room_of(self, scope: Scope) -> Entry | Place | Group | None:
        """Return the windows in the place of a scope of this group."""
        return self.places.get(scope.places) if scope.known else self


class Metric(Windows):
    """The windows of one metric, from the second one on.

    Attributes:
        groups: the windows that bind the same names, by these.
        members: those that have come and not left.
        retired: those that have retired and not left, by causal tag.
    """

    __slots__ = ("groups", "members", "retired")

    def __init__(self) -> None:
        super().__init__()
        self.groups: dict[Hashable, Group] = {}
        self.members: set[Entry] = set()
        self.retired: dict[str, Entry] = {}


class Seat:
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

    def __init__(self, metric: Metric, group: Group) -> None:
        self.metric = metric
        self.group = group
        self.passed = self.passed_writers = 0
        self.met_runs: Sequence[Entry] = ()
        self.met_writers: Sequence[Entry] = ()
        self.above: Sequence[Entry] = ()
