"""The causal tag in one OpenTelemetry context: as an object, and as W3C baggage.

Actions of this process find their ancestors by the object. Baggage carries the tag to other processes.
Inbound baggage is untrusted: only the canonical text of a non-nil UUID is accepted, and only as parent.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import Token
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from opentelemetry import baggage
from opentelemetry.context import Context, create_key, detach

from deltaspan import semconv
from deltaspan._config import Settings
from deltaspan.causal_tag._descendants import register_run, trackers_by_run
from deltaspan.causal_tag._ids import is_tag, new_tag

__all__ = [
    "LOCAL_KEY",
    "AdoptedTag",
    "CausalTag",
    "attempt_of",
    "context_of_verifier",
    "context_with",
    "context_without",
    "detach_here",
    "ids_in",
    "local_tag",
    "mint",
    "pairs_in",
    "valid_ids",
    "with_pairs",
    "without_tag",
]

LOCAL_KEY: Final = create_key("deltaspan-causal-tag")
"""The key of the tag as an object in a context. Only this module writes under it."""


def _find_baggage_key() -> str | None:
    """Return the key of baggage in a context, or None without a single one."""
    keys = list(baggage.set_baggage("key", "value", Context()))
    return keys[0] if len(keys) == 1 else None


# OpenTelemetry copies the context for each value that is set. The key of its baggage is not public. With it
# tag and baggage are set in one copy, and without it by OpenTelemetry's functions.
_BAGGAGE_KEY: Final = _find_baggage_key()

NO_VALUES: Final[Mapping[str, object]] = {}
_TAG_KEYS: Final = (semconv.CAUSAL_TAG_ID, semconv.CAUSAL_TAG_ROOT_ID)


class _Fields:
    """The fields of a tag that is not frozen yet."""

    __slots__ = ("attempt_counters", "id", "parent", "parent_id", "root_id")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CausalTag(_Fields):
    """The identity of one run of one action.

    It is read-only and can be hashed, copied and pickled. Two tags are equal if their ids are.

    Attributes:
        id: the id of this run, canonical UUID text.
        root_id: the id of the outermost run that this one belongs to. The outermost run has its own id here.
        parent_id: the id of the run that called this one, in this process or another; None if there is none.
        parent: the tag of that run, if it is a run of this process or its tag was adopted here.
        attempt_counters: by the name of an action, the counter of its runs below this one. A pickled tag
            begins to count anew.
    """

    __slots__ = ()

    id: str
    root_id: str
    parent_id: str | None
    parent: CausalTag | None
    attempt_counters: dict[str, count[int]]

    def __new__(
        cls,
        id: str,  # noqa: A002  # the name of the field
        root_id: str,
        parent_id: str | None = None,
        parent: CausalTag | None = None,
    ) -> CausalTag:
        # A frozen class sets each field slowly, and every run makes one. So the fields are set first.
        tag: Any = _Fields()
        tag.id = id
        tag.root_id = root_id
        tag.parent_id = parent_id
        tag.parent = parent
        tag.attempt_counters = {}
        tag.__class__ = cls
        return tag  # type: ignore[no-any-return]  # of this class by now

    @property
    def above(self) -> tuple[str, ...]:
        """The known ids of the runs above this one, the nearest first."""
        ids, tag = [], self
        while tag.parent is not None:
            tag = tag.parent
            ids.append(tag.id)
        return tuple(ids) if tag.parent_id is None else (*ids, tag.parent_id)

    @property
    def local_root(self) -> CausalTag:
        """The tag of the outermost run above this one that this process started."""
        tag = self
        while tag.parent is not None and not isinstance(tag.parent, AdoptedTag):
            tag = tag.parent
        return tag

    def __eq__(self, other: object) -> bool:
        return self.id == other.id if isinstance(other, CausalTag) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"CausalTag(id={self.id!r}, root_id={self.root_id!r}, parent_id={self.parent_id!r})"

    def __copy__(self) -> CausalTag:
        return self

    def __deepcopy__(self, memo: object) -> CausalTag:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.id, self.root_id, self.parent_id, self.parent)


class AdoptedTag(CausalTag):
    """The identity of a run of another process, which comes from untrusted headers."""

    __slots__ = ()


def local_tag(context: Context) -> CausalTag | None:
    """Return the innermost tag that is known as an object in `context`, or None."""
    return context.get(LOCAL_KEY)  # type: ignore[return-value]  # only this module writes under this key


def pairs_in(context: Context) -> Mapping[str, Any]:
    """Return the baggage of `context`."""
    if _BAGGAGE_KEY is None:
        return baggage.get_all(context)
    return context.get(_BAGGAGE_KEY) or NO_VALUES  # type: ignore[return-value]  # only baggage is there


def with_pairs(
    context: Context, pairs: Mapping[str, Any], values: Mapping[str, object] = NO_VALUES
) -> Context:
    """Return `context` with these pairs as its whole baggage.

    Args:
        context: the context to copy.
        pairs: the baggage.
        values: further values of the context.
    """
    if _BAGGAGE_KEY is not None:
        return Context({**context, **values, _BAGGAGE_KEY: pairs})
    replaced = baggage.clear(Context(context, **values))
    for name, value in pairs.items():
        replaced = baggage.set_baggage(name, value, replaced)
    return replaced


def detach_here(token: Token[Context]) -> bool:
    """Undo `attach`. Return whether it was undone.

    It is not in another context than that of `attach`, where OpenTelemetry's `detach` would log an error.
    """
    reset = getattr(getattr(token, "var", None), "reset", None)
    if reset is None:  # OTEL_PYTHON_CONTEXT can name a context without context variables
        detach(token)
        return True
    try:
        reset(token)
    except ValueError:
        return False
    return True


def mint(context: Context) -> CausalTag:
    """Return a new tag for a run below the current one of `context`."""
    id_ = new_tag()
    parent = local_tag(context)
    if parent is not None:
        tag = CausalTag(id_, parent.root_id, parent.id, parent)
    else:
        inbound = ids_in(context) if pairs_in(context) else None
        if inbound is None:
            return CausalTag(id_, id_)
        tag = CausalTag(id_, inbound[1], inbound[0])
    if trackers_by_run:
        register_run(id_, tag.parent_id, tag.root_id)
    return tag


def attempt_of(tag: CausalTag, action: str) -> int:
    """Return the number of a run among those of one action and parent.

    The first run and each run without a parent have the number 1.
    """
    parent = tag.parent
    if parent is None:
        return 1
    # Each look-up is atomic, so that no lock is needed.
    counters = parent.attempt_counters
    return next(counters.get(action) or counters.setdefault(action, count(1)))


def context_with(
    tag: CausalTag, context: Context, config: Settings, values: Mapping[str, object] = NO_VALUES
) -> Context:
    """Return `context` with `tag` in it, as an object and as baggage.

    The context is not attached.

    Args:
        tag: the tag of the run.
        context: the context to copy.
        config: the settings in effect, which tell whether the tag leaves the process.
        values: further values of the context.
    """
    pairs = pairs_in(context)
    pairs = _with_tag_first(tag.id, tag.root_id, pairs) if config.propagate else without_tag(pairs)
    return with_pairs(context, pairs, {**values, LOCAL_KEY: tag})


def context_of_verifier(tag: CausalTag, context: Context, values: Mapping[str, object]) -> Context:
    """Return `context` with `tag` as an object, and without any tag in baggage.

    The requests of a probe are not those of the action, so no other process may credit them to it.

    Args:
        tag: the tag of the run.
        context: the context to copy.
        values: further values of the context.
    """
    pairs = pairs_in(context)
    entries = {**values, LOCAL_KEY: tag}
    return with_pairs(context, without_tag(pairs), entries) if pairs else Context({**context, **entries})


def _with_tag_first(tag_id: str, root_id: str, pairs: Mapping[str, Any]) -> dict[str, Any]:
    """Return baggage with the tag and its root before everything else.

    A propagator drops the last entries if there are too many, and a tag without its root misleads.
    """
    entries = {semconv.CAUSAL_TAG_ID: tag_id, semconv.CAUSAL_TAG_ROOT_ID: root_id}
    return {**entries, **pairs, **entries} if pairs else entries


def context_without(tag: CausalTag, context: Context, outer: Context) -> Context:
    """Return `context` with the tag of `outer` in place of `tag`.

    Whatever else an action attached stays.
    """
    if local_tag(context) is not tag:
        return context
    outer_pairs = pairs_in(outer)
    outer_entries = {name: outer_pairs[name] for name in _TAG_KEYS if name in outer_pairs}
    values = {key: value for key, value in context.items() if key != LOCAL_KEY}
    above = local_tag(outer)
    return with_pairs(
        Context(values if above is None else {**values, LOCAL_KEY: above}),
        {**outer_entries, **without_tag(pairs_in(context))},
    )


def ids_in(context: Context) -> tuple[str, str] | None:
    """Return tag and root of `context`, a local one or a valid inbound one."""
    local = local_tag(context)
    if local is not None:
        return local.id, local.root_id
    tag_id = baggage.get_baggage(semconv.CAUSAL_TAG_ID, context)
    return valid_ids(tag_id, baggage.get_baggage(semconv.CAUSAL_TAG_ROOT_ID, context))


def valid_ids(tag_id: Any, root_id: Any) -> tuple[str, str] | None:
    """Return tag and root from baggage, or None without a valid tag.

    Without a valid root the tag is its own root.
    """
    tag_id, root_id = _without_properties(tag_id), _without_properties(root_id)
    if not is_tag(tag_id):
        return None
    return tag_id, root_id if is_tag(root_id) else tag_id


def _without_properties(value: Any) -> Any:
    """Return a value of baggage without the properties that W3C allows behind it."""
    return value.partition(";")[0].rstrip(" \t") if isinstance(value, str) and ";" in value else value


def without_tag(pairs: Mapping[str, Any]) -> dict[str, Any]:
    """Return baggage without the tag and its root."""
    return {name: value for name, value in pairs.items() if name not in _TAG_KEYS}
