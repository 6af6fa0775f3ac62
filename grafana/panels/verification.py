"""Verification health: whether the checking itself works, what it covers, and what it costs."""

from grafana_foundation_sdk.models.dashboard import Dashboard

from panels import _links as links
from panels._page import agents, page
from panels._parts import NO_DURATIONS, curves, limits, number, rows
from panels._queries import JOBS, count, quantile, share, total

INCONCLUSIVE = f'check:delta_checks:increase5m{{{JOBS}, delta_check_outcome="inconclusive"}}'
EVALUATED = f"check:evaluated:increase5m{{{JOBS}}}"
JUDGED = f"check:judged:increase5m{{{JOBS}}}"
VERIFICATIONS = f'action:delta_verification_duration_seconds_bucket:increase5m{{{JOBS}, le="+Inf"}}'
VERIFYING = f"action:delta_verification_duration_seconds_sum:increase5m{{{JOBS}}}"
ACTING = f"action:delta_action_duration_seconds_sum:increase5m{{{JOBS}}}"
REPORTING = f"job:delta_checks:reporting{{{JOBS}}}"
HEARD = f"last_over_time({REPORTING}[$__range])"
OF_AN_ACTION = ("job", "delta_action_name")
BY_ACTION = ", ".join(OF_AN_ACTION)
BY_CHECK = f"{BY_ACTION}, delta_check_metric"


def dashboard() -> Dashboard:
    """Return the dashboard about the checking itself."""
    return page(
        links.VERIFICATION,
        "Verification health",
        "Whether the checking itself works: what it covers, what it cannot judge, who is silent, and what "
        "it costs.",
        variables=[agents()],
        lines=[(4, _numbers()), (8, _verdicts()), (8, _costs()), (8, _tables())],
    )


def _numbers() -> list[object]:
    evaluated = f"{total(EVALUATED, by=BY_CHECK)} > 0"
    blind = f"({evaluated}) unless ({total(JUDGED, by=BY_CHECK)} > 0)"
    return [
        number(
            "Checks without a verdict",
            "Share of the evaluated checks that could not be judged. Orange: the alert's limit; the curve "
            "below says for which reason.",
            share(INCONCLUSIVE, EVALUATED),
            unit="percentunit",
            decimals=1,
            colours=limits("green", (0.05, "orange"), (0.5, "red")),
        ),
        number(
            "Checks that judge nothing",
            "Checks that ran in the time range and reached no verdict at all: they look like coverage and "
            "are none. Red: mend the probe or its connection first; Delta overview names them by reason.",
            f"count({blind}) or 0 * count({evaluated})",
            unit="short",
            colours=limits("green", (1, "red")),
        ),
        number(
            "Checks for each run",
            "Judged or inconclusive checks for each verified run. Orange: fewer than one, so some runs are "
            "only observed, or sampled away.",
            share(EVALUATED, VERIFICATIONS),
            unit="short",
            decimals=1,
            colours=limits("orange", (1, "green")),
        ),
        number(
            "Verification cost",
            "Time spent on verifying, of the time spent on acting. Orange: verifying takes longer than "
            "acting; the table below says which action's.",
            share(VERIFYING, ACTING),
            unit="percentunit",
            colours=limits("green", (1, "orange")),
        ),
        number(
            "Agents reporting",
            "Agents (jobs) heard within five minutes. Red: none of those that were heard in the time range.",
            f"count({REPORTING}) or 0 * count({HEARD})",
            unit="short",
            colours=limits("red", (1, "green")),
        ),
        number(
            "Agents silent",
            "Agents heard in the time range and not within the last five minutes. Orange: look for crashed "
            "processes and for the collector, unless these agents run once and exit.",
            f"count({HEARD} unless on (job) {REPORTING}) or 0 * count({HEARD})",
            unit="short",
            colours=limits("green", (1, "orange")),
        ),
    ]


def _verdicts() -> list[object]:
    an_hour = f"sum by (delta_check_reason) (sum_over_time({INCONCLUSIVE}[1h]))"
    evaluated = f"sum(sum_over_time({EVALUATED}[1h]))"
    return [
        curves(
            "Share without a verdict, by reason",
            "Of the checks evaluated in the hour before. contended: actions overlap on one state. "
            "probe_timeout, probe_failed, baseline_failed: mend the probe. action_failed: the actions "
            "raise. Above the line the alert of a single check begins.",
            {"{{delta_check_reason}}": f"{an_hour} / on () group_left () ({evaluated} > 0)"},
            unit="percentunit",
            limit=0.05,
            empty="Every check reached a verdict in this time range",
        ),
        curves(
            "Verifying against acting, 95th percentile",
            "How long the actions take, and how long verifying them takes on top. The dots are single runs; "
            "each links to its trace.",
            {
                "acting": quantile(0.95, "delta_action_duration_seconds", JOBS),
                "verifying": quantile(0.95, "delta_verification_duration_seconds", JOBS),
            },
            unit="s",
            exemplars=True,
            empty=NO_DURATIONS,
        ),
    ]


def _costs() -> list[object]:
    return [
        curves(
            "Cost by action",
            "Time spent on verifying, of the time spent on acting, in the hour before. Above the line "
            "verifying takes longer than acting: harmless for actions of milliseconds, otherwise make the "
            "probe cheaper or sample it.",
            {"{{delta_action_name}}": f"action:verification_cost:ratio1h{{{JOBS}}}"},
            unit="percentunit",
            limit=1,
            link=links.from_series(*OF_AN_ACTION),
        ),
        curves(
            "How long verifying takes, 95th percentile by action",
            "In the hour before. Above the line the alert begins: somebody waits for this. Look for probes "
            "that scan, and for eventually() with a long timeout.",
            {"{{delta_action_name}}": f"action:delta_verification_duration_seconds:p95_1h{{{JOBS}}}"},
            unit="s",
            limit=5,
            link=links.from_series(*OF_AN_ACTION),
        ),
    ]


def _tables() -> list[object]:
    checks = f"count by ({BY_ACTION}) ({total(EVALUATED, by=BY_CHECK)} > 0)"
    mean = f"{total(VERIFYING, by=BY_ACTION)} / ({total(VERIFICATIONS, by=BY_ACTION)} > 0)"
    latest = f"max by (job) (max_over_time(timestamp({REPORTING})[$__range:1m]))"
    series = f"last_over_time(delta_checks_total{{{JOBS}}}[5m])"
    return [
        rows(
            "Coverage and cost by action",
            "How many different checks each action has that demand something, how often it was verified, "
            "how long that takes on average, and what it costs. An action with one check is easy to satisfy "
            "by accident.",
            OF_AN_ACTION,
            {
                "Runs": (f"{count(VERIFICATIONS, by=BY_ACTION)} > 0", "short"),
                "Checks": (checks, "short"),
                "Verifying, mean": (mean, "s"),
                "Cost": (f"{share(VERIFYING, ACTING, by=BY_ACTION)} >= 0", "percentunit"),
            },
            link=links.from_row(*OF_AN_ACTION),
            limited={"Cost": limits("text", (1, "orange"))},
        ),
        rows(
            "Agents",
            "When each agent (job) was last heard, to the minute, how many instances of it report now, and "
            "the checks that it evaluated in the last hour. Orange: silent for more than the five minutes "
            "that a process may be.",
            ("job",),
            {
                "Heard ago": (f"time() - {latest}", "s"),
                "Instances": (f"count by (job) (group by (job, instance) ({series}))", "short"),
                "Checks in an hour": (f"ceil(job:evaluated:increase1h{{{JOBS}}})", "short"),
            },
            limited={"Heard ago": limits("text", (300, "orange"))},
            empty="No agent was heard in this time range",
        ),
    ]
