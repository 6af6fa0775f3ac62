from __future__ import annotations

import sys
from contextlib import suppress
from contextvars import copy_context
from types import MappingProxyType

import pytest

from deltaspan import change, collect_reports, expects, unchanged, window
from deltaspan._state.codec import Unwritable, decode, encode
from deltaspan._state.diff import difference, equal, identity
from deltaspan._state.render._render import plain, show, wire
from deltaspan._state.snapshot import Path, Unfreezable, freeze

LIMIT = sys.getrecursionlimit()
DEPTHS = range(LIMIT - 300, LIMIT)
LEVELS = 60


def nested(innermost=1):
    document = {"innermost": innermost}
    for _ in range(LEVELS):
        document = {"below": document, "beside": [1]}
    return document


def depth_here():
    frame, depth = sys._getframe(1), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth


def call_at(frames, function):
    return function() if frames <= 0 else call_at(frames - 1, function)


def answers(function):
    """Call a function at each depth near the limit, and return what it answered where it answered."""
    here = depth_here()
    found = []
    for depth in DEPTHS:
        with suppress(RecursionError, Unfreezable, Unwritable):
            # A run that has no stack left leaves its context to the next run, which may be another test's.
            found.append(copy_context().run(call_at, depth - here, function))
    assert len(found) < len(DEPTHS), "the stack had room at every depth, so nothing was tested"
    return found


def test_an_unchanged_document_near_the_recursion_limit_is_never_judged_wrongly():
    @expects(change("claimed", nested), unchanged("kept", nested))
    def act():
        return None

    def run():
        with collect_reports() as reports:
            act()
        return [(check.outcome, check.reason) for check in reports[0]]

    right = [("fail", None), ("pass", None)]
    unknown = [("inconclusive", "incomparable")] * 2
    found = answers(run)
    assert [verdicts for verdicts in found if verdicts not in (right, unknown)] == []
    assert right in found
    assert unknown in found


def test_a_changed_document_near_the_recursion_limit_is_never_judged_wrongly():
    state = [nested(1)]

    @expects(change("claimed", lambda: state[0]), unchanged("kept", lambda: state[0]))
    def act():
        state[0] = nested(2)

    def run():
        state[0] = nested(1)
        with collect_reports() as reports:
            act()
        return [(check.outcome, check.reason) for check in reports[0]]

    right = [("pass", None), ("fail", None)]
    unknown = [("inconclusive", "incomparable")] * 2
    found = answers(run)
    assert [verdicts for verdicts in found if verdicts not in (right, unknown)] == []
    assert unknown in found


def test_a_state_that_the_stack_has_no_room_for_says_so():
    @expects(unchanged("kept", nested))
    def act():
        return None

    def run():
        with collect_reports() as reports:
            act()
        return reports[0]["kept"]

    found = [report for report in answers(run) if report.outcome == "inconclusive"]
    assert all("the stack" in report.explanation for report in found)


@pytest.mark.parametrize(
    ("compare", "right"),
    [
        (lambda one, other: equal(one, other), True),
        (lambda one, other: difference(one, other).changed, False),
        (lambda one, other: identity(one) == identity(other), True),
        (lambda one, other: equal(decode(encode(one)), other), True),
    ],
    ids=["equal", "difference", "identity", "encoding"],
)
def test_comparing_near_the_recursion_limit_is_right_or_raises(compare, right):
    one, other = freeze(nested()), freeze(nested())

    def run():
        try:
            return compare(one, other)
        except ValueError as error:  # the text may be refused
            assert "RecursionError" in str(error)  # noqa: PT017  # or it answered
            return right

    found = answers(run)
    assert set(found) == {right}


def test_a_snapshot_near_the_recursion_limit_is_whole_or_refused():
    live = nested()
    whole = freeze(live)
    found = answers(lambda: freeze(live))
    assert all(equal(snapshot, whole) for snapshot in found)


@pytest.mark.parametrize("render", [show, plain, lambda state: wire(state, 1024)])
def test_rendering_near_the_recursion_limit_gives_text_or_raises(render):
    state = freeze(nested())
    assert all(found is not None for found in answers(lambda: render(state)))


def test_a_type_first_seen_near_the_recursion_limit_is_read_normally_afterwards():
    def fresh():
        return type("Order", (), {"__init__": lambda self: setattr(self, "total", 1)})()

    seen = []

    def run():
        order = fresh()
        seen.append(order)
        return freeze(order)

    answers(run)
    assert [freeze(order)["total"] for order in seen] == [1] * len(seen)


class Endless:
    def __hash__(self):
        return 1

    def __eq__(self, other):
        return self == other


class Greedy(Endless):
    __hash__ = Endless.__hash__

    def __eq__(self, other):
        raise MemoryError


@pytest.mark.parametrize("kind", [Endless, Greedy])
@pytest.mark.parametrize("held", [lambda key: {key}, lambda key: {key: 1}, lambda key: {"below": {key: 1}}])
def test_members_whose_comparison_exhausts_the_stack_or_the_memory_are_incomparable(kind, held):
    check, opposite = change("a", lambda: held(kind())), unchanged("b", lambda: held(kind()))
    with window("act", check, opposite) as w:
        pass
    assert [(report.outcome, report.reason) for report in w.report] == [("inconclusive", "incomparable")] * 2


def test_a_computed_value_that_recurses_without_end_is_the_fault_of_the_expectation():
    def endless():
        return endless()

    with window("act", change("n", lambda: 1).by(endless)) as w:
        pass
    assert w.report["n"].reason == "expectation_failed"


def test_a_path_is_never_named_wrongly_for_want_of_stack():
    class Key:
        def __str__(self):
            return call_at(LIMIT, lambda: "key")

    with pytest.raises(RecursionError):
        Path((Key(),)).text  # noqa: B018  # the property computes


def test_frozen_documents_of_the_greatest_depth_are_equal_at_an_ordinary_depth():
    assert isinstance(freeze(nested()), MappingProxyType)
    assert equal(freeze(nested()), freeze(nested()))
