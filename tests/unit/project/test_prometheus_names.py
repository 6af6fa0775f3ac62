"""The names that rules and dashboards ask for are those that OpenTelemetry's own exporter shows."""

from __future__ import annotations

import pytest
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import REGISTRY
from prometheus_client.core import Metric

from deltaspan import change, expects, observe, window
from deltaspan._telemetry import Instruments, install
from support.prometheus_names import LABELS, METRICS

OF_THE_SCOPE = {"otel_scope_name", "otel_scope_version", "otel_scope_schema_url"}


@pytest.fixture
def scraped():
    """Return what a scrape would show, after a failed and an inconclusive check of a tool and of a window."""
    provider = MeterProvider([PrometheusMetricReader()])
    install(Instruments(meter_provider=provider))

    @expects(change("rows", lambda: 0).by(1), change("broken", lambda: 1 / 0).by(1), claim=lambda: True)
    def order():
        return None

    order()
    with window("restock", observe("rows", lambda: 0)):
        pass
    ours = ("delta_", "gen_ai_")
    yield [each for each in REGISTRY.collect() if isinstance(each, Metric) and each.name.startswith(ours)]
    provider.shutdown()


def test_the_translated_metrics_are_those_of_a_scrape(scraped):
    assert {sample.name for family in scraped for sample in family.samples} == METRICS


def test_the_translated_labels_are_those_of_a_scrape(scraped):
    labels = {name for family in scraped for sample in family.samples for name in sample.labels}

    assert labels == LABELS | OF_THE_SCOPE | {"le"}
