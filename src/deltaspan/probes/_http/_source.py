"""URLs with fields, and the options and secrets of their requests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypedDict
from urllib.parse import parse_qsl, quote

from deltaspan._templates import fields_of, fill
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.probes._base.secrets import secrets_of
from deltaspan.probes._http._answer import visible_url

_SCHEMES: Final = frozenset({"http", "https"})
_PARENT_SEGMENTS: Final = frozenset({".", ".."})
"""Segments that mean a folder even if they are encoded."""


_SEPARATOR: Final = re.compile("[/#]")
_FIELD: Final = re.compile(r"\{[^\W\d]\w*\}")
_DOMAIN: Final = re.compile(r"\.[\w-]+\.[\w.-]+(?::\d+)?\Z")
"""The end of a host that may contain an argument: a domain that the template names."""


class HttpOptions(TypedDict, total=False):
    """Options of every probe over HTTP, as `HttpSource` describes them."""

    params: Mapping[str, str]
    headers: Mapping[str, str]
    auth: Any
    timeout: float
    retries: int
    limit: int


@dataclass(frozen=True, slots=True)
class HttpSource:
    """The URL and the request options of a probe.

    Attributes:
        url: the URL. Its fields are filled with encoded arguments.
        params: the query, whose values may have fields.
        headers: sent with every request.
        auth: a user and a password, or an httpx.Auth.
        timeout: the time limit of each request, in seconds.
        retries: the most retries of a request.
        limit: the most bytes of an answer.
    """

    url: str
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    auth: Any = None
    timeout: float = 10.0
    retries: int = 2
    limit: int = 10_000_000

    def __post_init__(self) -> None:
        if not isinstance(self.url, str):
            raise DefinitionTypeError(f"expected a URL, not {self.url!r}")
        for name in ("params", "headers"):
            value = getattr(self, name)
            if not all(isinstance(text, str) for pair in value.items() for text in pair):
                raise DefinitionTypeError(f"{name}= takes a mapping of str to str")
        _check_field_places(self)
        for name, content_type, least in (
            ("timeout", int | float, 0),
            ("limit", int, 0),
            ("retries", int, -1),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, content_type) or not value > least:
                number = "a whole number" if content_type is int else "a number"
                raise DefinitionValueError(f"{name}={value!r} must be {number} above {least}")

    @property
    def fields(self) -> tuple[str, ...]:
        """Arguments of the action that the URL and the query need."""
        return fields_of(self.url, *self.params.values())

    @property
    def is_absolute(self) -> bool:
        """True if the URL names its server."""
        scheme, separator, rest = self.url.partition("://")
        return bool(separator and rest) and scheme.lower() in _SCHEMES

    @property
    def shown(self) -> str:
        """The URL without credentials, query and fragment."""
        return visible_url(self.url)

    @property
    def secrets(self) -> set[str]:
        """Texts that no error may show: header values, credentials, the query."""
        auth = set(self.auth[1:]) if isinstance(self.auth, tuple) else set()
        query = self.url.partition("?")[2].partition("#")[0]
        of_query = {query, *(text for _, text in parse_qsl(query)), *self.params.values()}
        return {*header_secrets(self.headers), *auth, *of_query, *secrets_of(self.url)} - {""}

    def fill(self, values: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        """Return the URL and the query, filled with the arguments.

        Raises:
            ValueError: an argument would lead the URL elsewhere.
        """
        encoded = {name: quote(fill(f"{{{name}}}", values), safe="") for name in fields_of(self.url)}
        url = fill(self.url, encoded)
        template_segments, segments = (_SEPARATOR.split(text.partition("?")[0]) for text in (self.url, url))
        for template, part in zip(template_segments, segments, strict=True):
            if part in _PARENT_SEGMENTS and part != template:
                raise ValueError(
                    f"an argument makes {template!r} of the path {part!r}, which would lead the URL to "
                    f"another place"
                )
        return url, {name: fill(text, values) for name, text in self.params.items()}


def _check_field_places(source: HttpSource) -> None:
    scheme, separator, rest = source.url.partition("://")
    host = re.split("[/?#]", rest, maxsplit=1)[0] if separator else ""
    if fields_of(scheme if separator else "") or (
        fields_of(host) and ("@" in host or not _DOMAIN.match(host.rpartition("}")[2]))
    ):
        raise DefinitionValueError(
            f"{visible_url(source.url)!r}: an argument would choose the host that receives headers and "
            f"credentials; write the host, or at least its domain, as in 'https://{{region}}.api.example.com'"
        )
    for name, texts in (
        ("headers", (*source.headers, *source.headers.values())),
        ("the names of params", tuple(source.params)),
    ):
        if any(_FIELD.search(text) for text in texts):
            raise DefinitionValueError(
                f"{name} take no fields: write the argument in the URL, or in the value of one of params"
            )


def make_source(url: str, options: HttpOptions) -> HttpSource:
    """Validate the URL and the options of a probe.

    Raises:
        DefinitionTypeError: an option is not known, or something is of the wrong kind.
        DefinitionValueError: a number is out of range.
    """
    known = HttpOptions.__annotations__
    for name in options:
        if name not in known:
            raise DefinitionTypeError(
                f"{name}= is not an option of an HTTP probe; the options are {', '.join(known)}"
            )
    return HttpSource(url, **options)


def header_secrets(headers: Mapping[str, str]) -> set[str]:
    """Return header values, with and without a scheme such as `Bearer`."""
    return {form for text in headers.values() for form in (text, text.partition(" ")[2].strip())}
