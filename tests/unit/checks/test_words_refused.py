"""What the words for collections read like, and what they refuse to say."""

from threading import Lock

import pytest

from deltaspan import DeltaspanError, change, unchanged


def rows():
    return 3


def created(result):
    return result


CHECK = change("rows", rows)

SENTENCES = {
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


@pytest.mark.parametrize(("source", "check"), SENTENCES.items(), ids=str)
def test_a_check_reads_as_the_source_that_made_it(source, check):
    assert repr(check) == source


@pytest.mark.parametrize(("call", "kind", "text"), REFUSED.values(), ids=REFUSED)
def test_what_contradicts_itself_is_refused_naming_both(call, kind, text):
    with pytest.raises(DeltaspanError) as caught:
        call()

    assert isinstance(caught.value, kind)
    assert str(caught.value) == text


def test_a_word_returns_a_new_check_and_leaves_the_old_one_as_it_was():
    kept = CHECK.adding("a")
    kept.removing("b").allowing_others()

    assert kept == CHECK.adding("a")
    assert kept != CHECK.adding("b")


def test_members_are_a_snapshot():
    document = {"id": 1}
    check = CHECK.adding(document)
    document["id"] = 2

    assert check == CHECK.adding({"id": 1})
