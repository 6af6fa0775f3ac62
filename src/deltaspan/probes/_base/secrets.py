"""What must not be said: passwords and tokens, taken out of whatever text a system answers with."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote

__all__ = ["PASSWORD_MOST", "SHORTEST", "secrets_of", "without"]

_HIDDEN: Final = "***"
_ASSIGNED: Final = re.compile(
    r"""(?P<name>\b(?:\w*password|passwd|pwd)\s*=\s*)(?![:?$%*])(?:'(?:[^'\\]|\\.)*'|[^\s'";&,]+)""",
    re.IGNORECASE,
)
_REPEATED: Final = re.compile(
    r"(?P<before>with args beginning with: |(?:invalid|illegal) header value ).+", re.IGNORECASE | re.DOTALL
)
"""Input that a refusal repeats, cut or escaped, so that no secret in it can be found as it was given."""
PASSWORD_MOST: Final = 200
"""How long a password that nobody named may be; else a long text would be looked through again and again."""
SHORTEST: Final = 8
"""Characters that a secret has at least to be hidden wherever it stands, as many as NIST asks of a password.

A shorter one is a part of ordinary words and numbers: hidden there, it would garble the text and give itself
away. It is hidden where a secret stands: in a query, behind the name of a header, a password or a token.
"""
_IN_QUERY: Final = r"(?P<{0}>[?&;](?:[^\s=&#?'\"]*=)?)(?:{1})(?=[&;#\s'\"]|$)"
_IN_FIELD: Final = (
    r"(?P<{0}>(?i:(?:password|passwd|pwd|token|secret|key|auth|authorization|cookie|invalid port)['\"]?"
    r"(?:\s*[:=]\s*|\s+)[b('\"]*(?:(?:bearer|basic|token)\s+)?)[b('\"]*)(?:{1})(?!\w)"
)
_PORT: Final = r"(?:\d*|\{\w+\})(?=[/?#'\"\s]|$)"
_CREDENTIALS: Final = re.compile(
    # A slash, `?` or `#` in a password should be encoded, and often is not; no port follows the colon then.
    rf"(?<=://)(?:[^\s/?#'\"]*@|(?!\[)[^\s/?#'\"@:]*:(?!{_PORT})[^\s'\"]{{0,{PASSWORD_MOST}}}@)"
)
_USER_AND_PASSWORD: Final = re.compile(
    rf"[^:]*://(?:[^/?#@:]*:(?P<plain>[^/?#]*)@|(?!\[)[^/?#@:]*:(?!{_PORT})(?P<odd>.*)@)", re.DOTALL
)
_MISREAD: Final = re.compile(r"""(?<=missing "=" after )"[^"]*"|(?<=\bhost ')[^\s']*(?=@)""")
"""What libpq and psycopg quote of a DSN whose password they misread: it has a space or an @."""


def secrets_of(url: str) -> frozenset[str]:
    """Return the password of a URL or DSN, as it is written there and as it is meant; none if it has none."""
    found = _USER_AND_PASSWORD.match(url)
    password = (found["plain"] or found["odd"]) if found else None
    if not password:
        return frozenset()
    # Of one that was not encoded, others take the beginning for a port, and say so.
    return frozenset({password, unquote(password), re.split("[/?#]", password)[0]} - {""})


def without(text: str, secrets: Iterable[str]) -> str:
    """Return the text with secrets hidden, however they are quoted there.

    Those shorter than `SHORTEST` are hidden in their places alone.

    Hidden too, though nobody named them, are the credentials of any URL, `password=...` as in any DSN, and
    what Redis repeats of a command it does not know (AUTH may be one), an HTTP client of a header, a driver
    of a DSN that it misread.
    """
    for secret in sorted({secret for secret in secrets if secret}, key=len, reverse=True):
        # The longest first: one may be the beginning of another.
        form = "".join(map(_however, secret))
        if len(secret) >= SHORTEST:
            text = re.sub(form, _HIDDEN, text)
            continue
        for place in (_IN_QUERY, _IN_FIELD):
            text = re.sub(place.format("before", form), rf"\g<before>{_HIDDEN}", text)
    text = _REPEATED.sub(rf"\g<before>{_HIDDEN}", text)
    text = _MISREAD.sub(_HIDDEN, text)
    text = _ASSIGNED.sub(rf"\g<name>{_HIDDEN}", text)
    return _CREDENTIALS.sub(f"{_HIDDEN}@", text)


def _however(character: str) -> str:
    """Return the pattern of a character: plain, encoded as in a URL, or escaped as in a `repr` or in JSON."""
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
