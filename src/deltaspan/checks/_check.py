"""A check: metric, probe and expectation, and the modifiers that every check has."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from deltaspan._render import show
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.expectations import Expectation

__all__ = ["Check", "S_co"]

S_co = TypeVar("S_co", covariant=True)
_METRIC: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True, slots=True, repr=False)
class Check(Generic[S_co]):
    """A metric, the probe that reads it, and what its delta must satisfy.

    Attributes:
        metric: `[A-Za-z0-9_.-]{1,64}`; names the state in reports and telemetry.
        probe: reads the state; its parameters name what it needs.
        expectation: judges the delta.
        words: the source text of the words said so far, for `repr`.
    """

    metric: str
    probe: Callable[..., Any]
    expectation: Expectation
    words: tuple[str, ...] = ()

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

    def __repr__(self) -> str:
        return ".".join(self.words)
