"""Who descends from a run: known while a window asks for it, forgotten when it closes."""

import asyncio
import gc
import os
import threading

import pytest

from deltaspan import (
    Window,
    adopt,
    causal_headers,
    change,
    collect_reports,
    current_causal_tag,
    expects,
    observe,
    tagged,
    window,
)
from deltaspan.causal_tag import mint
from deltaspan.causal_tag._descendants import trackers_by_run
from deltaspan.exceptions import DefinitionValueError

ELSEWHERE = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"


class Table:
    def __init__(self):
        self.rows = []

    def add(self, tag=None, root=None):
        self.rows.append({"id": len(self.rows), "tag": tag or current_causal_tag(), "root": root})

    def check(self, **options):
        return change("rows", tagged(lambda: self.rows, key="id", tag="tag", **options))


@pytest.fixture
def table():
    yield Table()
    assert not trackers_by_run


@pytest.fixture
def nested(table):
    """An action within an action within whatever calls it, each of which adds a row."""

    @expects(observe("n", lambda: 0))
    def inner():
        table.add()

    @expects(observe("n", lambda: 0))
    def outer():
        inner()
        table.add()

    return outer


def test_rows_of_actions_within_an_action_are_its_own(table, nested):
    with window("w", table.check().by(3)) as w:
        table.add()
        nested()
    assert w.report["rows"].passed, w.report["rows"].explanation


def test_rows_of_a_sibling_are_anothers(table, nested):
    with window("w", table.check().by(1)) as w:
        table.add()
        thread = threading.Thread(target=nested)  # without the context, so that it is an outermost action
        thread.start()
        thread.join()
    assert (w.report["rows"].actual_delta, w.report["rows"].others) == (1, 2)


def test_rows_of_the_caller_are_anothers_to_the_action_within(table):
    with window("outer", observe("n", lambda: 0)), window("w", table.check().by(1)) as w:
        table.add()
        table.add(tag=w.causal_headers()["baggage"].split("root_id=")[1][:36])
    assert (w.report["rows"].actual_delta, w.report["rows"].others) == (1, 1)


def test_two_windows_within_each_other_know_the_same_descendants(table, nested):
    with window("outer", table.check().by(2)) as outer, window("w", table.check().by(2)) as w:
        nested()
    assert (outer.report["rows"].outcome, w.report["rows"].outcome) == ("pass", "pass")


def test_what_took_up_the_headers_of_a_window_by_hand_descends_from_it(table, nested):
    w = window("w", table.check().by(2))
    w.capture_baseline()
    with adopt(w.causal_headers()):
        nested()
    assert w.verify()["rows"].passed


def test_a_run_that_another_process_called_is_known_by_the_root(table, nested):
    """Of the process between there is no trace here but the tag that it gave on."""
    with window("w", table.check().by(2)) as w:
        root = current_causal_tag()
        headers = {"baggage": f"delta.causal_tag.id={ELSEWHERE},delta.causal_tag.root_id={root}"}

        def serve():
            with adopt(headers):
                nested()

        thread = threading.Thread(target=serve)
        thread.start()
        thread.join()
    assert w.report["rows"].passed, w.report["rows"].explanation


def test_a_run_of_another_process_is_known_by_the_root_that_its_rows_carry(table):
    with window("w", table.check(root="root").by(1)) as w:
        table.add(tag=ELSEWHERE, root=current_causal_tag())
    assert w.report["rows"].passed


def test_a_run_of_another_process_without_the_root_is_anothers(table):
    with window("w", table.check().by(1)) as w:
        table.add(tag=ELSEWHERE)
    assert (w.report["rows"].outcome, w.report["rows"].others) == ("fail", 1)


async def test_tasks_that_descend_from_a_run_are_its_own(table):
    @expects(observe("n", lambda: 0))
    async def inner():
        await asyncio.sleep(0)
        table.add()

    async with window("w", table.check().by(20)) as w:
        await asyncio.gather(*[inner() for _ in range(20)])
    assert w.report["rows"].passed


# What is kept ----------------------------------------------------------------------------------------------


def test_nothing_is_kept_of_runs_that_no_check_on_rows_asks_about(nested):
    with window("w", change("n", lambda: 0)):
        nested()
        assert not trackers_by_run


def test_what_is_kept_is_kept_as_long_as_the_window_is_open(table, nested):
    with window("w", table.check().by(2)):
        nested()
        assert len(trackers_by_run) == 3
    assert not trackers_by_run


def test_what_the_inner_window_asked_for_is_kept_for_the_outer_one(table, nested):
    with window("outer", table.check()):
        with window("w", table.check()):
            nested()
        assert len(trackers_by_run) == 4
    assert not trackers_by_run


def test_nothing_is_kept_of_a_run_whose_baseline_was_interrupted(table):
    def interrupted():
        raise KeyboardInterrupt

    check = change("rows", tagged(interrupted, key="id", tag="tag"))
    with pytest.raises(KeyboardInterrupt), window("w", check):
        pass
    assert not trackers_by_run


def test_nothing_is_kept_of_a_window_that_nobody_verified(table, nested):
    w = window("w", table.check())
    with collect_reports() as reports:
        w.capture_baseline()
        with adopt(w.causal_headers()):
            nested()
        del w
        gc.collect()
        for _ in range(100):
            if not trackers_by_run:
                break
            threading.Event().wait(0.02)
    assert not trackers_by_run
    assert reports is not None


def test_nothing_is_kept_of_a_run_that_was_sampled_out(table):
    with window("w", table.check().sampled(0)) as w:
        assert not trackers_by_run
    assert w.report["rows"].outcome == "skipped"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_begins_with_nothing(table):
    with window("w", table.check()):
        child = os.fork()
        if not child:
            os._exit(len(trackers_by_run))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(trackers_by_run) == 1


def test_minting_a_tag_outside_of_any_run_does_not_look(table, monkeypatch):
    from opentelemetry.context import Context  # noqa: PLC0415  # only here

    monkeypatch.setattr("deltaspan.causal_tag._context.register_run", None)
    with window("w", table.check()):
        assert mint(Context()).parent_id is None


# Handed over -----------------------------------------------------------------------------------------------


def test_a_window_that_is_handed_over_takes_its_descendants_with_it(table, nested):
    here = window("w", table.check().by(3))
    here.capture_baseline()
    with adopt(here.causal_headers()):
        nested()
    text = here.to_json(key="secret")
    assert not trackers_by_run

    there = Window.from_json(text, table.check().by(3), key="secret")
    with adopt(there.causal_headers()):
        table.add()
    table.add(tag="theirs")
    check = there.verify()["rows"]
    assert (check.outcome, check.actual_delta, check.others) == ("pass", 3, 1)


def test_the_keys_and_roots_of_rows_survive_being_handed_over(table):
    table.rows = [{"id": (1, "a"), "tag": ELSEWHERE, "root": None}]
    here = window("w", table.check(root="root").by(0))
    here.capture_baseline()
    there = Window.from_json(here.to_json(), table.check(root="root").by(0))

    assert there.verify()["rows"].passed


def test_a_baseline_that_is_not_of_tagged_rows_has_no_verdict(table):
    here = window("w", change("rows", lambda: 3).by(1))
    here.capture_baseline()
    there = Window.from_json(here.to_json(), table.check().by(1))

    check = there.verify()["rows"]
    assert (check.outcome, check.reason) == ("inconclusive", "incomparable")
    assert check.explanation == (
        "rows: the two states are not both of tagged rows (3 → {}); read them with the same tagged() probe"
    )


def test_a_descendant_that_is_no_tag_is_refused(table):
    from deltaspan._engine._handoff_format import sign, verify_and_load  # noqa: PLC0415  # to make what nobody else would

    here = window("w", table.check().by(1))
    here.capture_baseline()
    content = verify_and_load(here.to_json(), None)
    content["checks"][0]["descendants"] = ["anything"]
    with pytest.raises(DefinitionValueError, match="never writes such a content"):
        Window.from_json(sign(content, None), table.check().by(1))


def test_headers_within_an_action_make_what_takes_them_up_its_own(table):
    @expects(table.check().by(1))
    def act():
        headers = causal_headers()

        def elsewhere():
            with adopt(headers), window("inner", observe("n", lambda: 0)):
                table.add()

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()

    with collect_reports() as reports:
        act()
    assert reports[-1]["rows"].passed
