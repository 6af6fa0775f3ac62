"""Send GET requests: retries, time limits and size limits of a read.

A read is a generator of steps, which `request_probe` runs with a sync or an async client.
"""

from __future__ import annotations

import asyncio
import contextvars
import random
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from deltaspan._workers import is_loop_running
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.probes._base.probe import AsyncStateProbe, StateProbe
from deltaspan.probes._base.requests import Sender, request_probe
from deltaspan.probes._base.secrets import secrets_of
from deltaspan.probes._http._answer import Answer, AnswerError, check_content_encoding, make_answer
from deltaspan.probes._http._source import HttpSource, header_secrets

try:
    import httpx
    from anyio import fail_after  # which httpx brings
except ImportError as error:
    raise ImportError("this probe needs httpx: pip install 'deltaspan[http]'") from error

__all__ = ["Client", "HttpSteps", "get", "http_probe", "httpx"]

T = TypeVar("T")
Client: TypeAlias = "httpx.Client | httpx.AsyncClient | None"

_RETRY_STATUSES: Final = frozenset({429, 502, 503, 504})
"""Statuses after which a retry may succeed."""
_FIRST_PAUSE_SECONDS: Final = 0.2
_MAX_PAUSE_SECONDS: Final = 5.0
_PUBLIC_HEADERS: Final = frozenset({"accept", "accept-encoding", "connection", "user-agent"})
"""Headers that every client sends. They are not secret."""


HttpStep: TypeAlias = "tuple[str, Mapping[str, str]] | float"
"""The URL and the query of a GET; or seconds to wait."""
HttpSteps: TypeAlias = Generator[HttpStep, "Answer | Exception | None", T]
"""Yields each step, is sent the answer or the error, and returns the state."""


def get(source: HttpSource, url: str, params: Mapping[str, str]) -> HttpSteps[Answer]:
    """Send a GET request, and retry it while a retry may succeed.

    A retry is safe, because a GET changes nothing.
    """
    for attempt in range(source.retries + 1):
        outcome = yield url, params
        is_last = attempt == source.retries
        if isinstance(outcome, httpx.TransportError) and not is_last:
            yield _pause_seconds(attempt)
        elif isinstance(outcome, Exception):
            raise outcome
        elif isinstance(outcome, Answer):
            if is_last or outcome.status not in _RETRY_STATUSES:
                return outcome
            yield _pause_seconds(attempt, outcome.retry_after)
    raise AssertionError("unreachable: the last attempt returns or raises")


def _pause_seconds(attempt: int, retry_after: str = "") -> float:
    # Half of it is random, so that probes that failed together do not retry together.
    pause: float = _FIRST_PAUSE_SECONDS * 2**attempt * (0.5 + random.random() / 2)  # noqa: S311  # no secret
    if retry_after.isdecimal():
        pause = max(pause, float(retry_after))
    return min(pause, _MAX_PAUSE_SECONDS)


class _Sender:
    """Sends the requests of one read, over a given or a new client.

    Args:
        source: the options of each request.
        client: what sends them; None for a new client.
    """

    def __init__(self, source: HttpSource, client: httpx.Client | None) -> None:
        self._source = source
        self._client = client
        self._own_client: httpx.Client | None = None

    def __enter__(self) -> Callable[[HttpStep], Answer | Exception | None]:
        return self._send

    def __exit__(self, *_: object) -> None:
        self._close()

    def _send(self, step: HttpStep) -> Answer | Exception | None:
        if isinstance(step, float):
            time.sleep(step)
            return None
        client = self._client
        if client is None:
            client = self._own_client = self._own_client or httpx.Client()
        try:
            return _get(self._source, client, *step)
        except (httpx.HTTPError, AnswerError) as error:
            if isinstance(error, httpx.TimeoutException):
                self._close()  # ends a body that may still be arriving, in its thread
            return error

    def _close(self) -> None:
        if self._own_client is not None:
            self._own_client.close()
            self._own_client = None


async def _send_async(
    source: HttpSource, client: httpx.AsyncClient, step: HttpStep
) -> Answer | Exception | None:
    if isinstance(step, float):
        await _sleep(step)
        return None
    try:
        return await _get_async(source, client, *step)
    except (httpx.HTTPError, AnswerError) as error:
        return error


async def _sleep(seconds: float) -> None:
    if is_loop_running():
        await asyncio.sleep(seconds)
    else:  # the one other event loop that httpx knows
        import trio  # noqa: PLC0415

        await trio.sleep(seconds)


def _get(source: HttpSource, client: httpx.Client, url: str, params: Mapping[str, str]) -> Answer:
    """Send a GET request in a thread, so that the timeout always holds.

    httpx limits each single wait for the network. A head that never ends is an endless number of short ones.
    """
    answer: Future[Answer] = Future()
    context = contextvars.copy_context()

    def receive() -> None:
        try:
            answer.set_result(context.run(_receive, source, client, url, params))
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=receive, name="deltaspan-http", daemon=True).start()
    wait([answer], source.timeout)
    if not answer.done():
        raise _timeout_error(source)
    return answer.result()


def _timeout_error(source: HttpSource) -> httpx.ReadTimeout:
    return httpx.ReadTimeout(f"the answer was not whole after {source.timeout:g} seconds")


def _receive(source: HttpSource, client: httpx.Client, url: str, params: Mapping[str, str]) -> Answer:
    ends_at = time.monotonic() + source.timeout
    with client.stream("GET", _merge_query(url, params), **_request_options(source)) as response:
        check_content_encoding(response)
        body = bytearray()
        for chunk in response.iter_bytes():
            body += chunk
            _check_limits(source, body, ends_at)
    return make_answer(response, body)


async def _get_async(
    source: HttpSource, client: httpx.AsyncClient, url: str, params: Mapping[str, str]
) -> Answer:
    try:
        with fail_after(source.timeout):
            return await _receive_async(source, client, url, params)
    except TimeoutError:
        raise _timeout_error(source) from None


async def _receive_async(
    source: HttpSource, client: httpx.AsyncClient, url: str, params: Mapping[str, str]
) -> Answer:
    ends_at = time.monotonic() + source.timeout
    async with client.stream("GET", _merge_query(url, params), **_request_options(source)) as response:
        check_content_encoding(response)
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            _check_limits(source, body, ends_at)
    return make_answer(response, body)


def _merge_query(url: str, params: Mapping[str, str]) -> httpx.URL:
    # As `params=` of httpx they would replace the query of the URL.
    return httpx.URL(url).copy_merge_params(dict(params)) if params else httpx.URL(url)


def _request_options(source: HttpSource) -> dict[str, Any]:
    headers = {"Accept-Encoding": "gzip, deflate", **source.headers}
    options: dict[str, Any] = {"headers": headers, "timeout": source.timeout}
    if source.auth is not None:
        options["auth"] = source.auth
    # A redirect may lead to another host, which must not receive the headers.
    return {**options, "follow_redirects": False}


def _check_limits(source: HttpSource, body: bytearray, ends_at: float) -> None:
    if time.monotonic() > ends_at:  # httpx restarts its timeout with each chunk
        raise _timeout_error(source)
    if len(body) > source.limit:
        raise AnswerError(
            f"the answer has more than {source.limit} bytes: ask for a part of it, or for a number such as a "
            f"total, or raise limit="
        )


def http_probe(
    source: HttpSource,
    client: Client,
    steps: Callable[..., HttpSteps[T]],
    call: str,
    needs: Iterable[str] = (),
    *,
    content: bool = False,
) -> StateProbe[T] | AsyncStateProbe[T]:
    """Make the probe of a read over HTTP.

    Args:
        source: the URL and the options of each request.
        client: sends the requests; None for a new client at each read.
        steps: starts a read, given the action's arguments by keyword.
        call: as for `StateProbe`.
        needs: arguments that the read needs besides those of the source.
        content: as for `StateProbe`.

    Raises:
        DefinitionTypeError: the client is not a client of httpx.
        DefinitionValueError: neither the URL nor the client names the server.
    """
    if not (client is None or isinstance(client, httpx.Client | httpx.AsyncClient)):
        raise DefinitionTypeError(f"client= takes an httpx.Client or httpx.AsyncClient, not {client!r}")
    if not (source.is_absolute or (client is not None and str(client.base_url))):
        url = source.shown.rpartition("@")[2]  # without a scheme, no password is recognized
        raise DefinitionValueError(
            f"{url!r} does not say where the server is; begin the URL with http:// or https://, or give a "
            f"client= that has a base_url"
        )
    is_async = isinstance(client, httpx.AsyncClient)
    open_sender: Callable[[], AbstractContextManager[Sender]] = (
        (lambda: nullcontext(partial(_send_async, source, client)))
        if isinstance(client, httpx.AsyncClient)
        else partial(_Sender, source, client)
    )
    needed, secrets = (*source.fields, *needs), source.secrets | _secrets_of_client(client)
    return request_probe(
        steps, call, needed, secrets, is_async=is_async, content=content, open_sender=open_sender
    )


def _secrets_of_client(client: object) -> set[str]:
    if not isinstance(client, httpx.Client | httpx.AsyncClient):
        return set()
    headers = {name: text for name, text in client.headers.items() if name not in _PUBLIC_HEADERS}
    return {*header_secrets(headers), *secrets_of(str(client.base_url))} - {""}
