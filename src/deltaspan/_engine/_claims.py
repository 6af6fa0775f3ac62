"""What an action says of itself: success, failure, or nothing that could be told."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Mapping
from inspect import isawaitable
from typing import Any

from deltaspan._callables import Bound, discard
from deltaspan._engine._plan import RESULT, YIELDED
from deltaspan._guard import guarded
from deltaspan._verdicts import UNREAD
from deltaspan.typing import Claim

__all__ = ["claim_of"]


def claim_of(
    action: str,
    claim: Bound,
    values: Mapping[str, Any],
    result: Any,
    error: BaseException | None,
    left: int | None,
) -> Claim | None:
    """Return what an action says of itself; None when it says nothing, which is logged if it is a fault.

    Args:
        action: its name, for the log.
        claim: returns whether the action says that it succeeded.
        values: the arguments that it may name.
        result: what the action returned; UNREAD when that is not known.
        error: what the action raised, or None.
        left: how many values a generator had yielded when it was closed early; None when it was not.
    """
    if error is not None:
        return "failure"
    if left is not None and YIELDED not in claim.names:
        return None  # it was closed before it could say anything
    return guarded(f"claim= of {action}", _ask, claim, values, result)


def _ask(claim: Bound, values: Mapping[str, Any], result: Any) -> Claim:
    if result is not UNREAD:
        values = {**values, RESULT: result}
    elif RESULT in claim.names:
        raise LookupError("it names 'result', and this window was given none; use verify(result=...)")
    answer = claim.call(values)
    if isawaitable(answer) or isinstance(answer, Generator | AsyncGenerator):
        discard(answer)
        raise TypeError("it returned something that is still to be run; answer at once")
    return "success" if answer else "failure"
