"""Reads of several requests, written once for sync and async clients."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeAlias, TypeVar

from deltaspan.probes._base.probe import AsyncStateProbe, StateProbe

__all__ = ["RequestSteps", "Sender", "request_probe"]

S = TypeVar("S")
RequestSteps: TypeAlias = Generator[Any, Any, S]
"""Yields a request, is sent the answer to it, and returns the state."""
Sender: TypeAlias = Callable[[Any], Any]
"""Takes a request and returns the answer, or an awaitable of the answer if the client is async."""


def _answer(request: Any) -> Any:
    return request


def _open_nothing() -> AbstractContextManager[Sender]:
    return nullcontext(_answer)


def request_probe(
    steps: Callable[..., RequestSteps[S]],
    call: str,
    needs: Iterable[str] = (),
    secrets: Iterable[str] = (),
    *,
    is_async: bool,
    content: bool = False,
    open_sender: Callable[[], AbstractContextManager[Sender]] = _open_nothing,
) -> StateProbe[S] | AsyncStateProbe[S]:
    """Make the probe of a read that is written as steps.

    Args:
        steps: starts a read, given what the probe needs by keyword.
        call: the call that made the probe, as it reads in source, for `repr()` and errors.
        needs: names of the arguments that a read takes: parameters of the action, or `causal_tag`.
        secrets: texts that no error may show.
        is_async: whether the answers of the client must be awaited.
        content: whether the state is content. Values of content leave the process only if the check says
            `.showing()`.
        open_sender: opens what sends the requests of one read. By default, a request is what the client's
            method has returned: the answer itself, or an awaitable of it.
    """

    def read(**values: Any) -> S:
        with open_sender() as send:
            return _run(steps(**values), send)

    async def read_async(**values: Any) -> S:
        with open_sender() as send:
            return await _run_async(steps(**values), send)

    if is_async:
        return AsyncStateProbe(read_async, call, needs, secrets, content=content)
    return StateProbe(read, call, needs, secrets, content=content)


def _run(steps: RequestSteps[S], send: Sender) -> S:
    answer = None
    try:
        while True:
            answer = send(steps.send(answer))
    except StopIteration as end:
        state: S = end.value
        return state
    finally:
        steps.close()


async def _run_async(steps: RequestSteps[S], send: Sender) -> S:
    answer = None
    try:
        while True:
            answer = await send(steps.send(answer))
    except StopIteration as end:
        state: S = end.value
        return state
    finally:
        steps.close()
