"""Reports of tagged checks: as text, on the wire, and with redacted states."""

import copy
import json
import pickle

import pytest

from deltaspan import change, current_causal_tag, tagged, unchanged, window

EMPTY = {"added": {}, "removed": {}, "modified": {}}


def run(say):
    """Return the report of a window in which this run and another add a row each."""
    rows = []
    with window("w", say(change("rows", tagged(lambda: rows, key="id", tag="tag")))) as w:
        rows.extend(({"id": 1, "tag": current_causal_tag()}, {"id": 2, "tag": "theirs"}))
        rows.append({"id": 3, "tag": None})
    return w.report


def counted(check):
    return check.by(1)


def named(check):
    return check.adding(1).allowing_others()


def test_rows_that_are_counted_are_told_as_numbers():
    found = run(counted)["rows"].to_dict()

    assert (found["expected_delta"], found["actual_delta"]) == (1, 1)
    assert (found["others"], found["untagged"]) == (1, 1)


def test_rows_that_are_named_are_told_by_key():
    report = run(named)
    found = report["rows"].to_dict()

    assert found["actual_delta"] == {**EMPTY, "added": {"1": report.causal_tag}}
    assert found["others"] == {**EMPTY, "added": {"2": "theirs"}}
    assert found["untagged"] == {**EMPTY, "added": {"3": None}}
    assert json.loads(json.dumps(found)) == found


def test_the_two_stand_between_tag_and_explanation():
    keys = list(run(counted)["rows"].to_dict())

    at = keys.index("causal_tag")
    assert keys[at : at + 4] == ["causal_tag", "others", "untagged", "explanation"]


def test_a_check_without_tagged_rows_has_neither():
    with window("w", change("n", lambda: 3).by(0)) as w:
        pass

    check = w.report["n"]
    assert (check.others, check.untagged) == (None, None)
    assert (check.to_dict()["others"], check.to_dict()["untagged"]) == (None, None)
    assert "others" not in str(check)


def test_the_text_tells_both_after_the_attribution():
    lines = str(run(counted)["rows"]).splitlines()

    assert lines[7:12] == [
        "outcome: pass",
        "attribution: causal_tag",
        "origin: this_action",
        "others: 1",
        "untagged: 1",
    ]


def test_the_delta_has_its_parts_by_member():
    delta = run(named)["rows"].delta

    assert [*delta.added] == [(1,)]
    assert [*delta.others.added] == [(2,)]
    assert [*delta.untagged.added] == [(3,)]


@pytest.mark.parametrize("say", [counted, named])
@pytest.mark.parametrize("again", [copy.deepcopy, lambda report: pickle.loads(pickle.dumps(report))])  # noqa: S301
def test_a_report_that_crossed_a_process_tells_the_same(say, again):
    report = run(say)

    assert again(report).to_dict() == report.to_dict()


def test_the_feedback_asks_an_agent_whether_the_stamp_ran():
    rows = []
    with window("w", change("rows", tagged(lambda: rows, key="id", tag="tag")).by(1)) as w:
        rows.append({"id": 1, "tag": None})

    assert "none by this run, 1 untagged: did the stamp run?" in w.report.feedback()


# On the wire -----------------------------------------------------------------------------------------------


def test_the_event_carries_all_three_as_numbers(recorded):
    run(counted)

    found = dict(recorded.event.attributes)
    assert found["delta.check.actual_delta"] == 1
    assert found["delta.check.others"] == 1
    assert found["delta.check.untagged"] == 1
    assert found["delta.check.attribution"] == "causal_tag"
    assert found["delta.check.explanation"].endswith("; 1 added by this run, 1 by others, 1 untagged")


def test_the_event_carries_all_three_as_json(recorded):
    run(named)

    found = dict(recorded.event.attributes)
    assert json.loads(found["delta.check.others"]) == {**EMPTY, "added": {"2": "theirs"}}
    assert json.loads(found["delta.check.untagged"]) == {**EMPTY, "added": {"3": None}}


def test_the_event_of_another_check_carries_neither(recorded):
    with window("w", change("n", lambda causal_tag: 3).by(0), args={}):
        pass

    assert not {"delta.check.others", "delta.check.untagged"} & recorded.event.attributes.keys()


def test_changes_of_others_are_as_bounded_as_any_state(recorded, environ):
    environ(DELTASPAN_MAX_STATE_CHARS="64")
    rows = []
    with window("w", change("rows", tagged(lambda: rows, key="id", tag="tag")).adding(count=1)):
        rows.append({"id": -1, "tag": current_causal_tag()})
        rows.extend({"id": n, "tag": "theirs"} for n in range(1000))

    assert len(recorded.event.attributes["delta.check.others"]) <= 64


@pytest.mark.parametrize(("capture", "shown"), [("none", "(not captured)"), ("summary", "mapping of 3")])
def test_changes_of_others_leave_no_more_than_states_do(recorded, environ, capture, shown):
    environ(DELTASPAN_CAPTURE_STATE=capture)
    run(named)

    assert recorded.event.attributes["delta.check.others"] == shown


# Redacted --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("say", [counted, named])
def test_a_redacted_check_shows_none_of_the_three(recorded, say):
    report = run(lambda check: say(check).redacted())

    check = report["rows"]
    assert check.passed
    assert (check.actual_delta, check.others, check.untagged) == ("(redacted)",) * 3
    assert check.explanation == "rows changed as expected; its states are redacted"
    found = recorded.event.attributes
    assert (found["delta.check.others"], found["delta.check.untagged"]) == ("(redacted)",) * 2
    assert "theirs" not in f"{check}{check.to_dict()}{dict(found)}"


def test_a_redacted_check_that_has_no_verdict_shows_none_either():
    rows = [{"id": "a secret", "tag": None}]
    with window("w", unchanged("rows", tagged(lambda: rows, key="id", tag="tag")).redacted()) as w:
        rows.clear()

    check = w.report["rows"]
    assert (check.reason, check.others) == ("contended", "(redacted)")
    assert check.explanation == (
        "rows: has no verdict, because it rests on changes that do not carry the tag of this action; its "
        "states are redacted"
    )
    assert "secret" not in f"{check}{check.to_dict()}"


def test_a_redaction_may_show_how_many_rows_there_are():
    report = run(lambda check: counted(check).redacted(len))

    assert (report["rows"].pre_state, report["rows"].post_state) == (0, 3)
