"""From two reads to a verdict: the rules of an honest answer, in the order in which they apply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltaspan._contention import Rival
from deltaspan._crediting import doubt_of
from deltaspan._deltas import Delta, Owned, TaggedDelta, split
from deltaspan._difference import difference
from deltaspan._freeze import Unfreezable
from deltaspan._hints import Hinted
from deltaspan._limits import ProbeTimeout
from deltaspan._locking import NotLocked
from deltaspan._plan import RESULT, CheckPlan
from deltaspan._probes import name_of_probe
from deltaspan._reading import Read
from deltaspan._records import OBSERVED, UNREAD, Verdict, inconclusive
from deltaspan._render import kinds, transition
from deltaspan._reports import CheckReport
from deltaspan.expectations import Expectation, NoChange
from deltaspan.expectations.base import Explained
from deltaspan.expectations.ignoring import NOTHING_IGNORED
from deltaspan.expectations.operands import PRE_STATE, Question, is_predicate, with_operands

__all__ = ["judge"]


def judge(
    plan: CheckPlan,
    pre: Read,
    post: Read,
    values: Mapping[str, Any],
    result: Any,
    error: BaseException | None,
    rival: Rival | None,
    causal_tag: str,
    left: int | None = None,
    owned: Owned | None = None,
) -> CheckReport:
    """Judge one check of one run and report it; never raises.

    Args:
        plan: the check.
        pre: the read before the action.
        post: the read after it.
        values: the arguments that checks named.
        result: what the action returned; UNREAD when that is not known.
        error: what the action raised, or None.
        rival: a window of equal scope that overlapped and counts, or None.
        causal_tag: the tag of the run.
        left: how many values a generator had yielded when it was closed early; None when it was not.
        owned: knows which tags are this run's or a descendant's; None for states that are not of tagged rows.
    """
    expectation: Expectation = plan.expectation
    delta: Delta | None = None
    if pre.error is not None or post.error is not None or post.value is UNREAD:
        verdict = _read_fault(plan, pre, post, error, left)
    else:
        delta = difference(pre.value, post.value)
        if owned is not None:
            delta = split(delta, owned, counted=plan.counts_rows)
        if left is not None and not plan.judged_when_left:
            verdict = _abandoned(left, f"the state {_moved(delta, pre, post)}")
        elif error is not None and not plan.judged_on_error and not plan.unchanged_on_error:
            verdict = _action_failed(delta, pre, post, error)
        else:
            try:
                expectation = _settled(plan, pre, values, result, error)
                verdict = expectation.judge(delta, pre.value, post.value)
                if owned is not None:
                    verdict = _on_rows(plan, expectation, delta, verdict, pre, post)
            except KeyboardInterrupt:
                raise
            except BaseException as fault:
                note = f"its expected value could not be computed: {_text(fault)}"
                verdict = inconclusive("expectation_failed", note, fault)
            if rival is not None and _unattributed(plan, expectation, verdict):
                verdict = _contended(delta, pre, post, rival)
    explained: Explained = expectation
    if (
        plan.hint is not None
        and verdict.outcome == "fail"
        and plan.claims_change
        and not (delta and delta.changed)
    ):
        explained = Hinted(expectation, plan.hint)
    return CheckReport(
        plan.metric,
        verdict,
        plan.attribution,
        causal_tag,
        pre.value,
        post.value,
        delta,
        explained,
        pre.seconds + post.seconds,
    )


def _settled(
    plan: CheckPlan, pre: Read, values: Mapping[str, Any], result: Any, error: BaseException | None
) -> Expectation:
    """Return what the delta must satisfy in this run: as it ended, and with what is computed of it."""
    expectation: Expectation = plan.expectation
    if error is not None and plan.unchanged_on_error:
        ignored = getattr(expectation, "ignored", NOTHING_IGNORED)
        expectation = NoChange(ignored, type(error).__name__)
    if not plan.computed:
        return expectation
    computed = _compute(plan, expectation, pre, values, result)
    return with_operands(expectation, computed) if computed else expectation


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
    note = f"the action was ended by {_text(error)}, and an async probe cannot be read any more"
    return inconclusive("action_failed", note, error)


def _fault(plan: CheckPlan, when: str, reason: Any, error: BaseException) -> Verdict:
    if isinstance(error, Unfreezable):
        return inconclusive("incomparable", f"the probe's value {when} cannot be compared: {error}", error)
    if isinstance(error, ProbeTimeout):
        return inconclusive("probe_timeout", f"{when} {error}", error)
    if isinstance(error, NotLocked):
        return inconclusive(reason, str(error), error)
    name = name_of_probe(plan.probe.function)
    probe = f"the probe {name}" if name else "the probe"
    return inconclusive(reason, f"{when} {probe} raised {_text(error)}", error)


def _action_failed(delta: Delta, pre: Read, post: Read, error: BaseException) -> Verdict:
    note = f"the action raised {_text(error)}; the state {_moved(delta, pre, post)}"
    return inconclusive("action_failed", note, error)


def _abandoned(left: int, found: str) -> Verdict:
    values = "1 value" if left == 1 else f"{left} values"
    note = f"the generator was closed after {values}, before it ended; {found}"
    return inconclusive("abandoned", note)


def _moved(delta: Delta, pre: Read, post: Read) -> str:
    happened = delta.words() if delta.changed else "did not change"
    tally = f"; {delta.tally}" if isinstance(delta, TaggedDelta) else ""
    return f"{happened}{transition(pre.value, post.value)}{tally}"


def _on_rows(
    plan: CheckPlan, expectation: Expectation, delta: Delta, verdict: Verdict, pre: Read, post: Read
) -> Verdict:
    """Return the verdict on tagged rows, which stands unless it rests on who wrote what nobody signed."""
    if not isinstance(delta, TaggedDelta):
        both = kinds(pre.value, post.value)
        note = f"the two states are not both of tagged rows ({both}); read them with the same tagged() probe"
        return inconclusive("incomparable", note)
    doubt = None if plan.ignores_rivals else doubt_of(expectation, delta, verdict, (pre.value, post.value))
    return verdict if doubt is None else inconclusive("contended", doubt)


def _compute(
    plan: CheckPlan, expectation: Expectation, pre: Read, values: Mapping[str, Any], result: Any
) -> dict[str, Any]:
    known = {**values, PRE_STATE: pre.value}
    if result is not UNREAD:
        known[RESULT] = result
    computed: dict[str, Any] = {}
    for path, bound in plan.computed:
        if not hasattr(expectation, path.partition(".")[0]):
            continue  # of the claim that an action which raised is not held to
        if RESULT in bound.names and result is UNREAD:
            raise LookupError("it names 'result', and this window was given none; use verify(result=...)")
        if is_predicate(path):
            named = {name: known[name] for name in bound.names if name in known}
            computed[path] = Question(bound.call, named)
        else:
            computed[path] = bound.call(known)
    return computed


def _unattributed(plan: CheckPlan, expectation: Expectation, verdict: Verdict) -> bool:
    if plan.attribution == "causal_tag" or verdict is OBSERVED or verdict.outcome == "inconclusive":
        return False
    # An unchanged state needs nobody to credit; one that changed may have been changed by the rival.
    return verdict.outcome == "fail" or not isinstance(expectation, NoChange)


def _contended(delta: Delta, pre: Read, post: Read, rival: Rival) -> Verdict:
    happened = delta.words() if delta.changed else "did not change"
    note = (
        f"the state {happened}{transition(pre.value, post.value)}, but {rival.action} "
        f"(causal tag {rival.tag}) wrote to the same scope for {rival.seconds * 1000:.1f} ms of this window, "
        f"so the change cannot be credited to one of them; scope the probe by an argument, tag what the "
        f"action makes and let the probe take causal_tag, or hold a lock around the action"
    )
    return inconclusive("contended", note)


def _text(error: BaseException | None) -> str:
    try:
        text = str(error)
    except Exception:
        text = ""
    name = type(error).__name__
    return f"{name}: {text}" if text else name
