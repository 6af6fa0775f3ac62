"""Reading probes: one read of one probe, guarded, timed and frozen at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from inspect import isawaitable
from time import perf_counter
from typing import Any, Final

from deltaspan._binding import Bound
from deltaspan._discarding import discard
from deltaspan._freeze import SCALARS
from deltaspan._moments import Moment, verifying
from deltaspan._records import UNREAD
from deltaspan._threads import on_asyncio

__all__ = ["NO_READ", "Read", "perform_together"]

_NOT_HERE: Final = (
    "the probe returned an awaitable, which only an async action can await; return the state itself"
)


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
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.error = error  # one that exits, by argparse or pytest.fail, is a probe that failed
        finally:
            verifying.reset(token)
            self.seconds = perf_counter() - began
        return None

    async def finish(self, awaitable: Any) -> None:
        """Await what a probe left to be awaited."""
        began = perf_counter()
        token = verifying.set(self._moment)
        cancels = _cancels()
        try:
            self.value = self._probe.freeze(await awaitable)
        except asyncio.CancelledError as error:
            # It is the action's task that is cancelled, unless the count of its cancellations says otherwise.
            if cancels is None or _cancels() != cancels:
                raise
            self.error = RuntimeError(f"what the probe waited for was cancelled: {error!r}")
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | GeneratorExit) or _is_trios(error):
                raise
            self.error = error
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
            if awaitable is not None:  # its definition did not tell
                await read.finish(awaitable)
    if len(waiting) > 1 and on_asyncio():
        await asyncio.gather(*[read.perform_async() for read in waiting])
        return
    for read in waiting:
        await read.perform_async()


def _is_trios(error: BaseException) -> bool:
    return type(error).__module__.partition(".")[0] == "trio" and not isinstance(error, Exception)


def _cancels() -> int | None:
    """Return how often the task has been cancelled; None where that cannot be told (before Python 3.11)."""
    task = asyncio.current_task() if on_asyncio() else None
    cancelling = getattr(task, "cancelling", None)
    return None if cancelling is None else int(cancelling())
