"""Probes of JSON over HTTP: a document, or the length of a paged list.

    >>> from deltaspan import change, unchanged
    >>> from deltaspan.probes import http
    >>> api = "https://api.example.com/tenants/{tenant}"
    >>> checks = (
    ...     change("servers", http.count(f"{api}/servers", items="/data")).by(1),
    ...     unchanged("plan", http.json(api, pointer="/plan")),
    ... )

A read sends GET requests. If the connection fails, or the status is 429, 502, 503 or 504, it retries twice by
default. It follows no redirect, and no next page on another host, since these would receive headers and
credentials. In a URL and in `params`, `{name}` stands for the action's argument of that name, encoded, which
scopes the check. `{causal_tag}` attributes the check, if the API stores the tag.

Consistency depends on the server. One request sees one moment. Each page of a list sees its own moment, so an
item that others add or remove may be counted twice or not at all. A cache may return an old state;
`.eventually(...)` waits for the new one. A read only needs the permission to read. Cost, from the cheapest: a
total that the API returns, by `json(..., pointer="/total")`; a document; `count`, which is one request for
each page.

Headers, credentials and the query of a URL appear in no report, telemetry or error. The check is inconclusive
if the status is not a success, the answer is not JSON, the pointer points to nothing, the host does not
answer, or an argument is `.` or `..`, which would lead the URL to another place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, overload

from typing_extensions import Unpack

from deltaspan.checks import said
from deltaspan.exceptions import DefinitionValueError
from deltaspan.probes._base.probe import AsyncStateProbe, StateProbe
from deltaspan.probes._http._answer import Answer, AnswerError
from deltaspan.probes._http._pointer import check_pointer, resolve_pointer
from deltaspan.probes._http._request import Client, HttpSteps, get, http_probe, httpx
from deltaspan.probes._http._source import HttpOptions, make_source

__all__ = ["count", "json"]

_MAX_ITEMS: Final = 1_000_000
_MAX_PAGES: Final = 10_000
"""A server may name a next page, each of them empty, for ever."""


@overload
def json(
    url: str,
    *,
    pointer: str | None = ...,
    missing_ok: bool = ...,
    client: httpx.Client | None = ...,
    **options: Unpack[HttpOptions],
) -> StateProbe[Any]: ...
@overload
def json(
    url: str,
    *,
    pointer: str | None = ...,
    missing_ok: bool = ...,
    client: httpx.AsyncClient,
    **options: Unpack[HttpOptions],
) -> AsyncStateProbe[Any]: ...
def json(
    url: str,
    *,
    pointer: str | None = None,
    missing_ok: bool = False,
    client: Client = None,
    **options: Unpack[HttpOptions],
) -> StateProbe[Any] | AsyncStateProbe[Any]:
    """Read the JSON at a URL, or a part of it.

    Args:
        url: the URL, relative to the base URL of the client if that has one.
        pointer: a JSON Pointer (RFC 6901) to the part, such as `/data/0/status`; the whole document if None.
        missing_ok: whether 404 and 410 are a state, None, because the action creates or removes the resource.
        client: an httpx.Client that sends the requests, or an httpx.AsyncClient for async actions; a new
            client for each read if None.
        **options: see below.

    Options, of `count` too:
        params: the query, a mapping of str to str.
        headers: a mapping of str to str. They are sent, and never shown.
        auth: a user and a password, or an httpx.Auth.
        timeout: the time limit of each request in seconds; 10 by default.
        retries: the most retries of a request; 2 by default.
        limit: the most bytes of an answer; 10 000 000 by default.

    Raises:
        DefinitionTypeError: an argument has the wrong type, or an option is unknown.
        DefinitionValueError: the URL names no server, a pointer is not a JSON Pointer, or a number is out of
            range.

    Example:
        >>> from deltaspan import change
        >>> change("status", json("https://api.example.com/jobs/{job}", pointer="/status")).to("done")
        change('status', http.json('https://api.example.com/jobs/{job}', pointer='/status')).to('done')
    """
    source = make_source(url, options)
    part = check_pointer(pointer, "pointer")

    def steps(**values: Any) -> HttpSteps[Any]:
        answer = yield from get(source, *source.fill(values))
        if missing_ok and answer.is_missing:
            return None
        document = answer.document()
        return document if part is None else resolve_pointer(document, part)

    call = said("http.json", source.shown, pointer=pointer, missing_ok=missing_ok or None)
    return http_probe(source, client, steps, call, content=True)


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
    **options: Unpack[HttpOptions],
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
    **options: Unpack[HttpOptions],
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
    **options: Unpack[HttpOptions],
) -> StateProbe[int] | AsyncStateProbe[int]:
    """Count the items of a list, over all its pages.

    The `Link` header (`rel="next"`, RFC 8288) names the next page, unless you name another way.

    Args:
        url: the first page.
        items: a JSON Pointer to the list within a page; the page itself is the list by default.
        next_page: a JSON Pointer to the URL of the next page. If the URL is null or missing, the list ends.
        cursor: a JSON Pointer to the cursor of the next page. If it is null, empty or missing, the list ends.
        cursor_param: the parameter of the query that takes the cursor.
        missing_ok: whether 404 and 410 count as no items.
        client: as for `json`.
        **options: as for `json`.

    Raises:
        DefinitionTypeError: as for `json`.
        DefinitionValueError: as for `json`; or both `next_page` and `cursor` are named.

    Example:
        >>> from deltaspan import change
        >>> change("flows", count("https://api.example.com/flows", items="/data", cursor="/next")).by(1)
        change('flows', http.count('https://api.example.com/flows', items='/data', cursor='/next')).by(1)
    """
    if next_page is not None and cursor is not None:
        raise DefinitionValueError("next_page= and cursor= cannot be combined; name one of them")
    source = make_source(url, options)
    check_pointer(items, "items")
    paging = {"next_page": check_pointer(next_page, "next_page"), "cursor": check_pointer(cursor, "cursor")}
    next_request = _by_cursor(cursor, cursor_param) if cursor is not None else _by_url(next_page)

    def steps(**values: Any) -> HttpSteps[int]:
        page, params = source.fill(values)
        total, visited = 0, {_page_key(page, params)}
        while True:
            answer = yield from get(source, page, params)
            if missing_ok and answer.is_missing and len(visited) == 1:
                return 0
            document = answer.document()
            page_items = resolve_pointer(document, items)
            if not isinstance(page_items, list):
                raise AnswerError(
                    f"the value at {items!r} is not a list; write an items= that points to the list"
                )
            total += len(page_items)
            if total > _MAX_ITEMS:
                raise AnswerError(
                    f"the list has more than {_MAX_ITEMS} items: read a total that the API tells, with "
                    f"http.json(..., pointer=...)"
                )
            request = next_request(answer, document, params)
            if request is None:
                return total
            page, params = request
            if _page_key(page, params) in visited:
                raise AnswerError("the pages lead in a circle: a page names one that was read already")
            if len(visited) == _MAX_PAGES:
                raise AnswerError(
                    f"the list has more than {_MAX_PAGES} pages: ask for larger ones, or read a total that "
                    f"the API tells, with http.json(..., pointer=...)"
                )
            visited.add(_page_key(page, params))

    call = said(
        "http.count",
        source.shown,
        items=items or None,
        **paging,
        cursor_param=None if cursor_param == "cursor" else cursor_param,
        missing_ok=missing_ok or None,
    )
    return http_probe(source, client, steps, call)


_Page: TypeAlias = "tuple[str, dict[str, str]]"
_NextRequest: TypeAlias = "Callable[[Answer, Any, dict[str, str]], _Page | None]"
"""Takes a page, its document and its query, and returns the next page or None."""


def _page_key(page: str, params: Mapping[str, str]) -> tuple[str, frozenset[tuple[str, str]]]:
    return page, frozenset(params.items())


def _by_cursor(pointer: str, param: str) -> _NextRequest:
    def next_request(answer: Answer, document: Any, params: dict[str, str]) -> _Page | None:
        cursor_value = _value_or_none(document, pointer)
        if cursor_value is None or cursor_value is False or cursor_value == "":
            return None
        base = str(answer.url.copy_remove_param(param))
        return base, {**params, param: str(cursor_value)}

    return next_request


def _by_url(pointer: str | None) -> _NextRequest:
    def next_request(answer: Answer, document: Any, params: dict[str, str]) -> _Page | None:  # noqa: ARG001  # it has its own
        link = answer.next_link if pointer is None else _value_or_none(document, pointer)
        return (_check_same_host(answer.url, str(link)), {}) if link else None

    return next_request


def _value_or_none(document: Any, pointer: str) -> Any:
    try:
        return resolve_pointer(document, pointer)
    except LookupError:
        return None


def _check_same_host(base: httpx.URL, request: str) -> str:
    target = base.join(request)
    if (target.scheme, target.host, target.port) != (base.scheme, base.host, base.port):
        raise AnswerError(
            f"the next page is on another host, {target.host}, to which headers and credentials are not sent"
        )
    return str(target)
