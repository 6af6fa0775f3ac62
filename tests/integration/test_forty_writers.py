"""Forty concurrent writers in one table of a real PostgreSQL server: each row has one owner.

The delta of each is forty where it expects one. Every window overlaps with every other: a barrier keeps all
writers inside until the last baseline is read, and again until the last row is written.
"""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from deltaspan import change, collect_reports, current_causal_tag, expects, tagged
from integration._services import postgresql

pytestmark = pytest.mark.services

WRITERS = 40
ROUNDS = 100
LIAR, TWICE, HONEST = 0, 2, 1
"""Number of rows that a writer inserts while it claims to insert one."""


@pytest.fixture(scope="module")
def address():
    with postgresql() as found:
        yield found


class Table:
    """The table, over one connection a thread."""

    def __init__(self, address):
        import psycopg  # noqa: PLC0415  # installed for these tests alone
        from psycopg.rows import dict_row  # noqa: PLC0415  # likewise

        self._connect = lambda: psycopg.connect(address, autocommit=True, row_factory=dict_row)
        self._own = threading.local()
        self.connections = []
        self.run(
            "CREATE TABLE flows (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, causal_tag uuid NULL)"
        )

    def run(self, statement, *values):
        if not hasattr(self._own, "connection"):
            self._own.connection = self._connect()
            self.connections.append(self._own.connection)
        return self._own.connection.execute(statement, values)

    def count(self):
        return self.run("SELECT count(*) AS n FROM flows").fetchone()["n"]

    def count_by_tag(self, causal_tag):
        return self.run("SELECT count(*) AS n FROM flows WHERE causal_tag = %s", causal_tag).fetchone()["n"]

    def rows(self):
        return self.run("SELECT id, causal_tag FROM flows").fetchall()

    def add(self):
        self.run("INSERT INTO flows (causal_tag) VALUES (%s)", current_causal_tag())


@pytest.fixture(scope="module")
def rounds(address):
    """The reports of each round, by how many rows their writers inserted."""
    table, barrier = Table(address), threading.Barrier(WRITERS)
    shuffled = random.Random(40)  # noqa: S311  # the order of writers is no secret

    @expects(
        change("any_flow", table.count).by(1),
        change("flow_of_tag", table.count_by_tag).by(1),
        change("flow", tagged(table.rows, key="id", tag="causal_tag")).by(1),
    )
    def create_flow(times):
        barrier.wait(30)
        for _ in range(times):
            table.add()
        barrier.wait(30)

    def reported(times):
        with collect_reports() as reports:
            create_flow(times)
        return times, reports[0]

    found = []
    writers = [LIAR, TWICE] + [HONEST] * (WRITERS - 2)
    try:
        with ThreadPoolExecutor(WRITERS) as threads:
            for _ in range(ROUNDS):
                table.run("TRUNCATE flows")
                shuffled.shuffle(writers)
                found.append(list(threads.map(reported, writers)))
    finally:
        for connection in table.connections:
            connection.close()
    return found


def outcomes(rounds, metric):
    """Return what writers of each kind came to, over all rounds."""
    seen = {}
    for reports in rounds:
        for times, report in reports:
            check = report[metric]
            seen.setdefault(times, set()).add((check.outcome, check.reason, check.attribution))
    return seen


def test_every_check_without_attribution_is_inconclusive(rounds):
    nobody = {("inconclusive", "contended", "window")}

    assert outcomes(rounds, "any_flow") == {HONEST: nobody, LIAR: nobody, TWICE: nobody}


@pytest.mark.parametrize("metric", ["flow_of_tag", "flow"])
def test_honest_tagged_writers_pass_and_the_two_others_fail_in_every_round(rounds, metric):
    passed, failed = ("pass", None, "causal_tag"), ("fail", None, "causal_tag")

    assert len(rounds) == ROUNDS
    assert all(len(reports) == WRITERS for reports in rounds)
    assert outcomes(rounds, metric) == {HONEST: {passed}, LIAR: {failed}, TWICE: {failed}}


def test_each_report_separates_its_own_rows_from_those_of_others(rounds):
    found = {
        (times, report["flow"].actual_delta, report["flow"].others, report["flow"].untagged)
        for reports in rounds
        for times, report in reports
    }

    assert found == {(HONEST, 1, 39, 0), (LIAR, 0, 40, 0), (TWICE, 2, 38, 0)}


def test_the_sentences_count_own_rows_and_rows_of_others(rounds):
    tallies = {
        times: report["flow"].explanation.rpartition("; ")[2]
        for reports in rounds
        for times, report in reports
    }

    assert tallies == {
        HONEST: "1 added by this run, 39 by others",
        LIAR: "none by this run, 40 by others",
        TWICE: "2 added by this run, 38 by others",
    }
