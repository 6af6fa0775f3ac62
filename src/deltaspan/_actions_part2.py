"""Functions that a framework holds already: the wrong order that leaves no tool object to be seen.

Some decorators register the function and return that very function. If ours stands above one of these, the
framework does not know of the action. The garbage collector tells who holds a function, so that no framework
has to be imported, and its insides need not be known. It is asked only if our decorator meets a function
that others hold, because the answer takes as long as a collection.
"""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Iterator
from types import FrameType, FunctionType, ModuleType
from typing import Any, Final

from deltaspan.exceptions import DefinitionTypeError

__all__ = ["refuse_what_is_registered"]

# Package of whatever holds a function → the decorator that gave it there, by the holder's class.
_REGISTRIES: Final[dict[str, dict[str, str]]] = {
    "fastapi": {"": "app.post(...)"},
    "fastmcp": {"Prompt": "mcp.prompt", "Resource": "mcp.resource(...)", "": "mcp.tool"},
    "flask": {"": "app.post(...)"},
    "mcp": {"Prompt": "mcp.prompt()", "Resource": "mcp.resource(...)", "": "mcp.tool()"},
    "pydantic_ai": {
        "SystemPrompt": "agent.system_prompt",
        "Output": "agent.output_validator",
        "": "agent.tool",
    },
    "temporalio": {"": "activity.defn"},
    "typer": {"": "app.command()"},
}
_NO_REGISTRIES: Final = (FrameType, ModuleType, type)
_MOST_LEVELS: Final = 8
"""How far it is from a function to the framework's object: through its attributes, and wrappers around it."""
_MOST_HOLDERS: Final = 100


def refuse_what_is_registered(action: Any, caller: FrameType) -> None:
    """Refuse a function that a decorator below ours has registered with a framework.

    Args:
        action: what is being decorated.
        caller: the frame that applies our decorator.

    Raises:
        DefinitionTypeError: a framework holds the function itself; the text shows the order to write.
    """
    if type(action) is not FunctionType or sys.getrefcount(action) <= _UNHELD:
        return
    if sys.modules.keys().isdisjoint(_REGISTRIES) or not _is_decorated_here(action, caller):
        return
    for holder in _holders_of(action):
        kind = type(holder)
        lines = _REGISTRIES.get(str(kind.__module__).partition(".")[0])
        if lines is not None:
            line = next(line for word, line in lines.items() if word in kind.__name__)
            raise DefinitionTypeError(
                f"expects must stand below the decorator that registered {action.__name__!r} as it is, "
                f"which would never call what expects makes of it:\n"
                f"    @{line}\n    @expects(...)\n    def {action.__name__}(...)"
            )


def _is_decorated_here(action: FunctionType, caller: FrameType) -> bool:
    """Return whether the caller is just defining the function, so that nobody can have asked for it as it is.

    A function that is decorated by a call later on may be registered bare on purpose.
    """
    code = getattr(inspect.unwrap(action), "__code__", None)
    if code is None or not any(constant is code for constant in caller.f_code.co_consts):
        return False
    last = max((line for *_, line in code.co_lines() if line is not None), default=code.co_firstlineno)
    return bool(code.co_firstlineno <= caller.f_lineno <= last)


def _holders_of(action: FunctionType) -> Iterator[Any]:
    """Yield the objects that refer to a function, the nearest first, and those that refer to these."""
    level: list[Any] = [action]
    seen = {id(action)}
    for _ in range(_MOST_LEVELS):
        found = [holder for holder in gc.get_referrers(*level) if _may_be_registry(holder, level, seen)]
        yield from found
        if not 0 < len(found) <= _MOST_HOLDERS:
            return
        seen.update(map(id, found))
        level = found


def _may_be_registry(holder: Any, level: list[Any], seen: set[int]) -> bool:
    if holder is level or id(holder) in seen or isinstance(holder, _NO_REGISTRIES):
        return False
    return type(holder) is not dict or "__builtins__" not in holder  # what a module names leads to everything


def _count_of_unheld() -> int:
    """Return how many references there are to a function that nobody but its decorators has."""

    def decorate(action: Any) -> int:
        return count(action)

    def count(action: Any) -> int:
        return sys.getrefcount(action)

    @decorate
    def unheld() -> None: ...

    return unheld


_UNHELD: Final = _count_of_unheld()
