"""Reads of several requests, written once: for clients that wait, and for clients that are awaited."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any, TypeAlias, TypeVar

from deltaspan.probes._base.probe import AsyncStateProbe, StateProbe

__all__ = ["Steps", "probe_of"]

S = TypeVar("S")
Steps: TypeAlias = Generator[Any, Any, S]
"""Yields what a client's method returned, is sent what the server answered, and returns the state."""


def probe_of(
    steps: Callable[..., Steps[S]],
    words: str,
    needs: Iterable[str] = (),
    secrets: Iterable[str] = (),
    *,
    is_async: bool,
    content: bool = False,
) -> StateProbe[S] | AsyncStateProbe[S]:
    """Make the probe of a read.

    Args:
        steps: the read, given what the probe needs by keyword.
        words: as for `StateProbe`.
        needs: likewise.
        secrets: likewise.
        is_async: whether what the client's methods return is to be awaited.
        content: whether what is read is content.
    """

    def read(**values: Any) -> S:
        return _waited(steps(**values))

    async def read_async(**values: Any) -> S:
        return await _awaited(steps(**values))

    if is_async:
        return AsyncStateProbe(read_async, words, needs, secrets, content=content)
    return StateProbe(read, words, needs, secrets, content=content)


def _waited(steps: Steps[S]) -> S:
    answer = None
    try:
        while True:
            answer = steps.send(answer)
    except StopIteration as end:
        state: S = end.value
        return state


async def _awaited(steps: Steps[S]) -> S:
    answer = None
    try:
        while True:
            answer = await steps.send(answer)
    except StopIteration as end:
        state: S = end.value
        return state
    finally:
        steps.close()
