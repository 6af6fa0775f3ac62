"""Exceptions that cannot be inspected: an inconclusive verdict, and never a broken action."""

import argparse
from typing import get_args

import pytest

from deltaspan import DeltaInconclusive, change, collect_reports, expects
from deltaspan._guard import class_name, describe, safe_str
from deltaspan._verdicts import REASONS
from deltaspan.typing import Reason


class TextExits(Exception):
    def __str__(self):
        raise SystemExit(3)


class TextRaises(Exception):
    def __str__(self):
        raise ValueError("no text")


class TextIsNone(Exception):
    def __str__(self):
        return None  # noqa: PLE0307  # the test is what becomes of it


class ClassRaises(Exception):
    @property
    def __class__(self):
        raise RuntimeError("no class")


class ClassExits(Exception):
    @property
    def __class__(self):
        raise SystemExit(4)


class Nameless(type):
    @property
    def __name__(cls):
        raise RuntimeError("no name")

    @property
    def __module__(cls):
        raise RuntimeError("no module")

    def __instancecheck__(cls, other):
        raise RuntimeError("no instance")

    def __hash__(cls):
        raise RuntimeError("no hash")

    def __getattr__(cls, name):
        raise RuntimeError(name)


class NameRaises(Exception, metaclass=Nameless):
    pass


class TracebackRaises(Exception):
    @property
    def __traceback__(self):
        raise RuntimeError("no traceback")

    @property
    def __context__(self):
        raise RuntimeError("no context")

    @property
    def __cause__(self):
        raise RuntimeError("no cause")


class SlyText(str):
    __slots__ = ()

    def __format__(self, spec):
        raise SystemExit(5)

    def __len__(self):
        raise SystemExit(6)


class TextIsSly(Exception):
    def __str__(self):
        return SlyText("sly")


HOSTILE = [TextExits, TextRaises, TextIsNone, ClassRaises, ClassExits, NameRaises, TracebackRaises, TextIsSly]
hostile = pytest.mark.parametrize("kind", HOSTILE, ids=lambda kind: class_name(kind))


def raising(kind):
    def fail(*_):
        raise kind("given")

    return fail


class Unlocked:
    def __init__(self, kind):
        self._kind = kind

    def __enter__(self):
        raise self._kind("given")

    def __exit__(self, *_):
        raise self._kind("given")


def in_the_probe(kind):
    return change("rows", raising(kind))


def in_a_limited_probe(kind):
    return change("rows", raising(kind)).timeout(60)


def in_the_expected_value(kind):
    return change("rows", lambda: 0).by(lambda: raising(kind)())


def in_the_predicate(kind):
    return change("rows", lambda: 0).satisfying(lambda delta: raising(kind)(), "whatever")


def in_the_lock(kind):
    return change("rows", lambda: 0).exclusively(Unlocked(kind))


def in_the_release(kind):
    class Stuck(Unlocked):
        def __enter__(self):
            return self

    return change("rows", lambda: 0).exclusively(Stuck(kind))


def in_the_redaction(kind):
    return change("rows", lambda: 0).redacted(by=raising(kind))


PLACES = [
    in_the_probe,
    in_a_limited_probe,
    in_the_expected_value,
    in_the_predicate,
    in_the_lock,
    in_the_release,
    in_the_redaction,
]


@hostile
@pytest.mark.parametrize("place", PLACES)
def test_the_result_of_the_action_is_returned(place, kind, recorded, caplog):
    with collect_reports() as reports:
        found = expects(place(kind), on_report=raising(kind), on_inconclusive="warn")(lambda: "acted")()

    assert found == "acted"
    assert len(reports) == 1
    assert recorded.span.end_time is not None
    assert isinstance(str(reports[0]), str)
    assert isinstance(reports[0].to_dict()["checks"][0]["explanation"], str)


@hostile
@pytest.mark.parametrize("place", PLACES)
async def test_the_result_of_an_async_action_is_returned(place, kind, recorded):
    async def act():
        return "acted"

    assert await expects(place(kind), on_report=raising(kind))(act)() == "acted"


@hostile
def test_the_exception_of_the_action_is_raised_unchanged(kind, recorded):
    error = kind("given")

    def act():
        raise error

    caught = None
    with collect_reports() as reports:
        try:
            expects(change("rows", lambda: 0).by(1))(act)()
        except BaseException as raised:
            caught = raised

    assert caught is error
    assert reports[0]["rows"].reason == "action_failed"
    assert recorded.span.end_time is not None


@hostile
def test_an_inconclusive_check_is_raised_as_such(kind):
    with pytest.raises(DeltaInconclusive):
        expects(change("rows", raising(kind)), on_inconclusive="raise")(lambda: None)()


class Exits:
    """A key whose comparison exits."""

    def __init__(self, name):
        self.name = name

    def __hash__(self):
        return 1

    def __eq__(self, other):
        argparse.ArgumentParser(exit_on_error=True).exit(2)

    def __repr__(self):
        raise SystemExit(7)

    def __lt__(self, other):
        raise SystemExit(8)


def test_a_state_whose_members_exit_has_no_verdict_that_breaks_the_action(recorded):
    states = iter([{Exits("a"): 1, "b": 2}, {Exits("c"): 1, "b": 3}])
    with collect_reports() as reports:
        found = expects(change("rows", lambda: next(states)).adding("b"), on_failure="warn")(
            lambda: "acted"
        )()

    assert found == "acted"
    assert reports[0].outcome in ("fail", "inconclusive")
    assert isinstance(reports[0].explanation, str)


def test_each_reason_has_words_that_quote_no_state():
    assert set(REASONS) == set(get_args(Reason))
    assert all(meaning.sentence for meaning in REASONS.values())


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (TextExits, "TextExits"),
        (TextRaises, "TextRaises"),
        (TextIsNone, "TextIsNone"),
        (ClassRaises, "ClassRaises: said"),
        (NameRaises, "NameRaises: said"),
        (TextIsSly, "TextIsSly: sly"),
        (ValueError, "ValueError: said"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_exception_is_described_by_its_class_and_message(kind, text):
    assert describe(kind("said")) == text


def test_the_text_of_an_object_without_one_is_its_class():
    assert safe_str(TextExits()) == "<TextExits>"
    assert type(safe_str(SlyText("sly"))) is str
