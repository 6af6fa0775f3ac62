"""The result of one check of `deltaspan doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Level: TypeAlias = Literal["well", "note", "wrong"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of one check.

    Attributes:
        level: `well`, `note` for a setting that may be intended, or `wrong` if telemetry or tags are lost.
        problem: one sentence about what was found.
        remedy: what to do about it. Empty if it is well.
    """

    level: Level
    problem: str
    remedy: str = ""
