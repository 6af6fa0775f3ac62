"""The rules by which a verdict on tagged rows stands or is contended.

A claim is judged on the rows of this run ("mine"). A pass must not rest on rows that may be mine as well. A
fail must not rest on rows that could not carry a tag:

- If nothing is mine and something is untagged, no claim passes.
- A claim that nothing else changes passes only if it also holds with untagged rows counted as mine.
- A claim to a number of rows is about rows that carry the tag, so it passes whatever else is untagged.
- A claim does not fail if it may hold with removed rows, or with rows of an unknown process of this run.
  A row without a tag could have carried one, so a claim that needs it fails.
- The end that `.to` demands is that of the whole state. If others changed the state too, it is credited to
  nobody.
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


def credit_problem(
    expectation: Expectation, delta: TaggedDelta, verdict: Verdict, states: States
) -> str | None:
    """Return why a verdict on tagged rows cannot stand, or None if it can.

    Args:
        expectation: the demand, with computed operands filled in.
        delta: what changed.
        verdict: the verdict on the rows of this run.
        states: baseline and post-state.
    """
    if not isinstance(expectation, ChangeExpectation | NoChange) or verdict.outcome == "inconclusive":
        return None
    rest: Any = expectation.ignored.leave_out(delta)
    if not (rest.others.changed or rest.untagged.changed):
        return None
    find_problem = _problem_of_pass if verdict.outcome == "pass" else _problem_of_fail
    problem = find_problem(expectation, rest, states, transition(*states))
    return None if problem is None else f"{problem}; {delta.tally}"


def credit_problem_beside_others(
    expectation: ChangeExpectation,
    delta: TaggedDelta,
    verdict: Verdict,
    states: States,
    claimed: MappingDelta,
    rival: str | None,
) -> str | None:
    """Return the same for a check that keeps the rows of others.

    A change without a tag counts against the action, unless another window may have made it.

    Args:
        expectation: the demand, with computed operands filled in.
        delta: what changed.
        verdict: the verdict on it.
        states: baseline and post-state.
        claimed: the rows of others that are gone and that the action claims to have removed.
        rival: the window of equal scope that was open meanwhile, in words; None if there was none.
    """
    if verdict.outcome == "inconclusive":
        return None
    rest: Any = expectation.ignored.leave_out(delta.credited(claimed))
    collateral = rest.unsigned
    signed = without_unsigned(rest)
    if collateral.changed or claimed.changed:
        passed = verdict.outcome == "pass"
        if rival is None and not passed:
            return None
        if rival is not None and (passed or expectation.judge(signed, *states).outcome == "pass"):
            happened = collateral_words(merged(collateral, claimed))
            return (
                f"somebody {happened}, and nobody signed that: this action may have done it, or {rival}; "
                f"let all "
                f"writers stamp what they write and mark rows as deleted instead of removing them, or hold a "
                f"lock, .exclusively(lock); {rest.shares}"
            )
    return credit_problem(expectation, signed, verdict, states)


def _problem_of_pass(
    expectation: ChangeExpectation | NoChange, delta: TaggedDelta, states: States, both: str
) -> str | None:
    untagged = delta.untagged
    if untagged.changed and not delta.mine.changed:
        return (
            f"nothing changed that carries its tag, but the state {untagged.words('row')}{both} "
            f"{_describe_writers(delta)}, so "
            f"this action may have done that"
        )
    if isinstance(expectation, NoChange):
        return None
    if expectation.end is not UNREAD:
        return _problem_of_end(expectation, delta, both)
    movement = expectation.movement
    if not untagged.changed or not isinstance(movement, Members | Only):
        return None
    # Changes that are allowed beside the declared ones may be by any writer.
    if (isinstance(movement, Members) and movement.others) or holds(
        movement, delta.credited(untagged), states
    ):
        return None
    if expectation.keeps_others:
        cure = "put the check on the outermost action, which owns every row with its root"
    else:
        word = "say .allowing_others()" if isinstance(movement, Members) else "name it in .only(...)"
        cure = f"{word} where others may do so, or have whatever writes there stamp it"
    return (
        f"what carries its tag is as expected, but the state also {untagged.words('row')}{both} "
        f"{_describe_writers(delta)}; nothing else may change, and this action may have done that: {cure}"
    )


def _problem_of_fail(
    expectation: ChangeExpectation | NoChange, delta: TaggedDelta, states: States, both: str
) -> str | None:
    if isinstance(expectation, NoChange) or not expectation.has_start(states[0]):
        return None
    unattributable, movement, ends = delta.unattributable, expectation.movement, expectation.end is not UNREAD
    if not (ends or unattributable.changed) or not might_hold(movement, delta, states):
        return None
    if ends and not expectation.has_end(states[1]):
        return (
            _problem_of_end(expectation, delta, both) if _might_end(expectation, delta, states[0]) else None
        )
    if not unattributable.changed:
        return None
    demand = f"{movement.verb} {movement.extent}".rstrip()
    cures = []
    if unattributable.removed:
        cures.append(
            "a row that is gone carries no tag: let it stay, marked as deleted, with the tag of who did "
            "so; or read the rows without tagged() and hold a lock, .exclusively(lock)"
        )
    if unattributable.added or unattributable.modified:
        cures.append("put the check on the outermost action, which owns every row with its root")
    return (
        f"what carries its tag was expected to {demand}, and {movement.happened(delta)}{both}; but the "
        f"state {unattributable.words('row')}, and nobody knows whether this action did that: "
        f"{'; '.join(cures)}"
    )


def _problem_of_end(expectation: ChangeExpectation, delta: TaggedDelta, both: str) -> str:
    word = "ending_at" if expectation.is_idempotent else "to"
    foreign = merged(delta.others, delta.untagged)
    return (
        f"the end of the state is not the work of this action alone: beside what carries its tag the state "
        f"{foreign.words('row')}{both}, so .{word}(...) proves nothing; claim what is its own, as .by(...) "
        f"and .adding(...) do"
    )


def _might_end(expectation: ChangeExpectation, delta: TaggedDelta, pre_state: object) -> bool:
    """Return whether this action alone may have made the end from the baseline."""
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


def _describe_writers(delta: TaggedDelta) -> str:
    """Return what is known of the writers of untagged rows, in words."""
    unattributable = delta.unattributable
    unknown = MappingDelta(unattributable.added, MappingProxyType({}), unattributable.modified)
    words = []
    if delta.credited(unknown).untagged.changed:
        words.append("with nobody's tag on it")
    if unknown.changed:
        words.append("by a process of this run that this one does not know")
    return ", or ".join(words)


def holds(movement: Movement, delta: Delta, states: States) -> bool:
    """Return whether a possible delta satisfies the movement, and False if none can tell."""
    try:
        return movement.holds(delta, states)
    except (Incomparable, NothingClaimed, PredicateRaised):
        return False


def might_hold(movement: Movement, delta: TaggedDelta, states: States) -> bool:
    """Return whether the movement holds for some share of the unattributable rows.

    If words name or count rows, the share that satisfies them is searched, as others may have made the rest.
    A predicate is called with none of the rows and with all of them.
    """
    unattributable = delta.unattributable
    fewest, most = delta.amount - len(unattributable.removed), delta.amount + len(unattributable.added)
    if isinstance(movement, Resizing):
        return bool(fewest <= movement.amount <= most)
    if is_of_numbers(movement):
        amounts = range(fewest, most + 1)
        return any(holds(movement, NumberDelta(amount, amount != 0), states) for amount in amounts)
    if isinstance(movement, Members):
        candidates = MappingDelta(
            _matching(movement.adding, delta.added, unattributable.added),
            _matching(movement.removing, delta.removed, unattributable.removed),
            _matching(movement.modifying, delta.modified, unattributable.modified),
        )
        return holds(movement, delta.credited(candidates), states)
    if isinstance(movement, Only):
        within = (
            _select(each, movement.within(each))
            for each in (unattributable.added, unattributable.removed, unattributable.modified)
        )
        return holds(movement, delta.credited(MappingDelta(*within)), states)
    return holds(movement, delta, states) or (
        unattributable.changed and holds(movement, delta.credited(unattributable), states)
    )


def _matching(
    named: Named | None, entries: Mapping[Path, Any], more: Mapping[Path, Any]
) -> Mapping[Path, Any]:
    return _select(more, [] if named is None else named.matching(entries, more))


def _select(entries: Mapping[Path, Any], paths: Collection[Path]) -> Mapping[Path, Any]:
    return MappingProxyType({path: entries[path] for path in paths})
