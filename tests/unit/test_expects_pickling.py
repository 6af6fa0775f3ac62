"""A decorated function is copied and pickled as the function was: by its qualified name."""

import copy
import pickle

import pytest

from deltaspan import change, expects, observe

rows = []


@expects(change("rows", lambda: len(rows)).by(1))
def create(name):
    rows.append(name)
    return name


@expects(observe("rows", lambda: len(rows)))
async def create_later(name):
    return name


class Agent:
    def __init__(self, prefix=""):
        self.prefix = prefix

    def __eq__(self, other):
        return self.prefix == other.prefix

    __hash__ = None

    @expects(observe("rows", lambda: len(rows)))
    def act(self, name):
        return self.prefix + name

    @classmethod
    @expects(observe("rows", lambda: len(rows)))
    def make(cls, prefix):
        return cls(prefix)

    @staticmethod
    @expects(observe("rows", lambda: len(rows)))
    def name(name):
        return name


PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("function", [create, create_later], ids=["plain", "async"])
def test_a_decorated_function_pickles_by_its_qualified_name(function, protocol):
    assert pickle.loads(pickle.dumps(function, protocol)) is function  # noqa: S301  # our own bytes


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_of_a_decorated_function_is_the_function(copied):
    assert copied(create) is create


def test_a_structure_that_holds_a_decorated_function_is_copied_around_it():
    tools = {"create": [create]}

    assert copy.deepcopy(tools) == tools


def test_an_object_with_decorated_methods_pickles():
    agent = pickle.loads(pickle.dumps(Agent("x-")))  # noqa: S301  # our own bytes

    assert agent.act("a") == "x-a"


def test_a_bound_decorated_method_pickles_as_a_bound_method_does():
    act = pickle.loads(pickle.dumps(Agent("x-").act))  # noqa: S301  # our own bytes

    assert act("a") == "x-a"


def test_a_bound_decorated_class_method_pickles():
    make = pickle.loads(pickle.dumps(Agent.make))  # noqa: S301  # our own bytes

    assert make("x-") == Agent("x-")


def test_a_decorated_static_method_pickles():
    assert pickle.loads(pickle.dumps(Agent.name))("a") == "a"  # noqa: S301  # our own bytes


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_of_a_bound_decorated_method_acts_alike(copied):
    assert copied(Agent("x-").act)("a") == "x-a"
