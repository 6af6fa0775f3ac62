"""Runs that descend from a run: their rows are its own, here and from other processes."""

import asyncio
import gc
import os
import threading
from functools import partial

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
    unchanged,
    window,
)
from deltaspan.causal_tag import current_causal_root, mint
from deltaspan.causal_tag._descendants import DescendantTracker
from deltaspan.exceptions import DefinitionValueError
from support.overlapping import run_in_threads
from support.process import tracked_roots, tracked_runs
from support.reports import reports_of
from support.waiting import wait_until

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
    assert not tracked_runs()


@pytest.fixture
def nested(table):
    """An action within an action within the caller, each of which adds a row."""

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
        run_in_threads(nested)  # without the context, so that it is an outermost action
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


def test_a_run_that_adopts_the_headers_of_a_window_descends_from_it(table, nested):
    w = window("w", table.check().by(2))
    w.capture_baseline()
    with adopt(w.causal_headers()):
        nested()
    assert w.verify()["rows"].passed


def test_a_run_that_another_process_called_is_known_by_the_root(table, nested):
    """The process between them is known here only by the tag that it passed on."""
    with window("w", table.check().by(2)) as w:
        root = current_causal_tag()
        headers = {"baggage": f"deltaspan.causal_tag.id={ELSEWHERE},deltaspan.causal_tag.root_id={root}"}

        def serve():
            with adopt(headers):
                nested()

        run_in_threads(serve)
    assert w.report["rows"].passed, w.report["rows"].explanation


def test_a_run_of_another_process_is_known_by_the_root_that_its_rows_carry(table):
    with window("w", table.check(root="root").by(1)) as w:
        table.add(tag=ELSEWHERE, root=current_causal_tag())
    assert w.report["rows"].passed


def test_a_row_of_another_process_without_the_root_belongs_to_others(table):
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


# Tracked runs ----------------------------------------------------------------------------------------------


def test_no_run_is_tracked_without_a_check_on_tagged_rows(nested):
    with window("w", change("n", lambda: 0)):
        nested()
        assert not tracked_runs()


def test_descendants_are_kept_as_long_as_the_window_is_open(table, nested):
    with window("w", table.check().by(2)):
        nested()
        assert len(tracked_runs()) == 3
    assert not tracked_runs()


def test_descendants_that_the_inner_window_tracks_are_kept_for_the_outer_one(table, nested):
    with window("outer", table.check()):
        with window("w", table.check()):
            nested()
        assert len(tracked_runs()) == 4
    assert not tracked_runs()


def test_no_run_is_tracked_after_an_interrupted_baseline(table):
    def interrupted():
        raise KeyboardInterrupt

    check = change("rows", tagged(interrupted, key="id", tag="tag"))
    with pytest.raises(KeyboardInterrupt), window("w", check):
        pass
    assert not tracked_runs()


def test_no_run_is_tracked_for_a_window_that_was_never_verified(table, nested):
    w = window("w", table.check())
    with collect_reports() as reports:
        w.capture_baseline()
        with adopt(w.causal_headers()):
            nested()
        del w
        gc.collect()
        wait_until(lambda: not tracked_runs())
    assert reports is not None


def test_no_run_is_tracked_if_it_was_sampled_out(table):
    with window("w", table.check().sampled(0)) as w:
        assert not tracked_runs()
    assert w.report["rows"].outcome == "skipped"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_tracks_no_runs(table):
    with window("w", table.check()):
        child = os.fork()
        if not child:
            os._exit(len(tracked_runs()))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(tracked_runs()) == 1


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
    assert not tracked_runs()

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


def test_a_descendant_that_is_not_a_tag_is_refused(table):
    from deltaspan._engine._handoff_format import sign, verify_and_load  # noqa: PLC0415  # to forge a document

    here = window("w", table.check().by(1))
    here.capture_baseline()
    content = verify_and_load(here.to_json(), None)
    content["checks"][0]["descendants"] = ["anything"]
    with pytest.raises(DefinitionValueError, match="never writes such a content"):
        Window.from_json(sign(content, None), table.check().by(1))


def test_a_run_that_adopts_headers_of_an_action_is_its_own(table):
    @expects(table.check().by(1))
    def act():
        headers = causal_headers()

        def elsewhere():
            with adopt(headers), window("inner", observe("n", lambda: 0)):
                table.add()

        run_in_threads(elsewhere)

    reports = reports_of(act)
    assert reports[-1]["rows"].passed


# Runs of other processes below one outermost run --------------------------------------------------------


CONTENDED = ("inconclusive", "contended")


class RootedTable:
    def __init__(self):
        self.rows = []
        self.probe = tagged(lambda: list(self.rows), key="id", tag="tag", root="root")

    def add(self, tag=None, root=None, key=None):
        stamp = {"tag": tag or current_causal_tag(), "root": root or current_causal_root()}
        self.rows.append({"id": len(self.rows) if key is None else key, **stamp})


@pytest.fixture
def rooted_table():
    yield RootedTable()
    assert not tracked_roots()


def nested_check(check, act):
    """Return the check of a window within another, in which `act` took place."""
    with window("outermost", observe("n", lambda: 0)), window("w", check) as w:
        act()
    return w.report["rows"]


def came_to(check):
    return check.outcome, check.reason


def worker(rooted_table):
    """Stamp as a process would that took up the headers of the run: a tag of its own, and the root."""
    rooted_table.add(tag=ELSEWHERE)


# A run of another process ----------------------------------------------------------------------------------


def test_unchanged_has_no_verdict_on_rows_of_an_unknown_process_of_this_run(rooted_table):
    check = nested_check(unchanged("rows", rooted_table.probe), lambda: worker(rooted_table))

    assert came_to(check) == CONTENDED
    assert (check.others["added"], len(check.untagged["added"])) == ({}, 1)
    assert check.explanation.endswith(
        "added row 0 by a process of this run that this one does not know, so this action may have done "
        "that; none by this run, "
        "1 untagged: 1 of this run, by a process that this one does not know"
    )


def test_a_claim_does_not_fail_that_it_may_have_met(rooted_table):
    check = nested_check(change("rows", rooted_table.probe).by(1), lambda: worker(rooted_table))

    assert came_to(check) == CONTENDED
    assert "put the check on the outermost action, which owns every row with its root" in check.explanation
    assert "did the stamp run" not in check.explanation


def test_a_claim_fails_that_it_cannot_have_met(rooted_table):
    assert (
        nested_check(change("rows", rooted_table.probe).by(2), lambda: worker(rooted_table)).outcome == "fail"
    )


def test_a_number_passes_on_known_rows_and_tells_the_rest(rooted_table):
    def act():
        rooted_table.add()
        worker(rooted_table)

    check = nested_check(change("rows", rooted_table.probe).by(1), act)

    assert check.passed
    assert check.explanation.endswith(
        "; 1 added by this run, 1 untagged: 1 of this run, by a process that this one does not know"
    )


def test_a_claim_of_no_other_change_is_inconclusive(rooted_table):
    def act():
        rooted_table.add()
        worker(rooted_table)

    assert came_to(nested_check(change("rows", rooted_table.probe).adding(0), act)) == CONTENDED


def test_a_row_that_such_a_process_took_over_is_in_doubt_too(rooted_table):
    rooted_table.rows = [{"id": 0, "tag": "theirs", "root": None}]

    def act():
        rooted_table.rows.clear()
        worker(rooted_table)

    assert came_to(nested_check(change("rows", rooted_table.probe).modifying(0), act)) == CONTENDED


def test_a_row_of_another_outermost_run_belongs_to_others(rooted_table):
    check = nested_check(
        change("rows", rooted_table.probe).by(1), lambda: rooted_table.add(tag=ELSEWHERE, root=ELSEWHERE)
    )

    assert (check.outcome, len(rooted_table.rows), check.others) == ("fail", 1, 1)


def test_a_row_of_a_descendant_belongs_to_the_outermost_run(rooted_table):
    with window("w", change("rows", rooted_table.probe).by(1)) as w:
        worker(rooted_table)

    assert w.report["rows"].passed


def test_a_run_that_came_back_through_an_unknown_process_is_in_doubt(rooted_table):
    @expects(observe("n", lambda: 0))
    def back():
        rooted_table.add()

    def act():
        root = current_causal_root()
        with adopt({"baggage": f"deltaspan.causal_tag.id={ELSEWHERE},deltaspan.causal_tag.root_id={root}"}):
            back()

    assert came_to(nested_check(unchanged("rows", rooted_table.probe), act)) == CONTENDED


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("within", [True, False], ids=["nested", "outermost"])
def test_an_action_of_a_forked_child_is_recognized_only_by_the_root(rooted_table, within):
    def act():
        read, write = os.pipe()
        child = os.fork()
        if not child:
            with window("child", observe("n", lambda: 0)):
                os.write(write, f"{current_causal_tag()}{current_causal_root()}".encode())
            os._exit(0)
        os.waitpid(child, 0)
        said = os.read(read, 72).decode()
        os.close(read)
        os.close(write)
        rooted_table.add(tag=said[:36], root=said[36:])

    check = change("rows", rooted_table.probe).by(1)
    if within:
        assert came_to(nested_check(check, act)) == CONTENDED
        return
    with window("w", check) as w:
        act()
    assert w.report["rows"].passed


# A run of this process -------------------------------------------------------------------------------------


def test_a_row_of_the_caller_belongs_to_others(rooted_table):
    check = change("rows", rooted_table.probe).by(0)
    with window("outermost", observe("n", lambda: 0)) as outermost, window("w", check) as w:
        rooted_table.add(tag=outermost.causal_tag)

    assert (w.report["rows"].outcome, w.report["rows"].others) == ("pass", 1)


def test_a_row_of_a_concurrent_run_belongs_to_others(rooted_table):
    """The other run began in another thread while the window was open, with headers."""
    reports = []

    @expects(observe("n", lambda: 0))
    def beside(headers):
        rooted_table.add()

    def taking_up(headers):
        with adopt(headers):
            beside(headers)

    with window("outermost", observe("n", lambda: 0)):
        headers = causal_headers()
        with window("w", change("rows", rooted_table.probe).by(1)) as w:
            run_in_threads(partial(taking_up, headers))
        reports.append(w.report["rows"])

    assert (reports[0].outcome, reports[0].others) == ("fail", 1)


def test_each_of_many_writers_below_one_run_is_distinguished_from_the_others(rooted_table):
    barrier = threading.Barrier(8)
    found = {}

    def write(headers, n):
        with adopt(headers), window("w", change("rows", rooted_table.probe).by(1)) as w:
            barrier.wait(30)
            for _ in range(n):
                rooted_table.rows.append(
                    {"id": object(), "tag": current_causal_tag(), "root": current_causal_root()}
                )
            barrier.wait(30)
        found[n, w.causal_tag] = w.report["rows"]

    with window("outermost", observe("n", lambda: 0)):
        headers = causal_headers()
        run_in_threads(*[partial(write, headers, n) for n in (0, 2, 1, 1, 1, 1, 1, 1)])

    assert {(n, check.outcome, check.untagged) for (n, _), check in found.items()} == {
        (0, "fail", 0),
        (1, "pass", 0),
        (2, "fail", 0),
    }


def test_a_run_below_a_concurrent_run_is_concurrent_too():
    kin = DescendantTracker("me", root="root", above=["caller", "root"])
    kin.use_parents({"sibling": "caller", "its child": "sibling", "astray": "unknown"})

    assert kin.is_ours("its child", "root") is False
    assert kin.is_ours("astray", "root") is None
    assert kin.is_ours("me", "root") is True


def test_a_descendant_that_was_not_yet_tracked_is_own():
    kin = DescendantTracker("me", root="root", above=["root"])
    kin.use_parents({"my child": "me", "its child": "my child"})

    assert kin.is_ours("its child", "root") is True


def test_a_cycle_of_parents_has_no_known_owner():
    kin = DescendantTracker("me", root="root")
    kin.use_parents({"one": "two", "two": "one"})

    assert kin.is_ours("one", "root") is None
