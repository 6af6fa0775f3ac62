"""What a read over HTTP asks for: a URL with its fields, what goes with it, and what of it is secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypedDict
from urllib.parse import parse_qsl, quote

from deltaspan._templates import fields_of, filled
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.probes._base.secrets import secrets_of
from deltaspan.probes._http._answer import plain

__all__ = ["Options", "Source", "secrets_in", "source_of"]

_SCHEMES: Final = frozenset({"http", "https"})
_ELSEWHERE: Final = frozenset({".", ".."})
"""Parts of a path that no encoding keeps from being taken for a way up."""


_SEPARATOR: Final = re.compile("[/#]")
_FIELD: Final = re.compile(r"\{[^\W\d]\w*\}")
_BELOW: Final = re.compile(r"\.[\w-]+\.[\w.-]+(?::\d+)?\Z")
"""What ends a host of which an argument may be a part: a domain that the template names."""


class Options(TypedDict, total=False):
    """What every probe over HTTP takes; see `Source`."""

    params: Mapping[str, str]
    headers: Mapping[str, str]
    auth: Any
    timeout: float
    retries: int
    limit: int


@dataclass(frozen=True, slots=True)
class Source:
    """What is asked, and how.

    Attributes:
        url: with fields, which are encoded as a part of a URL.
        params: the query, its values with fields.
        headers: sent with every request.
        auth: a user and a password, or an httpx.Auth.
        timeout: seconds that each request may take.
        retries: how often a request is sent again.
        limit: bytes of content that an answer may have.
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
                raise DefinitionTypeError(f"{name}= takes a mapping of text to text")
        _refuse_fields_elsewhere(self)
        for name, kind, least in (("timeout", int | float, 0), ("limit", int, 0), ("retries", int, -1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, kind) or not value > least:
                number = "a whole number" if kind is int else "a number"
                raise DefinitionValueError(f"{name}={value!r} must be {number} above {least}")

    @property
    def fields(self) -> tuple[str, ...]:
        """The arguments of the action that it names."""
        return fields_of(self.url, *self.params.values())

    @property
    def is_absolute(self) -> bool:
        """Whether it says by itself where the server is."""
        scheme, separator, rest = self.url.partition("://")
        return bool(separator and rest) and scheme.lower() in _SCHEMES

    @property
    def shown(self) -> str:
        """The URL as it may be shown: without credentials, query and fragment."""
        return plain(self.url)

    @property
    def secrets(self) -> set[str]:
        """What no error may show: header values, credentials, the query."""
        auth = set(self.auth[1:]) if isinstance(self.auth, tuple) else set()
        query = self.url.partition("?")[2].partition("#")[0]
        of_query = {query, *(text for _, text in parse_qsl(query)), *self.params.values()}
        return {*secrets_in(self.headers), *auth, *of_query, *secrets_of(self.url)} - {""}

    def filled(self, values: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        """Return the URL and the query of a read, with the arguments in their places.

        Raises:
            ValueError: an argument would lead the URL elsewhere.
        """
        encoded = {name: quote(filled(f"{{{name}}}", values), safe="") for name in fields_of(self.url)}
        url = filled(self.url, encoded)
        written, found = (_SEPARATOR.split(each.partition("?")[0]) for each in (self.url, url))
        for template, part in zip(written, found, strict=True):
            if part in _ELSEWHERE and part != template:
                raise ValueError(
                    f"an argument makes {template!r} of the path {part!r}, which would lead the URL to "
                    f"another place"
                )
        return url, {name: filled(text, values) for name, text in self.params.items()}


def _refuse_fields_elsewhere(source: Source) -> None:
    scheme, separator, rest = source.url.partition("://")
    host = re.split("[/?#]", rest, maxsplit=1)[0] if separator else ""
    if fields_of(scheme if separator else "") or (
        fields_of(host) and ("@" in host or not _BELOW.match(host.rpartition("}")[2]))
    ):
        raise DefinitionValueError(
            f"{plain(source.url)!r}: an argument would say to which host headers and credentials go; write "
            f"the host, or at least its domain, as in 'https://{{region}}.api.example.com'"
        )
    for name, texts in (
        ("headers", (*source.headers, *source.headers.values())),
        ("the names of params", tuple(source.params)),
    ):
        if any(_FIELD.search(text) for text in texts):
            raise DefinitionValueError(
                f"{name} take no fields: write the argument in the URL, or in the value of one of params"
            )


def source_of(url: str, options: Options) -> Source:
    """Return what is asked, and how.

    Raises:
        DefinitionTypeError: an option is not known, or something is of the wrong kind.
        DefinitionValueError: a number is out of range.
    """
    known = Options.__annotations__
    for name in options:
        if name not in known:
            raise DefinitionTypeError(
                f"{name}= is no option of a read over HTTP; there are {', '.join(known)}"
            )
    return Source(url, **options)


def secrets_in(headers: Mapping[str, str]) -> set[str]:
    """Return what headers say, and without the scheme before it, as in `Bearer t0ken`."""
    return {form for text in headers.values() for form in (text, text.partition(" ")[2].strip())}
