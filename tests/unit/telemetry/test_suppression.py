"""Runs in a context that suppresses instrumentation."""

from __future__ import annotations

import pytest
from opentelemetry import context
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from deltaspan import change, collect_reports, expects, window


@pytest.fixture(
    params=[context._SUPPRESS_INSTRUMENTATION_KEY, "suppress_instrumentation"], ids=["api", "plain"]
)
def suppressed(request):
    token = context.attach(context.set_value(request.param, True))
    yield
    context.detach(token)


def lie():
    return None


@pytest.mark.parametrize("deferred", [False, True])
def test_a_suppressed_run_is_judged_and_emits_nothing(recorded, suppressed, deferred):
    with collect_reports() as reports:
        expects(change("n", lambda: 0).by(1), deferred=deferred)(lie)()
        with window("w", change("n", lambda: 0).by(1)):
            pass
        if deferred:
            from deltaspan._engine import _deferred  # noqa: PLC0415

            assert _deferred.drain(10)

    assert sorted(report.outcome for report in reports) == ["fail", "fail"]
    assert [(report.trace_id, report.span_id) for report in reports] == [(None, None)] * 2
    assert (recorded.spans, recorded.logs, recorded.metrics()) == ([], [], {})


def test_an_exporter_that_calls_an_action_is_not_called_for_it(record):
    exported = []

    class Exporter(SpanExporter):
        def export(self, spans):
            exported.extend(span.name for span in spans)
            expects(change("n", lambda: 0).by(1), name="send")(lie)()
            return SpanExportResult.SUCCESS

    record(processors=[SimpleSpanProcessor(Exporter())])
    expects(change("n", lambda: 0).by(1), name="act")(lie)()

    assert exported == ["execute_tool act"]
