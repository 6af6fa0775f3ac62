"""One HTTP read: which requests are sent, which are sent again, and what becomes of the answer.

What is read is a generator of steps, which whoever drives it takes with a sync or with an async client.
"""

from __future__ import annotations

import asyncio
import contextvars
import random
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Future, wait
from typing import Any, Final, TypeAlias, TypeVar

from deltaspan._workers import is_loop_running
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.probes._base.probe import AsyncStateProbe, StateProbe
from deltaspan.probes._base.secrets import secrets_of
from deltaspan.probes._http._answer import Answer, AnswerError, answer_of, refuse_codings
from deltaspan.probes._http._source import Source, secrets_in

try:
    import httpx
    from anyio import fail_after  # which httpx brings
except ImportError as error:
    raise ImportError("this probe needs httpx: pip install 'deltaspan[http]'") from error

__all__ = ["Client", "Steps", "fetched", "http_probe", "httpx"]

T = TypeVar("T")
Client: TypeAlias = "httpx.Client | httpx.AsyncClient | None"

_AGAIN: Final = frozenset({429, 502, 503, 504})
"""Statuses of a server that may well answer in a moment."""
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 5.0
_TOLD: Final = frozenset({"accept", "accept-encoding", "connection", "user-agent"})
"""Headers of every client, which are no secret."""


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
    own: httpx.Client | None = None
    came: Answer | Exception | None = None
    try:
        while True:
            try:
                step = steps.send(came)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
            came = None
            if isinstance(step, float):
                time.sleep(step)
                continue
            if client is None:
                own = own or httpx.Client()
            try:
                came = _asked(source, client or own, *step)  # type: ignore[arg-type]  # one of them is there
            except (httpx.HTTPError, AnswerError) as error:
                came = error
                if own is not None and isinstance(error, httpx.TimeoutException):
                    own.close()  # ends what may still be coming in, in its thread
                    own = None
    finally:
        if own is not None:
            own.close()


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
    if is_loop_running():
        await asyncio.sleep(seconds)
    else:  # the one other event loop that httpx knows
        import trio  # noqa: PLC0415

        await trio.sleep(seconds)


def _asked(source: Source, client: httpx.Client, url: str, params: Mapping[str, str]) -> Answer:
    """Ask in a thread, so that the wait ends with the timeout, whatever the server does.

    httpx limits each single wait for the network. A head that never ends is an endless number of short ones.
    """
    answer: Future[Answer] = Future()
    context = contextvars.copy_context()

    def receive() -> None:
        try:
            answer.set_result(context.run(_received, source, client, url, params))
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=receive, name="deltaspan-http", daemon=True).start()
    wait([answer], source.timeout)
    if not answer.done():
        raise _late(source)
    return answer.result()


def _late(source: Source) -> httpx.ReadTimeout:
    return httpx.ReadTimeout(f"the answer was not whole after {source.timeout:g} seconds")


def _received(source: Source, client: httpx.Client, url: str, params: Mapping[str, str]) -> Answer:
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
    try:
        with fail_after(source.timeout):
            return await _received_async(source, client, url, params)
    except TimeoutError:
        raise _late(source) from None


async def _received_async(
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
        raise _late(source)
    if len(body) > source.limit:
        raise AnswerError(
            f"the answer has more than {source.limit} bytes: ask for a part of it, or for a number such as a "
            f"total, or raise limit="
        )


def http_probe(
    source: Source,
    client: Client,
    steps: Callable[[Mapping[str, Any]], Steps[T]],
    words: str,
    needs: Iterable[str] = (),
    *,
    content: bool = False,
) -> StateProbe[T] | AsyncStateProbe[T]:
    """Return the probe that takes the steps of a read, given the action's arguments, with a client.

    Args:
        source: what is asked.
        client: what it is asked with; None for a client of each read's own.
        steps: begins a read.
        words: the call that made the probe.
        needs: arguments that it names beside those of the source.
        content: whether what is read is content.

    Raises:
        DefinitionTypeError: the client is none of httpx.
        DefinitionValueError: it is not said where the server is.
    """
    needed = (*source.fields, *needs)
    secrets = source.secrets | _secrets_of_client(client)
    if not (client is None or isinstance(client, httpx.Client | httpx.AsyncClient)):
        raise DefinitionTypeError(f"client= takes an httpx.Client or httpx.AsyncClient, not {client!r}")
    if not (source.is_absolute or (client is not None and str(client.base_url))):
        shown = source.shown.rpartition("@")[2]  # without a scheme, a password is not known for one
        raise DefinitionValueError(
            f"{shown!r} does not say where the server is: begin the URL with http:// or https://, or give a "
            f"client= that has a base_url"
        )
    if isinstance(client, httpx.AsyncClient):
        its = client

        async def read_async(**values: Any) -> T:
            return await drive_async(source, its, steps(values))

        return AsyncStateProbe(read_async, words, needed, secrets, content=content)

    def read(**values: Any) -> T:
        return drive(source, client, steps(values))

    return StateProbe(read, words, needed, secrets, content=content)


def _secrets_of_client(client: object) -> set[str]:
    if not isinstance(client, httpx.Client | httpx.AsyncClient):
        return set()
    own = {name: text for name, text in client.headers.items() if name not in _TOLD}
    return {*secrets_in(own), *secrets_of(str(client.base_url))} - {""}
