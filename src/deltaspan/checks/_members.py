"""The words for collections: the members that come, go and change, and the size."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

from deltaspan.checks._change_words import ChangeWords, check_unpacked, validate_member, validate_members
from deltaspan.checks._check import S_co
from deltaspan.checks._probe import call_text
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.expectations import (
    ByKey,
    Computed,
    Kind,
    Members,
    Named,
    Only,
    Predicate,
    Resizing,
    SomeChange,
    computed_if_callable,
    is_glob,
)


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]


class _Attrs(Protocol):
    __attrs_attrs__: ClassVar[Any]


class _Model(Protocol):
    model_config: ClassVar[Any]


Collected: TypeAlias = Collection[Any] | _Dataclass | _Attrs | _Model
"""A state with members: a collection, or a record (dataclass, attrs, pydantic), whose fields are its keys."""

_Count: TypeAlias = int | Callable[..., int]
_Where: TypeAlias = Callable[..., object]

C = TypeVar("C", bound="MemberWords[Collected]")


class MemberWords(ChangeWords[S_co]):
    """The words for the members that a collection gains, loses and changes.

    `adding`, `removing` and `modifying` may follow one another, each once. A kind of change without its word
    must not occur. Neither may a change of members that are not named.
    """

    __slots__ = ()

    def adding(self: C, *members: object, count: _Count | None = None, where: _Where | None = None) -> C:
        """Demand that members are added, and that nothing else changes.

        A positional argument is always a member, numbers included: `.adding(42)` demands the member 42. A
        number of members is always `count=`. Without either, any one or more members must be added.

        Members of sets and sequences compare by value. In a sequence each occurrence counts, and the members
        that stay must keep their order. Members of a mapping are its keys. Members of a nested document are
        paths: text is a glob pattern over the keys joined by `/`, where `*` stays within a key and `**`
        crosses keys. A pattern without `/` names top-level keys. Within a key, `/` is written `~1`, and a
        character with a meaning is written in brackets: `[*]`. A top-level key that is not text compares by
        value: neither "1" nor `*` names the key 1, though `**` names every key.

        `{name}` in written text, however deep in a member, stands for that argument of the action. It is
        matched literally and within one key. A literal brace is doubled.

        Args:
            members: the members, keys or patterns. A callable computes one member or an iterable of members
                from the parameters that it names, as for `by`. Text is one member. Text that a callable
                computes is literal, unless `pattern(...)` marks it. Unpack a list or a set of members.
            count: the total number of added members, or a callable that computes it. Members that are named
                in full are among them, and the rest may be any. If one is a pattern, all must be named.
            where: a predicate of one added member. Only members for which it is true count. Its parameters
                name what it needs: `member` of a set or a sequence, `key` and `value` of a mapping, and
                everything that an expected value may name. If it raises, the check is inconclusive.

        If everything that the check claims is computed as nothing, such as no members or a count of 0,
        nothing may change.

        Raises:
            DefinitionTypeError: a member cannot be compared by value, members are packed in a list or a set,
                the count is not a whole number, or the predicate is not callable.
            DefinitionValueError: the word is repeated or contradicts another, the count is 0, or a field in a
                member is not a plain name.

        Example:
            >>> from deltaspan import change, window
            >>> tenants = {"beta"}
            >>> with window("onboard", change("tenants", lambda: tenants).adding("acme")) as w:
            ...     tenants.symmetric_difference_update({"acme", "beta"})
            >>> print(w.report["tenants"].explanation)  # doctest: +NORMALIZE_WHITESPACE
            expected tenants to change by adding 'acme', but it also removed 'beta', which was not declared
            ({'beta'} → {'acme'})
        """
        return self._with_named("adding", members, count, where)

    def removing(self: C, *members: object, count: _Count | None = None, where: _Where | None = None) -> C:
        """Demand that members are removed, and that nothing else changes.

        The arguments and errors are those of `adding`.

        Example:
            >>> from deltaspan import change
            >>> change("tenants", set).adding("acme").removing(count=2)
            change('tenants', set).adding('acme').removing(count=2)
        """
        return self._with_named("removing", members, count, where)

    def modifying(self: C, *members: object, count: _Count | None = None, where: _Where | None = None) -> C:
        """Demand that the values at these keys are modified, and that nothing else changes.

        It needs a mapping or a nested document, because a member of a set or a sequence can only be added or
        removed. A pattern without `/`, and a key that is not text, names everything below that key. For a
        path, `orders/3/**` does so. `count` counts paths: two fields of one record are two. `where` may name
        `key`, `value` and `before`, the value at the baseline. Otherwise as for `adding`.

        Example:
            >>> from deltaspan import change, window
            >>> orders = {1: {"status": "new", "total": 5}, 2: {"status": "new", "total": 7}}
            >>> with window("pay", change("orders", lambda: orders).modifying("*/status", count=1)) as w:
            ...     orders[1]["status"] = "paid"
            >>> w.report["orders"].passed
            True
        """
        return self._with_named("modifying", members, count, where)

    def only(self: C, *members: object) -> C:
        """Demand a change of any kind, within these members alone.

        Args:
            members: members, keys or patterns, as for `modifying`. A pattern also matches text members of
                sets and sequences. A callable computes members, as for `adding`. If all of them are computed
                and there is none, nothing may change.

        Raises:
            DefinitionTypeError: a member cannot be compared by value.
            DefinitionValueError: there is no member, or another word already says how the state changes.

        Example:
            >>> from deltaspan import change, window
            >>> files = {"src/a.py": "1f", "README.md": "c0"}
            >>> with window("edit", change("files", lambda: files).only("src/**")) as w:
            ...     files.update({"src/a.py": "2e", "src/b.py": "77"})
            >>> w.report["files"].passed
            True
        """
        call = call_text("only", *members)
        return self._with_movement(Only(validate_members(self.metric, "only", members)), call)

    def resizing(self: C, amount: _Count) -> C:
        """Demand that the collection has `amount` more members than before.

        It does not matter which members came and went.

        Args:
            amount: the net number of members, negative for fewer, or a callable that computes it. The size of
                a mapping is that of its top level.

        Raises:
            DefinitionTypeError: the amount is not a whole number.
            DefinitionValueError: another word already says how the state changes.
        """
        return self._with_movement(
            Resizing(computed_if_callable(amount, "resizing")), call_text("resizing", amount)
        )

    def allowing_others(self: C) -> C:
        """Let other members change too, in any way.

        Only the declared members are judged. It follows `adding`, `removing`, `modifying` or `by({...})`.

        Raises:
            DefinitionValueError: it follows no such word, or is repeated.
        """
        call = call_text("allowing_others")
        movement = self._expectation.movement
        if isinstance(movement, SomeChange):
            raise DefinitionValueError(
                f"{self!r} declares no change yet, so .{call} has no others to allow; say first what must "
                f"change: .adding(...).{call}"
            )
        if not isinstance(movement, Members | ByKey):
            raise DefinitionValueError(
                f"{self!r} cannot be followed by .{call}; it follows adding, removing, modifying or "
                f"by({{...}})"
            )
        if movement.others:
            raise DefinitionValueError(f"{self!r} already has .{call}; write it once")
        return self._with(replace(self._expectation, movement=replace(movement, others=True)), call)

    def keeping_others(self: C) -> C:
        """Demand that rows of others stay unchanged in a table that others write to.

        The probe separates rows by tag, and all other words of the check apply to the action's own rows. Rows
        that were added or changed with the tag of another run are credited to that run. Any other change is
        held against the action: a row that is gone, an overwritten row that kept its tag, an undeclared row
        of another that now carries the action's tag, a new row without a tag. If another window of equal
        scope was open meanwhile, it may have made such a change as well. The check is then inconclusive and
        names that window. A row of another that the action removes is its own if `removing` or `only` names
        or counts it.

        The probe then reads whole rows, and keeps the key, the tag and a fingerprint of each.

        Raises:
            DefinitionTypeError: the probe does not separate rows by tag.
            DefinitionValueError: it is repeated, or combined with `from_`, `to` or `allowing_others`.

        Example:
            >>> from deltaspan import change, current_causal_tag, tagged, window
            >>> orders = [{"id": 1, "item": "ink", "tag": "of another run"}]
            >>> own = tagged(lambda: orders, key="id", tag="tag")
            >>> with window("order", change("orders", own).adding(count=1).keeping_others()) as w:
            ...     orders[0]["item"] = "sand"
            ...     orders.append({"id": 2, "item": "wax", "tag": current_causal_tag()})
            >>> print(w.report["orders"].explanation.partition(";")[0])  # doctest: +NORMALIZE_WHITESPACE
            expected orders to change by adding 1 member, keeping other rows, but it also overwrote row 1
        """
        call = call_text("keeping_others")
        if self._expectation.keeps_others:
            raise DefinitionValueError(f"{self!r} already has .{call}; write it once")
        with_contents = getattr(self.probe, "with_contents", None)
        if with_contents is None:
            raise DefinitionTypeError(
                f"{self!r} cannot be followed by .{call}: its probe reads no tag that says who wrote a row; "
                f"read the rows with tagged(probe, key=..., tag=...) or sql.records(..., tag=...), or claim "
                f"unchanged(...) of everything else"
            )
        kept = self._with(replace(self._expectation, keeps_others=True), call)
        return replace(kept, probe=with_contents())

    def _with_named(
        self: C, kind: Kind, members: tuple[object, ...], count: _Count | None, where: _Where | None
    ) -> C:
        check_unpacked(self.metric, kind, members)
        call = call_text(kind, *members, count=count, where=where)
        checked = tuple(validate_member(self.metric, kind, member) for member in members)
        predicate = None if where is None else Predicate(where, kind)
        named = Named(kind, checked or None, computed_if_callable(count, kind), predicate)
        _check_count(self.metric, kind, named)
        earlier = self._expectation.movement
        if not isinstance(earlier, Members):
            return self._with_movement(_with_kind(Members(), named), call)
        if getattr(earlier, kind) is not None:
            raise DefinitionValueError(
                f"{self!r} already has .{kind}(...), so it cannot be followed by .{call}; name all members "
                f"in one .{kind}(...)"
            )
        return self._with(replace(self._expectation, movement=_with_kind(earlier, named)), call)


def _with_kind(members: Members, named: Named) -> Members:
    kind: dict[str, Any] = {named.kind: named}
    return replace(members, **kind)


def _check_count(metric: str, kind: Kind, named: Named) -> None:
    count, members = named.count, named.members or ()
    if count is None or isinstance(count, Computed):
        return
    if count == 0:
        raise DefinitionValueError(
            f"check {metric!r}: {kind}(count=0) demands no change; leave the word out, because undeclared "
            f"members must not change, or use unchanged(...)"
        )
    full = len({repr(member) for member in members if not (isinstance(member, Computed) or is_glob(member))})
    if full > count:
        raise DefinitionValueError(
            f"check {metric!r}: {kind} names {full} members, but count={count}; raise the count or name fewer"
        )
