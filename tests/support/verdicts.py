"""The verdict and the sentence of a check on two states, without a run."""

from __future__ import annotations

from typing import Any

from deltaspan._state.diff import difference
from deltaspan._state.snapshot import freeze


def verdict(check: Any, pre: Any, post: Any) -> tuple[str, str]:
    """Judge as a run does: on frozen states, the sentence being the verdict's note where it has one."""
    pre, post = freeze(pre), freeze(post)
    delta = difference(pre, post)
    found = check.expectation.judge(delta, pre, post)
    if found.note is not None:
        return found.outcome, found.note
    holds = found.outcome == "pass"
    return found.outcome, check.expectation.explain("x", delta, pre, post, holds=holds)
