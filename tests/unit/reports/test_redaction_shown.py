"""`redacted`: what is shown instead of a state, and the verdict that is reached on the true one."""

import pytest

from deltaspan import (
    change,
    collect_reports,
    expects,
    observe,
    window,
)
from deltaspan._reports._redaction import REDACTED
from deltaspan.exceptions import DefinitionTypeError

SECRET = "s3cr3t"  # noqa: S105  # planted, to be searched for
HELD = "it was so already before the action"


def test_what_capture_baseline_returns_is_redacted():
    hidden = window("load", change("secret", lambda: SECRET).redacted(), change("rows", lambda: 3))
    shown = window("load", change("secret", lambda: SECRET).redacted(by=len))

    assert (dict(hidden.capture_baseline()), dict(shown.capture_baseline())) == (
        {"secret": REDACTED, "rows": 3},
        {"secret": 6},
    )


@pytest.mark.parametrize(
    ("says", "outcome", "sentence"),
    [
        (lambda check: check.by(1), "pass", "balance changed as expected; its states are redacted"),
        (lambda check: check.by(2), "fail", "balance changed, but not as expected; its states are redacted"),
        (
            lambda check: check.ending_at(5),
            "fail",
            "balance changed, but not as expected; its states are redacted",
        ),
        (
            lambda check: check.by(lambda pre_state: pre_state - 99),
            "pass",
            "balance changed as expected; its states are redacted",
        ),
        (
            lambda check: check.by(lambda: 1 / 0),
            "inconclusive",
            (
                "balance: has no verdict, because its expected value could not be computed "
                "(ZeroDivisionError); its states are redacted"
            ),
        ),
    ],
)
def test_the_verdict_is_reached_on_the_true_states(says, outcome, sentence):
    state = [100]
    with window("pay", says(change("balance", lambda: state[0])).redacted()) as opened:
        state[0] += 1
    report = opened.report["balance"]

    assert (report.outcome, report.explanation) == (outcome, sentence)
    assert (report.pre_state, report.post_state, report.actual_delta, report.expected_delta) == (
        REDACTED,
    ) * 4


@pytest.mark.parametrize(
    ("says", "outcome", "sentence"),
    [
        (lambda check: check.ending_at(100), "pass", f"did not change, as expected; {HELD}"),
        (lambda check: check.by(lambda: 0), "pass", f"did not change, as expected; {HELD}"),
        (lambda check: check.by(1), "fail", "did not change as expected"),
    ],
)
def test_a_state_that_did_not_change_is_not_said_to_have_changed(says, outcome, sentence):
    with window("pay", says(change("balance", lambda: 100)).redacted()) as opened:
        pass
    report = opened.report["balance"]

    assert (report.outcome, report.explanation) == (
        outcome,
        f"balance {sentence}; its states are redacted",
    )


@pytest.mark.parametrize(
    ("trace", "sentence"), [(0, f"did not change, as expected; {HELD}"), (1, "changed, but not as expected")]
)
def test_a_redacted_report_says_whether_a_failed_action_left_a_trace(trace, sentence):
    state = [100]

    @expects(change("balance", lambda: state[0]).by(5).redacted().or_unchanged_on_error())
    def pay():
        state[0] += trace
        raise OSError

    with collect_reports() as reports, pytest.raises(OSError):  # noqa: PT011  # any will do
        pay()

    assert reports[0]["balance"].explanation == f"balance {sentence}; its states are redacted"


def test_by_says_what_may_be_shown():
    rows = ["a"]
    with window("add", change("rows", lambda: list(rows)).adding("b").redacted(by=len)) as opened:
        rows.append("b")
    report = opened.report["rows"]

    assert (report.outcome, report.pre_state, report.post_state) == ("pass", 1, 2)
    assert (report.actual_delta, report.expected_delta) == (REDACTED, REDACTED)


def test_by_that_raises_shows_nothing():
    with window("add", observe("rows", lambda: 3).redacted(by=lambda state: state.missing)) as opened:
        pass

    assert opened.report["rows"].pre_state == REDACTED


def test_what_by_shows_is_frozen():
    shared = [1]
    with window("add", observe("rows", lambda: 3).redacted(by=lambda state: shared)) as opened:
        pass
    shared.append(2)

    assert opened.report["rows"].pre_state == (1,)


def test_other_checks_of_the_action_are_shown():
    with window("add", observe("secret", lambda: SECRET).redacted(), observe("rows", lambda: 3)) as opened:
        pass

    assert opened.report["rows"].pre_state == 3


def test_by_must_be_callable():
    with pytest.raises(
        DefinitionTypeError, match="redacted takes a callable that returns what may be shown, not 3"
    ):
        change("rows", len).redacted(by=3)
