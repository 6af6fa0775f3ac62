"""Frozen states as text and plain values: for people, for JSON and for telemetry."""

from deltaspan._state.render._hiding import MASK, hides_itself, masked_text, secret_of
from deltaspan._state.render._members import joined, listed, shown
from deltaspan._state.render._render import (
    distinct,
    kinds,
    label,
    plain,
    show,
    transition,
    whole,
    wire,
    with_noun,
)
from deltaspan._state.render._structured import structured

__all__ = [
    "MASK",
    "distinct",
    "hides_itself",
    "joined",
    "kinds",
    "label",
    "listed",
    "masked_text",
    "plain",
    "secret_of",
    "show",
    "shown",
    "structured",
    "transition",
    "whole",
    "wire",
    "with_noun",
]
