"""Decorated actions that are pickled, copied, or called in a forked child."""

import copy
import functools
import gc
import multiprocessing
import os
import pickle
import sys
import traceback

import pytest

from deltaspan import _workers as _background
from deltaspan import change, collect_reports, expects, observe, window
from support.reports import reports_of

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
def test_a_copy_of_a_bound_decorated_method_behaves_the_same(copied):
    assert copied(Agent("x-").act)("a") == "x-a"


def observed(function):
    return expects(observe("rows", lambda: len(rows)))(function)


class Tool:
    """Every way in which a class may hold an action."""

    @observed
    def act(self, name="a"):
        return type(self).__name__, name

    again = act

    @observed
    def __hidden(self):
        return "hidden"

    hide = __hidden

    @observed
    @classmethod
    def make(cls):
        return cls.__name__

    @classmethod
    @observed
    def make_below(cls):
        return cls.__name__

    @observed
    @staticmethod
    def name():
        return "name"

    @staticmethod
    @observed
    def name_below():
        return "name"

    @observed
    async def act_later(self):
        return "later"

    def greet(self, word, name):
        return word, name

    greet_all = observed(functools.partialmethod(greet, "hello", "all"))

    class Inner:
        @observed
        def act(self):
            return type(self).__qualname__

    def __eq__(self, other):
        return type(self) is type(other)

    __hash__ = None


class OwnTool(Tool):
    """An heir."""


THROUGH_A_CLASS = {
    "a method": (lambda: Tool.act, [Tool()]),
    "an inherited method": (lambda: OwnTool.act, [OwnTool()]),
    "a method of a nested class": (lambda: Tool.Inner.act, [Tool.Inner()]),
    "a private method": (lambda: Tool._Tool__hidden, [Tool()]),
    "a method under another name": (lambda: Tool.again, [Tool()]),
    "an async method": (lambda: Tool.act_later, None),
    "a partial method": (lambda: Tool.greet_all, [Tool()]),
    "a class method": (lambda: Tool.make, []),
    "an inherited class method": (lambda: OwnTool.make, []),
    "a class method with the action below": (lambda: Tool.make_below, []),
    "a static method": (lambda: Tool.name, []),
    "an inherited static method": (lambda: OwnTool.name, []),
    "a static method with the action below": (lambda: Tool.name_below, []),
}


THROUGH_AN_OBJECT = {
    "a method": lambda tool: tool.act,
    "a private method": lambda tool: tool._Tool__hidden,
    "a partial method": lambda tool: tool.greet_all,
    "a class method": lambda tool: tool.make,
    "a class method with the action below": lambda tool: tool.make_below,
    "a static method": lambda tool: tool.name,
    "a static method with the action below": lambda tool: tool.name_below,
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("get", "args"), THROUGH_A_CLASS.values(), ids=THROUGH_A_CLASS)
def test_an_attribute_of_a_class_pickles_by_name(get, args, protocol):
    loaded = pickle.loads(pickle.dumps(get(), protocol))  # noqa: S301  # our own bytes

    assert loaded == get()
    if args is not None:
        assert loaded(*args) == get()(*args)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize(("get", "args"), THROUGH_A_CLASS.values(), ids=THROUGH_A_CLASS)
def test_an_attribute_of_a_class_is_copied_by_name(get, args, copied):
    assert copied(get()) == get()
    assert copied({"tools": [get()]}) == {"tools": [get()]}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kind", [Tool, OwnTool])
@pytest.mark.parametrize("get", THROUGH_AN_OBJECT.values(), ids=THROUGH_AN_OBJECT)
def test_a_bound_action_pickles_with_its_object(get, kind, protocol):
    loaded = pickle.loads(pickle.dumps(get(kind()), protocol))  # noqa: S301  # our own bytes

    assert loaded() == get(kind())()


@pytest.mark.parametrize("get", THROUGH_AN_OBJECT.values(), ids=THROUGH_AN_OBJECT)
def test_a_deep_copy_of_a_bound_action_acts_on_a_copy_of_its_object(get):
    tool = Tool()
    copied = copy.deepcopy(get(tool))

    assert copied() == get(tool)()
    assert getattr(copied, "__self__", None) is not tool


def test_a_deep_copy_of_an_object_and_its_method_keeps_the_two_together():
    tool = Tool()
    copied, act = copy.deepcopy((tool, tool.act))

    assert act.__self__ is copied


def test_an_action_without_a_qualified_name_is_not_pickled():
    with pytest.raises(pickle.PicklingError, match="a partial has none; decorate a function that calls it"):
        pickle.dumps(observed(functools.partial(len, "abc")))


FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


pytestmark = pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded, use of fork:DeprecationWarning"  # what Python says of any fork
)


def in_a_fork(work):
    """Return what `work` returns in a forked child."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = work()
        except BaseException:  # the child must end here, not in the test runner
            answer = traceback.format_exc()
        with os.fdopen(write, "wb") as stream:
            pickle.dump(answer, stream)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        answer = pickle.load(stream)  # noqa: S301  # our own child wrote it
    os.waitpid(child, 0)
    return answer


def outcomes(act, *args):
    reports = reports_of(act, *args)
    return [report.outcome for report in reports]


@FORKS
def test_an_action_in_a_forked_child_is_verified():
    outcomes(create, "before")

    assert in_a_fork(lambda: outcomes(create, "a")) == ["pass"]


@FORKS
def test_an_open_window_of_the_parent_does_not_contend_with_the_child():
    with window("parent", change("rows", lambda: len(rows))):
        assert in_a_fork(lambda: outcomes(create, "a")) == ["pass"]


@FORKS
def test_a_child_that_leaves_the_action_it_was_forked_in_reports_nothing():
    answers = []

    @expects(observe("rows", lambda: 1))
    def act():
        answers.append(in_a_fork(leave))

    def leave():
        # The child leaves the block in which it was forked.
        opened[0].__exit__(None, None, None)
        return len(reports)

    opened = [window("parent", observe("rows", lambda: 1))]
    with collect_reports() as reports:
        opened[0].__enter__()
        act()
        opened[0].__exit__(None, None, None)

    assert answers == [0]
    assert [report.action for report in reports] == ["act", "parent"]


@FORKS
def test_a_generator_that_the_parent_began_is_not_reported_when_the_child_ends_it():
    @expects(observe("rows", lambda: 1))
    def act():
        yield 1

    acting = act()
    next(acting)

    def leave():
        acting.close()
        gc.collect()
        return len(reports)

    with collect_reports() as reports:
        assert in_a_fork(leave) == 0
        acting.close()

    assert len(reports) == 1


@FORKS
def test_the_background_thread_is_restarted_in_a_child():
    def work():
        done = []
        _background.start_background_thread()
        _background.run_in_background(lambda: done.append(1))
        return _background.drain(), done

    _background.start_background_thread()

    assert in_a_fork(work) == (True, [1])


@pytest.mark.skipif(sys.platform == "win32", reason="a fork of its own")
def test_a_decorated_function_can_be_sent_to_a_spawned_process():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_spawned_outcomes, ("a",)) == ["pass"]


def _spawned_outcomes(name):
    return outcomes(create, name)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_partial_of_a_decorated_function_pickles(protocol):
    act = pickle.loads(pickle.dumps(functools.partial(create, "a"), protocol))  # noqa: S301  # our own bytes

    assert act.func is create
    assert outcomes(act) == ["pass"]
