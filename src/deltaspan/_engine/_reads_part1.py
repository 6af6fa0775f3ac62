"""Reads that may block or hang: done in another thread or awaited, with a limit to how long."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from concurrent.futures import wait
from inspect import isawaitable
from time import perf_counter
from typing import Any, Final

from deltaspan._callables import Bound
from deltaspan._interrupts import let_through, without_frames
from deltaspan._batches import Moment, verifying
from deltaspan._engine._reads import Read
from deltaspan._verdicts import ProbeTimeout
from deltaspan._workers import on_asyncio, submit

__all__ = ["LimitedRead"]


class LimitedRead(Read):
    """A read that must not hold up the action: its probe is blocking, or has a time limit.

    Args:
        probe: the probe.
        values: what it names.
        moment: when it is read.
        seconds: the longest that the read may take; None for any time.
    """

    __slots__ = ("_limit",)

    def __init__(
        self, probe: Bound, values: Mapping[str, Any], moment: Moment, seconds: float | None
    ) -> None:
        super().__init__(probe, values, moment)
        self._limit = seconds

    @property
    def waits(self) -> bool:
        return True

    def perform(self) -> None:
        if self._limit is None:
            super().perform()
            return
        # A read of its own, so that a thread that comes back too late writes nothing here.
        inner = Read(self._probe, self._values, self._moment)
        began = perf_counter()
        try:
            future = submit(inner.perform)
        except BaseException as error:  # no thread can be had
            let_through(error)
            self.fail(error)
        else:
            try:
                # Not `result(limit)`: a signal handler may raise the very TimeoutError that it raises.
                in_time = wait([future], self._limit).done
            finally:
                future.cancel()
            if in_time:
                future.result()
                self.value, self.error = inner.value, inner.error
            else:
                self.error = self._late()
        self.seconds = perf_counter() - began

    async def perform_async(self) -> None:
        if not on_asyncio():
            await self._perform_elsewhere()
            return
        began = perf_counter()
        reading = asyncio.ensure_future(self._read())
        try:
            # Not `wait_for`: it waits for a probe that will not be cancelled.
            await asyncio.wait([reading], timeout=self._limit)
            if reading.done() and not reading.cancelled():
                self.value, self.error = reading.result()
            else:
                self.error = self._late()
        finally:
            _give_up(reading)
        self.seconds = perf_counter() - began

    async def _read(self) -> tuple[Any, BaseException | None]:
        if self._probe.is_async:
            inner = Read(self._probe, self._values, self._moment)
            await inner.perform_async()
            return inner.value, inner.error
        try:
            value = await asyncio.wrap_future(submit(self._call))
            # What a thread cannot await is awaited here.
            if type(value) is _Unawaited:
                value = self._probe.freeze(await value.awaitable)
        except BaseException as error:
            let_through(error)
            return self.value, without_frames(error)
        return value, None

    def _call(self) -> Any:
        verifying.set(self._moment)  # in the context of this call alone
        value = self._probe.call(self._values)
        return _Unawaited(value) if isawaitable(value) else self._probe.freeze(value)

    async def _perform_elsewhere(self) -> None:
        """Read on an event loop that is not asyncio's, where nothing known could interrupt a probe."""
        if not self._probe.is_async:
            self.perform()
        elif self._limit is None:
            await super().perform_async()
        else:
            self.error = RuntimeError("an async probe can be given a time limit by asyncio alone")

    def _late(self) -> ProbeTimeout:
        return ProbeTimeout(f"the probe did not answer within {self._limit:g} s")


class _Unawaited:
    """What a probe returned that is still to be awaited."""

    __slots__ = ("awaitable",)

    def __init__(self, awaitable: Awaitable[Any]) -> None:
        self.awaitable = awaitable


_given_up: Final[set[asyncio.Future[Any]]] = set()
"""Reads that were cancelled and have not ended yet; an event loop holds its tasks weakly."""


def _give_up(reading: asyncio.Future[Any]) -> None:
    if not reading.done():
        reading.cancel()
        _given_up.add(reading)
        reading.add_done_callback(_given_up.discard)
