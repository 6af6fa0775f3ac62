"""One read of one probe: guarded, timed, frozen, and limited if it could block."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from concurrent.futures import wait
from contextlib import suppress
from inspect import isawaitable
from time import perf_counter
from typing import Any, Final, NamedTuple

from deltaspan._batches import ReadBatch, current_batch
from deltaspan._callables import Bound, discard
from deltaspan._guard import describe, log, safe_str
from deltaspan._interrupts import let_through, without_frames
from deltaspan._process import on_reset
from deltaspan._state.snapshot import SCALARS
from deltaspan._verdicts import UNREAD, ProbeTimeout
from deltaspan._workers import is_loop_running, submit
from deltaspan.checks import probe_name

_NOT_HERE: Final = (
    "the probe returned an awaitable, which only an async action can await; return the state itself"
)


_LONG_SECONDS: Final = 0.05
"""The duration from which a read in an async action is reported to hold up the event loop."""

_MAX_KNOWN_TO_BLOCK: Final = 256
_known_to_block: Final[set[tuple[str, str]]] = set()
on_reset(_known_to_block.clear)


class ReadLimit(NamedTuple):
    """The limit of a read whose probe blocks, or has a timeout.

    Attributes:
        seconds: the longest that the read may take. None for any time.
    """

    seconds: float | None


class Read:
    """One read of one probe.

    Args:
        probe: the probe.
        values: the arguments that it names.
        batch: the reads that are made together with it.
        limit: keeps it from holding up the action. None for a read on the thread of the action.

    Attributes:
        value: the frozen state, or UNREAD.
        error: what the probe raised, or why its value cannot be compared (Unfreezable), or None.
        seconds: what the read cost.
    """

    __slots__ = ("_batch", "_limit", "_probe", "_values", "error", "seconds", "value")

    def __init__(
        self, probe: Bound, values: Mapping[str, Any], batch: ReadBatch, limit: ReadLimit | None = None
    ) -> None:
        self._probe = probe
        self._values = values
        self._batch = batch
        self._limit = limit
        self.value: Any = UNREAD
        self.error: BaseException | None = None
        self.seconds = 0.0

    @property
    def must_wait(self) -> bool:
        """True if an async action has to await it, and may read others meanwhile."""
        return self._limit is not None or self._probe.is_async

    def perform(self) -> None:
        """Read a probe in a sync action."""
        limit = self._limit
        if limit is not None and limit.seconds is not None:
            self._perform_in_thread(limit.seconds)
            return
        awaitable = self.start()
        if awaitable is not None:
            discard(awaitable)
            self.error = TypeError(_NOT_HERE)

    async def perform_async(self) -> None:
        """Read a probe that may have to be awaited."""
        if self._limit is not None:
            await self._perform_limited(self._limit.seconds)
        else:
            await self._perform_on_loop()

    async def _perform_on_loop(self) -> None:
        awaitable = self.start()
        if awaitable is not None:
            await self.finish(awaitable)

    def start(self) -> Any:
        """Call the probe on this thread, and return its awaitable, if any."""
        started_at = perf_counter()
        token = current_batch.set(self._batch)
        try:
            probe = self._probe
            value = probe.call(self._values) if probe.names else probe.function()
            # Most probes return a number or a string: one look-up tells, and no copy is needed.
            if type(value) not in SCALARS:
                if isawaitable(value):
                    return value
                value = probe.freeze(value)
            self.value = value
        except BaseException as error:
            let_through(error)
            self.fail(error)  # a probe that exits, by argparse or pytest.fail, is a probe that failed
        finally:
            current_batch.reset(token)
            self.seconds = perf_counter() - started_at
        return None

    async def finish(self, awaitable: Any) -> None:
        """Await the awaitable that the probe returned."""
        started_at = perf_counter()
        token = current_batch.set(self._batch)
        try:
            self.value = self._probe.freeze(await awaitable)
        except BaseException as error:
            let_through(error)
            if issubclass(type(error), asyncio.CancelledError):
                error = RuntimeError(f"what the probe waited for was cancelled: {describe(error)}")
            self.fail(error)
        finally:
            with suppress(ValueError):  # a coroutine may be closed in another context
                current_batch.reset(token)
            self.seconds += perf_counter() - started_at

    def restore(self, value: Any, error: BaseException | None, seconds: float) -> None:
        """Take the outcome of a read that was performed earlier."""
        self.value, self.error, self.seconds = value, error, seconds

    def fail(self, error: BaseException) -> None:
        """Record why there is no state."""
        self.error = without_frames(error)

    def warn_that_it_blocks(self) -> None:
        """Log, once for each probe, that an event loop waited for this read."""
        function = self._probe.function
        name = probe_name(function) or safe_str(getattr(function, "__qualname__", function))
        key = (name, safe_str(getattr(function, "__module__", "")))
        if key not in _known_to_block and len(_known_to_block) < _MAX_KNOWN_TO_BLOCK:
            _known_to_block.add(key)
            log(
                logging.WARNING,
                "the probe %s held up the event loop for %.0f ms; read it in a thread: configure it by "
                "@probe(blocking=True), or make it async",
                name,
                self.seconds * 1000,
            )

    # With a limit ----------------------------------------------------------------------------------------

    def _unlimited(self) -> Read:
        """Return a separate read, so that a late thread writes nothing here."""
        return Read(self._probe, self._values, self._batch)

    def _perform_in_thread(self, seconds: float) -> None:
        inner = self._unlimited()
        started_at = perf_counter()
        try:
            future = submit(inner.perform)
        except BaseException as error:  # no thread can be started
            let_through(error)
            self.fail(error)
        else:
            try:
                # Not `result(seconds)`: a signal handler may raise the very TimeoutError that it raises.
                in_time = wait([future], seconds).done
            finally:
                future.cancel()
            if in_time:
                future.result()
                self.value, self.error = inner.value, inner.error
            else:
                self.error = _timeout(seconds)
        self.seconds = perf_counter() - started_at

    async def _perform_limited(self, seconds: float | None) -> None:
        if not is_loop_running():
            await self._perform_without_asyncio(seconds)
            return
        started_at = perf_counter()
        reading = asyncio.ensure_future(self._read_off_loop())
        try:
            # Not `wait_for`: it waits for a probe that ignores its cancellation.
            await asyncio.wait([reading], timeout=seconds)
            if reading.done() and not reading.cancelled():
                self.value, self.error = reading.result()
            else:
                self.error = _timeout(seconds)
        finally:
            _give_up(reading)
        self.seconds = perf_counter() - started_at

    async def _read_off_loop(self) -> tuple[Any, BaseException | None]:
        """Read without holding up the event loop, and return state and error."""
        if self._probe.is_async:
            inner = self._unlimited()
            await inner.perform_async()
            return inner.value, inner.error
        try:
            value = await asyncio.wrap_future(submit(self._call_in_thread))
            # The thread cannot await what the probe returned, so it is awaited here.
            if type(value) is _Unawaited:
                value = self._probe.freeze(await value.awaitable)
        except BaseException as error:
            let_through(error)
            return self.value, without_frames(error)
        return value, None

    def _call_in_thread(self) -> Any:
        current_batch.set(self._batch)  # in the context of this call alone
        value = self._probe.call(self._values)
        return _Unawaited(value) if isawaitable(value) else self._probe.freeze(value)

    async def _perform_without_asyncio(self, seconds: float | None) -> None:
        """Read on an event loop other than asyncio's, which cannot interrupt a probe."""
        if not self._probe.is_async:
            self.perform()
        elif seconds is None:
            await self._perform_on_loop()
        else:
            self.error = RuntimeError("an async probe can be given a time limit by asyncio alone")


async def _never() -> None:
    """Stand in for the probe of a read that is never performed."""


NO_READ: Final = Read(Bound(_never, (), (), is_async=True, names=()), {}, {})
"""A read that is never performed: its value stays UNREAD."""


async def perform_together(reads: Sequence[Read]) -> None:
    """Perform the reads of an async action, the awaited ones concurrently."""
    waiting = []
    for read in reads:
        if read.must_wait:
            waiting.append(read)
        else:
            awaitable = read.start()
            if read.seconds > _LONG_SECONDS:
                read.warn_that_it_blocks()
            if awaitable is not None:  # the definition of the probe did not tell
                await read.finish(awaitable)
    if len(waiting) > 1 and is_loop_running():
        await asyncio.gather(*[read.perform_async() for read in waiting])
        return
    for read in waiting:
        await read.perform_async()


def _timeout(seconds: float | None) -> ProbeTimeout:
    return ProbeTimeout(f"the probe did not answer within {seconds:g} s")


class _Unawaited:
    """An awaitable that a probe returned."""

    __slots__ = ("awaitable",)

    def __init__(self, awaitable: Awaitable[Any]) -> None:
        self.awaitable = awaitable


_given_up: Final[set[asyncio.Future[Any]]] = set()
"""Reads that were cancelled and have not ended yet. An event loop holds its tasks weakly."""
on_reset(_given_up.clear)


def _give_up(reading: asyncio.Future[Any]) -> None:
    if not reading.done():
        reading.cancel()
        _given_up.add(reading)
        reading.add_done_callback(_given_up.discard)
