"""A decorated function: what its caller sees is what it saw before, and every check is reported."""

import inspect
import threading
import traceback
from contextvars import ContextVar
from pathlib import Path

import pytest

import deltaspan
from deltaspan import change, collect_reports, expects, observe, unchanged


class Flows:
    """A piece of state to act on."""

    def __init__(self):
        self.rows = []

    def count(self):
        return len(self.rows)


@pytest.fixture
def flows():
    return Flows()


def test_the_very_object_that_the_action_returns_is_returned(flows):
    made = object()
    act = expects(change("flows", flows.count))(lambda: made)

    assert act() is made


def test_the_very_exception_that_the_action_raises_is_raised(flows):
    error = LookupError("no such tenant")

    @expects(change("flows", flows.count))
    def act():
        raise error

    with pytest.raises(LookupError) as caught:
        act()

    assert caught.value is error
    assert (error.__cause__, error.__context__) == (None, None)


def test_a_traceback_has_at_most_one_frame_of_ours(flows):
    @expects(change("flows", flows.count), unchanged("users", lambda: 1))
    def act():
        raise LookupError

    with pytest.raises(LookupError) as caught:
        act()

    frames = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    package = Path(deltaspan.__file__).parent
    assert sum(package in Path(name).parents or "wrapt" in name for name in frames) <= 1


def test_signature_docstring_and_annotations_are_those_of_the_function(flows):
    def act(tenant: str, *, limit: int = 3) -> list[str]:
        """Create a flow."""

    decorated = expects(change("flows", flows.count))(act)

    assert inspect.signature(decorated) == inspect.signature(act)
    assert decorated.__doc__ == "Create a flow."
    assert decorated.__annotations__ == act.__annotations__
    assert (decorated.__name__, decorated.__qualname__) == (act.__name__, act.__qualname__)
    assert decorated.__module__ == __name__
    assert decorated.__wrapped__ is act


def test_a_function_is_still_a_function_and_no_coroutine_function(flows):
    decorated = expects(change("flows", flows.count))(lambda: None)

    assert inspect.isfunction(decorated)
    assert not inspect.iscoroutinefunction(decorated)


def test_attributes_set_on_the_decorated_function_are_the_functions(flows):
    def act():
        pass

    decorated = expects(change("flows", flows.count))(act)
    decorated.mark = "tool"

    assert act.mark == "tool"


def test_an_action_may_have_another_name(flows):
    act = expects(change("flows", flows.count), name="make")(lambda: None)
    with collect_reports() as reports:
        act()

    assert reports[0].action == "make"


def test_every_baseline_is_read_before_the_action_and_every_post_state_after_it():
    order = []

    def probe(name):
        return lambda: order.append(name)

    @expects(change("a", probe("a")), unchanged("b", probe("b")), observe("c", probe("c")))
    def act():
        order.append("action")

    act()

    assert order == ["a", "b", "c", "action", "a", "b", "c"]


def test_every_check_is_reported_although_the_first_one_fails(flows):
    @expects(
        change("never", lambda: 1).by(1), change("flows", flows.count).by(1), unchanged("users", lambda: 2)
    )
    def act():
        flows.rows.append("a")

    with collect_reports() as reports:
        act()

    assert [check.outcome for check in reports[0]] == ["fail", "pass", "pass"]
    assert reports[0].outcome == "fail"


@pytest.mark.parametrize(
    ("state", "mutate"),
    [
        ([1], lambda state: state.append(2)),
        ({"a": 1}, lambda state: state.update(b=2)),
        ({"a"}, lambda state: state.add("b")),
        ([[1]], lambda state: state[0].append(2)),
        ({"a": {"b": [1]}}, lambda state: state["a"]["b"].append(2)),
        (bytearray(b"a"), lambda state: state.extend(b"b")),
    ],
    ids=["list", "dict", "set", "nested list", "nested mapping", "bytearray"],
)
def test_a_probe_that_returns_the_live_state_cannot_move_the_baseline(state, mutate):
    act = expects(change("state", lambda: state), name="act")(lambda: mutate(state))
    with collect_reports() as reports:
        act()

    assert reports[0].outcome == "pass"


def test_what_an_action_does_to_context_variables_is_visible_to_its_caller(flows):
    variable = ContextVar("variable", default="before")
    act = expects(change("flows", flows.count))(lambda: variable.set("after"))

    act()

    assert variable.get() == "after"


def test_a_recursive_action_is_verified_at_each_level(flows):
    @expects(change("flows", flows.count).by(lambda depth: depth))
    def act(depth):
        if depth:
            flows.rows.append(depth)
            act(depth - 1)

    with collect_reports() as reports:
        act(3)

    assert [report["flows"].explanation for report in reports] == [
        "flows changed by 0, as expected (3 → 3)",
        "flows changed by 1, as expected (2 → 3)",
        "flows changed by 2, as expected (1 → 3)",
        "flows changed by 3, as expected (0 → 3)",
    ]
    tags = [report.causal_tag for report in reports]
    assert [report.parent_tag for report in reports] == [*tags[1:], None]
    assert {report.root_tag for report in reports} == {tags[-1]}


def test_two_stacked_decorators_are_two_runs_of_which_the_inner_is_a_child(flows):
    @expects(change("flows", flows.count).by(1), name="outer")
    @expects(change("flows", flows.count).by(1), name="inner")
    def act():
        flows.rows.append(1)

    with collect_reports() as reports:
        act()

    assert [(report.action, report.outcome) for report in reports] == [("inner", "pass"), ("outer", "pass")]
    assert reports[0].parent_tag == reports[1].causal_tag


def test_a_hundred_threads_may_run_one_decorated_function_at_once():
    counts = dict.fromkeys(range(100), 0)
    barrier = threading.Barrier(100)
    reports, returned = [], []

    @expects(change("count", lambda number: counts[number]).by(1), on_report=reports.append)
    def act(number):
        barrier.wait()
        counts[number] += 1
        return number

    threads = [threading.Thread(target=lambda n=n: returned.append(act(n))) for n in counts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(returned) == list(range(100))
    assert [report.outcome for report in reports] == ["pass"] * 100
    assert len({report.causal_tag for report in reports}) == 100
