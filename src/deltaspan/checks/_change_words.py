"""The words that fit any change: its start, its end, a predicate, ignored members."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from deltaspan._state.snapshot import Unfreezable, freeze
from deltaspan._verdicts import UNREAD
from deltaspan.checks._check import Check, S_co
from deltaspan.checks._probe import call_text, source_text
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.expectations import (
    AnyMovement,
    ByAmount,
    ChangeExpectation,
    Computed,
    Ignored,
    Movement,
    Pattern,
    Predicate,
    Satisfying,
    SomeChange,
    has_pattern,
    is_of_numbers,
    parse_key,
    parse_member,
)

C = TypeVar("C", bound="ChangeWords[Any]")


class ChangeWords(Check[S_co]):
    """A claim that the state changes, and the words that fit any state."""

    __slots__ = ()

    def from_(self: C, state: object) -> C:
        """Demand that the baseline equals `state`, by value.

        Args:
            state: any value, or a callable that computes one from the parameters that it names.

        Raises:
            DefinitionValueError: the check already has a start.
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
            raise DefinitionValueError(f"check {self.metric!r} already has a start: {self!r}; give one")
        if expectation.is_idempotent:
            raise _contradictory_ends(self, call_text("from_", state))
        start = freeze_operand(self.metric, "from_", state)
        return self._with(replace(expectation, start=start), call_text("from_", state))

    def to(self: C, state: object) -> C:
        """Demand that the post-state equals `state`, by value.

        The arguments and errors are those of `from_`.

        The state must have changed as well, because an end that was there before proves nothing about the
        action. If the action may find its work done, use `ending_at`.
        """
        expectation = self._expectation
        if expectation.end is not UNREAD:
            raise DefinitionValueError(f"check {self.metric!r} already has an end: {self!r}; give one")
        return self._with(
            replace(expectation, end=freeze_operand(self.metric, "to", state)), call_text("to", state)
        )

    def ending_at(self: C, state: object) -> C:
        """Demand that the post-state equals `state`, by value, changed or not.

        It fits an idempotent action, which may find its work done. If the state must change, prefer
        `.to(state)`, which proves more.

        Args:
            state: any value, or a callable that computes one from the parameters that it names.

        Raises:
            DefinitionValueError: the check already has a start or an end, or another word demands a change.
            DefinitionTypeError: the state cannot be compared by value.

        Example:
            >>> from deltaspan import change, window
            >>> order = {"status": "open"}
            >>> with window("open", change("status", lambda: order["status"]).ending_at("open")) as w:
            ...     order["status"] = "open"
            >>> print(w.report["status"].explanation)  # doctest: +NORMALIZE_WHITESPACE
            status did not change, as expected ('open' → 'open'); it was 'open' already before the action
        """
        call = call_text("ending_at", state)
        expectation = self._expectation
        if expectation.end is not UNREAD:
            raise DefinitionValueError(f"check {self.metric!r} already has an end: {self!r}; give one")
        if expectation.start is not UNREAD:
            raise _contradictory_ends(self, call)
        movement = expectation.movement
        if isinstance(movement, SomeChange):
            movement = AnyMovement()
        _check_admits_no_change(movement, f"{self!r} cannot be followed by .{call}", state)
        end = freeze_operand(self.metric, "ending_at", state)
        return self._with(replace(expectation, end=end, movement=movement, is_idempotent=True), call)

    def satisfying(self: C, predicate: Callable[..., object], description: str) -> C:
        """Demand that a predicate of your own holds.

        It can express what the other words cannot.

        The predicate alone decides whether the state has to change at all.

        Args:
            predicate: a callable whose parameters name what it needs: `delta`, `pre_state`, `post_state`,
                `result`, `causal_tag`, the action's parameters. `delta` is the amount for numbers, otherwise
                a record with `changed` and, of a collection, `added`, `removed` and, of a mapping,
                `modified`. `deltaspan.typing` declares it. The result is taken as true or false. If the
                predicate raises, the check is inconclusive.
            description: the demand in words, for reports. They can say nothing else about a predicate.

        Raises:
            DefinitionTypeError: the predicate is not callable, or the description is not a string.
            DefinitionValueError: the description is empty, or another word already says how the state
                changes.

        Example:
            >>> from deltaspan import change, window
            >>> rows = {1, 2, 3}
            >>> check = change("rows", lambda: rows).satisfying(
            ...     lambda delta: all(row > 2 for row in delta.removed), "only rows above 2 go"
            ... )
            >>> with window("prune", check) as w:
            ...     rows.discard(1)
            >>> print(w.report["rows"].explanation)
            expected rows to satisfy 'only rows above 2 go', but it removed member 1 ({1, 2, 3} → {2, 3})
        """
        call = call_text("satisfying", predicate, description)
        return self._with_movement(Satisfying(Predicate(predicate), description), call)

    def ignoring(self: C, *patterns: object) -> C:
        """Leave keys, members or paths out entirely, before anything is judged.

        Everything below an ignored key is left out with it. It is not read, so it can make no state
        unfreezable, and no report shows it. Members that a callable computes are left out of the delta alone.
        The word may be repeated to leave out more. A state without members has nothing to leave out.

        Args:
            patterns: keys, members and glob patterns over paths, as for `only`.

        Raises:
            DefinitionTypeError: a pattern cannot be compared by value.
            DefinitionValueError: there is no pattern, or the check is about one number.

        Example:
            >>> from deltaspan import change, window
            >>> doc = {"status": "new", "updated_at": 1}
            >>> check = change("doc", lambda: doc).modifying("status").ignoring("updated_at")
            >>> with window("save", check) as w:
            ...     doc.update(status="done", updated_at=2)
            >>> w.report["doc"].passed
            True
        """
        call = call_text("ignoring", *patterns)
        expectation = self._expectation
        if is_of_numbers(expectation.movement) and not _is_any_amount(expectation.movement):
            raise DefinitionValueError(
                f"{self!r} expects a number, which has no members, so .{call} has nothing to leave out; "
                f"remove one of them"
            )
        ignored = Ignored(
            (*expectation.ignored.patterns, *validate_members(self.metric, "ignoring", patterns))
        )
        return self._with(replace(expectation, ignored=ignored), call)

    @property
    def _expectation(self) -> ChangeExpectation:
        assert isinstance(self.expectation, ChangeExpectation)  # noqa: S101  # `change` makes no other
        return self.expectation

    def _with_movement(self: C, movement: Movement, call: str) -> C:
        expectation = self._expectation
        earlier = expectation.movement
        if not isinstance(earlier, SomeChange | AnyMovement):
            hint = (
                ", or use by_between(low, high)" if is_of_numbers(earlier) and is_of_numbers(movement) else ""
            )
            raise DefinitionValueError(
                f"{self!r} cannot be followed by .{call}: only one word can say how the state changes; "
                f"keep one{hint}"
            )
        if is_of_numbers(movement) and expectation.ignored.patterns and not _is_any_amount(movement):
            raise DefinitionValueError(
                f"{self!r} leaves members out, but .{call} expects a number, which has no members; remove "
                f"one of them"
            )
        if expectation.is_idempotent:
            _check_admits_no_change(movement, f"{self!r} cannot be followed by .{call}", expectation.end)
        return self._with(replace(expectation, movement=movement), call)

    def _with(self: C, expectation: ChangeExpectation, call: str) -> C:
        if expectation.keeps_others:
            _check_beside_keeping(self, expectation, call)
        return replace(self, expectation=expectation, words=(*self.words, call))


def _check_beside_keeping(check: Check[Any], expectation: ChangeExpectation, call: str) -> None:
    """Check that `keeping_others` is not combined with a word about all rows.

    Raises:
        DefinitionValueError: there is a start or an end, or others may change.
    """
    if expectation.start is not UNREAD or expectation.end is not UNREAD:
        raise DefinitionValueError(
            f"{check!r} cannot be followed by .{call}: a start and an end are of the whole state, and "
            f".keeping_others() separates the action's rows from those of others; say "
            f"which rows it changes, as .adding(...) does"
        )
    if expectation.movement.allows_others:
        raise DefinitionValueError(
            f"{check!r} cannot be followed by .{call}: .allowing_others() and .keeping_others() contradict "
            f"each other; keep one"
        )


def freeze_operand(metric: str, word: str, state: object) -> Any:
    """Freeze an operand. A callable that computes it becomes a Computed operand.

    Raises:
        DefinitionTypeError: the state cannot be compared by value.
    """
    if callable(state):
        return Computed(state, word)
    try:
        copy = freeze(state)
    except Unfreezable as error:
        raise DefinitionTypeError(f"check {metric!r}: {word} cannot compare with this: {error}") from None
    if has_pattern(state):
        raise DefinitionTypeError(
            f"check {metric!r}: {word} compares with a value, but this is or contains a pattern: {state!r}; "
            f"a pattern is a member of its own, in adding, removing, modifying, only and ignoring"
        )
    return copy


def validate_member(metric: str, word: str, member: object) -> object:
    """Validate one member: a pattern, a value, or a callable that computes members.

    Raises:
        DefinitionTypeError: the member cannot be compared by value.
        DefinitionValueError: a brace is left open, or a field is not a plain name.
    """
    if callable(member):
        return Computed(member, word)
    try:
        return parse_member(member if isinstance(member, Pattern) else freeze_operand(metric, word, member))
    except DefinitionValueError as error:
        raise DefinitionValueError(f"check {metric!r}: {word}: {error}") from None


def validate_key(metric: str, word: str, key: object) -> object:
    """Validate one key of a mapping of amounts.

    Text spells a path. It is not a pattern.

    Raises:
        DefinitionTypeError: the key is a pattern.
        DefinitionValueError: a brace is left open, or a field is not a plain name.
    """
    if callable(key):
        return Computed(key, word)
    if has_pattern(key):
        raise DefinitionTypeError(
            f"check {metric!r}: {word} takes an amount for each key, and {key!r} may name several; write the "
            f"keys one by one"
        )
    try:
        return parse_key(key)
    except DefinitionValueError as error:
        raise DefinitionValueError(f"check {metric!r}: {word}: {error}") from None


def validate_members(metric: str, word: str, patterns: tuple[object, ...]) -> tuple[object, ...]:
    """Validate members and patterns, of which there must be at least one.

    Raises:
        DefinitionTypeError: a member cannot be compared by value, or they are packed in a list or a set.
        DefinitionValueError: there is no member.
    """
    check_unpacked(metric, word, patterns)
    checked = tuple(validate_member(metric, word, pattern) for pattern in patterns)
    if not checked:
        raise DefinitionValueError(f"check {metric!r}: {word}() needs at least one member, key or pattern")
    return checked


def check_unpacked(metric: str, word: str, members: tuple[object, ...]) -> None:
    """Check that members are not packed in one list or set.

    Neither can be a member of a set or a key of a mapping.

    A tuple, a frozenset and a document may each be one member.

    Raises:
        DefinitionTypeError: the only member is a list or a set.
    """
    if len(members) == 1 and isinstance(members[0], list | set):
        kind, whole = ("list", "tuple") if isinstance(members[0], list) else ("set", "frozenset")
        raise DefinitionTypeError(
            f"check {metric!r}: {word} takes members one by one, not a {kind} of them; unpack it: "
            f"{word}(*members), or write {word}({whole}(...)) if one member is itself a {kind}"
        )


def _contradictory_ends(check: object, call: str) -> DefinitionValueError:
    return DefinitionValueError(
        f"{check!r} cannot be followed by .{call}: a start and an end say whether the state changes, and "
        f"ending_at() leaves that open; write .from_(...).to(...), or ending_at() alone"
    )


def _check_admits_no_change(movement: Movement, refusal: str, end: object) -> None:
    """Check that a movement may be none, as `ending_at` requires.

    The end may have been there before the action.

    Raises:
        DefinitionValueError: the movement demands a change.
    """
    if movement.admits_no_change:
        return
    raise DefinitionValueError(
        f"{refusal}: one word demands a change, but the other holds without one; "
        f"write .to({source_text(end)}) instead of .ending_at({source_text(end)})"
    )


def _is_any_amount(movement: Movement) -> bool:
    # A computed amount may be a mapping of amounts by key, of which some can be left out.
    return isinstance(movement, ByAmount) and not movement.direction and isinstance(movement.by, Computed)
