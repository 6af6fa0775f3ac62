"""Modifiers of a claim: once each, in any order, with errors and with contention."""

import threading

import pytest

from deltaspan import change, collect_reports, expects, observe, unchanged, window
from deltaspan.exceptions import DefinitionValueError

LOCK = threading.Lock()


def count_rows():
    return 0


def test_a_check_reads_as_it_was_written():
    check = (
        change("rows", count_rows)
        .by(1)
        .eventually(5, every=0.5)
        .timeout(2)
        .redacted(by=len)
        .or_unchanged_on_error()
        .sampled(0.5)
    )

    assert repr(check) == (
        "change('rows', count_rows).by(1).eventually(5, every=0.5).timeout(2).redacted(len)"
        ".or_unchanged_on_error().sampled(0.5)"
    )


def test_a_modifier_returns_a_new_check():
    check = change("rows", count_rows)
    check.timeout(1).redacted().sampled(0.5).eventually(1).exclusively(LOCK).or_unchanged_on_error()

    assert repr(check) == "change('rows', count_rows)"


def test_words_of_the_claim_may_follow_modifiers():
    with window("load", change("rows", count_rows).timeout(5).by(0)) as opened:
        pass

    assert opened.report.outcome == "pass"


@pytest.mark.parametrize(
    "say",
    [
        lambda check: check.timeout(1).timeout(1),
        lambda check: check.redacted().redacted(),
        lambda check: check.sampled(0.5).sampled(0.5),
        lambda check: check.exclusively(LOCK).exclusively(LOCK),
        lambda check: check.or_unchanged_on_error().or_unchanged_on_error(),
    ],
)
def test_a_modifier_may_be_set_only_once(say):
    with pytest.raises(DefinitionValueError, match="was already set on"):
        say(change("rows", count_rows))


def raising(rows, error, *, adds):
    def act():
        rows.extend(range(adds))
        raise error

    return act


@pytest.mark.parametrize(
    ("adds", "outcome", "sentence"),
    [
        (0, "pass", "rows did not change after the action raised ValueError, as expected (3 → 3)"),
        (
            1,
            "fail",
            (
                "expected rows to stay unchanged, because the action raised ValueError, but it changed by 1 "
                "(3 → 4)"
            ),
        ),
    ],
)
def test_an_action_that_raised_must_have_left_no_trace(adds, outcome, sentence):
    rows, error = [1, 2, 3], ValueError("no")
    check = change("rows", lambda: len(rows)).by(1).or_unchanged_on_error()
    with collect_reports() as reports, pytest.raises(ValueError, match="no") as caught:
        expects(check, on_failure="raise")(raising(rows, error, adds=adds))()

    assert caught.value is error
    assert (reports[0]["rows"].outcome, reports[0]["rows"].explanation) == (outcome, sentence)
    assert reports[0]["rows"].expected_delta == "no change"


def test_an_action_that_did_not_raise_is_judged_normally():
    rows = []
    with window("add", change("rows", lambda: len(rows)).by(1).or_unchanged_on_error()) as opened:
        rows.append(1)

    assert opened.report["rows"].explanation == "rows changed by 1, as expected (0 → 1)"


def test_a_change_of_an_ignored_member_is_not_a_trace_of_a_failed_action():
    doc = {"rows": 1, "seen": 1}

    def act():
        doc["seen"] = 2
        raise ValueError("no")

    check = change("doc", lambda: doc).ignoring("seen").or_unchanged_on_error()
    with collect_reports() as reports, pytest.raises(ValueError, match="no"):
        expects(check)(act)()

    assert reports[0]["doc"].outcome == "pass"


@pytest.mark.parametrize("make", [unchanged, observe])
def test_or_unchanged_on_error_applies_only_to_change(make):
    with pytest.raises(DefinitionValueError, match="it applies only to change"):
        make("rows", count_rows).or_unchanged_on_error()


class Overlap:
    """Two windows of one scope that are open at the same time."""

    def __init__(self, check, **options):
        self.rows = []
        self.one, self.other = (window(name, check(self.count), **options) for name in ("one", "other"))

    def count(self):
        return len(self.rows)

    def run(self):
        self.one.capture_baseline()
        self.other.capture_baseline()
        self.rows.append(1)
        return self.one.verify()["rows"], self.other.verify()["rows"]


def test_contention_makes_a_change_inconclusive():
    found = Overlap(lambda count: change("rows", count).by(1)).run()

    assert [report.reason for report in found] == ["contended", "contended"]


def test_a_rival_can_be_ignored():
    found = Overlap(lambda count: change("rows", count).by(1), on_contention="ignore").run()

    assert [(report.outcome, report.attribution) for report in found] == [("pass", "window")] * 2


def test_a_rival_that_is_ignored_does_not_excuse_a_failure():
    found = Overlap(lambda count: change("rows", count).by(2), on_contention="ignore").run()

    assert [report.outcome for report in found] == ["fail", "fail"]


def test_a_window_that_ignores_contention_still_contends_with_others():
    rows = []
    check = change("rows", lambda: len(rows)).by(1)
    one, other = window("one", check, on_contention="ignore"), window("other", check)
    one.capture_baseline()
    other.capture_baseline()
    rows.append(1)

    assert (one.verify().outcome, other.verify()["rows"].reason) == ("pass", "contended")


def test_actions_may_ignore_rivals_too():
    rows, together, reports = [], threading.Barrier(2), []

    @expects(change("rows", lambda: len(rows)).by(2), on_contention="ignore", on_report=reports.append)
    def act():
        together.wait(5)
        rows.append(1)
        together.wait(5)

    threads = [threading.Thread(target=act) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [report.outcome for report in reports] == ["pass", "pass"]


def test_a_failed_action_without_a_trace_passes_despite_contention():
    rows = []
    check = change("rows", lambda: len(rows)).or_unchanged_on_error()
    other = window("other", check)
    with collect_reports() as reports:
        other.capture_baseline()
        with pytest.raises(ValueError, match="no"), window("one", check):
            raise ValueError("no")
        other.verify()

    assert reports[0]["rows"].outcome == "pass"


@pytest.mark.parametrize("wrong", ["warn", None, True])
def test_on_contention_accepts_only_inconclusive_or_ignore(wrong):
    with pytest.raises(DefinitionValueError, match="is not one of inconclusive, ignore"):
        expects(change("rows", count_rows), on_contention=wrong)
    with pytest.raises(DefinitionValueError, match="is not one of inconclusive, ignore"):
        window("load", change("rows", count_rows), on_contention=wrong)
