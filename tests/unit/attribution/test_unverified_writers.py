"""A pass that rests on nobody else having been there says so, once for each metric."""

import contextlib
import logging

import pytest

from deltaspan import change, expects, unchanged


@pytest.fixture
def said(caplog):
    caplog.set_level(logging.INFO, "deltaspan")
    return lambda: [record.getMessage() for record in caplog.records]


def adding(check):
    rows = []

    @expects(check(rows))
    def add(tenant="acme"):
        rows.append(1)

    return add


def test_a_pass_by_window_says_who_else_could_have_written_and_the_cure(said):
    adding(lambda rows: change("rows", lambda: len(rows)).by(1))()

    [message] = said()
    assert message == (
        "rows: a change was credited to an action (attribution window) because no other verified action of "
        "this process could have made it. What another process writes, or code that is not verified, would "
        "be credited as well. If others may write there, let the probe take causal_tag and read only rows "
        "that carry it, or hold a lock that they take, too: .exclusively(lock)"
    )


def test_it_is_said_once_for_each_metric(said):
    for name in ("rows", "flows"):
        act = adding(lambda rows, name=name: change(name, lambda tenant: len(rows)).by(1))
        act()
        act()

    assert [message.partition(":")[0] for message in said()] == ["rows", "flows"]


@pytest.mark.parametrize(
    "check",
    [
        lambda rows: change("rows", lambda: len(rows)).by(2),
        lambda rows: unchanged("rows", lambda: 0),
        lambda rows: change("rows", lambda causal_tag: len(rows)).by(1),
        lambda rows: change("rows", lambda: len(rows)).by(1).exclusively(contextlib.nullcontext()),
    ],
    ids=["failed", "unchanged", "by causal tag", "by lock"],
)
def test_nothing_is_said_where_no_change_was_credited_for_want_of_others(check, said):
    adding(check)()

    assert said() == []
