"""The snapshot of a value that hides its content, compared by digest."""

from __future__ import annotations

import os
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from hmac import compare_digest
from hmac import digest as hmac_digest
from math import isfinite
from typing import Any, Final

from deltaspan._state.record import MAPPINGS, class_of

_SALT: Final = os.urandom(16)
"""The salt of this process. Equal secrets have equal text within it, and another text elsewhere."""


_LARGE_EXPONENT: Final = 10_000


class Hidden:
    """A value that hides itself.

    It stores the SHA-256 of the secret, not the secret. The SHA-256 never leaves the process. Serialized
    forms contain a digest of it, keyed with a salt that is stored beside it. Secrets from two processes can
    therefore be compared without being known.

    Args:
        shown: the text that the value shows of itself.
        content: the SHA-256 of its content, or None if it was decoded.
        salted: the salt and the keyed digest, if it was decoded.
    """

    __slots__ = ("_content", "_salted", "shown")

    def __init__(self, shown: str, content: bytes | None, salted: tuple[bytes, bytes] | None = None) -> None:
        self.shown = shown
        self._content = content
        self._salted = salted

    @classmethod
    def of(cls, frozen: object, shown: str) -> Hidden:
        """Hide a frozen value.

        Args:
            frozen: the content.
            shown: the text that may be shown.
        """
        return cls(shown, sha256(_text(frozen).encode("utf-8", "surrogatepass")).digest())

    @property
    def salted(self) -> tuple[bytes, bytes]:
        """The salt and the digest by which it can be compared elsewhere."""
        if self._salted is not None:
            return self._salted
        assert self._content is not None  # noqa: S101  # one of the two is given
        return _SALT, hmac_digest(_SALT, self._content, "sha256")

    def _digest(self, salt: bytes) -> bytes | None:
        """Return the digest keyed with this salt, or None.

        It is None if only one with another salt is known.
        """
        if self._content is not None:
            return hmac_digest(salt, self._content, "sha256")
        return self.salted[1] if self.salted[0] == salt else None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hidden):
            return NotImplemented
        known = self if other._salted is None else other
        salt, digest = known.salted
        mine = (other if known is self else self)._digest(salt)
        return mine is not None and compare_digest(mine, digest)

    def __hash__(self) -> int:
        return hash(Hidden)  # two equal ones may have digests with different salts

    def __repr__(self) -> str:
        return self.shown

    def __reduce__(self) -> tuple[Any, ...]:
        return Hidden, (self.shown, None, self.salted)


def _text(frozen: Any) -> str:  # noqa: PLR0911 - one line a kind
    """Return a text that is equal if and only if the values are."""
    kind = type(frozen)
    if kind is Hidden:
        return f"hidden:{frozen._content.hex() if frozen._content else frozen.salted}"  # noqa: SLF001
    if kind in MAPPINGS:
        items = sorted(f"{_text(key)}={_text(item)}" for key, item in frozen.items())
        return f"mapping:{class_of(frozen)}:{items}"
    if isinstance(frozen, tuple):
        return f"sequence:{[_text(item) for item in frozen]}"
    if kind is frozenset:
        return f"set:{sorted(map(_text, frozen))}"
    if kind in {int, float, Decimal, Fraction}:
        return f"number:{_number(frozen)}"
    if kind is datetime and frozen.utcoffset() is not None:
        return f"instant:{(frozen - frozen.utcoffset()).replace(tzinfo=None)!r}"
    return f"{kind.__module__}.{kind.__qualname__}:{frozen!r}"


def _number(number: Any) -> object:
    """Return a value that equal numbers of all kinds share."""
    if isinstance(number, Decimal) and (not number.is_finite() or abs(number.adjusted()) > _LARGE_EXPONENT):
        return "nan" if number.is_nan() else number.normalize()  # in full it could fill the memory
    return number if isinstance(number, float) and not isfinite(number) else Fraction(number)
