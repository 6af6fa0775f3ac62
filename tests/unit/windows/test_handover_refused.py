"""What cannot be handed over, and checks that do not fit, are refused with a sentence."""

from __future__ import annotations

import threading
from enum import Enum

import pytest

from deltaspan import DeltaspanError, Window, change, collect_reports, observe, window


class Color(Enum):
    RED = 1


class Rows(list):
    """A piece of state to act on."""

    def count(self):
        return len(self)


@pytest.fixture
def rows():
    return Rows([1, 2, 3])


@pytest.fixture
def check(rows):
    return change("rows", rows.count)


def opened(*checks, **options):
    w = window("load", *checks, **options)
    w.capture_baseline()
    return w


def refusal(call, *args, **options):
    with pytest.raises(DeltaspanError) as caught:
        call(*args, **options)
    kinds = [kind for kind in (TypeError, ValueError) if isinstance(caught.value, kind)]
    return kinds, str(caught.value)


# Steps in the wrong order --------------------------------------------------------------------------------


def test_before_its_baseline_a_window_cannot_be_handed_over(check):
    assert refusal(window("load", check).to_json) == (
        [ValueError],
        "window 'load' has no baseline to hand over; call capture_baseline() first",
    )


def test_in_its_block_a_window_cannot_be_handed_over(check):
    with window("load", check) as w:
        assert refusal(w.to_json) == (
            [ValueError],
            (
                "window 'load' is verified when its block ends, so it cannot be handed over; "
                "open it by capture_baseline() instead of with"
            ),
        )


def test_after_its_verdict_a_window_cannot_be_handed_over(check):
    w = opened(check)
    w.verify()

    assert refusal(w.to_json) == (
        [ValueError],
        "window 'load' was verified already; there is nothing left to hand over",
    )


def test_a_window_that_was_handed_over_does_nothing_more_here(check):
    w = opened(check)
    w.to_json()
    told = (
        [ValueError],
        (
            "window 'load' was handed over by to_json(); its report is where Window.from_json() loads that "
            "text and verify() is called"
        ),
    )

    assert refusal(w.verify) == refusal(w.to_json) == refusal(lambda: w.report) == told


def test_a_window_that_was_loaded_is_open_already(check):
    there = Window.from_json(opened(check).to_json(), check)

    assert (
        refusal(there.capture_baseline)
        == refusal(there.__enter__)
        == (
            [ValueError],
            "window 'load' was opened already; make a new one for each run",
        )
    )
    there.verify()


def test_a_window_whose_baseline_was_interrupted_has_nothing_to_hand_over():
    def interrupted():
        raise KeyboardInterrupt

    w = window("load", change("rows", interrupted))
    with pytest.raises(KeyboardInterrupt):
        w.capture_baseline()

    assert w.report["rows"].reason == "abandoned"
    assert refusal(w.to_json)[1] == "window 'load' was verified already; there is nothing left to hand over"


# What does not go into a text ----------------------------------------------------------------------------


def test_a_state_without_an_exact_text_is_refused_and_the_window_stays_open():
    w = opened(change("paint", lambda: {"orders": [Color.RED]}).to({"orders": [Color.RED]}))

    assert refusal(w.to_json) == (
        [ValueError],
        (
            "window 'load' cannot be handed over: the baseline of 'paint' is or holds a Color at orders/0; "
            "let its probe return plain values"
        ),
    )
    assert w.verify()["paint"].has_delta


def test_a_value_of_args_without_an_exact_text_is_refused(check):
    w = opened(check, args={"table": object()})

    assert refusal(w.to_json) == (
        [ValueError],
        (
            "window 'load' cannot be handed over: its args value 'table' is or holds an object; "
            "give a name or a key that finds it there"
        ),
    )
    w.verify()


def test_a_redacted_check_is_refused(check):
    w = opened(check.redacted())

    assert refusal(w.to_json) == (
        [ValueError],
        (
            "window 'load' cannot be handed over: check 'rows' is redacted, and its baseline would be in the "
            "text; verify it here"
        ),
    )
    w.verify()


def test_a_check_that_holds_a_lock_is_refused(check):
    locked = check.exclusively(threading.Lock())
    w = opened(locked)

    assert refusal(w.to_json) == (
        [ValueError],
        (
            "window 'load' cannot be handed over: check 'rows' holds a lock, which belongs to this process; "
            "verify it here"
        ),
    )
    w.verify()
    assert refusal(Window.from_json, opened(check).to_json(), locked) == (
        [ValueError],
        (
            "check 'rows' holds a lock, and the baseline of window 'load' was captured before it could be "
            "taken; leave exclusively() out"
        ),
    )


# Checks that are not those of the window -----------------------------------------------------------------


def test_a_metric_that_was_not_captured_is_named(check, rows):
    assert refusal(Window.from_json, opened(check).to_json(), check, observe("users", rows.count)) == (
        [ValueError],
        "window 'load' was handed over without a check on 'users'; it checks rows",
    )


def test_a_metric_that_is_not_checked_any_more_is_named(check, rows):
    text = opened(check, observe("users", rows.count)).to_json()
    told = (
        [ValueError],
        (
            "window 'load' was handed over with a check on 'users', which from_json() was not given; "
            "give it a check for each metric"
        ),
    )

    assert refusal(Window.from_json, text, check) == told
    assert refusal(Window.from_json, opened(check).to_json())[1].startswith(
        "window 'load' was handed over with a check on 'rows'"
    )


def test_an_async_probe_is_refused_as_nobody_could_await_it(check):
    async def later():
        return 1

    assert refusal(Window.from_json, opened(check).to_json(), change("rows", later)) == (
        [TypeError],
        (
            "the probe of check 'rows' is async, and window 'load' was handed over: verify() cannot await; "
            "give it a probe that answers at once"
        ),
    )


def test_a_refused_text_leaves_no_window_behind(check, rows):
    text = opened(check).to_json()
    with collect_reports() as reports:
        refusal(Window.from_json, text, observe("users", rows.count))

    assert reports == []
