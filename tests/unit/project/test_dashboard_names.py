"""What the dashboards and Grafana's own alert ask for exists: series, labels, attributes and their values."""

from __future__ import annotations

import re
from typing import get_args

import pytest
import yaml
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import REGISTRY
from prometheus_client.core import Metric

from deltaspan import change, expects, semconv
from deltaspan._telemetry import Instruments, install
from deltaspan.typing import Outcome, Reason
from support.dashboards import ROOT, RULES, dashboards, expressions, panels, texts
from support.prometheus_names import LABELS, METRICS

ALERTING = ROOT / "grafana" / "provisioning" / "alerting"
DASHBOARDS = dashboards()


def recorded():
    return {
        rule["record"]
        for path in RULES.glob("*.yml")
        for group in yaml.safe_load(path.read_text())["groups"]
        for rule in group["rules"]
        if "record" in rule
    }


def asked():
    """Return all PromQL of the dashboards and of Grafana's own alert."""
    variables = [text for board in DASHBOARDS for text in texts(board) if text.startswith("label_values(")]
    marks = [mark["expr"] for board in DASHBOARDS for mark in board["annotations"]["list"]]
    return [*(each.expr for each in expressions()), *variables, *marks, rule()["data"][0]["model"]["expr"]]


def test_every_series_that_is_asked_for_is_recorded():
    named = {name for text in asked() for name in re.findall(r"\b\w+:\w+:\w+\b", text)}

    assert named
    assert named <= recorded()


def test_every_name_of_ours_is_one_that_we_send():
    plain = " ".join(re.sub(r"\b\w+:\w+:\w+\b", "", text) for text in asked())

    assert set(re.findall(r"\bdelta_\w+", plain)) <= METRICS | LABELS


def test_every_label_in_a_legend_a_link_or_a_table_is_one_that_we_send():
    every = list(texts(DASHBOARDS))
    legends = {name for text in every for name in re.findall(r"\{\{(\w+)\}\}", text)}
    linked = {name for text in every for name in re.findall(r"__(?:data\.fields|field\.labels)\.(\w+)", text)}
    columns = {
        name
        for board in DASHBOARDS
        for panel in panels(board)
        for each in panel.get("transformations", ())
        for name in each["options"].get("renameByName", ())
        if not name.startswith("Value")
    }

    assert legends <= LABELS | {"alertname"}
    assert linked <= LABELS | {"job", "traceID"}
    assert columns <= LABELS | {"job"}


def test_every_attribute_in_a_search_or_a_sentence_is_one_that_we_set():
    ours = {value for name, value in vars(semconv).items() if isinstance(value, str) and name.isupper()}
    prefixes = {name.rstrip(".") for name in ours}

    named = {name for text in texts(DASHBOARDS) for name in re.findall(r"\bdelta\.[a-z_.]*[a-z]", text)}
    assert named
    assert named <= prefixes


def test_every_outcome_and_reason_exists():
    text = " ".join([*asked(), *texts(DASHBOARDS)])
    outcomes = set(re.findall(r'delta[._](?:check|action)[._]outcome="?(\w+)', text))
    reasons = set(re.findall(r"\b(?:\w+_(?:failed|timeout)|contended|abandoned)\b", text))

    assert outcomes <= set(get_args(Outcome))
    assert reasons <= set(get_args(Reason))


# Grafana's own alert --------------------------------------------------------------------------------------


def rule():
    [group] = yaml.safe_load((ALERTING / "deltaspan.yml").read_text())["groups"]
    [found] = group["rules"]
    return found


def test_grafanas_own_alert_is_paused_so_that_nobody_is_called_twice():
    assert rule()["isPaused"] is True


def test_grafanas_own_alert_links_to_a_panel_that_shows_failures():
    annotations = rule()["annotations"]
    [board] = [each for each in DASHBOARDS if each["uid"] == annotations["__dashboardUid__"]]

    assert [panel["title"] for panel in panels(board) if panel["id"] == int(annotations["__panelId__"])] == [
        "Failures by action and metric"
    ]


def test_a_dollar_sign_in_provisioned_alerts_is_doubled():
    text = (ALERTING / "deltaspan.yml").read_text()

    assert re.findall(r"(?<!\$)\$(?!\$)", text) == []
    assert set(re.findall(r"\$\$labels\.(\w+)", text)) <= LABELS | {"job"}


def test_grafana_reads_no_contact_point_that_has_no_address():
    assert {path.name for path in ALERTING.iterdir() if path.suffix in {".yml", ".yaml", ".json"}} == {
        "deltaspan.yml"
    }
    example = yaml.safe_load((ALERTING / "contact-point.yml.example").read_text())
    assert example["contactPoints"][0]["receivers"][0]["settings"]["url"] == "$DELTASPAN_ALERT_WEBHOOK"


# Names in Prometheus ----------------------------------------------------------------------------------------

OF_THE_SCOPE = {"otel_scope_name", "otel_scope_version", "otel_scope_schema_url"}


@pytest.fixture
def scraped():
    """Return what a scrape would show, after a failed and an inconclusive check of a claimed success."""
    provider = MeterProvider([PrometheusMetricReader()])
    install(Instruments(meter_provider=provider))

    @expects(change("rows", lambda: 0).by(1), change("broken", lambda: 1 / 0).by(1), claim=lambda: True)
    def order():
        return None

    order()
    yield [family for family in REGISTRY.collect() if isinstance(family, Metric) and "delta" in family.name]
    provider.shutdown()


def test_the_translated_metrics_are_those_of_a_scrape(scraped):
    assert {sample.name for family in scraped for sample in family.samples} == METRICS


def test_the_translated_labels_are_those_of_a_scrape(scraped):
    labels = {name for family in scraped for sample in family.samples for name in sample.labels}

    assert labels == LABELS | OF_THE_SCOPE | {"le"}
