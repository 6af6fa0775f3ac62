"""The dashboard Verification health: coverage, verdicts and cost of verification."""

from grafana_foundation_sdk.models.dashboard import Dashboard

from panels import _links as links
from panels._page import agents, page
from panels._parts import NO_DURATIONS, curves, limits, number, rows
from panels._queries import JOBS, count, quantile, share, total

INCONCLUSIVE = f'check:deltaspan_checks:increase5m{{{JOBS}, deltaspan_check_outcome="inconclusive"}}'
EVALUATED = f"check:evaluated:increase5m{{{JOBS}}}"
JUDGED = f"check:judged:increase5m{{{JOBS}}}"
VERIFICATIONS = f'action:deltaspan_verification_duration_seconds_bucket:increase5m{{{JOBS}, le="+Inf"}}'
VERIFYING = f"action:deltaspan_verification_duration_seconds_sum:increase5m{{{JOBS}}}"
ACTING = f"action:duration_seconds_sum:increase5m{{{JOBS}}}"
REPORTING = f"job:deltaspan_checks:reporting{{{JOBS}}}"
HEARD = f"last_over_time({REPORTING}[$__range])"
OF_AN_ACTION = ("job", "deltaspan_action_name")
BY_ACTION = ", ".join(OF_AN_ACTION)
BY_CHECK = f"{BY_ACTION}, deltaspan_check_metric"


def dashboard() -> Dashboard:
    """Return the dashboard of verification itself."""
    return page(
        links.VERIFICATION,
        "Verification health",
        "The state of verification itself: its coverage, checks without a verdict, silent agents, and its "
        "cost.",
        variables=[agents()],
        lines=[(4, _numbers()), (8, _verdicts()), (8, _costs()), (8, _tables())],
    )


def _numbers() -> list[object]:
    evaluated = f"{total(EVALUATED, by=BY_CHECK)} > 0"
    blind = f"({evaluated}) unless ({total(JUDGED, by=BY_CHECK)} > 0)"
    return [
        number(
            "Checks without a verdict",
            "Share of the evaluated checks that are inconclusive. Orange: the limit of the alert. The curve "
            "below shows the reasons.",
            share(INCONCLUSIVE, EVALUATED),
            unit="percentunit",
            decimals=1,
            colours=limits("green", (0.05, "orange"), (0.5, "red")),
        ),
        number(
            "Checks that never reach a verdict",
            "Checks that ran in the time range and reached no verdict. They look like coverage but verify "
            "nothing. Red: at least one. Repair the probe or its connection first. Delta overview lists the "
            "checks by reason.",
            f"count({blind}) or 0 * count({evaluated})",
            unit="short",
            colours=limits("green", (1, "red")),
        ),
        number(
            "Checks per run",
            "Judged or inconclusive checks per verified run. Orange: fewer than one, so some runs are only "
            "observed, or sampled out.",
            share(EVALUATED, VERIFICATIONS),
            unit="short",
            decimals=1,
            colours=limits("orange", (1, "green")),
        ),
        number(
            "Verification cost",
            "Verification time as a share of action time. Orange: verification takes longer than the "
            "actions. The table below shows the cost by action.",
            share(VERIFYING, ACTING),
            unit="percentunit",
            colours=limits("green", (1, "orange")),
        ),
        number(
            "Agents reporting",
            "Agents (jobs) that reported within five minutes. Red: none of the agents that reported in the "
            "time range.",
            f"count({REPORTING}) or 0 * count({HEARD})",
            unit="short",
            colours=limits("red", (1, "green")),
        ),
        number(
            "Agents silent",
            "Agents that reported in the time range but not within the last five minutes. Orange: look for "
            "crashed processes, and check the collector, unless these agents run once and exit.",
            f"count({HEARD} unless on (job) {REPORTING}) or 0 * count({HEARD})",
            unit="short",
            colours=limits("green", (1, "orange")),
        ),
    ]


def _verdicts() -> list[object]:
    an_hour = f"sum by (deltaspan_check_reason) (sum_over_time({INCONCLUSIVE}[1h]))"
    evaluated = f"sum(sum_over_time({EVALUATED}[1h]))"
    return [
        curves(
            "Share of checks without a verdict, by reason",
            "Share of the checks that were evaluated in the hour before. contended: actions overlap on the "
            "same state. probe_timeout, probe_failed, baseline_failed: repair the probe. action_failed: the "
            "actions raise. The line is the limit of the alert for a single check.",
            {"{{deltaspan_check_reason}}": f"{an_hour} / on () group_left () ({evaluated} > 0)"},
            unit="percentunit",
            limit=0.05,
            empty="Every check reached a verdict in this time range",
        ),
        curves(
            "Action and verification duration, 95th percentile",
            "The time of the actions, and the additional time of their verification. Dots are single runs; "
            "each links to its trace.",
            {
                "action": quantile(
                    0.95,
                    f"gen_ai_execute_tool_duration_seconds_bucket{{{JOBS}}}",
                    f"deltaspan_action_duration_seconds_bucket{{{JOBS}}}",
                ),
                "verification": quantile(0.95, f"deltaspan_verification_duration_seconds_bucket{{{JOBS}}}"),
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
            "Verification time as a share of action time, in the hour before. Above the line, verification "
            "takes longer than the action. That is harmless for actions of some milliseconds. Otherwise make "
            "the probe cheaper, or sample the check.",
            {"{{deltaspan_action_name}}": f"action:verification_cost:ratio1h{{{JOBS}}}"},
            unit="percentunit",
            limit=1,
            link=links.from_series(*OF_AN_ACTION),
        ),
        curves(
            "Verification duration by action, 95th percentile",
            "In the hour before. The alert fires above the line, because a caller may wait for the "
            "verification. Look for probes that scan, and for eventually() with a long timeout.",
            {"{{deltaspan_action_name}}": f"action:deltaspan_verification_duration_seconds:p95_1h{{{JOBS}}}"},
            unit="s",
            limit=5,
            link=links.from_series(*OF_AN_ACTION),
        ),
    ]


def _tables() -> list[object]:
    checks = f"count by ({BY_ACTION}) ({total(EVALUATED, by=BY_CHECK)} > 0)"
    mean = f"{total(VERIFYING, by=BY_ACTION)} / ({total(VERIFICATIONS, by=BY_ACTION)} > 0)"
    latest = f"max by (job) (max_over_time(timestamp({REPORTING})[$__range:1m]))"
    series = f"last_over_time(deltaspan_checks_total{{{JOBS}}}[5m])"
    return [
        rows(
            "Coverage and cost by action",
            "For each action: verified runs, different checks that demand something, mean verification time, "
            "and cost. An action with a single check can pass by accident.",
            OF_AN_ACTION,
            {
                "Runs": (f"{count(VERIFICATIONS, by=BY_ACTION)} > 0", "short"),
                "Checks": (checks, "short"),
                "Mean verification": (mean, "s"),
                "Cost": (f"{share(VERIFYING, ACTING, by=BY_ACTION)} >= 0", "percentunit"),
            },
            link=links.from_row(*OF_AN_ACTION),
            limited={"Cost": limits("text", (1, "orange"))},
        ),
        rows(
            "Agents",
            "For each agent (job): the time since its last report, to the minute; the instances that report "
            "now; and the checks that it evaluated in the last hour. Orange: no report for more than five "
            "minutes, the longest normal interval.",
            ("job",),
            {
                "Last report": (f"time() - {latest}", "s"),
                "Instances": (f"count by (job) (group by (job, instance) ({series}))", "short"),
                "Checks in the last hour": (f"ceil(job:evaluated:increase1h{{{JOBS}}})", "short"),
            },
            limited={"Last report": limits("text", (300, "orange"))},
            empty="No agent reported in this time range",
        ),
    ]
