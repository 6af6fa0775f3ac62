"""Content: what a ready-made probe reads of rows, documents and texts, and what of it a report may show.

Keys, paths, sizes and numbers say what changed. Values leave if the check says `.showing()`, or the process
says `DELTASPAN_CAPTURE_STATE=full`. The verdict is reached on the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

from deltaspan._deltas import Delta, MappingDelta, NumberDelta, SequenceDelta, SetDelta
from deltaspan._records import UNREAD, Verdict
from deltaspan._redaction import reason_in_words
from deltaspan._render import show
from deltaspan._reports import CheckReport
from deltaspan._written import Written
from deltaspan.typing import Reason

__all__ = ["HIDDEN", "outline", "without_content"]

HIDDEN: Final = "(content)"
"""What stands for one value."""
_NUMBERS: Final = (int, float, complex, Decimal, type(None), range)
"""What is shown of a state that is nothing more; within a row or a document a number is content too."""
_READ_FAULTS: Final[frozenset[Reason]] = frozenset({"baseline_failed", "probe_failed", "probe_timeout"})
"""Reasons whose sentence says why a system could not be read, and quotes no state."""
_MOST_NAMED: Final = 5
_CURE: Final = "its values are content and not shown; say .showing() to see them"


def outline(state: Any) -> Any:
    """Return a frozen state with its keys and sizes, and without its values."""
    if state is UNREAD or isinstance(state, _NUMBERS):
        return state
    if isinstance(state, str):
        return f"(text of {len(state)} characters)"
    if isinstance(state, bytes):
        return f"({len(state)} bytes)"
    return _within(state)


def _within(state: Any) -> Any:
    if isinstance(state, Mapping):
        return MappingProxyType({key: _within(value) for key, value in state.items()})
    if isinstance(state, tuple):
        return tuple(_within(member) for member in state)
    if isinstance(state, AbstractSet):
        return f"({len(state)} members)"
    return state if isinstance(state, range) else HIDDEN


def without_content(report: CheckReport, *, claims_change: bool, has_computed_operands: bool) -> CheckReport:
    """Return the report with outlines in place of states, and a sentence that quotes no value.

    Args:
        report: the report as reached on the true states.
        claims_change: whether the check claims that its state changes.
        has_computed_operands: whether what was expected may quote a value, because the action's result or the
            baseline gave it.
    """
    verdict, delta = report.verdict, report.delta
    if verdict.outcome == "skipped" or verdict.reason in _READ_FAULTS:
        return report._replace(pre=outline(report.pre), post=outline(report.post))
    if delta is not None and isinstance(delta, NumberDelta):
        return report
    expected = "(computed)" if has_computed_operands else report.expectation.expected
    words = None if delta is None else _words(delta)
    told = _sentence(report, words, expected, claims_change=claims_change)
    hint = getattr(report.expectation, "hint", None)
    told = f"{told}; {hint}" if hint else told
    written = Written(expected, None if delta is None else _value(delta), told, bool(delta and delta.changed))
    return report._replace(
        verdict=Verdict(verdict.outcome, verdict.reason, None if delta is not None else told),
        pre=outline(report.pre),
        post=outline(report.post),
        delta=None if delta is None else written,
        expectation=written,
    )


def _sentence(report: CheckReport, words: str | None, expected: object, *, claims_change: bool) -> str:
    metric, outcome = report.metric, report.outcome
    if report.reason is not None or words is None:
        happened = "" if words is None else f"; it {words}"
        why = "" if report.reason is None else f" has no verdict, because {reason_in_words(report)}"
        return f"{metric}{why}{happened}; {_CURE}"
    if outcome == "pass":
        return f"{metric} {words}, as expected"
    if outcome == "observed":
        return f"{metric} {words}; no claim was made"
    if not claims_change:
        return f"expected {metric} to stay unchanged, but it {words}; {_CURE}"
    demand = expected if isinstance(expected, str) else show(expected)
    return f"{metric} did not change as expected ({demand}), for it {words}; {_CURE}"


def _words(delta: Delta) -> str:
    kinds: list[tuple[str, str]] = []
    if isinstance(delta, MappingDelta):
        kinds = [
            (verb, _named([show(path.member) for path in islice(entries, _MOST_NAMED)], len(entries)))
            for verb, entries in (
                ("added", delta.added),
                ("removed", delta.removed),
                ("modified", delta.modified),
            )
        ]
    elif isinstance(delta, SequenceDelta | SetDelta):
        if isinstance(delta, SequenceDelta) and delta.reordered:
            return "reordered its members"
        kinds = [("added", _counted(len(delta.added))), ("removed", _counted(len(delta.removed)))]
    said = [f"{verb} {members}" for verb, members in kinds if members]
    if said:
        return " and ".join([", ".join(said[:-1]), said[-1]]) if said[1:] else said[0]
    return "changed" if delta.changed else "did not change"


def _named(shown: Iterable[str], count: int) -> str:
    text = ", ".join(shown)
    return f"{text} and {count - _MOST_NAMED} more" if count > _MOST_NAMED else text


def _counted(count: int) -> str:
    return f"{count} member{'s' if count > 1 else ''}" if count else ""


def _value(delta: Delta) -> Any:
    if isinstance(delta, SequenceDelta):
        named = {"added": _within(delta.added), "removed": _within(delta.removed)}
        return MappingProxyType({**named, "reordered": delta.reordered})
    if isinstance(delta, MappingDelta | SetDelta):
        return _within(delta.value)
    return delta.value
