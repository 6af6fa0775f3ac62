"""The causal tag: the UUID of one run of one action, and its way through contexts and processes.

How it lives in one context is the business of `_tag_context`; here are what is asked of it, and its ways in
and out. Between processes a tag travels in headers or in the environment, always in W3C's own form, whatever
propagator is configured: an agent's tools are no place to find out that two services speak different ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, Final

from opentelemetry import baggage, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context, attach, get_current
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from deltaspan import semconv
from deltaspan._config import settings
from deltaspan._process import on_reset
from deltaspan.causal_tag._context import (
    BAGGAGE_KEY,
    LOCAL_KEY,
    CausalTag,
    attempt_of,
    context_with,
    context_without,
    ids_in,
    local_tag,
    mint,
    valid_ids,
    without_ours,
)
from deltaspan.causal_tag._descendants import DescendantTracker, start_tracking, stop_tracking
from deltaspan.causal_tag._headers import BAGGAGE, baggage_pairs, carried, within_limits
from deltaspan.causal_tag._ids import TRAILER_OF_ROOT, TRAILER_OF_TAG, is_tag

__all__ = [
    "BAGGAGE",
    "TRAILER_OF_ROOT",
    "TRAILER_OF_TAG",
    "CausalTag",
    "DescendantTracker",
    "adopt",
    "ambient",
    "attempt_of",
    "carried",
    "causal_environ",
    "causal_headers",
    "context_with",
    "context_without",
    "continued",
    "current_causal_root",
    "current_causal_tag",
    "headers_of",
    "is_tag",
    "local_tag",
    "mint",
    "start_tracking",
    "stop_tracking",
    "untagged",
]

_W3C_TRACE: Final = TraceContextTextMapPropagator()
_W3C_BAGGAGE: Final = W3CBaggagePropagator()
_LONGEST_TAG: Final = dict.fromkeys((semconv.CAUSAL_TAG_ID, semconv.CAUSAL_TAG_ROOT_ID), "0" * 36)
"""A tag and its root as baggage, of which the values stand for any."""


def current_causal_tag() -> str | None:
    """Return the causal tag that effects made here and now belong to.

    Returns:
        The canonical UUID text of the innermost action's tag; outside any action a valid inbound one, so
        that an undecorated service still marks what it does for its caller; else None.

    Example:
        >>> from deltaspan import current_causal_tag
        >>> current_causal_tag() is None
        True
    """
    found = ids_in(ambient())
    return None if found is None else found[0]


def current_causal_root() -> str | None:
    """Return the tag of the outermost action that effects made here and now belong to; None without one.

    Example:
        >>> from deltaspan import expects, observe
        >>> @expects(observe("runs", lambda: 0))
        ... def outermost():
        ...     return current_causal_root() == current_causal_tag()
        >>> outermost()
        True
    """
    found = ids_in(ambient())
    return None if found is None else found[1]


def causal_headers() -> dict[str, str]:
    """Return the headers that make what is done elsewhere part of what is done here.

    Always W3C's `traceparent`, `tracestate` and `baggage`, in lower case, whatever propagator is configured;
    each only when there is something to say. Send them to whom you trust: baggage holds what was put into it.

    Example:
        >>> from deltaspan import causal_headers, expects, observe
        >>> @expects(observe("sent", lambda: 0))
        ... def send():
        ...     return causal_headers()
        >>> "delta.causal_tag.id=" in send()["baggage"]
        True
    """
    return headers_of(ambient())


def causal_environ() -> dict[str, str]:
    """Return the same as environment variables, `TRACEPARENT`, `TRACESTATE` and `BAGGAGE`, for a subprocess.

    A process that has them in its environment takes them up by itself, at its first action that has no
    context of its own, and only when they hold a causal tag.

    Example:
        >>> import os, subprocess, sys
        >>> from deltaspan import causal_environ, expects, observe
        >>> @expects(observe("runs", lambda: 0))
        ... def run(*command):
        ...     subprocess.run(command, env={**os.environ, **causal_environ()}, check=True)
        >>> run(sys.executable, "-c", "import deltaspan; assert deltaspan.current_causal_tag()")
    """
    return {name.upper(): value for name, value in causal_headers().items()}


@contextmanager
def adopt(headers: Mapping[Any, Any]) -> Iterator[None]:
    """Take up what `causal_headers()` or `causal_environ()` gave out elsewhere, for the length of a block.

    Inside, actions are children of that tag and `current_causal_tag()` returns it; the trace goes on, and so
    does other baggage. A span that is current and of that trace already stays current. Works in async code
    as it is, with a plain `with`.

    Headers are untrusted: only the canonical text of a non-nil UUID counts as a tag, and whatever cannot be
    understood is ignored without a word.

    Args:
        headers: any mapping of names to text or bytes; names in any case, also the environment itself.

    Raises:
        DefinitionTypeError: it is not a mapping.

    Example:
        >>> from deltaspan import adopt, current_causal_tag
        >>> with adopt({"Baggage": "delta.causal_tag.id=3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"}):
        ...     print(current_causal_tag())
        3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f
    """
    token = attach(_taken_up(headers, get_current()))
    try:
        yield
    finally:
        # An async generator may be closed in another context, where there is nothing to restore; of that
        # OpenTelemetry's own detach would log an error.
        with suppress(ValueError):
            token.var.reset(token)


def ambient() -> Context:
    """Return the context that is current, or what the environment hands down where none is."""
    context = get_current()
    inherited = _inherited()
    if inherited is None or ids_in(context) is not None or _span_in(context).is_valid:
        return context
    return Context({**inherited, **context})


def untagged(context: Context | None = None) -> Context:
    """Return a context whose baggage does not hold the tag, to send something to a stranger in.

    The tag is still current in it: stamps and nested actions are what they were, and `causal_headers()`
    still gives it, because there you say to whom.

    Args:
        context: what to take the baggage from; the current one by default.

    Example:
        >>> from opentelemetry.context import attach, detach
        >>> token = attach(untagged())
        >>> detach(token)  # what is sent between these two tells no tag
    """
    found = get_current() if context is None else context
    return Context({**found, BAGGAGE_KEY: without_ours(baggage.get_all(found))})


def headers_of(context: Context) -> dict[str, str]:
    """Return what `causal_headers` does, of a context that need not be current."""
    headers: dict[str, str] = {}
    _W3C_TRACE.inject(headers, context)
    pairs = without_ours(baggage.get_all(context))
    ids = ids_in(context)
    if ids is not None and settings().propagate:
        # Ours first: what comes last is dropped if there is too much.
        pairs = {semconv.CAUSAL_TAG_ID: ids[0], semconv.CAUSAL_TAG_ROOT_ID: ids[1], **pairs}
    _W3C_BAGGAGE.inject(headers, Context({BAGGAGE_KEY: within_limits(pairs)}))
    return headers


def continued(headers: Mapping[str, str], context: Context) -> Context:
    """Return `context` in the trace that lower-case `headers` name; itself when they name none."""
    return _W3C_TRACE.extract(headers, context)


@lru_cache(maxsize=1)
def _inherited() -> Context | None:
    """Return what the environment hands down, read once; None unless a causal tag is there."""
    context = _taken_up(os.environ, Context())
    return context if LOCAL_KEY in context else None


on_reset(_inherited.cache_clear)


def _taken_up(headers: Any, context: Context) -> Context:
    found = carried(headers)
    remote = continued(found, context)
    if _span_in(remote).trace_id != _span_in(context).trace_id:
        context = remote
    pairs = baggage_pairs(found.get(BAGGAGE, ""))
    ids = valid_ids(pairs.pop(semconv.CAUSAL_TAG_ID, None), pairs.pop(semconv.CAUSAL_TAG_ROOT_ID, None))
    if pairs:
        known = without_ours({**baggage.get_all(context), **pairs})
        context = Context({**context, BAGGAGE_KEY: within_limits(known, _LONGEST_TAG)})
    return context if ids is None else context_with(CausalTag(*ids, None, None, {}), context)


def _span_in(context: Context) -> trace.SpanContext:
    return trace.get_current_span(context).get_span_context()
