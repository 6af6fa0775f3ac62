"""Members matched by names and patterns, in `only`, `ignoring` and on mappings."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deltaspan import change, unchanged
from deltaspan._state.snapshot import Path
from deltaspan.expectations._globs import Glob
from deltaspan.expectations._paths import Names
from deltaspan.expectations._patterns import parse_member
from support.verdicts import verdict

CHANGE = change("x", lambda: None)

MATCHES = [
    ("a", ("a",)), ("a*", ("abc",)), ("?", ("a",)), ("[ab]", ("b",)), ("[!ab]", ("c",)), ("[a-c]x", ("bx",)),
    ("orders/*/status", ("orders", 3, "status")), ("orders/*", ("orders", 3)),
    ("orders/**", ("orders", 3, "status")), ("orders/**", ("orders",)),
    ("**/status", ("orders", 3, "status")), ("**/status", ("status",)),
    ("a/**/z", ("a", "z")), ("a/**/z", ("a", "b", "c", "z")), ("**", ("a", "b")),
    ("a/42", ("a", 42)), (42, (42,)), (None, (None,)), ((1, 2), ((1, 2),)), (float("nan"), (float("nan"),)),
    ("a~1b", ("a/b",)), ("a/b", ("a/b",)), ("logs/*", ("logs/a.txt",)), ("*.txt", ("logs/a.txt",)),
    ("a~b", ("a~b",)), ("a~0b", ("a~b",)), ("?", ("/",)), ("list[0]", ("list[0]",)), ("[*]", ("*",)),
    ("[[]", ("[",)), ("[]]", ("]",)), ("[", ("[",)), ("[z-a]", ("[z-a]",)), ("a\\d", ("a\\d",)),
    ("a.c", ("a.c",)), ("*", ("two\nlines",)), ("", ("",)),
]  # fmt: skip

DIFFERS = [
    ("a", ("b",)), ("a", ("x", "a")), ("a*", ("ba",)), ("a.c", ("abc",)), ("[!ab]", ("a",)), ("A", ("a",)),
    ("orders/*", ("orders", 3, "status")), ("orders/*/status", ("orders", "status")), ("?", ("ab",)),
    ("**/status", ("status", "code")), (42, ("42",)), (1, (True,)), ("[*]", ("a",)), ("a/b", ("a", "c")),
    ("*", ("a", "b")), ("a~1b", ("a", "b")), ("a[/]b", ("a", "b")),
]  # fmt: skip


@pytest.mark.parametrize(("member", "path"), MATCHES, ids=repr)
def test_a_member_names_the_entries_at_its_path(member, path):
    assert Names([parse_member(member)], deep=False).of_path(Path(path)) == {0}


@pytest.mark.parametrize(("member", "path"), DIFFERS, ids=repr)
def test_a_member_names_no_other_entry(member, path):
    assert Names([parse_member(member)], deep=False).of_path(Path(path)) == set()


@pytest.mark.parametrize("member", ["a", "a*", 7])
def test_a_top_level_key_matches_all_below_it_in_deep_mode(member):
    path = Path((7 if member == 7 else "a", "b", "c"))

    assert (
        Names([parse_member(member)], deep=True).of_path(path),
        Names([parse_member(member)], deep=False).of_path(path),
    ) == ({0}, set())


def test_a_member_of_a_set_that_is_text_is_matched_by_patterns_and_others_by_value():
    names = Names([parse_member("a*"), 7], deep=True)

    assert [names.of_member(member) for member in ("ab", "b", 7, 8)] == [{0}, set(), {1}, set()]


DOC = {"status": "new", "at": 1, "orders": {1: {"n": 1, "at": 1}}}
LATER = {"status": "new", "at": 2, "orders": {1: {"n": 1, "at": 2}}}
PAID = {"status": "paid", "at": 2, "orders": {1: {"n": 1, "at": 1}}}
BARE, UNCHANGED = CHANGE.ignoring("at"), unchanged("x", lambda: None).ignoring("at", "**/at")

OUTCOMES = {
    "unchanged but for what is ignored": (UNCHANGED, DOC, LATER, "pass"),
    "changed beyond what is ignored": (UNCHANGED, DOC, PAID, "fail"),
    "a change that is ignored is none": (BARE, DOC, {**DOC, "at": 2}, "fail"),
    "a change beyond what is ignored": (BARE, DOC, PAID, "pass"),
    "ignored below a path only": (BARE, DOC, LATER, "pass"),
    "modifying": (CHANGE.modifying("status").ignoring("at"), DOC, PAID, "pass"),
    "ignored before the word": (CHANGE.ignoring("at").modifying("status"), DOC, PAID, "pass"),
    "an end": (CHANGE.to({**PAID, "at": 0}).ignoring("at"), DOC, PAID, "pass"),
    "another end": (CHANGE.to({**PAID, "status": "new"}).ignoring("at"), DOC, PAID, "fail"),
    "said twice": (CHANGE.modifying("status").ignoring("x").ignoring("at"), DOC, PAID, "pass"),
    "amounts by key": (CHANGE.by({"a": 1}).ignoring("t*"), {"a": 1, "t1": 1}, {"a": 2, "t1": 5}, "pass"),
    "size": (CHANGE.resizing(1).ignoring("tmp*"), {"a"}, {"a", "b", "tmp1"}, "pass"),
    "a set": (CHANGE.adding("b").ignoring("tmp*", 7), {7}, {"b", "tmp1"}, "pass"),
    "a list": (CHANGE.adding("b").ignoring("tmp*"), ["a", "tmp1"], ["tmp2", "a", "b"], "pass"),
    "a list where only what is ignored moved": (UNCHANGED, ["at", "b", "c"], ["b", "c", "at"], "pass"),
    "a state without members": (UNCHANGED, "a", "b", "fail"),
    "a number": (UNCHANGED, 1, 2, "fail"),
    "only": (CHANGE.only("status", "at"), DOC, PAID, "pass"),
    "only, and another": (CHANGE.only("status"), DOC, PAID, "fail"),
    "only, and nothing": (CHANGE.only("status"), DOC, DOC, "fail"),
    "only within a path": (CHANGE.only("orders/*/n", "orders/*/at", "at"), DOC, LATER, "pass"),
    "only, any kind": (CHANGE.only("a*"), {"a1": 1, "a2": 1}, {"a1": 2, "a3": 1}, "pass"),
    "only in a set": (CHANGE.only("a*", 7), {"a1", 7}, {"a2"}, "pass"),
    "only in a list": (CHANGE.only("b"), ["a"], ["a", "b"], "pass"),
    "only in a list that was reordered": (CHANGE.only("b"), ["a", "c"], ["c", "a", "b"], "fail"),
}  # fmt: skip


@pytest.mark.parametrize(("check", "pre", "post", "outcome"), OUTCOMES.values(), ids=OUTCOMES)
def test_ignoring_leaves_members_out_and_only_limits_changes_to_its_members(check, pre, post, outcome):
    assert verdict(check, pre, post)[0] == outcome


def test_the_sentences_name_members_outside_only_and_ignored_members():
    assert [
        verdict(CHANGE.only("a"), {"a": 1, "b": 1}, {"a": 2}),
        verdict(CHANGE.only("a"), {"a": 1}, {"a": 1, "c": 1, "d": 1}),
        verdict(CHANGE.only("a"), {"a": 1}, {"a": 1}),
        verdict(CHANGE.only("a").ignoring("t"), {"a": 1, "t": 1}, {"a": 2, "t": 2}),
        verdict(UNCHANGED, {"at": 1}, {"at": 2}),
        verdict(UNCHANGED, {"at": 1, "b": 1}, {"at": 2}),
        verdict(CHANGE.only("a"), 1, 2),
    ] == [
        (
            "fail",
            (
                "expected x to change only in 'a', but it also removed 'b', which lies outside "
                "({'a': 1, 'b': 1} → {'a': 2})"
            ),
        ),
        (
            "fail",
            (
                "expected x to change only in 'a', but it added 'c', 'd', which lie outside "
                "({'a': 1} → {'a': 1, 'c': 1, 'd': 1})"
            ),
        ),
        ("fail", "expected x to change only in 'a', but it did not change ({'a': 1} → {'a': 1})"),
        ("pass", "x modified 'a' (1 → 2), ignoring 't', as expected ({'a': 1, 't': 1} → {'a': 2, 't': 2})"),
        (
            "pass",
            (
                "x did not change, ignoring 'at', '**/at', as expected ({'at': 1} → {'at': 2}); "
                "it was so already before the action"
            ),
        ),
        (
            "fail",
            (
                "expected x to stay unchanged, ignoring 'at', '**/at', but it removed 'b' "
                "({'at': 1, 'b': 1} → {'at': 2})"
            ),
        ),
        (
            "inconclusive",
            (
                "only needs a collection before and after the action, but the states were 1 → 2; "
                "use .by(n) for a number"
            ),
        ),
    ]


# Globs ------------------------------------------------------------------------------------------------------

TOKEN = re.compile(
    r"(?P<within>(?<=/)(?:\*\*/)+)|(?P<leading>^(?:\*\*/)+)|(?P<trailing>/\*\*\Z)"
    r"|(?P<any>\*\*+)|(?P<part>\*)|(?P<one>\?)|(?P<set>\[!?\]?[^]]*\])|(?P<plain>.)",
    re.DOTALL,
)
EXPRESSIONS = {
    "within": "(?:.+/)?",
    "leading": "(?:.+/)?",
    "trailing": "(?:/.*)?",
    "any": ".*",
    "part": "[^/]*",
    "one": "(?:~[01]|[^/])",
}


def expression(pattern):
    """Return the regular expression that says the same, with all its ways to backtrack."""
    return "".join(
        brackets(token.group()) if token.lastgroup == "set" else
        EXPRESSIONS.get(token.lastgroup) or re.escape(token.group())
        for token in TOKEN.finditer(pattern)
    )  # fmt: skip


def brackets(text):
    negated = text.startswith("[!")
    characters = re.sub(r"[\\\[\]^&~|]", r"\\\g<0>", text[2 if negated else 1 : -1])
    found = f"(?!/)[{'^' if negated else ''}{characters}]"
    try:
        re.compile(found)
    except re.error:
        return re.escape(text)
    return found


pieces = st.sampled_from(
    ["*", "**", "**/", "/**", "/", "?", "a", "b", "~", "~0", "~1", "[ab]", "[!a]", "[", "]", "[b-a]"]
)
texts = st.text("ab/~01[]-\n", max_size=8)


@settings(max_examples=1500)
@given(pattern=st.lists(pieces, max_size=7).map("".join), text=texts)
@example("**a*b", "a/ab")
@example("**/**", "a")
@example("?*?", "~0~1")
@example("a/**/b", "a/b")
@example("a/**/b", "a//b")
@example("a/**", "a")
@example("[b-a]a", "[b-a]a")
@example("", "")
def test_a_pattern_matches_the_same_texts_as_its_regular_expression(pattern, text):
    assert Glob(pattern).matches(text) == (re.fullmatch(expression(pattern), text, re.DOTALL) is not None)


class Counted(str):
    """A text that counts its operations."""

    __slots__ = ("asked",)

    def __getitem__(self, place):
        self.asked += 1
        return super().__getitem__(place)

    def startswith(self, *args):
        self.asked += 1
        return super().startswith(*args)

    def find(self, *args):
        self.asked += 1
        return super().find(*args)


@pytest.mark.parametrize(
    "pattern", ["*-" * 30 + ".txt", "**-" * 30 + ".txt", "**/*-" * 20 + "x", "?*" * 30 + "x", "-/**/" * 20]
)
def test_a_pattern_is_matched_in_steps_that_its_length_times_that_of_the_text_bounds(pattern):
    text = Counted("-" * 200 + "/-" * 100)
    text.asked = 0

    assert not Glob(pattern).matches(text)
    assert text.asked <= 2 * len(pattern) * (len(text) + 1)
