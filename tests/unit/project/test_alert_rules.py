"""The alerts of deploy/prometheus: labels, test coverage and metric names."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from deltaspan.typing import Claim, Origin, Outcome, Reason
from support.prometheus_names import LABELS, METRICS
from support.rules import RUNBOOK, cases, groups, rules, sections, thresholds

ALERTS = rules("alert")
RECORDS = rules("record")
NAMES = sorted({rule["alert"] for rule in ALERTS})
ALWAYS = "DeltaWatchdog"
STACK = {
    rule.get("alert") for group in groups() if group["name"] == "deltaspan-stack" for rule in group["rules"]
}
DASHBOARDS = {"deltaspan-overview", "deltaspan-action", "deltaspan-verification"}
ON_EACH = pytest.mark.parametrize(
    "alert", ALERTS, ids=lambda rule: "-".join([rule["alert"], rule["labels"].get("long", "")]).rstrip("-")
)
FORMULA = """\
sum (
  (
    increase(X[5m])
    and resets(X[5m]) > 0
  )
  or
  (
    last_over_time(X[5m])
    - last_over_time(X[6h] offset 5m) >= 0
  )
  or
  last_over_time(X[5m])
)
"""
IDENTIFIER = re.compile(r"\b(?:deltaspan|gen_ai|otel)_\w+")


def expressions():
    return [rule["expr"] for rule in (*ALERTS, *RECORDS)]


# Labels and annotations -----------------------------------------------------------------------------------


@ON_EACH
def test_an_alert_has_a_severity_that_the_routes_know(alert):
    assert alert["labels"]["severity"] in {"critical", "warning", "info", "none"}
    assert (alert["labels"]["severity"] == "none") == (alert["alert"] == ALWAYS)


@ON_EACH
def test_a_summary_is_the_same_for_all_and_a_description_says_the_number(alert):
    assert "{{" not in alert["annotations"]["summary"]
    described = alert["annotations"]["description"]
    assert ("$value" in described and "$labels.job" in described) != (alert["alert"] == ALWAYS)


@ON_EACH
def test_a_description_names_only_labels_that_the_expression_keeps(alert):
    # Labels that the rule itself adds are not there when its annotations are written: they come out empty.
    named = set(re.findall(r"\$labels\.(\w+)", " ".join(alert["annotations"].values())))

    assert named.isdisjoint(alert["labels"])
    assert named <= {"job", *LABELS} | ({"exporter", "rule_group"} if alert["alert"] in STACK else set())


@ON_EACH
def test_a_runbook_url_leads_to_the_section_of_the_alert(alert):
    base, _, anchor = alert["annotations"]["runbook_url"].partition("#")

    assert base == "docs/runbook.md"
    assert anchor == alert["alert"].lower()
    assert anchor in sections()


@ON_EACH
def test_a_dashboard_url_leads_to_one_of_the_dashboards(alert):
    base, _, rest = alert["annotations"]["dashboard_url"].partition("/d/")

    assert base == "http://localhost:3000"
    assert rest.partition("?")[0] in DASHBOARDS


# Coverage of the rule tests -------------------------------------------------------------------------------


@ON_EACH
def test_an_alert_has_a_test_in_which_it_fires(alert):
    expected = [
        each["exp_labels"]
        for case in cases()
        for each in case["exp_alerts"]
        if case["alertname"] == alert["alert"]
    ]

    assert [labels for labels in expected if labels.items() >= alert["labels"].items()]


@pytest.mark.parametrize("name", NAMES)
def test_an_alert_has_a_test_with_data_in_which_it_stays_silent_and_one_without(name):
    silent = [
        bool(case["series"]) for case in cases() if case["alertname"] == name and not case["exp_alerts"]
    ]

    assert set(silent) == (set() if name == ALWAYS else {True, False})


@pytest.mark.parametrize("name", sorted(set(NAMES) - STACK))
def test_an_alert_fires_on_pushed_and_on_scraped_metrics(name):
    jobs = {
        each["exp_labels"]["job"]
        for case in cases()
        if case["alertname"] == name
        for each in case["exp_alerts"]
    }

    assert jobs >= {"agents/shop", "shop"}


# Metric names ---------------------------------------------------------------------------------------------


def test_every_deltaspan_name_in_a_rule_is_sent_or_recorded():
    recorded = {part for rule in RECORDS for part in IDENTIFIER.findall(rule["record"])}

    named = {name for text in expressions() for name in IDENTIFIER.findall(text)}
    assert named - METRICS - LABELS - recorded == set()


def test_every_recorded_series_in_a_rule_is_recorded():
    recorded = {rule["record"] for rule in RECORDS}

    assert {name for text in expressions() for name in re.findall(r"\b\w+:\w+:\w+\b", text)} <= recorded


def test_every_outcome_reason_origin_and_claim_in_a_rule_exists():
    named = r'deltaspan_(?:check|action)_(outcome|reason|origin|claim)[=!]~?"([^"]*)"'
    matched = re.findall(named, " ".join(expressions()))

    assert matched
    kinds = {"outcome": Outcome, "reason": Reason, "origin": Origin, "claim": Claim}
    known = {name: set(get_args(kind)) for name, kind in kinds.items()}
    assert [(kind, text) for kind, text in matched if not set(text.split("|")) <= known[kind]] == []


def test_no_rule_keeps_the_instance():
    # Each run of an agent is an instance: a series for each would never end.
    assert [text for text in expressions() if "instance" in text] == []


# Relations between rules ----------------------------------------------------------------------------------


def test_every_rule_that_reads_a_raw_counter_is_the_same_formula():
    raw = [rule["expr"] for rule in RECORDS if re.search(rf"(?<![:\w])({'|'.join(METRICS)})\b", rule["expr"])]
    shapes = set()
    for text in raw:
        shape = re.sub(rf"\b({'|'.join(METRICS)})\b(\{{[^}}]*\}})?", "X", text)
        shape = re.sub(r"sum by \([^)]*\)", "sum", shape).replace("15m", "5m")
        shapes.add(re.sub(r"round\((.*)\)\n", r"\1\n", shape))

    assert len(raw) == 8
    # Beside the seven that count, one asks who reports.
    assert shapes == {"group by (job) (last_over_time(X[5m]))", FORMULA}


def test_rules_are_evaluated_every_minute_as_their_division_by_five_assumes():
    assert {group["interval"] for group in groups()} == {"1m"}
    assert any(re.search(r"/ 5\b", text) for text in expressions())


# Runbook --------------------------------------------------------------------------------------------------


def rows():
    """Return name, severity, thresholds and `for` of each line of the runbook's table."""
    lines = re.findall(
        r"^\| \[?(Delta\w+)[^|]*\| (\w+) \| ([^|]*)\| ([^|]*) \|$", RUNBOOK.read_text(), re.MULTILINE
    )
    return [(name, severity, re.findall(r"`([^`]+)`", text), held) for name, severity, text, held in lines]


def test_the_runbook_has_the_severities_thresholds_and_times_of_the_rules():
    assert rows() == [
        (rule["alert"], rule["labels"]["severity"], thresholds(rule["expr"]), rule.get("for", "at once"))
        for rule in ALERTS
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_section_of_the_runbook_says_all_that_is_needed_at_night(name):
    text = sections()[name.lower()]

    assert [
        word for word in ("Means", "Look first", "Likely", "Do", "Silence") if f"**{word}" not in text
    ] == (
        ["Likely", "Do"] if name == "DeltaCheckInconclusive" else ["Do"] if name == "DeltaCheckBlind" else []
    )
    assert "```promql" in text


def test_the_runbook_queries_only_existing_series():
    asked = " ".join(re.findall(r"```promql\n(.*?)```", RUNBOOK.read_text(), re.DOTALL))

    assert set(re.findall(r"\b\w+:\w+:\w+\b", asked)) <= {rule["record"] for rule in RECORDS}
    assert set(IDENTIFIER.findall(re.sub(r"\b\w+:\w+:\w+\b", "", asked))) <= METRICS | LABELS


def test_every_alert_has_a_line_in_the_routes_table_of_the_runbook_that_links_to_it():
    links = re.findall(r"^\| \[(Delta\w+)\]\(#(\w+)\)", RUNBOOK.read_text(), re.MULTILINE)

    assert [anchor for _, anchor in links] == [name.lower() for name, _ in links]
    assert sorted(name for name, _ in links) == NAMES
