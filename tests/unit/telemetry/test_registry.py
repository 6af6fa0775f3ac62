"""The checker of received telemetry: each rule refuses a bad record."""

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue

from support.registry import CONDITIONS, Facts, Registry, condition_of

REGISTRY = Registry.load()
TAG = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"
OTHER_TAG = "7c1f0f5e-2222-4333-8444-555566667777"
TOOL = Facts(functions=frozenset({"act"}))

RUN = {
    "deltaspan.action.name": "act",
    "deltaspan.causal_tag.id": TAG,
    "deltaspan.causal_tag.root_id": TAG,
}
TOOL_SPAN = {
    **RUN,
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "act",
    "code.function.name": "module.act",
}
CHECK = {
    "deltaspan.check.metric": "rows",
    "deltaspan.check.outcome": "pass",
    "deltaspan.check.attribution": "window",
}


def value_of(value):
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, str):
        return AnyValue(string_value=value)
    if value is None:
        return AnyValue()
    return AnyValue(array_value=ArrayValue(values=map(value_of, value)))


def set_values(item, values):
    item.attributes.extend(KeyValue(key=key, value=value_of(value)) for key, value in values.items())


class Telemetry:
    """Requests that a test fills."""

    def __init__(self, scope="deltaspan"):
        self.traces, self.logs, self.metrics = (
            ExportTraceServiceRequest(),
            ExportLogsServiceRequest(),
            ExportMetricsServiceRequest(),
        )
        self._scopes = [
            self.traces.resource_spans.add().scope_spans.add(),
            self.logs.resource_logs.add().scope_logs.add(),
            self.metrics.resource_metrics.add().scope_metrics.add(),
        ]
        for each in self._scopes:
            each.scope.name, each.scope.version = scope, "1"
            each.schema_url = REGISTRY.schema_url
        self.spans, self.records, self.points = self._scopes

    def span(self, values, name="execute_tool act", kind=1, **fields):
        span = self.spans.spans.add(name=name, kind=kind, **fields)
        set_values(span, values)
        return span

    def event(self, span, name, values):
        event = span.events.add(name=name)
        set_values(event, values)

    def log(self, name, values, time=1):
        set_values(self.records.log_records.add(event_name=name, time_unix_nano=time), values)

    def counter(self, name, values, unit="{check}", brief=None, *, is_monotonic=True):
        brief = REGISTRY.metrics.get(name, {}).get("brief", "") if brief is None else brief
        metric = self.points.metrics.add(name=name, unit=unit, description=brief)
        metric.sum.is_monotonic = is_monotonic
        set_values(metric.sum.data_points.add(), values)

    def histogram(self, name, values, bounds):
        brief = REGISTRY.metrics[name]["brief"]
        metric = self.points.metrics.add(name=name, unit="s", description=brief)
        set_values(metric.histogram.data_points.add(explicit_bounds=bounds), values)

    def violations(self, facts=TOOL):
        return REGISTRY.violations([self.traces, self.logs, self.metrics], facts)


@pytest.fixture
def telemetry():
    return Telemetry()


def verdict_of(span):
    """The attributes that a span needs beside these because it carries the verdict."""
    needed = [
        ref["ref"]
        for ref in REGISTRY.spans["execute_tool"]["attributes"]
        if ref["requirement_level"] == {"conditionally_required": "if this span carries the verdict"}
    ]
    examples = {"string": "pass", "int": 1, "double": 0.1, "string[]": ["rows"]}
    kinds = {name: REGISTRY.attributes[name]["type"] for name in needed}
    verdict = {name: examples["string" if isinstance(kinds[name], dict) else kinds[name]] for name in needed}
    return {**span, **verdict, "deltaspan.expected_delta.rows": 1}


def test_each_condition_of_the_model_has_a_rule():
    assert REGISTRY.conditions() - CONDITIONS.keys() == set()


def test_each_rule_is_that_of_a_condition():
    assert CONDITIONS.keys() - REGISTRY.conditions() == set()


def test_a_span_that_keeps_to_the_registry_is_not_refused(telemetry):
    telemetry.span(verdict_of(TOOL_SPAN))

    assert telemetry.violations() == []


@pytest.mark.parametrize(
    ("values", "violation"),
    [
        ({"deltaspan.unknown": 1}, "deltaspan.unknown is not declared"),
        ({"gen_ai.unknown": 1}, "gen_ai.unknown is not declared"),
        ({"unknown": 1}, "unknown is not declared"),
        ({"gen_ai.tool.call.arguments": "{}"}, "gen_ai.tool.call.arguments is there, but nobody asked"),
        ({"deltaspan.expected_delta": 1}, "deltaspan.expected_delta is not declared"),
        ({"deltaspan.expected_delta.Rows": 1}, "deltaspan.expected_delta.Rows is not declared"),
        ({"deltaspan.expected_delta.a.b": 1}, "deltaspan.expected_delta.a.b is not declared"),
        ({"deltaspan.check.metric": "rows"}, "deltaspan.check.metric is not declared"),
        ({"gen_ai.tool.name": 1}, "gen_ai.tool.name=1 is not of type string"),
        ({"deltaspan.action.attempt": "1"}, "deltaspan.action.attempt='1' is not of type int"),
        ({"deltaspan.verification.duration": 1}, "deltaspan.verification.duration=1 is not of type double"),
        ({"deltaspan.expected_delta.rows": None}, "deltaspan.expected_delta.rows has no value"),
        (
            {"deltaspan.action.outcome": "passed"},
            "deltaspan.action.outcome='passed' is not one of pass, fail, inconclusive, observed, skipped",
        ),
        ({"deltaspan.action.outcome": 1}, "deltaspan.action.outcome=1 is not one of pass,"),
        ({"error.type": "ValueError"}, "the status 0 and error.type do not agree"),
        ({"error.type": "ValueError"}, "error.type is there, but not: on our span, if"),
        (
            {"deltaspan.causal_tag.parent_id": OTHER_TAG},
            "deltaspan.causal_tag.parent_id is there, but not: if",
        ),
        ({"deltaspan.action.attempt": 2}, "deltaspan.action.attempt is there, but not: from the second"),
        (
            {"deltaspan.action.claim": "success"},
            "deltaspan.action.claim is there, but not: if the action says",
        ),
        ({"deltaspan.action.ended": "exited"}, "deltaspan.action.ended is there, but not: if the action was"),
        ({"deltaspan.window.handed_over": True}, "deltaspan.window.handed_over is there, but not: if the"),
        ({"deltaspan.verification.deferred": True}, "deltaspan.verification.deferred is there, but not: if"),
    ],
)
def test_a_wrong_attribute_of_a_span_is_refused(telemetry, values, violation):
    telemetry.span(verdict_of(TOOL_SPAN) | values)

    assert [each for each in telemetry.violations() if violation in each]


def test_a_list_of_other_things_than_strings_is_refused(telemetry):
    telemetry.span(verdict_of(TOOL_SPAN) | {"deltaspan.check.failed_metrics": [1]})

    violation = "span execute_tool act: deltaspan.check.failed_metrics=[1] is not of type string[]"
    assert violation in telemetry.violations()


@pytest.mark.parametrize("name", [*TOOL_SPAN, *(verdict_of({}))])
def test_a_span_without_a_required_attribute_is_refused(telemetry, name):
    values = verdict_of(TOOL_SPAN)
    del values[name]
    telemetry.span(values)

    assert [each for each in telemetry.violations() if f"{name.removesuffix('.rows')} is missing" in each]


@pytest.mark.parametrize(
    ("facts", "values", "name"),
    [
        ({}, {"deltaspan.causal_tag.root_id": OTHER_TAG}, "deltaspan.causal_tag.parent_id"),
        ({"claims": frozenset({"act"})}, {}, "deltaspan.action.claim"),
        ({"ended": frozenset({"act"})}, {}, "deltaspan.action.ended"),
        ({"raised": frozenset({"act"})}, {}, "error.type"),
        ({}, {"deltaspan.action.outcome": "fail"}, "error.type"),
        ({}, {"deltaspan.action.outcome": "fail"}, "deltaspan.check.failed_metrics"),
        ({}, {"deltaspan.action.outcome": "inconclusive"}, "deltaspan.check.inconclusive_metrics"),
    ],
)
def test_a_span_without_an_attribute_that_a_condition_requires_is_refused(telemetry, facts, values, name):
    telemetry.span(verdict_of(TOOL_SPAN) | values)

    assert [
        each
        for each in telemetry.violations(Facts(functions=frozenset({"act"}), **facts))
        if f"{name} is missing" in each
    ]


def test_the_second_run_below_a_parent_needs_its_attempt(telemetry):
    parent = {"deltaspan.causal_tag.parent_id": OTHER_TAG, "deltaspan.causal_tag.root_id": OTHER_TAG}
    second = {"deltaspan.causal_tag.id": "second"}
    telemetry.span(verdict_of(TOOL_SPAN) | parent, span_id=b"1", start_time_unix_nano=1)
    telemetry.span(verdict_of(TOOL_SPAN) | parent | second, span_id=b"2", start_time_unix_nano=2)

    (violation,) = telemetry.violations()
    assert "deltaspan.action.attempt is missing" in violation


@pytest.mark.parametrize(
    ("facts", "name"), [(TOOL, "verification.deferred"), (Facts(), "window.handed_over")]
)
def test_a_span_whose_verdict_is_on_a_second_span_says_so(telemetry, facts, name):
    first = verdict_of(RUN if facts is not TOOL else {**RUN, "code.function.name": "module.act"})
    telemetry.span(first, "verify act", span_id=b"1")
    telemetry.span(verdict_of(RUN), "verify act", span_id=b"2", parent_span_id=b"1")

    (violation,) = telemetry.violations(facts)
    assert f"deltaspan.{name} is missing" in violation


@pytest.mark.parametrize("name", ["execute_tool", "execute act", "read_rows", "tools/call act"])
def test_a_span_that_the_registry_does_not_name_is_refused(telemetry, name):
    telemetry.span(verdict_of(TOOL_SPAN), name)

    assert telemetry.violations() == [f"span {name}: no such span"]


def test_a_span_of_another_kind_is_refused(telemetry):
    telemetry.span(verdict_of(TOOL_SPAN), kind=2)

    assert telemetry.violations() == ["span execute_tool act: the kind is 2"]


@pytest.mark.parametrize(
    ("field", "value", "violation"),
    [("schema_url", "https://other/1.0.0", "the schema URL is"), ("version", "", "the scope has no version")],
)
def test_a_wrong_scope_is_refused(telemetry, field, value, violation):
    holder = telemetry.spans if field == "schema_url" else telemetry.spans.scope
    setattr(holder, field, value)
    telemetry.span(verdict_of(TOOL_SPAN))

    assert [each for each in telemetry.violations() if violation in each]


# Spans of frameworks ----------------------------------------------------------------------------------------


@pytest.fixture
def framework():
    return Telemetry("a framework")


def foreign(*own):
    return Facts(functions=frozenset({"act"}), foreign={"act": own})


def test_the_own_attributes_of_a_framework_are_not_ours(framework):
    framework.span(verdict_of(RUN) | {"gen_ai.tool.name": "act", "tool": 1}, "act", kind=2)

    assert framework.violations(foreign("gen_ai.tool.name", "tool")) == []


@pytest.mark.parametrize("name", ["gen_ai.tool.name", "error.type", "tool"])
def test_an_attribute_that_we_set_on_the_span_of_a_framework_begins_with_our_name(framework, name):
    framework.span(verdict_of(RUN) | {name: "act"}, "act")

    assert f"span act: {name} does not belong to deltaspan" in framework.violations(foreign())


def test_the_status_of_the_span_of_a_framework_is_its_own(framework):
    framework.span(verdict_of(RUN), "act").status.code = 2

    assert framework.violations(foreign()) == [
        "span act: the status is an error, which is the framework's to say"
    ]


def test_an_undeclared_attribute_on_the_span_of_a_framework_is_refused(framework):
    framework.span(verdict_of(RUN) | {"deltaspan.unknown": 1}, "act")

    assert framework.violations(foreign()) == ["span act: deltaspan.unknown is not declared"]


def test_a_span_of_a_framework_without_a_verdict_is_left_alone(framework):
    framework.span({"anything": 1}, "GET /")

    assert framework.violations() == []


# Events and log records -------------------------------------------------------------------------------------


def test_an_event_that_the_registry_does_not_name_is_refused(telemetry):
    telemetry.event(telemetry.span(verdict_of(TOOL_SPAN)), "deltaspan.verdict", {})

    assert telemetry.violations() == ["event deltaspan.verdict: no such event"]


def test_the_exception_event_of_opentelemetry_has_its_attributes_alone(telemetry):
    span = telemetry.span(verdict_of(TOOL_SPAN))
    telemetry.event(span, "exception", {"exception.type": "ValueError", "exception.note": "x"})

    assert telemetry.violations() == ["event exception: exception.note is not declared"]


EVALUATION = {
    "gen_ai.evaluation.name": "rows_delta",
    "gen_ai.evaluation.score.label": "pass",
    "gen_ai.evaluation.score.value": 1.0,
    "deltaspan.check.metric": "rows",
    "deltaspan.check.attribution": "window",
    "deltaspan.causal_tag.id": TAG,
}


def test_a_log_event_that_keeps_to_the_registry_is_not_refused(telemetry):
    telemetry.log("gen_ai.evaluation.result", EVALUATION)

    assert telemetry.violations() == []


@pytest.mark.parametrize(
    ("values", "violation"),
    [
        ({"gen_ai.evaluation.score.value": 1}, "score.value=1 is not of type double"),
        (
            {"gen_ai.evaluation.score.label": "inconclusive"},
            "score.value is there, but not: unless the check",
        ),
        ({"gen_ai.evaluation.score.label": "inconclusive"}, "error.type is missing (if the check is incon"),
        ({"error.type": "ValueError"}, "error.type is there, but not: if the check is inconclusive"),
        ({"deltaspan.check.attribution": "guess"}, "deltaspan.check.attribution='guess' is not one of"),
        ({"gen_ai.evaluation.outcome": "pass"}, "gen_ai.evaluation.outcome is not declared"),
    ],
)
def test_a_wrong_attribute_of_a_log_event_is_refused(telemetry, values, violation):
    telemetry.log("gen_ai.evaluation.result", EVALUATION | values)

    assert [each for each in telemetry.violations() if violation in each]


def test_a_log_event_without_a_time_is_refused(telemetry):
    telemetry.log("gen_ai.evaluation.result", EVALUATION, time=0)

    assert telemetry.violations() == ["log gen_ai.evaluation.result: it has no time"]


def test_a_log_event_that_the_registry_does_not_name_is_refused(telemetry):
    telemetry.log("gen_ai.evaluation", EVALUATION)

    assert telemetry.violations() == ["log gen_ai.evaluation: no such event"]


CONDITIONAL = {
    "if a change was seen": ({"deltaspan.check.actual_delta": 2}, {}),
    "if the check is inconclusive": ({"deltaspan.check.outcome": "inconclusive"}, {}),
    "on tagged rows": ({}, {"tagged": frozenset({"rows"})}),
    "if the check polls": ({}, {"polling": frozenset({"rows"})}),
    "if the check holds a lock": ({}, {"locked": frozenset({"rows"})}),
    "if the check polls, holds a lock, or has a baseline of another process": (
        {},
        {"locked": frozenset({"rows"})},
    ),
    "if another process captured the baseline": ({}, {"captured_elsewhere": frozenset({"rows"})}),
    "if a probe, an expected value or a predicate raised": ({"deltaspan.check.reason": "probe_failed"}, {}),
    "if the action says whether it succeeded": ({}, {"claims": frozenset({"act"})}),
    "if both states were read": (
        {"deltaspan.check.pre_state": 1, "deltaspan.check.post_state": 1},
        {},
    ),
    "on a log record, because a span event has it on its span": ({}, {}),
}
(RESULT,) = (name for name in REGISTRY.events if name.startswith("deltaspan.check"))


@pytest.mark.parametrize("condition", CONDITIONAL)
def test_a_result_without_an_attribute_that_a_condition_requires_is_refused(telemetry, condition):
    values, facts = CONDITIONAL[condition]
    names = [
        ref["ref"]
        for ref in REGISTRY.events[RESULT]["attributes"]
        if condition_of(ref["requirement_level"]) == condition
    ]
    telemetry.log(RESULT, {"deltaspan.action.name": "act", **CHECK, **values})

    found = telemetry.violations(Facts(functions=frozenset({"act"}), **facts))
    absent = [name for name in names if name not in {"deltaspan.action.name", *values}]
    assert absent
    assert {f"log {RESULT}: {name} is missing ({condition})" for name in absent} <= set(found)


def test_a_condition_without_a_rule_is_refused(telemetry, monkeypatch):
    monkeypatch.delitem(CONDITIONS, "unless the check is inconclusive")
    telemetry.log("gen_ai.evaluation.result", EVALUATION)

    (violation,) = telemetry.violations()
    assert violation.endswith(
        "'unless the check is inconclusive' of gen_ai.evaluation.score.value has no rule"
    )


# Metrics ----------------------------------------------------------------------------------------------------

SERIES = {
    "deltaspan.action.name": "act",
    "deltaspan.check.metric": "rows",
    "deltaspan.check.outcome": "pass",
}
BOUNDS = REGISTRY.metrics["deltaspan.verification.duration"]["annotations"]["bucket_boundaries"]


def test_metrics_that_keep_to_the_registry_are_not_refused(telemetry):
    telemetry.counter("deltaspan.checks", SERIES)
    telemetry.histogram("deltaspan.verification.duration", {"deltaspan.action.name": "act"}, BOUNDS)

    assert telemetry.violations() == []


@pytest.mark.parametrize(
    ("options", "violation"),
    [
        ({"name": "deltaspan.runs"}, "metric deltaspan.runs: no such metric"),
        ({"unit": "1"}, "metric deltaspan.checks: the unit is '1'"),
        ({"brief": "Checks."}, "metric deltaspan.checks: the description is 'Checks.'"),
        ({"is_monotonic": False}, "metric deltaspan.checks: the instrument is sum"),
        (
            {"values": SERIES | {"deltaspan.causal_tag.id": TAG}},
            "metric deltaspan.checks: deltaspan.causal_tag.id is not declared",
        ),
        (
            {"values": SERIES | {"deltaspan.check.outcome": "inconclusive"}},
            "metric deltaspan.checks: deltaspan.check.reason is missing (if the check is inconclusive)",
        ),
    ],
)
def test_a_wrong_counter_is_refused(telemetry, options, violation):
    telemetry.counter(**{"name": "deltaspan.checks", "values": SERIES, **options})

    assert violation in telemetry.violations()


def test_other_bucket_boundaries_are_refused(telemetry):
    telemetry.histogram("deltaspan.verification.duration", {"deltaspan.action.name": "act"}, [1.0])

    assert telemetry.violations() == [
        "metric deltaspan.verification.duration: the bucket boundaries are [1.0]"
    ]


def test_the_duration_of_a_failed_action_needs_its_error(telemetry):
    bounds = REGISTRY.metrics["deltaspan.action.duration"]["annotations"]["bucket_boundaries"]
    values = {"deltaspan.action.name": "act", "deltaspan.action.outcome": "fail"}
    telemetry.histogram("deltaspan.action.duration", values, bounds)

    (violation,) = telemetry.violations()
    assert "error.type is missing" in violation


def test_a_metric_of_ours_in_another_scope_is_refused():
    framework = Telemetry("a framework")
    framework.counter("deltaspan.checks", SERIES)

    assert framework.violations() == ["metric deltaspan.checks: it is in the scope 'a framework'"]
