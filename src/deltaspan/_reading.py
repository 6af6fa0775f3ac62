"""Reading probes: one read guarded and frozen, and the two ways of carrying out the reads of a run.

A run is written once, as steps that yield the reads they need. `carry_out` performs them in place,
`carry_out_async` awaits what has to be awaited, several async probes together.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Generator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from deltaspan._binding import Bound
from deltaspan._freeze import Unfreezable, freeze
from deltaspan._records import UNREAD

__all__ = ["Read", "Steps", "carry_out", "carry_out_async"]

R = TypeVar("R")


class Read:
    """One read of one probe.

    Attributes:
        value: the frozen state, or UNREAD.
        error: what the probe raised, or why its value cannot be compared (Unfreezable), or None.
        seconds: what the read cost.
    """

    __slots__ = ("_probe", "_values", "error", "seconds", "value")

    def __init__(self, probe: Bound, values: Mapping[str, Any]) -> None:
        self._probe = probe
        self._values = values
        self.value: Any = UNREAD
        self.error: Exception | None = None
        self.seconds = 0.0

    @property
    def is_async(self) -> bool:
        return self._probe.is_async

    def perform(self) -> None:
        """Read a probe that answers at once."""
        began = time.perf_counter()
        try:
            value = self._probe.call(self._values)
            if inspect.isawaitable(value):
                _discard(value)
                raise TypeError(  # noqa: TRY301  # recorded below like any fault of the probe
                    "the probe returned an awaitable, which only an async action can await; "
                    "return the state itself"
                )
            self.value = freeze(value)
        except Exception as error:
            self.error = error
        self.seconds = time.perf_counter() - began

    async def perform_async(self) -> None:
        """Read a probe that may have to be awaited."""
        began = time.perf_counter()
        try:
            value = self._probe.call(self._values)
            if inspect.isawaitable(value):
                value = await value
            self.value = freeze(value)
        except Exception as error:
            self.error = error
        self.seconds = time.perf_counter() - began


Steps: TypeAlias = Generator[Sequence[Read], None, R]
"""A part of a run: yields the reads that have to be performed before it can go on."""


def carry_out(steps: Steps[R]) -> R:
    """Run steps in an action that is not async."""
    try:
        while True:
            for read in next(steps):
                read.perform()
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def carry_out_async(steps: Steps[R]) -> R:
    """Run steps in an async action."""
    try:
        while True:
            reads = next(steps)
            waiting = [read for read in reads if read.is_async]
            for read in reads:
                if not read.is_async:
                    await read.perform_async()
            if len(waiting) == 1:
                await waiting[0].perform_async()
            elif waiting:
                await asyncio.gather(*[read.perform_async() for read in waiting])
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def is_unfreezable(error: Exception) -> bool:
    """Return whether a read failed because its value cannot be compared, rather than by raising."""
    return isinstance(error, Unfreezable)


def _discard(awaitable: Any) -> None:
    # A coroutine that is never awaited warns when it is collected; closing it keeps that noise from the user.
    close = getattr(awaitable, "close", None)
    if close is not None:
        close()
