"""From two reads to a verdict: the rules of an honest answer, in the order in which they apply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Final, TypeGuard

from deltaspan._attribution import Overlap, Rival, credit_problem, credit_problem_beside_others
from deltaspan._attribution_kinds import ATTRIBUTION_KINDS, choose_attribution
from deltaspan._engine._plan import RESULT, CheckPlan
from deltaspan._engine._reads import Read
from deltaspan._guard import EXHAUSTED, class_name, describe
from deltaspan._interrupts import let_through
from deltaspan._reports import CheckReport, HintedExpectation
from deltaspan._state.diff import Delta, Ownership, TaggedDelta, difference, split, without_contents
from deltaspan._state.render import kinds, transition
from deltaspan._state.snapshot import Unfreezable
from deltaspan._verdicts import (
    OBSERVED,
    UNREAD,
    Explained,
    NotLocked,
    ProbeTimeout,
    Raised,
    Verdict,
    inconclusive,
)
from deltaspan.checks import probe_name
from deltaspan.expectations import (
    PRE_STATE,
    BoundPredicate,
    ChangeExpectation,
    Expectation,
    NoChange,
    States,
    has_operand,
    is_predicate,
    predicate_name,
    read_own_generator,
    removals_of_others,
    with_operands,
)
from deltaspan.typing import Attribution, Claim

__all__ = ["judge"]

_CURES: Final = (
    "scope the probe by an argument, tag what the action makes and let the probe take causal_tag, or hold a "
    "lock around the action"
)


def judge(
    plan: CheckPlan,
    pre: Read,
    post: Read,
    values: Mapping[str, Any],
    result: Any,
    error: BaseException | None,
    overlap: Overlap,
    causal_tag: str,
    left: int | None = None,
    owned: Ownership | None = None,
    claim: Claim | None = None,
) -> CheckReport:
    """Judge one check of one run and report it.

    Args:
        plan: the check.
        pre: the read before the action.
        post: the read after it.
        values: the arguments that checks named.
        result: what the action returned; UNREAD when that is not known.
        error: what the action raised, or None.
        overlap: the windows that overlapped in what may be the same scope, and count.
        causal_tag: the tag of the run.
        left: how many values a generator had yielded when it was closed early; None when it was not.
        owned: knows which tags are this run's or a descendant's; None for states that are not of tagged rows.
        claim: what the action says of itself, or None.

    Raises:
        RecursionError: the stack has no room to compare the states.
        MemoryError: nor has the memory.
    """
    try:
        verdict, delta, expectation, attribution = _judged(
            plan, pre, post, values, result, error, overlap, left, owned, claim
        )
    except BaseException as fault:  # a member of a state has methods of its own
        let_through(fault)
        if isinstance(fault, EXHAUSTED):
            raise
        note = f"the delta could not be judged: {describe(fault)}"
        verdict, delta = _failed(note, fault), None
        expectation, attribution = plan.expectation, plan.attribution
    explained: Explained = expectation
    if (
        plan.hint is not None
        and verdict.outcome == "fail"
        and plan.claims_change
        and not (delta and delta.changed)
    ):
        explained = HintedExpectation(expectation, plan.hint)
    return CheckReport(
        plan.metric,
        verdict,
        attribution,
        causal_tag,
        pre.value if owned is None else without_contents(pre.value),
        post.value if owned is None else without_contents(post.value),
        delta,
        explained,
        pre.seconds + post.seconds,
    )


def _judged(
    plan: CheckPlan,
    pre: Read,
    post: Read,
    values: Mapping[str, Any],
    result: Any,
    error: BaseException | None,
    overlap: Overlap,
    left: int | None,
    owned: Ownership | None,
    claim: Claim | None,
) -> tuple[Verdict, Delta | None, Expectation, Attribution]:
    expectation: Expectation = plan.expectation
    attribution: Attribution = plan.attribution
    if pre.error is not None or post.error is not None or post.value is UNREAD:
        return _read_fault(plan, pre, post, error, left), None, expectation, attribution
    delta = _delta_of(plan, pre, post, owned)
    if owned is not None:
        # The delta knows which contents changed; fingerprints are neither shown nor given to predicates.
        pre, post = _without_fingerprints(pre), _without_fingerprints(post)
    if left is not None and not plan.judged_when_left:
        note = f"the state {_moved(delta, pre, post)}"
        return _abandoned(left, note), delta, expectation, attribution
    if error is not None and not plan.judged_on_error and not plan.unchanged_on_error:
        return _action_failed(delta, pre, post, error), delta, expectation, attribution
    is_settled = False
    try:
        expectation = _settled(plan, pre, values, result, error, claim)
        is_settled = True
        delta = _without_ignored(plan, expectation, delta)
        if owned is None:
            verdict = expectation.judge(delta, pre.value, post.value)
        else:
            delta, verdict, attribution = _on_rows(plan, expectation, delta, pre, post, overlap)
    except BaseException as fault:
        let_through(fault)
        if is_settled and isinstance(fault, EXHAUSTED):
            raise
        verdict = _failed(f"its expected value could not be computed: {describe(fault)}", fault)
    if overlap.run_count and _unattributed(plan, expectation, verdict):
        verdict = _contended(expectation, delta, pre, post, overlap) or verdict
    return verdict, delta, expectation, attribution


def _failed(note: str, fault: BaseException) -> Verdict:
    return inconclusive("expectation_failed", note, Raised.of(fault))


def _settled(
    plan: CheckPlan,
    pre: Read,
    values: Mapping[str, Any],
    result: Any,
    error: BaseException | None,
    claim: Claim | None,
) -> Expectation:
    """Return what the delta must satisfy in this run: as it ended, and with what is computed of it."""
    expectation: Expectation = plan.expectation
    if plan.unchanged_on_error and (error is not None or claim == "failure"):
        cause = "claimed failure" if error is None else f"raised {class_name(type(error))}"
        expectation = NoChange(expectation.ignored, cause)
    if not plan.computed:
        return expectation
    computed = _compute(plan, expectation, pre, values, result)
    return with_operands(expectation, computed) if computed else expectation


def _delta_of(plan: CheckPlan, pre: Read, post: Read, owned: Ownership | None) -> Delta:
    delta = difference(pre.value, post.value, is_flat=plan.has_whole_values)
    if owned is not None:
        delta = split(delta, owned, counted=plan.counts_rows)
    return _without_ignored(plan, plan.expectation, delta)


def _without_fingerprints(read: Read) -> Read:
    bare = copy(read)  # a later attempt compares with the baseline again, fingerprints included
    bare.value = without_contents(read.value)
    return bare


def _without_ignored(plan: CheckPlan, expectation: Expectation, delta: Delta) -> Delta:
    """Return the delta without what is left out, as far as it is known: some of it may be computed."""
    return expectation.ignored.leave_out(delta) if plan.has_ignored else delta


def _read_fault(
    plan: CheckPlan, pre: Read, post: Read, error: BaseException | None, left: int | None
) -> Verdict:
    if pre.error is not None:
        return _fault(plan, "before the action", "baseline_failed", pre.error)
    if post.error is not None:
        return _fault(plan, "after the action", "probe_failed", post.error)
    if left is not None:
        return _abandoned(left, "an async probe cannot be read any more")
    if error is None:
        return inconclusive("abandoned", "the program ended before its post-state was read")
    note = f"the action was ended by {describe(error)}, and an async probe cannot be read any more"
    return inconclusive("action_failed", note, Raised.by_action(error))


def _fault(plan: CheckPlan, when: str, reason: Any, error: BaseException) -> Verdict:
    kind, fault = type(error), Raised.of(error)
    if issubclass(kind, Unfreezable):
        return inconclusive("incomparable", f"the probe's value {when} cannot be compared: {error}", fault)
    if issubclass(kind, ProbeTimeout):
        return inconclusive("probe_timeout", f"{when} {error}", fault)
    if issubclass(kind, NotLocked):
        return inconclusive(reason, str(error), fault)
    name = probe_name(plan.probe.function)
    probe = f"the probe {name}" if name else "the probe"
    return inconclusive(reason, f"{when} {probe} raised {describe(error)}", fault)


def _action_failed(delta: Delta, pre: Read, post: Read, error: BaseException) -> Verdict:
    note = f"the action raised {describe(error)}; the state {_moved(delta, pre, post)}"
    return inconclusive("action_failed", note, Raised.by_action(error))


def _abandoned(left: int, found: str) -> Verdict:
    values = "1 value" if left == 1 else f"{left} values"
    note = f"the generator was closed after {values}, before it ended; {found}"
    return inconclusive("abandoned", note)


def _moved(delta: Delta, pre: Read, post: Read) -> str:
    happened = delta.words() if delta.changed else "did not change"
    tally = f"; {delta.tally}" if isinstance(delta, TaggedDelta) else ""
    return f"{happened}{transition(pre.value, post.value)}{tally}"


def _on_rows(
    plan: CheckPlan, expectation: Expectation, delta: Delta, pre: Read, post: Read, overlap: Overlap
) -> tuple[Delta, Verdict, Attribution]:
    """Judge tagged rows: a verdict stands unless it rests on who wrote what nobody signed.

    Returns:
        What changed, with the removals that the action claims credited to it; the verdict; and why the change
        is the action's.
    """
    states = (pre.value, post.value)
    attribution = plan.attribution
    if not isinstance(delta, TaggedDelta):
        both = kinds(*states)
        note = f"the two states are not both of tagged rows ({both}); read them with the same tagged() probe"
        return delta, inconclusive("incomparable", note), attribution
    if _keeps_others(expectation):
        return _beside_others(plan, expectation, delta, states, overlap)
    verdict = expectation.judge(delta, *states)
    doubt = None if plan.ignores_rivals else credit_problem(expectation, delta, verdict, states)
    return delta, verdict if doubt is None else inconclusive("contended", doubt), attribution


def _beside_others(
    plan: CheckPlan, expectation: ChangeExpectation, delta: TaggedDelta, states: States, overlap: Overlap
) -> tuple[Delta, Verdict, Attribution]:
    """Do the same where rows of others are to be kept: what no run signed is held against the action."""
    rest: Any = expectation.ignored.leave_out(delta)
    claimed = removals_of_others(expectation.movement, rest)
    verdict = expectation.judge(delta.credited(claimed), *states)
    doubt = None
    if not plan.ignores_rivals:
        other = _writer_beside(overlap) if overlap.writer_count else None
        doubt = credit_problem_beside_others(expectation, delta, verdict, states, claimed, other)
    attribution = plan.attribution
    if rest.unsigned.changed:
        # No tag credits it to the action, only that no other window was open.
        attribution = choose_attribution(uses_tag=False, is_locked=False, is_scoped=bool(plan.scope_names))
    judged = verdict if doubt is None else inconclusive("contended", doubt)
    return delta.credited(claimed), judged, attribution


def _keeps_others(expectation: Expectation) -> TypeGuard[ChangeExpectation]:
    return isinstance(expectation, ChangeExpectation) and expectation.keeps_others


def _writer_beside(overlap: Overlap) -> str:
    if not overlap.writers:
        return "another run, which had a window of the same scope open meanwhile"
    rival = overlap.writers[0]
    return f"{_who(rival)}, which had a window of the same scope open for {_milliseconds(rival)} of this one"


def _compute(
    plan: CheckPlan, expectation: Expectation, pre: Read, values: Mapping[str, Any], result: Any
) -> dict[str, Any]:
    known = {**values, PRE_STATE: pre.value}
    if result is not UNREAD:
        known[RESULT] = result
    computed: dict[str, Any] = {}
    for path, bound in plan.computed:
        if not has_operand(expectation, path):
            continue  # of the claim that an action which raised is not held to
        if RESULT in bound.names and result is UNREAD:
            raise LookupError("it names 'result', and this window was given none; use verify(result=...)")
        if is_predicate(path):
            named = {name: known[name] for name in bound.names if name in known}
            computed[path] = BoundPredicate(bound.call, named, bound.names, predicate_name(bound.function))
        else:
            computed[path] = read_own_generator(bound.call(known), bound.function)
    return computed


def _unattributed(plan: CheckPlan, expectation: Expectation, verdict: Verdict) -> bool:
    if (
        ATTRIBUTION_KINDS[plan.attribution].tolerates_rivals
        or verdict is OBSERVED
        or verdict.outcome == "inconclusive"
    ):
        return False
    # An unchanged state needs nobody to credit; one that changed may have been changed by the rival.
    return verdict.outcome == "fail" or not isinstance(expectation, NoChange)


def _contended(
    expectation: Expectation, delta: Delta, pre: Read, post: Read, overlap: Overlap
) -> Verdict | None:
    """Return the verdict on a change that another run may have made; None if no run that counts overlapped.

    A claim to a change is shared with those that claim one too. A state that was to stay, and changed, may
    have been changed by any run, whatever that one claims.
    """
    happened = delta.words() if delta.changed else "did not change"
    found = f"the state {happened}{transition(pre.value, post.value)}, but"
    if isinstance(expectation, NoChange):
        had = "had a window of {scope} open"
        note = f"{found} {_named(overlap.runs, overlap.run_count, had)}, so nobody knows which run changed it"
    elif overlap.writer_count:
        wrote = _named(overlap.writers, overlap.writer_count, "wrote to {scope}")
        note = f"{found} {wrote}, so the change cannot be credited to one of them"
    else:
        return None
    return inconclusive("contended", f"{note}; {_CURES}")


def _named(rivals: Sequence[Rival], count: int, act: str) -> str:
    """Name the runs that overlapped, as many as are known by name, and say what they did."""
    doubt = next((rival.doubt for rival in rivals if rival.doubt), "")
    act = act.format(scope="what may be the same scope" if doubt else "the same scope")
    why = f" ({doubt})" if doubt else ""
    if count == 1 and rivals:
        [rival] = rivals
        return f"{_who(rival)} {act} for {_milliseconds(rival)} of this window{why}"
    names = [f"{_who(rival)} for {_milliseconds(rival)}" for rival in rivals]
    if count > len(rivals):
        names.append(f"{count - len(rivals)} more" if rivals else "runs that are not known by name any more")
    runs = "1 other run" if count == 1 else f"{count} other runs"
    return f"{runs} {act} during this window{why}: {', '.join(names)}"


def _who(rival: Rival) -> str:
    return f"{rival.action} (causal tag {rival.tag})"


def _milliseconds(rival: Rival) -> str:
    return f"{rival.seconds * 1000:.1f} ms"
