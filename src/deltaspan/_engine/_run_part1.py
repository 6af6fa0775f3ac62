"""One run of one action: open the window, close the window, hand out the report.

The steps are in `_run_steps`. Here is who takes them and when: a block, sync or async; by hand, across call
sites; a generator, from one value to the next; the background, when the verdict is deferred.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from time import perf_counter
from types import TracebackType
from typing import Any

from deltaspan._workers_part1 import later
from deltaspan._engine._deferred import defer, defer_async
from deltaspan._engine._plan import Plan
from deltaspan._engine._reads import perform_together
from deltaspan._engine._run import RunSteps
from deltaspan._engine._polling import settle, settle_async, steps_of
from deltaspan._workers import on_asyncio
from deltaspan._workers_part2 import current_process, is_collected, watch

__all__ = ["Run"]


class Run(RunSteps):
    """One run of one action, from the first baseline read to the last verdict.

    A context manager, sync and async: entering reads the baselines, leaving judges. `result` is set by
    whoever calls the action.
    """

    __slots__ = ()

    @classmethod
    def of_call(cls, plan: Plan, receiver: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Run:
        """Make the run of one call, with the arguments as the action itself receives them."""
        if plan.arguments is None:
            return cls(plan, {})
        return cls(plan, plan.arguments.read(args if receiver is None else (receiver, *args), kwargs))

    def pause(self) -> None:
        """Keep the window open when this block ends: the action goes on elsewhere, and enters again there."""
        self._paused = True

    def suspend(self) -> None:
        """Leave a generator's body for its consumer, to whom nothing of this run is current."""
        if self._alive is None:
            self._alive = watch(self)
        self.yielded += 1
        self._telemetry.suspend()

    def resume(self, thrown: BaseException | None) -> None:
        """Enter a generator's body again, with what its consumer throws into it, or None."""
        self.left = self.yielded if isinstance(thrown, GeneratorExit) else None
        self._telemetry.enter()

    def settle(self, error: BaseException | None) -> None:
        """Close the window where an exception would reach nobody; what should be raised is logged instead."""
        self._unheard, self._paused, self._alive = True, False, None
        self._telemetry.enter()
        self.__exit__(None, error, None)

    def __enter__(self) -> Run:
        self._telemetry.enter()
        if self._paused:
            self._paused = False
            return self
        try:
            if self._locks is not None:
                for check in self._checks:
                    check.lock(self._locks)
            self._begin()
            for check in self._checks:
                if check.is_read and check.pre.error is None:
                    check.pre.perform()
            self._opened()
        except BaseException:
            self.abandon()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._paused and error is None:
            self._telemetry.leave()
            return
        ended = perf_counter()
        if self._process is not current_process() or self._alive is not None:
            if self._ends_elsewhere(error):
                return
            error = self._fault_in(error)
        if self._is_deferred(error):
            self._defer(ended, error)
            return
        try:
            self._read(error)
            if self._plan.is_patient and not self._is_interrupted(error):
                settle(self._watched(error), ended)
            self._conclude(error, ended)
        finally:
            self._end_and_release(error, ended)
        self._act_on(error)

    async def __aenter__(self) -> Run:
        self._alive = watch(self)
        self._telemetry.enter()
        if self._paused:
            self._paused = False
            return self
        try:
            if self._locks is not None:
                for check in self._checks:
                    await check.lock_async(self._locks)
            self._begin()
            await perform_together(
                [check.pre for check in self._checks if check.is_read and check.pre.error is None]
            )
            self._opened()
        except BaseException as error:
            ended = self._ended_open()
            if ended is not None:
                await self._end_and_release_async(None, ended, error)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ended = perf_counter()
        if self._process is not current_process() or self._alive is not None:
            if self._ends_elsewhere(error):
                return
            error = self._fault_in(error)
        if self._is_deferred(error) and (self._plan.first_async_metric is None or on_asyncio()):
            await self._defer_async(ended, error)
            return
        try:
            if self._is_interrupted(error):
                self._read(error)
            else:
                await perform_together(self._readable(error))
                if self._plan.is_patient:
                    await settle_async(self._watched(error), ended)
            self._conclude(error, ended)
        finally:
            await self._end_and_release_async(error, ended, error)
        self._act_on(error)

    def capture(self, baseline: Mapping[str, Any] | None = None) -> None:
        """Open the window by hand; nothing stays current between `capture` and `conclude`.

        Args:
            baseline: frozen states by metric that were read earlier, instead of reading now.
        """
        if self._locks is not None:
            self._locks.moves = True
        if baseline is None:
            self.__enter__()
        else:
            self._telemetry.enter()
            self._begin()
            for check in self._checks:
                check.pre.value = baseline[check.plan.metric]
            self._opened()
        self._telemetry.leave()

    def conclude(self) -> None:
        """Close a window that was opened by hand; what it raises is as for a decorated action."""
        self._process = current_process()  # whoever asks, parent or forked child, is answered
        self._telemetry.enter()
        self.__exit__(None, None, None)

    def abandon(self) -> None:
        """End a run that nobody will verify any more, or whose baselines were interrupted."""
        ended = self._ended_open()
        if ended is not None:
            self._end_and_release(None, ended)

    def give_up(self, why: str) -> None:
        """End a run that cannot be followed to its end, while its caller still listens.

        Args:
            why: the sentence that says so, with the cure.
        """
        self.why_abandoned = why
        self.abandon()
        self._act_on(None)

    def _ended_open(self) -> float | None:
        """Return when a run ended that nobody closed; None when it is to be ended elsewhere."""
        if self._ends_elsewhere(None):
            return None
        ended = perf_counter()
        self._began = self._began or ended
        self._entered = self._entered or ended  # it may have waited for a lock until now
        return ended

    def _is_deferred(self, error: BaseException | None) -> bool:
        return self._plan.options.deferred and not self._is_interrupted(error)

    def _defer(self, ended: float, error: BaseException | None) -> None:
        """Let the caller go on once the post-states are read; the verdict is reached in the background."""
        if self._plan.first_async_metric is None:
            with self._ended_if_interrupted(ended, error):
                self._read(error)
                self._retire()
            self._let_go()
            defer(steps_of(self._watched(error), ended), partial(self._settled, error, ended))
        else:
            self._let_go()
            defer_async(self._read_and_settle_async(error, ended))

    async def _defer_async(self, ended: float, error: BaseException | None) -> None:
        """Do the same in an async action, whose probes may have to be awaited."""
        with self._ended_if_interrupted(ended, error):
            await perform_together(self._readable(error))
            self._retire()
        self._let_go()
        if self._plan.first_async_metric is None:
            defer(steps_of(self._watched(error), ended), partial(self._settled, error, ended))
        else:
            defer_async(self._settle_async(error, ended))

    @contextmanager
    def _ended_if_interrupted(self, ended: float, error: BaseException | None) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._end_and_release(error, ended)
            raise

    def _let_go(self) -> None:
        self._telemetry.leave()
        self._telemetry.defer()
        self._unheard = True

    def _read(self, error: BaseException | None) -> None:
        for read in self._readable(error):
            read.perform()

    def _settled(self, error: BaseException | None, ended: float) -> None:
        if self.report is not None:
            return
        try:
            self._conclude(error, ended)
        finally:
            self._end_and_release(error, ended)
        self._act_on(error)

    async def _read_and_settle_async(self, error: BaseException | None, ended: float) -> None:
        try:
            await perform_together(self._readable(error))
            self._retire()
            await settle_async(self._watched(error), ended)
        finally:
            self._settled(error, ended)

    async def _settle_async(self, error: BaseException | None, ended: float) -> None:
        try:
            await settle_async(self._watched(error), ended)
        finally:
            self._settled(error, ended)

    async def _end_and_release_async(
        self, error: BaseException | None, ended: float, by: BaseException | None
    ) -> None:
        # Only a coroutine that is closed may not await any more. One that is cancelled may, and must: a lock
        # that is held over a network is released over it.
        if self._locks is None or not on_asyncio() or self._is_closed(by):
            self._end_and_release(error, ended)
            return
        try:
            await self._locks.release_async()
        finally:
            self._end(error, ended)

    def _is_closed(self, error: BaseException | None) -> bool:
        return issubclass(type(error), GeneratorExit) and not self._plan.is_generator

    def _ends_elsewhere(self, error: BaseException | None) -> bool:
        """Return whether this is not the place to close the window: another will, or has been told to."""
        if self._process is not current_process():
            self._telemetry.leave()
            return True
        if self._alive is None or not is_collected(self._alive):
            return False
        self._telemetry.leave()
        later(partial(copy_context().run, self.settle, self._fault_in(error)))
        return True

    def _end_and_release(self, error: BaseException | None, ended: float) -> None:
        # First the locks, while the run is still current: whatever a signal handler calls meanwhile on this
        # thread knows then that they are held, and does not wait for them.
        try:
            if self._locks is not None:
                self._locks.release()
        finally:
            self._end(error, ended)
