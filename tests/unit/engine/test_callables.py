"""Callables that can be decorated: methods, partials, caches, dataclasses, overrides, builtins."""

import abc
import asyncio
import dataclasses
import functools
import gc
import inspect
import sys
import weakref

import pytest

from deltaspan import change, collect_reports, expects, observe
from support.reports import reports_of


def test_a_method_is_verified(flows):
    class Agent:
        @expects(change("flows", flows.count).by(1))
        def create(self, name):
            flows.rows.append(name)
            return self, name

    agent = Agent()
    with collect_reports() as reports:
        returned = agent.create("a")

    assert returned == (agent, "a")
    assert reports[0].outcome == "pass"


@pytest.mark.parametrize("order", ["expects below", "expects above"])
@pytest.mark.parametrize("called_on", ["the class", "an instance"])
@pytest.mark.parametrize("kind", [classmethod, staticmethod])
def test_class_and_static_methods_are_verified_in_either_decorator_order(flows, kind, order, called_on):
    verified = expects(change("flows", flows.count).by(1), observe("name", lambda name: name))

    def create(*receiver_and_name):
        flows.rows.append(receiver_and_name[-1])
        return receiver_and_name

    def create_static(name):
        return create(name)

    def create_of_class(cls, name):
        return create(cls, name)

    function = create_of_class if kind is classmethod else create_static

    class Agent:
        act = kind(verified(function)) if order == "expects below" else verified(kind(function))

    with collect_reports() as reports:
        returned = (Agent if called_on == "the class" else Agent()).act("a")

    assert returned == ((Agent, "a") if kind is classmethod else ("a",))
    assert reports[0].outcome == "pass"
    assert reports[0]["name"].pre_state == "a"


def test_a_partial_is_verified(flows):
    def create(prefix, name):
        flows.rows.append(prefix + name)
        return prefix + name

    act = expects(change("flows", flows.count).by(1))(functools.partial(create, "x-"))
    with collect_reports() as reports:
        returned = act("a")

    assert returned == "x-a"
    assert (reports[0].action, reports[0].outcome) == ("create", "pass")


def test_a_callable_object_is_verified(flows):
    class Create:
        def __call__(self, name):
            flows.rows.append(name)
            return name

    act = expects(change("flows", flows.count).by(1), observe("name", lambda name: name))(Create())
    with collect_reports() as reports:
        returned = act("a")

    assert returned == "a"
    assert (reports[0].action, reports[0].outcome) == ("Create", "pass")


def test_a_builtin_is_verified(flows):
    act = expects(change("flows", flows.count).by(1))(flows.rows.append)
    reports = reports_of(act, "a")

    assert (reports[0].action, reports[0].outcome) == ("append", "pass")


def test_a_bound_method_is_verified(flows):
    class Agent:
        def create(self, name):
            flows.rows.append(name)
            return self

    agent = Agent()
    act = expects(change("flows", flows.count).by(1), observe("name", lambda name: name))(agent.create)
    with collect_reports() as reports:
        returned = act("a")

    assert returned is agent
    assert reports[0]["name"].pre_state == "a"


def test_an_action_may_have_parameters_named_like_those_of_a_wrapper(flows):
    @expects(change("flows", flows.count))
    def act(self, wrapped, instance, args, kwargs):
        return self, wrapped, instance, args, kwargs

    assert act(self=1, wrapped=2, instance=3, args=4, kwargs=5) == (1, 2, 3, 4, 5)


def test_an_abstract_method_stays_abstract(flows):
    class Agent(abc.ABC):
        @expects(change("flows", flows.count))
        @abc.abstractmethod
        def act(self):
            """Act."""

    with pytest.raises(TypeError, match="abstract"):
        Agent()


def test_a_cached_function_is_verified(flows):
    act = expects(change("flows", flows.count).by(1), name="act")(functools.lru_cache(flows.rows.append))
    with collect_reports() as reports:
        act("a")
        act("a")

    assert [report.outcome for report in reports] == ["pass", "fail"]


def test_an_overridden_method_is_a_run_inside_that_of_its_heir(flows):
    class Agent:
        @expects(change("flows", flows.count).by(1), name="base")
        def act(self):
            flows.rows.append(1)

    class Heir(Agent):
        @expects(change("flows", flows.count).by(2), name="heir")
        def act(self):
            super().act()
            flows.rows.append(2)

    reports = reports_of(Heir().act)

    assert [(report.action, report.outcome) for report in reports] == [("base", "pass"), ("heir", "pass")]
    assert reports[0].parent_tag == reports[1].causal_tag


def test_a_decorated_function_equals_and_hashes_as_itself_and_never_as_the_function_inside(flows):
    def act():
        pass

    decorated = expects(change("flows", flows.count))(act)

    assert decorated == decorated  # noqa: PLR0124  # that it does is the test
    assert decorated != act
    assert act != decorated
    assert not decorated == act  # noqa: SIM201  # both operators are its own
    assert {act: "bare", decorated: "verified"} == {decorated: "verified", act: "bare"}
    assert {act: "bare"}.get(decorated) is None


def test_two_decorations_of_one_function_are_two_actions(flows):
    def act():
        pass

    decorate = expects(change("flows", flows.count))

    assert decorate(act) != decorate(act)


def test_a_cache_that_knows_the_function_does_not_take_the_action_for_it(flows):
    @functools.lru_cache
    def tool_of(function):
        return lambda: function()

    def act():
        flows.rows.append(1)

    tool_of(act)
    reports = reports_of(tool_of(expects(change("flows", flows.count).by(1))(act)))

    assert [report.outcome for report in reports] == ["pass"]


class Agent:
    """An agent with decorated methods of each kind."""

    def __eq__(self, other):
        return type(other) is Agent

    __hash__ = None

    @expects(change("flows", lambda: 0).by(0))
    def act(self):
        pass

    @expects(change("flows", lambda: 0).by(0))
    def other(self):
        pass

    @expects(change("flows", lambda: 0).by(0))
    @classmethod
    def make(cls):
        pass

    @expects(change("flows", lambda: 0).by(0))
    @staticmethod
    def name():
        pass


class OwnAgent(Agent):
    """An heir."""


def test_a_bound_action_is_equal_to_that_of_the_same_object_and_function_alone():
    agent = Agent()

    assert agent.act == agent.act
    assert hash(agent.act) == hash(agent.act)
    assert agent.act != agent.other
    assert agent.act != Agent().act  # equal objects; as of Python's own methods
    assert agent.act != Agent.act
    assert agent.act != agent.act.__wrapped__
    assert {agent.act: 1}[agent.act] == 1


@pytest.mark.parametrize("name", ["act", "make", "name"])
def test_an_action_is_equal_to_itself_through_its_class(name):
    assert getattr(Agent, name) == getattr(Agent, name)
    assert hash(getattr(Agent, name)) == hash(getattr(Agent, name))
    assert getattr(Agent, name) != getattr(Agent, name).__wrapped__


def test_an_action_through_its_class_is_the_one_that_stands_in_it():
    assert Agent.act == vars(Agent)["act"] == OwnAgent.act
    assert hash(Agent.act) == hash(vars(Agent)["act"])
    assert Agent.make != OwnAgent.make


def test_the_repr_of_an_action_names_it(flows):
    verified = expects(change("flows", flows.count))

    @verified
    def create():
        pass

    class Agent:
        create = verified(lambda self: None)

        @classmethod
        @verified
        def found(cls):
            pass

    here = f"{__name__}.test_the_repr_of_an_action_names_it.<locals>"
    assert repr(create) == f"<deltaspan action {here}.create>"
    assert repr(Agent.create) == repr(Agent().create) == f"<deltaspan action {here}.Agent.<lambda>>"
    # From Python 3.13 on, a class method binds its function itself, in a method object of Python's own.
    bound = Agent.found.__func__ if sys.version_info >= (3, 13) else Agent.found
    assert repr(bound) == f"<deltaspan action {here}.Agent.found>"
    assert repr(verified(functools.partial(create.__wrapped__))) == repr(create)
    assert repr(verified(Agent.found.__func__)) == repr(bound)


# Partial methods, caches, dataclasses and overrides -----------------------------------------------------


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

    reports = reports_of(lambda: Agent("x-").act("a"))

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

    reports = reports_of(lambda: asyncio.run(Heir().act()))

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

    reports = reports_of(lambda: asyncio.run(act(3)))

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
