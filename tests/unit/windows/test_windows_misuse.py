"""A window used wrongly says what to do instead; a disabled one says that it verified nothing."""

import asyncio

import pytest

from deltaspan import (
    DeltaspanError,
    Window,
    change,
    collect_reports,
    observe,
    window,
)


class Rows(list):
    """A piece of state to act on, read at once or later."""

    def count(self):
        return len(self)

    async def count_later(self):
        await asyncio.sleep(0)
        return len(self)


@pytest.fixture
def rows():
    return Rows([1, 2, 3])


def refusal(call, *args):
    with pytest.raises(DeltaspanError) as caught:
        call(*args)
    kinds = [kind for kind in (TypeError, ValueError) if isinstance(caught.value, kind)]
    return kinds, str(caught.value)


def test_a_report_before_the_window_closed_is_refused(rows):
    w = window("load", change("rows", rows.count))
    before = refusal(lambda: w.report)
    with w:
        inside = refusal(lambda: w.report)

    assert (
        before
        == inside
        == (
            [ValueError],
            "window 'load' has not been verified yet, so it has no report",
        )
    )


def test_verifying_without_a_baseline_is_refused(rows):
    w = window("load", change("rows", rows.count))

    assert refusal(w.verify) == ([ValueError], "baseline never captured; cannot verify a delta")


@pytest.mark.parametrize("again", [Window.capture_baseline, Window.__enter__], ids=["by hand", "with"])
def test_opening_a_window_again_is_refused(rows, again):
    w = window("load", change("rows", rows.count))
    w.capture_baseline()

    assert refusal(again, w) == (
        [ValueError],
        "window 'load' was opened already; make a new one for each run",
    )


def test_verifying_a_window_again_is_refused(rows):
    w = window("load", change("rows", rows.count))
    w.capture_baseline()
    w.verify()

    assert refusal(w.verify) == (
        [ValueError],
        "window 'load' was verified already; make a new one for each run",
    )


def test_verifying_after_the_block_is_refused(rows):
    with window("load", change("rows", rows.count)) as w:
        pass

    assert refusal(w.verify)[0] == [ValueError]


def test_verifying_inside_the_block_is_refused_and_the_block_is_reported_once(rows):
    with collect_reports() as reports, window("load", change("rows", rows.count)) as w:
        rows.append(4)
        inside = refusal(w.verify)

    assert inside == (
        [ValueError],
        (
            "window 'load' is verified when its block ends; "
            "set w.result inside the block if a check names 'result'"
        ),
    )
    assert [report.outcome for report in reports] == ["pass"]


@pytest.mark.parametrize(
    ("opened", "how"),
    [(Window.capture_baseline, "capture_baseline()"), (Window.__enter__, "with")],
    ids=["by hand", "with"],
)
async def test_an_async_probe_needs_an_async_block(rows, opened, how):
    w = window("load", change("rows", rows.count_later))

    assert refusal(opened, w) == (
        [TypeError],
        f"window 'load' was opened by {how}, but the probe of check 'rows' is async; use async with",
    )
    async with w:  # it was not used up
        rows.append(4)
    assert w.report.outcome == "pass"


@pytest.mark.parametrize("how", ["with", "async with", "by hand"])
async def test_a_disabled_window_reports_skipped(environ, rows, how):
    environ(DELTASPAN_ENABLED="false")
    w = window("load", change("rows", rows.count).by(1), observe("users", rows.count), on_failure="raise")
    if how == "with":
        with w:
            pass
    elif how == "async with":
        async with w:
            pass
    else:
        assert w.capture_baseline() == {}
        assert w.verify() is w.report

    assert w.causal_tag is None
    assert w.report.outcome == "skipped"
    assert [check.passed for check in w.report] == [False, False]
    assert (
        w.report["rows"].explanation == "rows: not verified, because `enabled` is false (DELTASPAN_ENABLED)"
    )


@pytest.mark.parametrize("name", ["two words", "class"])
def test_args_that_no_parameter_could_name_do_no_harm(rows, name):
    with window("load", observe("rows", rows.count), args={name: 1}) as w:
        pass

    assert w.report.outcome == "observed"
