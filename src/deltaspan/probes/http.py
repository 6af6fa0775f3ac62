"""Read JSON over HTTP: a document or a part of it, and how many items a list has over all its pages.

    >>> from deltaspan import change, unchanged
    >>> from deltaspan.probes import http
    >>> api = "https://api.example.com/tenants/{tenant}"
    >>> checks = (
    ...     change("servers", http.count(f"{api}/servers", items="/data")).by(1),
    ...     unchanged("plan", http.json(api, pointer="/plan")),
    ... )

Reads are GET requests, sent again, twice unless told otherwise, when the connection fails or the server says
429, 502, 503 or 504. No redirect is followed, and no next page on another host, since headers and
credentials would go there. In a URL and in `params`, `{name}` stands for the action's argument of that name,
encoded, which scopes the check; `{causal_tag}` credits it, where the API keeps the tag.

Consistency is the server's: one request sees what it shows at that moment, a list over several pages what
each showed, so that an item which a concurrent writer adds or removes may be counted twice or not at all.
Behind a cache the state may be an old one; `.eventually(...)` waits for it. Permission to read is all that is
needed. From the cheapest: a total that the API tells, by `json(..., pointer="/total")`; a document; `count`,
which is a request for each page.

Neither headers nor credentials nor the query of a URL are in any report, telemetry or error. A status other
than success, what is no JSON, a pointer to nothing, and a host that does not answer are inconclusive. So
is an argument `.` or `..`, which would lead the URL to another place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, overload

from typing_extensions import Unpack

from deltaspan.checks import call_text
from deltaspan.exceptions import DefinitionValueError
from deltaspan.probes._base.probe import AsyncStateProbe, StateProbe
from deltaspan.probes._http._answer import Answer, AnswerError
from deltaspan.probes._http._pointer import at, checked
from deltaspan.probes._http._request import Client, Steps, fetched, http_probe, httpx
from deltaspan.probes._http._source import Options, source_of

__all__ = ["count", "json"]

_MOST_ITEMS: Final = 1_000_000
_MOST_PAGES: Final = 10_000
"""A server that always names a further page, each of them empty, would be asked for ever."""


@overload
def json(
    url: str,
    *,
    pointer: str | None = ...,
    missing_ok: bool = ...,
    client: httpx.Client | None = ...,
    **options: Unpack[Options],
) -> StateProbe[Any]: ...
@overload
def json(
    url: str,
    *,
    pointer: str | None = ...,
    missing_ok: bool = ...,
    client: httpx.AsyncClient,
    **options: Unpack[Options],
) -> AsyncStateProbe[Any]: ...
def json(
    url: str,
    *,
    pointer: str | None = None,
    missing_ok: bool = False,
    client: Client = None,
    **options: Unpack[Options],
) -> StateProbe[Any] | AsyncStateProbe[Any]:
    """Read the JSON at a URL, or a part of it.

    Args:
        url: where it is; with a client that has a base URL, relative to that.
        pointer: a JSON Pointer (RFC 6901) to the part, such as `/data/0/status`; the whole when None.
        missing_ok: whether 404 and 410 are a state, None, because the action makes or removes it.
        client: an httpx.Client to send with, or an httpx.AsyncClient for async actions; a new one for each
            read when None.
        **options: see below.

    Options, of `count` too:
        params: the query, a mapping of text to text.
        headers: a mapping of text to text; sent, and never shown.
        auth: a user and a password, or an httpx.Auth.
        timeout: seconds that each request may take; 10.
        retries: how often a request is sent again; 2.
        limit: bytes that an answer may have; 10 000 000.

    Raises:
        DefinitionTypeError: an argument is of the wrong kind, or an option is not known.
        DefinitionValueError: the URL does not say where the server is, a pointer is none, or a number is out
            of range.

    Example:
        >>> from deltaspan import change
        >>> change("status", json("https://api.example.com/jobs/{job}", pointer="/status")).to("done")
        change('status', http.json('https://api.example.com/jobs/{job}', pointer='/status')).to('done')
    """
    source = source_of(url, options)
    part = checked(pointer, "pointer")

    def steps(values: Mapping[str, Any]) -> Steps[Any]:
        answer = yield from fetched(source, *source.filled(values))
        if missing_ok and answer.is_missing:
            return None
        document = answer.document()
        return document if part is None else at(document, part)

    words = call_text("http.json", source.shown, pointer=pointer, missing_ok=missing_ok or None)
    return http_probe(source, client, steps, words, content=True)


@overload
def count(
    url: str,
    *,
    items: str = ...,
    next_page: str | None = ...,
    cursor: str | None = ...,
    cursor_param: str = ...,
    missing_ok: bool = ...,
    client: httpx.Client | None = ...,
    **options: Unpack[Options],
) -> StateProbe[int]: ...
@overload
def count(
    url: str,
    *,
    items: str = ...,
    next_page: str | None = ...,
    cursor: str | None = ...,
    cursor_param: str = ...,
    missing_ok: bool = ...,
    client: httpx.AsyncClient,
    **options: Unpack[Options],
) -> AsyncStateProbe[int]: ...
def count(
    url: str,
    *,
    items: str = "",
    next_page: str | None = None,
    cursor: str | None = None,
    cursor_param: str = "cursor",
    missing_ok: bool = False,
    client: Client = None,
    **options: Unpack[Options],
) -> StateProbe[int] | AsyncStateProbe[int]:
    """Count the items of a list, over all its pages.

    The next page is where the `Link` header says (`rel="next"`, RFC 8288), unless one of two others is named.

    Args:
        url: the first page.
        items: a JSON Pointer to the list within a page; the page itself is the list by default.
        next_page: a JSON Pointer to the URL of the next page; null or nothing there ends the list.
        cursor: a JSON Pointer to the cursor of the next page; null, empty or nothing there ends the list.
        cursor_param: the parameter of the query that takes the cursor.
        missing_ok: whether 404 and 410 count as no items.
        client: as for `json`.
        **options: as for `json`.

    Raises:
        DefinitionTypeError: as for `json`.
        DefinitionValueError: likewise; or both `next_page` and `cursor` are named.

    Example:
        >>> from deltaspan import change
        >>> change("flows", count("https://api.example.com/flows", items="/data", cursor="/next")).by(1)
        change('flows', http.count('https://api.example.com/flows', items='/data', cursor='/next')).by(1)
    """
    if next_page is not None and cursor is not None:
        raise DefinitionValueError("next_page= and cursor= each say how a list goes on; name one of them")
    source = source_of(url, options)
    checked(items, "items")
    goes_on = {"next_page": checked(next_page, "next_page"), "cursor": checked(cursor, "cursor")}
    turn = _by_cursor(cursor, cursor_param) if cursor is not None else _by_url(next_page)

    def steps(values: Mapping[str, Any]) -> Steps[int]:
        page, params = source.filled(values)
        total, seen = 0, {_mark(page, params)}
        while True:
            answer = yield from fetched(source, page, params)
            if missing_ok and answer.is_missing and len(seen) == 1:
                return 0
            document = answer.document()
            listed = at(document, items)
            if not isinstance(listed, list):
                raise AnswerError(f"what is at {items!r} is no list; let items= point to it")
            total += len(listed)
            if total > _MOST_ITEMS:
                raise AnswerError(
                    f"the list has more than {_MOST_ITEMS} items: read a total that the API tells, with "
                    f"http.json(..., pointer=...)"
                )
            following = turn(answer, document, params)
            if following is None:
                return total
            page, params = following
            if _mark(page, params) in seen:
                raise AnswerError("the pages lead in a circle: a page names one that was read already")
            if len(seen) == _MOST_PAGES:
                raise AnswerError(
                    f"the list has more than {_MOST_PAGES} pages: ask for larger ones, or read a total that "
                    f"the API tells, with http.json(..., pointer=...)"
                )
            seen.add(_mark(page, params))

    words = call_text(
        "http.count",
        source.shown,
        items=items or None,
        **goes_on,
        cursor_param=None if cursor_param == "cursor" else cursor_param,
        missing_ok=missing_ok or None,
    )
    return http_probe(source, client, steps, words)


_Page: TypeAlias = "tuple[str, dict[str, str]]"
_Turn: TypeAlias = "Callable[[Answer, Any, dict[str, str]], _Page | None]"
"""From a page, its document and its query, to the next page."""


def _mark(page: str, params: Mapping[str, str]) -> tuple[str, frozenset[tuple[str, str]]]:
    return page, frozenset(params.items())


def _by_cursor(pointer: str, param: str) -> _Turn:
    def turn(answer: Answer, document: Any, params: dict[str, str]) -> _Page | None:
        mark = _optional(document, pointer)
        if mark is None or mark is False or mark == "":
            return None
        here = str(answer.url.copy_remove_param(param))
        return here, {**params, param: str(mark)}

    return turn


def _by_url(pointer: str | None) -> _Turn:
    def turn(answer: Answer, document: Any, params: dict[str, str]) -> _Page | None:  # noqa: ARG001  # it has its own
        said_there = answer.next_link if pointer is None else _optional(document, pointer)
        return (_on_the_same_host(answer.url, str(said_there)), {}) if said_there else None

    return turn


def _optional(document: Any, pointer: str) -> Any:
    try:
        return at(document, pointer)
    except LookupError:
        return None


def _on_the_same_host(here: httpx.URL, following: str) -> str:
    there = here.join(following)
    if (there.scheme, there.host, there.port) != (here.scheme, here.host, here.port):
        raise AnswerError(
            f"the next page is on another host, {there.host}, to which headers and credentials are not sent"
        )
    return str(there)
