"""What can be decorated: methods of every kind in either order, partials, callable objects, builtins."""

import functools

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
