"""Values that hide their content, such as pydantic's SecretStr.

Third-party types are recognised by their names and methods. Nothing is imported for them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

MASK: Final = "**********"
"""The text of a value that shows nothing of itself, as in pydantic."""

_SHOWN_BY_REPR: Final = frozenset(
    {
        ("databases", "DatabaseURL"),
        ("httpx", "URL"),
        ("sqlalchemy", "URL"),
        ("starlette", "Secret"),
        ("starlette", "URL"),
    }
)
"""Module and name of types whose `repr` leaves a password out, while their `str` may not."""


@lru_cache(maxsize=1024)
def hides_itself(kind: type) -> bool:
    """Return whether values of this type hide what they hold when they are written."""
    return any(callable(getattr(kind, name, None)) for name in _unveilers(kind)) or any(
        _place(base) in _SHOWN_BY_REPR for base in kind.__mro__
    )


def masked_text(value: Any) -> str:
    """Return the text that a value that hides its content shows.

    If that text contains the secret, it is a mask.
    """
    kind = type(value)
    if any(_place(base) in _SHOWN_BY_REPR for base in kind.__mro__):
        return repr(value)
    shown, secret = str(value), secret_of(value)
    hidden = secret.decode("utf-8", "replace") if isinstance(secret, bytes) else str(secret)
    return MASK if hidden and hidden in shown else shown


def secret_of(value: Any) -> Any:
    """Return the content of a value that hides it."""
    kind = type(value)
    for name in _unveilers(kind):
        if callable(getattr(kind, name, None)):
            return getattr(value, name)()
    return tuple(value) if isinstance(value, tuple) else str(value)


def _unveilers(kind: type) -> tuple[str, ...]:
    root = str(kind.__module__).partition(".")[0]
    return ("get_secret_value", "get_secret") if root == "litestar" else ("get_secret_value",)


def _place(kind: type) -> tuple[str, str]:
    return str(kind.__module__).partition(".")[0], kind.__name__
