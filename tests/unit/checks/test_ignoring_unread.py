"""Ignored members are neither read nor shown, and cannot make a state incomparable."""

from __future__ import annotations

import asyncio
import random
import re
import threading

import pytest

from deltaspan import Window, change, expects, unchanged, window
from deltaspan._state.snapshot import MAX_NODES, freeze


class Player:
    def __init__(self):
        self._random = random.Random(1)  # noqa: S311  # not for a secret
        self._lock = threading.Lock()
        self.name = "ada"
        self.score = 1


class Node:
    def __init__(self, name, parent=None):
        self.name = name
        self.parent = parent
        self.children = []
        if parent is not None:
            parent.children.append(self)


def tree():
    root = Node("root")
    Node("leaf", root)
    Node("twig", Node("branch", root))
    return root


def judged(check, act=lambda: None):
    with window("act", check) as w:
        act()
    report = w.report[check.metric]
    return report.outcome, report.reason


def test_a_field_that_is_ignored_does_not_refuse_the_state():
    player = Player()
    assert judged(unchanged("player", lambda: player)) == ("inconclusive", "incomparable")
    check = unchanged("player", lambda: player).ignoring("_random", "_lock")
    assert judged(check) == ("pass", None)
    assert judged(check, lambda: setattr(player, "score", 2)) == ("fail", None)


def test_a_cycle_through_an_ignored_path_does_not_refuse_the_state():
    root = tree()
    assert judged(unchanged("tree", lambda: root)) == ("inconclusive", "incomparable")
    check = unchanged("tree", lambda: root).ignoring("**/parent")
    assert judged(check) == ("pass", None)
    assert judged(check, lambda: Node("new", root.children[1])) == ("fail", None)


def test_a_change_is_judged_beside_an_ignored_cycle():
    root = tree()
    check = change("tree", lambda: root).ignoring("**/parent").adding("children/2")
    assert judged(check, lambda: Node("new", root)) == ("pass", None)


def _written(value):
    # The address of a lock differs between the processes that run the tests.
    return re.sub(r"<[^>]*>", "lock", str(value))


@pytest.mark.parametrize(
    ("patterns", "state"),
    [
        (["lock"], {"lock": threading.Lock(), "n": 1}),
        (["l*"], {"lock": threading.Lock(), "n": 1}),
        ([7], {7: threading.Lock(), "n": 1}),
        (["a/lock"], {"a": {"lock": threading.Lock(), "n": 1}}),
        (["*/lock"], {"a": {"lock": threading.Lock()}, "b": {"lock": threading.Lock()}}),
        (["**/lock"], {"a": [{"lock": threading.Lock()}]}),
        (["**/lo*"], {"a": [{"b": {"lock": threading.Lock()}}]}),
        (["**/cache/**"], {"a": {"cache": {"lock": threading.Lock()}}}),
        (["items/1"], {"items": [1, threading.Lock(), 3]}),
        (["**/1"], {"items": [1, threading.Lock(), 3]}),
        (["a/b"], {"a": {"b": {"c": {"lock": threading.Lock()}}}}),
        (["logs/x.lock"], {"logs/x.lock": threading.Lock(), "n": 1}),
        (["logs~1x.lock"], {"logs/x.lock": threading.Lock(), "n": 1}),
        (["**/a/b"], {"n": {"a/b": threading.Lock()}}),
        (["**/lock"], [{"lock": threading.Lock(), "n": 1}]),
        (["**"], {"a": threading.Lock(), 1: threading.Lock()}),
    ],
    ids=_written,
)
def test_members_that_a_pattern_names_are_not_walked(patterns, state):
    assert judged(unchanged("state", lambda: state)) == ("inconclusive", "incomparable")
    assert judged(unchanged("state", lambda: state).ignoring(*patterns)) == ("pass", None)


@pytest.mark.parametrize(
    ("patterns", "state"),
    [
        (["lock"], {"a": {"lock": threading.Lock()}}),
        (["*/lock"], {"lock": threading.Lock()}),
        (["**/lock"], {"a": {"locks": threading.Lock()}}),
        (["1"], {1: threading.Lock()}),
        (["other"], {"lock": threading.Lock()}),
    ],
    ids=_written,
)
def test_an_unfreezable_member_that_no_pattern_names_is_incomparable(patterns, state):
    check = unchanged("state", lambda: state).ignoring(*patterns)
    assert judged(check) == ("inconclusive", "incomparable")


def test_an_item_of_a_sequence_that_is_ignored_leaves_the_index_of_the_others():
    doc = {"items": [1, 2, 3]}
    check = change("doc", lambda: doc).ignoring("items/0").modifying("items/2")

    def act():
        doc["items"][0], doc["items"][2] = 9, 9

    assert judged(check, act) == ("pass", None)


def test_the_states_of_a_report_do_not_show_ignored_members():
    doc = {"title": "a", "secret": "s3cr3t"}
    with window("read", unchanged("doc", lambda: doc).ignoring("secret")) as w:
        pass
    assert w.report["doc"].pre_state == {"title": "a"}
    assert "s3cr3t" not in str(w.report)


def test_ignored_members_do_not_count_towards_the_limit_of_values():
    doc = {"n": 1, "cache": {"cells": list(range(MAX_NODES + 1))}}
    assert judged(unchanged("doc", lambda: doc).ignoring("cache")) == ("pass", None)


def test_ignored_members_are_never_read():
    class Guarded:
        @property
        def __dict__(self):
            raise AssertionError("it was read")

    doc = {"guarded": Guarded(), "n": 1}
    assert judged(unchanged("doc", lambda: doc).ignoring("guarded")) == ("pass", None)


def test_computed_patterns_are_left_out_of_the_delta_alone():
    doc = {"n": 1, "seen": 1}

    @expects(
        unchanged("doc", lambda: doc).ignoring(lambda result: result), on_report=lambda r: reports.append(r)
    )
    def act():
        doc["seen"] = 2
        return "seen"

    reports = []
    act()
    assert reports[0]["doc"].passed
    assert reports[0]["doc"].pre_state == {"n": 1, "seen": 1}


def test_a_written_pattern_beside_a_computed_one_is_not_walked():
    doc = {"lock": threading.Lock(), "seen": 1}

    @expects(
        unchanged("doc", lambda: doc).ignoring("lock", lambda result: result),
        on_failure="raise",
        on_inconclusive="raise",
    )
    def act():
        doc["seen"] = 2
        return "seen"

    assert act() == "seen"


def test_an_end_state_is_compared_without_ignored_members():
    rows = [{"id": 1, "seen": 1}]
    check = change("rows", lambda: rows).to([{"id": 1, "seen": 1}, {"id": 2, "seen": 2}]).ignoring("**/seen")
    assert judged(check, lambda: rows.append({"id": 2, "seen": 99})) == ("pass", None)


def test_an_async_probe_and_one_with_a_timeout_leave_out_ignored_members():
    async def read():
        return {"lock": threading.Lock(), "n": 1}

    @expects(
        unchanged("awaited", read).ignoring("lock"),
        unchanged("limited", lambda: {"lock": threading.Lock(), "n": 1}).ignoring("lock").timeout(5),
        on_failure="raise",
        on_inconclusive="raise",
    )
    async def act():
        return 1

    assert asyncio.run(act()) == 1


def test_a_window_that_is_handed_over_leaves_out_ignored_members():
    def check():
        return unchanged("doc", lambda: {"lock": threading.Lock(), "n": 1}).ignoring("lock")

    w = window("act", check())
    w.capture_baseline()
    assert Window.from_json(w.to_json(), check()).verify()["doc"].passed


def test_a_snapshot_without_pruning_keeps_everything():
    assert freeze({"items": [1, {"a": 1}]}) == {"items": (1, {"a": 1})}
