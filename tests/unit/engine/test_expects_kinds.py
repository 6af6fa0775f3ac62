"""What can be decorated: methods of every kind in either order, partials, callable objects, builtins."""

import abc
import functools
import sys

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
    with collect_reports() as reports:
        act("a")

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

    with collect_reports() as reports:
        Heir().act()

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
    with collect_reports() as reports:
        tool_of(expects(change("flows", flows.count).by(1))(act))()

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
