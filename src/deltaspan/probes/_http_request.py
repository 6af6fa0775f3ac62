"""One HTTP read: which requests are sent, which are sent again, and what becomes of the answer.

What is read is a generator of steps, which whoever drives it takes with a sync or with an async client.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypedDict, TypeVar
from urllib.parse import parse_qsl, quote

from deltaspan._threads import on_asyncio
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.probes._fields import fields_of, filled
from deltaspan.probes._http_answer import Answer, AnswerError, answer_of, plain, refuse_codings
from deltaspan.probes._secrets import secrets_of
from deltaspan.probes._state_probe import AsyncStateProbe, StateProbe

try:
    import httpx
except ImportError as error:
    raise ImportError("this probe needs httpx: pip install 'deltaspan[http]'") from error

__all__ = [
    "Client",
    "Options",
    "Source",
    "Steps",
    "fetched",
    "http_probe",
    "httpx",
    "source_of",
]

T = TypeVar("T")
Client: TypeAlias = "httpx.Client | httpx.AsyncClient | None"

_AGAIN: Final = frozenset({429, 502, 503, 504})
"""Statuses of a server that may well answer in a moment."""
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 5.0
_TOLD: Final = frozenset({"accept", "accept-encoding", "connection", "user-agent"})
"""Headers of every client, which are no secret."""
_ELSEWHERE: Final = frozenset({".", ".."})
"""Parts of a path that no encoding keeps from being taken for a way up."""


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
    def shown(self) -> str:
        """The URL as it may be shown: without credentials, query and fragment."""
        return plain(self.url)

    @property
    def secrets(self) -> set[str]:
        """What no error may show: header values, credentials, the query."""
        auth = set(self.auth[1:]) if isinstance(self.auth, tuple) else set()
        query = self.url.partition("?")[2].partition("#")[0]
        of_query = {query, *(text for _, text in parse_qsl(query)), *self.params.values()}
        return {*_secrets_in(self.headers), *auth, *of_query, *secrets_of(self.url)} - {""}

    def filled(self, values: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        """Return the URL and the query of a read, with the arguments in their places.

        Raises:
            ValueError: an argument would lead the URL elsewhere.
        """
        encoded = {name: quote(filled(f"{{{name}}}", values), safe="") for name in fields_of(self.url)}
        for name, text in encoded.items():
            if text in _ELSEWHERE:
                raise ValueError(
                    f"the field {{{name}}} is {text!r}, which would lead the URL to another place"
                )
        return filled(self.url, encoded), {name: filled(text, values) for name, text in self.params.items()}


Steps: TypeAlias = Generator["tuple[str, Mapping[str, str]] | float", "Answer | Exception | None", T]
"""Yields what to GET, and takes what came of it; or seconds to wait."""


def fetched(source: Source, url: str, params: Mapping[str, str]) -> Steps[Answer]:
    """GET once, and again while the server may well answer in a moment: reading twice does no harm."""
    for attempt in range(source.retries + 1):
        came = yield url, params
        last = attempt == source.retries
        if isinstance(came, httpx.TransportError) and not last:
            yield _pause(attempt)
        elif isinstance(came, Exception):
            raise came
        elif isinstance(came, Answer):
            if last or came.status not in _AGAIN:
                return came
            yield _pause(attempt, came.retry_after)
    raise AssertionError("unreachable: the last attempt returns or raises")


def _pause(attempt: int, asked: str = "") -> float:
    # Half of it by chance, so that probes that failed together do not come back together.
    pause: float = _FIRST_PAUSE * 2**attempt * (0.5 + random.random() / 2)  # noqa: S311  # no secret
    if asked.isdecimal():
        pause = max(pause, float(asked))
    return min(pause, _LONGEST_PAUSE)


def drive(source: Source, client: httpx.Client | None, steps: Steps[T]) -> T:
    """Take the steps with a client, or with one of their own."""
    if client is None:
        with httpx.Client() as own:
            return drive(source, own, steps)
    came: Answer | Exception | None = None
    while True:
        try:
            step = steps.send(came)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        came = None
        if isinstance(step, float):
            time.sleep(step)
            continue
        try:
            came = _asked(source, client, *step)
        except (httpx.HTTPError, AnswerError) as error:
            came = error


async def drive_async(source: Source, client: httpx.AsyncClient, steps: Steps[T]) -> T:
    """Do the same with an async client."""
    came: Answer | Exception | None = None
    while True:
        try:
            step = steps.send(came)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        came = None
        if isinstance(step, float):
            await _sleep(step)
            continue
        try:
            came = await _asked_async(source, client, *step)
        except (httpx.HTTPError, AnswerError) as error:
            came = error


async def _sleep(seconds: float) -> None:
    if on_asyncio():
        await asyncio.sleep(seconds)
    else:  # the one other event loop that httpx knows
        import trio  # noqa: PLC0415

        await trio.sleep(seconds)


def _asked(source: Source, client: httpx.Client, url: str, params: Mapping[str, str]) -> Answer:
    ends = time.monotonic() + source.timeout
    with client.stream("GET", _merged(url, params), **_options(source)) as response:
        refuse_codings(response)
        body = bytearray()
        for chunk in response.iter_bytes():
            body += chunk
            _hold_to_limits(source, body, ends)
    return answer_of(response, body)


async def _asked_async(
    source: Source, client: httpx.AsyncClient, url: str, params: Mapping[str, str]
) -> Answer:
    ends = time.monotonic() + source.timeout
    async with client.stream("GET", _merged(url, params), **_options(source)) as response:
        refuse_codings(response)
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            _hold_to_limits(source, body, ends)
    return answer_of(response, body)


def _merged(url: str, params: Mapping[str, str]) -> httpx.URL:
    # Given to httpx as `params=` they would replace the query that the URL has.
    return httpx.URL(url).copy_merge_params(dict(params)) if params else httpx.URL(url)


def _options(source: Source) -> dict[str, Any]:
    headers = {"Accept-Encoding": "gzip, deflate", **source.headers}
    options: dict[str, Any] = {"headers": headers, "timeout": source.timeout}
    if source.auth is not None:
        options["auth"] = source.auth
    # A redirect may lead to another host, which is to see no header of ours.
    return {**options, "follow_redirects": False}


def _hold_to_limits(source: Source, body: bytearray, ends: float) -> None:
    if time.monotonic() > ends:  # httpx starts its clock anew with each piece
        raise httpx.ReadTimeout(f"the answer was not whole after {source.timeout:g} seconds")
    if len(body) > source.limit:
        raise AnswerError(
            f"the answer has more than {source.limit} bytes: ask for a part of it, or for a number such as a "
            f"total, or raise limit="
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


def http_probe(
    source: Source,
    client: Client,
    steps: Callable[[Mapping[str, Any]], Steps[T]],
    words: str,
    needs: Iterable[str] = (),
) -> StateProbe[T] | AsyncStateProbe[T]:
    """Return the probe that takes the steps of a read, given the action's arguments, with a client.

    Args:
        source: what is asked.
        client: what it is asked with; None for a client of each read's own.
        steps: begins a read.
        words: the call that made the probe.
        needs: arguments that it names beside those of the source.

    Raises:
        DefinitionTypeError: the client is none of httpx.
    """
    needed = (*source.fields, *needs)
    secrets = source.secrets | _secrets_of_client(client)
    if isinstance(client, httpx.AsyncClient):
        its = client

        async def read_async(**values: Any) -> T:
            return await drive_async(source, its, steps(values))

        return AsyncStateProbe(read_async, words, needed, secrets)
    if client is not None and not isinstance(client, httpx.Client):
        raise DefinitionTypeError(f"client= takes an httpx.Client or httpx.AsyncClient, not {client!r}")

    def read(**values: Any) -> T:
        return drive(source, client, steps(values))

    return StateProbe(read, words, needed, secrets)


def _secrets_in(headers: Mapping[str, str]) -> set[str]:
    """Return what headers say, and without the scheme before it, as in `Bearer t0ken`."""
    return {form for text in headers.values() for form in (text, text.partition(" ")[2].strip())}


def _secrets_of_client(client: object) -> set[str]:
    if not isinstance(client, httpx.Client | httpx.AsyncClient):
        return set()
    own = {name: text for name, text in client.headers.items() if name not in _TOLD}
    return {*_secrets_in(own), *secrets_of(str(client.base_url))} - {""}
