"""`tagged`: wraps a probe that reads rows, so that each row is told apart by who wrote it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from inspect import isawaitable
from typing import Any

from deltaspan._binding import is_async, parameters_of
from deltaspan._fingerprints import fingerprint
from deltaspan._probes import is_blocking
from deltaspan._probes import probe as configured
from deltaspan._render import show
from deltaspan._rows import Field, keyed
from deltaspan._spent import Spent
from deltaspan.exceptions import DefinitionTypeError

__all__ = ["Tagged", "tagged", "tagged_rows"]


class Tagged:
    """A probe of key → tag; made by `tagged(...)`.

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
        self._probe = whole if keeps_contents else probe
        self._whole = whole
        self._fields = (key, tag, root)
        self._words = words
        self._source = _source(probe)
        self._content = fingerprint if keeps_contents else None
        self._spent = Spent()
        self.__signature__ = inspect.Signature(parameters_of(probe))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        rows = self._probe(*args, **kwargs)
        return self._awaited(rows) if isawaitable(rows) else self._keyed(rows)

    async def _awaited(self, rows: Awaitable[Any]) -> Any:
        return self._keyed(await rows)

    def _keyed(self, rows: Any) -> Any:
        self._spent.refuse(rows, self._source)
        return keyed(rows, *self._fields, self._source, self._content)

    def with_contents(self) -> Tagged:
        """Return the probe of the same rows whose state also says whether each row is as it was."""
        made = type(self)(self._probe, *self._fields, self._words, whole=self._whole, keeps_contents=True)
        return configured(blocking=True)(made) if is_blocking(self) else made

    def __repr__(self) -> str:
        return self._words


class _TaggedAsync(Tagged):
    """The same of an async probe, which whoever inspects it finds to be async."""

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._keyed(await self._probe(*args, **kwargs))


def tagged(
    probe: Callable[..., Iterable[Any]] | Callable[..., Awaitable[Iterable[Any]]],
    *,
    key: Field,
    tag: Field,
    root: Field | None = None,
) -> Tagged:
    """Credit rows to whoever wrote them: a probe that reads rows becomes one of key → causal tag.

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
    probe: Callable[..., Any], key: Field, tag: Field, root: Field | None, whole: Callable[..., Any]
) -> Tagged:
    """Return `tagged(...)` of a probe that reads of each row no more than its key and its tags.

    Args:
        probe: reads rows.
        key: as for `tagged`.
        tag: as for `tagged`.
        root: as for `tagged`.
        whole: reads the same rows, with all that they hold behind the same fields.

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
        if isinstance(field, bool) or not (callable(field) or isinstance(field, str | int)):
            raise DefinitionTypeError(
                f"tagged({name}=...) takes the name of an item or attribute, a position, or a callable that "
                f"reads it from a row, not {show(field)}"
            )
    said = ", ".join(f"{name}={_name_of(field)}" for name, field in fields.items())
    kind = _TaggedAsync if is_async(probe) else Tagged
    made = kind(probe, key, tag, root, f"tagged({_name_of(probe)}, {said})", whole=whole)
    return configured(blocking=True)(made) if is_blocking(probe) else made


def _name_of(value: Any) -> str:
    name = getattr(value, "__qualname__", None)
    return name if callable(value) and isinstance(name, str) and name.isidentifier() else repr(value)


def _source(probe: Any) -> str:
    """Return where rows come from: the table that a probe names, or else its own name."""
    for name in ("table", "__name__"):
        said = getattr(probe, name, None)
        if isinstance(said, str) and said and said != "<lambda>":
            return said
    return "the probe"
