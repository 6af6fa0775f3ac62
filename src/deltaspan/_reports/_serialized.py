"""The values of a delta and an expectation in a report from another process.

A report in its own process explains itself by the expectation and the delta. These may hold lambdas and
other objects that do not pickle. A pickled report has their values and their sentence instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from deltaspan._state.diff import Delta
from deltaspan._state.snapshot import MAPPINGS
from deltaspan.typing import Origin


@dataclass(frozen=True, slots=True)
class SerializedCheck:
    """The values and the sentence of one judged check.

    It replaces the delta and the expectation of the check.

    Attributes:
        expected: the value that the report shows as `expected_delta`.
        value: the value that it shows as `actual_delta`.
        sentence: its explanation.
        changed: whether the states differed.
        others_and_untagged: of tagged rows the values that the report shows as `others` and
            `untagged`; else None.
        origin: the origin of the change; None if nothing changed.
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
    """Return a frozen state with dicts for its read-only mappings, which do not pickle.

    `freeze` restores it.
    """
    kind = type(state)
    if kind in MAPPINGS:
        return {key: to_plain_containers(value) for key, value in state.items()}
    if kind is tuple:
        return tuple(to_plain_containers(member) for member in state)
    return state
