"""What every sentence about a change can say: its start, its end, a predicate, and what it is not about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from deltaspan._freeze import Unfreezable, freeze
from deltaspan._records import UNREAD
from deltaspan.checks._check import Check, S_co
from deltaspan.checks._words import said
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.expectations import (
    AtLeast,
    AtMost,
    Between,
    By,
    ChangeExpectation,
    Decrease,
    Ignored,
    Increase,
    Movement,
    Satisfying,
    SomeChange,
)

__all__ = ["Sentence", "checked_patterns", "frozen", "refuse_packed"]

C = TypeVar("C", bound="Sentence[Any]")

_OF_NUMBERS = (By, AtLeast, AtMost, Between, Increase, Decrease)


class Sentence(Check[S_co]):
    """A claim that the state changes, and the words that fit any state."""

    __slots__ = ()

    def from_(self: C, state: object) -> C:
        """Demand that the baseline equals `state`, by value.

        Args:
            state: any value, or a callable that computes one from what it names.

        Raises:
            DefinitionValueError: a start was given already.
            DefinitionTypeError: the state cannot be compared by value.

        Example:
            >>> from deltaspan import change, window
            >>> order = {"status": "new"}
            >>> with window("pay", change("status", lambda: order["status"]).from_("new").to("paid")) as w:
            ...     order["status"] = "paid"
            >>> w.report["status"].explanation
            "status changed, as expected ('new' → 'paid')"
        """
        expectation = self._expectation
        if expectation.start is not UNREAD:
            raise DefinitionValueError(f"check {self.metric!r} has a start already: {self!r}")
        start = frozen(self.metric, "from_", state)
        return self._with(replace(expectation, start=start), said("from_", state))

    def to(self: C, state: object) -> C:
        """Demand that the post-state equals `state`, by value; otherwise as for `from_`.

        The state must still have changed: one that was there before proves nothing about the action.
        """
        expectation = self._expectation
        if expectation.end is not UNREAD:
            raise DefinitionValueError(f"check {self.metric!r} has an end already: {self!r}")
        return self._with(replace(expectation, end=frozen(self.metric, "to", state)), said("to", state))

    def satisfying(self: C, predicate: Callable[..., object], description: str) -> C:
        """Demand that a predicate of your own holds: anything that the other words cannot say.

        It alone decides whether the state has to change at all.

        Args:
            predicate: a callable that names what it needs: `delta`, `pre_state`, `post_state`, `result`,
                `causal_tag`, the action's parameters. `delta` is the amount for numbers, otherwise a record
                with what its kind of state has: `changed`, `added`, `removed`, `modified`. What it returns
                is taken as true or false; when it raises, the check is inconclusive.
            description: what it demands, for reports: it is all that they can say of a predicate.

        Raises:
            DefinitionTypeError: the predicate is not callable, or the description is no text.
            DefinitionValueError: the description is empty, or another word already says how far.

        Example:
            >>> from deltaspan import change, window
            >>> rows = {1, 2, 3}
            >>> check = change("rows", lambda: rows).satisfying(
            ...     lambda delta: all(row > 2 for row in delta.removed), "only rows above 2 are removed"
            ... )
            >>> with window("prune", check) as w:
            ...     rows.discard(1)
            >>> w.report["rows"].explanation
            "expected rows to satisfy 'only rows above 2 are removed', but it removed member 1 ({1, 2, 3} "
            "→ {2, 3})"
        """
        words = said("satisfying", predicate, description)
        return self._moving(Satisfying(predicate, description), words)

    def ignoring(self: C, *patterns: object) -> C:
        """Leave keys, members or paths out entirely, before anything is judged.

        What lies below an ignored key is left out with it. It may be said again, to leave out more. A state
        without members has nothing to leave out.

        Args:
            patterns: keys, members and glob patterns over paths, as for `only`.

        Raises:
            DefinitionTypeError: a pattern cannot be compared by value.
            DefinitionValueError: there is no pattern, or the change is that of one number.

        Example:
            >>> from deltaspan import change, window
            >>> doc = {"status": "new", "updated_at": 1}
            >>> check = change("doc", lambda: doc).modifying("status").ignoring("updated_at")
            >>> with window("save", check) as w:
            ...     doc.update(status="done", updated_at=2)
            >>> w.report["doc"].passed
            True
        """
        words = said("ignoring", *patterns)
        expectation = self._expectation
        if isinstance(expectation.movement, _OF_NUMBERS) and not callable(_amount(expectation.movement)):
            raise DefinitionValueError(
                f"{self!r} is about one number, which has no members: it cannot be followed by .{words}"
            )
        ignored = Ignored(
            (*expectation.ignored.patterns, *checked_patterns(self.metric, "ignoring", patterns))
        )
        return self._with(replace(expectation, ignored=ignored), words)

    @property
    def _expectation(self) -> ChangeExpectation:
        assert isinstance(self.expectation, ChangeExpectation)  # noqa: S101  # `change` makes no other
        return self.expectation

    def _moving(self: C, movement: Movement, words: str) -> C:
        expectation = self._expectation
        earlier = expectation.movement
        if not isinstance(earlier, SomeChange):
            hint = ", or use by_between(low, high)" if _both_of_numbers(earlier, movement) else ""
            raise DefinitionValueError(
                f"check {self.metric!r} says twice how far the state moves: {self!r} cannot be followed by "
                f".{words}; keep one{hint}"
            )
        if (
            isinstance(movement, _OF_NUMBERS)
            and expectation.ignored.patterns
            and not callable(_amount(movement))
        ):
            raise DefinitionValueError(
                f"{self!r} leaves members out, and one number has none: it cannot be followed by .{words}"
            )
        return self._with(replace(expectation, movement=movement), words)

    def _with(self: C, expectation: ChangeExpectation, words: str) -> C:
        return replace(self, expectation=expectation, words=(*self.words, words))


def frozen(metric: str, word: str, state: object) -> Any:
    """Return an operand as a snapshot of its value, or as it is when it is to be computed.

    Raises:
        DefinitionTypeError: it cannot be compared by value.
    """
    if callable(state):
        return state
    try:
        return freeze(state)
    except Unfreezable as error:
        raise DefinitionTypeError(f"check {metric!r}: {word} cannot compare with this: {error}") from None


def checked_patterns(metric: str, word: str, patterns: tuple[object, ...]) -> tuple[object, ...]:
    """Return members and patterns as snapshots; at least one.

    Raises:
        DefinitionTypeError: one cannot be compared by value, or they are packed in a list or a set.
        DefinitionValueError: there is none.
    """
    refuse_packed(metric, word, patterns)
    checked = tuple(frozen(metric, word, pattern) for pattern in patterns)
    if not checked:
        raise DefinitionValueError(f"check {metric!r}: {word}() needs at least one member, key or pattern")
    return checked


def refuse_packed(metric: str, word: str, members: tuple[object, ...]) -> None:
    """Refuse one list or set where its members were meant: in a set or as a key neither could be.

    A tuple, a frozenset and a document may each be one member.

    Raises:
        DefinitionTypeError: it is one.
    """
    if len(members) == 1 and isinstance(members[0], list | set):
        kind, whole = ("list", "tuple") if isinstance(members[0], list) else ("set", "frozenset")
        raise DefinitionTypeError(
            f"check {metric!r}: {word} takes members one by one, not a {kind} of them; unpack it: "
            f"{word}(*members), or say {word}({whole}(...)) where one member is itself a {kind}"
        )


def _both_of_numbers(one: Movement, other: Movement) -> bool:
    return isinstance(one, _OF_NUMBERS) and isinstance(other, _OF_NUMBERS)


def _amount(movement: Movement) -> object:
    # A computed amount may turn out to be amounts by key, of which some can be left out.
    return movement.amount if isinstance(movement, By) else None
