"""The causal tag: the UUID of one run of one action, and its way through contexts and processes.

A tag lives in two places of one OpenTelemetry context: as an object, by which actions of this process find
their ancestors, and as W3C baggage, by which it reaches other processes. Inbound baggage is untrusted: only
the canonical text of a non-nil UUID counts, and only as parent.

Between processes a tag travels in headers or in the environment, always in W3C's own form, whatever
propagator is configured: an agent's tools are no place to find out that two services speak different ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import count
from typing import Any, Final, NamedTuple

from opentelemetry import baggage, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context, attach, create_key, get_current
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from deltaspan import semconv
from deltaspan._config import settings
from deltaspan._headers import BAGGAGE, baggage_pairs, carried
from deltaspan._lineage import born, watched
from deltaspan._tags import is_tag, new_tag

__all__ = [
    "CausalTag",
    "adopt",
    "ambient",
    "attempt_of",
    "causal_environ",
    "causal_headers",
    "context_with",
    "continued",
    "current_causal_root",
    "current_causal_tag",
    "headers_of",
    "is_tag",
    "local_tag",
    "mint",
    "untagged",
]

_LOCAL_KEY: Final = create_key("deltaspan-causal-tag")

# OpenTelemetry copies the context for each value that is set. The key under which it keeps baggage is seen
# in what it writes into an empty context, so that tag and baggage can be set in one copy.
[_BAGGAGE_KEY] = baggage.set_baggage("key", "value", Context())

_OURS: Final = frozenset({semconv.CAUSAL_TAG_ID, semconv.CAUSAL_TAG_ROOT_ID})
_W3C_TRACE: Final = TraceContextTextMapPropagator()
_W3C_BAGGAGE: Final = W3CBaggagePropagator()


class CausalTag(NamedTuple):
    """One run of one action.

    Attributes:
        id: canonical UUID text of this run.
        root_id: the outermost run that this one belongs to; its own id when it is the outermost.
        parent_id: the run that this one was called by, in this process or another.
        parent: the same as an object, when it is a run of this process or its tag was taken up here.
        runs: counts the runs that this one called, by the name of the action.
    """

    id: str
    root_id: str
    parent_id: str | None = None
    parent: Any = None  # a CausalTag; a named tuple's type cannot name itself
    runs: Any = None  # dict[str, count[int]]; made with the tag, as a named tuple gets nothing later


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
    found = _ids(ambient())
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
    found = _ids(ambient())
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
    if inherited is None or _ids(context) is not None or _span_in(context).is_valid:
        return context
    return Context({**inherited, **context})


def local_tag(context: Context) -> CausalTag | None:
    """Return the innermost tag that is known as an object in `context`, or None."""
    return context.get(_LOCAL_KEY)  # type: ignore[return-value]  # only this module writes under this key


def mint(context: Context) -> CausalTag:
    """Make the tag of a run that starts in `context`, below the run that is current there."""
    own = new_tag()
    parent = local_tag(context)
    if parent is not None:
        tag = CausalTag(own, parent.root_id, parent.id, parent, {})
    else:
        found = _ids(context) if _BAGGAGE_KEY in context else None
        if found is None:
            return CausalTag(own, own, None, None, {})
        tag = CausalTag(own, found[1], found[0], None, {})
    if watched:
        born(own, tag.parent_id, tag.root_id)
    return tag


def attempt_of(tag: CausalTag, action: str) -> int:
    """Number a run among those of the same action below the same parent, from 1; a root is always 1."""
    parent = tag.parent
    if parent is None:
        return 1
    # Two look-ups that no other thread can come between, instead of a lock.
    numbers = parent.runs.get(action) or parent.runs.setdefault(action, count(1))
    return next(numbers)  # type: ignore[no-any-return]  # counts from 1


def context_with(tag: CausalTag, context: Context) -> Context:
    """Return `context` with `tag` in it, as an object and as baggage; nothing is attached."""
    pairs: Any = context.get(_BAGGAGE_KEY) or {}
    if settings().propagate:
        pairs = {**pairs, semconv.CAUSAL_TAG_ID: tag.id, semconv.CAUSAL_TAG_ROOT_ID: tag.root_id}
    else:
        pairs = _without_ours(pairs)
    return Context({**context, _LOCAL_KEY: tag, _BAGGAGE_KEY: pairs})


def context_without(tag: CausalTag, context: Context, outer: Context) -> Context:
    """Return `context` with what `outer` has in place of `tag`: what an action attached stays."""
    if local_tag(context) is not tag:
        return context
    pairs: Any = context.get(_BAGGAGE_KEY) or {}
    before: Any = outer.get(_BAGGAGE_KEY) or {}
    ours = {name: before[name] for name in _OURS if name in before}
    left = {key: value for key, value in context.items() if key != _LOCAL_KEY}
    left[_BAGGAGE_KEY] = {**_without_ours(pairs), **ours}
    above = local_tag(outer)
    return Context(left if above is None else {**left, _LOCAL_KEY: above})


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
    return Context({**found, _BAGGAGE_KEY: _without_ours(baggage.get_all(found))})


def headers_of(context: Context) -> dict[str, str]:
    """Return what `causal_headers` does, of a context that need not be current."""
    headers: dict[str, str] = {}
    _W3C_TRACE.inject(headers, context)
    pairs = _without_ours(baggage.get_all(context))
    ids = _ids(context)
    if ids is not None and settings().propagate:
        # Ours first: the propagator drops what comes last when there is too much.
        pairs = {semconv.CAUSAL_TAG_ID: ids[0], semconv.CAUSAL_TAG_ROOT_ID: ids[1], **pairs}
    _W3C_BAGGAGE.inject(headers, Context({_BAGGAGE_KEY: pairs}))
    return headers


def continued(headers: Mapping[str, str], context: Context) -> Context:
    """Return `context` in the trace that lower-case `headers` name; itself when they name none."""
    return _W3C_TRACE.extract(headers, context)


def _ids(context: Context) -> tuple[str, str] | None:
    """Return the tag that is current in `context`, and its root: a local one, else a valid inbound one."""
    local = local_tag(context)
    if local is not None:
        return local.id, local.root_id
    own = baggage.get_baggage(semconv.CAUSAL_TAG_ID, context)
    return _valid(own, baggage.get_baggage(semconv.CAUSAL_TAG_ROOT_ID, context))


def _valid(own: Any, root: Any) -> tuple[str, str] | None:
    own, root = _bare(own), _bare(root)
    if not is_tag(own):
        return None
    return own, root if is_tag(root) else own


def _bare(value: Any) -> Any:
    """Return a value of baggage without the properties that W3C allows behind it."""
    return value.partition(";")[0].rstrip(" \t") if isinstance(value, str) and ";" in value else value


@lru_cache(maxsize=1)
def _inherited() -> Context | None:
    """Return what the environment hands down, read once; None unless a causal tag is there."""
    context = _taken_up(os.environ, Context())
    return context if _LOCAL_KEY in context else None


def _taken_up(headers: Any, context: Context) -> Context:
    found = carried(headers)
    remote = continued(found, context)
    if _span_in(remote).trace_id != _span_in(context).trace_id:
        context = remote
    pairs = baggage_pairs(found.get(BAGGAGE, ""))
    ids = _valid(pairs.pop(semconv.CAUSAL_TAG_ID, None), pairs.pop(semconv.CAUSAL_TAG_ROOT_ID, None))
    if pairs:
        context = Context({**context, _BAGGAGE_KEY: {**baggage.get_all(context), **pairs}})
    return context if ids is None else context_with(CausalTag(*ids, None, None, {}), context)


def _without_ours(pairs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in pairs.items() if name not in _OURS}


def _span_in(context: Context) -> trace.SpanContext:
    return trace.get_current_span(context).get_span_context()
