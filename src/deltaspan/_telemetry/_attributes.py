"""Names and attribute sets of an action, made once at decoration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, set_span_in_context

from deltaspan import semconv
from deltaspan._state.render import label
from deltaspan._telemetry._instruments import Instruments, is_proxy
from deltaspan._telemetry._window_names import OTHER, has_too_many_names
from deltaspan.typing import Claim, Origin, Outcome, Reason

# Without this context the exemplar of a zero would lead to a trace in which nothing failed.
_NO_SPAN: Final = set_span_in_context(INVALID_SPAN, Context())
_STARTED_AT_ZERO: Final[dict[bool, tuple[tuple[Outcome, Origin | None], ...]]] = {
    True: (("pass", "this_action"), ("fail", None), ("fail", "this_action")),
    False: (("pass", None), ("fail", "this_action")),
}
"""The outcomes and origins that a check usually has. The key tells whether the check claims a change."""

_Series: TypeAlias = tuple[str, Outcome, Reason | None, Origin | None, Claim | None]

_EAGER_RUNS: Final = 64


class ActionNames:
    """The names and attribute sets of one action.

    Args:
        action: the action's or window's name.
        function: module and qualified name of its function; None for a window.
        metrics: the metric of each check, in order. The value tells whether the check claims a change. None
            if it makes no claim.
        claims: whether the action reports its own success or failure.
        description: what its documentation says of it, or None.
        tool: whether it is a tool of an agent. None for a tool unless another tool calls it.
    """

    __slots__ = (
        "_by_check",
        "_is_folded",
        "_runs",
        "_tool_without_error",
        "_tried_provider",
        "action",
        "action_attributes",
        "claims",
        "is_function",
        "is_tool",
        "metrics",
        "name_in_metrics",
        "tool_identity",
        "tool_span_name",
        "verify_identity",
        "verify_span_name",
        "zeroed_instruments",
    )

    def __init__(
        self,
        action: str,
        function: str | None,
        metrics: Mapping[str, bool | None],
        *,
        claims: bool,
        description: str | None = None,
        tool: bool | None = None,
    ) -> None:
        action = label(action)
        self.action = action
        self.metrics = metrics
        self.claims: tuple[Claim | None, ...] = ("success", "failure") if claims else (None,)
        self.is_function = function is not None
        self.is_tool = tool if self.is_function else False
        self._is_folded = not self.is_function and has_too_many_names(action, metrics)
        name = OTHER if self._is_folded else action
        self.name_in_metrics = {semconv.ACTION_NAME: name}
        self._tool_without_error = {
            semconv.GEN_AI_TOOL_NAME: action,
            semconv.GEN_AI_TOOL_TYPE: semconv.GEN_AI_TOOL_TYPE_FUNCTION,
        }
        self.action_attributes = {semconv.ACTION_NAME: action}
        self.verify_span_name = f"{semconv.SPAN_VERIFY} {name}"
        self.tool_span_name = f"{semconv.SPAN_EXECUTE_TOOL} {action}"
        self.verify_identity = dict(self.action_attributes)
        if function is not None:
            self.verify_identity[semconv.CODE_FUNCTION_NAME] = function
        self.tool_identity = {
            **self.verify_identity,
            semconv.GEN_AI_OPERATION_NAME: semconv.SPAN_EXECUTE_TOOL,
            semconv.GEN_AI_TOOL_NAME: action,
            semconv.GEN_AI_TOOL_TYPE: semconv.GEN_AI_TOOL_TYPE_FUNCTION,
        }
        if description:
            self.tool_identity[semconv.GEN_AI_TOOL_DESCRIPTION] = description
        self.zeroed_instruments: Instruments | None = None  # the instruments that have this action's zeros
        self._tried_provider: Any = None  # the meter provider of the last attempt
        self._runs = 0
        # The attribute sets of metrics recur in every run. There are as many as the action has series.
        self._by_check: dict[_Series, dict[str, str]] = {}

    def check_series(
        self,
        metric: str,
        outcome: Outcome,
        reason: Reason | None,
        origin: Origin | None,
        claim: Claim | None,
    ) -> dict[str, str]:
        """Return the attributes of one series of the checks counter."""
        series = (metric, outcome, reason, origin, claim)
        attributes = self._by_check.get(series)
        if attributes is None:
            attributes = {
                **self.name_in_metrics,
                semconv.CHECK_METRIC: OTHER if self._is_folded else metric,
                semconv.CHECK_OUTCOME: outcome,
            }
            if reason is not None:
                attributes[semconv.CHECK_REASON] = reason
            if origin is not None:
                attributes[semconv.CHECK_ORIGIN] = origin
            if claim is not None:
                attributes[semconv.ACTION_CLAIM] = claim
            self._by_check[series] = attributes
        return attributes

    def outcome_series(self, outcome: Outcome, error_type: str | None) -> dict[str, str]:
        """Return the attributes of one series of the action's duration."""
        attributes = {**self.name_in_metrics, semconv.ACTION_OUTCOME: outcome}
        return attributes if error_type is None else {**attributes, semconv.ERROR_TYPE: error_type}

    def tool_series(self, error_type: str | None) -> dict[str, str]:
        """Return the attributes of one series of the tool's duration."""
        if error_type is None:
            return self._tool_without_error
        return {**self._tool_without_error, semconv.ERROR_TYPE: error_type}

    def start_at_zero(self, instruments: Instruments) -> None:
        """Start the series of an action's claims at zero, once per meter provider.

        Without a first zero `increase()` misses a first failure, and a ratio of failures is empty, not 0.
        A window has no zeros, because its name may be another in each run.
        """
        # Without an SDK zeros are lost, so they are recorded again: in each of the first runs, then in every
        # 64th, because the lookup of the provider costs as much as the rest of metrics. After a swap of
        # providers they are recorded at once.
        self._runs += 1
        if self.zeroed_instruments is None and self._runs > _EAGER_RUNS and self._runs % _EAGER_RUNS:
            return
        provider = instruments.meter_provider()
        if self._tried_provider is provider:
            return
        self._tried_provider = provider
        if not is_proxy(provider):
            self.zeroed_instruments = instruments
        if not self.is_function:
            return
        for metric, claims_change in self.metrics.items():
            if claims_change is None:
                continue
            for outcome, origin in _STARTED_AT_ZERO[claims_change]:
                for claim in self.claims:
                    series = self.check_series(metric, outcome, None, origin, claim)
                    instruments.checks.add(0, series, _NO_SPAN)
