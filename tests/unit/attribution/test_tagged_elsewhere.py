"""Rows of this outermost run, seen from a run that is not the outermost: known here, or by nobody here."""

import os
import threading

import pytest

from deltaspan import (
    adopt,
    causal_headers,
    change,
    current_causal_tag,
    expects,
    observe,
    tagged,
    unchanged,
    window,
)
from deltaspan.causal_tag import current_causal_root
from deltaspan.causal_tag._descendants import DescendantTracker
from support.process import tracked_roots

ELSEWHERE = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"
CONTENDED = ("inconclusive", "contended")


class Table:
    def __init__(self):
        self.rows = []
        self.probe = tagged(lambda: list(self.rows), key="id", tag="tag", root="root")

    def add(self, tag=None, root=None, key=None):
        stamp = {"tag": tag or current_causal_tag(), "root": root or current_causal_root()}
        self.rows.append({"id": len(self.rows) if key is None else key, **stamp})


@pytest.fixture
def table():
    yield Table()
    assert not tracked_roots()


def nested(check, act):
    """Return the check of a window within another, in which `act` took place."""
    with window("outermost", observe("n", lambda: 0)), window("w", check) as w:
        act()
    return w.report["rows"]


def came_to(check):
    return check.outcome, check.reason


def worker(table):
    """Stamp as a process would that took up the headers of the run: a tag of its own, and the root."""
    table.add(tag=ELSEWHERE)


# A run of another process ----------------------------------------------------------------------------------


def test_unchanged_has_no_verdict_on_what_an_unknown_process_of_this_run_wrote(table):
    check = nested(unchanged("rows", table.probe), lambda: worker(table))

    assert came_to(check) == CONTENDED
    assert (check.others["added"], len(check.untagged["added"])) == ({}, 1)
    assert check.explanation.endswith(
        "added row 0 by a process of this run that this one does not know, so this action may have done "
        "that; none by this run, "
        "1 untagged: 1 of this run, by a process that this one does not know"
    )


def test_a_claim_does_not_fail_that_it_may_have_met(table):
    check = nested(change("rows", table.probe).by(1), lambda: worker(table))

    assert came_to(check) == CONTENDED
    assert "put the check on the outermost action, whose own every row with its root is" in check.explanation
    assert "did the stamp run" not in check.explanation


def test_a_claim_fails_that_it_cannot_have_met(table):
    assert nested(change("rows", table.probe).by(2), lambda: worker(table)).outcome == "fail"


def test_a_number_passes_on_what_is_known_and_tells_the_rest(table):
    def act():
        table.add()
        worker(table)

    check = nested(change("rows", table.probe).by(1), act)

    assert check.passed
    assert check.explanation.endswith(
        "; 1 added by this run, 1 untagged: 1 of this run, by a process that this one does not know"
    )


def test_a_claim_that_nothing_else_changes_has_no_verdict(table):
    def act():
        table.add()
        worker(table)

    assert came_to(nested(change("rows", table.probe).adding(0), act)) == CONTENDED


def test_a_row_that_such_a_process_took_over_is_in_doubt_too(table):
    table.rows = [{"id": 0, "tag": "theirs", "root": None}]

    def act():
        table.rows.clear()
        worker(table)

    assert came_to(nested(change("rows", table.probe).modifying(0), act)) == CONTENDED


def test_a_row_of_another_outermost_run_is_anothers(table):
    check = nested(change("rows", table.probe).by(1), lambda: table.add(tag=ELSEWHERE, root=ELSEWHERE))

    assert (check.outcome, len(table.rows), check.others) == ("fail", 1, 1)


def test_to_the_outermost_run_it_is_its_own(table):
    with window("w", change("rows", table.probe).by(1)) as w:
        worker(table)

    assert w.report["rows"].passed


def test_a_run_that_came_back_through_an_unknown_process_is_in_doubt(table):
    @expects(observe("n", lambda: 0))
    def back():
        table.add()

    def act():
        root = current_causal_root()
        with adopt({"baggage": f"delta.causal_tag.id={ELSEWHERE},delta.causal_tag.root_id={root}"}):
            back()

    assert came_to(nested(unchanged("rows", table.probe), act)) == CONTENDED


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("within", [True, False], ids=["nested", "outermost"])
def test_an_action_of_a_forked_child_is_known_by_the_root_alone(table, within):
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
        table.add(tag=said[:36], root=said[36:])

    check = change("rows", table.probe).by(1)
    if within:
        assert came_to(nested(check, act)) == CONTENDED
        return
    with window("w", check) as w:
        act()
    assert w.report["rows"].passed


# A run of this process -------------------------------------------------------------------------------------


def test_a_row_of_the_caller_is_anothers(table):
    check = change("rows", table.probe).by(0)
    with window("outermost", observe("n", lambda: 0)) as outermost, window("w", check) as w:
        table.add(tag=outermost.causal_tag)

    assert (w.report["rows"].outcome, w.report["rows"].others) == ("pass", 1)


def test_a_row_of_a_run_beside_it_is_anothers(table):
    """Which began while the window was open, in another thread, with headers."""
    reports = []

    @expects(observe("n", lambda: 0))
    def beside(headers):
        table.add()

    def taking_up(headers):
        with adopt(headers):
            beside(headers)

    with window("outermost", observe("n", lambda: 0)):
        headers = causal_headers()
        with window("w", change("rows", table.probe).by(1)) as w:
            thread = threading.Thread(target=taking_up, args=[headers])
            thread.start()
            thread.join()
        reports.append(w.report["rows"])

    assert (reports[0].outcome, reports[0].others) == ("fail", 1)


def test_each_of_many_writers_below_one_run_is_told_from_the_others(table):
    barrier = threading.Barrier(8)
    found = {}

    def write(headers, n):
        with adopt(headers), window("w", change("rows", table.probe).by(1)) as w:
            barrier.wait(30)
            for _ in range(n):
                table.rows.append(
                    {"id": object(), "tag": current_causal_tag(), "root": current_causal_root()}
                )
            barrier.wait(30)
        found[n, w.causal_tag] = w.report["rows"]

    with window("outermost", observe("n", lambda: 0)):
        headers = causal_headers()
        threads = [threading.Thread(target=write, args=[headers, n]) for n in (0, 2, 1, 1, 1, 1, 1, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert {(n, check.outcome, check.untagged) for (n, _), check in found.items()} == {
        (0, "fail", 0),
        (1, "pass", 0),
        (2, "fail", 0),
    }


def test_a_run_below_one_that_is_known_to_be_beside_it_is_beside_it_too():
    kin = DescendantTracker("me", root="root", above=["caller", "root"])
    kin.use_parents({"sibling": "caller", "its child": "sibling", "astray": "unknown"})

    assert kin.is_ours("its child", "root") is False
    assert kin.is_ours("astray", "root") is None
    assert kin.is_ours("me", "root") is True


def test_a_run_below_it_that_was_not_yet_noted_is_its_own():
    kin = DescendantTracker("me", root="root", above=["root"])
    kin.use_parents({"my child": "me", "its child": "my child"})

    assert kin.is_ours("its child", "root") is True


def test_a_circle_is_nobodys():
    kin = DescendantTracker("me", root="root")
    kin.use_parents({"one": "two", "two": "one"})

    assert kin.is_ours("one", "root") is None
