"""Attribution and origin of a change."""

import contextlib
import logging
import pickle
import threading
from itertools import product
from typing import get_args

import pytest

from deltaspan import Window, change, expects, observe, tagged, unchanged, window
from deltaspan._attribution_kinds import ATTRIBUTION_KINDS, AttributionKind, choose_attribution
from deltaspan.typing import Attribution
from support.overlapping import Overlap, together
from support.signed import Table


@pytest.fixture
def rows():
    return [1, 2]


def judged(check, act, **options):
    with window("w", check, **options) as w:
        act()
    return w.report[check.metric]


def one_more(rows):
    return lambda: rows.append(9)


LOCK = threading.RLock()


# States without tags ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("say", "attribution"),
    [
        (lambda read: change("rows", read).by(1), "window"),
        (lambda read: change("rows", read).by(1).exclusively(LOCK), "exclusive"),
        (lambda read: change("rows", lambda table: read()).by(1), "scoped"),
        (lambda read: change("rows", lambda causal_tag: read()).by(1), "causal_tag"),
    ],
)
def test_a_judged_change_is_credited_to_this_action_for_every_attribution(rows, say, attribution):
    report = judged(say(lambda: len(rows)), one_more(rows), args={"table": "a"})

    assert (report.outcome, report.attribution, report.origin) == ("pass", attribution, "this_action")


def test_a_refuted_change_is_this_actions_too(rows):
    assert judged(change("rows", lambda: len(rows)).by(2), one_more(rows)).origin == "this_action"


def test_an_unchanged_that_changed_is_this_actions(rows):
    assert judged(unchanged("rows", lambda: len(rows)), one_more(rows)).origin == "this_action"


@pytest.mark.parametrize("word", [change, unchanged, observe])
def test_an_unchanged_state_has_no_origin(rows, word):
    assert judged(word("rows", lambda: len(rows)), lambda: None).origin is None


def test_a_state_that_was_not_read_has_no_origin():
    assert judged(change("rows", lambda: 1 / 0), lambda: None).origin is None


def test_a_skipped_check_has_no_origin(rows):
    assert judged(change("rows", lambda: len(rows)).sampled(0), one_more(rows)).origin is None


def test_a_contended_change_has_an_unknown_origin():
    overlap = Overlap()
    check = change("rows", overlap.read)
    reports = together(
        expects(check, name="left")(lambda: overlap.act(adds=1)),
        expects(check, name="right")(lambda: overlap.act(adds=1)),
    )

    assert [(report["rows"].reason, report["rows"].origin) for report in reports] == [
        ("contended", "unknown")
    ] * 2


def test_a_change_under_ignored_contention_is_credited_to_the_action():
    overlap = Overlap()
    check = change("rows", overlap.read).by(2)
    reports = together(
        expects(check, name="left", on_contention="ignore")(lambda: overlap.act(adds=1)),
        expects(check, name="right", on_contention="ignore")(lambda: overlap.act(adds=1)),
    )

    assert [report["rows"].origin for report in reports] == ["this_action"] * 2


@pytest.mark.parametrize(
    ("modify", "origin"),
    [(lambda check: check, "unknown"), (lambda check: check.exclusively(LOCK), "this_action")],
)
def test_an_observed_change_is_credited_only_under_a_lock(rows, modify, origin):
    assert judged(modify(observe("rows", lambda: len(rows))), one_more(rows)).origin == origin


@pytest.mark.parametrize(
    ("modify", "origin"),
    [(lambda check: check, "unknown"), (lambda check: check.exclusively(LOCK), "this_action")],
)
def test_the_trace_of_an_action_that_raised_is_credited_only_under_a_lock(rows, modify, origin):
    check = modify(change("rows", lambda: len(rows)).by(1))
    reports = []

    @expects(check, on_report=reports.append)
    def act():
        rows.append(9)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        act()
    assert (reports[0]["rows"].reason, reports[0]["rows"].origin) == ("action_failed", origin)


def test_incomparable_states_have_an_unknown_origin():
    states = iter([1, "two"])
    report = judged(change("rows", lambda: next(states)).by(1).exclusively(LOCK), lambda: None)

    assert (report.reason, report.origin) == ("incomparable", "unknown")


def test_a_change_since_a_stale_baseline_has_an_unknown_origin(rows):
    check = change("rows", lambda causal_tag: len(rows))
    opened = window("w", check)
    opened.capture_baseline()
    there = Window.from_json(opened.to_json(), check, max_age=0)
    rows.append(9)

    report = there.verify()["rows"]
    assert (report.reason, report.origin) == ("stale_baseline", "unknown")


def test_a_change_in_a_handed_over_window_has_an_origin(rows):
    check = change("rows", lambda: len(rows)).by(1)
    opened = window("w", check)
    opened.capture_baseline()
    there = Window.from_json(opened.to_json(), check)
    rows.append(9)

    assert there.verify()["rows"].origin == "this_action"


# Rows that carry tags --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tags", "outcome", "origin"),
    [
        (["mine", "theirs"], "pass", "this_action"),
        (["theirs"], "fail", "another_action"),
        ([None], "fail", "unknown"),
    ],
)
def test_the_tags_of_added_rows_tell_the_origin(tags, outcome, origin):
    table = Table()
    report = table.judged(
        lambda check: check.by(1), lambda: [table.add(n, tag=tag) for n, tag in enumerate(tags, 7)]
    )

    assert (report.outcome, report.origin) == (outcome, origin)


def test_unchanged_own_rows_beside_writes_of_others_have_origin_another_action():
    table = Table()
    rows = unchanged("rows", tagged(table.tags.items, key=0, tag=1))
    report = judged(rows, lambda: table.add(8, tag="theirs"))

    assert (report.outcome, report.origin) == ("pass", "another_action")


def test_own_rows_in_a_verdict_based_on_untagged_ones_have_an_unknown_origin():
    table = Table()
    report = table.judged(lambda check: check.adding(7), lambda: (table.add(7), table.add(8, tag=None)))

    assert (report.reason, report.origin) == ("contended", "unknown")


# Attribution in reports ------------------------------------------------------------------------------------


def test_an_origin_is_in_to_dict_beside_the_attribution_and_in_the_text(rows):
    report = judged(change("rows", lambda: len(rows)).by(1), one_more(rows))
    keys = list(report.to_dict())

    assert report.to_dict()["origin"] == "this_action"
    assert keys.index("origin") == keys.index("attribution") + 1
    assert "origin: this_action" in str(report).splitlines()


def test_an_unchanged_check_has_no_origin_in_dict_and_text(rows):
    report = judged(change("rows", lambda: len(rows)).by(1), lambda: None)

    assert report.to_dict()["origin"] is None
    assert "origin" not in str(report)


@pytest.mark.parametrize("modify", [lambda check: check, lambda check: check.redacted()])
@pytest.mark.parametrize(
    ("tag", "origin"), [("mine", "this_action"), ("theirs", "another_action"), (None, "unknown")]
)
def test_an_origin_outlives_redaction_and_pickling(modify, tag, origin):
    table = Table()
    report = table.judged(lambda check: modify(check.by(1)), lambda: table.add(8, tag=tag))
    copy = pickle.loads(pickle.dumps(report))  # noqa: S301 - it is ours

    assert (report.origin, copy.origin) == (origin, origin)


def test_an_origin_is_on_the_event_and_on_the_counter(recorded, rows):
    judged(change("rows", lambda: len(rows)).by(1), one_more(rows))
    counted = [
        point.attributes.get("deltaspan.check.origin")
        for point in recorded.points("deltaspan.checks")
        if point.value
    ]

    assert recorded.event.attributes["deltaspan.check.origin"] == "this_action"
    assert counted == ["this_action"]


def test_event_and_counter_of_an_unchanged_check_have_no_origin(recorded, rows):
    judged(change("rows", lambda: len(rows)).by(1), lambda: None)
    counted = [point.attributes for point in recorded.points("deltaspan.checks") if point.value]

    assert "deltaspan.check.origin" not in recorded.event.attributes
    assert ["deltaspan.check.origin" in attributes for attributes in counted] == [False]


# The table of attributions ------------------------------------------------------------------------------


def test_every_attribution_has_its_kind():
    assert set(ATTRIBUTION_KINDS) == set(get_args(Attribution))
    assert all(isinstance(kind, AttributionKind) for kind in ATTRIBUTION_KINDS.values())


@pytest.mark.parametrize(
    ("attribution", "tolerates_rivals", "is_known", "includes_unverified"),
    [
        ("causal_tag", True, True, False),
        ("exclusive", False, True, False),
        ("scoped", False, False, True),
        ("window", False, False, True),
    ],
)
def test_the_consequences_of_each_attribution(attribution, tolerates_rivals, is_known, includes_unverified):
    kind = ATTRIBUTION_KINDS[attribution]

    assert kind.tolerates_rivals is tolerates_rivals
    assert kind.is_known_without_verdict is is_known
    assert kind.includes_unverified_writers is includes_unverified


def test_the_strongest_attribution_is_chosen():
    chosen = [
        choose_attribution(uses_tag=tag, is_locked=lock, is_scoped=scope)
        for tag, lock, scope in product((True, False), repeat=3)
    ]

    assert chosen == ["causal_tag"] * 4 + ["exclusive"] * 2 + ["scoped", "window"]


# Writers that are not excluded --------------------------------------------------------------------------


@pytest.fixture
def said(caplog):
    caplog.set_level(logging.INFO, "deltaspan")
    return lambda: [record.getMessage() for record in caplog.records]


def adding(check):
    rows = []

    @expects(check(rows))
    def add(tenant="acme"):
        rows.append(1)

    return add


def test_a_pass_attributed_by_window_warns_of_other_writers_with_advice(said):
    adding(lambda rows: change("rows", lambda: len(rows)).by(1))()

    [message] = said()
    assert message == (
        "rows: a change was credited to an action (attribution window) because no other verified action of "
        "this process could have made it. What another process writes, or code that is not verified, would "
        "be credited as well. If others may write there, let the probe take causal_tag and read only rows "
        "that carry it, or hold a lock that they take, too: .exclusively(lock)"
    )


def test_the_warning_is_given_once_for_each_metric(said):
    for name in ("rows", "flows"):
        act = adding(lambda rows, name=name: change(name, lambda tenant: len(rows)).by(1))
        act()
        act()

    assert [message.partition(":")[0] for message in said()] == ["rows", "flows"]


@pytest.mark.parametrize(
    "check",
    [
        lambda rows: change("rows", lambda: len(rows)).by(2),
        lambda rows: unchanged("rows", lambda: 0),
        lambda rows: change("rows", lambda causal_tag: len(rows)).by(1),
        lambda rows: change("rows", lambda: len(rows)).by(1).exclusively(contextlib.nullcontext()),
    ],
    ids=["failed", "unchanged", "by causal tag", "by lock"],
)
def test_no_warning_is_given_without_a_change_credited_by_window(check, said):
    adding(check)()

    assert said() == []
