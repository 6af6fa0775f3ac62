"""From two reads to a verdict: the rules of an honest answer, in the order in which they apply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltaspan._contention import Rival
from deltaspan._deltas import Delta
from deltaspan._difference import difference
from deltaspan._freeze import Unfreezable
from deltaspan._plan import PRE_STATE, RESULT, CheckPlan
from deltaspan._reading import Read
from deltaspan._records import OBSERVED, UNREAD, Verdict, inconclusive
from deltaspan._render import show
from deltaspan._reports import CheckReport
from deltaspan.expectations.base import with_operands

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
) -> CheckReport:
    """Judge one check of one run and report it; never raises.

    Args:
        plan: the check.
        pre: the read before the action.
        post: the read after it.
        values: the arguments that checks named.
        result: what the action returned; UNREAD when that is not known.
        error: what the action raised, or None.
        rival: a window of equal scope that overlapped, or None.
        causal_tag: the tag of the run.
    """
    expectation = plan.expectation
    delta: Delta | None = None
    if pre.error is not None or post.error is not None or post.value is UNREAD:
        verdict = _read_fault(pre, post, error)
    else:
        delta = difference(pre.value, post.value)
        if error is not None and not plan.judged_on_error:
            verdict = _action_failed(delta, pre, post, error)
        else:
            try:
                if plan.computed:
                    expectation = with_operands(expectation, _compute(plan, pre, values, result))
                verdict = expectation.judge(delta, pre.value, post.value)
            except Exception as fault:
                note = f"its expected value could not be computed: {_text(fault)}"
                verdict = inconclusive("expectation_failed", note, fault)
            if rival is not None and _unattributed(plan, verdict):
                verdict = _contended(delta, pre, post, rival)
    return CheckReport(
        plan.metric,
        verdict,
        plan.attribution,
        causal_tag,
        pre.value,
        post.value,
        delta,
        expectation,
        pre.seconds + post.seconds,
    )


def _read_fault(pre: Read, post: Read, error: BaseException | None) -> Verdict:
    if pre.error is not None:
        return _fault("before the action", "baseline_failed", pre.error)
    if post.error is not None:
        return _fault("after the action", "probe_failed", post.error)
    note = f"the action was ended by {_text(error)}, and an async probe cannot be read any more"
    return inconclusive("action_failed", note, error)


def _fault(when: str, reason: Any, error: Exception) -> Verdict:
    if isinstance(error, Unfreezable):
        return inconclusive("incomparable", f"the probe's value {when} cannot be compared: {error}", error)
    return inconclusive(reason, f"the probe raised {_text(error)} {when}", error)


def _action_failed(delta: Delta, pre: Read, post: Read, error: BaseException) -> Verdict:
    happened = delta.words() if delta.changed else "did not change"
    note = f"the action raised {_text(error)}; the state {happened} ({show(pre.value)} → {show(post.value)})"
    return inconclusive("action_failed", note, error)


def _compute(plan: CheckPlan, pre: Read, values: Mapping[str, Any], result: Any) -> dict[str, Any]:
    known = {**values, PRE_STATE: pre.value}
    if result is not UNREAD:
        known[RESULT] = result
    computed = {}
    for path, bound in plan.computed:
        if RESULT in bound.names and result is UNREAD:
            raise LookupError("it names 'result', and this window was given none; use verify(result=...)")
        computed[path] = bound.call(known)
    return computed


def _unattributed(plan: CheckPlan, verdict: Verdict) -> bool:
    if plan.attribution == "causal_tag" or verdict is OBSERVED or verdict.outcome == "inconclusive":
        return False
    # An unchanged state needs nobody to credit; one that changed may have been changed by the rival.
    return plan.claims_change or verdict.outcome == "fail"


def _contended(delta: Delta, pre: Read, post: Read, rival: Rival) -> Verdict:
    happened = delta.words() if delta.changed else "did not change"
    note = (
        f"the state {happened} ({show(pre.value)} → {show(post.value)}), but {rival.action} "
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
