"""Interrupts: exceptions that do not come from the code that was called.

If a probe raises, it has failed, and its check gets no verdict. An interrupt is not raised by the probe: a
signal handler raised it, or the task, greenlet or thread that was reading was stopped. It is passed on to the
caller as the same object. The two are distinguished only after an exception, so that a successful read costs
nothing:

- KeyboardInterrupt, and whatever trio raises to cancel, is always an interrupt.
- An exception raised by a signal handler is one: the handler's frame is in the traceback.
- CancelledError is one if the current task was cancelled.
- An exception set by another thread (`PyThreadState_SetAsyncExc`) is one if the traceback proves it: it ends
  at an instruction that cannot raise.
- An exception of any other class outside Exception is one if no `raise` statement raised it. Greenlets and
  threads are stopped with such classes (GreenletExit, gevent.Timeout). SystemExit is not among them, because
  `sys.exit` raises it.
- An Exception that gevent threw into a waiting greenlet is one. An OSError is not: a socket's own timeout
  arrives that way.

An Exception that another thread set during a call cannot be distinguished from one that the call raised
itself. It counts as the probe's.
"""

from __future__ import annotations

import asyncio
import dis
import signal
import sys
from collections.abc import Iterator
from functools import partial
from inspect import CO_VARARGS
from itertools import pairwise
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any, Final

# A class may hide these behind properties of its own that raise.
_traceback: Final = BaseException.__dict__["__traceback__"]
_cause: Final = BaseException.__dict__["__cause__"]
_context: Final = BaseException.__dict__["__context__"]
_module: Final = type.__dict__["__module__"]
_name: Final = type.__dict__["__name__"]

_CAN_BE_UNCANCELLED: Final = sys.version_info >= (3, 11)

_RAISING: Final = frozenset({"RAISE_VARARGS", "RERAISE"})
_NEVER_RAISING: Final = frozenset({"JUMP_ABSOLUTE", "JUMP_BACKWARD"})
"""Python checks for exceptions set by other threads where a loop jumps back."""
_RESUME: Final = "RESUME"
"""The first one of a function cannot raise. Later ones resume a generator."""
_COMPILED: Final = ("RESUME", "RAISE_VARARGS")
"""The first and the third instruction of the code object that represents a compiled function."""
_GEVENT_SWITCH: Final = "greenlet_primitives"
"""The file in which a greenlet of gevent waits."""

_PANIC: Final = ("pyo3_runtime", "PanicException")
"""A fault of a Rust library. It is not an Exception, and no Python statement raises it."""


def let_through(error: BaseException) -> None:
    """Raise the exception again if it is an interrupt, or replaced one.

    Args:
        error: the exception that was caught. Call this before anything else is done with it.

    Raises:
        BaseException: the interrupt, as the same object.
    """
    for raised, trace in _raised_here(error):
        if _is_interrupt(raised, trace, is_caught=raised is not error):
            raise raised


def without_frames(error: BaseException) -> BaseException:
    """Remove the tracebacks of an exception, and return it.

    The frames of a traceback hold the arguments of a run, so that an exception that is kept would keep them
    alive. The context of the exception may be the caller's own exception. It is removed too.
    """
    for raised, _ in list(_raised_here(error)):
        _traceback.__set__(raised, None)
        outer = _context.__get__(raised)
        if outer is not None and _traceback.__get__(outer) is not None:
            _context.__set__(raised, None)
    return error


def _raised_here(error: BaseException) -> Iterator[tuple[BaseException, TracebackType | None]]:
    """Yield an exception and those caught while it propagated, with their tracebacks.

    A library may replace an interrupt with an error of its own. An exception that a caller was already
    handling was not caught by one of the frames that the exception passed through.
    """
    waiting, seen = [error], set()
    while waiting:
        raised = waiting.pop(0)
        seen.add(id(raised))
        trace = _traceback.__get__(raised)
        yield raised, trace
        passed = {id(entry.tb_frame) for entry in _entries(trace)}
        for other in (_cause.__get__(raised), _context.__get__(raised)):
            if other is None or id(other) in seen:
                continue
            caught_at = _traceback.__get__(other)
            if caught_at is not None and id(caught_at.tb_frame) in passed:
                waiting.append(other)


def _entries(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _is_interrupt(error: BaseException, trace: TracebackType | None, *, is_caught: bool) -> bool:
    kind = type(error)
    if issubclass(kind, asyncio.CancelledError):
        # If the task does not tell, the library that caught it does: its time limit ends in another error.
        return _is_cancelled(otherwise=not is_caught)
    if (
        issubclass(kind, KeyboardInterrupt)
        or _is_from_handler(trace)
        or _is_set_by_another_thread(trace)
        or _is_thrown_by_gevent(trace, kind)
    ):
        return True
    if issubclass(kind, Exception | SystemExit):
        return False
    module, name = _module.__get__(kind), _name.__get__(kind)
    if isinstance(module, str) and module.partition(".")[0] == "trio":
        return True
    return (module, name) != _PANIC and _instruction(trace)[0] not in _RAISING


def _is_cancelled(*, otherwise: bool) -> bool:
    """Return whether the current task was cancelled. Python 3.10 does not tell: `otherwise`."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop runs on this thread
        return False
    if task is None:
        return False
    # Before Python 3.11 nothing is ever uncancelled, whatever a backport counts.
    cancelling = getattr(task, "cancelling", None) if _CAN_BE_UNCANCELLED else None
    return otherwise if cancelling is None else cancelling() > 0


def _is_from_handler(trace: TracebackType | None) -> bool:
    installed: set[CodeType] | None = None
    before: FrameType | None = None
    for entry in _entries(trace):
        frame = entry.tb_frame
        if before is not None:
            if _interrupts(frame, before):
                return True
            if installed is None:
                installed = set(_installed_handlers())
            if frame.f_code in installed:
                return True
        before = frame
    return False


def _interrupts(frame: FrameType, before: FrameType) -> bool:
    """Return whether a frame was called with a number and the frame it interrupted."""
    code, values = frame.f_code, frame.f_locals
    count = code.co_argcount + code.co_kwonlyargcount
    given = [values.get(name) for name in code.co_varnames[:count]]
    if code.co_flags & CO_VARARGS:
        given += values.get(code.co_varnames[count]) or ()
    return any(second is before and isinstance(first, int) for first, second in pairwise(given))


def _installed_handlers() -> Iterator[CodeType]:
    """Yield the code of each installed handler, which may have deleted its arguments."""
    for number in signal.valid_signals():
        handler: Any = signal.getsignal(number)
        while isinstance(handler, partial):
            handler = handler.func
        called = getattr(type(handler), "__call__", None)  # noqa: B004  # to be inspected
        for function in (handler, getattr(handler, "__func__", None), called):
            if isinstance(function, FunctionType):
                yield function.__code__


def _is_set_by_another_thread(trace: TracebackType | None) -> bool:
    name, argument = _instruction(trace)
    return name in _NEVER_RAISING or (name == _RESUME and argument == 0)


def _is_thrown_by_gevent(trace: TracebackType | None, kind: type) -> bool:
    last = None if issubclass(kind, OSError) else _last(trace)
    return last is not None and _GEVENT_SWITCH in last.tb_frame.f_code.co_filename


def _instruction(trace: TracebackType | None) -> tuple[str, int]:
    """Return name and argument of the instruction that raised, or `("", 0)`."""
    last = _last(trace)
    if last is None:
        return "", 0
    code, offset = last.tb_frame.f_code.co_code, last.tb_lasti
    names = [dis.opname[code[at]] for at in range(0, min(len(code), 6), 2)]
    if not 0 <= offset < len(code) - 1 or tuple(names[::2]) == _COMPILED:
        return "", 0
    return dis.opname[code[offset]], code[offset + 1]


def _last(trace: TracebackType | None) -> TracebackType | None:
    last = None
    for last in _entries(trace):  # noqa: B007  # the last one is wanted
        pass
    return last
