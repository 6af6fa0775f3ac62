"""The dashboard Action detail: checks, durations and runs of one action."""

from grafana_foundation_sdk.models.dashboard import Dashboard

from panels import _links as links
from panels._page import action, agents, chosen, metric, page, service
from panels._parts import CLAIMS, NO_DURATIONS, ORIGINS, counts, curves, found, limits, number, spans
from panels._queries import ACTION, CHECK, TOOL, by_name, count, peak, quantile, share

FAILURES = f"check:failures:increase5m{{{CHECK}}}"
CHECKS = f"check:deltaspan_checks:increase5m{{{CHECK}}}"
FAILED = f'check:deltaspan_checks:increase5m{{{CHECK}, deltaspan_check_outcome="fail"}}'
JUDGED = f"check:judged:increase5m{{{CHECK}}}"
INCONCLUSIVE = f'check:deltaspan_checks:increase5m{{{CHECK}, deltaspan_check_outcome="inconclusive"}}'
EVALUATED = f"check:evaluated:increase5m{{{CHECK}}}"
VERIFICATIONS = f'action:deltaspan_verification_duration_seconds_bucket:increase5m{{{ACTION}, le="+Inf"}}'
VERIFYING = f"action:deltaspan_verification_duration_seconds_sum:increase5m{{{ACTION}}}"
ACTING = f"action:duration_seconds_sum:increase5m{{{ACTION}}}"
OF_THIS_ACTION = 'deltaspan.action.name="$action"'


def dashboard() -> Dashboard:
    """Return the dashboard of one action, to which alerts about a check link."""
    return page(
        links.ACTION,
        "Action detail",
        "One action: which of its checks fail or reach no verdict, since when, in which runs, and how long "
        "action and verification take.",
        variables=[agents(), service(), action(), metric(), chosen("trace")],
        lines=[(4, _numbers()), (8, _over_time()), (8, _who()), (8, _durations()), (8, _runs())],
        folded=(
            "States and deltas of one run: click a trace name above, then open this row",
            16,
            spans(
                "Run $trace",
                "Open the span of the action. deltaspan.pre_state and deltaspan.post_state are the states "
                "that the probes read, deltaspan.expected_delta is the declaration, and "
                "deltaspan.actual_delta is the change. The deltaspan.check.result events explain each check.",
                "trace",
            ),
        ),
        alerts='deltaspan_action_name="$action"',
    )


def _numbers() -> list[object]:
    return [
        number(
            "Checks passed",
            "Share of the judged checks of the chosen metrics that passed. Red: more checks failed than the "
            "objective of 99 % allows. Open a failed run below.",
            f"1 - {share(FAILURES, JUDGED)}",
            unit="percentunit",
            decimals=2,
            colours=limits("red", (0.99, "orange"), (1, "green")),
        ),
        number(
            "Checks failed",
            "Number of checks whose state contradicts the declaration. Red: at least one. Failures a few "
            "minutes outside the time range may count at its ends.",
            count(FAILURES),
            unit="short",
            colours=limits("green", (1, "red")),
        ),
        number(
            "Checks without a verdict",
            "Share of the evaluated checks that are inconclusive. Orange: the limit of the alert. The "
            "reasons are below.",
            share(INCONCLUSIVE, EVALUATED),
            unit="percentunit",
            decimals=1,
            colours=limits("green", (0.05, "orange"), (0.5, "red")),
        ),
        number(
            "Runs verified",
            "Verified runs of the action, for all metrics. If there are none, the action is not called or "
            "not decorated, or its process sends nothing.",
            count(VERIFICATIONS),
            unit="short",
            colours=limits("blue"),
        ),
        number(
            "Verification cost",
            "Verification time as a share of the time of this action. Orange: verification takes longer than "
            "the action. Make its probes cheaper, or sample its checks.",
            share(VERIFYING, ACTING),
            unit="percentunit",
            colours=limits("green", (1, "orange")),
        ),
    ]


def _over_time() -> list[object]:
    return [
        counts(
            "Checks by outcome",
            "The highest number of checks of each outcome within five minutes. The first red bar shows when "
            "the failures began.",
            {"{{deltaspan_check_outcome}}": peak(CHECKS, by="deltaspan_check_outcome")},
            empty="No checks of this action in this time range",
        ),
        counts(
            "Failures by metric",
            "The highest number of failures of each metric within five minutes. Several metrics at once: the "
            "action did nothing, or wrote to another place. One metric alone: part of the action did not "
            "happen, or unrelated data changed.",
            {"{{deltaspan_check_metric}}": peak(FAILURES, by="deltaspan_check_metric")},
            empty="No judged checks of this action in this time range",
        ),
        counts(
            "Checks without a verdict, by reason",
            "The highest number of inconclusive checks of each reason within five minutes. contended: runs "
            "overlap on the same state. Use exclusively, scope or tagged. probe_timeout, probe_failed: "
            "repair the probe.",
            {"{{deltaspan_check_reason}}": peak(INCONCLUSIVE, by="deltaspan_check_reason")},
            empty="Every check of this action reached a verdict in this time range",
        ),
    ]


def _who() -> list[object]:
    return [
        counts(
            "Checks by origin of the change",
            "The action to which the observed changes are attributed. unknown: runs overlapped, or rows have "
            "no causal tag. Use exclusively, scope or tagged. another_action: every changed row has the tag "
            "of another run.",
            {"{{deltaspan_check_origin}}": by_name("deltaspan_check_origin", CHECKS, "no change")},
            colours=ORIGINS,
            empty="No checks of this action in this time range",
        ),
        counts(
            "Failed checks by claim",
            "success: this action claimed success, but the check failed. failure: the action reported its "
            "failure. If such a run should pass when it changed nothing, use .or_unchanged_on_error(). no "
            "claim: the action is decorated without claim=.",
            {"{{deltaspan_action_claim}}": by_name("deltaspan_action_claim", FAILED, "no claim")},
            colours=CLAIMS,
            empty="No failed checks of this action in this time range",
        ),
    ]


def _durations() -> list[object]:
    return [
        curves(
            "Action duration",
            "Median and 95th percentile of the action without verification. Dots are single runs; each links "
            "to its trace. A run that is suddenly much faster often did nothing.",
            _quantiles(
                f"gen_ai_execute_tool_duration_seconds_bucket{{{TOOL}}}",
                f"deltaspan_action_duration_seconds_bucket{{{ACTION}}}",
            ),
            unit="s",
            exemplars=True,
            empty=NO_DURATIONS,
        ),
        curves(
            "Verification duration",
            "Median and 95th percentile of reading the probes, polling and judging. Dots are single runs. "
            "The alert fires above the line. Make the probe cheaper, or sample the check.",
            _quantiles(f"deltaspan_verification_duration_seconds_bucket{{{ACTION}}}"),
            unit="s",
            exemplars=True,
            empty=NO_DURATIONS,
            limit=5,
        ),
    ]


def _runs() -> list[object]:
    return [
        found(
            "Latest failed runs",
            "Runs of this action with a failed check, for all metrics; deltaspan.check.failed_metrics on the "
            "span names them. Click the trace id to open the trace. Click the trace name to show the run "
            "below: states before and after, expected and actual delta.",
            f"{OF_THIS_ACTION} deltaspan.action.outcome=fail",
            link="trace",
            empty="No failed run of this action in this service and time range",
        ),
        found(
            "Latest runs without a verdict",
            "Runs of this action whose worst outcome is inconclusive; deltaspan.check.inconclusive_metrics "
            "on the span names the checks. The deltaspan.check.result events contain the reason and the "
            "exception. Click the trace name to show the run below.",
            f"{OF_THIS_ACTION} deltaspan.action.outcome=inconclusive",
            link="trace",
            empty="No run without a verdict of this action in this service and time range",
        ),
    ]


def _quantiles(*buckets: str) -> dict[str, str]:
    return {"median": quantile(0.5, *buckets), "95th percentile": quantile(0.95, *buckets)}
