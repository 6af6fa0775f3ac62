"""Capture of states: in full within bounds, as kind and size, or not."""

import pytest

from deltaspan import change, expects, observe, unchanged, window

SECRET = "4111-1111-1111-1111"  # noqa: S105  # no password: a state that must not leave
cards: list[str] = []


@pytest.fixture(autouse=True)
def one_card():
    cards[:] = [SECRET]


def read():
    return list(cards)


def everything(recorded):
    """All that left for the only run, as text."""
    span = recorded.span
    parts = [span.name, span.status.description, *map(str, span.attributes.items())]
    parts += [str(item) for event in span.events for item in (event.name, *event.attributes.items())]
    parts += [str(item) for log in recorded.logs for item in (log.body, *log.attributes.items())]
    return "\n".join(map(str, parts))


def leak_by_fail():
    with window("w", change("cards", read).by(1)):
        cards.append(SECRET)


def leak_by_unchanged():
    with window("w", unchanged("cards", read)):
        cards.append(SECRET)


def leak_by_pass():
    with window("w", change("cards", read).to([SECRET, SECRET])):
        cards.append(SECRET)


def leak_by_start():
    with window("w", change("cards", read).from_([SECRET])):
        pass


def leak_by_observing():
    with window("w", observe("cards", lambda: {SECRET: {"number": SECRET}})):
        pass


def leak_by_text():
    states = iter([SECRET, SECRET + "!"])
    with window("w", change("cards", lambda: next(states))):
        pass


def leak_by_keys():
    state = {}
    with window("w", unchanged("cards", lambda: state)):
        state[SECRET] = 1


def leak_by_probe():
    def probe():
        raise LookupError(f"no card {SECRET}")

    with window("w", unchanged("cards", probe)):
        pass


def leak_by_action():
    @expects(change("cards", read))
    def pay():
        cards.append(SECRET)
        raise ValueError("declined")

    with pytest.raises(ValueError, match="declined"):
        pay()


def leak_by_expected_value():
    with window("w", change("cards", read).to(lambda: [SECRET] * 3)):
        pass


LEAKS = [
    leak_by_fail,
    leak_by_unchanged,
    leak_by_pass,
    leak_by_start,
    leak_by_observing,
    leak_by_text,
    leak_by_keys,
    leak_by_probe,
    leak_by_action,
    leak_by_expected_value,
]


@pytest.mark.parametrize("capture", ["summary", "none"])
@pytest.mark.parametrize("leak", LEAKS)
def test_a_state_is_sent_in_whole_or_not_at_all(recorded, environ, capture, leak):
    environ(DELTASPAN_CAPTURE_STATE=capture, DELTASPAN_EVENT_SIGNAL="both")
    leak()

    assert SECRET not in everything(recorded)


@pytest.mark.parametrize("leak", [leak_by_fail, leak_by_observing])
def test_a_state_is_sent_by_default(recorded, leak):
    leak()

    assert SECRET in everything(recorded)


@pytest.mark.parametrize("capture", ["summary", "none"])
def test_numbers_do_not_leave_either(recorded, environ, capture):
    environ(DELTASPAN_CAPTURE_STATE=capture, DELTASPAN_EVENT_SIGNAL="both")
    balance = [731_905]
    with window("w", unchanged("balance", lambda: balance[0])):
        balance[0] = 846_213

    sent = everything(recorded)
    assert [number for number in ("731905", "846213", "114308") if number in sent] == []


def test_a_summary_is_kind_and_size(recorded, environ):
    environ(DELTASPAN_CAPTURE_STATE="summary")
    with window("w", observe("a", lambda: {1, 2}), observe("b", lambda: 7), observe("c", lambda: "four")):
        pass

    assert [recorded.span.attributes[f"deltaspan.pre_state.{metric}"] for metric in "abc"] == [
        "set of 2",
        "int",
        "str of 4",
    ]


def test_a_state_with_capture_none_is_marked_as_not_captured(recorded, environ):
    environ(DELTASPAN_CAPTURE_STATE="none")
    with window("w", observe("cards", read)):
        pass

    assert recorded.span.attributes["deltaspan.pre_state.cards"] == "(not captured)"


@pytest.mark.parametrize("capture", ["summary", "none"])
def test_verdict_and_demand_leave_with_any_capture(recorded, environ, capture):
    environ(DELTASPAN_CAPTURE_STATE=capture)
    leak_by_fail()

    attributes = recorded.event.attributes
    assert (attributes["deltaspan.check.outcome"], attributes["deltaspan.check.metric"]) == (
        "inconclusive",
        "cards",
    )


def longest(recorded):
    values = [*recorded.span.attributes.values(), *recorded.event.attributes.values()]
    return max(len(value) for value in values if isinstance(value, str))


def test_a_state_is_bounded_by_1024_characters(recorded):
    with window("w", observe("rows", lambda: list(range(100_000)))):
        pass

    assert longest(recorded) <= 1024
    assert recorded.span.attributes["deltaspan.pre_state.rows"].endswith("more]")


def test_the_bound_is_set_by_the_environment(recorded, environ):
    environ(DELTASPAN_MAX_STATE_CHARS="40")
    with window("w", observe("rows", lambda: list(range(100_000)))):
        pass

    assert len(recorded.span.attributes["deltaspan.pre_state.rows"]) <= 40


def test_the_deltas_are_bounded_too(recorded):
    rows = []
    with window("w", observe("rows", lambda: list(rows))):
        rows.extend("x" * 100 for _ in range(1000))

    assert longest(recorded) <= 1024


def test_the_explanation_of_large_states_is_bounded(recorded):
    rows = set()
    with window("w", unchanged("rows", lambda: set(rows))):
        rows.update(f"row {i} of many" for i in range(10_000))

    assert longest(recorded) <= 1024
    assert len(recorded.span.status.description) <= 1024


def test_the_message_of_a_probes_exception_is_bounded(recorded):
    def probe():
        raise LookupError("x" * 100_000)

    with window("w", observe("rows", probe)):
        pass

    assert longest(recorded) <= 1024


def test_the_status_of_an_actions_exception_is_bounded(recorded):
    @expects(observe("rows", lambda: 0))
    def action():
        raise ValueError("x" * 100_000)

    with pytest.raises(ValueError, match="xxx"):
        action()
    assert len(recorded.span.status.description) <= 1100
