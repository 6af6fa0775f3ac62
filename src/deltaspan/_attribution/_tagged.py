"""`tagged`: a probe of rows that attributes each row to its writer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from deltaspan._attribution._fingerprints import fingerprint
from deltaspan._callables import is_async
from deltaspan._state.render import show
from deltaspan.checks import AsyncRowProbe, Field, RowProbe, is_field, source_text, tags_by_key, take_settings
from deltaspan.exceptions import DefinitionTypeError


class Tagged(RowProbe):
    """A probe that returns key → causal tag, made by `tagged(...)`.

    Args:
        probe: reads rows.
        key: the field that is unique among them.
        tag: the field with the tag of a row.
        root: the field with the tag of its outermost run, or None.
        words: the source text of the call that made the probe.
        whole: reads the same rows with all their fields; it may be `probe` itself.
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

    The delta splits into *mine*, *others* and *untagged*. The check is judged on *mine*, whoever else writes
    meanwhile. A row is mine if it carries the tag of this run or of a run below it. A run below it is known
    if it belongs to this process. If rows carry the root and this run is the outermost, runs of all processes
    are known. A row whose tag becomes mine counts as modified by this run. A removed row is mine if it was
    mine before the action. Otherwise it is untagged, because it does not say who removed it.

    Words for numbers count rows: `.by(1)` demands one more row of this run, added less removed. Words for
    members take keys. Only `.keeping_others()` sees a write within a row that keeps its tag. It also counts
    changes of the rows of others against the action.

    A verdict that depends on untagged rows is `inconclusive: contended`. Examples are a claim that nothing
    else changes beside an untagged change, a claim that nothing changes, and a claim that fails unless this
    action removed a row of another run. `.by(n)` counts the rows of this run and reports the others.

    Args:
        probe: returns an iterable of all rows. If it returns an iterator, each call returns a new one. The
            names of its parameters work as in any probe.
        key: the field that is unique among rows: the name of an item or attribute, the position of an item,
            or a callable that takes the row.
        tag: likewise the field with the causal tag, as `current_causal_tag()` returned it when the row was
            written. Tags compare as text. None and empty text count as no tag.
        root: likewise the field with the tag of the outermost run, if rows carry it.

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
        whole: reads the same rows with all their fields.
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
        arguments = ", ".join(f"{name}={source_text(field)}" for name, field in fields.items())
        words = f"tagged({source_text(probe)}, {arguments})"
    kind = _TaggedAsync if is_async(probe) else Tagged
    made = kind(probe, key, tag, root, words, whole=whole)
    return take_settings(made, probe, content=False)  # its state is of keys and tags
