"""The causal tag: the UUID of one run of one action, and its way through contexts and processes.

A tag lives in two places of one OpenTelemetry context: as an object, by which actions of this process find
their ancestors, and as W3C baggage, by which it reaches other processes. Inbound baggage is untrusted: only
the canonical text of a non-nil UUID counts, and only as parent.
"""

from __future__ import annotations

import os
import re
from typing import Any, Final, NamedTuple

from opentelemetry import baggage
from opentelemetry.context import Context, create_key, get_current

from deltaspan import semconv

__all__ = ["CausalTag", "context_with", "current_causal_tag", "local_tag", "mint"]

_LOCAL_KEY: Final = create_key("deltaspan-causal-tag")
_CANONICAL: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NIL: Final = "00000000-0000-0000-0000-000000000000"
_RANDOM_BITS: Final = ~(0xF000 << 64 | 0xC000 << 48)
_VERSION_4: Final = 0x4000 << 64 | 0x8000 << 48

# OpenTelemetry copies the context for each value that is set. The key under which it keeps baggage is seen
# in what it writes into an empty context, so that tag and baggage can be set in one copy.
[_BAGGAGE_KEY] = baggage.set_baggage("key", "value", Context())


class CausalTag(NamedTuple):
    """One run of one action.

    Attributes:
        id: canonical UUID text of this run.
        root_id: the outermost run that this one belongs to; its own id when it is the outermost.
        parent_id: the run that this one was called by, in this process or another.
        parent: the same as an object, when it is a run of this process.
    """

    id: str
    root_id: str
    parent_id: str | None = None
    parent: Any = None  # a CausalTag; a named tuple's type cannot name itself


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
    context = get_current()
    local = local_tag(context)
    return local.id if local is not None else _inbound(semconv.CAUSAL_TAG_ID, context)


def local_tag(context: Context) -> CausalTag | None:
    """Return the tag of the innermost action of this process in `context`, or None."""
    return context.get(_LOCAL_KEY)  # type: ignore[return-value]  # only context_with writes under this key


def mint(context: Context) -> CausalTag:
    """Make the tag of a run that starts in `context`, below the run that is current there."""
    own = _new_id()
    parent = local_tag(context)
    if parent is not None:
        return CausalTag(own, parent.root_id, parent.id, parent)
    inbound = _inbound(semconv.CAUSAL_TAG_ID, context) if _BAGGAGE_KEY in context else None
    if inbound is None:
        return CausalTag(own, own)
    return CausalTag(own, _inbound(semconv.CAUSAL_TAG_ROOT_ID, context) or inbound, inbound)


def context_with(tag: CausalTag, context: Context) -> Context:
    """Return `context` with `tag` in it, as an object and as baggage; nothing is attached."""
    pairs: Any = context.get(_BAGGAGE_KEY) or {}
    carried = {**pairs, semconv.CAUSAL_TAG_ID: tag.id, semconv.CAUSAL_TAG_ROOT_ID: tag.root_id}
    return Context({**context, _LOCAL_KEY: tag, _BAGGAGE_KEY: carried})


def _inbound(key: str, context: Context) -> str | None:
    value = baggage.get_baggage(key, context)
    if isinstance(value, str) and value != _NIL and _CANONICAL.fullmatch(value):
        return value
    return None


def _new_id() -> str:
    # A random (version 4) UUID by RFC 9562. Formatted here because `str(uuid.uuid4())` costs twice as much,
    # and from `os.urandom` because `random` repeats under a user's seed and after a fork.
    digits = f"{int.from_bytes(os.urandom(16), 'big') & _RANDOM_BITS | _VERSION_4:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
