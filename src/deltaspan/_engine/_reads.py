"""Reading probes: one read of one probe, guarded, timed and frozen at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from concurrent.futures import wait
from contextlib import suppress
from inspect import isawaitable
from time import perf_counter
from typing import Any, Final

from deltaspan._batches import Moment, verifying
from deltaspan._callables import Bound, discard
from deltaspan._guard import describe, safe_str, say
from deltaspan._interrupts import let_through, without_frames
from deltaspan._state.snapshot import SCALARS
from deltaspan._verdicts import UNREAD, ProbeTimeout
from deltaspan._workers import on_asyncio, submit
from deltaspan.checks import probe_name

__all__ = [
    "NO_READ",
    "LimitedRead",
    "Read",
    "perform_together",
]

_NOT_HERE: Final = (
    "the probe returned an awaitable, which only an async action can await; return the state itself"
)


_LONG_SECONDS: Final = 0.05
"""From how long on a read in an async action is said to hold up the event loop."""

_MOST_KNOWN_TO_BLOCK: Final = 256
_known_to_block: set[tuple[str, str]] = set()


class Read:
    """One read of one probe.

    Args:
        probe: the probe.
        values: what it names.
        moment: when it is read, which it shares with what is read together with it.

    Attributes:
        value: the frozen state, or UNREAD.
        error: what the probe raised, or why its value cannot be compared (Unfreezable), or None.
        seconds: what the read cost.
    """

    __slots__ = ("_moment", "_probe", "_values", "error", "seconds", "value")

    def __init__(self, probe: Bound, values: Mapping[str, Any], moment: Moment) -> None:
        self._probe = probe
        self._values = values
        self._moment = moment
        self.value: Any = UNREAD
        self.error: BaseException | None = None
        self.seconds = 0.0

    @property
    def waits(self) -> bool:
        """Whether an async action has to wait for it, and so may read others meanwhile."""
        return self._probe.is_async

    @property
    def is_async(self) -> bool:
        """Whether it cannot be read without an event loop."""
        return self._probe.is_async

    def perform(self) -> None:
        """Read a probe that answers at once."""
        awaitable = self.start()
        if awaitable is not None:
            discard(awaitable)
            self.error = TypeError(_NOT_HERE)

    async def perform_async(self) -> None:
        """Read a probe that may have to be awaited."""
        awaitable = self.start()
        if awaitable is not None:
            await self.finish(awaitable)

    def start(self) -> Any:
        """Ask the probe, and return what it left to be awaited; None when it has answered."""
        began = perf_counter()
        token = verifying.set(self._moment)
        try:
            probe = self._probe
            value = probe.call(self._values) if probe.names else probe.function()
            # What most probes return, a number or a text, is told by one look-up and needs no copy.
            if type(value) not in SCALARS:
                if isawaitable(value):
                    return value
                value = probe.freeze(value)
            self.value = value
        except BaseException as error:
            let_through(error)
            self.fail(error)  # one that exits, by argparse or pytest.fail, is a probe that failed
        finally:
            verifying.reset(token)
            self.seconds = perf_counter() - began
        return None

    def fail(self, error: BaseException) -> None:
        """Note why there is no state."""
        self.error = without_frames(error)

    def say_that_it_blocks(self) -> None:
        """Log, once for each probe, that an event loop waited for this read."""
        function = self._probe.function
        name = probe_name(function) or safe_str(getattr(function, "__qualname__", function))
        key = (name, safe_str(getattr(function, "__module__", "")))
        if key not in _known_to_block and len(_known_to_block) < _MOST_KNOWN_TO_BLOCK:
            _known_to_block.add(key)
            say(
                logging.WARNING,
                "the probe %s held up the event loop for %.0f ms; read it in a thread: configure it by "
                "@probe(blocking=True), or make it async",
                name,
                self.seconds * 1000,
            )

    async def finish(self, awaitable: Any) -> None:
        """Await what a probe left to be awaited."""
        began = perf_counter()
        token = verifying.set(self._moment)
        try:
            self.value = self._probe.freeze(await awaitable)
        except BaseException as error:
            let_through(error)
            if issubclass(type(error), asyncio.CancelledError):
                error = RuntimeError(f"what the probe waited for was cancelled: {describe(error)}")
            self.fail(error)
        finally:
            with suppress(ValueError):  # a coroutine may be closed in another context
                verifying.reset(token)
            self.seconds += perf_counter() - began


async def _never() -> None:
    """Stand in for a probe where none was read."""


NO_READ: Final = Read(Bound(_never, (), (), is_async=True, names=()), {}, Moment())
"""The read that never was: its value is UNREAD, and nobody performs it."""


async def perform_together(reads: Sequence[Read]) -> None:
    """Read in an async action: what answers at once in turn, what has to be awaited together."""
    waiting = []
    for read in reads:
        if read.waits:
            waiting.append(read)
        else:
            awaitable = read.start()
            if read.seconds > _LONG_SECONDS:
                read.say_that_it_blocks()
            if awaitable is not None:  # its definition did not tell
                await read.finish(awaitable)
    if len(waiting) > 1 and on_asyncio():
        await asyncio.gather(*[read.perform_async() for read in waiting])
        return
    for read in waiting:
        await read.perform_async()


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
