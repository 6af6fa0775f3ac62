"""The exception of an action, as one log event or one span event."""

from __future__ import annotations

import inspect
from time import time_ns
from typing import Final

from opentelemetry._logs import Logger, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.trace import Span

from deltaspan import semconv
from deltaspan._guard import qualified_name
from deltaspan._telemetry._values import type_name

_CAN_LOG: Final = "exception" in inspect.signature(Logger.emit).parameters  # OpenTelemetry 1.41 and newer


def record_exception(
    span: Span, logger: Logger, context: Context, error: BaseException, tool: str | None, *, has_content: bool
) -> None:
    """Record the exception of an action once.

    Args:
        span: the span of the action.
        logger: carries it as a log event, if it is enabled. Otherwise the span does.
        context: the context of the span.
        error: the exception.
        tool: the name of the tool. None for an action that is not a tool.
        has_content: whether message and stack trace leave.
    """
    name = semconv.EVENT_ACTION_EXCEPTION if tool is None else semconv.EVENT_GEN_AI_EXECUTE_TOOL_EXCEPTION
    if _is_enabled(logger, context, name):
        logger.emit(
            timestamp=time_ns(),
            context=context,
            severity_number=SeverityNumber.WARN,
            attributes={
                **({} if tool is None else {semconv.GEN_AI_TOOL_NAME: tool}),
                **({} if has_content else _type_of(error)),
            },
            event_name=name,
            exception=error if has_content else None,
        )
    elif not span.is_recording():
        return
    elif has_content:
        span.record_exception(error)
    else:
        span.add_event("exception", _type_of(error))


def _type_of(error: BaseException) -> dict[str, str]:
    return {semconv.EXCEPTION_TYPE: type_name(qualified_name(type(error)))}


def _is_enabled(logger: Logger, context: Context, name: str) -> bool:
    is_enabled = getattr(logger, "enabled", None)
    return (
        _CAN_LOG
        and is_enabled is not None
        and bool(is_enabled(context=context, severity_number=SeverityNumber.WARN, event_name=name))
    )
