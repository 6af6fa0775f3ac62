"""Rows that carry a causal tag: own rows, rows of others, rows without a tag."""

import re
import threading
from contextlib import suppress
from functools import partial

import pytest

from deltaspan import change, current_causal_tag, expects, observe, tagged, unchanged, window
from support.overlapping import run_in_threads
from support.reports import reports_of

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


EMPTY = {"added": {}, "removed": {}, "modified": {}}


class Table:
    """Rows of id and tag, and a probe of them."""

    def __init__(self, **rows):
        self.rows = [{"id": key, "tag": tag} for key, tag in rows.items()]
        self.probe = tagged(self.list_rows, key="id", tag="tag")

    def list_rows(self):
        return self.rows

    def add(self, key, *, tag="mine"):
        self.rows.append({"id": key, "tag": current_causal_tag() if tag == "mine" else tag})

    def sign(self, key, *, tag="mine"):
        next(row for row in self.rows if row["id"] == key)["tag"] = (
            current_causal_tag() if tag == "mine" else tag
        )

    def remove(self, key):
        self.rows = [row for row in self.rows if row["id"] != key]


@pytest.fixture
def table():
    return Table()


def explained(report):
    """Return the sentence with every causal tag as TAG."""
    return UUID.sub("TAG", report.explanation)


def test_rows_of_others_do_not_count(table):
    with window("w", change("rows", table.probe).by(1)) as w:
        table.add("a")
        table.add("b", tag="theirs")

    check = w.report["rows"]
    assert (check.outcome, check.attribution) == ("pass", "causal_tag")
    assert (check.actual_delta, check.others, check.untagged) == (1, 1, 0)
    assert explained(check) == ("rows changed by 1, as expected; 1 added by this run, 1 by others")


def test_a_lie_is_not_covered_by_rows_of_others(table):
    with window("w", change("rows", table.probe).by(1)) as w:
        table.add("b", tag="theirs")

    assert w.report["rows"].outcome == "fail"
    assert w.report["rows"].explanation == (
        "expected rows to change by 1, but it changed by 0 ({} → {'b': 'theirs'}); none by this run, 1 by "
        "others"
    )


def test_untagged_rows_without_own_rows_give_advice_about_the_stamp(table):
    with window("w", change("rows", table.probe).by(1)) as w:
        table.add("b", tag=None)

    assert w.report["rows"].outcome == "fail"
    assert w.report["rows"].explanation == (
        "expected rows to change by 1, but it changed by 0 ({} → {'b': None}); none by this run, 1 "
        "untagged: did the "
        "stamp run? What this run writes must carry its causal tag"
    )


def test_own_other_and_untagged_rows_are_all_reported_if_rows_are_named():
    table = Table(old="theirs")
    with window("w", change("rows", table.probe).adding("a").allowing_others()) as w:
        table.add("a")
        table.add("b", tag="theirs")
        table.add("c", tag=None)
        table.remove("old")

    check = w.report["rows"]
    assert check.passed
    assert check.actual_delta == {**EMPTY, "added": {"a": w.report.causal_tag}}
    assert check.others == {**EMPTY, "added": {"b": "theirs"}}
    assert check.untagged == {**EMPTY, "added": {"c": None}, "removed": {"old": "theirs"}}
    assert explained(check).endswith(
        "; 1 added by this run, 1 by others, 2 untagged: what was removed does not say by whom"
    )


def test_an_empty_string_is_not_a_tag(table):
    with window("w", change("rows", table.probe)) as w:
        table.add("a", tag="")

    assert w.report["rows"].untagged == {**EMPTY, "added": {"a": None}}


def test_a_tag_in_upper_case_is_the_same_tag(table):
    with window("w", change("rows", table.probe).by(1)) as w:
        table.add("a", tag=current_causal_tag().upper())

    assert w.report["rows"].passed


# Rows that were there before -------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [None, "theirs"])
def test_a_row_that_receives_the_tag_of_this_run_is_modified_and_own(before):
    table = Table(a=before)
    with window("w", change("rows", table.probe).modifying("a")) as w:
        table.sign("a")

    assert w.report["rows"].passed
    assert w.report["rows"].actual_delta == {**EMPTY, "modified": {"a": (before, w.report.causal_tag)}}


def test_a_row_that_is_tagged_again_is_not_an_added_row():
    table = Table(a="theirs")
    with window("w", change("rows", table.probe).by(0)) as w:
        table.sign("a")

    assert w.report["rows"].passed
    assert explained(w.report["rows"]).endswith("; 1 modified by this run")


def test_a_pass_tells_added_and_overwritten_rows():
    table = Table(a="theirs")
    with window("w", change("rows", table.probe).by(1)) as w:
        table.sign("a")
        table.add("b")

    assert explained(w.report["rows"]) == (
        "rows changed by 1, as expected; 1 added and 1 modified by this run"
    )


def test_a_row_whose_tag_becomes_anothers_is_others():
    table = Table(a=None)
    with window("w", change("rows", table.probe)) as w:
        table.sign("a", tag="theirs")

    assert w.report["rows"].others == {**EMPTY, "modified": {"a": (None, "theirs")}}


def test_a_row_whose_tag_was_taken_away_is_untagged():
    table = Table(a="theirs")
    with window("w", change("rows", table.probe)) as w:
        table.sign("a", tag=None)

    assert w.report["rows"].untagged == {**EMPTY, "modified": {"a": ("theirs", None)}}


def test_a_removed_row_of_another_run_is_untagged():
    table = Table(a="theirs")
    with window("w", observe("rows", table.probe)) as w:
        table.remove("a")

    assert w.report["rows"].untagged == {**EMPTY, "removed": {"a": "theirs"}}
    assert w.report["rows"].explanation == (
        "rows did not change ({'a': 'theirs'} → {}); no claim was made; none by this run, 1 untagged: "
        "what was removed "
        "does not say by whom"
    )


def test_a_row_of_an_ancestor_is_not_own(table):
    with window("outer", change("all", table.probe).by(0)):
        table.add("a")
        with window("nested", change("rows", table.probe).by(-1)) as nested:
            table.remove("a")

    assert (nested.report["rows"].outcome, nested.report["rows"].untagged) == ("inconclusive", -1)


def test_changes_within_a_row_are_not_looked_at(table):
    table.rows = [{"id": 1, "tag": "theirs", "total": 5}]
    with window("w", change("rows", table.probe)) as w:
        table.rows[0]["total"] = 7

    assert w.report["rows"].outcome == "fail"
    assert w.report["rows"].explanation == (
        "expected rows to change, but it did not change ({1: 'theirs'} → {1: 'theirs'}); none by this run"
    )


# Words -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "say",
    [
        lambda check: check,
        lambda check: check.by(2),
        lambda check: check.by(lambda result: result),
        lambda check: check.by_at_least(1),
        lambda check: check.by_at_most(2),
        lambda check: check.by_between(1, 2),
        lambda check: check.increasing(by=2),
        lambda check: check.adding("a", "b"),
        lambda check: check.adding(count=2),
        lambda check: check.only("a", "b"),
        lambda check: check.resizing(2),
        lambda check: check.adding("a").ignoring("b"),
        lambda check: check.satisfying(lambda delta: delta.amount == 2 and delta.others.changed, "two rows"),
        lambda check: check.by(2).eventually(0.2),
        lambda check: check.by(2).timeout(60),
    ],
)
def test_every_word_is_judged_on_own_rows(table, say):
    with window("w", say(change("rows", table.probe))) as w:
        table.add("a")
        table.add("b")
        table.add("c", tag="theirs")
        w.result = 2

    assert w.report["rows"].outcome == "pass", w.report["rows"].explanation


def test_ignored_rows_are_left_out_of_a_computed_number(table):
    with window("w", change("rows", table.probe).by(lambda result: result).ignoring("b")) as w:
        table.add("a")
        table.add("b")
        w.result = 1

    assert w.report["rows"].passed


def test_amounts_by_key_on_tagged_rows_are_incomparable(table):
    with window("w", change("rows", table.probe).by({"a": 1})) as w:
        table.add("a")

    assert w.report["rows"].reason == "incomparable"


# Unchanged and observed ------------------------------------------------------------------------------------


def test_unchanged_holds_beside_changes_of_others(table):
    with window("w", unchanged("rows", table.probe)) as w:
        table.add("b", tag="theirs")

    assert w.report["rows"].outcome == "pass"
    assert w.report["rows"].explanation == (
        "rows did not change, as expected ({} → {'b': 'theirs'}); none by this run, 1 by others"
    )


def test_unchanged_fails_on_own_rows(table):
    with window("w", unchanged("rows", table.probe)) as w:
        table.add("a")

    assert w.report["rows"].outcome == "fail"
    assert explained(w.report["rows"]) == (
        "expected rows to stay unchanged, but it added 'a'; 1 added by this run"
    )


def test_unchanged_has_no_verdict_on_untagged_rows():
    table = Table(a="theirs")
    with window("w", unchanged("rows", table.probe)) as w:
        table.remove("a")

    assert (w.report["rows"].outcome, w.report["rows"].reason) == ("inconclusive", "contended")
    assert w.report["rows"].explanation == (
        "rows: nothing changed that carries its tag, but the state removed 'a' ({'a': 'theirs'} → {}) with "
        "nobody's tag on it, so this action may have done that; none by this run, 1 untagged: what was "
        "removed does "
        "not say by whom"
    )


def test_unchanged_passes_if_untagged_rows_are_ignored():
    table = Table(a="theirs")
    with window("w", unchanged("rows", table.probe).ignoring("a")) as w:
        table.remove("a")

    assert w.report["rows"].outcome == "pass"


def test_unchanged_is_judged_if_contention_is_ignored():
    table = Table(a="theirs")
    with window("w", unchanged("rows", table.probe), on_contention="ignore") as w:
        table.remove("a")

    assert w.report["rows"].outcome == "pass"


def test_an_action_that_raises_is_judged_on_its_own_rows(table):
    w = window("w", change("rows", table.probe).by(1).or_unchanged_on_error())
    with suppress(KeyError), w:
        table.add("b", tag="theirs")
        raise KeyError

    assert w.report["rows"].outcome == "pass"


def test_an_action_that_raises_tells_the_changes_of_each_run(table):
    with suppress(KeyError), window("w", change("rows", table.probe).by(1)) as w:
        table.add("b", tag="theirs")
        raise KeyError("no")

    assert w.report["rows"].explanation == (
        "rows: the action raised KeyError: 'no'; the state did not change ({} → {'b': 'theirs'}); none by "
        "this run, "
        "1 by others"
    )


def test_observe_claims_nothing_and_reports_own_other_and_untagged_rows(table):
    with window("w", observe("rows", table.probe)) as w:
        table.add("a")
        table.add("b", tag="theirs")

    check = w.report["rows"]
    assert (check.outcome, check.others) == ("observed", {**EMPTY, "added": {"b": "theirs"}})
    assert explained(check) == ("rows added 'a'; no claim was made; 1 added by this run, 1 by others")


# Overlapping windows ------------------------------------------------------------------------------------


class SharedTable:
    """A shared_table into which two actions write while both their windows are open."""

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
            self.barrier.wait(60)
            for _ in range(count):
                self.rows.append({"id": object(), "tag": current_causal_tag()})
            self.barrier.wait(60)

        found = {}

        def run(index, count):
            reports = reports_of(add, count)
            found[index] = reports[0]["rows"]

        run_in_threads(*[partial(run, *each) for each in enumerate(counts)])
        return [found[index] for index in range(len(counts))]


@pytest.fixture
def shared_table():
    return SharedTable()


@pytest.fixture(params=["tagged", "causal_tag"])
def attributed(request, shared_table):
    """A probe that is attributed by tag."""
    return (
        tagged(shared_table.list_rows, key="id", tag="tag")
        if request.param == "tagged"
        else shared_table.count_by_tag
    )


def test_overlapping_checks_without_a_tag_are_both_contended(shared_table):
    found = shared_table.together(change("rows", shared_table.count).by(1), 1, 1)

    assert [check.reason for check in found] == ["contended"] * 2


def test_each_change_is_judged_on_its_own(shared_table, attributed):
    found = shared_table.together(change("rows", attributed).by(1), 1, 2)

    assert [check.outcome for check in found] == ["pass", "fail"]
    assert {check.attribution for check in found} == {"causal_tag"}


def test_unchanged_is_judged_on_its_own(shared_table, attributed):
    found = shared_table.together(unchanged("rows", attributed), 0, 1)

    assert [check.outcome for check in found] == ["pass", "fail"]


def test_observe_records_own_rows(shared_table, attributed):
    found = shared_table.together(observe("rows", attributed), 1, 2)

    assert [check.outcome for check in found] == ["observed"] * 2
    assert {check.attribution for check in found} == {"causal_tag"}


def test_a_lock_beside_it_does_not_hide_the_better_attribution(attributed):
    @expects(change("rows", attributed).by(0).exclusively(threading.Lock()))
    def act():
        pass

    reports = reports_of(act)
    assert reports[0]["rows"].attribution == "causal_tag"


def test_an_unattributed_check_contends_with_an_attributed_writer(shared_table):
    """An attributed action does not reveal the changes of an unattributed one."""
    reports = []
    signed = expects(change("rows", tagged(shared_table.list_rows, key="id", tag="tag")).by(0), name="signed")
    unsigned = expects(change("rows", shared_table.count).by(0), on_report=reports.append)

    def act():
        shared_table.barrier.wait(60)
        shared_table.barrier.wait(60)

    other = threading.Thread(target=signed(act))
    other.start()
    unsigned(act)()
    other.join()
    assert reports[0]["rows"].reason == "contended"
