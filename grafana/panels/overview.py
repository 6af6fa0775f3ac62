"""Delta overview: what the agents said they changed, and whether they did."""

from grafana_foundation_sdk.models.dashboard import Dashboard

from panels import _links as links
from panels._page import agents, page, service
from panels._parts import CLAIMS, NO_DURATIONS, ORIGINS, counts, curves, found, limits, number, rows
from panels._queries import JOBS, by_name, count, peak, quantile, share

FAILURES = f"check:failures:increase5m{{{JOBS}}}"
FAILED = f'check:delta_checks:increase5m{{{JOBS}, delta_check_outcome="fail"}}'
CHECKS = f"check:delta_checks:increase5m{{{JOBS}}}"
JUDGED = f"check:judged:increase5m{{{JOBS}}}"
INCONCLUSIVE = f'check:delta_checks:increase5m{{{JOBS}, delta_check_outcome="inconclusive"}}'
EVALUATED = f"check:evaluated:increase5m{{{JOBS}}}"
VERIFYING = f"action:delta_verification_duration_seconds_sum:increase5m{{{JOBS}}}"
ACTING = f"action:delta_action_duration_seconds_sum:increase5m{{{JOBS}}}"
REPORTING = f"job:delta_checks:reporting{{{JOBS}}}"
OF_A_CHECK = ("job", "delta_action_name", "delta_check_metric")
BY_CHECK = ", ".join(OF_A_CHECK)


def dashboard() -> Dashboard:
    """Return the dashboard to look at first."""
    return page(
        links.OVERVIEW,
        "Delta overview",
        "What agents said they changed, held against what changed: failures, missing verdicts, and what it "
        "costs.",
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
            "Share of the judged checks whose delta was as declared. Red: more failed than the objective of "
            "99 % allows. See which below, and open the action.",
            f"1 - {share(FAILURES, JUDGED)}",
            unit="percentunit",
            decimals=2,
            colours=limits("red", (0.99, "orange"), (1, "green")),
        ),
        number(
            "Checks failed",
            "An action said that it was done, and the state says otherwise. Red: at least one; the tables "
            "below name it. One at either end of the time range may count although it lies a few minutes "
            "outside.",
            count(FAILURES),
            unit="short",
            colours=limits("green", (1, "red")),
        ),
        number(
            "Checks without a verdict",
            "Share of the evaluated checks that could not be judged: nothing is proven about them either "
            "way. Orange: the alert's limit; the reasons below say what to mend.",
            share(INCONCLUSIVE, EVALUATED),
            unit="percentunit",
            decimals=1,
            colours=limits("green", (0.05, "orange"), (0.5, "red")),
        ),
        number(
            "Verification cost",
            "Time spent on verifying, of the time spent on acting. Orange: verifying takes longer than "
            "acting; see Verification health for which action.",
            share(VERIFYING, ACTING),
            unit="percentunit",
            colours=limits("green", (1, "orange")),
        ),
        number(
            "Agents reporting",
            "Agents (jobs) heard within five minutes. Red: none of those that were heard in the time range; "
            "agents that run once and exit are silent in between.",
            f"count({REPORTING}) or 0 * count(last_over_time({REPORTING}[$__range]))",
            unit="short",
            colours=limits("red", (1, "green")),
        ),
    ]


def _over_time() -> list[object]:
    return [
        counts(
            "Checks by outcome",
            "The most checks of each outcome within any five minutes. Red bars are refuted claims; orange "
            "ones prove nothing either way.",
            {"{{delta_check_outcome}}": peak(CHECKS, by="delta_check_outcome")},
            empty="No checks in this time range",
        ),
        counts(
            "Failures by action and metric",
            "The most failures of each check within any five minutes. A click on a bar opens the action.",
            {
                "{{delta_action_name}}: {{delta_check_metric}}": peak(
                    FAILURES, by="job, delta_action_name, delta_check_metric"
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
            "Who is held to have made the changes that were seen. unknown: actions overlapped, or rows carry "
            "no causal tag; scope the check, tag the rows, or hold a lock. another_action: every changed row "
            "carries the tag of another run.",
            {"{{delta_check_origin}}": by_name("delta_check_origin", CHECKS, "no change")},
            colours=ORIGINS,
            empty="No checks in this time range",
        ),
        counts(
            "Failed checks by what the action claims",
            "success: the action said that it was done, and is not. failure: an honest failure; say "
            ".or_unchanged_on_error() if one that left no trace should pass. no claim: the action is "
            "decorated without claim=.",
            {"{{delta_action_claim}}": by_name("delta_action_claim", FAILED, "no claim")},
            colours=CLAIMS,
            empty="No failed checks in this time range",
        ),
    ]


def _tables() -> list[object]:
    share_of_failures = f"{share(FAILURES, JUDGED, by=BY_CHECK)} > 0"
    with_reason = f"{BY_CHECK}, delta_check_reason, delta_check_origin"
    return [
        rows(
            "Checks that failed",
            "Each check that failed in the time range. A click on the action shows when, how often, and in "
            "which traces.",
            OF_A_CHECK,
            {
                "Failures": (f"{count(FAILURES, by=BY_CHECK)} > 0", "short"),
                "Of those judged": (share_of_failures, "percentunit"),
            },
            link=links.from_row(*OF_A_CHECK),
            limited={"Of those judged": limits("orange", (0.01, "red"))},
            empty="No check failed in this time range",
        ),
        rows(
            "Checks without a verdict, by reason",
            "contended: actions overlap on one state. With the origin unknown the state changed, and a check "
            "that it stays unchanged does not say by whom. probe_timeout, probe_failed, baseline_failed: "
            "mend the probe or what it reads. action_failed: the action raised, so nothing was judged.",
            (*OF_A_CHECK, "delta_check_reason", "delta_check_origin"),
            {"Runs": (f"{count(INCONCLUSIVE, by=with_reason)} > 0", "short")},
            link=links.from_row(*OF_A_CHECK),
            empty="Every check reached a verdict in this time range",
        ),
    ]


def _runs() -> list[object]:
    return [
        found(
            "Latest failed runs",
            "Runs of the chosen service with a failed check. The trace id opens the trace: the span's "
            "delta.pre_state, delta.post_state, delta.expected_delta and delta.actual_delta say what was "
            "claimed and what changed.",
            "delta.action.outcome=fail",
            empty="No failed run of this service in this time range",
        ),
        found(
            "Latest runs without a verdict",
            "Runs of the chosen service whose worst check is inconclusive. The delta.check events of the "
            "span carry the reason and the exception.",
            "delta.action.outcome=inconclusive",
            empty="No run without a verdict of this service in this time range",
        ),
    ]


def _cost() -> object:
    return curves(
        "How long verifying takes, 95th percentile",
        "What an action's caller waits for besides the action: both reads of each probe, and settling. The "
        "dots are single runs; each links to its trace. Above the line the alert begins: make the probe "
        "cheaper, or sample it.",
        {
            "{{delta_action_name}}": quantile(
                0.95, "delta_verification_duration_seconds", JOBS, by="job, delta_action_name"
            )
        },
        unit="s",
        exemplars=True,
        empty=NO_DURATIONS,
        limit=5,
        link=links.from_series("job", "delta_action_name"),
    )
