"""Mutable state of the process: each module that keeps some renews it in a fork or at a reset."""

import ast
import importlib
import pkgutil
import types
import typing
from collections import deque
from contextvars import ContextVar
from logging import Logger
from pathlib import Path
from threading import Lock

import pytest

import deltaspan
from deltaspan import _process

REGISTRY = "deltaspan._process"
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(deltaspan.__path__, "deltaspan.")
    if module.name != REGISTRY and not module.name.endswith("__main__")
)
HOOKS = {"deltaspan._providers": {"_listeners"}}
"""State that modules register at import and never change later."""
IMMUTABLE = (
    *(type(None), bool, int, float, str, bytes, tuple, frozenset, types.MappingProxyType, type, Logger),
    *(ContextVar, types.FunctionType, types.MethodType, types.BuiltinFunctionType, typing.TypeVar),
    *(type(type.__dict__["__name__"].__get__), type(property.fget), type(type.__dict__["__name__"])),
)
CHANGING = frozenset(
    [
        "add",
        "append",
        "appendleft",
        "clear",
        "discard",
        "extend",
        "insert",
        "pop",
        "popitem",
        "popleft",
        "remove",
        "setdefault",
        "update",
    ]
)


def assigned_names(tree):
    """Yield the names that a module assigns at its top, or in a function that declares them global."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
    yield from global_names(tree)


def global_names(tree):
    return {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}


def is_constant(name):
    return name.isupper() or name.strip("_")[:1].isupper() or name.startswith("__")


def changed_constants(tree):
    """Yield the constants of a module that are changed in place."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            changed = node.func.value if node.func.attr in CHANGING else None
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            changed = node.value
        else:
            continue
        if isinstance(changed, ast.Name) and is_constant(changed.id):
            yield changed.id


def cached_functions(module):
    """Yield the functions without parameters that keep their answer."""
    for name, value in vars(module).items():
        if hasattr(value, "cache_clear") and value.__module__ == module.__name__:
            code = value.__wrapped__.__code__
            if not code.co_argcount + code.co_kwonlyargcount:
                yield name


def is_renewed(module, name):
    """Return whether a function that is called in a fork or by a reset knows this name."""
    value = getattr(module, name)
    for function in (*_process._on_fork, *_process._on_reset):
        owner = getattr(function, "__self__", None)
        if owner is value and owner is not None:
            return True
        code = getattr(function, "__code__", None)
        if code and function.__module__ == module.__name__ and name in code.co_names:
            return True
    return False


def unregistered(module, source):
    tree = ast.parse(source)
    declared = global_names(tree)
    states = {
        name
        for name in assigned_names(tree)
        if name in declared or not (is_constant(name) or isinstance(getattr(module, name), IMMUTABLE))
    }
    states.update(cached_functions(module))
    return {name for name in states if not is_renewed(module, name)} | set(changed_constants(tree))


@pytest.mark.parametrize("name", MODULES)
def test_each_state_of_a_module_is_known_to_a_fork_or_a_reset(name):
    module = importlib.import_module(name)

    unknown = unregistered(module, Path(module.__file__).read_text(encoding="utf-8"))

    assert unknown == HOOKS.get(name, set())


@pytest.mark.parametrize(
    "source",
    [
        "found = {}",
        "found: dict = {}",
        "found = deque()",
        "found = Lock()",
        "found = None\ndef change():\n    global found\n    found = 1",
        "FOUND = {}\ndef change():\n    FOUND['a'] = 1",
        "FOUND = []\ndef change():\n    FOUND.append(1)",
        "@cache\ndef found():\n    return 1",
    ],
)
def test_state_that_is_never_renewed_is_reported(source):
    module = types.ModuleType("module")
    vars(module).update(deque=deque, Lock=Lock, cache=importlib.import_module("functools").cache)
    exec(source, vars(module))  # noqa: S102  # one of those above

    assert {name.lower() for name in unregistered(module, source)} == {"found"}
