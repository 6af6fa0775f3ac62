"""Content of rows, documents and texts: reports show its outline instead.

A report shows the keys, paths, sizes and numbers that changed. It shows values if the check has `.showing()`
or the process has `DELTASPAN_CAPTURE_STATE=full`. The verdict is based on the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from decimal import Decimal
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

from deltaspan._guard import EXHAUSTED
from deltaspan._reports._check import CheckReport
from deltaspan._reports._hints import HintedExpectation
from deltaspan._reports._redaction import HELD, describe_reason
from deltaspan._reports._serialized import SerializedCheck
from deltaspan._state.diff import Delta, MappingDelta, NumberDelta, SequenceDelta, SetDelta, ValueDelta
from deltaspan._state.render import show, with_noun
from deltaspan._verdicts import REASONS, UNREAD, NotLocked, ProbeTimeout, Verdict
from deltaspan.exceptions import ProbeError

HIDDEN: Final = "(content)"
"""The placeholder for one value."""
_NUMBERS: Final = (int, float, complex, Decimal, type(None), range)
"""States of these types are shown. A number within a row or a document is content."""
_SAFE_ERRORS: Final = (ProbeError, ProbeTimeout, NotLocked)
"""Errors whose text was serialized for reports. That of any other may quote what was being read."""
_MAX_NAMED: Final = 5
_MAX_MEMBER_CHARS: Final = 60
_ADVICE: Final = "its values are content and not shown; say .showing() to see them"


def outline(state: Any) -> Any:
    """Return a frozen state with its keys and sizes, and without its values."""
    if state is UNREAD or isinstance(state, _NUMBERS):
        return state
    if isinstance(state, str):
        return f"(text of {len(state)} characters)"
    if isinstance(state, bytes):
        return f"({len(state)} bytes)"
    return _outline_or_hide(state)


def _outline_or_hide(state: Any) -> Any:
    try:
        return _outline_members(state)
    except EXHAUSTED:
        return HIDDEN


def _outline_members(state: Any) -> Any:
    if isinstance(state, Mapping):
        return MappingProxyType({key: _outline_members(value) for key, value in state.items()})
    if isinstance(state, tuple):
        return tuple(_outline_members(member) for member in state)
    if isinstance(state, AbstractSet):
        return f"({len(state)} members)"
    return state if isinstance(state, range) else HIDDEN


def hide_content(report: CheckReport, *, claims_change: bool, has_computed_operands: bool) -> CheckReport:
    """Return the report with outlines for states and without any quoted value.

    Args:
        report: the report on the true states.
        claims_change: whether the check claims that its state changes.
        has_computed_operands: whether the demand may quote a value, because the result of the action or the
            baseline supplied it.
    """
    verdict, delta = report.verdict, report.delta
    if verdict.outcome == "skipped" or _has_safe_note(verdict):
        return replace(report, pre_state=outline(report.pre_state), post_state=outline(report.post_state))
    if delta is not None and isinstance(delta, NumberDelta):
        return report
    expected = "(computed)" if has_computed_operands else report.expectation.expected
    words = None if delta is None else _describe_delta(delta)
    sentence = _describe_outcome(report, words, expected, claims_change=claims_change)
    if isinstance(report.expectation, HintedExpectation):
        sentence = f"{sentence}; {report.expectation.hint}"
    is_of_rows = report.delta is not None and report.delta.others_and_untagged is not None
    value, changed = (None, False) if delta is None else (_outline_delta(delta), delta.changed)
    if verdict.outcome == "pass" and not changed and not is_of_rows:
        sentence = f"{sentence}; {HELD}"
    serialized = SerializedCheck(
        expected, value, sentence, changed, (HIDDEN, HIDDEN) if is_of_rows else None, report.origin
    )
    note = sentence.removeprefix(f"{report.metric} ") if delta is None else None
    return replace(
        report,
        verdict=Verdict(verdict.outcome, verdict.reason, note),
        pre_state=outline(report.pre_state),
        post_state=outline(report.post_state),
        delta=None if delta is None else serialized,
        expectation=serialized,
    )


def _has_safe_note(verdict: Verdict) -> bool:
    raised = verdict.raised
    return (
        verdict.reason is not None
        and REASONS[verdict.reason].is_unreadable
        and (raised is None or isinstance(raised.error, _SAFE_ERRORS))
    )


def _describe_outcome(
    report: CheckReport, words: str | None, expected: object, *, claims_change: bool
) -> str:
    metric, outcome = report.metric, report.outcome
    if report.reason is not None or words is None:
        happened = "" if words is None else f"; it {words}"
        why = "" if report.reason is None else f" has no verdict, because {describe_reason(report)}"
        return f"{metric}{why}{happened}; {_ADVICE}"
    if outcome == "pass":
        return f"{metric} {words}, as expected"
    if outcome == "observed":
        return f"{metric} {words}; no claim was made"
    if not claims_change:
        return f"expected {metric} to stay unchanged, but it {words}; {_ADVICE}"
    demand = expected if isinstance(expected, str) else show(expected)
    return f"{metric} did not change as expected ({demand}), for it {words}; {_ADVICE}"


def _describe_delta(delta: Delta) -> str:
    kinds: list[tuple[str, str]] = []
    if isinstance(delta, MappingDelta):
        kinds = [
            (verb, _list_keys((show(path.member, _MAX_MEMBER_CHARS) for path in entries), len(entries)))
            for verb, entries in (
                ("added", delta.added),
                ("removed", delta.removed),
                ("modified", delta.modified),
            )
        ]
    elif isinstance(delta, SequenceDelta | SetDelta):
        if isinstance(delta, SequenceDelta) and delta.reordered:
            return "reordered its members"
        kinds = [("added", _count_members(len(delta.added))), ("removed", _count_members(len(delta.removed)))]
    parts = [f"{verb} {members}" for verb, members in kinds if members]
    if parts:
        return " and ".join([", ".join(parts[:-1]), parts[-1]]) if parts[1:] else parts[0]
    return "changed" if delta.changed else "did not change"


def _list_keys(shown: Iterable[str], count: int) -> str:
    text = with_noun("key", ", ".join(islice(shown, _MAX_NAMED)), count)
    return f"{text} and {count - _MAX_NAMED} more" if count > _MAX_NAMED else text


def _count_members(count: int) -> str:
    return f"{count} member{'s' if count > 1 else ''}" if count else ""


def _outline_delta(delta: Delta) -> Any:
    if isinstance(delta, SequenceDelta):
        named = {"added": _outline_or_hide(delta.added), "removed": _outline_or_hide(delta.removed)}
        return MappingProxyType({**named, "reordered": delta.reordered})
    if isinstance(delta, MappingDelta | SetDelta):
        return _outline_or_hide(delta.value)
    # Nothing may be shown of an unknown kind of delta.
    return delta.value if isinstance(delta, ValueDelta) else HIDDEN
