"""What a server answered over HTTP: its status, its JSON, and where the next page is."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from deltaspan.probes._base.secrets import without

if TYPE_CHECKING:
    import httpx

__all__ = ["Answer", "AnswerError", "answer_of", "plain", "refuse_codings"]

_MISSING: Final = frozenset({404, 410})
_CODINGS: Final = frozenset({"identity", "gzip", "deflate"})
"""What a body may be compressed by, once: of these a piece cannot grow by more than a thousand times."""
# No two runs of white space meet in it, which a hostile header would have tried in every way.
_PARAMETER: Final = r'\s*;\s*([^\s=;,"]+)(?:\s*=(?:\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]+)))?)?'
_LINK_PARAMETER: Final = re.compile(_PARAMETER)
_LINK: Final = re.compile(rf"<(?P<url>[^<>]*)>(?P<parameters>(?:{_PARAMETER})*)")
_SUCCESS: Final = frozenset(range(200, 300)) - {206}
"""Without Partial Content: no part was asked for, and one may read as JSON all the same."""
_REDIRECT: Final = range(300, 400)


class AnswerError(Exception):
    """A server answered, and not with what was asked for."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered.

    Attributes:
        status: the HTTP status.
        phrase: the status in words.
        kind: the content type.
        location: where a redirect leads.
        retry_after: for how long the server asks to wait.
        next_link: the URL of the next page, as the `Link` header has it; empty without.
        body: the content, decompressed.
        url: what was asked for.
    """

    status: int
    phrase: str
    kind: str
    location: str
    retry_after: str
    next_link: str
    body: bytes
    url: httpx.URL

    @property
    def is_missing(self) -> bool:
        """Whether there is no such thing."""
        return self.status in _MISSING

    def parsed(self) -> Any:
        """Return the JSON of an answer, whatever its status; raises ValueError when it has none."""
        return json.loads(self.body)

    def document(self) -> Any:
        """Return the JSON of an answer that has some.

        Raises:
            AnswerError: its status says otherwise, or it is no JSON.
        """
        if self.status not in _SUCCESS:
            to = self.location if self.status in _REDIRECT else ""
            where = f" to {plain(to)}: name that URL, no redirect is followed" if to else ""
            raise AnswerError(f"the server answered {self.status} {self.phrase}{where}")
        try:
            return self.parsed()
        except ValueError:
            kind = self.kind or "no content type"
            raise AnswerError(f"the answer is no JSON ({kind}, {len(self.body)} bytes)") from None


def answer_of(response: httpx.Response, body: bytes | bytearray) -> Answer:
    """Return what came, its body read."""
    headers = response.headers
    return Answer(
        response.status_code,
        response.reason_phrase,
        headers.get("content-type", ""),
        headers.get("location", ""),
        headers.get("retry-after", ""),
        _next_link(headers.get("link", "")),
        bytes(body),
        response.url,
    )


def refuse_codings(response: httpx.Response) -> None:
    """Refuse an answer whose body cannot be measured piece by piece.

    Raises:
        AnswerError: it is compressed twice, or by what was not asked for.
    """
    # Before the body is read: what is compressed twice may be any size in memory before it can be measured.
    codings = [each.lower() for each in response.headers.get_list("content-encoding", split_commas=True)]
    if len(codings) > 1 or not _CODINGS.issuperset(codings):
        raise AnswerError(
            f"the answer is compressed by {', '.join(codings)}: only gzip or deflate, once, is asked for"
        )


def plain(url: str) -> str:
    """Return a URL as it may be shown: without credentials, query and fragment."""
    # Credentials first: a `#` or `?` in a password that nobody encoded would leave its beginning.
    plain = without(url, ()).partition("#")[0].partition("?")[0]
    scheme, separator, rest = plain.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}" if separator else plain


def _next_link(header: str) -> str:
    """Return where a `Link` header has the next page (RFC 8288); empty without."""
    for link in _LINK.finditer(header):
        for name, quoted, plain in _LINK_PARAMETER.findall(link["parameters"]):
            if name.lower() == "rel":
                if "next" in (quoted or plain).lower().split():
                    return link["url"].strip()
                break  # further ones are to be ignored
    return ""
