"""Decorated generators that are closed, dropped, collected or never started."""

import contextlib
import gc
import logging
from contextvars import copy_context

import pytest

from deltaspan import DeltaspanError, change, collect_reports, current_causal_tag, expects, observe, unchanged
from deltaspan._workers import drain
from support.process import open_windows
from support.reports import reports_of


def filling(flows, *checks, **options):
    @expects(*checks, name="fill", **options)
    def fill():
        while True:
            flows.rows.append(1)
            yield len(flows.rows)

    return fill


def closed(generator):
    next(generator)
    generator.close()


def left_by_break(generator):
    for _ in generator:
        break


def thrown(generator):
    next(generator)
    with pytest.raises(GeneratorExit):
        generator.throw(GeneratorExit)


def dropped(generator):
    next(generator)


LEFT = pytest.mark.parametrize("left", [closed, left_by_break, thrown, dropped])


@LEFT
def test_a_generator_that_is_left_is_abandoned_in_each_check_and_its_states_are_recorded(flows, left):
    fill = filling(
        flows, change("flows", flows.count), unchanged("users", lambda: 1), observe("n", lambda: 2)
    )
    reports = reports_of(lambda: left(fill()))

    found = [(check.outcome, check.reason, check.pre_state, check.post_state) for check in reports[0]]
    assert found == [
        ("inconclusive", "abandoned", 0, 1),
        ("inconclusive", "abandoned", 1, 1),
        ("inconclusive", "abandoned", 2, 2),
    ]
    assert open_windows() == {}


def test_the_explanation_counts_the_values_before_the_close(flows):
    reports = reports_of(lambda: closed(filling(flows, change("flows", flows.count))()))

    assert reports[0]["flows"].explanation == (
        "flows: the generator was closed after 1 value, before it ended; the state changed by 1 (0 → 1)"
    )


@LEFT
def test_a_check_that_names_yielded_is_judged(flows, left):
    fill = filling(flows, change("flows", flows.count).by(lambda yielded: yielded))
    reports = reports_of(lambda: left(fill()))

    assert reports[0]["flows"].explanation == "flows changed by 1, as expected (0 → 1)"


def test_yielded_is_known_at_exhaustion(flows):
    @expects(change("flows", flows.count).by(lambda yielded: yielded))
    def fill():
        for _ in range(3):
            flows.rows.append(1)
            yield

    reports = reports_of(lambda: list(fill()))

    assert reports[0].outcome == "pass"


def test_yielded_may_not_be_named_if_the_action_is_not_a_generator():
    with pytest.raises(DeltaspanError, match="needs 'yielded', which does not exist") as caught:
        expects(change("rows", len).by(lambda yielded: yielded))(lambda obj: None)

    assert isinstance(caught.value, TypeError)


def test_a_probe_may_not_name_yielded():
    with pytest.raises(DeltaspanError, match="needs 'yielded', which does not exist"):
        expects(change("rows", lambda yielded: yielded))(iter_of_one)


def iter_of_one():
    yield 1


def test_a_generator_that_never_began_has_no_window(flows):
    reports = reports_of(lambda: filling(flows, change("flows", flows.count))().close())

    assert reports == []


@LEFT
def test_a_failure_that_should_be_raised_is_logged_when_the_generator_is_left(flows, left, caplog):
    fill = filling(flows, change("flows", flows.count).by(lambda yielded: yielded + 1), on_failure="raise")

    left(fill())

    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "fill: fail: expected flows to change by 2, but it changed by 1 (0 → 1)")
    ]


def test_a_missing_verdict_that_should_be_raised_is_logged_when_the_generator_is_closed(flows, caplog):
    closed(filling(flows, change("flows", flows.count), on_inconclusive="raise")())

    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_cleaning_up_is_part_of_the_window(flows):
    tags = []

    @expects(change("flows", flows.count).by(lambda yielded: yielded))
    def act():
        try:
            yield current_causal_tag()
        finally:
            tags.append(current_causal_tag())
            flows.rows.append(1)

    acting = act()
    with collect_reports() as reports:
        tags.append(next(acting))
        acting.close()

    assert tags == [reports[0].causal_tag] * 2
    assert reports[0].outcome == "pass"


def test_a_body_that_returns_on_close_is_abandoned(flows):
    @expects(change("flows", flows.count))
    def act():
        try:
            yield
        except GeneratorExit:
            return

    reports = reports_of(lambda: closed(act()))

    assert reports[0]["flows"].reason == "abandoned"


def test_an_exception_of_the_cleanup_is_raised_and_the_action_has_failed(flows):
    error = OSError("gone")

    @expects(change("flows", flows.count))
    def act():
        try:
            yield
        finally:
            raise error

    acting = act()
    next(acting)
    with collect_reports() as reports, pytest.raises(OSError, match="gone") as caught:
        acting.close()

    assert caught.value is error
    assert reports[0]["flows"].reason == "action_failed"


def test_a_body_that_ignores_close_raises_the_usual_error(flows):
    @expects(observe("flows", flows.count))
    def act():
        with contextlib.suppress(GeneratorExit):
            yield
        with contextlib.suppress(GeneratorExit):
            yield

    acting = act()
    next(acting)

    with pytest.raises(RuntimeError, match="generator ignored GeneratorExit"):
        acting.close()


def test_a_generator_that_continues_after_generator_exit_is_judged_at_its_end(flows):
    @expects(change("flows", flows.count).by(1))
    def act():
        try:
            yield 1
        except GeneratorExit:
            flows.rows.append(1)
            yield 2

    acting = act()
    next(acting)
    with collect_reports() as reports:
        assert acting.throw(GeneratorExit) == 2
        assert list(acting) == []

    assert reports[0].outcome == "pass"


def test_the_span_of_a_closed_generator_is_not_an_error(recorded, flows):
    closed(filling(flows, change("flows", flows.count))())

    assert recorded.span.status.is_unset
    assert "error.type" not in recorded.span.attributes


# Generators that the collector finds, or that never start -----------------------------------------------


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


def test_a_returned_generator_that_is_never_started_is_abandoned(flows):
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
    generator = filling(flows, observe("flows", flows.count))()
    with caplog.at_level(logging.DEBUG):
        copy_context().run(next, generator)
        copy_context().run(next, generator)
        generator.close()

    assert caplog.records == []
    assert current_causal_tag() is None
