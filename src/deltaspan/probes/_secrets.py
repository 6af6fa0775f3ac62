"""What must not be said: passwords and tokens, taken out of whatever text a system answers with."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote, quote_plus, unquote, urlsplit

__all__ = ["secrets_of", "without"]

_HIDDEN: Final = "***"
_CREDENTIALS: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)[^\s/?#'\"]*@")
_ASSIGNED: Final = re.compile(
    r"""(?P<name>\b(?:\w*password|passwd|pwd)\s*=\s*)(?![:?$%*])(?:'(?:[^'\\]|\\.)*'|[^\s'";&,]+)""",
    re.IGNORECASE,
)
_MISREAD: Final = re.compile(r"""(?<=missing "=" after )"[^"]*"|(?<=\bhost ')[^\s']*(?=@)""")
"""What libpq and psycopg quote of a DSN whose password they misread: it has a space or an @."""


def secrets_of(url: str) -> frozenset[str]:
    """Return the password of a URL or DSN, as it is written there and as it is meant; none if it has none."""
    try:
        password = urlsplit(url).password
    except ValueError:  # no URL; what shows credentials in it is hidden all the same
        password = None
    return frozenset({password, unquote(password)}) if password else frozenset()


def without(text: str, secrets: Iterable[str]) -> str:
    """Return the text with secrets hidden, plain or as URLs write them.

    Hidden too, though nobody named them, are the credentials of any URL and `password=...` as in any DSN, and
    what a driver misread of one.
    """
    said = {form for secret in secrets if secret for form in (secret, quote(secret, ""), quote_plus(secret))}
    for secret in sorted(said, key=len, reverse=True):  # one may be the beginning of another
        text = text.replace(secret, _HIDDEN)
    text = _MISREAD.sub(_HIDDEN, text)
    text = _ASSIGNED.sub(rf"\g<name>{_HIDDEN}", text)
    return _CREDENTIALS.sub(rf"\g<scheme>{_HIDDEN}@", text)
