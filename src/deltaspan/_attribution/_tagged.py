"""`tagged`: a probe of rows that attributes each row to its writer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from deltaspan._attribution._fingerprints import fingerprint
from deltaspan._callables import is_async
from deltaspan._state.render import show
from deltaspan.checks import AsyncRowProbe, Field, RowProbe, is_field, source_text, tags_by_key, take_settings
from deltaspan.exceptions import DefinitionTypeError

__all__ = ["Tagged", "tagged", "tagged_rows"]


class Tagged(RowProbe):
    """A probe that returns key → causal tag, made by `tagged(...)`.

    Args:
        probe: reads rows.
        key: what is unique among them.
        tag: what holds the tag of a row.
        root: what holds the tag of its outermost run, or None.
        words: the call that made the probe, as it reads in source.
        whole: reads the same rows with all that they hold; `probe` itself if it does.
        keeps_contents: whether the state also has a fingerprint of each row.
    """

    def __init__(
        self,
        probe: Callable[..., Any],
        key: Field,
        tag: Field,
        root: Field | None,
        words: str,
        whole: Callable[..., Any],
        *,
        keeps_contents: bool = False,
    ) -> None:
        super().__init__(probe, words)
        self._probe = whole if keeps_contents else probe
        self._whole = whole
        self._fields = (key, tag, root)
        self._content = fingerprint if keeps_contents else None

    def _keyed(self, rows: Any) -> Any:
        return tags_by_key(rows, *self._fields, self._source, self._content)

    def with_contents(self) -> Tagged:
        """Return the probe of the same rows that also reads fingerprints of their content."""
        made = type(self)(self._probe, *self._fields, self._words, whole=self._whole, keeps_contents=True)
        return take_settings(made, self)


class _TaggedAsync(AsyncRowProbe, Tagged):
    pass


def tagged(
    probe: Callable[..., Iterable[Any]] | Callable[..., Awaitable[Iterable[Any]]],
    *,
    key: Field,
    tag: Field,
    root: Field | None = None,
) -> Tagged:
    """Attribute each row to its writer by the causal tag in it.

    A probe that reads rows becomes a probe of key → causal tag.

    The delta splits into *mine*, *others* and *untagged*, and the check holds against what is mine, whoever
    else writes meanwhile. Mine is what carries the tag of this run or of a run below it: one that this
    process knows, or, where rows carry the root and this run is the outermost, one of any process. A row
    whose tag becomes mine is modified, and mine. A row that was removed is mine if it was mine before the
    action; otherwise nobody says who removed it, and it is untagged.

    Number words count rows: `.by(1)` is one more that is mine, added less removed. Words for members take
    keys. What is written within a row whose tag stays as it was is seen by `.keeping_others()` alone, which
    also holds the rows of others against the action.

    A verdict that rests on what is untagged is none, but `inconclusive: contended`: a claim that nothing
    else changes beside an untagged change, a claim that nothing changes at all, and one that fails unless
    this action removed a row that was not its own. `.by(n)` counts what is mine, and tells the rest.

    Args:
        probe: returns an iterable of rows, all that there are before and after, and a fresh one each time if
            it is an iterator. What it needs is passed on.
        key: what is unique among rows: the name of an item or attribute, the position of an item, or a
            callable that takes the row.
        tag: likewise what holds the causal tag, as `current_causal_tag()` gave it when the row was written.
            Tags compare as text; None or empty text is no tag.
        root: likewise what holds the tag of the outermost run, where rows carry it.

    Raises:
        DefinitionTypeError: the probe is not callable, or a field is of another kind.

    Example:
        >>> from deltaspan import change, current_causal_tag, tagged, window
        >>> orders = [{"id": 1, "causal_tag": None}]
        >>> by_tag = tagged(lambda: orders, key="id", tag="causal_tag")
        >>> with window("order", change("orders", by_tag).by(1)) as w:
        ...     orders.append({"id": 2, "causal_tag": current_causal_tag()})
        ...     orders.append({"id": 3, "causal_tag": "somebody else's"})
        >>> w.report["orders"].outcome, w.report["orders"].actual_delta, w.report["orders"].others
        ('pass', 1, 1)
    """
    return tagged_rows(probe, key, tag, root, probe)


def tagged_rows(
    probe: Callable[..., Any],
    key: Field,
    tag: Field,
    root: Field | None,
    whole: Callable[..., Any],
    words: str | None = None,
) -> Tagged:
    """Return `tagged(...)` of a probe that reads key and tags of each row alone.

    Args:
        probe: reads rows.
        key: as for `tagged`.
        tag: as for `tagged`.
        root: as for `tagged`.
        whole: reads the same rows, with all that they hold behind the same fields.
        words: the source of the probe, for its repr; None for a call of `tagged`.

    Raises:
        DefinitionTypeError: as `tagged`.
    """
    if not callable(probe):
        raise DefinitionTypeError(
            f"tagged() wraps a probe, which must be callable, not {show(probe)}; pass the function, not its "
            f"result"
        )
    fields = {"key": key, "tag": tag} if root is None else {"key": key, "tag": tag, "root": root}
    for name, field in fields.items():
        if not is_field(field):
            raise DefinitionTypeError(
                f"tagged({name}=...) takes the name of an item or attribute, a position, or a callable that "
                f"reads it from a row, not {show(field)}"
            )
    if words is None:
        said = ", ".join(f"{name}={source_text(field)}" for name, field in fields.items())
        words = f"tagged({source_text(probe)}, {said})"
    kind = _TaggedAsync if is_async(probe) else Tagged
    made = kind(probe, key, tag, root, words, whole=whole)
    return take_settings(made, probe, content=False)  # its state is of keys and tags
