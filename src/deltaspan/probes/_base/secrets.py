"""Hide passwords and tokens in the texts of systems."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote

__all__ = ["MAX_PASSWORD_LENGTH", "MIN_SECRET_LENGTH", "secrets_of", "without"]

_MASK: Final = "***"
_ASSIGNED: Final = re.compile(
    r"""(?P<name>\b(?:\w*password|passwd|pwd)\s*=\s*)(?![:?$%*])(?:'(?:[^'\\]|\\.)*'|[^\s'";&,]+)""",
    re.IGNORECASE,
)
_REPEATED: Final = re.compile(
    r"(?P<before>with args beginning with: |(?:invalid|illegal) header value ).+", re.IGNORECASE | re.DOTALL
)
"""Input that an error quotes, cut or escaped, so that a secret in it has another form."""
MAX_PASSWORD_LENGTH: Final = 200
"""The longest password that is recognized without being named. It bounds the search in a long text."""
MIN_SECRET_LENGTH: Final = 8
"""The shortest secret that is hidden everywhere in a text: the length that NIST asks of a password.

A shorter secret may be part of ordinary words and numbers. To hide it there would garble the text and reveal
it. It is hidden only in a query, and behind the name of a header, a password or a token.
"""
_IN_QUERY: Final = r"(?P<{0}>[?&;](?:[^\s=&#?'\"]*=)?)(?:{1})(?=[&;#\s'\"]|$)"
_IN_FIELD: Final = (
    r"(?P<{0}>(?i:(?:password|passwd|pwd|token|secret|key|auth|authorization|cookie|invalid port)['\"]?"
    r"(?:\s*[:=]\s*|\s+)[b('\"]*(?:(?:bearer|basic|token)\s+)?)[b('\"]*)(?:{1})(?!\w)"
)
_PORT: Final = r"(?:\d*|\{\w+\})(?=[/?#'\"\s]|$)"
_CREDENTIALS: Final = re.compile(
    # A slash, `?` or `#` in a password should be encoded, but often is not. Then no port follows the colon.
    rf"(?<=://)(?:[^\s/?#'\"]*@|(?!\[)[^\s/?#'\"@:]*:(?!{_PORT})[^\s'\"]{{0,{MAX_PASSWORD_LENGTH}}}@)"
)
_USER_AND_PASSWORD: Final = re.compile(
    rf"[^:]*://(?:[^/?#@:]*:(?P<plain>[^/?#]*)@|(?!\[)[^/?#@:]*:(?!{_PORT})(?P<odd>.*)@)", re.DOTALL
)
_MISREAD: Final = re.compile(r"""(?<=missing "=" after )"[^"]*"|(?<=\bhost ')[^\s']*(?=@)""")
"""The part of a DSN that libpq and psycopg quote if its password has a space or an @."""


def secrets_of(url: str) -> frozenset[str]:
    """Return the password of a URL or DSN, encoded and decoded.

    The set is empty if there is no password.
    """
    match = _USER_AND_PASSWORD.match(url)
    password = (match["plain"] or match["odd"]) if match else None
    if not password:
        return frozenset()
    # If the password is not encoded, a client may take its beginning for a port, and quote it.
    return frozenset({password, unquote(password), re.split("[/?#]", password)[0]} - {""})


def without(text: str, secrets: Iterable[str]) -> str:
    """Hide secrets in a text, in every form in which systems quote them.

    A secret shorter than `MIN_SECRET_LENGTH` is hidden only at places where secrets stand.

    Some texts are hidden although no secret names them: the credentials of any URL, `password=...` as in a
    DSN, the arguments that Redis quotes of an unknown command (it may be AUTH), the value that an HTTP client
    quotes of a header, and the part of a DSN that a driver misread.
    """
    for secret in sorted({secret for secret in secrets if secret}, key=len, reverse=True):
        # The longest first, since one secret may be the beginning of another.
        form = "".join(map(_quoted_forms, secret))
        if len(secret) >= MIN_SECRET_LENGTH:
            text = re.sub(form, _MASK, text)
            continue
        for context in (_IN_QUERY, _IN_FIELD):
            text = re.sub(context.format("before", form), rf"\g<before>{_MASK}", text)
    text = _REPEATED.sub(rf"\g<before>{_MASK}", text)
    text = _MISREAD.sub(_MASK, text)
    text = _ASSIGNED.sub(rf"\g<name>{_MASK}", text)
    return _CREDENTIALS.sub(f"{_MASK}@", text)


def _quoted_forms(character: str) -> str:
    """Return a regular expression for a character in each of its quoted forms.

    The forms are: plain, percent-encoded, and escaped as by `repr()` or JSON.
    """
    data = character.encode("utf-8", "surrogatepass")
    escaped = {
        character,
        repr(character)[1:-1],
        ascii(character)[1:-1],
        repr(data)[2:-1],
        json.dumps(character)[1:-1],
        *(["+"] if character == " " else []),
        *([f"\\{character}"] if character in "'\"" else []),
    }
    encoded = "".join(f"%{byte:02x}" for byte in data)
    plain = "|".join(re.escape(form) for form in sorted(escaped, key=len, reverse=True))
    return f"(?:(?i:{encoded})|{plain})"
