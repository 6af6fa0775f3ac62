"""The dashboard Delta overview: declared and actual changes of all agents."""

from grafana_foundation_sdk.models.dashboard import Dashboard

from panels import _links as links
from panels._page import agents, page, service
from panels._parts import CLAIMS, NO_DURATIONS, ORIGINS, counts, curves, found, limits, number, rows
from panels._queries import JOBS, by_name, count, peak, quantile, share

FAILURES = f"check:failures:increase5m{{{JOBS}}}"
FAILED = f'check:deltaspan_checks:increase5m{{{JOBS}, deltaspan_check_outcome="fail"}}'
CHECKS = f"check:deltaspan_checks:increase5m{{{JOBS}}}"
JUDGED = f"check:judged:increase5m{{{JOBS}}}"
INCONCLUSIVE = f'check:deltaspan_checks:increase5m{{{JOBS}, deltaspan_check_outcome="inconclusive"}}'
EVALUATED = f"check:evaluated:increase5m{{{JOBS}}}"
VERIFYING = f"action:deltaspan_verification_duration_seconds_sum:increase5m{{{JOBS}}}"
ACTING = f"action:duration_seconds_sum:increase5m{{{JOBS}}}"
REPORTING = f"job:deltaspan_checks:reporting{{{JOBS}}}"
OF_A_CHECK = ("job", "deltaspan_action_name", "deltaspan_check_metric")
BY_CHECK = ", ".join(OF_A_CHECK)


def dashboard() -> Dashboard:
    """Return the dashboard of all agents."""
    return page(
        links.OVERVIEW,
        "Delta overview",
        "What agents declared, compared with what changed: failures, checks without a verdict, and the cost "
        "of verification.",
        variables=[agents(), service()],
        lines=[
            (4, _numbers()),
            (8, _over_time()),
            (8, _who()),
            (8, _tables()),
            (8, _runs()),
            (8, [_cost()]),
        ],
    )


def _numbers() -> list[object]:
    return [
        number(
            "Checks passed",
            "Share of the judged checks that passed. Red: more checks failed than the objective of 99 % "
            "allows. The tables below name the checks; open the action from there.",
            f"1 - {share(FAILURES, JUDGED)}",
            unit="percentunit",
            decimals=2,
            colours=limits("red", (0.99, "orange"), (1, "green")),
        ),
        number(
            "Checks failed",
            "Number of checks whose state contradicts the declaration. Red: at least one. The tables below "
            "name the checks. Failures a few minutes outside the time range may count at its ends.",
            count(FAILURES),
            unit="short",
            colours=limits("green", (1, "red")),
        ),
        number(
            "Checks without a verdict",
            "Share of the evaluated checks that are inconclusive. They prove nothing either way. Orange: the "
            "limit of the alert. The table of reasons below shows the cause.",
            share(INCONCLUSIVE, EVALUATED),
            unit="percentunit",
            decimals=1,
            colours=limits("green", (0.05, "orange"), (0.5, "red")),
        ),
        number(
            "Verification cost",
            "Verification time as a share of action time. Orange: verification takes longer than the "
            "actions. The dashboard Verification health shows which action.",
            share(VERIFYING, ACTING),
            unit="percentunit",
            colours=limits("green", (1, "orange")),
        ),
        number(
            "Agents reporting",
            "Agents (jobs) that reported within five minutes. Red: none of the agents that reported in the "
            "time range. Agents that run once and exit do not report in between.",
            f"count({REPORTING}) or 0 * count(last_over_time({REPORTING}[$__range]))",
            unit="short",
            colours=limits("red", (1, "green")),
        ),
    ]


def _over_time() -> list[object]:
    return [
        counts(
            "Checks by outcome",
            "The highest number of checks of each outcome within five minutes. Red: failed checks. Orange: "
            "inconclusive checks, which prove nothing either way.",
            {"{{deltaspan_check_outcome}}": peak(CHECKS, by="deltaspan_check_outcome")},
            empty="No checks in this time range",
        ),
        counts(
            "Failures by action and metric",
            "The highest number of failures of each check within five minutes. Click a bar to open the "
            "action.",
            {
                "{{deltaspan_action_name}}: {{deltaspan_check_metric}}": peak(
                    FAILURES, by="job, deltaspan_action_name, deltaspan_check_metric"
                )
            },
            link=links.from_series(*OF_A_CHECK),
            empty="No judged checks in this time range",
        ),
    ]


def _who() -> list[object]:
    return [
        counts(
            "Checks by origin of the change",
            "The action to which the observed changes are attributed. unknown: actions overlapped, or rows "
            "have no causal tag. Scope the check, tag the rows, or hold a lock. another_action: every "
            "changed row has the tag of another run.",
            {"{{deltaspan_check_origin}}": by_name("deltaspan_check_origin", CHECKS, "no change")},
            colours=ORIGINS,
            empty="No checks in this time range",
        ),
        counts(
            "Failed checks by claim",
            "success: the action claimed success, but the check failed. failure: the action reported its "
            "failure. If such a run should pass when it changed nothing, use .or_unchanged_on_error(). no "
            "claim: the action is decorated without claim=.",
            {"{{deltaspan_action_claim}}": by_name("deltaspan_action_claim", FAILED, "no claim")},
            colours=CLAIMS,
            empty="No failed checks in this time range",
        ),
    ]


def _tables() -> list[object]:
    share_of_failures = f"{share(FAILURES, JUDGED, by=BY_CHECK)} > 0"
    with_reason = f"{BY_CHECK}, deltaspan_check_reason, deltaspan_check_origin"
    return [
        rows(
            "Checks that failed",
            "Each check that failed in the time range. Click the action to see when, how often, and in which "
            "traces.",
            OF_A_CHECK,
            {
                "Failures": (f"{count(FAILURES, by=BY_CHECK)} > 0", "short"),
                "Share of judged": (share_of_failures, "percentunit"),
            },
            link=links.from_row(*OF_A_CHECK),
            limited={"Share of judged": limits("orange", (0.01, "red"))},
            empty="No check failed in this time range",
        ),
        rows(
            "Checks without a verdict, by reason",
            "contended: actions overlap on the same state. If the origin is unknown, the state changed, and "
            "a check that it stays unchanged cannot tell which action changed it. probe_timeout, "
            "probe_failed, baseline_failed: repair the probe or the system that it reads. action_failed: the "
            "action raised, so nothing was judged.",
            (*OF_A_CHECK, "deltaspan_check_reason", "deltaspan_check_origin"),
            {"Runs": (f"{count(INCONCLUSIVE, by=with_reason)} > 0", "short")},
            link=links.from_row(*OF_A_CHECK),
            empty="Every check reached a verdict in this time range",
        ),
    ]


def _runs() -> list[object]:
    return [
        found(
            "Latest failed runs",
            "Runs of the chosen service with a failed check. Click the trace id to open the trace. The "
            "span's deltaspan.pre_state, deltaspan.post_state, deltaspan.expected_delta and "
            "deltaspan.actual_delta show what was declared and what changed.",
            "deltaspan.action.outcome=fail",
            empty="No failed run of this service in this time range",
        ),
        found(
            "Latest runs without a verdict",
            "Runs of the chosen service whose worst outcome is inconclusive. The deltaspan.check.result "
            "events of the span contain the reason and the exception.",
            "deltaspan.action.outcome=inconclusive",
            empty="No run without a verdict of this service in this time range",
        ),
    ]


def _cost() -> object:
    return curves(
        "Verification duration, 95th percentile",
        "The time that an action's caller waits in addition to the action: both reads of each probe, and "
        "polling. Dots are single runs; each links to its trace. The alert fires above the line. Make the "
        "probe cheaper, or sample the check.",
        {
            "{{deltaspan_action_name}}": quantile(
                0.95,
                f"deltaspan_verification_duration_seconds_bucket{{{JOBS}}}",
                by="job, deltaspan_action_name",
            )
        },
        unit="s",
        exemplars=True,
        empty=NO_DURATIONS,
        limit=5,
        link=links.from_series("job", "deltaspan_action_name"),
    )
