"""The causal tag in one OpenTelemetry context: as an object, and as W3C baggage.

By the object actions of this process find their ancestors; by baggage it reaches other processes. Inbound
baggage is untrusted: only the canonical text of a non-nil UUID counts, and only as parent.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any, Final, NamedTuple

from opentelemetry import baggage
from opentelemetry.context import Context, create_key

from deltaspan import semconv
from deltaspan._config import settings
from deltaspan.causal_tag._descendants import register_run, watched
from deltaspan.causal_tag._ids import is_tag, new_tag

__all__ = [
    "BAGGAGE_KEY",
    "LOCAL_KEY",
    "CausalTag",
    "attempt_of",
    "context_with",
    "context_without",
    "ids_in",
    "local_tag",
    "mint",
    "valid_ids",
    "without_ours",
]

LOCAL_KEY: Final = create_key("deltaspan-causal-tag")
"""The key of a context under which the tag is an object; only this module writes under it."""

# OpenTelemetry copies the context for each value that is set. The key under which it keeps baggage is seen
# in what it writes into an empty context, so that tag and baggage can be set in one copy.
[BAGGAGE_KEY] = baggage.set_baggage("key", "value", Context())

_OURS: Final = (semconv.CAUSAL_TAG_ID, semconv.CAUSAL_TAG_ROOT_ID)


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

    @property
    def above(self) -> tuple[str, ...]:
        """The ids of the runs above this one, as far as they are known here, the nearest first."""
        found, tag = [], self
        while tag.parent is not None:
            tag = tag.parent
            found.append(tag.id)
        return tuple(found) if tag.parent_id is None else (*found, tag.parent_id)


def local_tag(context: Context) -> CausalTag | None:
    """Return the innermost tag that is known as an object in `context`, or None."""
    return context.get(LOCAL_KEY)  # type: ignore[return-value]  # only this module writes under this key


def mint(context: Context) -> CausalTag:
    """Make the tag of a run that starts in `context`, below the run that is current there."""
    own = new_tag()
    parent = local_tag(context)
    if parent is not None:
        tag = CausalTag(own, parent.root_id, parent.id, parent, {})
    else:
        found = ids_in(context) if BAGGAGE_KEY in context else None
        if found is None:
            return CausalTag(own, own, None, None, {})
        tag = CausalTag(own, found[1], found[0], None, {})
    if watched:
        register_run(own, tag.parent_id, tag.root_id)
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
    pairs: Any = context.get(BAGGAGE_KEY) or {}
    pairs = _ours_first(tag.id, tag.root_id, pairs) if settings().propagate else without_ours(pairs)
    return Context({**context, LOCAL_KEY: tag, BAGGAGE_KEY: pairs})


def _ours_first(own: str, root: str, pairs: Mapping[str, Any]) -> dict[str, Any]:
    """Return baggage with the tag and its root before everything else.

    A propagator drops what comes last if there is too much, and a tag without its root misleads.
    """
    ours = {semconv.CAUSAL_TAG_ID: own, semconv.CAUSAL_TAG_ROOT_ID: root}
    return {**ours, **pairs, **ours} if pairs else ours


def context_without(tag: CausalTag, context: Context, outer: Context) -> Context:
    """Return `context` with what `outer` has in place of `tag`: what an action attached stays."""
    if local_tag(context) is not tag:
        return context
    pairs: Any = context.get(BAGGAGE_KEY) or {}
    before: Any = outer.get(BAGGAGE_KEY) or {}
    ours = {name: before[name] for name in _OURS if name in before}
    left = {key: value for key, value in context.items() if key != LOCAL_KEY}
    left[BAGGAGE_KEY] = {**ours, **without_ours(pairs)}
    above = local_tag(outer)
    return Context(left if above is None else {**left, LOCAL_KEY: above})


def ids_in(context: Context) -> tuple[str, str] | None:
    """Return the tag that is current in `context`, and its root: a local one, else a valid inbound one."""
    local = local_tag(context)
    if local is not None:
        return local.id, local.root_id
    own = baggage.get_baggage(semconv.CAUSAL_TAG_ID, context)
    return valid_ids(own, baggage.get_baggage(semconv.CAUSAL_TAG_ROOT_ID, context))


def valid_ids(own: Any, root: Any) -> tuple[str, str] | None:
    """Return a tag and its root as baggage gave them, the tag itself for want of a root; None for no tag."""
    own, root = _bare(own), _bare(root)
    if not is_tag(own):
        return None
    return own, root if is_tag(root) else own


def _bare(value: Any) -> Any:
    """Return a value of baggage without the properties that W3C allows behind it."""
    return value.partition(";")[0].rstrip(" \t") if isinstance(value, str) and ";" in value else value


def without_ours(pairs: Mapping[str, Any]) -> dict[str, Any]:
    """Return baggage without the tag and its root."""
    return {name: value for name, value in pairs.items() if name not in _OURS}
