"""The expectation of a change: optional start, optional end, and a movement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from deltaspan._state.diff import Delta, MappingDelta, TaggedDelta, difference, equal
from deltaspan._state.render import show, transition, whole
from deltaspan._state.snapshot import freeze
from deltaspan._verdicts import FAIL, OBSERVED, PASS, UNREAD, Raised, Verdict, inconclusive
from deltaspan.expectations._base import Incomparable, Movement, NothingClaimed, States, sentence
from deltaspan.expectations._computed import resolve
from deltaspan.expectations._ends import describe_state
from deltaspan.expectations._ignoring import NOTHING_IGNORED, Ignored
from deltaspan.expectations._keeping_others import (
    NO_ROWS,
    changes_of_kept_rows,
    collateral_words,
    kept_sentence,
)
from deltaspan.expectations._movements import SOME_CHANGE, AnyMovement
from deltaspan.expectations._operands import Computed, Operand, OperandValues, operands_in
from deltaspan.expectations._predicates import PredicateRaised


@dataclass(frozen=True, slots=True)
class ChangeExpectation:
    """A movement, optionally from a given start and to a given end.

    Attributes:
        start: the frozen state that the baseline must equal. UNREAD accepts any.
        end: the frozen state that the post-state must equal. UNREAD accepts any.
        movement: the demand on the movement. A bare start or end demands some change, because an end that
            was there before the action proves nothing about the action.
        ignored: the members that are left out before anything is judged, also of a start and an end.
        is_idempotent: whether the end may have been there before the action.
        keeps_others: whether tagged rows of others must be unchanged.
    """

    movement: Movement = SOME_CHANGE
    start: Any = UNREAD
    end: Any = UNREAD
    ignored: Ignored = NOTHING_IGNORED
    is_idempotent: bool = False
    keeps_others: bool = False

    @property
    def expected(self) -> object:
        expected = self.movement.expected
        if expected is None:
            expected = self._ends.strip(" ,") or "some change"
        elif self.is_idempotent and isinstance(expected, str):
            expected = f"{expected}{self._ends}"
        if isinstance(expected, Computed):
            expected = "computed"
        keeping = ", keeping other rows" if self.keeps_others else ""
        return f"{expected}{keeping}{self.ignored.words}" if isinstance(expected, str) else expected

    @property
    def _ends(self) -> str:
        start = "" if self.start is UNREAD else f" from {_operand(self.start)}"
        if self.is_idempotent:
            return f", ending at {_operand(self.end)}"
        return start if self.end is UNREAD else f"{start} to {_operand(self.end)}"

    @property
    def operands(self) -> Iterable[Operand]:
        return (*self.movement.operands, *operands_in(self.start, self.end), *self.ignored.operands)

    def resolve(self, values: OperandValues) -> ChangeExpectation:
        return replace(
            self,
            movement=self.movement.resolve(values),
            start=resolve(self.start, values),
            end=resolve(self.end, values),
            ignored=self.ignored.resolve(values),
        )

    def judge(self, delta: Delta, pre_state: object, post_state: object) -> Verdict:
        states = (pre_state, post_state)
        try:
            if self.ignored.patterns:
                delta = self.ignored.leave_out(delta)
            moved = self.movement.holds(delta, states)
        except Incomparable as error:
            return inconclusive("incomparable", error.sentence(states))
        except NothingClaimed as error:
            return inconclusive("expectation_failed", str(error))
        except PredicateRaised as error:
            raised = None if error.error is None else Raised.of(error.error)
            return inconclusive("expectation_failed", str(error), raised)
        moved = moved and not self.collateral(delta).changed
        return PASS if moved and self.has_start(pre_state) and self.has_end(post_state) else FAIL

    def explain(
        self, metric: str, delta: Delta, pre_state: object, post_state: object, *, holds: bool
    ) -> str:
        states = (pre_state, post_state)
        delta = self.ignored.leave_out(delta)
        deviations = [] if holds else list(self._describe_deviations(delta, states))
        happened = " and ".join(deviations) or self.movement.happened(delta)
        ignoring = self.ignored.words
        if self.keeps_others and isinstance(delta, TaggedDelta):
            unkept = self.collateral(delta)
            if deviations and not delta.mine.changed:
                happened = "changed no row of its own"
            if unkept.changed:
                happened = f"{happened} and it" if deviations else "also"
                happened += f" {collateral_words(unkept)}"
            return kept_sentence(metric, f"{self._demand}{ignoring}", happened, delta, unkept, holds=holds)
        if holds:
            happened += ignoring
        held = self._already_held(states)
        return sentence(metric, f"{self._demand}{ignoring}", happened, states, holds=holds, held=held)

    @property
    def _demand(self) -> str:
        movement, extent = self.movement, self.movement.extent
        if isinstance(movement, AnyMovement):
            return f"end at {_operand(self.end)}, changed or not"
        if self.is_idempotent:
            return f"{movement.verb} {extent}".rstrip() + self._ends
        return f"{movement.verb}{self._ends}{' ' if extent else ''}{extent}"

    def _already_held(self, states: States) -> str:
        """Say that the demanded end was there before the action, if so."""
        if self.end is UNREAD or isinstance(self.end, Computed) or not self.has_end(states[0]):
            return ""
        # The demanded end may contain ignored members that the state does not have.
        return _held_clause(self.end if equal(self.end, states[0]) else None)

    def _describe_deviations(self, delta: Delta, states: States) -> Iterator[str]:
        is_start, is_still = self.has_start(states[0]), not delta.changed
        if not is_start:
            yield f"started {describe_state(self.start, states[0], self.ignored)}"
        if not self.has_end(states[1]):
            if is_start or not is_still:
                verb = "stayed" if is_still else "ended"
                yield f"{verb} {describe_state(self.end, states[1], self.ignored)}"
            else:
                yield "did not change"
            if is_still:
                return  # the sentence already says that the state did not change
        deviation = self.movement.describe_deviation(delta, states)
        if deviation is not None:
            yield deviation

    def collateral(self, delta: Delta) -> MappingDelta:
        """Return the changes of rows that were to be kept.

        It is empty if no rows were to be kept.

        Args:
            delta: the delta without ignored members.
        """
        if self.keeps_others and isinstance(delta, TaggedDelta):
            return changes_of_kept_rows(self.movement, delta)
        return NO_ROWS

    def has_start(self, pre_state: object) -> bool:
        """Return whether the baseline is the demanded start, if any."""
        return self.start is UNREAD or self._is_same(self.start, pre_state)

    def has_end(self, post_state: object) -> bool:
        """Return whether the post-state is the demanded end, if any."""
        return self.end is UNREAD or self._is_same(self.end, post_state)

    def _is_same(self, expected: object, state: object) -> bool:
        if not self.ignored.patterns:
            return equal(expected, state)
        expected = freeze(expected, self.ignored.pruning)  # as the state was read
        return not self.ignored.leave_out(difference(expected, state)).changed


def _held_clause(state: object) -> str:
    """Say that a state was there before the action.

    None and a long state are not shown.
    """
    shown = None if state is None else whole(state)
    return f"it was {shown or 'so'} already before the action"


def _operand(state: object) -> str:
    return "a computed state" if isinstance(state, Computed) else show(state)


@dataclass(frozen=True, slots=True)
class NoChange:
    """The two states are equal, by value.

    Attributes:
        ignored: the members that are left out before anything is judged.
        cause: the reason why nothing may have changed, such as `raised ValueError`, or nothing.
    """

    ignored: Ignored = NOTHING_IGNORED
    cause: str = ""
    movement: ClassVar[None] = None
    keeps_others: ClassVar[bool] = False

    @property
    def expected(self) -> str:
        return f"no change{self.ignored.words}"

    @property
    def operands(self) -> Iterable[Operand]:
        return self.ignored.operands

    def resolve(self, values: OperandValues) -> NoChange:
        return replace(self, ignored=self.ignored.resolve(values))

    def judge(self, delta: Delta, pre_state: object, post_state: object) -> Verdict:
        return FAIL if delta.changed and self.ignored.leave_out(delta).changed else PASS

    def explain(
        self, metric: str, delta: Delta, pre_state: object, post_state: object, *, holds: bool
    ) -> str:
        ignoring = self.ignored.words
        after = f" after the action {self.cause}" if self.cause else ""
        because = f", because the action {self.cause}" if self.cause else ""
        happened = f"did not change{after}{ignoring}" if holds else self.ignored.leave_out(delta).words()
        demand = f"stay unchanged{ignoring}{because}"
        # After a failure the sentence already says what did not happen. Rows of others may have changed.
        is_held = holds and not self.cause and not isinstance(delta, TaggedDelta)
        held = _held_clause(None if self.ignored.patterns else post_state) if is_held else ""
        return sentence(metric, demand, happened, (pre_state, post_state), holds=holds, held=held)


@dataclass(frozen=True, slots=True)
class NoClaim:
    """No claim. Both states and their delta are recorded."""

    expected: ClassVar[str] = "no claim"
    movement: ClassVar[None] = None
    ignored: ClassVar[Ignored] = NOTHING_IGNORED
    keeps_others: ClassVar[bool] = False

    operands: ClassVar[Iterable[Operand]] = ()

    def resolve(self, values: OperandValues) -> NoClaim:
        return self

    def judge(self, delta: Delta, pre_state: object, post_state: object) -> Verdict:
        return OBSERVED

    def explain(
        self,
        metric: str,
        delta: Delta,
        pre_state: object,
        post_state: object,
        *,
        holds: bool,
    ) -> str:
        happened = delta.words() if delta.changed else "did not change"
        return f"{metric} {happened}{transition(pre_state, post_state)}; no claim was made"
