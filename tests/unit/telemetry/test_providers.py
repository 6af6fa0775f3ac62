"""Providers of OpenTelemetry that a program hands in, and swaps."""

import re

import pytest
from opentelemetry.sdk.trace import TracerProvider

from deltaspan import change, configure, expects, window
from deltaspan.exceptions import DefinitionTypeError


@expects(change("flows", lambda: 3).by(1))
def lie():
    return None


def use(recorded):
    configure(
        tracer_provider=recorded.tracer_provider,
        meter_provider=recorded.meter_provider,
        logger_provider=recorded.logger_provider,
    )


def counts(recorded):
    return {
        point.attributes["deltaspan.check.outcome"]: point.value
        for point in recorded.points("deltaspan.checks")
        if "deltaspan.check.origin" not in point.attributes
    }


@pytest.fixture
def old_and_new(record):
    return record(), record()


def test_a_swap_of_providers_takes_effect_with_the_next_run(old_and_new, environ):
    environ(DELTASPAN_EVENT_SIGNAL="both")
    old, new = old_and_new
    use(old)
    lie()
    use(new)
    lie()

    assert [(len(each.spans), counts(each)["fail"], len(each.logs)) for each in (old, new)] == [(1, 1, 1)] * 2


def test_zeros_are_in_a_new_provider_at_once_after_many_runs(old_and_new):
    old, new = old_and_new
    use(old)
    for _ in range(70):
        lie()
    use(new)
    lie()

    assert {point.value for point in new.points("deltaspan.checks")} == {0, 1}


def test_a_run_ends_with_the_providers_that_it_began_with(old_and_new):
    old, new = old_and_new
    use(old)
    with window("w", change("flows", lambda: 3).by(1)):
        use(new)

    assert (len(old.spans), counts(old), new.spans, counts(new)) == (1, {"fail": 1}, [], {})


def test_a_provider_that_is_not_given_stays(old_and_new):
    old, new = old_and_new
    use(old)
    configure(tracer_provider=new.tracer_provider)
    lie()

    assert (old.spans, counts(old)["fail"], len(new.spans), counts(new)) == ([], 1, 1, {})


def test_a_change_of_settings_keeps_the_providers(recorded):
    use(recorded)
    configure(max_state_chars=64)
    lie()

    assert len(recorded.spans) == 1


@pytest.mark.parametrize(
    ("name", "kind", "given", "shown"),
    [
        ("tracer_provider", "tracer", "console", "str"),
        ("meter_provider", "meter", TracerProvider(shutdown_on_exit=False), "TracerProvider"),
        ("logger_provider", "logger", object(), "object"),
        ("tracer_provider", "tracer", TracerProvider, "the class TracerProvider"),
    ],
)
def test_a_value_that_is_not_a_provider_is_refused(recorded, name, kind, given, shown):
    use(recorded)
    message = f"{name} takes a {kind} provider of OpenTelemetry, which has get_{kind}(), not {shown}"
    with pytest.raises(DefinitionTypeError, match=f"^{re.escape(message)}$"):
        configure(**{name: given})
    lie()

    assert len(recorded.spans) == 1
