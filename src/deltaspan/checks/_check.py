"""A check: metric, probe and expectation, and the modifiers that every check has."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar

from deltaspan._state.render import show
from deltaspan.checks._probe import call_text
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.expectations import Expectation, NoChange, NoClaim


@dataclass(frozen=True, slots=True)
class Polling:
    """The repeated reading of a post-state after the action.

    Attributes:
        seconds: the time to read for, from the end of the action.
        every: the pause between two reads, in seconds.
        until: the result that ends it early. `pass` if the check must come to hold, `fail` if it must hold
            throughout.
    """

    seconds: float
    every: float
    until: Literal["pass", "fail"]


@dataclass(frozen=True, slots=True)
class Modifiers:
    """The modifiers of one check.

    Fields keep their defaults until the modifier is used.

    Attributes:
        polling: for how long the post-state is read again, and how often. None for a single read.
        timeout: the longest that one read may take, in seconds.
        lock: a context manager that is held around the window, or a callable that returns one.
        redaction: turns a state into the value that is shown instead.
        showing: whether content that the probe reads is shown.
        unchanged_on_error: whether the state must be unchanged if the action raises.
        sample_rate: the share of runs in which the state is read, from 0 to 1.
    """

    polling: Polling | None = None
    timeout: float | None = None
    lock: Any = None
    redaction: Callable[[Any], Any] | None = None
    showing: bool = False
    unchanged_on_error: bool = False
    sample_rate: float = 1.0


UNMODIFIED: Final = Modifiers()


def is_context_manager(lock: Any) -> bool:
    """Return whether `with` or `async with` can enter the object.

    A class of context managers is not itself a context manager.
    """
    return hasattr(type(lock), "__enter__") or hasattr(type(lock), "__aenter__")


def validate_seconds(word: str, seconds: Any) -> float:
    """Validate a duration in seconds.

    Raises:
        DefinitionTypeError: it is not a number of seconds.
        DefinitionValueError: it is not positive and finite.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise DefinitionTypeError(f"{word} takes a number of seconds, not {seconds!r}")
    if not isfinite(seconds) or seconds <= 0:
        raise DefinitionValueError(f"{word}={seconds!r} must be a positive number of seconds")
    return float(seconds)


def check_unset(modifiers: Modifiers, word: str, field: str, check: object) -> None:
    """Check that a modifier has not been set before.

    Raises:
        DefinitionValueError: it has been set.
    """
    defaults = {each.name: each.default for each in fields(Modifiers)}
    if getattr(modifiers, field) != defaults[field]:
        raise DefinitionValueError(f".{word}(...) was already set on {check!r}; set it once")


S_co = TypeVar("S_co", covariant=True)
C = TypeVar("C", bound="Check[Any]")
_SEMAPHORES: Final = (threading.Semaphore, asyncio.Semaphore)
_METRIC: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True, slots=True, repr=False)
class Check(Generic[S_co]):
    """A metric, the probe that reads it, and what its delta must satisfy.

    Attributes:
        metric: `[A-Za-z0-9_.-]{1,64}`; names the state in reports and telemetry.
        probe: reads the state; its parameters name what it needs.
        expectation: judges the delta.
        words: the source text of each word, for `repr`.
        modifiers: the modifiers beside the claim.
    """

    metric: str
    probe: Callable[..., Any]
    expectation: Expectation
    words: tuple[str, ...] = ()
    modifiers: Modifiers = UNMODIFIED

    def __post_init__(self) -> None:
        if not isinstance(self.metric, str):
            raise DefinitionTypeError(f"a metric is a name such as 'active_flows', not {show(self.metric)}")
        if not _METRIC.fullmatch(self.metric):
            raise DefinitionValueError(
                f"the metric {show(self.metric)} must be 1 to 64 letters, digits, '_', '.' or '-'"
            )
        if not callable(self.probe):
            raise DefinitionTypeError(
                f"the probe of check {self.metric!r} must be callable, not {show(self.probe)}; "
                f"pass the function, not its result"
            )

    @property
    def name(self) -> str:
        """The name of the check: `{metric}_delta`."""
        return f"{self.metric}_delta"

    def eventually(self: C, seconds: float, *, every: float = 0.1) -> C:
        """Read the post-state again until the check passes or time is up.

        The action is never run again. The post-state is read once at the end of the action, then every
        `every` seconds, and a last time when `seconds` have passed. A probe that fails meanwhile is read
        again too. The last read decides. In a sync action the pauses block the thread, and an event loop that
        runs there. With `or_unchanged_on_error`, an action that raised, or claims failure, must leave the
        state unchanged for as long.

        Args:
            seconds: the longest wait, from the end of the action.
            every: the time from one read to the next, in seconds. A longer read skips some.

        Raises:
            DefinitionValueError: the check is `unchanged` (use `holding_for`) or `observe`, which makes no
                claim.

        Example:
            >>> from deltaspan import change
            >>> change("indexed", lambda: 3).by(1).eventually(5)  # doctest: +ELLIPSIS
            change('indexed', <function <lambda> at ...>).by(1).eventually(5)
        """
        if isinstance(self.expectation, NoChange):
            raise DefinitionValueError(
                f"{self!r} cannot be followed by .eventually(...): a state that is unchanged at first proves "
                f"nothing later; say .holding_for(seconds)"
            )
        return self._with_polling("eventually", seconds, every, until="pass")

    def holding_for(self: C, seconds: float, *, every: float = 0.1) -> C:
        """Demand that the check holds throughout `seconds` after the action.

        Args:
            seconds: the time to hold, from the end of the action. The first read that refutes the check, or
                fails, ends the wait.
            every: the time from one read to the next, in seconds. A longer read skips some.

        Raises:
            DefinitionValueError: the check is `observe`, which makes no claim.
        """
        return self._with_polling("holding_for", seconds, every, until="fail")

    def timeout(self: C, seconds: float) -> C:
        """Give up on a read that takes longer than `seconds`.

        The check is then `inconclusive: probe_timeout`.

        A sync probe is then read in another thread, in the same context. A thread that hangs is abandoned. It
        does not keep the process alive.

        Args:
            seconds: the longest that one read may take.
        """
        check_unset(self.modifiers, "timeout", "timeout", self)
        return self._with_modifiers(
            call_text("timeout", seconds), timeout=validate_seconds("timeout", seconds)
        )

    def exclusively(self: C, lock: Any) -> C:
        """Hold a lock from before the baseline until after the verdict.

        The delta is then this action's alone, if every writer takes the lock.

        Args:
            lock: a reusable context manager, sync or async, or a callable that returns one. Examples are a
                lock of `threading` or `asyncio`, a file lock, and an advisory lock of Redis or PostgreSQL.
                The callable may take the action's parameters. Every writer must take the same lock, or it
                proves nothing. Runs nested in the holder do not take it again. In an async action, a
                generator or a window by hand, a thread of its own holds a blocking lock. There the action
                must not take the lock again itself, not even an RLock.

        Raises:
            DefinitionTypeError: the lock is neither a context manager nor a callable.
            DefinitionValueError: the lock is a semaphore that allows more than one holder.
        """
        check_unset(self.modifiers, "exclusively", "lock", self)
        if not (callable(lock) or is_context_manager(lock)):
            raise DefinitionTypeError(
                f"exclusively takes a lock, which is a context manager, or a callable that returns one, "
                f"not {show(lock)}"
            )
        # The value of a semaphore that is held is lower, so only a free one can be refused.
        places = getattr(lock, "_value", 1) if isinstance(lock, _SEMAPHORES) else 1
        if places > 1:
            raise DefinitionValueError(
                f"exclusively takes a lock with one holder at a time, but this semaphore allows {places}; "
                f"use a lock"
            )
        return self._with_modifiers(call_text("exclusively", lock), lock=lock)

    def redacted(self: C, by: Callable[[Any], Any] | None = None) -> C:
        """Hide the states of this check in every output.

        No report, event, log, sentence or exception shows them.

        The verdict uses the true states. Outputs show `(redacted)` instead.

        Args:
            by: turns a frozen state into the value that is shown instead, such as `len`. If it raises,
                `(redacted)` is shown.

        Raises:
            DefinitionTypeError: `by` is not callable.
        """
        check_unset(self.modifiers, "redacted", "redaction", self)
        if by is not None and not callable(by):
            raise DefinitionTypeError(
                f"redacted takes a callable that returns what may be shown, not {show(by)}"
            )
        if self.modifiers.showing:
            raise DefinitionValueError(f"{self!r} is showing and cannot be redacted; keep one of the two")
        call = call_text("redacted") if by is None else call_text("redacted", by)
        return self._with_modifiers(call, redaction=by or _redact)

    def showing(self: C) -> C:
        """Show the content that the probe reads: rows, documents and texts, with their values.

        Without it, reports and telemetry name changes by key and path, and show no value. The state that your
        own function returns is always shown, unless `probe(content=True)` marks it as content.

        Raises:
            DefinitionValueError: the check is redacted.

        Example:
            >>> from deltaspan import change
            >>> from deltaspan.probes import files
            >>> change("version", files.text("VERSION")).to("1.0").showing()
            change('version', text('VERSION')).to('1.0').showing()
        """
        check_unset(self.modifiers, "showing", "showing", self)
        if self.modifiers.redaction is not None:
            raise DefinitionValueError(f"{self!r} is redacted and cannot be showing; keep one of the two")
        return self._with_modifiers(call_text("showing"), showing=True)

    def or_unchanged_on_error(self: C) -> C:
        """Demand an unchanged state if the action raises or claims failure.

        Without it, a check has no verdict if the action raises. If `claim=` says that the action claims
        failure, the check is judged like any other, so an honest failure is a `fail` of `change`. With it,
        both pass if the state is unchanged, and both fail if it changed.

        Raises:
            DefinitionValueError: the check is `unchanged`, which is judged anyway, or `observe`, which makes
                no claim.
        """
        if isinstance(self.expectation, NoChange | NoClaim):
            raise DefinitionValueError(
                f"{self!r} cannot be followed by .or_unchanged_on_error(): it applies only to change(...)"
            )
        check_unset(self.modifiers, "or_unchanged_on_error", "unchanged_on_error", self)
        return self._with_modifiers(call_text("or_unchanged_on_error"), unchanged_on_error=True)

    def sampled(self: C, rate: float) -> C:
        """Read the state only in a share of the runs.

        In the other runs the check is `skipped`.

        In one process the runs of one agent task are all read or all skipped. The same is true of several
        processes that share `DELTASPAN_SAMPLING_KEY`.

        Args:
            rate: the share, from 0 (never) to 1 (always).

        Raises:
            DefinitionTypeError: the rate is not a number.
            DefinitionValueError: the rate is not within 0 and 1.
        """
        check_unset(self.modifiers, "sampled", "sample_rate", self)
        if isinstance(rate, bool) or not isinstance(rate, int | float):
            raise DefinitionTypeError(f"sampled takes a share from 0 to 1, not {show(rate)}")
        if not 0 <= rate <= 1:
            raise DefinitionValueError(f"sampled({rate!r}) is not a share from 0 to 1")
        return self._with_modifiers(call_text("sampled", rate), sample_rate=float(rate))

    def _with_polling(
        self: C, word: str, seconds: float, every: float, *, until: Literal["pass", "fail"]
    ) -> C:
        if isinstance(self.expectation, NoClaim):
            raise DefinitionValueError(
                f"{self!r} cannot be followed by .{word}(...): it makes no claim to wait for; use change(...)"
            )
        if self.modifiers.polling is not None:
            raise DefinitionValueError(
                f"{self!r} cannot be followed by .{word}(...): only one of "
                f"eventually and holding_for can be set; keep one"
            )
        polling = Polling(
            validate_seconds(f"{word}: seconds", seconds), validate_seconds(f"{word}: every", every), until
        )
        call = call_text(word, seconds) if every == 0.1 else call_text(word, seconds, every=every)  # noqa: PLR2004  # the default
        return self._with_modifiers(call, polling=polling)

    def _with_modifiers(self: C, call: str, **modifiers: Any) -> C:
        return replace(self, words=(*self.words, call), modifiers=replace(self.modifiers, **modifiers))

    def __repr__(self) -> str:
        return ".".join(self.words)

    if not TYPE_CHECKING:  # a type checker must report a word that the check does not have

        def __getattr__(self, name: str) -> Any:
            text = f"{type(self).__name__!r} object has no attribute {name!r}"
            if not name.startswith("_") and _is_word(Check, name):
                claims = "nothing" if isinstance(self.expectation, NoClaim) else "that nothing changes"
                text = (
                    f"{self!r} claims {claims}: it cannot be followed by .{name}(...); start from "
                    f"change({self.metric!r}, ...).{name}(...)"
                )
            raise AttributeError(text, name=name, obj=self)


def _is_word(kind: Any, name: str) -> bool:
    """Return whether a kind of check, or a kind below it, has this word."""
    return hasattr(kind, name) or any(_is_word(subclass, name) for subclass in kind.__subclasses__())


def _redact(_: object) -> str:
    return "(redacted)"
