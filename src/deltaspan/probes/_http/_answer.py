"""Answers of a server: status, JSON, and the link to the next page."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from deltaspan.probes._base.secrets import without

if TYPE_CHECKING:
    import httpx

_MISSING: Final = frozenset({404, 410})
_CONTENT_ENCODINGS: Final = frozenset({"identity", "gzip", "deflate"})
"""Accepted encodings of a body. They expand a chunk at most a thousand times."""
# No two runs of white space are adjacent, since a hostile header would make the match exponential.
_PARAMETER: Final = r'\s*;\s*([^\s=;,"]+)(?:\s*=(?:\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]+)))?)?'
_LINK_PARAMETER: Final = re.compile(_PARAMETER)
_LINK: Final = re.compile(rf"<(?P<url>[^<>]*)>(?P<parameters>(?:{_PARAMETER})*)")
_SUCCESS: Final = frozenset(range(200, 300)) - {206}
"""Without Partial Content: no part was requested, and a part may still be valid JSON."""
_REDIRECT: Final = range(300, 400)


class AnswerError(Exception):
    """A server answered, but its answer cannot be the state."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of a server.

    Attributes:
        status: the HTTP status.
        phrase: the status in words.
        content_type: the content type.
        location: where a redirect leads.
        retry_after: the seconds that the server asks to wait.
        next_link: the URL of the next page in the `Link` header, or empty.
        body: the content, decompressed.
        url: the URL of the request.
    """

    status: int
    phrase: str
    content_type: str
    location: str
    retry_after: str
    next_link: str
    body: bytes
    url: httpx.URL

    @property
    def is_missing(self) -> bool:
        """True if the server says that the resource does not exist."""
        return self.status in _MISSING

    def parse_json(self) -> Any:
        """Return the JSON of an answer with any status."""
        return json.loads(self.body)

    def document(self) -> Any:
        """Return the JSON of an answer that has some.

        Raises:
            AnswerError: its status is not a success, or it is not JSON.
        """
        if self.status not in _SUCCESS:
            to = self.location if self.status in _REDIRECT else ""
            redirect = f" to {visible_url(to)}: name that URL, no redirect is followed" if to else ""
            raise AnswerError(f"the server answered {self.status} {self.phrase}{redirect}")
        try:
            return self.parse_json()
        except ValueError:
            content_type = self.content_type or "no content type"
            raise AnswerError(f"the answer is not JSON ({content_type}, {len(self.body)} bytes)") from None


def make_answer(response: httpx.Response, body: bytes | bytearray) -> Answer:
    """Build the answer from a response and its body."""
    headers = response.headers
    return Answer(
        response.status_code,
        response.reason_phrase,
        headers.get("content-type", ""),
        headers.get("location", ""),
        headers.get("retry-after", ""),
        _parse_next_link(headers.get("link", "")),
        bytes(body),
        response.url,
    )


def check_content_encoding(response: httpx.Response) -> None:
    """Raise if the body cannot be measured piece by piece.

    Raises:
        AnswerError: it is compressed twice, or by another method than requested.
    """
    # Before the body is read, since a body that is compressed twice may fill the memory.
    encodings = [
        encoding.lower() for encoding in response.headers.get_list("content-encoding", split_commas=True)
    ]
    if len(encodings) > 1 or not _CONTENT_ENCODINGS.issuperset(encodings):
        raise AnswerError(
            f"the answer is compressed by {', '.join(encodings)}: only gzip or deflate, once, is asked for"
        )


def visible_url(url: str) -> str:
    """Return a URL without credentials, query and fragment."""
    # Credentials first: a `#` or `?` in an unencoded password would leave its beginning.
    visible_url = without(url, ()).partition("#")[0].partition("?")[0]
    scheme, separator, rest = visible_url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}" if separator else visible_url


def _parse_next_link(header: str) -> str:
    """Return the URL of the next page in a `Link` header (RFC 8288).

    The URL is empty if the header has none.
    """
    for link in _LINK.finditer(header):
        for name, quoted, visible_url in _LINK_PARAMETER.findall(link["parameters"]):
            if name.lower() == "rel":
                if "next" in (quoted or visible_url).lower().split():
                    return link["url"].strip()
                break  # further ones are to be ignored
    return ""
