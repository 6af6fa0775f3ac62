"""What the environment decides where the code does not: policies, and whether anything is verified at all."""

import asyncio
import inspect
import logging

import pytest

from deltaspan import (
    DeltaCheckFailed,
    DeltaInconclusive,
    change,
    collect_reports,
    current_causal_tag,
    expects,
)


def gone():
    raise OSError("gone")


FAILING = change("rows", lambda: 1).by(1)
INCONCLUSIVE = change("rows", gone)


@pytest.mark.parametrize("value", ["raise", "RAISE", " raise "])
def test_a_failure_is_raised_when_the_environment_says_so(environ, value):
    environ(DELTASPAN_ON_FAILURE=value)

    with pytest.raises(DeltaCheckFailed):
        expects(FAILING)(lambda: "done")()


def test_a_missing_verdict_is_raised_when_the_environment_says_so(environ):
    environ(DELTASPAN_ON_INCONCLUSIVE="raise")

    with pytest.raises(DeltaInconclusive):
        expects(INCONCLUSIVE)(lambda: "done")()


def test_each_variable_is_for_its_own_outcome(environ):
    environ(DELTASPAN_ON_FAILURE="raise")

    assert expects(INCONCLUSIVE)(lambda: "done")() == "done"


def test_the_environment_may_ask_for_warnings(environ, caplog):
    environ(DELTASPAN_ON_FAILURE="warn")

    expects(FAILING, name="act")(lambda: None)()

    assert [record.getMessage() for record in caplog.records] == [
        "act: fail: expected rows to change by 1, but it changed by 0 (1 → 1)"
    ]


def test_what_the_code_says_wins_over_the_environment(environ):
    environ(DELTASPAN_ON_FAILURE="raise")

    assert expects(FAILING, on_failure="record")(lambda: "done")() == "done"


def test_an_action_that_was_decorated_before_follows_the_environment_of_its_first_call(environ):
    act = expects(FAILING)(lambda: "done")
    environ(DELTASPAN_ON_FAILURE="raise")

    with pytest.raises(DeltaCheckFailed):
        act()


def test_a_value_that_is_not_understood_is_logged_and_the_default_used(environ, caplog):
    environ(DELTASPAN_ON_FAILURE="explode")

    assert expects(FAILING)(lambda: "done")() == "done"
    assert [record.getMessage() for record in caplog.records] == [
        "DELTASPAN_ON_FAILURE='explode' is not understood: write one of record, warn, raise; using 'record'"
    ]


@pytest.mark.parametrize("value", ["false", "FALSE", "0", "no", "off"])
def test_a_disabled_action_runs_bare(environ, value):
    environ(DELTASPAN_ENABLED=value)
    reads = []
    act = expects(change("rows", lambda: reads.append(1)))(current_causal_tag)

    with collect_reports() as reports:
        assert act() is None

    assert (reads, [report.outcome for report in reports]) == ([], ["skipped"])


@pytest.mark.parametrize("value", ["true", "1", "yes", "on", ""])
def test_an_action_is_verified_when_the_environment_says_so_or_nothing(environ, value):
    environ(DELTASPAN_ENABLED=value)

    with collect_reports() as reports:
        expects(FAILING)(lambda: None)()

    assert [report.outcome for report in reports] == ["fail"]


def test_a_disabled_coroutine_function_runs_bare(environ):
    environ(DELTASPAN_ENABLED="false")

    @expects(INCONCLUSIVE, on_inconclusive="raise")
    async def act():
        return "done"

    assert inspect.iscoroutinefunction(act)
    assert asyncio.run(act()) == "done"


def test_a_disabled_method_runs_bare(environ):
    environ(DELTASPAN_ENABLED="false")

    class Agent:
        @expects(FAILING, on_failure="raise")
        def act(self):
            return self

        @classmethod
        @expects(FAILING, on_failure="raise")
        def of_class(cls):
            return cls

    agent = Agent()
    assert (agent.act(), Agent.of_class()) == (agent, Agent)


def test_a_disabled_action_that_asked_to_raise_says_once_that_it_does_not(environ, caplog):
    environ(DELTASPAN_ENABLED="false")
    act = expects(FAILING, on_failure="raise", name="act")(lambda: "done")

    with caplog.at_level(logging.WARNING, "deltaspan"):
        assert [act(), act()] == ["done", "done"]

    assert [record.getMessage() for record in caplog.records] == [
        "DELTASPAN_ENABLED is false: act runs unverified and will not raise"
    ]


def test_a_disabled_action_that_the_environment_wanted_to_raise_says_so_too(environ, caplog):
    environ(DELTASPAN_ENABLED="false", DELTASPAN_ON_FAILURE="raise")
    act = expects(FAILING, name="act")(lambda: "done")

    with caplog.at_level(logging.WARNING, "deltaspan"):
        assert [act(), act()] == ["done", "done"]

    assert len(caplog.records) == 1


def test_a_disabled_action_that_never_asked_to_raise_is_silent(environ, caplog):
    environ(DELTASPAN_ENABLED="false")

    expects(FAILING, on_failure="warn")(lambda: None)()

    assert caplog.records == []
