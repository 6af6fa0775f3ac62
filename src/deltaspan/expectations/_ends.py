"""Descriptions of a start or an end that is not the demanded one."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from deltaspan._state.diff import MappingDelta, SequenceDelta, SetDelta, difference
from deltaspan._state.render import distinct, join_phrases, list_members, show_member, whole, with_noun
from deltaspan.expectations._ignoring import Ignored


def describe_state(expected: object, actual: object, ignored: Ignored) -> str:
    """Describe a state, to follow "started" or "ended", such as "at 3".

    A long state is described by its differences.

    Args:
        expected: the demanded state, frozen.
        actual: the actual state, frozen.
        ignored: the members that are left out of both.
    """
    text = whole(actual)
    if text is not None:
        return f"at {text}"
    delta = ignored.leave_out(difference(expected, actual))
    if isinstance(delta, MappingDelta):
        parts = [
            _clause("with", _keys(delta.added), "beyond what was expected"),
            _clause("without", _keys(delta.removed)),
            _clause("with", list_members(delta.modified.items(), _describe_modified)),
        ]
    elif isinstance(delta, SetDelta | SequenceDelta):
        parts = [
            _clause("with", _members(delta.added), "beyond what was expected"),
            _clause("without", _members(delta.removed)),
        ]
        if not any(parts):
            parts = ["with its members in another order"]
    else:
        wanted, found = distinct(expected, actual)
        parts = [f"at {found}" if found == wanted else f"at {found} instead of {wanted}"]
    return join_phrases(part for part in parts if part)


def _clause(word: str, members: str, after: str = "") -> str:
    return f"{word} {members} {after}".rstrip() if members else ""


def _keys(paths: Collection[Any]) -> str:
    return with_noun("key", list_members(paths, lambda path: show_member(path.member)), len(paths))


def _members(members: Collection[Any]) -> str:
    return with_noun("member", list_members(members), len(members))


def _describe_modified(entry: Any) -> str:
    path, (expected, actual) = entry
    wanted, found = distinct(expected, actual)
    return f"{show_member(path.member)} at {found} instead of {wanted}"
