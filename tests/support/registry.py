"""Hold received OTLP against the registry of names in telemetry/model.

What the telemetry itself does not tell, such as whether a check polls, a test states as `Facts`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

TELEMETRY = Path(__file__).parents[2] / "telemetry"
SCOPE = "deltaspan"
PREFIX = "deltaspan."
MAX_DETAILED_CHECKS = 16
INTERNAL, ERROR = 1, 2
"""The numbers that OTLP has for the kind of a span and the code of a status."""

TYPES = {
    "string": "string_value",
    "int": "int_value",
    "double": "double_value",
    "boolean": "bool_value",
    "string[]": "array_value",
}
"""The field of an OTLP value, by type of the model. `any` may be in each of them."""

EXCEPTION_EVENT = "exception"
EXCEPTION_ATTRIBUTES = {
    "exception.type",
    "exception.message",
    "exception.stacktrace",
    "exception.escaped",
}
"""OpenTelemetry's own span event for an exception, which its SDK fills."""

_HIDDEN = re.compile(r"\(.*\)|[a-z]+( of \d+)?", re.IGNORECASE)
"""A state or delta that is not shown, or its kind and size."""

METRIC_KEY = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Facts:
    """What a test knows of its actions and checks, by name.

    Attributes:
        functions: actions that are functions, and not windows.
        claims: actions that say whether they succeeded.
        ended: actions that were cancelled or exited.
        raised: actions that raised an error.
        polling: metrics whose checks poll.
        locked: metrics whose checks hold a lock.
        tagged: metrics on tagged rows.
        captured_elsewhere: metrics whose baseline another process captured.
        opted_in: attributes that the settings or a definition ask for.
        foreign: the attributes that a framework sets on its own span, by the name of the span.
    """

    functions: frozenset[str] = frozenset()
    claims: frozenset[str] = frozenset()
    ended: frozenset[str] = frozenset()
    raised: frozenset[str] = frozenset()
    polling: frozenset[str] = frozenset()
    locked: frozenset[str] = frozenset()
    tagged: frozenset[str] = frozenset()
    captured_elsewhere: frozenset[str] = frozenset()
    opted_in: frozenset[str] = frozenset()
    foreign: Mapping[str, Iterable[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Record:
    """One span, event, log record or point of a metric.

    Attributes:
        signal: `span`, `event`, `log` or `metric`.
        name: its name.
        values: its OTLP values, by key.
        span: the span itself, or the span that an event is on. None for logs and metrics.
        is_own: whether deltaspan made the span.
    """

    signal: str
    name: str
    values: Mapping[str, Any]
    span: Any = None
    is_own: bool = True

    def __str__(self) -> str:
        return f"{self.signal} {self.name}"

    def get(self, key: str) -> Any:
        """Return a value, or None."""
        value = self.values.get(key)
        return None if value is None else decoded(value)


def decoded(value: Any) -> Any:
    """Return an OTLP value as a value of Python."""
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [decoded(each) for each in value.array_value.values]
    if kind == "kvlist_value":
        return {pair.key: decoded(pair.value) for pair in value.kvlist_value.values}
    return None if kind is None else getattr(value, kind)


def values_of(holder: Any) -> dict[str, Any]:
    """Return the OTLP values of a span, an event, a log record or a point, by key."""
    return {pair.key: pair.value for pair in holder.attributes}


def condition_of(level: Any) -> str | None:
    """Return the condition of a requirement level, or None.

    What is recommended under a condition is held against it as well: deltaspan does what it recommends.
    """
    if isinstance(level, str):
        return None
    return level.get("conditionally_required") or level.get("recommended")


class Trace:
    """The received spans, and the facts that a test states.

    Args:
        spans: received spans.
        facts: what the telemetry does not tell.
    """

    def __init__(self, spans: Iterable[Any], facts: Facts) -> None:
        self.facts = facts
        self._records = [Record("span", span.name, values_of(span), span) for span in spans]
        self._by_id = {each.span.span_id: each for each in self._records if each.span.span_id}

    def action_of(self, record: Record) -> Any:
        """Return the name of the action of a record, or of the span that an event is on."""
        here = record.get("deltaspan.action.name")
        return here or (
            None
            if record.span is None
            else Record("", "", values_of(record.span)).get("deltaspan.action.name")
        )

    def is_second_span(self, record: Record) -> bool:
        """Return whether a span carries the verdict on a run that has a span of its own."""
        parent = self._by_id.get(record.span.parent_span_id)
        return parent is not None and parent.span is not record.span and _tag_of(parent) == _tag_of(record)

    def has_second_span(self, record: Record) -> bool:
        """Return whether another span carries the verdict on the run of a span."""
        return any(
            each.span is not record.span
            and each.span.parent_span_id == record.span.span_id
            and _tag_of(each) == _tag_of(record)
            for each in self._records
        )

    def attempt_of(self, record: Record) -> int:
        """Return which run of its action below its parent run a span is of."""
        parent = record.get("deltaspan.causal_tag.parent_id")
        if parent is None:
            return 1
        action = record.get("deltaspan.action.name")
        started: dict[Any, int] = {}
        for each in self._records:
            if (
                each.get("deltaspan.causal_tag.parent_id") == parent
                and each.get("deltaspan.action.name") == action
            ):
                tag = _tag_of(each)
                started[tag] = min(each.span.start_time_unix_nano, started.get(tag, 1 << 64))
        return sorted(started, key=lambda tag: started[tag]).index(_tag_of(record)) + 1

    def has_state(self, record: Record, which: str) -> bool | None:
        """Return whether a state was read. None if the telemetry does not tell."""
        if f"deltaspan.check.{which}" in record.values:
            return True
        if record.span is None:
            return False
        prefix = f"deltaspan.{which}."
        on_span = {key for key in values_of(record.span) if key.startswith(prefix)}
        metric = str(record.get("deltaspan.check.metric"))
        if not any(key.startswith("deltaspan.expected_delta.") for key in values_of(record.span)):
            return None  # too many checks for their states to be on the span
        return f"{prefix}{key_of(metric)}" in on_span


def _tag_of(record: Record) -> Any:
    return record.get("deltaspan.causal_tag.id")


def key_of(metric: str) -> str:
    """Return the metric as the last part of an attribute's name."""
    key = re.sub(r"[^a-z0-9_]", "_", metric.lower())
    return key if key[0].isalpha() else f"m_{key}"


# Conditions -------------------------------------------------------------------------------------------------

Condition = Callable[[Record, Trace], "bool | None"]


def _is_own_tool(record: Record, trace: Trace) -> bool:
    return record.is_own and record.name.startswith("execute_tool ")


def _is_own_action(record: Record, trace: Trace) -> bool:
    is_function = record.get("deltaspan.action.name") in trace.facts.functions
    return record.is_own and is_function and not trace.is_second_span(record)


def _is_nested(record: Record, trace: Trace) -> bool:
    return _tag_of(record) != record.get("deltaspan.causal_tag.root_id")


def _carries_verdict(record: Record, trace: Trace) -> bool:
    return not (record.get("deltaspan.verification.deferred") or record.get("deltaspan.window.handed_over"))


def _has_failed(record: Record, trace: Trace) -> bool:
    return bool(record.get("deltaspan.action.outcome") == "fail")


def _has_inconclusive(record: Record, trace: Trace) -> bool | None:
    outcome = record.get("deltaspan.action.outcome")
    return None if outcome == "fail" else bool(outcome == "inconclusive")


def _has_few_checks(record: Record, trace: Trace) -> bool:
    count = record.get("deltaspan.check.count")
    return count is not None and count <= MAX_DETAILED_CHECKS


def _may_have_details(record: Record, trace: Trace) -> bool | None:
    return None if _has_few_checks(record, trace) else False


def _event_has_states(record: Record, trace: Trace) -> bool | None:
    if record.signal == "log":
        return True if record.get("deltaspan.check.outcome") in ("pass", "fail") else None
    count = Record("", "", values_of(record.span)).get("deltaspan.check.count")
    return None if count is not None and count > MAX_DETAILED_CHECKS else False


def _claims(record: Record, trace: Trace) -> bool:
    return trace.action_of(record) in trace.facts.claims and (
        record.signal != "span" or _carries_verdict(record, trace)
    )


def _ended(record: Record, trace: Trace) -> bool:
    return _carries_verdict(record, trace) and record.get("deltaspan.action.name") in trace.facts.ended


def _is_deferred(record: Record, trace: Trace) -> bool:
    return (
        record.get("deltaspan.action.name") in trace.facts.functions
        and not trace.is_second_span(record)
        and trace.has_second_span(record)
    )


def _is_handed_over(record: Record, trace: Trace) -> bool:
    return record.get("deltaspan.action.name") not in trace.facts.functions and trace.has_second_span(record)


def _is_error(record: Record, trace: Trace) -> bool:
    has_raised = record.get("deltaspan.action.name") in trace.facts.raised and not trace.is_second_span(
        record
    )
    return record.is_own and (has_raised or record.get("deltaspan.action.outcome") == "fail")


def _has_error(record: Record, trace: Trace) -> bool | None:
    action = record.get("deltaspan.action.name") or record.get("gen_ai.tool.name")
    if action in trace.facts.raised or record.get("deltaspan.action.outcome") == "fail":
        return True
    return None if "deltaspan.action.outcome" not in record.values else False


def _is_inconclusive(record: Record, trace: Trace) -> bool:
    label = record.get("gen_ai.evaluation.score.label") or record.get("deltaspan.check.outcome")
    return bool(label == "inconclusive")


def _were_states_read(record: Record, trace: Trace) -> bool | None:
    reads = [trace.has_state(record, which) for which in ("pre_state", "post_state")]
    return None if None in reads else all(reads)


def _saw_change(record: Record, trace: Trace) -> bool | None:
    if record.signal == "metric":
        return None
    delta = record.get("deltaspan.check.actual_delta")
    if delta in (None, 0, "no change"):
        return None if delta is None or _is_inconclusive(record, trace) else False
    return None if _HIDDEN.fullmatch(str(delta)) else True


def _metric_in(name: str) -> Condition:
    def holds(record: Record, trace: Trace) -> bool:
        return record.get("deltaspan.check.metric") in getattr(trace.facts, name)

    return holds


def _polls_or_locks(record: Record, trace: Trace) -> bool:
    metric = record.get("deltaspan.check.metric")
    return metric in trace.facts.polling | trace.facts.locked | trace.facts.captured_elsewhere


def _something_raised(record: Record, trace: Trace) -> bool | None:
    reason = record.get("deltaspan.check.reason")
    if reason in ("probe_failed", "baseline_failed", "expectation_failed"):
        return True
    return None if reason in ("probe_timeout", "incomparable") else False


CONDITIONS: dict[str, Condition] = {
    "on our span of a tool": _is_own_tool,
    "on our span of an action": _is_own_action,
    "if another run called this one": _is_nested,
    "from the second run on": lambda record, trace: trace.attempt_of(record) > 1,
    "if this span carries the verdict": _carries_verdict,
    "if the action says whether it succeeded": _claims,
    "if the action was cancelled or exited": _ended,
    "if a check failed": _has_failed,
    "if a check is inconclusive": _has_inconclusive,
    "if the run has at most 16 checks": _has_few_checks,
    "if the run has at most 16 checks and the state was read": _may_have_details,
    "if the run has at most 16 checks and both states were read": _may_have_details,
    "on a log record, or on a span event if the run has more than 16 checks": _event_has_states,
    "if the verdict is reached after the action has returned, on the span of the action": _is_deferred,
    "if the window was handed over": _is_handed_over,
    "on our span, if the action raised an error or a check failed": _is_error,
    "if the action raised, or a check failed": _has_error,
    "if the check is inconclusive": _is_inconclusive,
    "unless the check is inconclusive": lambda record, trace: not _is_inconclusive(record, trace),
    "if both states were read": _were_states_read,
    "if a change was seen": _saw_change,
    "on tagged rows": _metric_in("tagged"),
    "if the check polls, holds a lock, or has a baseline of another process": _polls_or_locks,
    "if the check polls": _metric_in("polling"),
    "if the check holds a lock": _metric_in("locked"),
    "if another process captured the baseline": _metric_in("captured_elsewhere"),
    "if a probe, an expected value or a predicate raised": _something_raised,
    "on a log record, because a span event has it on its span": lambda record, trace: record.signal == "log",
}
"""The conditions of the model. Each returns whether it holds, or None if the telemetry does not tell."""


# The registry -----------------------------------------------------------------------------------------------


class Registry:
    """The names of telemetry/model, with the rules of their definitions.

    Args:
        model: the parts of the model, merged.
        foreign: the attributes of OpenTelemetry's conventions.
        schema_url: the schema URL of the manifest.
    """

    def __init__(self, model: Mapping[str, list[Any]], foreign: list[Any], schema_url: str) -> None:
        self.attributes = {each["key"]: each for each in (*model["attributes"], *foreign)}
        self.spans = {each["name"]["note"].partition(" {")[0]: each for each in model["spans"]}
        self.events = {each["name"]: each for each in model["events"]}
        self.metrics = {each["name"]: each for each in model["metrics"]}
        self.schema_url = schema_url

    @classmethod
    def load(cls) -> Registry:
        """Read telemetry/model and telemetry/foreign.yaml."""
        model: dict[str, list[Any]] = {}
        for path in sorted((TELEMETRY / "model").glob("*.yaml")):
            for kind, entries in yaml.safe_load(path.read_text(encoding="utf-8")).items():
                if isinstance(entries, list):
                    model.setdefault(kind, []).extend(entries)
        foreign = yaml.safe_load((TELEMETRY / "foreign.yaml").read_text(encoding="utf-8"))
        manifest = yaml.safe_load((TELEMETRY / "model" / "manifest.yaml").read_text(encoding="utf-8"))
        return cls(model, foreign, manifest["schema_url"])

    def conditions(self) -> set[str]:
        """Return every condition that the model states."""
        signals = (*self.spans.values(), *self.events.values(), *self.metrics.values())
        levels = [ref["requirement_level"] for signal in signals for ref in signal["attributes"]]
        return {text for level in levels if (text := condition_of(level))}

    def names(self) -> set[tuple[str, str]]:
        """Return every attribute of the model, after the name of its signal."""
        signals = {**self.spans, **self.events, **self.metrics}
        return {(name, ref["ref"]) for name, signal in signals.items() for ref in signal["attributes"]}

    def names_in(self, requests: Iterable[Any]) -> Iterator[tuple[str, str]]:
        """Yield the attributes of the model that arrived, after the name of their signal.

        Args:
            requests: OTLP export requests for traces, logs and metrics.
        """
        requests = list(requests)
        found: list[tuple[str, Any]] = []
        for _, span in _scoped(requests, "spans", "spans"):
            found += [(span.name.partition(" ")[0], span), *((event.name, event) for event in span.events)]
        found += [(log.event_name, log) for _, log in _scoped(requests, "logs", "log_records")]
        for _, metric in _scoped(requests, "metrics", "metrics"):
            points = getattr(metric, str(metric.WhichOneof("data"))).data_points
            found += [(metric.name, point) for point in points]
        for name, item in found:
            for key in values_of(item):
                yield from ((name, ref) for ref in self.attributes if key == ref or key.startswith(f"{ref}."))

    def violations(self, requests: Iterable[Any], facts: Facts | None = None) -> list[str]:
        """Return one line for each rule that received telemetry breaks.

        Args:
            requests: OTLP export requests for traces, logs and metrics.
            facts: what the telemetry does not tell.
        """
        facts = facts or Facts()
        requests = list(requests)
        trace = Trace((span for _, span in _scoped(requests, "spans", "spans")), facts)
        found: list[str] = []
        for scope, span in _scoped(requests, "spans", "spans"):
            found += self._of_span(scope, span, trace)
        for scope, log in _scoped(requests, "logs", "log_records"):
            found += self._of_log(scope, log, trace)
        for scope, metric in _scoped(requests, "metrics", "metrics"):
            found += self._of_metric(scope, metric, trace)
        return found

    def _of_scope(self, name: str, scope: Any) -> Iterator[str]:
        if scope.scope.name == SCOPE:
            if scope.schema_url != self.schema_url:
                yield f"{name}: the schema URL is {scope.schema_url!r}"
            if not scope.scope.version:
                yield f"{name}: the scope has no version"

    def _of_span(self, scope: Any, span: Any, trace: Trace) -> Iterator[str]:
        is_own = scope.scope.name == SCOPE
        record = Record("span", span.name, values_of(span), span, is_own)
        yield from self._of_scope(str(record), scope)
        if is_own:
            definition = self.spans.get(span.name.partition(" ")[0])
            if definition is None or " " not in span.name:
                yield f"{record}: no such span"
            else:
                if (span.status.code == ERROR) != ("error.type" in record.values):
                    yield f"{record}: the status {span.status.code} and error.type do not agree"
                if span.kind != INTERNAL:
                    yield f"{record}: the kind is {span.kind}"
                yield from self._of_attributes(record, definition, trace)
        elif any(key.startswith(PREFIX) for key in record.values):
            own = set(trace.facts.foreign.get(span.name, ()))
            ours = {key: value for key, value in record.values.items() if key not in own}
            yield from (
                f"{record}: {key} does not belong to deltaspan" for key in ours if not key.startswith(PREFIX)
            )
            if span.status.code == ERROR:
                yield f"{record}: the status is an error, which is the framework's to say"
            verdict = Record("span", span.name, ours, span, is_own=False)
            yield from self._of_attributes(verdict, self.spans["execute_tool"], trace)
        for event in span.events:
            yield from self._of_event(Record("event", event.name, values_of(event), span, is_own), trace)

    def _of_event(self, record: Record, trace: Trace) -> Iterator[str]:
        if record.name == EXCEPTION_EVENT:
            yield from (
                f"{record}: {key} is not declared"
                for key in sorted(record.values.keys() - EXCEPTION_ATTRIBUTES)
            )
        elif record.name in self.events:
            yield from self._of_attributes(record, self.events[record.name], trace)
        elif record.is_own or record.name.startswith(PREFIX):
            yield f"{record}: no such event"

    def _of_log(self, scope: Any, log: Any, trace: Trace) -> Iterator[str]:
        if scope.scope.name != SCOPE:
            return
        record = Record("log", log.event_name, values_of(log))
        yield from self._of_scope(str(record), scope)
        if not log.time_unix_nano:
            yield f"{record}: it has no time"
        if record.name not in self.events:
            yield f"{record}: no such event"
        else:
            yield from self._of_attributes(record, self.events[record.name], trace)

    def _of_metric(self, scope: Any, metric: Any, trace: Trace) -> Iterator[str]:
        if scope.scope.name != SCOPE:
            if metric.name.startswith(PREFIX):
                yield f"metric {metric.name}: it is in the scope {scope.scope.name!r}"
            return
        name = f"metric {metric.name}"
        yield from self._of_scope(name, scope)
        definition = self.metrics.get(metric.name)
        if definition is None:
            yield f"{name}: no such metric"
            return
        if metric.unit != definition["unit"]:
            yield f"{name}: the unit is {metric.unit!r}"
        if metric.description != definition["brief"]:
            yield f"{name}: the description is {metric.description!r}"
        kind = metric.WhichOneof("data")
        is_counter = kind == "sum" and metric.sum.is_monotonic
        if definition["instrument"] != ("counter" if is_counter else kind):
            yield f"{name}: the instrument is {kind}"
            return
        bounds = definition.get("annotations", {}).get("bucket_boundaries")
        for point in getattr(metric, kind).data_points:
            if bounds and list(point.explicit_bounds) != bounds:
                yield f"{name}: the bucket boundaries are {list(point.explicit_bounds)}"
            yield from self._of_attributes(Record("metric", metric.name, values_of(point)), definition, trace)

    def _of_attributes(self, record: Record, definition: Any, trace: Trace) -> Iterator[str]:
        refs = {ref["ref"]: ref["requirement_level"] for ref in definition["attributes"]}
        for key, value in record.values.items():
            attribute = self._find(key, refs)
            if attribute is None:
                if record.is_own or key.startswith(PREFIX):
                    yield f"{record}: {key} is not declared"
            else:
                yield from _of_value(record, key, value, attribute["type"])
        for ref, level in refs.items():
            yield from _of_level(record, ref, level, trace)

    def _find(self, key: str, refs: Iterable[str]) -> Any:
        """Return the definition of a key among the attributes of a signal, or None."""
        for ref in refs:
            attribute = self.attributes[ref]
            if not str(attribute["type"]).startswith("template["):
                if key == ref:
                    return attribute
            elif key.startswith(f"{ref}.") and METRIC_KEY.fullmatch(key.removeprefix(f"{ref}.")):
                return attribute
        return None


def _scoped(requests: Iterable[Any], signal: str, items: str) -> Iterator[tuple[Any, Any]]:
    for request in requests:
        for resource in getattr(request, f"resource_{signal}", ()):
            for scope in getattr(resource, f"scope_{signal}"):
                for item in getattr(scope, items):
                    yield scope, item


def _of_value(record: Record, key: str, value: Any, kind: Any) -> Iterator[str]:
    field_name = value.WhichOneof("value")
    if isinstance(kind, dict):
        members = [member["value"] for member in kind["members"]]
        if field_name != "string_value" or value.string_value not in members:
            yield f"{record}: {key}={decoded(value)!r} is not one of {', '.join(members)}"
        return
    name = str(kind).removeprefix("template[")
    name = name if name == kind else name.removesuffix("]")
    if name == "any":
        if field_name is None:
            yield f"{record}: {key} has no value"
        return
    is_right = field_name == TYPES[name]
    if is_right and name == "string[]":
        is_right = all(each.WhichOneof("value") == "string_value" for each in value.array_value.values)
    if not is_right:
        yield f"{record}: {key}={decoded(value)!r} is not of type {name}"


def _of_level(record: Record, ref: str, level: Any, trace: Trace) -> Iterator[str]:
    is_present = any(key == ref or key.startswith(f"{ref}.") for key in record.values)
    if level == "required":
        if not is_present:
            yield f"{record}: {ref} is missing"
    elif level == "opt_in":
        if is_present and ref not in trace.facts.opted_in:
            yield f"{record}: {ref} is there, but nobody asked for it"
    elif text := condition_of(level):
        condition = CONDITIONS.get(text)
        if condition is None:
            yield f"{record}: the condition {text!r} of {ref} has no rule"
            return
        holds = condition(record, trace)
        if holds is True and not is_present:
            yield f"{record}: {ref} is missing ({text})"
        elif holds is False and is_present:
            yield f"{record}: {ref} is there, but not: {text}"
