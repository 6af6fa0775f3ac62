"""`DeltaVerifier`: the class of the Delta pattern, on the same engine as windows.

The pattern is described at https://verificationdesign.com/patterns/verification/delta/ (CC BY 4.0).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deltaspan._engine import Baseline, Options, Run, make_plan
from deltaspan._state.snapshot import Unfreezable
from deltaspan.checks import change
from deltaspan.exceptions import DefinitionTypeError, WindowStateError

__all__ = ["DeltaVerifier"]

_SEED_KEYS = ("check", "metric", "passed", "expected_delta", "actual_delta", "pre_state", "post_state")


class DeltaVerifier:
    """Capture a baseline, then verify that a number changed by exactly `expected_delta`.

    Both calls may be repeated: a new baseline replaces the old one, and each verification reads anew.
    Each verification leaves as telemetry, as a window named after the metric.

    Args:
        metric_name: what is measured, `[A-Za-z0-9_.-]{1,64}`.
        fetch_state_fn: reads it, and takes no argument.
        expected_delta: post-state minus baseline that is expected.

    Attributes:
        pre_state: the frozen baseline. None before it is captured.
        post_state: the state that the last verification read. None before that.

    Raises:
        DefinitionTypeError: `fetch_state_fn` is not callable, or `expected_delta` not a number.
        DefinitionValueError: `metric_name` is not a valid name.

    Example:
        >>> from deltaspan import DeltaVerifier
        >>> flows = [1, 2, 3]
        >>> verifier = DeltaVerifier("active_flows", lambda: len(flows), expected_delta=1)
        >>> verifier.capture_baseline()
        3
        >>> flows.append(4)
        >>> verifier.verify_delta()["passed"]
        True
    """

    def __init__(self, metric_name: str, fetch_state_fn: Callable[[], Any], expected_delta: Any) -> None:
        self.metric_name = metric_name
        self.fetch_state_fn = fetch_state_fn
        self.expected_delta = expected_delta
        self.pre_state: Any = None
        self.post_state: Any = None
        check = change(metric_name, fetch_state_fn).by(expected_delta)
        self._plan = make_plan(
            metric_name, None, (), [check], Options(on_failure="record", on_inconclusive="record")
        )
        self._run: Run | None = None
        self._is_captured = False

    def capture_baseline(self) -> Any:
        """Read the baseline, immediately before the agent acts, and return it.

        Raises:
            Exception: the exception that `fetch_state_fn` raises. No baseline is captured then.
        """
        self._is_captured = False
        if self._run is not None:
            self._run.abandon()
            self._run = None
        run = Run(self._plan, {})
        run.capture()
        baseline = run.baselines[self.metric_name]
        self._raise_error(baseline.error, run)
        self._run, self._is_captured = run, True
        self.pre_state = baseline.state
        return self.pre_state

    def verify_delta(self) -> dict[str, Any]:
        """Read the state again, after the agent acted, and judge the delta.

        Returns:
            `check, metric, passed, expected_delta, actual_delta, pre_state, post_state`.

        Raises:
            WindowStateError: (a ValueError) no baseline was captured.
            Exception: the exception that `fetch_state_fn` raises.
        """
        if not self._is_captured:
            raise WindowStateError("baseline never captured; cannot verify a delta")
        run, self._run = self._run, None
        if run is None:
            run = Run(self._plan, {})
            run.reopen({self.metric_name: Baseline(self.pre_state)})
        run.verify()
        assert run.report is not None  # noqa: S101  # a concluded run has one
        report = run.report[self.metric_name]
        self._raise_error(report.error, None)
        self.post_state = report.post_state
        values = report.to_dict()
        return {key: values[key] for key in _SEED_KEYS}

    @staticmethod
    def _raise_error(error: BaseException | None, run: Run | None) -> None:
        if error is None:
            return
        if run is not None:
            run.verify()
        if issubclass(type(error), Unfreezable):
            raise DefinitionTypeError(
                f"fetch_state_fn must return a state that can be compared: {error}"
            ) from None
        raise error
