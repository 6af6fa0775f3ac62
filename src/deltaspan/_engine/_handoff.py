"""Handing a window to another process, which verifies it under the same causal tag.

The process that captured ends its span, so that the trace has it for a parent. The process that verifies
makes the span with the verdict, a child of it. Between them travel the frozen baselines, the tag, the trace,
the values of `args`, the age of the baselines, and the windows that overlapped in the first process.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from deltaspan._engine._baselines import BaselineAge
from deltaspan._engine._handoff_format import (
    MICROSECONDS,
    Handoff,
    args_document,
    check_document,
    descendants_document,
    overlap_document,
    sign,
)
from deltaspan._engine._plan import Plan
from deltaspan._engine._run import Run
from deltaspan._state.render import show
from deltaspan.causal_tag import BAGGAGE
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError


def to_document(run: Run, plan: Plan, args: Mapping[str, Any], captured_at: float, key: bytes | None) -> str:
    """Close a run without a verdict, and return the document for another process.

    Args:
        run: the run of a window that is open.
        plan: its window.
        args: the values that checks may name.
        captured_at: when its first baseline was read, in seconds since the epoch.
        key: signs the document. None for a digest.

    Raises:
        DefinitionValueError: something cannot be handed over. The run stays open.
    """
    action, tag, baselines = plan.action, run.tag, run.baselines
    checks = [check_document(action, check, baselines[check.metric]) for check in plan.checks]
    content = {
        "name": action,
        "args": args_document(action, args),
        "captured_us": round(captured_at * MICROSECONDS),
        "opening_us": round(run.opening_seconds * MICROSECONDS),
        "attempt": run.attempt,
        "tag": {"id": tag.id, "root_id": tag.root_id, "parent_id": tag.parent_id},
        "trace": {name: value for name, value in run.headers().items() if name != BAGGAGE},
    }
    # From here on nothing raises, so the run may end.
    baselines = run.hand_over()
    for document in checks:
        baseline = baselines[document["metric"]]
        document.update(overlap_document(baseline.overlap), **descendants_document(baseline.descendants))
    return sign({**content, "checks": checks}, key)


def resume(plan: Plan, handoff: Handoff, max_age: float | None) -> Run:
    """Return the run of a window that was handed over, opened again.

    Args:
        plan: the window and its checks.
        handoff: the window as it was handed over.
        max_age: how old its baselines may be when they are compared, in seconds. None for any age.
    """
    run = Run(plan, handoff.args, handoff.resumed)
    age = BaselineAge(handoff.captured_at, max_age)
    run.reopen(handoff.baselines, age, handoff.opening_seconds)
    return run


def check_same_metrics(handoff: Handoff, metrics: Collection[str]) -> None:
    """Check that a window is given one check for each of its metrics.

    Args:
        handoff: the window that was handed over.
        metrics: the metrics of the checks that it is given.

    Raises:
        DefinitionValueError: a metric is missing on either side.
    """
    for metric in metrics:
        if metric not in handoff.metrics:
            raise DefinitionValueError(
                f"window {handoff.name!r} was handed over without a check on {metric!r}; it checks "
                f"{', '.join(sorted(handoff.metrics))}"
            )
    for metric in sorted(handoff.metrics):
        if metric not in metrics:
            raise DefinitionValueError(
                f"window {handoff.name!r} was handed over with a check on {metric!r}, which from_json() was "
                f"not given; give it a check for each metric"
            )


def validate_max_age(max_age: Any) -> float | None:
    """Validate `max_age`, and return it in seconds, or None.

    Raises:
        DefinitionTypeError: it is not a number.
        DefinitionValueError: it is negative or not a number of seconds at all.
    """
    if max_age is None:
        return None
    if isinstance(max_age, bool) or not isinstance(max_age, int | float):
        raise DefinitionTypeError(f"max_age takes seconds, not {show(max_age)}")
    if math.isnan(max_age) or max_age < 0:
        raise DefinitionValueError(f"max_age={max_age!r} is not a number of seconds from 0")
    return float(max_age)


def check_resumable(plan: Plan) -> None:
    """Check that the checks of a plan can be verified in another process.

    Raises:
        DefinitionTypeError: a probe is async.
        DefinitionValueError: a check holds a lock.
    """
    for check in plan.checks:
        metric = check.metric
        if check.probe.is_async:
            raise DefinitionTypeError(
                f"the probe of check {metric!r} is async, and window {plan.action!r} was handed over: "
                f"verify() cannot await; give it a probe that answers at once"
            )
        if check.lock is not None:
            raise DefinitionValueError(
                f"check {metric!r} holds a lock, and the baseline of window {plan.action!r} was "
                f"captured before it could be taken; leave exclusively() out"
            )
