"""A check: metric, probe and expectation, and the modifiers that every check has."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from deltaspan._state.render import show
from deltaspan.checks._probe import said
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.expectations import Expectation, NoChange, NoClaim

__all__ = [
    "UNMODIFIED",
    "Check",
    "Modifiers",
    "Patience",
    "S_co",
    "check_unset",
    "is_context_manager",
    "validate_seconds",
]


@dataclass(frozen=True, slots=True)
class Patience:
    """The repeated reading of a post-state after the action.

    Attributes:
        seconds: for how long, from the end of the action.
        every: the pause between two reads, in seconds.
        holding: True when it must hold throughout; False when it must come to hold.
    """

    seconds: float
    every: float
    holding: bool


@dataclass(frozen=True, slots=True)
class Modifiers:
    """The modifiers of one check.

    Fields keep their defaults until the modifier is used.

    Attributes:
        patience: looks at the post-state again.
        timeout: the longest that one read may take, in seconds.
        lock: a context manager that is held around the window, or a callable that returns one.
        redaction: turns a state into what may be shown of it.
        showing: whether content that the probe reads is shown.
        unchanged_on_error: when the action raises, its state must not have changed.
        sample_rate: the share of runs in which the state is read, from 0 to 1.
    """

    patience: Patience | None = None
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


def check_unset(said: Modifiers, word: str, field: str, check: object) -> None:
    """Check that a modifier has not been set before.

    Raises:
        DefinitionValueError: it was.
    """
    defaults = {each.name: each.default for each in fields(Modifiers)}
    if getattr(said, field) != defaults[field]:
        raise DefinitionValueError(f"{check!r} cannot be followed by .{word}: it says so already")


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
        words: the source text of the words said so far, for `repr`.
        modifiers: what was said beside the claim.
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
        """The check's name: `{metric}_delta`."""
        return f"{self.metric}_delta"

    def eventually(self: C, seconds: float, *, every: float = 0.1) -> C:
        """Read the post-state again until the check passes or time is up.

        The action is never run again. The post-state is read once at the end of the action, then every
        `every` seconds, and a last time when `seconds` have passed. A probe that fails meanwhile is read
        again too; the last read decides. In a sync action the pauses block, and with them an event loop that
        runs there. With `or_unchanged_on_error`, an action that raised, or claims failure,
        must leave no trace for as long.

        Args:
            seconds: how long to wait at most, from the end of the action.
            every: from one read to the next, in seconds; a read that takes longer skips some.

        Raises:
            DefinitionValueError: the check is `unchanged` (say `holding_for`) or `observe`, which claims
                nothing.

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
        return self._with_polling("eventually", seconds, every, holding=False)

    def holding_for(self: C, seconds: float, *, every: float = 0.1) -> C:
        """Demand that the check holds throughout `seconds` after the action.

        Args:
            seconds: for how long, from the end of the action; the first read that refutes it, or fails, ends
                the wait.
            every: from one read to the next, in seconds; a read that takes longer skips some.

        Raises:
            DefinitionValueError: the check is `observe`, which claims nothing.
        """
        return self._with_polling("holding_for", seconds, every, holding=True)

    def timeout(self: C, seconds: float) -> C:
        """Give up on a read that takes longer than `seconds`.

        The check is then `inconclusive: probe_timeout`.

        A probe that answers without awaiting is read in another thread for this, with the context carried. A
        thread that hangs is left behind: it does not keep the process alive.

        Args:
            seconds: the longest that one read may take.
        """
        check_unset(self.modifiers, "timeout", "timeout", self)
        return self._with_modifiers(said("timeout", seconds), timeout=validate_seconds("timeout", seconds))

    def exclusively(self: C, lock: Any) -> C:
        """Hold a lock from before the baseline until after the verdict.

        The delta is then this action's alone, if every writer takes the lock.

        Args:
            lock: any context manager, sync or async, that can be entered more than once: a lock of
                `threading` or `asyncio`, a file lock, an advisory lock of Redis or PostgreSQL. Or a callable
                that returns one and names what it needs of the action's parameters. Every writer must take
                the same lock, or it proves nothing. Runs nested in the holder do not take it again. In an
                async action, a generator and a window by hand a blocking lock is held by a thread of its own:
                there the action must not take it again itself, not even an RLock.

        Raises:
            DefinitionTypeError: it is no context manager and no callable.
            DefinitionValueError: it is a semaphore that lets in more than one.
        """
        check_unset(self.modifiers, "exclusively", "lock", self)
        if not (callable(lock) or is_context_manager(lock)):
            raise DefinitionTypeError(
                f"exclusively takes a lock, which is a context manager, or a callable that returns one, "
                f"not {show(lock)}"
            )
        # A semaphore that is held says less; then nothing can be told.
        places = getattr(lock, "_value", 1) if isinstance(lock, _SEMAPHORES) else 1
        if places > 1:
            raise DefinitionValueError(
                f"exclusively takes a lock that one holds at a time, and this semaphore lets {places} in"
            )
        return self._with_modifiers(said("exclusively", lock), lock=lock)

    def redacted(self: C, by: Callable[[Any], Any] | None = None) -> C:
        """Hide the states of this check in every output.

        No report, event, log, sentence or exception shows them.

        The verdict is reached on the true states. What is shown instead is `(redacted)`.

        Args:
            by: turns a frozen state into what may be shown of it, such as `len`; what it raises leaves
                `(redacted)`.

        Raises:
            DefinitionTypeError: `by` is not callable.
        """
        check_unset(self.modifiers, "redacted", "redaction", self)
        if by is not None and not callable(by):
            raise DefinitionTypeError(
                f"redacted takes a callable that says what may be shown, not {show(by)}"
            )
        if self.modifiers.showing:
            raise DefinitionValueError(f"{self!r} is showing and cannot be redacted; keep one of the two")
        words = said("redacted") if by is None else said("redacted", by)
        return self._with_modifiers(words, redaction=by or _redact)

    def showing(self: C) -> C:
        """Show the content that the probe reads: rows, documents and texts, with their values.

        Without it, reports and telemetry name what changed in them by key and path, and show no value. What a
        function of your own returns is shown in any case, unless `probe(content=True)` says that it is
        content.

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
        return self._with_modifiers(said("showing"), showing=True)

    def or_unchanged_on_error(self: C) -> C:
        """Demand that the action left no trace if it raises or claims failure.

        Without it a check has no verdict if the action raises. If `claim=` says that the action claims
        failure, the check is judged like any other, so an honest failure is a `fail` of `change`. With it,
        both pass if the state is unchanged, and both fail if it changed.

        Raises:
            DefinitionValueError: the check is judged then anyway (`unchanged`) or claims nothing (`observe`).
        """
        if isinstance(self.expectation, NoChange | NoClaim):
            raise DefinitionValueError(
                f"{self!r} cannot be followed by .or_unchanged_on_error(): only a change needs it"
            )
        check_unset(self.modifiers, "or_unchanged_on_error", "unchanged_on_error", self)
        return self._with_modifiers(said("or_unchanged_on_error"), unchanged_on_error=True)

    def sampled(self: C, rate: float) -> C:
        """Read the state only in a share of the runs.

        In the other runs the check is `skipped`.

        The root tag decides, so that the runs of one agent task are all read or all skipped.

        Args:
            rate: the share, from 0 (never) to 1 (always).

        Raises:
            DefinitionTypeError: it is not a number.
            DefinitionValueError: it is not within 0 and 1.
        """
        check_unset(self.modifiers, "sampled", "sample_rate", self)
        if isinstance(rate, bool) or not isinstance(rate, int | float):
            raise DefinitionTypeError(f"sampled takes a share from 0 to 1, not {show(rate)}")
        if not 0 <= rate <= 1:
            raise DefinitionValueError(f"sampled({rate!r}) is not a share from 0 to 1")
        return self._with_modifiers(said("sampled", rate), sample_rate=float(rate))

    def _with_polling(self: C, word: str, seconds: float, every: float, *, holding: bool) -> C:
        if isinstance(self.expectation, NoClaim):
            raise DefinitionValueError(
                f"{self!r} cannot be followed by .{word}(...): it claims nothing that could come to hold"
            )
        if self.modifiers.patience is not None:
            raise DefinitionValueError(
                f"{self!r} cannot be followed by .{word}(...): one of eventually and "
                f"holding_for is said, once"
            )
        patience = Patience(
            validate_seconds(f"{word}: seconds", seconds), validate_seconds(f"{word}: every", every), holding
        )
        words = said(word, seconds) if every == 0.1 else said(word, seconds, every=every)  # noqa: PLR2004  # the default
        return self._with_modifiers(words, patience=patience)

    def _with_modifiers(self: C, words: str, **modifiers: Any) -> C:
        return replace(self, words=(*self.words, words), modifiers=replace(self.modifiers, **modifiers))

    def __repr__(self) -> str:
        return ".".join(self.words)

    if not TYPE_CHECKING:  # to a type checker a word that is not there must stay an error

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
