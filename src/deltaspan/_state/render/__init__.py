"""Frozen states as text and plain values: for people, for JSON and for telemetry.

- For people: `show` writes one state on a line, and `list_members` some members of it. `transition`,
  `describe_kinds`, `distinct` and `whole` write both states, or one, within a sentence.
- For JSON: `plain` converts a state without a limit.
- For telemetry: `wire` makes the value of an attribute, `structured` that of a log record, and `label` a
  name.

`_styles.py` says how each kind of value is written, and `_format.py` makes it fit.
"""

from deltaspan._state.render._hiding import MASK, hides_itself, masked_text, secret_of
from deltaspan._state.render._keys import attribute_key
from deltaspan._state.render._members import join_phrases, list_members, show_member
from deltaspan._state.render._render import label, plain, show, wire
from deltaspan._state.render._sentences import describe_kinds, distinct, transition, whole, with_noun
from deltaspan._state.render._structured import structured

__all__ = [
    "MASK",
    "attribute_key",
    "describe_kinds",
    "distinct",
    "hides_itself",
    "join_phrases",
    "label",
    "list_members",
    "masked_text",
    "plain",
    "secret_of",
    "show",
    "show_member",
    "structured",
    "transition",
    "whole",
    "wire",
    "with_noun",
]
