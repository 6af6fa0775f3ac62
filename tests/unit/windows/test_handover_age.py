"""A baseline grows old on its way: how old is told, and what is too old proves nothing."""

from __future__ import annotations

import threading
import time

import pytest

from deltaspan import DeltaInconclusive, Window, change, observe, unchanged, window
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError


class Rows(list):
    """A piece of state to act on."""

    def count(self):
        return len(self)


@pytest.fixture
def rows():
    return Rows([1, 2, 3])


@pytest.fixture
def clock(monkeypatch):
    """Return what sets the wall clock on, or back, by some seconds."""
    real = time.time

    def by(seconds):
        monkeypatch.setattr(time, "time", lambda: real() + seconds)

    return by


def handed_over(*checks):
    w = window("load", *checks)
    w.capture_baseline()
    return w.to_json()


def test_a_baseline_within_max_age_is_compared(rows, clock):
    check = change("rows", rows.count).by(1)
    text = handed_over(check)
    rows.append(4)
    clock(50)

    assert Window.from_json(text, check, max_age=60).verify().outcome == "pass"


def test_every_check_of_an_older_one_is_inconclusive_and_its_states_are_still_told(rows, clock):
    checks = (change("rows", rows.count).by(1), unchanged("users", lambda: 7), observe("seen", lambda: 1))
    text = handed_over(*checks)
    rows.append(4)
    clock(100)
    report = Window.from_json(text, *checks, max_age=60).verify()

    assert [(check.outcome, check.reason) for check in report] == [("inconclusive", "stale_baseline")] * 3
    assert (report["rows"].pre_state, report["rows"].post_state, report["rows"].actual_delta) == (3, 4, 1)
    assert report["rows"].explanation == (
        "rows: the baseline was 100.0 s old, and max_age is 60 s; "
        "the state changed by 1 since (3 → 4), by whomever"
    )


def test_it_counts_until_it_is_verified_not_until_it_is_loaded(rows, clock):
    check = change("rows", rows.count)
    there = Window.from_json(handed_over(check), check, max_age=60)
    clock(100)

    assert there.verify()["rows"].reason == "stale_baseline"


def test_without_max_age_no_baseline_is_too_old(rows, clock):
    check = change("rows", rows.count).by(0)
    text = handed_over(check)
    clock(10**9)

    assert Window.from_json(text, check).verify().outcome == "pass"


def test_a_clock_that_was_set_back_makes_a_baseline_new(rows, clock):
    check = change("rows", rows.count).by(0)
    text = handed_over(check)
    clock(-1000)
    report = Window.from_json(text, check, max_age=60).verify()

    assert report.outcome == "pass"
    assert report["rows"].baseline_age_ms == 0


def test_a_baseline_that_failed_is_not_called_old(rows, clock):
    def gone():
        raise OSError("gone")

    text = handed_over(change("rows", gone))
    clock(100)

    assert Window.from_json(text, change("rows", rows.count), max_age=1).verify()["rows"].reason == (
        "baseline_failed"
    )


def test_the_policy_for_inconclusive_checks_applies(rows, clock):
    check = change("rows", rows.count)
    text = handed_over(check)
    clock(100)

    with pytest.raises(DeltaInconclusive):
        Window.from_json(text, check, max_age=1, on_inconclusive="raise").verify()


def test_report_and_event_tell_the_age(recorded, rows, clock):
    check = change("rows", rows.count).by(0)
    text = handed_over(check)
    clock(100)
    report = Window.from_json(text, check).verify()
    [event] = recorded.spans[1].events

    assert 100_000 <= report["rows"].baseline_age_ms < 110_000
    assert report["rows"].to_dict()["baseline_age_ms"] == report["rows"].baseline_age_ms
    assert 100_000 <= event.attributes["delta.check.baseline_age_ms"] < 110_000


def test_a_window_that_was_not_handed_over_tells_no_age(recorded, rows):
    with window("load", change("rows", rows.count).by(0)) as w:
        pass

    assert w.report["rows"].baseline_age_ms is None
    assert "baseline_age_ms" not in w.report["rows"].to_dict()
    assert "delta.check.baseline_age_ms" not in recorded.event.attributes


def test_what_the_action_took_counts_from_the_baseline(rows, clock):
    check = change("rows", rows.count).by(0)
    text = handed_over(check)
    clock(100)
    report = Window.from_json(text, check).verify()

    assert 100 <= report.action_seconds < 110
    assert 0 <= report.verification_seconds < 10


def test_a_redacted_state_is_not_in_the_sentence_of_an_old_one(clock):
    text = handed_over(change("pin", lambda: "1234"))
    clock(100)
    report = Window.from_json(text, change("pin", lambda: "4321").redacted(), max_age=1).verify()

    assert report["pin"].explanation == "pin: the baseline was 100.0 s old, and max_age is 1 s"


@pytest.mark.parametrize(
    ("max_age", "kind", "sentence"),
    [
        (True, DefinitionTypeError, "max_age takes seconds, not True"),
        ("60", DefinitionTypeError, "max_age takes seconds, not '60'"),
        (-1, DefinitionValueError, "max_age=-1 is not a number of seconds from 0"),
        (float("nan"), DefinitionValueError, "max_age=nan is not a number of seconds from 0"),
    ],
)
def test_a_max_age_that_is_no_number_of_seconds_is_refused(rows, max_age, kind, sentence):
    check = change("rows", rows.count)
    with pytest.raises(kind) as caught:
        Window.from_json(handed_over(check), check, max_age=max_age)

    assert str(caught.value) == sentence


def test_an_effect_may_still_be_waited_for(rows):
    check = change("rows", rows.count).by(1).eventually(5, every=0.01)
    there = Window.from_json(handed_over(check), check)
    late = threading.Timer(0.05, rows.append, [4])
    late.start()
    report = there.verify()
    late.join()

    assert report.outcome == "pass"
    assert report["rows"].baseline_age_ms is not None


def test_a_check_without_a_baseline_has_no_age(rows):
    text = handed_over(change("rows", rows.count).sampled(0))

    assert Window.from_json(text, change("rows", rows.count)).verify()["rows"].baseline_age_ms is None
