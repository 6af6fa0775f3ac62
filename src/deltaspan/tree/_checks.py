"""Read the checks of a run from the events and attributes of spans."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from deltaspan import semconv
from deltaspan._state.render import attribute_key
from deltaspan.typing import Outcome

if TYPE_CHECKING:
    from deltaspan.tree._model import Span

WORST_FIRST: Final[tuple[Outcome, ...]] = ("fail", "inconclusive", "pass", "observed", "skipped")


@dataclass(frozen=True, slots=True)
class CheckVerdict:
    """The verdict of one check of a run, as recorded in telemetry.

    Attributes:
        metric: the name of the measured state.
        outcome: its verdict, or None if its span has none.
        reason: why an inconclusive check has no verdict, else None.
        attribution: why the change may be credited to the run, or None if its span does not tell.
        origin: who made the change, or None if there was none.
        expected_delta: the expected change.
        actual_delta: the change, or None if a state is missing.
        pre_state: the baseline as it was sent, or None if it was not read.
        post_state: the state after the action as it was sent, or None if it was not read.
        explanation: one sentence about what was expected and what happened.
    """

    metric: str
    outcome: Outcome | None
    reason: str | None
    attribution: str | None
    origin: str | None
    expected_delta: Any
    actual_delta: Any
    pre_state: Any
    post_state: Any
    explanation: str

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


def checks_of(spans: Iterable[Span]) -> tuple[CheckVerdict, ...]:
    """Return the checks of a run, with the worst verdict on each metric.

    Args:
        spans: the spans of the run, in order of their starts.
    """
    by_metric: dict[str, CheckVerdict] = {}
    for check in (check for span in spans for check in _on(span)):
        other = by_metric.get(check.metric)
        if other is None or _rank(check) < _rank(other):
            by_metric[check.metric] = check
    return tuple(by_metric.values())


def outcome_in(attributes: Mapping[str, Any], name: str) -> Outcome | None:
    """Return the outcome in an attribute, or None if it is missing or unknown."""
    outcome = attributes.get(name)
    return cast("Outcome", outcome) if outcome in WORST_FIRST else None


def failed_on(span: Span) -> list[str]:
    """Return the metrics whose checks failed, from the attribute of a span."""
    return _metrics_in(span, semconv.CHECK_FAILED_METRICS)


def _metrics_in(span: Span, name: str) -> list[str]:
    metrics: Any = span.attributes.get(name)
    if isinstance(metrics, str) and metrics.startswith("["):  # stores without lists keep them as text
        try:
            metrics = json.loads(metrics)
        except (ValueError, RecursionError):
            return []
    return [metric for metric in metrics if isinstance(metric, str)] if isinstance(metrics, list) else []


def _rank(check: CheckVerdict) -> int:
    return len(WORST_FIRST) if check.outcome is None else WORST_FIRST.index(check.outcome)


def _on(span: Span) -> Iterator[CheckVerdict]:
    for event in span.checks:
        metric = _text(event, semconv.CHECK_METRIC)
        if metric is not None:
            yield _of_event(metric, event, span)
    # If the events were sent as logs, the span still has the states.
    metrics = [_text(event, semconv.CHECK_METRIC) for event in span.checks]
    in_events = {attribute_key(metric) for metric in metrics if metric is not None}
    for name in span.attributes:
        key = name.removeprefix(semconv.EXPECTED_DELTA_PREFIX)
        if key != name and key not in in_events:
            yield _of_attributes(key, span)


def _of_event(metric: str, event: Mapping[str, Any], span: Span) -> CheckVerdict:
    # A run of many checks has the states in its events instead.
    key = attribute_key(metric)
    pre_state, post_state = (
        event.get(on_event, span.attributes.get(on_span + key))
        for on_event, on_span in (
            (semconv.CHECK_PRE_STATE, semconv.PRE_STATE_PREFIX),
            (semconv.CHECK_POST_STATE, semconv.POST_STATE_PREFIX),
        )
    )
    return CheckVerdict(
        metric,
        outcome_in(event, semconv.CHECK_OUTCOME),
        _text(event, semconv.CHECK_REASON),
        _text(event, semconv.CHECK_ATTRIBUTION),
        _text(event, semconv.CHECK_ORIGIN),
        event.get(semconv.CHECK_EXPECTED_DELTA),
        event.get(semconv.CHECK_ACTUAL_DELTA),
        pre_state,
        post_state,
        _text(event, semconv.CHECK_EXPLANATION) or "",
    )


def _of_attributes(key: str, span: Span) -> CheckVerdict:
    expected, actual, pre_state, post_state = (
        span.attributes.get(prefix + key)
        for prefix in (
            semconv.EXPECTED_DELTA_PREFIX,
            semconv.ACTUAL_DELTA_PREFIX,
            semconv.PRE_STATE_PREFIX,
            semconv.POST_STATE_PREFIX,
        )
    )
    metric, outcome = _verdict_on(key, span)
    sentence = f"{metric}: expected {expected}, but it was {actual} ({pre_state} → {post_state})"
    states = (expected, actual, pre_state, post_state)
    return CheckVerdict(metric, outcome, None, None, None, *states, sentence if outcome == "fail" else "")


def _verdict_on(key: str, span: Span) -> tuple[str, Outcome | None]:
    """Return the metric with a key, and its outcome if a span names it."""
    named: tuple[tuple[str, Outcome], ...] = (
        (semconv.CHECK_FAILED_METRICS, "fail"),
        (semconv.CHECK_INCONCLUSIVE_METRICS, "inconclusive"),
    )
    for name, outcome in named:
        for metric in _metrics_in(span, name):
            if attribute_key(metric) == key:
                return metric, outcome
    return key, None


def _text(attributes: Mapping[str, Any], name: str) -> str | None:
    value = attributes.get(name)
    return value if isinstance(value, str) else None
