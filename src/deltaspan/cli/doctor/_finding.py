"""What an examination finds: one sentence, and whether it is well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Finding", "Level"]

Level: TypeAlias = Literal["well", "note", "wrong"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        level: `well`; `note` for what may be meant, and may not; `wrong` for what loses telemetry or tags.
        what: what is so, in one sentence.
        cure: what to do about it; empty when it is well.
    """

    level: Level
    what: str
    cure: str = ""
