"""The span of a run: identity at its start, verdict and status at its end."""

from pathlib import Path

import pytest
import yaml
from opentelemetry import trace
from opentelemetry.processor.baggage import ALLOW_ALL_BAGGAGE_KEYS, BaggageSpanProcessor
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Sampler
from opentelemetry.trace import SpanKind

from deltaspan import change, collect_reports, current_causal_tag, expects, observe, unchanged, window
from deltaspan._version import __version__
from deltaspan.exceptions import DefinitionTypeError
from support.active_flows import broken, count, flows
from support.reports import reports_of

MANIFEST = yaml.safe_load(
    (Path(__file__).parents[3] / "telemetry" / "model" / "manifest.yaml").read_text(encoding="utf-8")
)


@expects(change("active_flows", count).by(1))
def create_flow(name="new"):
    flows.append(name)
    return name


class Seen(SpanProcessor):
    """Remembers what a span has when it starts, and its parent context."""

    def __init__(self):
        self.attributes = []

    def on_start(self, span, parent_context=None):
        self.attributes.append(dict(span.attributes))


class AskedSampler(Sampler):
    """Remembers what a sampler is asked with."""

    def __init__(self):
        self.asked = []

    def should_sample(self, parent_context, trace_id, name, kind=None, attributes=None, *args, **kwargs):
        self.asked.append((name, kind, dict(attributes or {})))
        return ALWAYS_ON.should_sample(parent_context, trace_id, name, kind, attributes, *args, **kwargs)

    def get_description(self):
        return "asked"


def identity(tag, name="create_flow"):
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.type": "function",
        "code.function.name": f"{__name__}.{name}",
        "deltaspan.action.name": name,
        "deltaspan.causal_tag.id": tag,
        "deltaspan.causal_tag.root_id": tag,
    }


def run(action, *args):
    return reports_of(action, *args)[-1]


def test_the_span_is_named_after_the_tool(recorded):
    create_flow()

    assert recorded.span.name == "execute_tool create_flow"


def test_the_span_is_internal(recorded):
    create_flow()

    assert recorded.span.kind is SpanKind.INTERNAL


def test_the_scope_is_deltaspan_with_version_and_schema(recorded):
    create_flow()
    scope = recorded.span.instrumentation_scope

    assert (scope.name, scope.version) == ("deltaspan", __version__)
    # OpenTelemetry's own schema knows none of the names of deltaspan.
    assert scope.schema_url == MANIFEST["schema_url"]
    assert not scope.schema_url.startswith("https://opentelemetry.io/")


def test_a_span_processor_sees_the_whole_identity_at_start(record):
    seen = Seen()
    record(processors=[seen])

    assert seen.attributes == [identity(run(create_flow).causal_tag)]


def test_a_sampler_decides_on_the_whole_identity(record):
    sampler = AskedSampler()
    record(sampler)
    tag = run(create_flow).causal_tag

    assert sampler.asked == [("execute_tool create_flow", SpanKind.INTERNAL, identity(tag))]


def test_a_nested_span_names_parent_and_root(recorded):
    with collect_reports() as reports, window("import", observe("flows", count)):
        create_flow()
    inner, outer = reports
    attributes = recorded.spans[0].attributes

    assert [attributes[f"deltaspan.causal_tag.{name}"] for name in ("id", "parent_id", "root_id")] == [
        inner.causal_tag,
        outer.causal_tag,
        outer.causal_tag,
    ]


def test_an_outermost_span_names_no_parent(recorded):
    create_flow()

    assert "deltaspan.causal_tag.parent_id" not in recorded.span.attributes


def test_a_baggage_processor_stamps_the_span_of_a_run_with_its_own_tag(record):
    recorded = record(processors=[BaggageSpanProcessor(ALLOW_ALL_BAGGAGE_KEYS)])
    with collect_reports() as reports, window("import", observe("flows", count)):
        create_flow()

    assert [span.attributes["deltaspan.causal_tag.id"] for span in recorded.spans] == [
        report.causal_tag for report in reports
    ]


def test_a_baggage_processor_stamps_the_spans_inside(record):
    recorded = record(processors=[BaggageSpanProcessor(ALLOW_ALL_BAGGAGE_KEYS)])

    @expects(observe("flows", count))
    def action():
        with recorded.tracer.start_as_current_span("INSERT flows"):
            return current_causal_tag()

    tag = action()
    assert recorded.spans[0].attributes == {
        "deltaspan.causal_tag.id": tag,
        "deltaspan.causal_tag.root_id": tag,
    }


def test_the_action_runs_inside_the_span(recorded):
    @expects(observe("flows", count))
    def action():
        return trace.get_current_span().get_span_context().span_id

    assert action() == recorded.span.context.span_id


def test_the_span_is_a_child_of_the_callers(recorded):
    with recorded.tracer.start_as_current_span("agent") as agent:
        create_flow()

    assert recorded.spans[0].parent.span_id == agent.get_span_context().span_id


def test_a_passing_run_ends_with_the_whole_verdict(recorded):
    report = run(create_flow)

    assert dict(recorded.span.attributes) == {
        **identity(report.causal_tag),
        "deltaspan.verification.duration": report.verification_seconds,
        "deltaspan.action.outcome": "pass",
        "deltaspan.check.count": 1,
        "deltaspan.pre_state.active_flows": 3,
        "deltaspan.post_state.active_flows": 4,
        "deltaspan.expected_delta.active_flows": 1,
        "deltaspan.actual_delta.active_flows": 1,
    }


def test_each_metric_has_its_own_attributes(recorded):
    @expects(
        change("ratio", lambda: len(flows) / 2).by_at_least(0.5),
        unchanged("open", lambda: True),
        observe("names", lambda: list(flows)),
    )
    def action():
        flows.append("d")

    action()
    attributes = recorded.span.attributes

    assert [
        attributes[f"deltaspan.{what}.{metric}"]
        for metric in ("ratio", "open", "names")
        for what in ("pre_state", "post_state")
    ] == [1.5, 2.0, True, True, '["a","b","c"]', '["a","b","c","d"]']


def test_expected_deltas_without_a_value_are_words(recorded):
    @expects(
        change("a", count).by_at_least(1), unchanged("b", lambda: 0), change("c", count), observe("d", count)
    )
    def action():
        flows.append("d")

    action()
    attributes = recorded.span.attributes

    assert [attributes.get(f"deltaspan.expected_delta.{metric}") for metric in "abc"] == [
        "at least 1",
        "no change",
        "some change",
    ]


def test_failed_checks_are_listed_in_the_order_declared(recorded):
    @expects(change("z", count).by(1), unchanged("ok", count), change("a", count).by(2))
    def action():
        return None

    action()
    attributes = recorded.span.attributes

    assert (attributes["deltaspan.check.count"], attributes["deltaspan.check.failed_metrics"]) == (
        3,
        ("z", "a"),
    )


def test_inconclusive_checks_are_listed_in_the_order_declared(recorded):
    @expects(change("z", broken).by(1), unchanged("ok", count), change("a", broken).by(2))
    def action():
        return None

    action()
    attributes = recorded.span.attributes

    assert attributes["deltaspan.check.inconclusive_metrics"] == ("z", "a")
    assert "deltaspan.check.failed_metrics" not in attributes


@pytest.mark.parametrize(
    ("metric", "key"),
    [("Users", "users"), ("a.b", "a_b"), ("active-flows", "active_flows"), ("5xx", "m_5xx"), ("_x", "m__x")],
)
def test_the_key_of_a_metric_is_lower_case_without_dots_and_hyphens(recorded, metric, key):
    expects(unchanged(metric, count))(lambda: None)()
    details = ("pre_state", "post_state", "expected_delta", "actual_delta")

    assert {f"deltaspan.{detail}.{key}" for detail in details} <= recorded.span.attributes.keys()
    assert recorded.event.attributes["deltaspan.check.metric"] == metric


def test_the_outcome_is_the_worst_of_the_checks(recorded):
    @expects(observe("a", count), change("b", broken).by(1), unchanged("c", count))
    def action():
        return None

    action()
    assert recorded.span.attributes["deltaspan.action.outcome"] == "inconclusive"


def many(number):
    @expects(*[unchanged(f"metric_{i}", count) for i in range(number)])
    def action():
        return None

    return action


def test_sixteen_checks_have_their_details_on_the_span(recorded):
    many(16)()

    assert recorded.span.attributes["deltaspan.pre_state.metric_15"] == 3


def test_details_of_more_than_sixteen_checks_are_not_on_the_span(recorded):
    many(17)()

    assert [name for name in recorded.span.attributes if ".metric_" in name] == []


def test_details_of_more_than_sixteen_checks_stay_in_the_events(recorded):
    many(17)()

    assert [event.attributes["deltaspan.check.pre_state"] for event in recorded.events] == [3] * 17


def test_identity_and_outcome_stay_on_the_span_with_more_than_sixteen_checks(recorded):
    many(100)()
    attributes = recorded.span.attributes

    assert (attributes["deltaspan.action.name"], attributes["deltaspan.action.outcome"]) == ("action", "pass")
    assert recorded.span.dropped_attributes == 0


def test_a_window_has_its_own_span_name(recorded):
    with window("nightly_import", change("active_flows", count).by(1)):
        flows.append("new")

    assert recorded.span.name == "verify nightly_import"


def test_a_window_is_not_a_tool(recorded):
    with window("nightly_import", change("active_flows", count).by(1)):
        flows.append("new")

    assert [name for name in recorded.span.attributes if name.startswith(("gen_ai.", "code."))] == []


def test_a_window_is_named_as_an_action(recorded):
    with window("nightly_import", observe("active_flows", count)):
        pass

    assert recorded.span.attributes["deltaspan.action.name"] == "nightly_import"


def test_a_tool_is_described_by_the_first_line_of_its_documentation(recorded):
    @expects(observe("n", count))
    def documented():
        """
        Create a flow.

        More about flows.
        """

    documented()

    assert recorded.span.attributes["gen_ai.tool.description"] == "Create a flow."


def helper():
    """Help."""


def gen_ai(span):
    return [name for name in span.attributes if name.startswith("gen_ai.")]


def test_an_action_inside_a_tool_is_not_another_tool(recorded):
    inner = expects(observe("n", count))(helper)
    expects(observe("n", count), name="outer")(inner)()
    inside, outside = recorded.spans

    assert (inside.name, gen_ai(inside)) == ("verify helper", [])
    assert inside.attributes["code.function.name"] == f"{__name__}.helper"
    assert outside.name == "execute_tool outer"


@pytest.mark.parametrize(("tool", "name"), [(True, "execute_tool helper"), (None, "verify helper")])
def test_an_action_inside_a_tool_is_one_if_it_says_so(recorded, tool, name):
    expects(observe("n", count))(expects(observe("n", count), tool=tool)(helper))()

    assert recorded.spans[0].name == name


def test_an_action_that_is_not_a_tool_has_no_tool_attributes(recorded):
    expects(observe("n", count), tool=False)(helper)()

    assert (recorded.span.name, gen_ai(recorded.span)) == ("verify helper", [])


@pytest.mark.parametrize("around", [lambda act: expects(observe("n", count), tool=False)(act)(), None])
def test_an_action_inside_one_that_is_not_a_tool_is_a_tool(recorded, around):
    act = expects(observe("n", count))(helper)
    if around is None:
        with window("w", observe("n", count)):
            act()
    else:
        around(act)

    assert recorded.spans[0].name == "execute_tool helper"


@pytest.mark.parametrize("tool", ["yes", 1, 0])
def test_tool_is_true_or_false(tool):
    with pytest.raises(DefinitionTypeError, match="is not True, False or None"):
        expects(observe("n", count), tool=tool)(helper)
