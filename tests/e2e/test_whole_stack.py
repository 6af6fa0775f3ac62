"""The whole stack with the configuration that ships: from agents to traces, numbers and a person's pager.

Agents and the demo send to the collector; it sends to Jaeger and Prometheus; Prometheus sends to
Alertmanager, which sends to a webhook. All of it is as in `deploy/`, but for two things: the services are on
free loopback ports, and rules, routes and dashboards run in a faster time, because theirs takes hours. See
`_sooner.py` for what that changes: every duration is divided by 120, so that a minute of theirs is half a
second, and nothing else. So "within 15 minutes" in the text of an alert was in 7.5 seconds here.

What is expected is computed from what the agents' own reports say that they did.
"""

from __future__ import annotations

import math

import pytest

from e2e._load import LONG, loaded_and_counted, started
from e2e._servers import until
from e2e._sooner import sooner_query
from e2e._whole import running_whole
from support.dashboards import expressions
from support.rules import groups, rules

pytestmark = pytest.mark.usefixtures("built")


@pytest.fixture(scope="module")
def whole(built, tmp_path_factory):
    with running_whole(tmp_path_factory.mktemp("whole")) as stack:
        yield stack


@pytest.fixture(scope="module")
def lasting(whole):
    """Have an agent that reports until it ends, and one that is there and idle."""
    agents = [started(whole.collector, role, role, OTEL_METRIC_EXPORT_INTERVAL="500") for role in LONG]
    yield
    for agent in agents:
        agent.communicate(timeout=180)  # closes its stdin, at which the idle one ends


@pytest.fixture(scope="module")
def load(whole, lasting):
    return loaded_and_counted(whole)


@pytest.fixture(scope="module")
def panel(whole, load):
    """Return what asks for the values of a panel's one query, or of several, as its dashboard does."""

    def ask(dashboard, title, *, by=(), job=None, **variables):
        queries = [
            sooner_query(each.expr)
            for each in expressions(job=job or load.jobs, __range="6h", **variables)
            if (each.dashboard, each.panel) == (f"deltaspan-{dashboard}", title)
        ]
        return [
            {
                tuple(labels[name].removeprefix("agents/") for name in by): value
                for labels, value in whole.prometheus.query(query)
            }
            for query in queries
        ]

    return ask


BY_CHECK = ("job", "deltaspan_action_name", "deltaspan_check_metric")
BY_ACTION = ("job", "deltaspan_action_name")


def total(counts):
    return sum(counts.values())


# Traces -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "outcome"), [("liar", "fail"), ("once", "fail"), ("unsure", "inconclusive")]
)
def test_every_run_without_a_pass_is_found_in_jaeger_by_its_outcome(whole, load, role, outcome):
    service = f"{role}-{load.turn}"
    expected = load.tags(service, outcome)

    traces = whole.jaeger.find_traces(
        service, tags={"deltaspan.action.outcome": outcome}, at_least=len(expected)
    )

    found = [span.tags["deltaspan.causal_tag.id"] for trace in traces for span in trace.spans]
    assert sorted(found) == sorted(expected)
    assert found


def test_the_failed_tools_of_the_demo_are_found_in_jaeger(whole, load):
    service = f"demo-{load.turn}"
    expected = {action for job, action, *_ in load.verdicts("fail", by=3) if job == service}

    traces = whole.jaeger.find_traces(
        service, tags={"deltaspan.action.outcome": "fail"}, at_least=len(expected)
    )

    found = [span.name for trace in traces for span in trace.spans]
    assert sorted(found) == sorted(f"execute_tool {action}" for action in expected)
    assert len(found) == 5


def test_the_exemplar_of_a_failed_check_leads_to_the_trace_of_a_failed_run(whole, load):
    service = f"liar-{load.turn}"
    query = f'deltaspan_checks_total{{job="agents/{service}", deltaspan_check_outcome="fail"}}'
    [series] = [
        each
        for each in until(
            lambda: whole.prometheus.get(
                "query_exemplars", query=query, start=f"{whole.began}", end=f"{whole.began + 3600}"
            )
        )
        if each["exemplars"]
    ]
    trace_id = series["exemplars"][-1]["labels"]["trace_id"]

    span = whole.jaeger.trace(trace_id).span("execute_tool order")

    assert series["seriesLabels"]["deltaspan_check_metric"] == "rows"
    assert span.tags["deltaspan.causal_tag.id"] in load.tags(service, "fail")


# Numbers ----------------------------------------------------------------------------------------------------


def test_the_rule_counts_each_failure_by_action_and_metric(whole, load):
    found = {
        tuple(labels[name].removeprefix("agents/") for name in BY_CHECK): max(values)
        for labels, values in whole.seen(f'check:failures:increase15m{{job=~"{load.jobs}"}}')
    }

    assert {key: value for key, value in found.items() if value} == load.verdicts("fail", by=3)


def test_the_overview_tells_the_share_of_passes_and_the_number_of_failures(panel, load):
    failed, judged = total(load.verdicts("fail", by=3)), total(load.verdicts("pass", "fail", by=3))

    assert panel("overview", "Checks passed") == [{(): pytest.approx(1 - failed / judged)}]
    assert panel("overview", "Checks failed") == [{(): failed}]


def test_the_overview_lists_failed_checks_with_their_counts_and_shares(panel, load):
    failed, judged = load.verdicts("fail", by=3), load.verdicts("pass", "fail", by=3)

    counts, shares = panel("overview", "Checks that failed", by=BY_CHECK)

    assert counts == failed
    assert shares == {key: pytest.approx(times / judged[key]) for key, times in failed.items()}


def test_the_overview_lists_the_checks_without_a_verdict_by_reason(panel, load):
    by = (*BY_CHECK, "deltaspan_check_reason")
    expected = {(*key[:3], key[4]): times for key, times in load.verdicts("inconclusive", by=5).items()}

    assert panel("overview", "Checks without a verdict, by reason", by=by) == [expected]
    assert {reason for *_, reason in expected} == {
        "action_failed",
        "baseline_failed",
        "contended",
        "probe_failed",
    }


def test_the_share_without_a_verdict_is_that_of_all_that_were_evaluated(panel, load):
    evaluated = total(load.verdicts("pass", "fail", "inconclusive", by=3))
    share = total(load.verdicts("inconclusive", by=3)) / evaluated

    assert panel("overview", "Checks without a verdict") == [{(): pytest.approx(share)}]


def test_an_action_has_the_numbers_of_its_own(panel, load):
    of_action = {"action": "order", "metric": "rows"}
    mine = [load.verdicts(*outcomes, by=3) for outcomes in (("fail",), ("pass", "fail"))]
    failed, judged = [
        sum(times for (_, action, metric), times in each.items() if (action, metric) == ("order", "rows"))
        for each in mine
    ]

    assert panel("action", "Checks failed", **of_action) == [{(): failed}]
    assert panel("action", "Checks passed", **of_action) == [{(): pytest.approx(1 - failed / judged)}]


def test_the_verification_cost_panel_agrees_with_the_reports(panel, load):
    job = "|".join(f"agents/{service}" for service in load.runs)
    seconds = {}
    for service, runs in load.runs.items():
        for run in runs:
            seconds.setdefault((service, run.action), []).append(run.seconds)
    acting, verifying = map(sum, zip(*(pair for each in seconds.values() for pair in each), strict=True))

    runs, _, means, costs = panel("verification", "Coverage and cost by action", by=BY_ACTION, job=job)

    assert panel("verification", "Verification cost", job=job) == [{(): pytest.approx(verifying / acting)}]
    assert runs == {key: len(each) for key, each in seconds.items()}
    assert means == {key: pytest.approx(sum(v for _, v in each) / len(each)) for key, each in seconds.items()}
    assert costs == {
        key: pytest.approx(sum(v for _, v in each) / sum(a for a, _ in each)) for key, each in seconds.items()
    }


# Alerts -----------------------------------------------------------------------------------------------------


def test_a_process_that_fails_once_and_exits_makes_a_ticket(whole, load):
    job = f"agents/once-{load.turn}"

    (receiver, alert), *_ = until(lambda: whole.webhook.alerts("firing", job=job))

    assert receiver == "ticket"
    assert alert["labels"] == {
        "alertname": "DeltaCheckFirstFailure",
        "job": job,
        "deltaspan_action_name": "order",
        "deltaspan_check_metric": "rows",
        "severity": "warning",
    }
    assert alert["annotations"] == {
        "summary": "A check failed for the first time in a week.",
        "description": f"1 failed verdict(s) on rows of action order in {job} within 15 minutes, and none in "
        "the 7 days before.",
        "dashboard_url": "http://localhost:3000/d/deltaspan-action?var-action=order&var-metric=rows",
        "runbook_url": "docs/runbook.md#deltacheckfirstfailure",
    }


def test_a_check_that_fails_again_and_again_pages_with_the_share_of_its_failures(whole, load):
    job = f"agents/liar-{load.turn}"

    (receiver, alert), *_ = until(lambda: whole.webhook.alerts("firing", job=job, long="1h"))

    share = load.verdicts("fail", by=3)[f"liar-{load.turn}", "order", "rows"] / 10
    assert receiver == "page"
    assert alert["labels"]["alertname"] == "DeltaCheckBudgetBurn"
    assert alert["annotations"]["description"] == (
        f"{share:.0%} of the verdicts on rows of action order in {job} were failures in the last hour, and "
        "failures continue. The objective allows 1%."
    )


def test_a_refuted_claim_raises_a_ticket(whole, load):
    job = f"agents/boaster-{load.turn}"

    (receiver, alert), *_ = until(lambda: whole.webhook.alerts("firing", job=job))

    assert (receiver, alert["labels"]["alertname"]) == ("ticket", "DeltaClaimRefuted")
    assert whole.webhook.alerts("firing", job=job, alertname="DeltaCheckFirstFailure") == []


def test_an_honest_agent_raises_no_alert(whole, load):
    until(lambda: whole.webhook.alerts("firing", job=f"agents/once-{load.turn}"))

    assert whole.seen(f'ALERTS{{job="agents/honest-{load.turn}"}}') == []


@pytest.mark.parametrize(
    ("role", "receiver", "labels"),
    [
        ("liar", "page", {"alertname": "DeltaCheckBudgetBurn", "long": "1h"}),
        ("once", "ticket", {"alertname": "DeltaCheckFirstFailure"}),
    ],
)
def test_an_alert_is_resolved_after_the_last_failure(whole, load, role, receiver, labels):
    job = f"agents/{role}-{load.turn}"

    (told, alert), *_ = until(lambda: whole.webhook.alerts("resolved", job=job, **labels))

    fired = whole.webhook.alerts("firing", job=job, **labels)
    assert told == receiver
    assert {each["startsAt"] for _, each in fired} == {alert["startsAt"]}
    assert alert["startsAt"] < alert["endsAt"]


# Everything -------------------------------------------------------------------------------------------------


def test_every_agent_alert_fires_for_its_cause_and_no_alert_fires_on_a_healthy_stack(whole, load):
    of_agents = [group for group in groups() if group["name"] != "deltaspan-stack"]
    alerts = [rule for group in of_agents for rule in group["rules"] if "alert" in rule]
    expected = {(rule["alert"], rule["labels"].get("long", "")) for rule in alerts} | {("DeltaWatchdog", "")}

    def raised():
        series = whole.seen("ALERTS")
        return {(labels["alertname"], labels.get("long", "")) for labels, _ in series}

    until(lambda: raised() == expected)

    assert raised() == expected


@pytest.mark.usefixtures("load")
def test_every_rule_recorded_something(whole):
    silent = [rule["record"] for rule in rules("record") if not whole.seen(rule["record"])]

    assert silent == ["exporter:dropped_items:increase15m"]  # the collector has lost nothing


@pytest.mark.usefixtures("load")
def test_every_query_of_every_dashboard_gives_a_number(whole):
    # One of the two has failures, the other has runs without a verdict.
    queries = list(zip(expressions(action="order"), expressions(action="act_dimly"), strict=True))

    assert [both for both in queries if not any(numbers(whole, each) for each in both)] == []
    assert queries


@pytest.mark.usefixtures("load")
@pytest.mark.parametrize("action", ["order", "restock"])
def test_the_dashboard_of_an_action_shows_the_durations_of_tools_and_of_windows(whole, action):
    panels = {"Action duration", "Verification duration", "Verification cost"}
    queries = [
        each
        for each in expressions(action=action)
        if each.dashboard == "deltaspan-action" and each.panel in panels
    ]

    assert {each.panel for each in queries} == panels
    assert [each for each in queries if not numbers(whole, each)] == []


def numbers(whole, query):
    """Return all numbers that a query of a dashboard has given since the stack is up."""
    return [
        value
        for _, values in whole.seen(sooner_query(query.expr))
        for value in values
        if not math.isnan(value)
    ]


def test_prometheus_reaches_every_part_of_the_stack(whole):
    up = {labels["job"]: value for labels, value in until(lambda: whole.prometheus.query("up"))}

    assert up == {"alertmanager": 1, "collector": 1, "jaeger": 1, "prometheus": 1}
