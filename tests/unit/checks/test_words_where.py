"""`where=`: predicates on added, removed or modified members, and the effect of `ignoring`."""

import pytest

from deltaspan import DeltaspanError, change, collect_reports, current_causal_tag, expects, tagged, unchanged


def judged(words, state, effect, result=None, make=change):
    @expects(words(make("x", lambda: state)))
    def act(limit=5):
        effect(state)
        return result

    with collect_reports() as reports:
        act()
    return reports[0]["x"]


def is_large(member):
    return member >= 5


def is_paid(value):
    return value["paid"]


PAID, OPEN = {"paid": True}, {"paid": False}


def add(**entries):
    return lambda state: state.update(entries)


CASES = {
    "one that fits": (lambda c: c.adding(count=1, where=is_large), set(), {7}, "pass"),
    "one that does not": (lambda c: c.adding(count=1, where=is_large), set(), {3}, "fail"),
    "one beside another": (lambda c: c.adding(count=1, where=is_large), set(), {3, 7}, "fail"),
    "one beside another that is allowed": (
        lambda c: c.adding(count=1, where=is_large).allowing_others(), set(), {3, 7}, "pass",
    ),
    "two beside others": (
        lambda c: c.adding(count=1, where=is_large).allowing_others(), set(), {3, 7, 8}, "fail",
    ),
    "any number": (lambda c: c.adding(where=is_large), set(), {7, 8}, "pass"),
    "none": (lambda c: c.adding(where=is_large), set(), set(), "fail"),
    "a member that fits": (lambda c: c.adding(7, where=is_large), set(), {7}, "pass"),
    "a member that does not": (lambda c: c.adding(3, where=is_large), set(), {3}, "fail"),
    "a member and others that fit": (lambda c: c.adding(7, count=2, where=is_large), set(), {7, 8}, "pass"),
    "removed": (lambda c: c.removing(count=1, where=is_large), {3, 7}, {3}, "pass"),
    "removed, does not fit": (lambda c: c.removing(count=1, where=is_large), {3, 7}, {7}, "fail"),
    "a sequence": (lambda c: c.adding(count=2, where=is_large), [1], [1, 7, 7], "pass"),
    "a sequence, does not fit": (lambda c: c.adding(count=2, where=is_large), [1], [1, 7, 3], "fail"),
    "a mapping": (lambda c: c.adding(count=1, where=is_paid), {}, {"a": PAID}, "pass"),
    "a mapping, does not fit": (lambda c: c.adding(count=1, where=is_paid), {}, {"a": OPEN}, "fail"),
    "a key": (lambda c: c.adding(where=lambda key: key.startswith("a")), {}, {"a": 1}, "pass"),
    "a key that is no text": (lambda c: c.adding(where=lambda key: key == 7), {}, {7: 1}, "pass"),
    "a path": (lambda c: c.adding(where=lambda key: key == "o/a"), {"o": {}}, {"o": {"a": 1}}, "pass"),
    "modified": (
        lambda c: c.modifying("n", where=lambda key, before, value: key == "n" and value == before + 1),
        {"n": 1}, {"n": 2}, "pass",
    ),
    "modified, does not fit": (
        lambda c: c.modifying(where=lambda before, value: value == before + 1), {"n": 1}, {"n": 3}, "fail",
    ),
    "the run": (
        lambda c: c.adding(
            where=lambda member, limit, result, pre_state: member == limit + result + len(pre_state)
        ),
        {1}, {1, 8}, "pass",
    ),
    "truth of any kind": (lambda c: c.adding(where=lambda member: [member]), set(), {1}, "pass"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "pre", "post", "outcome"), CASES.values(), ids=CASES)
def test_only_members_that_satisfy_the_predicate_count(words, pre, post, outcome):
    def effect(state):
        state.clear()
        (state.extend if isinstance(state, list) else state.update)(post)

    assert judged(words, type(pre)(pre), effect, result=2).outcome == outcome


SENTENCES = {
    "one does not fit": (
        lambda c: c.adding(count=1, where=is_large), {3},
        ("expected x to change by adding 1 member for which is_large holds, but it added 3, for which "
         "is_large does not hold (set() → {3})"),
    ),
    "one too many": (
        lambda c: c.adding(count=1, where=is_large), {7, 8},
        ("expected x to change by adding 1 member for which is_large holds, but it added 2 members for which "
         "is_large holds (7, 8) (set() → {7, 8})"),
    ),
    "none beside others": (
        lambda c: c.adding(count=1, where=is_large).allowing_others(), {3},
        ("expected x to change by adding 1 member for which is_large holds, allowing others, but it added no "
         "member for which is_large holds (set() → {3})"),
    ),
    "a predicate without a name": (
        lambda c: c.adding(7, where=lambda member: True), {8},
        ("expected x to change by adding member 7 for which the predicate holds, but it did not add member 7 "
         "and it added member 8, which was not declared (set() → {8})"),
    ),
    "a named member does not fit": (
        lambda c: c.adding(3, where=is_large), {3},
        ("expected x to change by adding member 3 for which is_large holds, but it added 3, for which "
         "is_large does not hold (set() → {3})"),
    ),
    "a named member does not fit, beside others that are allowed": (
        lambda c: c.adding(3, where=is_large).allowing_others(), {3, 8},
        ("expected x to change by adding member 3 for which is_large holds, allowing others, but it added 3, "
         "for which is_large does not hold (set() → {3, 8})"),
    ),
    "one named member does not fit and another is not there": (
        lambda c: c.adding(3, 9, where=is_large), {3},
        ("expected x to change by adding members 3, 9 for which is_large holds, but it added 3, for which "
         "is_large does not hold and did not add member 9 (set() → {3})"),
    ),
    "as expected": (lambda c: c.adding(where=is_large), {7}, "x added member 7, as expected (set() → {7})"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "members", "sentence"), SENTENCES.values(), ids=SENTENCES)
def test_the_sentence_names_the_predicate(words, members, sentence):
    assert judged(words, set(), lambda state: state.update(members)).explanation == sentence


def test_a_predicate_is_called_once_for_each_member_and_never_by_the_report():
    asked = []
    words = lambda c: c.adding(count=3, where=lambda member: asked.append(member) or member > 1)  # noqa: E731
    report = judged(words, set(), lambda state: state.update({1, 2}))

    assert report.explanation == str(report).rpartition("explanation: ")[2]
    assert sorted(asked) == [1, 2]


def test_a_predicate_that_raises_makes_the_check_inconclusive():
    report = judged(lambda c: c.adding(where=is_paid), {}, add(a={}))

    assert (report.outcome, report.reason) == ("inconclusive", "expectation_failed")
    assert report.explanation == "x: is_paid of adding(where=...) raised KeyError: 'paid'"


@pytest.mark.parametrize(
    ("words", "pre", "post", "said"),
    [
        (
            lambda c: c.adding(where=is_large), {}, {"a": 7},
            "names 'member', and what was added has 'key' and 'value'",
        ),
        (lambda c: c.adding(where=is_paid), set(), {7}, "names 'value', and what was added has 'member'"),
    ],
)  # fmt: skip
def test_a_predicate_that_names_a_missing_value_fails_with_the_available_names(words, pre, post, said):
    def effect(state):
        state.clear()
        state.update(post)

    report = judged(words, type(pre)(pre), effect)
    assert report.reason == "expectation_failed"
    assert report.explanation.endswith(said)


@pytest.mark.parametrize("word", ["adding", "removing"])
def test_a_predicate_that_names_the_value_before_an_addition_or_removal_is_refused(word):
    check = getattr(change("x", dict), word)(where=lambda key, before: True)

    with pytest.raises(DeltaspanError) as caught:
        expects(check, name="act")(lambda: None)

    assert str(caught.value) == (
        f"the predicate of check 'x' on action 'act' names 'before', which {word}(where=...) does not have; "
        f"name 'member', or 'key' and 'value' of a mapping, or use modifying(where=...)"
    )


def test_an_async_predicate_is_refused():
    async def later(member):
        return True

    with pytest.raises(DeltaspanError, match="the predicate of check 'x' on action 'act' is async"):
        judged(lambda c: c.adding(where=later), set(), lambda state: state.add(1))


def test_a_name_that_does_not_exist_is_refused_with_the_nearest():
    with pytest.raises(DeltaspanError) as caught:
        judged(lambda c: c.adding(where=lambda membr: True), set(), lambda state: None)

    assert str(caught.value) == (
        "the predicate of check 'x' on action 'act' needs 'membr', which does not exist; did you mean "
        "'member'? (it may name: before, causal_tag, key, limit, member, pre_state, result, value)"
    )


@pytest.mark.parametrize("name", ["key", "value", "member", "before"])
def test_a_name_that_the_action_has_as_a_parameter_too_is_refused(name):
    where = eval(f"lambda {name}: True")  # noqa: S307

    with pytest.raises(DeltaspanError, match=f"names '{name}', which is both a parameter of the action and"):
        expects(change("x", set).adding(where=where))(lambda key, value, member, before: None)


def test_a_value_that_is_not_a_predicate_is_refused():
    with pytest.raises(DeltaspanError) as caught:
        change("x", set).adding(where=True)

    assert str(caught.value) == (
        "adding(where=...) takes a predicate to be called, not True; write where=lambda member: ..., or name "
        "key and value for a mapping"
    )


def test_a_check_reads_as_its_source():
    check = change("x", set).adding(count=1, where=is_large).removing(where=is_paid)

    assert repr(check) == "change('x', set).adding(count=1, where=is_large).removing(where=is_paid)"


def test_a_predicate_on_tagged_rows_counts_own_rows():
    rows = {}
    check = change("rows", tagged(lambda: rows.items(), key=0, tag=1)).adding(
        count=1, where=lambda key: key > 5
    )

    @expects(check)
    def act(row):
        rows[row] = current_causal_tag()

    with collect_reports() as reports:
        act(7)
        act(3)
    assert [report.outcome for report in reports] == ["pass", "fail"]


# Ignored members in predicates and reports ------------------------------------------------------------------

SAVED = {"paid": True, "at": 1, "lines": ({"n": 1, "at": 1},)}


def test_ignored_parts_of_an_added_document_do_not_reach_a_predicate():
    seen = []
    words = lambda c: c.satisfying(lambda delta: seen.append(delta.added) or True, "any").ignoring("**/at")  # noqa: E731
    report = judged(words, {}, add(a=SAVED, at=1))

    assert report.passed
    assert [dict(added) for added in seen] == [{"a": {"paid": True, "lines": ({"n": 1},)}}]


@pytest.mark.parametrize("pattern", ["a/at", "*/at", lambda: "a/at", "**/at"])
def test_ignored_parts_of_a_document_do_not_reach_where(pattern):
    words = lambda c: c.adding(count=1, where=lambda value: "at" not in value).ignoring(pattern)  # noqa: E731

    assert judged(words, {}, add(a={"paid": True, "at": 1})).outcome == "pass"


def test_ignored_members_do_not_appear_in_the_actual_delta():
    words = lambda c: c.ignoring("**/at")  # noqa: E731
    added = judged(
        lambda c: words(c.adding("a")), {"b": {"at": 1}}, lambda s: (s.update(a=SAVED), s["b"].update(at=2))
    )
    removed = judged(lambda c: words(c.removing("a")), {"a": SAVED}, dict.clear)
    kept = judged(words, {"b": {"at": 1}}, lambda s: s["b"].update(at=2), make=unchanged)
    replaced = judged(words, {"a": 1}, add(a={"at": 1, "n": 2}))

    assert [report.to_dict()["actual_delta"] for report in (added, removed, kept, replaced)] == [
        {"added": {"a": {"paid": True, "lines": [{"n": 1}]}}, "removed": {}, "modified": {}},
        {"added": {}, "removed": {"a": {"paid": True, "lines": [{"n": 1}]}}, "modified": {}},
        {"added": {}, "removed": {}, "modified": {}},
        {"added": {}, "removed": {}, "modified": {"a": [1, {"n": 2}]}},
    ]


def test_ignored_members_do_not_appear_in_the_delta_of_an_action_that_raised():
    state = {"at": 1}

    @expects(change("x", lambda: state).adding("a").ignoring("at"))
    def act():
        state.update(at=2, b=1)
        raise OSError

    with collect_reports() as reports, pytest.raises(OSError):  # noqa: PT011  # any will do
        act()
    report = reports[0]["x"]
    assert (report.reason, report.to_dict()["actual_delta"]) == (
        "action_failed", {"added": {"b": 1}, "removed": {}, "modified": {}},
    )  # fmt: skip
    assert report.explanation.startswith("x: the action raised OSError; the state added 'b' ")


def test_a_value_that_differs_only_in_ignored_members_is_unchanged():
    effect = lambda s: s.update(a=[{"n": 1, "at": 2}, 1])  # noqa: E731
    report = judged(lambda c: c.ignoring("**/at"), {"a": [{"n": 1, "at": 1}, 1]}, effect, make=unchanged)

    assert report.outcome == "pass"
