"""Spans of single reads, for the diagnosis of probes."""

from __future__ import annotations

from dataclasses import replace
from inspect import isawaitable
from typing import Any

from deltaspan._callables import Bound
from deltaspan._engine._call import OpenReadSpan


def probe_in_span(probe: Bound, metric: str, open_span: OpenReadSpan) -> Bound:
    """Return a probe whose reads each have a span.

    Args:
        probe: the probe of a check.
        metric: the name of what it reads.
        open_span: opens the span.
    """
    function = probe.function

    async def finish(awaitable: Any) -> Any:
        with open_span(metric):
            return await awaitable

    def read(*arguments: Any, **named: Any) -> Any:
        if probe.is_async:
            return finish(function(*arguments, **named))
        with open_span(metric):
            value = function(*arguments, **named)
        return finish(value) if isawaitable(value) else value

    return replace(probe, function=read)
