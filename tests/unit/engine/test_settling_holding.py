"""`holding_for`: a claim that must hold throughout; and waits that make no sense."""

import pytest

from deltaspan import (
    change,
    collect_reports,
    expects,
    observe,
    unchanged,
)
from deltaspan.exceptions import DefinitionValueError
from support.queues import Queue, run


def test_holding_for_passes_when_nothing_changes_throughout():
    queue = Queue(3)
    _, report = run(expects(unchanged("users", queue.read).holding_for(0.02, every=0.005))(queue.act))

    assert report["users"].outcome == "pass"
    assert report["users"].timing.attempts >= 3


def test_holding_for_fails_at_the_first_read_that_differs():
    queue = Queue(3, 3, 3, 4)
    _, report = run(expects(unchanged("users", queue.read).holding_for(60, every=0.001))(queue.act))

    assert report["users"].explanation == "expected users to stay unchanged, but it changed by 1 (3 → 4)"
    assert report["users"].timing.attempts == 3


def test_a_change_can_be_asked_to_hold():
    queue = Queue(3, 4, 4, 3)
    _, report = run(expects(change("users", queue.read).by(1).holding_for(60, every=0.001))(queue.act))

    assert report["users"].explanation == "expected users to change by 1, but it changed by 0 (3 → 3)"


def test_what_could_not_be_read_did_not_hold_throughout():
    queue = Queue(3, 3, OSError("gone"), 3)
    _, report = run(expects(unchanged("users", queue.read).holding_for(60, every=0.001))(queue.act))

    assert (report["users"].outcome, report["users"].reason) == ("inconclusive", "probe_failed")


def test_unchanged_holds_after_an_action_that_raised_too():
    queue = Queue(3, 3, 4)

    def act():
        raise LookupError("no")

    with collect_reports() as reports, pytest.raises(LookupError):
        expects(unchanged("users", queue.read).holding_for(60, every=0.001))(act)()

    assert reports[0]["users"].outcome == "fail"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: unchanged("a", len).eventually(1), "say .holding_for(seconds)"),
        (lambda: observe("a", len).eventually(1), "makes no claim to wait for"),
        (lambda: observe("a", len).holding_for(1), "makes no claim to wait for"),
        (
            lambda: change("a", len).eventually(1).eventually(2),
            "only one of eventually and holding_for can be set; keep one",
        ),
        (
            lambda: change("a", len).eventually(1).holding_for(2),
            "only one of eventually and holding_for can be set; keep one",
        ),
        (
            lambda: change("a", len).eventually(0),
            "eventually: seconds=0 must be a positive number of seconds",
        ),
        (lambda: change("a", len).eventually(1, every=-1), "eventually: every=-1 must be a positive"),
        (lambda: change("a", len).eventually(float("inf")), "must be a positive number of seconds"),
    ],
)
def test_a_wait_that_makes_no_sense_is_refused(make, text):
    with pytest.raises(DefinitionValueError) as caught:
        make()

    assert text in str(caught.value)
