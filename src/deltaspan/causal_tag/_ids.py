"""Causal tags as text: creation, validation, and the names of trailers."""

from __future__ import annotations

import os
import re
from typing import Final

TRAILER_OF_TAG: Final = "Causal-Tag"
"""The trailer of a commit's message that holds the tag; here, as one part writes it and another reads it."""
TRAILER_OF_ROOT: Final = "Causal-Root"
"""The one that holds the root."""

_CANONICAL: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NIL: Final = "00000000-0000-0000-0000-000000000000"
_VARIANT: Final = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}
"""The two highest bits of this digit are fixed, the other two random."""


def is_tag(value: object) -> bool:
    """Return whether a value from elsewhere is the canonical text of a non-nil UUID."""
    return isinstance(value, str) and value != _NIL and _CANONICAL.fullmatch(value) is not None


def new_tag() -> str:
    """Return a random (version 4) UUID by RFC 9562, as text."""
    # Formatted here because `str(uuid.uuid4())` costs twice as much, and from `os.urandom` because `random`
    # repeats under a user's seed and after a fork.
    digits = os.urandom(16).hex()
    variant = _VARIANT[digits[16]]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
