"""Settings from the environment, by configure for the process, and by override for a block."""

import asyncio
import contextvars
import inspect
import logging
import re
from functools import partial

import pytest

import deltaspan
from deltaspan import (
    DeltaCheckFailed,
    DeltaInconclusive,
    _process,
    change,
    collect_reports,
    configure,
    current_causal_tag,
    expects,
    override,
)
from deltaspan._config import Settings, settings
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from support.overlapping import run_in_threads
from support.reports import reports_of

pytestmark = pytest.mark.usefixtures("environ")


VALUES = {
    "enabled": ("DELTASPAN_ENABLED", "false", False, True),
    "on_failure": ("DELTASPAN_ON_FAILURE", "warn", "warn", "raise"),
    "on_inconclusive": ("DELTASPAN_ON_INCONCLUSIVE", "warn", "warn", "raise"),
    "strict": ("DELTASPAN_STRICT", "true", True, False),
    "capture_state": ("DELTASPAN_CAPTURE_STATE", "none", "none", "summary"),
    "max_state_chars": ("DELTASPAN_MAX_STATE_CHARS", "64", 64, 16),
    "event_signal": ("DELTASPAN_EVENT_SIGNAL", "log", "log", "both"),
    "events": ("DELTASPAN_EVENTS", "Evaluation, check", ("check", "evaluation"), ("evaluation",)),
    "action_duration": ("DELTASPAN_ACTION_DURATION", "all", "all", "windows"),
    "propagate": ("DELTASPAN_PROPAGATE", "off", False, True),
    "sampling_key": ("DELTASPAN_SAMPLING_KEY", "Of One Fleet", "Of One Fleet", "another"),
    "probe_spans": ("DELTASPAN_PROBE_SPANS", "on", True, False),
    "capture_arguments": ("DELTASPAN_CAPTURE_ARGUMENTS", "on", True, False),
}


EACH = pytest.mark.parametrize(
    ("name", "variable", "text", "value", "other"),
    [(name, *rest) for name, rest in VALUES.items()],
    ids=VALUES,
)


@expects(change("flows", lambda: 3).by(1))
def lie():
    return "created"


@expects(change("flows", lambda: object()))
def ask():
    return "asked"


def test_every_setting_is_tested_here():
    derived = {"shows_content", "span_events", "log_events", "has_check_events", "has_evaluations"}

    assert list(VALUES) == [name for name in Settings.__dataclass_fields__ if name not in derived]


@EACH
def test_a_block_overrides_the_process_and_the_process_overrides_the_environment(
    environ, name, variable, text, value, other
):
    environ(**{variable: text})
    assert getattr(settings(), name) == value
    configure(**{name: other})
    assert getattr(settings(), name) == other
    with override(**{name: value}):
        assert getattr(settings(), name) == value
    assert getattr(settings(), name) == other


def test_a_setting_that_is_not_named_keeps_its_value(environ):
    environ(DELTASPAN_PROPAGATE="off")
    configure(max_state_chars=64)
    configure(on_failure="warn")
    with override(capture_state="none"), override(event_signal="log"):
        found = settings()

    assert found == Settings(
        on_failure="warn", capture_state="none", max_state_chars=64, event_signal="log", propagate=False
    )


def test_each_call_of_configure_reads_the_environment_again(environ, monkeypatch):
    assert settings().on_failure == "record"
    monkeypatch.setenv("DELTASPAN_ON_FAILURE", "warn")
    assert settings().on_failure == "record"
    configure()
    assert settings().on_failure == "warn"


def test_configure_within_a_block_applies_to_settings_that_the_block_does_not_name():
    with override(on_failure="warn"):
        configure(on_failure="raise", max_state_chars=64)
        assert (settings().on_failure, settings().max_state_chars) == ("warn", 64)
    assert settings().on_failure == "raise"


def test_a_block_ends_when_it_is_left_by_an_exception():
    with pytest.raises(DeltaCheckFailed), override(on_failure="raise"):
        lie()

    assert lie() == "created"


async def test_tasks_do_not_see_the_blocks_of_each_other():
    entered = asyncio.Event()

    async def inside():
        with override(on_failure="raise"):
            entered.set()
            await asyncio.sleep(0)
            with pytest.raises(DeltaCheckFailed):
                lie()

    async def beside():
        await entered.wait()
        return lie()

    assert (await asyncio.gather(inside(), beside()))[1] == "created"


async def test_a_task_that_is_started_in_a_block_has_its_settings():
    async def act():
        return settings().on_failure

    with override(on_failure="warn"):
        task = asyncio.create_task(act())
    assert await task == "warn"


def test_a_thread_has_the_settings_of_a_block_only_if_it_carries_the_context():
    found = []

    def note():
        found.append(settings().on_failure)

    with override(on_failure="warn"):
        for run in (note, partial(contextvars.copy_context().run, note)):
            run_in_threads(run)

    assert found == ["record", "warn"]


def test_an_action_sets_its_own_policy_for_a_failure():
    quiet = expects(change("flows", lambda: 3).by(1), on_failure="record")(lambda: "created")
    with override(strict=True):
        assert quiet() == "created"


# strict -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["environment", "process", "block"])
def test_strict_raises_for_a_failure_and_for_a_check_without_a_verdict(environ, way):
    if way == "environment":
        environ(DELTASPAN_STRICT="true", DELTASPAN_ON_FAILURE="record")
    if way == "process":
        configure(strict=True)
    with override(strict=True) if way == "block" else override():
        with pytest.raises(DeltaCheckFailed):
            lie()
        with pytest.raises(DeltaInconclusive):
            ask()


def test_strict_can_be_taken_back_for_one_policy_or_altogether():
    configure(strict=True)
    with override(on_inconclusive="record"):
        assert ask() == "asked"
        with pytest.raises(DeltaCheckFailed):
            lie()
    with override(strict=False):
        assert (lie(), ask()) == ("created", "asked")
    configure(strict=False)
    assert (lie(), ask()) == ("created", "asked")


def test_unsetting_strict_that_was_never_set_keeps_the_policies():
    configure(on_failure="raise")
    with override(strict=False), pytest.raises(DeltaCheckFailed):
        lie()


# Mistakes -------------------------------------------------------------------------------------------------

BOTH = pytest.mark.parametrize("say", [configure, override], ids=["configure", "override"])


@BOTH
@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("on_failur", "did you mean on_failure?"),
        ("DELTASPAN_PROPAGATE", "did you mean propagate?"),
        ("colour", f"there are {', '.join(VALUES)}"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_one(say, name, meant):
    with pytest.raises(
        DefinitionTypeError, match=re.escape(f"{say.__name__} knows no setting {name!r}; {meant}")
    ):
        say(**{name: True})


@BOTH
@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"enabled": "false"}, "enabled='false' is not understood: write True or False"),
        ({"strict": 1}, "strict=1 is not understood: write True or False"),
        ({"on_failure": "rise"}, "on_failure='rise' is not understood: write one of record, warn, raise"),
        ({"capture_state": []}, "capture_state=[] is not understood: write one of full, summary, none"),
        (
            {"events": ("score",)},
            "events=('score',) is not understood: write one or more of check, evaluation",
        ),
        (
            {"events": "check"},
            "events='check' is not understood: write one or more of check, evaluation, as in ('check',)",
        ),
        ({"events": ()}, "events=() is not understood: write one or more of check, evaluation"),
        ({"max_state_chars": 15}, "max_state_chars=15 is not understood: write 16 or more"),
        ({"max_state_chars": True}, "max_state_chars=True is not understood: write 16 or more"),
        (
            {"strict": True, "on_inconclusive": "warn"},
            "strict=True raises, and on_inconclusive='warn' does not; take one of the two away",
        ),
    ],
)
def test_a_wrong_value_is_refused_and_nothing_is_set(say, named, message):
    with pytest.raises(DefinitionValueError, match=re.escape(message)):
        say(**named, propagate=False)

    assert settings() == Settings()


def test_a_process_that_is_disabled_and_strict_says_so(caplog):
    configure(enabled=False, strict=True)

    assert caplog.messages == ["DELTASPAN_ENABLED is false: actions run unverified and will not raise"]


def test_a_block_may_be_disabled():
    with collect_reports() as reports, override(enabled=False):
        assert lie() == "created"
    assert [report.outcome for report in reports] == ["skipped"]
    assert deltaspan.override is override


def test_content_is_shown_only_if_full_capture_is_set_explicitly(environ):
    environ()
    assert (settings().capture_state, settings().shows_content) == ("full", False)
    with override(capture_state="full"):
        assert settings().shows_content
        with override(max_state_chars=64):
            assert settings().shows_content
        with override(capture_state="none"):
            assert not settings().shows_content
    configure(capture_state="full")
    assert settings().shows_content
    configure(capture_state="summary")
    assert not settings().shows_content
    _process.reset()
    environ(DELTASPAN_CAPTURE_STATE="full")
    assert settings().shows_content
    environ(DELTASPAN_CAPTURE_STATE="fulll")
    assert not settings().shows_content


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


def test_the_code_wins_over_the_environment(environ):
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

    reports = reports_of(expects(FAILING)(lambda: None))

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
