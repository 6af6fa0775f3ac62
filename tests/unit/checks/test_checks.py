"""The words of a check: their repr, their arguments and their refusals."""

from dataclasses import FrozenInstanceError
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from threading import Lock

import pytest

from deltaspan import DeltaspanError, change, observe, unchanged


def rows():
    return 3


def created(result):
    return result


CHECK = change("rows", rows)

SENTENCES = {
    "change('rows', rows)": CHECK,
    "change('rows', rows).by(1)": CHECK.by(1),
    "change('rows', rows).by(-2)": CHECK.by(-2),
    "change('rows', rows).by(0.3, tolerance=0.01)": CHECK.by(0.3, tolerance=0.01),
    "change('rows', rows).by(Decimal('1.50'))": CHECK.by(Decimal("1.50")),
    "change('rows', rows).by(Fraction(1, 3))": CHECK.by(Fraction(1, 3)),
    "change('rows', rows).by(datetime.timedelta(days=1))": CHECK.by(timedelta(days=1)),
    "change('rows', rows).by(created)": CHECK.by(created),
    "change('rows', rows).by_at_least(2)": CHECK.by_at_least(2),
    "change('rows', rows).by_at_least(2, tolerance=1)": CHECK.by_at_least(2, tolerance=1),
    "change('rows', rows).by_at_most(2)": CHECK.by_at_most(2),
    "change('rows', rows).by_at_most(2, tolerance=1)": CHECK.by_at_most(2, tolerance=1),
    "change('rows', rows).by_between(1, 5)": CHECK.by_between(1, 5),
    "change('rows', rows).by_between(1, 5, tolerance=1)": CHECK.by_between(1, 5, tolerance=1),
    "change('rows', rows).increasing()": CHECK.increasing(),
    "change('rows', rows).increasing(by=2)": CHECK.increasing(by=2),
    "change('rows', rows).increasing(at_least=1, at_most=4)": CHECK.increasing(at_least=1, at_most=4),
    "change('rows', rows).decreasing()": CHECK.decreasing(),
    "change('rows', rows).decreasing(by=2, tolerance=0.5)": CHECK.decreasing(by=2, tolerance=0.5),
    "change('rows', rows).from_(3)": CHECK.from_(3),
    "change('rows', rows).from_(None)": CHECK.from_(None),
    "change('rows', rows).to('done')": CHECK.to("done"),
    "change('rows', rows).to(created)": CHECK.to(created),
    "change('rows', rows).from_([1]).to([1, 2])": CHECK.from_([1]).to([1, 2]),
    "change('rows', rows).from_(3).to(5).by(2)": CHECK.from_(3).to(5).by(2),
    "change('rows', rows).by(2).to(5).from_(3)": CHECK.by(2).to(5).from_(3),
    "unchanged('rows', rows)": unchanged("rows", rows),
    "observe('rows', rows)": observe("rows", rows),
    "change('rows', rows).adding()": CHECK.adding(),
    "change('rows', rows).adding('a', 42)": CHECK.adding("a", 42),
    "change('rows', rows).adding(created, count=created)": CHECK.adding(created, count=created),
    "change('rows', rows).adding('a').removing(count=2).modifying('b/*')": (
        CHECK.adding("a").removing(count=2).modifying("b/*")
    ),
    "change('rows', rows).removing('a').allowing_others()": CHECK.removing("a").allowing_others(),
    "change('rows', rows).only('a', 'b/*').ignoring('c')": CHECK.only("a", "b/*").ignoring("c"),
    "change('rows', rows).ignoring('a').ignoring('b')": CHECK.ignoring("a").ignoring("b"),
    "change('rows', rows).resizing(-2).from_([1])": CHECK.resizing(-2).from_([1]),
    "change('rows', rows).by({'a': 1}, tolerance=2)": CHECK.by({"a": 1}, tolerance=2),
    "change('rows', rows).by({'a': 1}).allowing_others()": CHECK.by({"a": 1}).allowing_others(),
    "change('rows', rows).satisfying(created, 'it was created')": (
        CHECK.satisfying(created, "it was created")
    ),
    "unchanged('rows', rows).ignoring('a', 7)": unchanged("rows", rows).ignoring("a", 7),
}


@pytest.mark.parametrize(("source", "check"), SENTENCES.items(), ids=str)
def test_a_check_reads_as_the_source_that_made_it(source, check):
    assert repr(check) == source


def test_a_probe_without_a_name_of_its_own_is_shown_as_python_shows_it():
    probe = lambda: 3  # noqa: E731  # the point is that it has no name

    assert repr(change("rows", probe)) == f"change('rows', {probe!r})"


def test_a_check_is_named_after_its_metric():
    assert CHECK.name == "rows_delta"


@pytest.mark.parametrize("check", [CHECK, unchanged("rows", rows), observe("rows", rows)], ids=repr)
def test_a_check_cannot_be_changed(check):
    with pytest.raises(FrozenInstanceError):
        check.metric = "other"


def test_a_word_returns_a_new_check_and_leaves_the_old_one_unchanged():
    kept = change("rows", rows)
    refined = kept.by(1)

    assert repr(kept) == "change('rows', rows)"
    assert repr(refined) == "change('rows', rows).by(1)"


def test_one_check_can_be_refined_in_several_ways():
    assert [repr(CHECK.from_(1).by(1)), repr(CHECK.from_(1).increasing())] == [
        "change('rows', rows).from_(1).by(1)",
        "change('rows', rows).from_(1).increasing()",
    ]


def test_checks_of_the_same_words_are_equal():
    assert change("rows", rows).by(1) == CHECK.by(1)


def test_a_state_given_to_from_is_a_snapshot_of_its_value():
    start = [1]
    check = change("rows", rows).from_(start)
    start.append(2)

    assert check.expectation.start == (1,)


def test_a_state_given_to_to_is_a_snapshot_of_its_value():
    end = {"a": [1]}
    check = change("rows", rows).to(end)
    end["a"].append(2)

    assert check.expectation.end == {"a": (1,)}


@pytest.mark.parametrize("metric", ["a", "A.b-c_9", "x" * 64])
def test_a_metric_of_up_to_64_letters_digits_and_marks_is_taken(metric):
    assert change(metric, rows).metric == metric


@pytest.mark.parametrize("make", [change, unchanged, observe])
@pytest.mark.parametrize("metric", ["", "two words", "x" * 65, "rows\n", "flöws", "a/b"])
def test_a_metric_with_other_characters_or_of_another_length_is_refused(make, metric):
    with pytest.raises(DeltaspanError) as caught:
        make(metric, rows)

    assert isinstance(caught.value, ValueError)
    shown = {"rows\n": "'rows\\n'"}.get(metric, repr(metric))
    assert str(caught.value) == f"the metric {shown} must be 1 to 64 letters, digits, '_', '.' or '-'"


@pytest.mark.parametrize("make", [change, unchanged, observe])
def test_a_metric_that_is_not_a_string_is_refused(make):
    with pytest.raises(DeltaspanError) as caught:
        make(rows, "rows")

    assert isinstance(caught.value, TypeError)
    assert str(caught.value).startswith("a metric is a name such as 'active_flows', not <function rows")


@pytest.mark.parametrize("make", [change, unchanged, observe])
def test_a_probe_that_was_called_already_is_refused(make):
    with pytest.raises(DeltaspanError) as caught:
        make("rows", rows())

    assert isinstance(caught.value, TypeError)
    assert str(caught.value) == (
        "the probe of check 'rows' must be callable, not 3; pass the function, not its result"
    )


def test_a_second_amount_is_refused_naming_both():
    with pytest.raises(DeltaspanError) as caught:
        CHECK.by(1).by_at_least(2)

    assert isinstance(caught.value, ValueError)
    assert str(caught.value) == (
        "change('rows', rows).by(1) cannot be followed by .by_at_least(2): only one word can say how the "
        "state changes; keep one, or use by_between(low, high)"
    )


@pytest.mark.parametrize(
    "second",
    [
        lambda check: check.by(1),
        lambda check: check.by_at_most(1),
        lambda check: check.by_between(1, 2),
        lambda check: check.increasing(),
        lambda check: check.decreasing(by=1),
    ],
)
def test_two_words_for_the_amount_are_refused(second):
    with pytest.raises(ValueError, match="only one word can say how the state changes"):
        second(CHECK.by_at_least(1))


def test_a_second_start_is_refused():
    with pytest.raises(DeltaspanError) as caught:
        CHECK.from_(1).from_(2)

    assert isinstance(caught.value, ValueError)
    assert str(caught.value) == "check 'rows' already has a start: change('rows', rows).from_(1); give one"


def test_a_second_end_is_refused():
    with pytest.raises(DeltaspanError) as caught:
        CHECK.to(None).to(None)

    assert isinstance(caught.value, ValueError)
    assert str(caught.value) == "check 'rows' already has an end: change('rows', rows).to(None); give one"


@pytest.mark.parametrize("word", ["from_", "to"])
def test_a_state_that_cannot_be_compared_is_refused(word):
    with pytest.raises(DeltaspanError) as caught:
        getattr(CHECK, word)(Lock())

    assert isinstance(caught.value, TypeError)
    assert str(caught.value) == (
        f"check 'rows': {word} cannot compare with this: "
        "found a lock (lock): return the values that it guards instead"
    )


# Words for collections --------------------------------------------------------------------------------------

ROWS = "change('rows', rows)"
ONE_WORD = "only one word can say how the state changes; keep one"
REFUSED = {
    "a kind twice": (
        lambda: CHECK.adding("a").removing("b").adding("c"), ValueError,
        ("change('rows', rows).adding('a').removing('b') already has .adding(...), so it cannot be followed "
         "by .adding('c'); name all members in one .adding(...)"),
    ),
    "members and an amount": (
        lambda: CHECK.by(1).adding("a"), ValueError,
        f"{ROWS}.by(1) cannot be followed by .adding('a'): {ONE_WORD}",
    ),
    "an amount and members": (
        lambda: CHECK.adding("a").by(1), ValueError,
        f"{ROWS}.adding('a') cannot be followed by .by(1): {ONE_WORD}",
    ),
    "only and members": (
        lambda: CHECK.only("a").adding("a"), ValueError,
        f"{ROWS}.only('a') cannot be followed by .adding('a'): {ONE_WORD}",
    ),
    "a size and an amount": (
        lambda: CHECK.resizing(1).by(1), ValueError,
        f"{ROWS}.resizing(1) cannot be followed by .by(1): {ONE_WORD}",
    ),
    "a predicate and a size": (
        lambda: CHECK.satisfying(created, "so").resizing(1), ValueError,
        f"{ROWS}.satisfying(created, 'so') cannot be followed by .resizing(1): {ONE_WORD}",
    ),
    "allowing others beside nothing": (
        CHECK.allowing_others, ValueError,
        ("change('rows', rows) declares no change yet, so .allowing_others() has no others to allow; "
         "say first what must change: .adding(...).allowing_others()"),
    ),
    "allowing others beside only": (
        lambda: CHECK.only("a").allowing_others(), ValueError,
        ("change('rows', rows).only('a') cannot be followed by .allowing_others(); it follows adding, "
         "removing, modifying or by({...})"),
    ),
    "allowing others twice": (
        lambda: CHECK.adding().allowing_others().allowing_others(), ValueError,
        "change('rows', rows).adding().allowing_others() already has .allowing_others(); write it once",
    ),
    "a count of nothing": (
        lambda: CHECK.adding(count=0), ValueError,
        ("check 'rows': adding(count=0) demands no change; leave the word out, because undeclared members "
         "must not change, or use unchanged(...)"),
    ),
    "a count below the members": (
        lambda: CHECK.adding("a", "b", count=1), ValueError,
        "check 'rows': adding names 2 members, but count=1; raise the count or name fewer",
    ),
    "a count that is no number": (
        lambda: CHECK.adding(count="a"), TypeError,
        ("adding(count=...) takes a whole number of members, 0 or more, or a callable that computes one, "
         "not 'a'"),
    ),
    "a count that is a bool": (
        lambda: CHECK.removing(count=True), TypeError,
        ("removing(count=...) takes a whole number of members, 0 or more, or a callable that computes one, "
         "not True"),
    ),
    "only without members": (
        CHECK.only, ValueError, "check 'rows': only() needs at least one member, key or pattern",
    ),
    "ignoring without patterns": (
        unchanged("rows", rows).ignoring, ValueError,
        "check 'rows': ignoring() needs at least one member, key or pattern",
    ),
    "ignoring members of a number": (
        lambda: CHECK.by(1).ignoring("a"), ValueError,
        ("change('rows', rows).by(1) expects a number, which has no members, so .ignoring('a') has nothing "
         "to leave out; remove one of them"),
    ),
    "the amount of a state with ignored members": (
        lambda: CHECK.ignoring("a").by_at_least(1), ValueError,
        ("change('rows', rows).ignoring('a') leaves members out, but .by_at_least(1) expects a number, which "
         "has no members; remove one of them"),
    ),
    "a member that cannot be compared": (
        lambda: CHECK.adding(Lock()), TypeError,
        ("check 'rows': adding cannot compare with this: found a lock (lock): "
         "return the values that it guards instead"),
    ),
    "a size that is no whole number": (
        lambda: CHECK.resizing(1.5), TypeError,
        "resizing takes a whole number of members, or a callable that computes one, not 1.5",
    ),
    "no key": (
        lambda: CHECK.by({}), ValueError,
        "by({}) names no key: use unchanged(...) to claim that nothing changes",
    ),
    "an amount by key that is none": (
        lambda: CHECK.by({"a": "1"}), TypeError,
        "by({'a': ...}) takes a number, a timedelta, or a callable that computes one, not '1'",
    ),
    "a predicate that was called": (
        lambda: CHECK.satisfying(True, "so"), TypeError,
        ("satisfying takes a predicate to be called, not True; "
         "write .satisfying(lambda delta: ..., 'what it demands')"),
    ),
    "a predicate without a description": (
        lambda: CHECK.satisfying(created, " "), ValueError,
        "satisfying needs a description, because a report can say nothing else about a predicate",
    ),
    "a description that is no text": (
        lambda: CHECK.satisfying(created, None), TypeError,
        "satisfying takes a description in words, not None",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "text"), REFUSED.values(), ids=REFUSED)
def test_contradictory_modifiers_are_refused_and_both_are_named(call, kind, text):
    with pytest.raises(DeltaspanError) as caught:
        call()

    assert isinstance(caught.value, kind)
    assert str(caught.value) == text


def test_a_word_for_collections_leaves_the_old_check_unchanged():
    kept = CHECK.adding("a")
    kept.removing("b").allowing_others()

    assert kept == CHECK.adding("a")
    assert kept != CHECK.adding("b")


def test_members_are_a_snapshot():
    document = {"id": 1}
    check = CHECK.adding(document)
    document["id"] = 2

    assert check == CHECK.adding({"id": 1})
