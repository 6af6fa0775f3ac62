"""Every name that deltaspan puts on the wire, with its type and unit.

The `delta.*` names are ours. The others follow OpenTelemetry's semantic conventions: `gen_ai.*` from the
GenAI conventions (https://github.com/open-telemetry/semantic-conventions-genai), `code.*`, `error.*` and
`exception.*` from the general ones. They are spelled out here because the Python package marks its
`gen_ai` constants as moved.
"""

from __future__ import annotations

from typing import Final

SCOPE_NAME: Final = "deltaspan"
SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.37.0"

# Spans ------------------------------------------------------------------------------------------------
SPAN_EXECUTE_TOOL: Final = "execute_tool"
"""Span name prefix for an action: `execute_tool {action}`."""
SPAN_WINDOW: Final = "delta.window"
"""Span name prefix for a window around a block: `delta.window {name}`."""

SPAN_VERIFY: Final = "delta.verify"
"""Span name prefix for a verdict reached after its action has returned: `delta.verify {action}`."""

GEN_AI_OPERATION_NAME: Final = "gen_ai.operation.name"
"""string; `execute_tool` on an action's span."""
GEN_AI_TOOL_NAME: Final = "gen_ai.tool.name"
"""string; the action's name."""
CODE_FUNCTION_NAME: Final = "code.function.name"
"""string; module and qualified name of the action's function."""
ERROR_TYPE: Final = "error.type"
"""string; the class of the action's exception, or `delta_check_failed`."""
ERROR_TYPE_CHECK_FAILED: Final = "delta_check_failed"
"""The value of `error.type` when the action returned but its delta was refuted."""
EXCEPTION_TYPE: Final = "exception.type"
"""string; the class of the exception that made a check inconclusive."""
EXCEPTION_MESSAGE: Final = "exception.message"
"""string; its text."""

ACTION_NAME: Final = "delta.action.name"
"""string; the action or window that was verified."""
ACTION_OUTCOME: Final = "delta.action.outcome"
"""string; worst outcome of its checks: fail > inconclusive > pass > observed > skipped."""
ACTION_ATTEMPT: Final = "delta.action.attempt"
"""int; which run of this action below its parent run it is, from 2; a first run does not say."""
WINDOW_HANDED_OVER: Final = "delta.window.handed_over"
"""boolean; true on the span of a window that was handed over; its verdict is on a child span."""
CHECKS_TOTAL: Final = "delta.checks.total"
"""int; how many checks the action has."""
CHECKS_FAILED: Final = "delta.checks.failed"
"""string[]; the metrics whose checks failed, in the order declared."""
PRE_STATE_PREFIX: Final = "delta.pre_state."
"""any, followed by the metric: its state before the action."""
POST_STATE_PREFIX: Final = "delta.post_state."
"""any, followed by the metric: its state after the action."""
EXPECTED_DELTA_PREFIX: Final = "delta.expected_delta."
"""any, followed by the metric: the value for `by`, else words."""
ACTUAL_DELTA_PREFIX: Final = "delta.actual_delta."
"""any, followed by the metric: the computed difference."""

# Causal tag -------------------------------------------------------------------------------------------
CAUSAL_TAG_ID: Final = "delta.causal_tag.id"
"""string, UUID; one run of one action. Also the baggage key."""
CAUSAL_TAG_PARENT_ID: Final = "delta.causal_tag.parent_id"
"""string, UUID; the action that this one was called by, when there is one."""
CAUSAL_TAG_ROOT_ID: Final = "delta.causal_tag.root_id"
"""string, UUID; the outermost action of the run. Also a baggage key."""

# Event ------------------------------------------------------------------------------------------------
EVENT_CHECK: Final = "delta.check"
"""Event name, one per check."""
CHECK_NAME: Final = "delta.check.name"
"""string; `{metric}_delta`."""
CHECK_METRIC: Final = "delta.check.metric"
"""string; the name of what the probe reads."""
CHECK_OUTCOME: Final = "delta.check.outcome"
"""string; pass, fail, inconclusive, observed or skipped."""
CHECK_PASSED: Final = "delta.check.passed"
"""boolean; true for `pass` alone."""
CHECK_REASON: Final = "delta.check.reason"
"""string; why an inconclusive check has no verdict."""
CHECK_PRE_STATE: Final = "delta.check.pre_state"
"""any; the baseline."""
CHECK_POST_STATE: Final = "delta.check.post_state"
"""any; the state after the action."""
CHECK_EXPECTED_DELTA: Final = "delta.check.expected_delta"
"""any; what the expectation demands."""
CHECK_ACTUAL_DELTA: Final = "delta.check.actual_delta"
"""any; the computed difference."""
CHECK_ATTRIBUTION: Final = "delta.check.attribution"
"""string; causal_tag, exclusive, scoped or window."""
CHECK_OTHERS: Final = "delta.check.others"
"""any; what others changed meanwhile, of rows that carry their causal tags."""
CHECK_UNTAGGED: Final = "delta.check.untagged"
"""any; what changed in rows that carry no causal tag."""
CHECK_EXPLANATION: Final = "delta.check.explanation"
"""string; one sentence: what was expected, what happened, both states."""
CHECK_ATTEMPTS: Final = "delta.check.attempts"
"""int; how many reads of the post-state there were, when it was looked at again or locked."""
CHECK_SETTLE_MS: Final = "delta.check.settle_ms"
"""double, ms; from the end of the action to the last read."""
CHECK_LOCK_WAIT_MS: Final = "delta.check.lock_wait_ms"
"""double, ms; how long the check's lock had to be waited for."""
CHECK_BASELINE_AGE_MS: Final = "delta.check.baseline_age_ms"
"""double, ms; how old a baseline was that another process captured."""
CHECK_PROBE_MS: Final = "delta.check.probe_ms"
"""double, ms; what both reads of the probe cost."""

# Metrics ----------------------------------------------------------------------------------------------
METRIC_CHECKS: Final = "delta.checks"
METRIC_CHECKS_UNIT: Final = "{check}"
METRIC_ACTION_DURATION: Final = "delta.action.duration"
METRIC_VERIFICATION_DURATION: Final = "delta.verification.duration"
METRIC_DURATION_UNIT: Final = "s"
DURATION_BUCKETS: Final = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
)
"""seconds; OpenTelemetry's default bounds are meant for milliseconds, which puts every action in one."""
