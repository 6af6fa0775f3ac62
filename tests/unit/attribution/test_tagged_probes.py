"""Attribution by tag: of tagged rows, and of a probe that takes `causal_tag`; neither is contended."""

import threading

import pytest

from deltaspan import change, collect_reports, current_causal_tag, expects, observe, tagged, unchanged


class Table:
    """A table into which two actions write while both their windows are open."""

    def __init__(self):
        self.rows = []
        self.barrier = threading.Barrier(2)

    def list_rows(self):
        return list(self.rows)

    def count(self):
        return len(self.rows)

    def count_by_tag(self, causal_tag):
        return sum(row["tag"] == causal_tag for row in self.rows)

    def together(self, check, *counts):
        """Return a report for each count of rows that an action adds, all of them at once."""

        @expects(check)
        def add(count):
            self.barrier.wait(10)
            for _ in range(count):
                self.rows.append({"id": object(), "tag": current_causal_tag()})
            self.barrier.wait(10)

        found = {}

        def run(index, count):
            with collect_reports() as reports:
                add(count)
            found[index] = reports[0]["rows"]

        threads = [threading.Thread(target=run, args=each) for each in enumerate(counts)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [found[index] for index in range(len(counts))]


@pytest.fixture
def table():
    return Table()


@pytest.fixture(params=["tagged", "causal_tag"])
def attributed(request, table):
    """A probe that is attributed by tag."""
    return tagged(table.list_rows, key="id", tag="tag") if request.param == "tagged" else table.count_by_tag


def test_without_a_tag_both_are_contended(table):
    found = table.together(change("rows", table.count).by(1), 1, 1)

    assert [check.reason for check in found] == ["contended"] * 2


def test_each_change_is_judged_on_its_own(table, attributed):
    found = table.together(change("rows", attributed).by(1), 1, 2)

    assert [check.outcome for check in found] == ["pass", "fail"]
    assert {check.attribution for check in found} == {"causal_tag"}


def test_unchanged_is_judged_on_its_own(table, attributed):
    found = table.together(unchanged("rows", attributed), 0, 1)

    assert [check.outcome for check in found] == ["pass", "fail"]


def test_observe_records_its_own(table, attributed):
    found = table.together(observe("rows", attributed), 1, 2)

    assert [check.outcome for check in found] == ["observed"] * 2
    assert {check.attribution for check in found} == {"causal_tag"}


def test_a_lock_beside_it_does_not_hide_the_better_attribution(attributed):
    @expects(change("rows", attributed).by(0).exclusively(threading.Lock()))
    def act():
        pass

    with collect_reports() as reports:
        act()
    assert reports[0]["rows"].attribution == "causal_tag"


def test_one_that_is_not_attributed_still_sees_the_writer_that_is(table):
    """That one action can be told apart does not tell what the other did."""
    reports = []
    signed = expects(change("rows", tagged(table.list_rows, key="id", tag="tag")).by(0), name="signed")
    unsigned = expects(change("rows", table.count).by(0), on_report=reports.append)

    def act():
        table.barrier.wait(10)
        table.barrier.wait(10)

    other = threading.Thread(target=signed(act))
    other.start()
    unsigned(act)()
    other.join()
    assert reports[0]["rows"].reason == "contended"
