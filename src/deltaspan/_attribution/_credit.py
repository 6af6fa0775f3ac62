"""When a verdict on tagged rows stands, and when it rests on what nobody can be credited with.

A claim is held against what is mine. A pass must not rest on what may be mine as well, and a fail must not
rest on what could not say so:

- Where nothing is mine and something is untagged, no claim passes.
- A claim that nothing else changes passes only if it holds with what is untagged counted as mine, too.
- A claim to a number of rows is about rows that carry the tag, so it passes whatever else is untagged.
- No claim fails that may hold with rows that are gone, or that an unknown process of this run wrote. A row
  that is there without a tag could have carried one, so that a claim without it fails.
- The end that `.to` asks for is that of the whole state: it is nobody's where others changed it, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from deltaspan._state.diff import (
    Delta,
    MappingDelta,
    NumberDelta,
    Path,
    TaggedDelta,
    difference,
    equal,
    merged,
)
from deltaspan._state.render import transition
from deltaspan._verdicts import UNREAD, Verdict
from deltaspan.expectations import (
    ChangeExpectation,
    Expectation,
    Incomparable,
    Members,
    Movement,
    Named,
    NoChange,
    NothingClaimed,
    Only,
    PredicateRaised,
    Resizing,
    States,
    collateral_words,
    is_of_numbers,
    without_unsigned,
)

__all__ = [
    "could_hold",
    "doubt_beside_others",
    "doubt_of",
    "holds",
]


def doubt_of(expectation: Expectation, delta: TaggedDelta, verdict: Verdict, states: States) -> str | None:
    """Return why a verdict on tagged rows cannot stand; None when it can.

    Args:
        expectation: what was judged, computed operands filled in.
        delta: what changed.
        verdict: what judging what is mine came to.
        states: baseline and post-state.
    """
    if not isinstance(expectation, ChangeExpectation | NoChange) or verdict.outcome == "inconclusive":
        return None
    rest: Any = expectation.ignored.leave_out(delta)
    if not (rest.others.changed or rest.untagged.changed):
        return None
    doubt = _of_pass if verdict.outcome == "pass" else _of_fail
    said = doubt(expectation, rest, states, transition(*states))
    return None if said is None else f"{said}; {delta.tally}"


def doubt_beside_others(
    expectation: ChangeExpectation,
    delta: TaggedDelta,
    verdict: Verdict,
    states: States,
    claimed: MappingDelta,
    rival: str | None,
) -> str | None:
    """Return why a verdict on rows cannot stand where those of others were to be kept; None when it can.

    What no run signed is held against the action, unless another window may have done it.

    Args:
        expectation: what was judged, computed operands filled in.
        delta: what changed.
        verdict: what judging it came to.
        states: baseline and post-state.
        claimed: the rows of others that are gone and that the action claims to have removed.
        rival: the window of equal scope that was open meanwhile, in words; None if there was none.
    """
    if verdict.outcome == "inconclusive":
        return None
    rest: Any = expectation.ignored.leave_out(delta.credited(claimed))
    harm = rest.unsigned
    signed = without_unsigned(rest)
    if harm.changed or claimed.changed:
        passed = verdict.outcome == "pass"
        if rival is None and not passed:
            return None
        if rival is not None and (passed or expectation.judge(signed, *states).outcome == "pass"):
            happened = collateral_words(merged(harm, claimed))
            return (
                f"somebody {happened}, and nobody signed that: this action may have done it, or {rival}; "
                f"let all "
                f"writers stamp what they write and mark rows as deleted instead of removing them, or hold a "
                f"lock, .exclusively(lock); {rest.shares}"
            )
    return doubt_of(expectation, signed, verdict, states)


def _of_pass(
    expectation: ChangeExpectation | NoChange, delta: TaggedDelta, states: States, both: str
) -> str | None:
    untagged = delta.untagged
    if untagged.changed and not delta.mine.changed:
        return (
            f"nothing changed that carries its tag, but the state {untagged.words('row')}{both} "
            f"{_by(delta)}, so "
            f"this action may have done that"
        )
    if isinstance(expectation, NoChange):
        return None
    if expectation.end is not UNREAD:
        return _of_end(expectation, delta, both)
    movement = expectation.movement
    if not untagged.changed or not isinstance(movement, Members | Only):
        return None
    # What is allowed beside what is declared may be anybody's.
    if getattr(movement, "others", False) or holds(movement, delta.credited(untagged), states):
        return None
    if expectation.keeps_others:
        cure = "put the check on the outermost action, whose own every row with its root is"
    else:
        word = "say .allowing_others()" if isinstance(movement, Members) else "name it in .only(...)"
        cure = f"{word} where others may do so, or have whatever writes there stamp it"
    return (
        f"what carries its tag is as expected, but the state also {untagged.words('row')}{both} "
        f"{_by(delta)}; nothing else may change, and this action may have done that: {cure}"
    )


def _of_fail(
    expectation: ChangeExpectation | NoChange, delta: TaggedDelta, states: States, both: str
) -> str | None:
    if isinstance(expectation, NoChange) or not expectation.starts(states[0]):
        return None
    mute, movement, ends = delta.unattributable, expectation.movement, expectation.end is not UNREAD
    if not (ends or mute.changed) or not could_hold(movement, delta, states):
        return None
    if ends and not expectation.arrives(states[1]):
        return _of_end(expectation, delta, both) if _could_end(expectation, delta, states[0]) else None
    if not mute.changed:
        return None
    demand = f"{movement.verb} {movement.extent}".rstrip()
    cures = []
    if mute.removed:
        cures.append(
            "a row that is gone carries no tag: let it stay, marked as deleted, with the tag of who did "
            "so; or read the rows without tagged() and hold a lock, .exclusively(lock)"
        )
    if mute.added or mute.modified:
        cures.append("put the check on the outermost action, whose own every row with its root is")
    return (
        f"what carries its tag was expected to {demand}, and {movement.happened(delta)}{both}; but the "
        f"state {mute.words('row')}, and nobody knows whether this action did that: "
        f"{'; '.join(cures)}"
    )


def _of_end(expectation: ChangeExpectation, delta: TaggedDelta, both: str) -> str:
    word = "ending_at" if expectation.is_idempotent else "to"
    foreign = merged(delta.others, delta.untagged)
    return (
        f"the end of the state is not the work of this action alone: beside what carries its tag the state "
        f"{foreign.words('row')}{both}, so .{word}(...) proves nothing; claim what is its own, as .by(...) "
        f"and .adding(...) do"
    )


def _could_end(expectation: ChangeExpectation, delta: TaggedDelta, pre_state: object) -> bool:
    """Return whether the end is what this action alone may have made of the baseline."""
    if not isinstance(pre_state, MappingProxyType):
        return False
    alone = {key: value for key, value in pre_state.items() if (key,) not in delta.removed}
    alone.update((path[0], value) for path, value in delta.added.items())
    alone.update((path[0], after) for path, (_, after) in delta.modified.items())
    missing = expectation.ignored.leave_out(
        difference(MappingProxyType(alone), expectation.end, is_flat=True)
    )
    return isinstance(missing, MappingDelta) and all(
        path in theirs and equal(value, theirs[path])
        for mine, theirs in (
            (missing.added, delta.untagged.added),
            (missing.removed, delta.untagged.removed),
            (missing.modified, delta.untagged.modified),
        )
        for path, value in mine.items()
    )


def _by(delta: TaggedDelta) -> str:
    """Say what is known of who wrote what is untagged."""
    mute = delta.unattributable
    unknown = MappingDelta(mute.added, MappingProxyType({}), mute.modified)
    words = []
    if delta.credited(unknown).untagged.changed:
        words.append("with nobody's tag on it")
    if unknown.changed:
        words.append("by a process of this run that this one does not know")
    return ", or ".join(words)


def holds(movement: Movement, delta: Delta, states: States) -> bool:
    """Return whether a delta that might have been is such a movement; what cannot be judged is not."""
    try:
        return movement.holds(delta, states)
    except (Incomparable, NothingClaimed, PredicateRaised):
        return False


def could_hold(movement: Movement, delta: TaggedDelta, states: States) -> bool:
    """Return whether the movement holds if none, some or all of what is mute were mine.

    Where words name or count rows, the part of it that would serve them is looked for: others may have done
    the rest. A predicate is asked about none of it and all of it.
    """
    mute = delta.unattributable
    fewest, most = delta.amount - len(mute.removed), delta.amount + len(mute.added)
    if isinstance(movement, Resizing):
        return bool(fewest <= movement.amount <= most)
    if is_of_numbers(movement):
        amounts = range(fewest, most + 1)
        return any(holds(movement, NumberDelta(amount, amount != 0), states) for amount in amounts)
    if isinstance(movement, Members):
        serving = MappingDelta(
            _fitting(movement.adding, delta.added, mute.added),
            _fitting(movement.removing, delta.removed, mute.removed),
            _fitting(movement.modifying, delta.modified, mute.modified),
        )
        return holds(movement, delta.credited(serving), states)
    if isinstance(movement, Only):
        within = (_of(each, movement.within(each)) for each in (mute.added, mute.removed, mute.modified))
        return holds(movement, delta.credited(MappingDelta(*within)), states)
    return holds(movement, delta, states) or (mute.changed and holds(movement, delta.credited(mute), states))


def _fitting(
    named: Named | None, entries: Mapping[Path, Any], more: Mapping[Path, Any]
) -> Mapping[Path, Any]:
    return _of(more, [] if named is None else named.matching(entries, more))


def _of(entries: Mapping[Path, Any], paths: Collection[Path]) -> Mapping[Path, Any]:
    return MappingProxyType({path: entries[path] for path in paths})
