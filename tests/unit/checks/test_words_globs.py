"""How a glob pattern matches: as a regular expression would, in a bounded number of steps."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deltaspan.expectations._globs import Glob

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
def test_a_pattern_matches_what_its_regular_expression_does(pattern, text):
    assert Glob(pattern).matches(text) == (re.fullmatch(expression(pattern), text, re.DOTALL) is not None)


class Counted(str):
    """A text that counts what is asked of it."""

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
