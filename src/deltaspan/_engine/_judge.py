"""The verdict on two reads: the rules, in the order in which they apply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeGuard

from deltaspan._attribution import ALONE, Overlap, Rival, credit_problem, credit_problem_beside_others
from deltaspan._attribution_kinds import ATTRIBUTION_KINDS, choose_attribution
from deltaspan._callables import Bound
from deltaspan._engine._call import Ending
from deltaspan._engine._check_run import CheckRun
from deltaspan._engine._plan import RESULT, CheckPlan
from deltaspan._guard import EXHAUSTED, class_name, describe
from deltaspan._interrupts import let_through
from deltaspan._reports import CheckReport, HintedExpectation
from deltaspan._state.diff import Delta, TaggedDelta, difference, split, without_contents
from deltaspan._state.render import describe_kinds, transition
from deltaspan._state.snapshot import Unfreezable
from deltaspan._verdicts import (
    OBSERVED,
    UNREAD,
    Explained,
    ProbeTimeout,
    Raised,
    Verdict,
    inconclusive,
)
from deltaspan.checks import probe_name
from deltaspan.expectations import (
    NOTHING_IGNORED,
    PRE_STATE,
    BoundPredicate,
    ChangeExpectation,
    Computed,
    Expectation,
    NoChange,
    Operand,
    Predicate,
    States,
    collect_patterns,
    read_own_generator,
    removals_of_others,
)
from deltaspan.typing import Attribution, Reason

_CURES: Final = (
    "scope the probe by an argument, tag what the action makes and let the probe take causal_tag, or hold a "
    "lock around the action"
)
_EXHAUSTED_NOTE: Final = (
    "the stack or the memory had no room to compare the two states; let the probe return a flatter or a "
    "smaller structure, or call the action from fewer nested functions"
)


def judge(check: CheckRun, ending: Ending, overlap: Overlap = ALONE) -> CheckReport:
    """Judge one check of one run on its last reads, and report it.

    Args:
        check: the check, whose reads are done.
        ending: the end of the action.
        overlap: the windows that overlapped in what may be the same scope, and count.
    """
    if check.early_verdict is not None:
        return report_unjudged(check, check.early_verdict)
    try:
        return _judge(check, ending, overlap)
    except EXHAUSTED as error:
        return report_unjudged(check, inconclusive("incomparable", _EXHAUSTED_NOTE, Raised.of(error)))


def report_unjudged(check: CheckRun, verdict: Verdict) -> CheckReport:
    """Report a check whose verdict does not rest on its delta.

    Args:
        check: the check.
        verdict: its verdict.
    """
    plan = check.plan
    return CheckReport(
        plan.metric,
        verdict,
        plan.attribution,
        check.call.tag.id,
        check.pre.value,
        check.post.value,
        None,
        plan.expectation,
    )


def _judge(check: CheckRun, ending: Ending, overlap: Overlap) -> CheckReport:
    plan, pre, post = check.plan, check.pre, check.post
    try:
        verdict, delta, expectation, attribution = _judge_states(check, ending, overlap)
    except BaseException as error:  # a member of a state has methods of its own
        let_through(error)
        if isinstance(error, EXHAUSTED):
            raise
        note = f"the delta could not be judged: {describe(error)}"
        verdict, delta = _judge_failed_expectation(note, error), None
        expectation, attribution = plan.expectation, plan.attribution
    explained: Explained = expectation
    if verdict.outcome == "fail" and plan.claims_change and not (delta and delta.changed):
        hint = plan.hint
        explained = expectation if hint is None else HintedExpectation(expectation, hint)
    is_untagged = check.tracker is None
    return CheckReport(
        plan.metric,
        verdict,
        attribution,
        check.call.tag.id,
        pre.value if is_untagged else without_contents(pre.value),
        post.value if is_untagged else without_contents(post.value),
        delta,
        explained,
        pre.seconds + post.seconds,
    )


def _judge_states(
    check: CheckRun, ending: Ending, overlap: Overlap
) -> tuple[Verdict, Delta | None, Expectation, Attribution]:
    plan, pre, post, error = check.plan, check.pre, check.post, ending.error
    expectation: Expectation = plan.expectation
    attribution: Attribution = plan.attribution
    if pre.error is not None or post.error is not None or post.value is UNREAD:
        return _judge_failed_read(check, ending), None, expectation, attribution
    delta = _delta_of(check)
    states = (pre.value, post.value)
    if check.tracker is not None:
        # The delta knows which contents changed. Fingerprints are neither shown nor given to predicates.
        states = (without_contents(pre.value), without_contents(post.value))
    if ending.is_closed_early and not plan.is_judged_when_closed_early:
        note = f"the state {_describe_change(delta, states)}"
        return _judge_early_close(ending, note), delta, expectation, attribution
    if error is not None and not plan.is_judged_on_error:
        return _judge_failed_action(delta, states, error), delta, expectation, attribution
    is_resolved = False
    try:
        expectation = _resolve(check, ending, states[0])
        is_resolved = True
        if expectation is not plan.expectation:
            delta = _without_ignored(expectation, delta)  # those whose names were computed
        if check.tracker is None:
            verdict = expectation.judge(delta, *states)
        else:
            delta, verdict, attribution = _judge_rows(plan, expectation, delta, states, overlap)
    except BaseException as raised:
        let_through(raised)
        if is_resolved and isinstance(raised, EXHAUSTED):
            raise
        verdict = _judge_failed_expectation(
            f"its expected value could not be computed: {describe(raised)}", raised
        )
    if overlap.run_count and _needs_attribution(plan, expectation, verdict):
        verdict = _judge_contention(expectation, delta, states, overlap) or verdict
    return verdict, delta, expectation, attribution


def _judge_failed_expectation(note: str, error: BaseException) -> Verdict:
    return inconclusive("expectation_failed", note, Raised.of(error))


def _resolve(check: CheckRun, ending: Ending, pre_state: Any) -> Expectation:
    """Return the expectation that applies to this ending, with its computed operands."""
    plan = check.plan
    expectation: Expectation = plan.expectation
    if plan.modifiers.unchanged_on_error and ending.has_failed:
        error = ending.error
        cause = "claimed failure" if error is None else f"raised {class_name(type(error))}"
        expectation = NoChange(expectation.ignored, cause)
    if not plan.computed:
        return expectation
    known = {**ending.values(check.call), PRE_STATE: pre_state}
    if ending.result is not UNREAD:
        known[RESULT] = ending.result
    with collect_patterns():
        return expectation.resolve(_RunValues(plan, known))


def _delta_of(check: CheckRun) -> Delta:
    plan = check.plan
    delta = difference(check.pre.value, check.post.value, is_flat=plan.has_whole_values)
    if check.tracker is not None:
        delta = split(delta, check.tracker, counted=plan.counts_rows)
    return _without_ignored(plan.expectation, delta)


def _without_ignored(expectation: Expectation, delta: Delta) -> Delta:
    """Return the delta without the ignored members that are known so far."""
    ignored = expectation.ignored
    return delta if ignored is NOTHING_IGNORED else ignored.leave_out(delta)


def _judge_failed_read(check: CheckRun, ending: Ending) -> Verdict:
    if check.pre.error is not None:
        return _judge_failed_probe(check.plan, "before the action", "baseline_failed", check.pre.error)
    if check.post.error is not None:
        return _judge_failed_probe(check.plan, "after the action", "probe_failed", check.post.error)
    if ending.is_closed_early:
        return _judge_early_close(ending, "an async probe cannot be read any more")
    if ending.error is None:
        return inconclusive("abandoned", "the program ended before its post-state was read")
    note = f"the action was ended by {describe(ending.error)}, and an async probe cannot be read any more"
    return inconclusive("action_failed", note, Raised.by_action(ending.error))


def _judge_failed_probe(plan: CheckPlan, when: str, reason: Reason, error: BaseException) -> Verdict:
    kind, raised = type(error), Raised.of(error)
    if issubclass(kind, Unfreezable):
        return inconclusive("incomparable", f"the probe's value {when} cannot be compared: {error}", raised)
    if issubclass(kind, ProbeTimeout):
        return inconclusive("probe_timeout", f"{when} {error}", raised)
    name = probe_name(plan.probe.function)
    probe = f"the probe {name}" if name else "the probe"
    return inconclusive(reason, f"{when} {probe} raised {describe(error)}", raised)


def _judge_failed_action(delta: Delta, states: States, error: BaseException) -> Verdict:
    note = f"the action raised {describe(error)}; the state {_describe_change(delta, states)}"
    return inconclusive("action_failed", note, Raised.by_action(error))


def _judge_early_close(ending: Ending, observation: str) -> Verdict:
    values = "1 value" if ending.yielded == 1 else f"{ending.yielded} values"
    note = f"the generator was closed after {values}, before it ended; {observation}"
    return inconclusive("abandoned", note)


def _describe_change(delta: Delta, states: States) -> str:
    tally = f"; {delta.tally}" if isinstance(delta, TaggedDelta) else ""
    return f"{_describe_delta(delta)}{transition(*states)}{tally}"


def _describe_delta(delta: Delta) -> str:
    return delta.words() if delta.changed else "did not change"


def _judge_rows(
    plan: CheckPlan, expectation: Expectation, delta: Delta, states: States, overlap: Overlap
) -> tuple[Delta, Verdict, Attribution]:
    """Judge tagged rows. A verdict that rests on untagged changes is contended.

    Returns:
        The delta, with the removals that the action claims credited to it; the verdict; and why the change
        is credited to the action.
    """
    attribution = plan.attribution
    if not isinstance(delta, TaggedDelta):
        both = describe_kinds(*states)
        note = f"the two states are not both of tagged rows ({both}); read them with the same tagged() probe"
        return delta, inconclusive("incomparable", note), attribution
    if _keeps_others(expectation):
        return _judge_rows_beside_others(plan, expectation, delta, states, overlap)
    verdict = expectation.judge(delta, *states)
    doubt = None if plan.ignores_rivals else credit_problem(expectation, delta, verdict, states)
    return delta, verdict if doubt is None else inconclusive("contended", doubt), attribution


def _judge_rows_beside_others(
    plan: CheckPlan, expectation: ChangeExpectation, delta: TaggedDelta, states: States, overlap: Overlap
) -> tuple[Delta, Verdict, Attribution]:
    """Judge tagged rows if rows of others must be kept.

    Untagged changes then count against the action.
    """
    rest: Any = expectation.ignored.leave_out(delta)
    claimed = removals_of_others(expectation.movement, rest)
    verdict = expectation.judge(delta.credited(claimed), *states)
    doubt = None
    if not plan.ignores_rivals:
        other = _writer_beside(overlap) if overlap.writer_count else None
        doubt = credit_problem_beside_others(expectation, delta, verdict, states, claimed, other)
    attribution = plan.attribution
    if rest.unsigned.changed:
        # No tag credits the change to the action. It is credited because no other window was open.
        attribution = choose_attribution(uses_tag=False, is_locked=False, is_scoped=bool(plan.scope_names))
    judged = verdict if doubt is None else inconclusive("contended", doubt)
    return delta.credited(claimed), judged, attribution


def _keeps_others(expectation: Expectation) -> TypeGuard[ChangeExpectation]:
    return isinstance(expectation, ChangeExpectation) and expectation.keeps_others


def _writer_beside(overlap: Overlap) -> str:
    if not overlap.writers:
        return "another run, which had a window of the same scope open meanwhile"
    rival = overlap.writers[0]
    duration = _milliseconds(rival)
    return f"{_describe_rival(rival)}, which had a window of the same scope open for {duration} of this one"


class _RunValues:
    """The values that one run has for the operands of its expectation.

    Args:
        plan: the check, whose operands are bound to callables.
        known: name → value of everything that the callables may name.
    """

    __slots__ = ("_known", "_plan")

    def __init__(self, plan: CheckPlan, known: Mapping[str, Any]) -> None:
        self._plan = plan
        self._known = known

    def compute(self, operand: Computed) -> object:
        bound = self._bound(operand)
        return read_own_generator(bound.call(self._known), bound.function)

    def bind(self, predicate: Predicate) -> BoundPredicate:
        bound = self._bound(predicate)
        named = {name: self._known[name] for name in bound.names if name in self._known}
        return BoundPredicate(bound.call, named, bound.names, predicate.name)

    def _bound(self, operand: Operand) -> Bound:
        bound = next(bound for each, bound in self._plan.computed if each is operand)
        if RESULT in bound.names and RESULT not in self._known:
            raise LookupError("it names 'result', and this window was given none; use verify(result=...)")
        return bound


def _needs_attribution(plan: CheckPlan, expectation: Expectation, verdict: Verdict) -> bool:
    if ATTRIBUTION_KINDS[plan.attribution].tolerates_rivals:
        return False
    if verdict is OBSERVED or verdict.outcome == "inconclusive":
        return False
    # An unchanged state is credited to nobody. One that changed may have been changed by the rival.
    return verdict.outcome == "fail" or not isinstance(expectation, NoChange)


def _judge_contention(
    expectation: Expectation, delta: Delta, states: States, overlap: Overlap
) -> Verdict | None:
    """Return the verdict on a change that another run may have made, or None.

    A claim to a change contends with other claims to a change. A state that had to stay, and changed, may
    have been changed by any run, whatever that one claims.
    """
    moved = f"the state {_describe_delta(delta)}{transition(*states)}, but"
    if isinstance(expectation, NoChange):
        had = "had a window of {scope} open"
        rivals = _describe_rivals(overlap.runs, overlap.run_count, had)
        note = f"{moved} {rivals}, so nobody knows which run changed it"
    elif overlap.writer_count:
        rivals = _describe_rivals(overlap.writers, overlap.writer_count, "wrote to {scope}")
        note = f"{moved} {rivals}, so the change cannot be credited to one of them"
    else:
        return None
    return inconclusive("contended", f"{note}; {_CURES}")


def _describe_rivals(rivals: Sequence[Rival], count: int, act: str) -> str:
    """Return a clause that names the runs which overlapped."""
    doubt = next((rival.doubt for rival in rivals if rival.doubt), "")
    act = act.format(scope="what may be the same scope" if doubt else "the same scope")
    why = f" ({doubt})" if doubt else ""
    if count == 1 and rivals:
        [rival] = rivals
        return f"{_describe_rival(rival)} {act} for {_milliseconds(rival)} of this window{why}"
    names = [f"{_describe_rival(rival)} for {_milliseconds(rival)}" for rival in rivals]
    if count > len(rivals):
        names.append(f"{count - len(rivals)} more" if rivals else "runs that are not known by name any more")
    runs = "1 other run" if count == 1 else f"{count} other runs"
    return f"{runs} {act} during this window{why}: {', '.join(names)}"


def _describe_rival(rival: Rival) -> str:
    return f"{rival.action} (causal tag {rival.tag})"


def _milliseconds(rival: Rival) -> str:
    return f"{rival.seconds * 1000:.1f} ms"
