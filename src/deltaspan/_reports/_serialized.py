"""A delta and an expectation as written: what is left of them in a report that crossed a process.

A report in its own process can explain itself, because it holds the expectation and the delta. They may hold
lambdas and anything else that does not pickle, so what travels is their values and their sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from deltaspan._state.diff import Delta
from deltaspan.typing import Origin

__all__ = ["SerializedCheck", "to_plain_containers"]


@dataclass(frozen=True, slots=True)
class SerializedCheck:
    """The values and the sentence of one judged check; stands in for its delta and its expectation.

    Attributes:
        expected: what the report shows as `expected_delta`.
        value: what it shows as `actual_delta`.
        sentence: its explanation.
        changed: whether the states differed.
        others_and_untagged: of tagged rows what the report shows as `others` and as `untagged`; else None.
        origin: who is held to have made the change; None when there was none.
    """

    expected: Any
    value: Any
    sentence: str
    changed: bool
    others_and_untagged: tuple[Any, Any] | None = None
    origin: Origin | None = None
    keeps_others: ClassVar[bool] = True

    def words(self) -> str:
        return self.sentence

    def explain(
        self, metric: str, delta: Delta, pre_state: object, post_state: object, *, holds: bool
    ) -> str:
        return self.sentence


def to_plain_containers(state: Any) -> Any:
    """Return a frozen state with its read-only mappings as dicts, which pickle; freezing gives it back."""
    kind = type(state)
    if kind is MappingProxyType:
        return {key: to_plain_containers(value) for key, value in state.items()}
    if kind is tuple:
        return tuple(to_plain_containers(member) for member in state)
    return state
