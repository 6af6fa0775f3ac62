"""Computed operands that a tool chose: they widen nothing, whatever their classes say."""

import datetime as dt
import ipaddress
import uuid
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath

import pytest

from deltaspan import change, collect_reports, expects
from deltaspan.exceptions import DefinitionValueError
from support.lies import Lies


class LyingText(Lies, str):
    __slots__ = ()


class LyingInt(Lies, int):
    __slots__ = ()


class LyingDecimal(Lies, Decimal):
    __slots__ = ()


class LyingType(type):
    """The class of a class that says it is `str`."""

    def __eq__(cls, other):
        return True

    def __hash__(cls):
        return hash(str)


class OfLyingType(Lies, metaclass=LyingType):
    pass


class LyingZone(Lies, dt.tzinfo):
    def utcoffset(self, moment):
        return dt.timedelta(hours=1)


def _judge(check, result, act=lambda: None):
    with collect_reports() as reports:

        @expects(check)
        def tool():
            act()
            return result

        tool()
    return reports[0]


keys = pytest.mark.parametrize("key", [LyingText("z"), LyingInt(3), LyingDecimal(3), Lies(), OfLyingType()])


@keys
def test_a_computed_amount_under_a_key_that_equals_any_key_is_no_amount_of_that_key(key):
    stock = {"a": 1}
    report = _judge(
        change("stock", lambda: stock).by(lambda result: result), {key: 1}, lambda: stock.update(a=2)
    )
    assert report.outcome in ("fail", "inconclusive")


@keys
def test_a_computed_state_with_a_member_that_equals_anything_is_another_state(key):
    for state, result in (({"a"}, {key}), ({"a": 1}, {key: 1}), ([("a",)], [{(key,)}])):
        check = change("state", lambda state=state: state).ending_at(lambda result: result)
        assert not _judge(check, result).passed


@keys
def test_a_computed_member_that_equals_anything_is_another_member(key):
    tenants = set()
    check = change("tenants", lambda: tenants).adding(lambda result: result)
    assert not _judge(check, [key], lambda: tenants.add("a")).passed


def _uuid():
    made = uuid.UUID(int=3)
    object.__setattr__(made, "int", LyingInt(3))
    return made


def _fraction():
    made = Fraction(1, 2)
    made._numerator, made._denominator = LyingInt(3), LyingInt(1)
    return made


def _address():
    made = ipaddress.IPv4Address(3)
    made._ip = LyingInt(3)
    return made


@pytest.mark.parametrize(
    ("result", "state"),
    [
        (_uuid(), uuid.UUID(int=9)),
        (_fraction(), Fraction(1, 7)),
        (_address(), ipaddress.IPv4Address(9)),
        (dt.time(1, tzinfo=LyingZone()), dt.time(2, tzinfo=LyingZone())),
        (PurePosixPath("z"), PurePosixPath("a")),
    ],
)
def test_a_value_of_the_library_made_of_lying_parts_is_another_state(result, state):
    assert not _judge(change("state", lambda: state).ending_at(lambda result: result), result).passed
    check = change("state", lambda: [state]).ending_at(lambda result: [result])
    assert not _judge(check, result).passed


@dataclass(frozen=True)
class Place:
    name: str


def test_a_computed_member_of_a_class_that_compares_itself_is_inconclusive():
    places = {Place("a")}
    check = change("places", lambda: places).ending_at(lambda result: result)
    report = _judge(check, {Place(LyingText("z"))})
    assert (report.outcome, report["places"].reason) == ("inconclusive", "expectation_failed")
    assert "whose class says what it equals" in report.explanation


def test_plain_members_of_a_result_are_compared_as_before():
    tenants, stock = set(), {"a": 1}
    assert _judge(
        change("tenants", lambda: tenants).ending_at(lambda result: result),
        {("a", 1)},
        lambda: tenants.add(("a", 1)),
    ).passed
    assert _judge(
        change("stock", lambda: stock).by(lambda result: result), {"a": 2}, lambda: stock.update(a=3)
    ).passed


INFINITE = [float("inf"), float("-inf"), float("nan"), Decimal("Infinity"), Decimal("NaN"), Decimal("sNaN")]


@pytest.mark.parametrize("bound", INFINITE, ids=repr)
@pytest.mark.parametrize(
    "word",
    [
        lambda check, bound: check.by(1, tolerance=bound),
        lambda check, bound: check.by_at_least(bound),
        lambda check, bound: check.by_at_most(bound),
        lambda check, bound: check.by_between(-1, bound),
        lambda check, bound: check.by_between(bound, 1),
        lambda check, bound: check.increasing(at_most=bound),
        lambda check, bound: check.increasing(at_least=1, tolerance=bound),
        lambda check, bound: check.decreasing(at_most=bound),
    ],
)
def test_an_infinite_bound_is_no_bound(word, bound):
    balance = [10]
    check = change("balance", lambda: balance[0])
    with pytest.raises(DefinitionValueError):
        word(check, bound)
    report = _judge(word(check, lambda result: result), bound, lambda: balance.append(balance.pop() + 5))
    assert (report.outcome, report["balance"].reason) == ("inconclusive", "expectation_failed")


@pytest.mark.parametrize("tolerance", INFINITE, ids=repr)
def test_an_infinite_tolerance_of_amounts_by_key_is_no_tolerance(tolerance):
    stock = {"a": 1}
    check = change("stock", lambda: stock)
    with pytest.raises(DefinitionValueError):
        check.by({"a": 1}, tolerance=tolerance)
    computed = check.by({"a": 1}, tolerance=lambda result: result)
    assert _judge(computed, tolerance, lambda: stock.update(a=9)).outcome == "inconclusive"
