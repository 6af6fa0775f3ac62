"""The names that deltaspan puts on the wire.

docs/telemetry.md says where each name occurs. Both are generated from telemetry/model. To change a
name, change the model and run `make reference`.
"""

from __future__ import annotations

from typing import Final

SCOPE_NAME: Final = "deltaspan"
SCHEMA_URL: Final = "https://deltaspan.dev/schemas/0.1.0"

# Spans --------------------------------------------------------------------------------------------
SPAN_EXECUTE_TOOL: Final = "execute_tool"
"""Prefix of the span name `execute_tool {action}`."""
SPAN_VERIFY: Final = "verify"
"""Prefix of the span name `verify {name}`."""
SPAN_READ: Final = "read"
"""Prefix of the span name `read {metric}`."""

# Attributes of OpenTelemetry's conventions --------------------------------------------------------
GEN_AI_OPERATION_NAME: Final = "gen_ai.operation.name"
"""string; `execute_tool` on the span of an action."""
GEN_AI_TOOL_NAME: Final = "gen_ai.tool.name"
"""string; The name of the action."""
GEN_AI_TOOL_TYPE: Final = "gen_ai.tool.type"
"""string; `function`, for every tool."""
GEN_AI_TOOL_TYPE_FUNCTION: Final = "function"
GEN_AI_TOOL_DESCRIPTION: Final = "gen_ai.tool.description"
"""string; The first line of the documentation of the action's function."""
GEN_AI_TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
"""string; The id of the call, from the enclosing span of a framework."""
GEN_AI_AGENT_NAME: Final = "gen_ai.agent.name"
"""string; The name of the agent, from the enclosing span."""
GEN_AI_CONVERSATION_ID: Final = "gen_ai.conversation.id"
"""string; The id of the conversation, from the enclosing span."""
GEN_AI_TOOL_CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
"""string; The arguments of the tool, as JSON."""
GEN_AI_TOOL_CALL_RESULT: Final = "gen_ai.tool.call.result"
"""any; What the tool returned. Collections are JSON."""
CODE_FUNCTION_NAME: Final = "code.function.name"
"""string; Module and qualified name of the action's function."""
ERROR_TYPE: Final = "error.type"
"""string; The class of an exception, or `delta_check_failed`. On a check it is the exception of its
probe, expected value or predicate. On an evaluation it is the reason if there was no exception."""
ERROR_TYPE_CHECK_FAILED: Final = "delta_check_failed"
EXCEPTION_TYPE: Final = "exception.type"
"""string; The class of the exception that the action raised."""
GEN_AI_EVALUATION_NAME: Final = "gen_ai.evaluation.name"
"""string; The name of the check, `{metric}_delta`."""
GEN_AI_EVALUATION_SCORE_LABEL: Final = "gen_ai.evaluation.score.label"
"""string; `pass`, `fail` or `inconclusive`."""
GEN_AI_EVALUATION_SCORE_VALUE: Final = "gen_ai.evaluation.score.value"
"""double; 1.0 for `pass`, 0.0 for `fail`."""
GEN_AI_EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"
"""string; One sentence that says what was expected and what happened."""

# Attributes of deltaspan --------------------------------------------------------------------------
ACTION_NAME: Final = "deltaspan.action.name"
"""string; The action or window that was verified."""
ACTION_OUTCOME: Final = "deltaspan.action.outcome"
"""string; The worst outcome of the action's checks: fail > inconclusive > pass > observed > skipped."""
ACTION_CLAIM: Final = "deltaspan.action.claim"
"""string; What the action says of itself, by `claim=`. Absent if it says nothing."""
ACTION_ATTEMPT: Final = "deltaspan.action.attempt"
"""int; Which run of this action below its parent run it is. The first run does not carry it."""
WINDOW_HANDED_OVER: Final = "deltaspan.window.handed_over"
"""boolean; True on the span of a window that was handed over. Its verdict is on a child span."""
ACTION_ENDED: Final = "deltaspan.action.ended"
"""string; How the action ended, if it raised something that is not an error."""
VERIFICATION_DURATION: Final = "deltaspan.verification.duration"
"""double; What checking took beside the action, in seconds."""
VERIFICATION_DEFERRED: Final = "deltaspan.verification.deferred"
"""boolean; True on the span of a deferred action. Its verdict is on a child span."""
CHECK_COUNT: Final = "deltaspan.check.count"
"""int; How many checks the action has."""
CHECK_FAILED_METRICS: Final = "deltaspan.check.failed_metrics"
"""string[]; The metrics whose checks failed, in the order declared."""
CHECK_INCONCLUSIVE_METRICS: Final = "deltaspan.check.inconclusive_metrics"
"""string[]; The metrics whose checks have no verdict, in the order declared."""
PRE_STATE_PREFIX: Final = "deltaspan.pre_state."
"""any, followed by the key of the metric; The state before the action, by the key of the metric."""
POST_STATE_PREFIX: Final = "deltaspan.post_state."
"""any, followed by the key of the metric; The state after the action, by the key of the metric."""
EXPECTED_DELTA_PREFIX: Final = "deltaspan.expected_delta."
"""any, followed by the key of the metric; What the expectation demands, by the key of the metric. The
value for `by`, else words."""
ACTUAL_DELTA_PREFIX: Final = "deltaspan.actual_delta."
"""any, followed by the key of the metric; The computed difference, by the key of the metric."""
CAUSAL_TAG_ID: Final = "deltaspan.causal_tag.id"
"""string; The causal tag, a UUID that names one run of one action. Also the baggage key."""
CAUSAL_TAG_PARENT_ID: Final = "deltaspan.causal_tag.parent_id"
"""string; The causal tag of the run that called this one."""
CAUSAL_TAG_ROOT_ID: Final = "deltaspan.causal_tag.root_id"
"""string; The causal tag of the outermost run. Also a baggage key."""
CHECK_METRIC: Final = "deltaspan.check.metric"
"""string; The name of what the probe reads."""
CHECK_OUTCOME: Final = "deltaspan.check.outcome"
"""string; The verdict of one check."""
CHECK_REASON: Final = "deltaspan.check.reason"
"""string; Why an inconclusive check has no verdict."""
CHECK_PRE_STATE: Final = "deltaspan.check.pre_state"
"""any; The baseline."""
CHECK_POST_STATE: Final = "deltaspan.check.post_state"
"""any; The state after the action."""
CHECK_EXPECTED_DELTA: Final = "deltaspan.check.expected_delta"
"""any; What the expectation demands. The value for `by`, else words."""
CHECK_ACTUAL_DELTA: Final = "deltaspan.check.actual_delta"
"""any; The computed difference."""
CHECK_ATTRIBUTION: Final = "deltaspan.check.attribution"
"""string; Why the delta may be credited to the action."""
CHECK_ORIGIN: Final = "deltaspan.check.origin"
"""string; Who is held to have made the change. Absent if no change was seen."""
CHECK_OTHERS: Final = "deltaspan.check.others"
"""any; What other runs changed meanwhile, in rows that carry their causal tags."""
CHECK_UNTAGGED: Final = "deltaspan.check.untagged"
"""any; What changed meanwhile in rows that carry no causal tag."""
CHECK_EXPLANATION: Final = "deltaspan.check.explanation"
"""string; One sentence that says what was expected and what happened."""
CHECK_ATTEMPT_COUNT: Final = "deltaspan.check.attempt.count"
"""int; How many reads of the post-state there were."""
CHECK_SETTLE_DURATION: Final = "deltaspan.check.settle.duration"
"""double; From the end of the action to the last read of the post-state, in seconds."""
CHECK_LOCK_WAIT_DURATION: Final = "deltaspan.check.lock_wait.duration"
"""double; How long the check waited for its lock, in seconds."""
CHECK_BASELINE_AGE: Final = "deltaspan.check.baseline.age"
"""double; How old a baseline was that another process captured, in seconds."""
CHECK_PROBE_DURATION: Final = "deltaspan.check.probe.duration"
"""double; What the reads of the probe took together, in seconds."""

# Events -------------------------------------------------------------------------------------------
EVENT_CHECK_RESULT: Final = "deltaspan.check.result"
"""The verdict of one check of one run."""
EVENT_GEN_AI_EXECUTE_TOOL_EXCEPTION: Final = "gen_ai.execute_tool.exception"
"""The exception of a tool. Without a logger it is an event `exception` of the span."""
EVENT_ACTION_EXCEPTION: Final = "deltaspan.action.exception"
"""The same for an action or a window that is not a tool."""
EVENT_GEN_AI_EVALUATION_RESULT: Final = "gen_ai.evaluation.result"
"""A verdict as an evaluation of the run's span, if `DELTASPAN_EVENTS` has `evaluation`."""

# Metrics ------------------------------------------------------------------------------------------
METRIC_CHECKS: Final = "deltaspan.checks"
"""counter; Delta checks that were evaluated, by outcome."""
METRIC_CHECKS_UNIT: Final = "{check}"
METRIC_CHECKS_DESCRIPTION: Final = "Delta checks that were evaluated, by outcome."
METRIC_GEN_AI_EXECUTE_TOOL_DURATION: Final = "gen_ai.execute_tool.duration"
"""histogram; How long a tool took, if deltaspan made its span."""
METRIC_GEN_AI_EXECUTE_TOOL_DURATION_UNIT: Final = "s"
METRIC_GEN_AI_EXECUTE_TOOL_DURATION_DESCRIPTION: Final = "How long a tool took, if deltaspan made its span."
METRIC_GEN_AI_EXECUTE_TOOL_DURATION_BUCKETS: Final = (
    0.01,
    0.02,
    0.04,
    0.08,
    0.16,
    0.32,
    0.64,
    1.28,
    2.56,
    5.12,
    10.24,
    20.48,
    40.96,
    81.92,
)
METRIC_ACTION_DURATION: Final = "deltaspan.action.duration"
"""histogram; How long the action took. For tools only if it is asked for."""
METRIC_ACTION_DURATION_UNIT: Final = "s"
METRIC_ACTION_DURATION_DESCRIPTION: Final = "How long the action took. For tools only if it is asked for."
METRIC_ACTION_DURATION_BUCKETS: Final = (
    0.01,
    0.02,
    0.04,
    0.08,
    0.16,
    0.32,
    0.64,
    1.28,
    2.56,
    5.12,
    10.24,
    20.48,
    40.96,
    81.92,
)
METRIC_VERIFICATION_DURATION: Final = "deltaspan.verification.duration"
"""histogram; What checking cost: probes, settling, evaluating."""
METRIC_VERIFICATION_DURATION_UNIT: Final = "s"
METRIC_VERIFICATION_DURATION_DESCRIPTION: Final = "What checking cost: probes, settling, evaluating."
METRIC_VERIFICATION_DURATION_BUCKETS: Final = (
    0.0001,
    0.00025,
    0.0005,
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
