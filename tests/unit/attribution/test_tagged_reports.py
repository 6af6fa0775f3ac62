"""Parts of a tagged delta, and their reports."""

import copy
import json
import pickle
from itertools import chain, combinations
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspan import change, current_causal_tag, tagged, unchanged, window
from deltaspan._attribution._credit import holds, might_hold
from deltaspan._state.diff import MappingDelta, TaggedDelta, difference, split
from deltaspan.causal_tag._descendants import DescendantTracker

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


def test_counted_rows_are_reported_as_numbers():
    found = run(counted)["rows"].to_dict()

    assert (found["expected_delta"], found["actual_delta"]) == (1, 1)
    assert (found["others"], found["untagged"]) == (1, 1)


def test_named_rows_are_reported_by_key():
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


def test_the_feedback_advises_an_agent_to_check_the_stamp():
    rows = []
    with window("w", change("rows", tagged(lambda: rows, key="id", tag="tag")).by(1)) as w:
        rows.append({"id": 1, "tag": None})

    assert "none by this run, 1 untagged: did the stamp run?" in w.report.feedback()


# On the wire -----------------------------------------------------------------------------------------------


def test_the_event_carries_all_three_as_numbers(recorded):
    run(counted)

    found = dict(recorded.event.attributes)
    assert found["deltaspan.check.actual_delta"] == 1
    assert found["deltaspan.check.others"] == 1
    assert found["deltaspan.check.untagged"] == 1
    assert found["deltaspan.check.attribution"] == "causal_tag"
    assert found["deltaspan.check.explanation"].endswith("; 1 added by this run, 1 by others, 1 untagged")


def test_the_event_carries_all_three_as_json(recorded):
    run(named)

    found = dict(recorded.event.attributes)
    assert json.loads(found["deltaspan.check.others"]) == {**EMPTY, "added": {"2": "theirs"}}
    assert json.loads(found["deltaspan.check.untagged"]) == {**EMPTY, "added": {"3": None}}


def test_the_event_of_another_check_carries_neither(recorded):
    with window("w", change("n", lambda causal_tag: 3).by(0), args={}):
        pass

    assert not {"deltaspan.check.others", "deltaspan.check.untagged"} & recorded.event.attributes.keys()


def test_changes_of_others_are_as_bounded_as_any_state(recorded, environ):
    environ(DELTASPAN_MAX_STATE_CHARS="64")
    rows = []
    with window("w", change("rows", tagged(lambda: rows, key="id", tag="tag")).adding(count=1)):
        rows.append({"id": -1, "tag": current_causal_tag()})
        rows.extend({"id": n, "tag": "theirs"} for n in range(1000))

    assert len(recorded.event.attributes["deltaspan.check.others"]) <= 64


@pytest.mark.parametrize(("capture", "shown"), [("none", "(not captured)"), ("summary", "mapping of 3")])
def test_changes_of_others_leave_no_more_than_states_do(recorded, environ, capture, shown):
    environ(DELTASPAN_CAPTURE_STATE=capture)
    run(named)

    assert recorded.event.attributes["deltaspan.check.others"] == shown


# Redacted --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("say", [counted, named])
def test_a_redacted_check_shows_none_of_the_three(recorded, say):
    report = run(lambda check: say(check).redacted())

    check = report["rows"]
    assert check.passed
    assert (check.actual_delta, check.others, check.untagged) == ("(redacted)",) * 3
    assert check.explanation == "rows changed as expected; its states are redacted"
    found = recorded.event.attributes
    assert (found["deltaspan.check.others"], found["deltaspan.check.untagged"]) == ("(redacted)",) * 2
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


def test_a_redaction_may_show_the_number_of_rows():
    report = run(lambda check: counted(check).redacted(len))

    assert (report["rows"].pre_state, report["rows"].post_state) == (0, 3)


# The parts ----------------------------------------------------------------------------------------------


ME = DescendantTracker("me", ["my child"], root="me")


tags = st.sampled_from([None, "me", "my child", "another", "a third"])


states = st.dictionaries(st.integers(0, 12) | st.text(max_size=1), tags, max_size=12)


rooted = st.dictionaries(st.integers(0, 12), st.tuples(tags, tags), max_size=12)


def divided(pre, post, *, counted=False):
    return split(difference(MappingProxyType(pre), MappingProxyType(post)), ME, counted=counted)


def merged(parts, kind):
    """Return the entries of all parts, and fail where two parts share one."""
    found = {}
    for part in parts:
        entries = getattr(part, kind)
        assert not entries.keys() & found.keys()
        found.update(entries)
    return found


@given(states | rooted, states | rooted)
def test_own_other_and_untagged_parts_are_disjoint_and_make_the_whole_delta(pre, post):
    whole = difference(MappingProxyType(pre), MappingProxyType(post))
    parts = split(whole, ME, counted=False)
    assert isinstance(parts, TaggedDelta)

    for kind in ("added", "removed", "modified"):
        assert merged((parts.mine, parts.others, parts.untagged), kind) == getattr(whole, kind)


@given(states, states)
def test_counts_add_up_to_the_growth_of_the_whole(pre, post):
    delta = divided(pre, post, counted=True)

    assert delta.value + sum(delta.others_and_untagged) == len(post) - len(pre)


@given(states, states)
def test_the_tally_counts_each_entry_once(pre, post):
    delta = divided(pre, post)
    changed = sum(1 for key in {*pre, *post} if pre.get(key, "absent") != post.get(key, "absent"))

    assert sum(int(word) for word in delta.tally.partition(":")[0].split() if word.isdigit()) == changed


@given(states, states)
def test_no_own_change_is_among_those_of_others(pre, post):
    delta = divided(pre, post)

    assert not {"me", "my child"} & {*delta.others.added.values(), *delta.untagged.added.values()}
    assert all(after not in ("me", "my child") for _, after in delta.others.modified.values())
    assert None not in delta.others.added.values()
    assert not delta.others.removed


@pytest.mark.parametrize(
    ("before", "after", "part"),
    [
        ("absent", "me", "mine"),
        ("absent", "my child", "mine"),
        ("absent", "another", "others"),
        ("absent", None, "untagged"),
        ("me", "absent", "mine"),
        ("my child", "absent", "mine"),
        ("another", "absent", "untagged"),
        (None, "absent", "untagged"),
        ("another", "me", "mine"),
        (None, "me", "mine"),
        ("me", "my child", "mine"),
        ("me", "another", "others"),
        ("me", None, "untagged"),
        ("another", None, "untagged"),
        ("absent", ("another", "me"), "mine"),
        ("absent", (None, "me"), "mine"),
        ("absent", ("another", "my child"), "others"),
        ("absent", (None, "another"), "untagged"),
    ],
)
def test_each_entry_is_whose_its_tag_says(before, after, part):
    pre, post = ({} if value == "absent" else {7: value} for value in (before, after))

    delta = divided(pre, post)

    changed = [name for name in ("mine", "others", "untagged") if getattr(delta, name).changed]
    assert changed == [part]


def test_the_root_counts_for_nothing_where_the_run_is_not_the_outermost():
    nested = DescendantTracker("me", root="the outermost")

    assert nested.is_ours("another", "me") is False
    assert nested.is_ours("me", "another") is True


def test_a_delta_of_untagged_states_is_not_split():
    delta = difference(3, 5)

    assert split(delta, ME, counted=True) is delta


# Possible movements -------------------------------------------------------------------------------------


OF_CHILD = DescendantTracker("me", root="the outermost")


stamps = st.sampled_from(
    [(None, None), ("me", None), ("another", None), ("unknown", "the outermost"), ("another", "their root")]
)


rows_by_key = st.dictionaries(st.sampled_from("abcdef"), stamps, max_size=6)


amounts = st.integers(-4, 4)


members = st.lists(st.sampled_from(["a", "b", "c", "d", "[ab]", "*"]), max_size=3, unique=True)


KINDS = ["adding", "removing", "modifying"]


ROWS = change("rows", dict)


@st.composite
def between(draw):
    low = draw(amounts)
    return ROWS.by_between(low, low + draw(st.integers(0, 3)))


@st.composite
def naming(draw):
    check = ROWS
    for kind in draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3, unique=True)):
        some = draw(members)
        count = draw(st.none() | st.integers(max(1, len(some)), 4))
        check = getattr(check, kind)(*some, **({} if count is None else {"count": count}))
    return check.allowing_others() if draw(st.booleans()) else check


checks = st.one_of(
    st.just(ROWS),
    amounts.map(ROWS.by),
    amounts.map(ROWS.by_at_most),
    between(),
    amounts.map(ROWS.resizing),
    members.map(lambda some: ROWS.only("a", *some)),
    naming(),
)


def parts(delta):
    """Return every part of a delta."""
    entries = [(kind, path) for kind in ("added", "removed", "modified") for path in getattr(delta, kind)]
    for chosen in chain.from_iterable(combinations(entries, n) for n in range(len(entries) + 1)):
        yield MappingDelta(
            *(
                MappingProxyType(
                    {path: item for path, item in getattr(delta, kind).items() if (kind, path) in chosen}
                )
                for kind in ("added", "removed", "modified")
            )
        )


@given(checks, rows_by_key, rows_by_key)
def test_a_part_that_would_satisfy_the_movement_is_found_if_one_exists(check, pre, post):
    both = MappingProxyType(pre), MappingProxyType(post)
    delta = split(difference(*both), OF_CHILD, counted=False)
    movement = check._expectation.movement

    tried = any(holds(movement, delta.credited(part), both) for part in parts(delta.unattributable))

    assert might_hold(movement, delta, both) == tried
