"""The span of a report: its ids, and hooks that run while it is current."""

from __future__ import annotations

import pickle
import time

import pytest
from opentelemetry import baggage, trace
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from deltaspan import change, collect_reports, current_causal_tag, expects, observe, window
from deltaspan._engine import _deferred


def ids(span):
    return f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}"


@pytest.mark.parametrize("deferred", [False, True])
def test_a_report_names_the_span_that_carries_its_verdict(recorded, deferred):
    with collect_reports() as reports:
        expects(observe("n", lambda: 0), deferred=deferred)(lambda: None)()
        assert _deferred.drain(10)
    carrier = recorded.spans[-1]

    assert (reports[0].trace_id, reports[0].span_id) == ids(carrier)
    assert "deltaspan.action.outcome" in carrier.attributes


def test_a_report_names_the_span_of_a_framework(recorded):
    with collect_reports() as reports, recorded.tracer.start_as_current_span("execute_tool load"):
        expects(observe("n", lambda: 0), name="load")(lambda: None)()

    assert (reports[0].trace_id, reports[0].span_id) == ids(recorded.span)


def test_a_report_of_an_unsampled_run_names_its_trace(record):
    record(ALWAYS_OFF)
    with collect_reports() as reports:
        expects(observe("n", lambda: 0))(lambda: None)()

    assert len(reports[0].trace_id) == 32


def test_a_report_without_an_sdk_names_no_span():
    with collect_reports() as reports:
        expects(observe("n", lambda: 0))(lambda: None)()

    assert (reports[0].trace_id, reports[0].span_id) == (None, None)


def test_an_abandoned_run_has_a_span(recorded):
    def interrupted():
        raise KeyboardInterrupt

    with collect_reports() as reports, pytest.raises(KeyboardInterrupt):
        expects(observe("n", interrupted))(lambda: None)()

    assert (reports[0].trace_id, reports[0].span_id) == ids(recorded.span)
    assert recorded.span.end_time >= recorded.span.start_time


def test_the_ids_survive_pickling_and_are_in_the_dictionary(recorded):
    with collect_reports() as reports:
        expects(observe("n", lambda: 0))(lambda: None)()
    report = reports[0]

    assert pickle.loads(pickle.dumps(report)) == report  # noqa: S301
    assert (report.to_dict()["trace_id"], report.to_dict()["span_id"]) == ids(recorded.span)


@pytest.mark.parametrize("deferred", [False, True])
def test_a_hook_runs_while_the_span_is_current_and_open(recorded, deferred):
    def hook(report):
        span = trace.get_current_span()
        span.add_event("scored", {"outcome": report.outcome})
        assert f"{span.get_span_context().span_id:016x}" == report.span_id

    expects(change("n", lambda: 0).by(1), deferred=deferred, on_report=hook)(lambda: None)()
    assert _deferred.drain(10)

    assert [event.name for event in recorded.spans[-1].events] == ["deltaspan.check.result", "scored"]


def test_the_requests_of_a_hook_carry_no_tag(recorded):
    seen = []

    def hook(report):
        seen.append((current_causal_tag() == report.causal_tag, dict(baggage.get_all())))

    expects(observe("n", lambda: 0), on_report=hook)(lambda: None)()

    assert seen == [(True, {})]


def test_a_slow_hook_does_not_lengthen_the_span(recorded):
    moments = []

    with window("w", observe("n", lambda: 0), on_report=lambda _: moments.append(time.time_ns())):
        pass

    assert recorded.span.end_time < moments[0]


def test_a_span_ends_when_its_hook_is_interrupted(recorded):
    def hook(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        expects(observe("n", lambda: 0), on_report=hook)(lambda: None)()

    assert recorded.span.attributes["deltaspan.action.outcome"] == "observed"
