"""A decorated generator or what stands for one that nobody ends: found by the collector, or never begun."""

import gc
import logging

import pytest

from deltaspan import change, collect_reports, current_causal_tag, expects, observe
from deltaspan._workers import drain
from support.process import open_windows


class Flows:
    """A piece of state to act on."""

    def __init__(self):
        self.rows = []

    def count(self):
        return len(self.rows)


@pytest.fixture
def flows():
    return Flows()


def filling(flows, *checks, **options):
    @expects(*checks, name="fill", **options)
    def fill():
        while True:
            flows.rows.append(1)
            yield len(flows.rows)

    return fill


def test_a_generator_that_the_cyclic_collector_finds_is_ended_in_the_background(flows):
    ended_in = []
    fill = filling(flows, change("flows", flows.count), on_report=lambda _: ended_in.append(gc.isenabled()))

    def leave():
        generator = fill()
        next(generator)
        cycle = [generator]
        cycle.append(cycle)

    with collect_reports() as reports:
        leave()
        gc.collect()
        assert drain()

    assert [report["flows"].reason for report in reports] == ["abandoned"]
    assert reports[0]["flows"].post_state == 1
    assert len(ended_in) == 1
    assert open_windows() == {}


def test_a_collection_within_the_locks_of_contention_does_not_wait_for_itself(flows, monkeypatch):
    from deltaspan._attribution import _contention  # noqa: PLC0415  # its registry is what this is about

    fill = filling(flows, change("flows", flows.count))

    def leave():
        generator = fill()
        next(generator)
        cycle = [generator]
        cycle.append(cycle)

    leave()
    with _contention._steps._lock:
        gc.collect()
    assert drain()

    assert open_windows() == {}


def test_a_generator_that_a_plain_function_returned_and_nobody_began_is_abandoned(flows):
    act = expects(change("flows", flows.count), name="act")(lambda: (row for row in flows.rows))
    with collect_reports() as reports:
        act()
        assert drain()

    assert [report["flows"].reason for report in reports] == ["abandoned"]


def test_a_disabled_generator_runs_bare(environ, flows):
    environ(DELTASPAN_ENABLED="false")
    fill = filling(flows, change("flows", flows.count))

    with collect_reports() as reports:
        generator = fill()
        next(generator)
        generator.close()

    assert generator.gi_code.co_name == "fill"
    assert [report.outcome for report in reports] == ["skipped"]


def test_nothing_is_logged_when_a_generator_is_closed_elsewhere_than_where_it_was_stepped(flows, caplog):
    from contextvars import copy_context  # noqa: PLC0415

    generator = filling(flows, observe("flows", flows.count))()
    with caplog.at_level(logging.DEBUG):
        copy_context().run(next, generator)
        copy_context().run(next, generator)
        generator.close()

    assert caplog.records == []
    assert current_causal_tag() is None
