"""What telemetry says of an action in each of its runs: made once, at decoration."""

from __future__ import annotations

from typing import Any, Final

from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, set_span_in_context

from deltaspan import semconv
from deltaspan._render import label
from deltaspan._telemetry._instruments import Instruments, is_proxy
from deltaspan.typing import Outcome, Reason

__all__ = ["ActionNames"]

# An exemplar of a zero would lead to a trace in which nothing failed.
_NO_SPAN: Final = set_span_in_context(INVALID_SPAN, Context())
_STARTED_AT_ZERO: Final[tuple[Outcome, ...]] = ("pass", "fail")


_EAGER_RUNS: Final = 64


class ActionNames:
    """The names and attribute sets of one action.

    Args:
        action: the action's or window's name.
        function: module and qualified name of its function; None for a window.
        metrics: the metrics of its checks, in order.
    """

    __slots__ = (
        "_by_check",
        "_by_outcome",
        "_runs",
        "_tried",
        "action",
        "identity",
        "is_tool",
        "metrics",
        "of_action",
        "span_name",
        "zeroed",
    )

    def __init__(self, action: str, function: str | None, metrics: tuple[str, ...]) -> None:
        action = label(action)
        self.action = action
        self.metrics = metrics
        self.is_tool = function is not None
        self.of_action = {semconv.ACTION_NAME: action}
        self.identity: dict[str, str] = {semconv.ACTION_NAME: action}
        self.span_name = f"{semconv.SPAN_WINDOW} {action}"
        if function is not None:
            self.span_name = f"{semconv.SPAN_EXECUTE_TOOL} {action}"
            self.identity |= {
                semconv.GEN_AI_OPERATION_NAME: semconv.SPAN_EXECUTE_TOOL,
                semconv.GEN_AI_TOOL_NAME: action,
                semconv.CODE_FUNCTION_NAME: function,
            }
        self.zeroed: Instruments | None = None  # those that have this action's zeros
        self._tried: Any = None  # the meter provider that was last tried
        self._runs = 0
        # Attribute sets of metrics recur with every run; there are as many as the action has series.
        self._by_check: dict[tuple[str, Outcome, Reason | None], dict[str, str]] = {}
        self._by_outcome: dict[Outcome, dict[str, str]] = {}

    def of_check(self, metric: str, outcome: Outcome, reason: Reason | None) -> dict[str, str]:
        """Return the attributes of one series of the checks counter."""
        attributes = self._by_check.get((metric, outcome, reason))
        if attributes is None:
            attributes = {
                semconv.ACTION_NAME: self.action,
                semconv.CHECK_METRIC: metric,
                semconv.CHECK_OUTCOME: outcome,
            }
            if reason is not None:
                attributes[semconv.CHECK_REASON] = reason
            self._by_check[metric, outcome, reason] = attributes
        return attributes

    def of_outcome(self, outcome: Outcome) -> dict[str, str]:
        """Return the attributes of one series of the action's duration."""
        attributes = self._by_outcome.get(outcome)
        if attributes is None:
            attributes = {**self.of_action, semconv.ACTION_OUTCOME: outcome}
            self._by_outcome[outcome] = attributes
        return attributes

    def start_at_zero(self, instruments: Instruments) -> None:
        """Start the series of pass and fail at zero, once for each meter provider.

        Without a first zero `increase()` misses a first failure, and a ratio of failures is empty, not 0.
        """
        # Before there is an SDK zeros are lost, so they are tried again: at each of the first runs, then now
        # and then, because asking for the provider costs as much as the rest of a run's metrics.
        self._runs += 1
        if self._runs > _EAGER_RUNS and self._runs % _EAGER_RUNS:
            return
        provider = instruments.meter_provider()
        if self._tried is provider:
            return
        self._tried = provider
        if not is_proxy(provider):
            self.zeroed = instruments
        for metric in self.metrics:
            for outcome in _STARTED_AT_ZERO:
                instruments.checks.add(0, self.of_check(metric, outcome, None), _NO_SPAN)
