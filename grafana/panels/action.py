"""Action detail: one action, its checks, its durations and its runs."""

from grafana_foundation_sdk.models.dashboard import Dashboard

from panels import _links as links
from panels._page import action, agents, chosen, metric, page, service
from panels._parts import CLAIMS, NO_DURATIONS, ORIGINS, counts, curves, found, limits, number, spans
from panels._queries import ACTION, CHECK, by_name, count, peak, quantile, share

FAILURES = f"check:failures:increase5m{{{CHECK}}}"
CHECKS = f"check:delta_checks:increase5m{{{CHECK}}}"
FAILED = f'check:delta_checks:increase5m{{{CHECK}, delta_check_outcome="fail"}}'
JUDGED = f"check:judged:increase5m{{{CHECK}}}"
INCONCLUSIVE = f'check:delta_checks:increase5m{{{CHECK}, delta_check_outcome="inconclusive"}}'
EVALUATED = f"check:evaluated:increase5m{{{CHECK}}}"
VERIFICATIONS = f'action:delta_verification_duration_seconds_bucket:increase5m{{{ACTION}, le="+Inf"}}'
VERIFYING = f"action:delta_verification_duration_seconds_sum:increase5m{{{ACTION}}}"
ACTING = f"action:delta_action_duration_seconds_sum:increase5m{{{ACTION}}}"
OF_THIS_ACTION = 'delta.action.name="$action"'


def dashboard() -> Dashboard:
    """Return the dashboard that alerts about a check lead to."""
    return page(
        links.ACTION,
        "Action detail",
        "One action: which of its checks fail or reach no verdict, since when, in which runs, and how long "
        "both take.",
        variables=[agents(), service(), action(), metric(), chosen("trace")],
        lines=[(4, _numbers()), (8, _over_time()), (8, _who()), (8, _durations()), (8, _runs())],
        folded=(
            "States and deltas of one run: click a trace name above, then open this",
            16,
            spans(
                "The run $trace",
                "Open the span of the action: delta.pre_state and delta.post_state are what the probes "
                "read, delta.expected_delta what was declared, delta.actual_delta what changed; the "
                "delta.check events explain each check in a sentence.",
                "trace",
            ),
        ),
        alerts='delta_action_name="$action"',
    )


def _numbers() -> list[object]:
    return [
        number(
            "Checks passed",
            "Share of the judged checks of the chosen metrics whose delta was as declared. Red: more failed "
            "than the objective of 99 % allows. Read a failed run below.",
            f"1 - {share(FAILURES, JUDGED)}",
            unit="percentunit",
            decimals=2,
            colours=limits("red", (0.99, "orange"), (1, "green")),
        ),
        number(
            "Checks failed",
            "How often the state refuted the action. Red: at least once. One at either end of the time "
            "range may count although it lies a few minutes outside.",
            count(FAILURES),
            unit="short",
            colours=limits("green", (1, "red")),
        ),
        number(
            "Checks without a verdict",
            "Share of the evaluated checks that could not be judged. Orange: the alert's limit; the reasons "
            "are below.",
            share(INCONCLUSIVE, EVALUATED),
            unit="percentunit",
            decimals=1,
            colours=limits("green", (0.05, "orange"), (0.5, "red")),
        ),
        number(
            "Runs verified",
            "Runs of the action that were verified, whatever the metric. None: it is not called, not "
            "decorated, or its process sends nothing.",
            count(VERIFICATIONS),
            unit="short",
            colours=limits("blue"),
        ),
        number(
            "Verification cost",
            "Time spent on verifying this action, of the time spent on the action itself. Orange: verifying "
            "takes longer. Make its probes cheaper, or sample them.",
            share(VERIFYING, ACTING),
            unit="percentunit",
            colours=limits("green", (1, "orange")),
        ),
    ]


def _over_time() -> list[object]:
    return [
        counts(
            "Checks by outcome",
            "The most checks of each outcome within any five minutes. The first red bar says since when.",
            {"{{delta_check_outcome}}": peak(CHECKS, by="delta_check_outcome")},
            empty="No checks of this action in this time range",
        ),
        counts(
            "Failures by metric",
            "The most failures of each metric within any five minutes. Several at once: the action did "
            "nothing, or wrote somewhere else. One alone: part of the action did not happen, or a neighbour "
            "was changed.",
            {"{{delta_check_metric}}": peak(FAILURES, by="delta_check_metric")},
            empty="No judged checks of this action in this time range",
        ),
        counts(
            "Without a verdict, by reason",
            "The most inconclusive checks of each reason within any five minutes. contended: runs overlap "
            "on one state, so use exclusively, scope or tagged. probe_timeout, probe_failed: mend the "
            "probe.",
            {"{{delta_check_reason}}": peak(INCONCLUSIVE, by="delta_check_reason")},
            empty="Every check of this action reached a verdict in this time range",
        ),
    ]


def _who() -> list[object]:
    return [
        counts(
            "Checks by origin of the change",
            "Who is held to have made the changes that were seen. unknown: runs overlapped, or rows carry no "
            "causal tag; use exclusively, scope or tagged. another_action: every changed row carries the tag "
            "of another run.",
            {"{{delta_check_origin}}": by_name("delta_check_origin", CHECKS, "no change")},
            colours=ORIGINS,
            empty="No checks of this action in this time range",
        ),
        counts(
            "Failed checks by what the action claims",
            "success: this action said that it was done, and was not. failure: an honest failure; say "
            ".or_unchanged_on_error() if one that left no trace should pass. no claim: it is decorated "
            "without claim=.",
            {"{{delta_action_claim}}": by_name("delta_action_claim", FAILED, "no claim")},
            colours=CLAIMS,
            empty="No failed checks of this action in this time range",
        ),
    ]


def _durations() -> list[object]:
    return [
        curves(
            "How long the action takes",
            "Median and 95th percentile without verification. The dots are single runs; each links to its "
            "trace. A run that is suddenly much faster often did nothing.",
            _quantiles("delta_action_duration_seconds"),
            unit="s",
            exemplars=True,
            empty=NO_DURATIONS,
        ),
        curves(
            "How long verifying it takes",
            "Median and 95th percentile of reading the probes and judging, settling included. The dots are "
            "single runs. Above the line the alert begins: make the probe cheaper, or sample it.",
            _quantiles("delta_verification_duration_seconds"),
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
            "Runs of this action, whatever the metric, with a failed check: delta.checks.failed on the span "
            "names which. The trace id opens the trace, the trace name shows it below: state before, state "
            "after, expected and actual delta.",
            f"{OF_THIS_ACTION} delta.action.outcome=fail",
            link="trace",
            empty="No failed run of this action in this service and time range",
        ),
        found(
            "Latest runs without a verdict",
            "Runs of this action whose worst check is inconclusive. The delta.check events carry the reason "
            "and the exception. The trace name shows the run below.",
            f"{OF_THIS_ACTION} delta.action.outcome=inconclusive",
            link="trace",
            empty="No run without a verdict of this action in this service and time range",
        ),
    ]


def _quantiles(histogram: str) -> dict[str, str]:
    return {"median": quantile(0.5, histogram, ACTION), "95th percentile": quantile(0.95, histogram, ACTION)}
