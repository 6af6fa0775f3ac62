"""A warning, given once, for a propagator that does not carry the causal tag."""

import pytest
from opentelemetry import propagate
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from deltaspan import expects, observe

LOST = "the configured propagator does not carry baggage, so causal tags stay in this process; "
OFF = ", or DELTASPAN_PROPAGATE=off to keep them here"


@expects(observe("nothing", lambda: 0))
def act():
    pass


@pytest.fixture
def use():
    before = propagate.get_global_textmap()
    yield lambda *chosen: propagate.set_global_textmap(CompositePropagator(chosen))
    propagate.set_global_textmap(before)


class Elsewhere(W3CBaggagePropagator):
    """Carries baggage in a header of its own."""

    _baggage_header_name = "x-baggage"


def test_a_propagator_set_in_code_is_mended_in_code(recorded, use, caplog):
    use(TraceContextTextMapPropagator())
    act()

    assert caplog.messages == [
        f"{LOST}set_global_textmap(CompositePropagator([get_global_textmap(), W3CBaggagePropagator()])){OFF}"
    ]


@pytest.mark.parametrize(
    ("names", "mended"),
    [("tracecontext", "tracecontext,baggage"), ("b3", "b3,baggage"), ("none", "tracecontext,baggage")],
)
def test_the_warning_names_the_correct_value_of_the_environment_variable(
    recorded, use, environ, caplog, names, mended
):
    environ(OTEL_PROPAGATORS=names)
    use()
    act()

    assert caplog.messages == [f"{LOST}set OTEL_PROPAGATORS={mended}{OFF}"]


def test_the_line_that_it_names_mends_it(recorded, use, caplog):
    use(TraceContextTextMapPropagator())
    use(propagate.get_global_textmap(), W3CBaggagePropagator())
    act()

    assert caplog.messages == []


def test_the_warning_is_given_once(recorded, use, caplog):
    use()
    act()
    expects(observe("another", lambda: 0))(lambda: None)()

    assert len(caplog.messages) == 1


def test_the_default_propagator_causes_no_warning(recorded, caplog):
    act()

    assert caplog.messages == []


def test_a_propagator_of_baggage_in_another_header_causes_no_warning(recorded, use, caplog):
    use(Elsewhere())
    act()

    assert caplog.messages == []


def test_propagation_that_is_turned_off_causes_no_warning(recorded, use, environ, caplog):
    environ(DELTASPAN_PROPAGATE="off")
    use()
    act()

    assert caplog.messages == []


def test_no_warning_is_given_without_an_sdk(use, caplog):
    use()
    act()

    assert caplog.messages == []
