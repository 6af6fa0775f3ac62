"""The claim of an action: success, failure, or nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Mapping
from inspect import isawaitable
from typing import Any

from deltaspan._callables import Bound, discard
from deltaspan._engine._call import Call, Ending
from deltaspan._engine._plan import RESULT, YIELDED
from deltaspan._guard import guarded
from deltaspan._verdicts import UNREAD
from deltaspan.typing import Claim


def claim_of(action: str, claim: Bound, call: Call, ending: Ending) -> Claim | None:
    """Return the claim of an action, or None if it makes none.

    If the callable raises, that is logged and there is no claim.

    Args:
        action: its name, for the log.
        claim: returns whether the action says that it succeeded.
        call: the start of the run.
        ending: the end of the action.
    """
    if ending.error is not None:
        return "failure"
    if ending.is_closed_early and YIELDED not in claim.names:
        return None  # it was closed before it could claim anything
    return guarded(f"claim= of {action}", _evaluate, claim, ending.values(call), ending.result)


def _evaluate(claim: Bound, values: Mapping[str, Any], result: Any) -> Claim:
    if result is not UNREAD:
        values = {**values, RESULT: result}
    elif RESULT in claim.names:
        raise LookupError("it names 'result', and this window was given none; use verify(result=...)")
    answer = claim.call(values)
    if isawaitable(answer) or isinstance(answer, Generator | AsyncGenerator):
        discard(answer)
        raise TypeError("it returned something that is still to be run; answer at once")
    return "success" if answer else "failure"
