"""A document as text that shows whether it is still the one that was written.

A digest finds what was corrupted on the way. Only a key finds what was forged: whoever can change the text
can compute its digest anew, but not the HMAC of a key that he does not have. Both are taken over the
canonical form of the document, so a store that formats JSON anew does no harm.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any, Final

from deltaspan._state.codec import canonical
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError

__all__ = ["FORMAT", "checked_key", "seal", "unseal"]

FORMAT: Final = 1
"""The version of the document's layout; another one is refused rather than guessed at."""

_KIND: Final = "deltaspan.window"
_DIGEST: Final = "sha256"
_SIGNATURE: Final = "hmac-sha256"
_NOT_OURS: Final = "this is not the text of a window; pass on what to_json() returned, as it is"


def checked_key(key: object) -> bytes | None:
    """Return a key as bytes; None when none is given. What is refused is never quoted.

    Raises:
        DefinitionTypeError: it is neither bytes nor text.
        DefinitionValueError: it is empty.
    """
    if key is None:
        return None
    if not isinstance(key, bytes | str):
        raise DefinitionTypeError(f"key must be bytes or text, not {type(key).__name__}")
    if not key:
        raise DefinitionValueError("key is empty; give the secret itself, or leave key out")
    return key.encode("utf-8", "surrogatepass") if isinstance(key, str) else key


def seal(content: dict[str, Any], key: bytes | None) -> str:
    """Return a document as text.

    Args:
        content: what `json.dumps` takes.
        key: signs it; without one a digest is taken.
    """
    document = {"kind": _KIND, "format": FORMAT, "window": content}
    return canonical({**document, "seal": _seal_of(document, key)})


def unseal(text: str | bytes | bytearray, key: bytes | None) -> dict[str, Any]:
    """Return the content of a text that `seal` returned.

    Args:
        text: the text; it may come from anywhere.
        key: what it must have been signed with; None when it must not be signed.

    Raises:
        DefinitionTypeError: it is not text.
        DefinitionValueError: it is malformed, of another format, corrupted or forged, or just one side has a
            key.
    """
    if not isinstance(text, str | bytes | bytearray):
        raise DefinitionTypeError(f"a window is handed over as text, not as {type(text).__name__}")
    document = _parsed(text)
    if type(document) is not dict or document.get("kind") != _KIND:
        raise DefinitionValueError(_NOT_OURS)
    version = document.get("format")
    if type(version) is not int or version != FORMAT:
        raise DefinitionValueError(
            f"this window was written in format {version!r:.20}, and this version of deltaspan reads format "
            f"{FORMAT}; use the same version on both sides"
        )
    found, content = document.pop("seal", None), document.get("window")
    if type(found) is not str or type(content) is not dict:
        raise DefinitionValueError(_NOT_OURS)
    _compare(found, document, key)
    return content


def _parsed(text: str | bytes | bytearray) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        # Not `from` the error, which quotes the text: it may hold states.
        raise DefinitionValueError(f"{_NOT_OURS} (it is not JSON, or was cut)") from None


def _compare(found: str, document: dict[str, Any], key: bytes | None) -> None:
    method = found.partition(":")[0]
    if method not in (_DIGEST, _SIGNATURE):
        raise DefinitionValueError(_NOT_OURS)
    if method == _SIGNATURE and key is None:
        raise DefinitionValueError(
            "this window was signed; give from_json() the key that to_json() was given"
        )
    if method == _DIGEST and key is not None:
        raise DefinitionValueError(
            "a key was given, but this window was not signed, so anyone may have written it; give to_json() "
            "the same key"
        )
    try:
        expected = _seal_of(document, key)
    except (ValueError, RecursionError):
        raise DefinitionValueError(_NOT_OURS) from None
    if hmac.compare_digest(expected.encode(), found.encode("utf-8", "surrogatepass")):
        return
    if key is None:
        raise DefinitionValueError(
            "this window was corrupted on its way: its digest does not fit its content"
        )
    raise DefinitionValueError(
        "this window was changed on its way, or was signed with another key: its signature does not fit its "
        "content"
    )


def _seal_of(document: dict[str, Any], key: bytes | None) -> str:
    data = canonical(document).encode("ascii")
    if key is None:
        return f"{_DIGEST}:{hashlib.sha256(data).hexdigest()}"
    return f"{_SIGNATURE}:{hmac.new(key, data, hashlib.sha256).hexdigest()}"
