"""What else can be decorated: partial methods, cached functions, heirs, methods of dataclasses."""

import abc
import asyncio
import dataclasses
import functools
import inspect

import pytest

from deltaspan import change, collect_reports, expects, observe


class Flows:
    """A piece of state to act on."""

    def __init__(self):
        self.rows = []

    def count(self):
        return len(self.rows)


@pytest.fixture
def flows():
    return Flows()


@pytest.mark.parametrize("order", ["expects below", "expects above"])
def test_a_partial_method_is_verified_in_either_order(flows, order):
    verified = expects(change("flows", flows.count).by(1), observe("name", lambda name: name))

    def create(self, prefix, name):
        flows.rows.append(name)
        return self, prefix, name

    class Agent:
        act = (
            functools.partialmethod(verified(create), "x")
            if order == "expects below"
            else verified(functools.partialmethod(create, "x"))
        )

    agent = Agent()
    with collect_reports() as reports:
        returned = [agent.act("a"), agent.act(name="b")]

    assert returned == [(agent, "x", "a"), (agent, "x", "b")]
    assert [report.outcome for report in reports] == ["pass", "pass"]
    assert [report["name"].pre_state for report in reports] == ["a", "b"]
    assert reports[0].action == "create"


@pytest.mark.parametrize("kind", ["generator", "async generator"])
def test_a_partial_and_a_callable_object_of_a_generator_are_verified(flows, kind):
    class Fill:
        if kind == "generator":

            def __call__(self, name):
                flows.rows.append(name)
                yield name
        else:

            async def __call__(self, name):
                flows.rows.append(name)
                yield name

    async def exhausted(generator):
        return list(generator) if kind == "generator" else [value async for value in generator]

    verified = expects(change("flows", flows.count).by(lambda yielded: yielded))
    with collect_reports() as reports:
        returned = [
            asyncio.run(exhausted(act))
            for act in (verified(Fill())("a"), verified(functools.partial(Fill().__call__, "b"))())
        ]

    assert returned == [["a"], ["b"]]
    assert [report.outcome for report in reports] == ["pass", "pass"]


@pytest.mark.parametrize("decorator", [functools.cache, functools.lru_cache(maxsize=3)])
def test_an_action_below_a_cache_is_verified_when_it_really_runs(flows, decorator):
    @decorator
    @expects(change("flows", flows.count).by(1))
    def act(name):
        flows.rows.append(name)
        return name

    with collect_reports() as reports:
        assert [act("a"), act("a")] == ["a", "a"]

    assert [report.outcome for report in reports] == ["pass"]


def test_a_cached_method_is_verified(flows):
    class Agent:
        @expects(change("flows", flows.count))
        @functools.lru_cache  # noqa: B019  # the instance is gone with the test
        def act(self, name):
            flows.rows.append(name)
            return self, name

    agent = Agent()
    with collect_reports() as reports:
        assert [agent.act("a"), agent.act("a")] == [(agent, "a")] * 2

    assert [report.outcome for report in reports] == ["pass", "fail"]


@pytest.mark.parametrize("slots", [False, True])
def test_a_method_of_a_dataclass_is_verified_with_the_instance(flows, slots):
    @dataclasses.dataclass(frozen=True, slots=slots)
    class Agent:
        prefix: str

        @expects(change("flows", flows.count).by(1), observe("prefix", lambda self: self.prefix))
        def act(self, name):
            flows.rows.append(self.prefix + name)

    with collect_reports() as reports:
        Agent("x-").act("a")

    assert (reports[0].outcome, reports[0]["prefix"].pre_state) == ("pass", "x-")


def test_an_abstract_class_method_stays_abstract(flows):
    class Agent(abc.ABC):
        @classmethod
        @expects(change("flows", flows.count))
        @abc.abstractmethod
        def act(cls):
            """Act."""

    with pytest.raises(TypeError, match="abstract"):
        Agent()


def test_an_async_method_may_call_the_one_it_overrides(flows):
    class Agent:
        @expects(change("flows", flows.count).by(1), name="base")
        async def act(self):
            flows.rows.append(1)

    class Heir(Agent):
        @expects(change("flows", flows.count).by(2), name="heir")
        async def act(self):
            await super().act()
            flows.rows.append(2)

    with collect_reports() as reports:
        asyncio.run(Heir().act())

    assert [(report.action, report.outcome) for report in reports] == [("base", "pass"), ("heir", "pass")]
    assert reports[0].parent_tag == reports[1].causal_tag


def test_an_overriding_generator_may_delegate_to_the_one_it_overrides(flows):
    class Agent:
        @expects(change("flows", flows.count).by(lambda yielded: yielded), name="base")
        def act(self):
            flows.rows.append(1)
            yield 1

    class Heir(Agent):
        @expects(change("flows", flows.count).by(lambda yielded: yielded), name="heir")
        def act(self):
            yield from super().act()
            flows.rows.append(2)
            yield 2

    with collect_reports() as reports:
        assert list(Heir().act()) == [1, 2]

    assert [(report.action, report.outcome) for report in reports] == [("base", "pass"), ("heir", "pass")]
    assert reports[0].parent_tag == reports[1].causal_tag


def test_a_coroutine_is_named_like_its_action(flows):
    @expects(observe("flows", flows.count))
    async def create():
        pass

    coroutine = create()
    coroutine.close()

    assert coroutine.__name__ == "create"


def test_a_coroutine_that_is_never_awaited_warns_under_the_name_of_its_action(flows):
    @expects(observe("flows", flows.count))
    async def create():
        pass

    with pytest.warns(RuntimeWarning, match="coroutine 'create' was never awaited"):
        create()


def test_a_coroutine_of_a_plain_function_that_is_never_awaited_warns_once(flows):
    async def create():
        pass

    act = expects(observe("flows", flows.count))(lambda: create())
    with pytest.warns(RuntimeWarning) as warned:
        act()

    assert [str(warning.message).partition(" was ")[0].rpartition(".")[2] for warning in warned] == [
        "create'"
    ]


def test_an_action_may_call_itself_while_another_call_of_it_is_open(flows):
    @expects(change("flows", flows.count).by(lambda depth: depth))
    async def act(depth):
        if depth:
            flows.rows.append(depth)
            await act(depth - 1)

    with collect_reports() as reports:
        asyncio.run(act(3))

    assert [report.outcome for report in reports] == ["pass"] * 4
    assert {report.root_tag for report in reports} == {reports[-1].causal_tag}


def test_a_function_marked_as_a_coroutine_function_is_one(flows):
    if not hasattr(inspect, "markcoroutinefunction"):
        pytest.skip("Python 3.12 can mark a function")

    async def create():
        flows.rows.append(1)
        return "done"

    act = expects(change("flows", flows.count).by(1))(inspect.markcoroutinefunction(lambda: create()))
    with collect_reports() as reports:
        assert asyncio.run(act()) == "done"

    assert reports[0].outcome == "pass"


def test_the_arguments_of_a_call_are_not_kept_alive_by_its_report(flows):
    import gc  # noqa: PLC0415
    import weakref  # noqa: PLC0415

    class Name:
        pass

    @expects(observe("flows", flows.count), observe("known", lambda name: name is not None))
    def act(name):
        return name

    name = Name()
    with collect_reports() as reports:
        act(name)
    kept = weakref.ref(name)
    del name
    gc.collect()

    assert len(reports) == 1
    assert kept() is None
