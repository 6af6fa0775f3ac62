"""`ending_at`: a required end state, even if the action did not have to change it."""

import asyncio

import pytest

from deltaspan import DeltaspanError, Window, change, collect_reports, expects, tagged, unchanged, window
from support.verdicts import verdict

CHANGE = change("x", lambda: None)


CASES = {
    "it came": (
        CHANGE.ending_at("open"), "new", "open", "pass", "x changed, as expected ('new' → 'open')",
    ),
    "it was there": (
        CHANGE.ending_at("open"), "open", "open", "pass",
        "x did not change, as expected ('open' → 'open'); it was 'open' already before the action",
    ),
    "it did not come": (
        CHANGE.ending_at("open"), "new", "new", "fail",
        "expected x to end at 'open', changed or not, but it stayed at 'new' ('new' → 'new')",
    ),
    "another came": (
        CHANGE.ending_at("open"), "new", "shut", "fail",
        "expected x to end at 'open', changed or not, but it ended at 'shut' ('new' → 'shut')",
    ),
    "it went": (
        CHANGE.ending_at("open"), "open", "shut", "fail",
        ("expected x to end at 'open', changed or not, but it ended at 'shut' ('open' → 'shut'); "
         "it was 'open' already before the action"),
    ),
    "a document": (
        CHANGE.ending_at({"a": 1}).ignoring("at"), {"a": 1, "at": 1}, {"a": 1, "at": 2}, "pass",
        ("x did not change, ignoring 'at', as expected ({'a': 1, 'at': 1} → {'a': 1, 'at': 2}); "
         "it was so already before the action"),
    ),
    "a document, with an end that holds what is ignored": (
        CHANGE.ending_at({"a": 1, "at": 9}).ignoring("at"), {"a": 1, "at": 1}, {"a": 1, "at": 2}, "pass",
        ("x did not change, ignoring 'at', as expected ({'a': 1, 'at': 1} → {'a': 1, 'at': 2}); "
         "it was so already before the action"),
    ),
    "within a bound": (
        CHANGE.by_at_most(3).ending_at(5), 4, 5, "pass", "x changed by 1, as expected (4 → 5)",
    ),
    "beyond a bound": (
        CHANGE.ending_at(5).by_at_most(3), 1, 5, "fail",
        "expected x to change by at most 3, ending at 5, but it changed by 4 (1 → 5)",
    ),
    "a long state": (
        CHANGE.ending_at("y" * 500), "y" * 500, "y" * 500, "pass",
        "x did not change, as expected; it was so already before the action",
    ),
    "from None": (CHANGE.ending_at(None), 3, None, "pass", "x changed, as expected (3 → None)"),
}  # fmt: skip


@pytest.mark.parametrize(("check", "pre", "post", "outcome", "sentence"), CASES.values(), ids=CASES)
def test_the_end_state_decides_and_the_sentence_says_whether_it_existed_before(
    check, pre, post, outcome, sentence
):
    assert verdict(check, pre, post) == (outcome, sentence)


TO = {
    "it was there": (
        CHANGE.to("open"), "open", "open",
        ("expected x to change to 'open', but it did not change ('open' → 'open'); it was 'open' already "
         "before the action"),
    ),
    "it was there and went": (
        CHANGE.to("open"), "open", "shut",
        ("expected x to change to 'open', but it ended at 'shut' ('open' → 'shut'); it was 'open' already "
         "before the action"),
    ),
    "it was not there": (
        CHANGE.to("open"), "new", "new",
        "expected x to change to 'open', but it stayed at 'new' ('new' → 'new')",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("check", "pre", "post", "sentence"), TO.values(), ids=TO)
def test_an_end_state_that_existed_before_is_reported_as_such(check, pre, post, sentence):
    assert verdict(check, pre, post) == ("fail", sentence)


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (CHANGE.ending_at("open"), "ending at 'open'"),
        (CHANGE.ending_at("open").ignoring("a"), "ending at 'open', ignoring 'a'"),
        (CHANGE.by_at_most(3).ending_at(5), "at most 3, ending at 5"),
        (CHANGE.ending_at(lambda result: result), "ending at a computed state"),
    ],
)
def test_the_expected_delta_shows_the_end_state(check, words):
    assert check.expectation.expected == words


def test_a_computed_end_is_filled_in():
    order = {"status": "new"}

    @expects(change("status", lambda: order["status"]).ending_at(lambda status: status))
    def set_status(status):
        order["status"] = status

    with collect_reports() as reports:
        set_status("paid")
        set_status("paid")

    assert [(r.outcome, r["status"].expected_delta) for r in reports] == [("pass", "ending at 'paid'")] * 2


def test_a_check_reads_as_its_source():
    assert (
        repr(change("x", dict).by_at_most(1).ending_at(3)) == "change('x', dict).by_at_most(1).ending_at(3)"
    )


COMBINED = {
    "an amount that may be none": lambda c: c.by(lambda result: 0).ending_at(1),
    "at least none": lambda c: c.ending_at(1).by_at_least(0),
    "between": lambda c: c.by_between(-1, 1).ending_at(1),
    "a computed size": lambda c: c.resizing(lambda result: 0).ending_at([1]),
    "members that may be none": lambda c: c.adding(lambda result: result).ending_at([1]),
    "only, computed": lambda c: c.ending_at([1]).only(lambda result: result),
    "a predicate": lambda c: c.satisfying(lambda delta: True, "anything").ending_at(1),
    "no amounts": lambda c: c.by({"a": 0}).ending_at({}),
    "a trace": lambda c: c.ending_at(1).or_unchanged_on_error().eventually(1),
}


@pytest.mark.parametrize("words", COMBINED.values(), ids=COMBINED)
def test_ending_at_is_idempotent_beside_words_that_an_unchanged_state_may_satisfy(words):
    assert words(CHANGE).expectation.is_idempotent


DEMANDS = {
    "an amount": lambda c: c.by(1),
    "an amount at least": lambda c: c.by_at_least(1),
    "increasing": lambda c: c.increasing(),
    "decreasing at most": lambda c: c.decreasing(at_most=2),
    "amounts by key": lambda c: c.by({"a": 1}),
    "a size": lambda c: c.resizing(1),
    "members": lambda c: c.adding("a"),
    "any member": lambda c: c.removing(),
    "a count": lambda c: c.modifying(count=1),
    "only": lambda c: c.only("a"),
}


@pytest.mark.parametrize("words", DEMANDS.values(), ids=DEMANDS)
def test_ending_at_beside_a_word_that_demands_a_change_is_refused_in_either_order(words):
    for make in (lambda: words(CHANGE).ending_at(3), lambda: words(CHANGE.ending_at(3))):
        with pytest.raises(DeltaspanError, match=r"one word demands a change, .* write \.to\(3\) instead of"):
            make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: CHANGE.ending_at(1).to(1),
        lambda: CHANGE.to(1).ending_at(1),
        lambda: CHANGE.ending_at(1).ending_at(1),
    ],
)
def test_a_second_end_is_refused(make):
    with pytest.raises(DeltaspanError, match="already has an end"):
        make()


@pytest.mark.parametrize("make", [lambda: CHANGE.ending_at(1).from_(2), lambda: CHANGE.from_(2).ending_at(1)])
def test_a_start_beside_it_is_refused(make):
    with pytest.raises(
        DeltaspanError, match=r"write \.from_\(\.\.\.\)\.to\(\.\.\.\), or ending_at\(\) alone"
    ):
        make()


def test_unchanged_refuses_ending_at_with_advice():
    with pytest.raises(AttributeError, match=r"start from change\('x', \.\.\.\)\.ending_at"):
        unchanged("x", dict).ending_at(1)


def test_ending_at_is_handed_over_with_its_window():
    state = ["open"]
    check = change("status", lambda: state[0]).ending_at("open")
    opened = window("open", check)
    opened.capture_baseline()
    report = Window.from_json(opened.to_json(), check).verify()

    assert (report.outcome, report["status"].expected_delta) == ("pass", "ending at 'open'")


async def test_two_overlapping_checks_with_ending_at_are_contended():
    state = ["new"]

    @expects(change("status", lambda: state[0]).ending_at("open"))
    async def open_it():
        await asyncio.sleep(0.01)
        state[0] = "open"
        await asyncio.sleep(0.01)

    with collect_reports() as reports:
        await asyncio.gather(open_it(), open_it())
    assert {report["status"].reason for report in reports} == {"contended"}


def test_an_end_that_others_made_is_not_credited_to_the_action():
    rows = {1: None}
    check = change("rows", tagged(lambda: rows.items(), key=0, tag=1)).ending_at({1: None, 2: "theirs"})
    with collect_reports() as reports:

        @expects(check)
        def act():
            rows[2] = "theirs"

        act()
    assert reports[0]["rows"].reason == "contended"
    assert "so .ending_at(...) proves nothing" in reports[0]["rows"].explanation


def test_an_action_that_raised_has_no_verdict_unless_it_left_no_trace():
    @expects(change("status", lambda: "open").ending_at("open").or_unchanged_on_error())
    def open_it():
        raise OSError

    with collect_reports() as reports, pytest.raises(OSError):  # noqa: PT011  # any will do
        open_it()
    assert reports[0]["status"].outcome == "pass"
