"""The causal tag of a run, and its propagation through contexts and processes.

`_context.py` holds the tag of one context. This module reads it and passes it between processes. It travels
in headers or in the environment, in W3C format whatever propagator is configured. So two services that are
configured with different propagators still share it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context, attach, get_current
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from deltaspan import semconv
from deltaspan._config import settings
from deltaspan._process import on_reset
from deltaspan.causal_tag._context import (
    LOCAL_KEY,
    NO_VALUES,
    AdoptedTag,
    CausalTag,
    attempt_of,
    context_of_verifier,
    context_with,
    context_without,
    detach_here,
    ids_in,
    local_tag,
    mint,
    pairs_in,
    valid_ids,
    with_pairs,
    without_tag,
)
from deltaspan.causal_tag._descendants import DescendantTracker, start_tracking, stop_tracking
from deltaspan.causal_tag._headers import BAGGAGE, baggage_pairs, carrier_headers, within_limits
from deltaspan.causal_tag._ids import TRAILER_OF_ROOT, TRAILER_OF_TAG, is_tag

__all__ = [
    "BAGGAGE",
    "NO_VALUES",
    "TRAILER_OF_ROOT",
    "TRAILER_OF_TAG",
    "CausalTag",
    "DescendantTracker",
    "adopt",
    "attempt_of",
    "carrier_headers",
    "causal_environ",
    "causal_headers",
    "context_of_verifier",
    "context_with",
    "context_without",
    "continue_trace",
    "current_causal_root",
    "current_causal_tag",
    "detach_here",
    "effective_context",
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
"""A tag and its root as baggage, of the length that every tag has."""


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
    ids = ids_in(effective_context())
    return None if ids is None else ids[0]


def current_causal_root() -> str | None:
    """Return the tag of the outermost action that is running here, or None.

    Example:
        >>> from deltaspan import expects, observe
        >>> @expects(observe("runs", lambda: 0))
        ... def outermost():
        ...     return current_causal_root() == current_causal_tag()
        >>> outermost()
        True
    """
    ids = ids_in(effective_context())
    return None if ids is None else ids[1]


def causal_headers() -> dict[str, str]:
    """Return W3C headers that make remote work part of the current action.

    Always W3C's `traceparent`, `tracestate` and `baggage`, in lower case, whatever propagator is configured;
    each only if it has content. Send them to services that you trust, because baggage may hold any data.

    Example:
        >>> from deltaspan import causal_headers, expects, observe
        >>> @expects(observe("sent", lambda: 0))
        ... def send():
        ...     return causal_headers()
        >>> "deltaspan.causal_tag.id=" in send()["baggage"]
        True
    """
    return headers_of(effective_context())


def causal_environ() -> dict[str, str]:
    """Return the same as environment variables for a subprocess.

    A process with them in its environment reads them itself, at its first action without a current context,
    and only if they hold a causal tag.

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
    """Continue the action of another process within a block, from its headers.

    The headers are those that `causal_headers()` or `causal_environ()` returned there.

    Within the block, actions are children of that tag and `current_causal_tag()` returns it. The trace and
    other baggage continue too. If the current span belongs to that trace, it stays current. A plain `with`
    works in async code too.

    Headers are untrusted. Only the canonical text of a non-nil UUID is accepted as a tag. Malformed headers
    are ignored silently.

    Args:
        headers: any mapping of names to text or bytes, with names in any case. It may be `os.environ`, of
            which only names in upper case are read.

    Raises:
        DefinitionTypeError: it is not a mapping.

    Example:
        >>> from deltaspan import adopt, current_causal_tag
        >>> with adopt({"Baggage": "deltaspan.causal_tag.id=3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"}):
        ...     print(current_causal_tag())
        3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f
    """
    token = attach(_extract(headers, get_current()))
    try:
        yield
    finally:
        # An async generator may be closed in another context, where there is nothing to restore.
        detach_here(token)


def effective_context() -> Context:
    """Return the current context, or the one inherited from the environment."""
    context = get_current()
    inherited = _inherited()
    if inherited is None or ids_in(context) is not None or _span_in(context).is_valid:
        return context
    return Context({**inherited, **context})


def untagged(context: Context | None = None) -> Context:
    """Return a context without the tag in its baggage, for requests to third parties.

    The tag is still current in it for stamps, nested actions and `causal_headers()`.

    Args:
        context: the context to copy; the current one by default.

    Example:
        >>> from opentelemetry.context import attach, detach
        >>> token = attach(untagged())
        >>> detach(token)  # requests between these two lines carry no tag
    """
    source = get_current() if context is None else context
    return with_pairs(source, without_tag(pairs_in(source)))


def headers_of(context: Context) -> dict[str, str]:
    """Return what `causal_headers` does, of a context that need not be current."""
    headers: dict[str, str] = {}
    _W3C_TRACE.inject(headers, context)
    pairs = without_tag(pairs_in(context))
    ids = ids_in(context)
    if ids is not None and settings().propagate:
        # The tag comes first, because the last entries are dropped if the header is too long.
        pairs = {semconv.CAUSAL_TAG_ID: ids[0], semconv.CAUSAL_TAG_ROOT_ID: ids[1], **pairs}
    _W3C_BAGGAGE.inject(headers, with_pairs(Context(), within_limits(pairs)))
    return headers


def continue_trace(headers: Mapping[str, str], context: Context) -> Context:
    """Return `context` in the trace that lower-case `headers` name, if any."""
    return _W3C_TRACE.extract(headers, context)


@lru_cache(maxsize=1)
def _inherited() -> Context | None:
    """Return the context in the environment if it holds a causal tag, else None.

    The environment is read once.
    """
    context = _extract(os.environ, Context())
    return context if LOCAL_KEY in context else None


on_reset(_inherited.cache_clear)


def _extract(headers: Any, context: Context) -> Context:
    carriers = carrier_headers(headers)
    remote = continue_trace(carriers, context)
    if _span_in(remote).trace_id != _span_in(context).trace_id:
        context = remote
    pairs = baggage_pairs(carriers.get(BAGGAGE, ""))
    ids = valid_ids(pairs.pop(semconv.CAUSAL_TAG_ID, None), pairs.pop(semconv.CAUSAL_TAG_ROOT_ID, None))
    if pairs:
        known = without_tag({**pairs_in(context), **pairs})
        context = with_pairs(context, within_limits(known, _LONGEST_TAG))
    return context if ids is None else context_with(AdoptedTag(*ids), context, settings())


def _span_in(context: Context) -> trace.SpanContext:
    return trace.get_current_span(context).get_span_context()
