"""The arguments and the result of an action that leave in telemetry."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deltaspan._callables import ArgumentReader
from deltaspan._telemetry import ToolContent
from deltaspan.exceptions import DefinitionTypeError


@dataclass(frozen=True, slots=True)
class Capture:
    """The content of a call that may leave.

    Attributes:
        is_requested: whether the action's definition asks for it. Otherwise the settings decide.
        reader: reads the arguments.
        receiver: the first parameter, which is left out if the action is bound to an object.
        redacted: the arguments that are shown as redacted.
        has_result: whether the result leaves too.
        redacts_result: whether it is shown as redacted.
    """

    is_requested: bool
    reader: ArgumentReader
    receiver: str | None
    redacted: frozenset[str]
    has_result: bool
    redacts_result: bool

    def begin(self, receiver: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> ToolContent:
        """Return the content of a call, without its result.

        Args:
            receiver: the object that the action is bound to, or None.
            args: the positional arguments of the call.
            kwargs: its keyword arguments.
        """
        arguments = self.reader.read(args if receiver is None else (receiver, *args), kwargs)
        if receiver is not None and self.receiver is not None:
            arguments.pop(self.receiver, None)
        return ToolContent(
            arguments, self.redacted, has_result=self.has_result, redacts_result=self.redacts_result
        )


def make_capture(
    requested: bool | Collection[str] | None,  # noqa: FBT001  # as a user writes it
    action: str,
    parameters: Sequence[inspect.Parameter],
    redacted: Collection[str] | None,
    *,
    result: str,
) -> Capture | None:
    """Return the content of an action that may leave, or None if none may.

    Args:
        requested: True for all arguments and the result, or their names. None if the settings decide.
        action: the name of the action.
        parameters: what the action takes.
        redacted: the names that redacted checks use. None if no check is redacted.
        result: the name of the result.

    Raises:
        DefinitionTypeError: a name is neither an argument nor the result.
    """
    if requested is False:
        return None
    known = [parameter.name for parameter in parameters]
    names = [*known, result] if requested is None or isinstance(requested, bool) else requested
    for name in names:
        if name not in known and name != result:
            near = difflib.get_close_matches(str(name), [*known, result], n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"write some of {', '.join([*known, result])}"
            raise DefinitionTypeError(
                f"capture_arguments= of action {action!r} names {name!r}, which is not an argument; {hint}"
            )
    return Capture(
        requested is not None,
        ArgumentReader.for_parameters(parameters, names),
        known[0] if known else None,
        frozenset(redacted or ()),
        has_result=result in names,
        redacts_result=redacted is not None,
    )
