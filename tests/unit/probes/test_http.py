"""Probes over HTTP, against a real server on loopback."""

from __future__ import annotations

import gzip
from urllib.parse import unquote

import httpx
import pytest

from deltaspan import change, collect_reports, expects, unchanged, window
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError, ProbeError
from deltaspan.probes import http
from deltaspan.testing import check_probe, check_probe_async


def fault_of(probe, **arguments):
    with pytest.raises(ProbeError) as caught:
        probe(**arguments)
    return str(caught.value)


# A document --------------------------------------------------------------------------------------------


def test_a_document_is_read_whole(api):
    assert check_probe(http.json(api.url)) == {"data": [1, 2], "total": 2}


@pytest.mark.parametrize(
    ("pointer", "found"),
    [("", {"data": [1, 2], "total": 2}), ("/total", 2), ("/data/1", 2), ("/data", [1, 2])],
)
def test_a_pointer_takes_a_part_of_it(api, pointer, found):
    assert http.json(api.url, pointer=pointer)() == found


def test_names_with_slashes_and_tildes_are_escaped(api):
    api.answer = lambda path, query: (200, {}, {"a/b": {"~": 3}})

    assert http.json(api.url, pointer="/a~1b/~0")() == 3


@pytest.mark.parametrize(
    ("pointer", "said"),
    [
        ("/data/7", "has nothing at '/data/7': the list of 2 at '/data' has no '7'"),
        ("/data/01", "the list of 2 at '/data' has no '01'"),
        ("/totl", "has nothing at '/totl': the object at '' has no 'totl'"),
        ("/total/x", "the int at '/total' has no 'x'"),
    ],
)
def test_a_pointer_to_nothing_says_from_where_on(api, pointer, said):
    assert said in fault_of(http.json(api.url, pointer=pointer))


def test_an_argument_of_the_action_scopes_the_check_and_is_encoded(api):
    plans = {"/tenants/a%2Fb%20c": "free"}
    api.answer = lambda path, query: (200, {}, {"plan": plans[path], "query": query})

    @expects(
        change("plan", http.json(f"{api.url}/tenants/{{tenant}}", pointer="/plan")).to("paid"),
        unchanged(
            "seen", http.json(f"{api.url}/tenants/{{tenant}}", pointer="/query", params={"t": "{tenant}"})
        ).showing(),
    )
    def upgrade(tenant):
        plans["/tenants/a%2Fb%20c"] = "paid"

    with collect_reports() as reports:
        upgrade("a/b c")

    assert [check.outcome for check in reports[0]] == ["pass", "pass"]
    assert reports[0]["plan"].attribution == "scoped"
    assert reports[0]["seen"].post_state == {"t": "a/b c"}


@pytest.mark.parametrize("tenant", [".", ".."])
def test_an_argument_that_would_lead_to_another_document_is_inconclusive(api, tenant):
    said = fault_of(http.json(f"{api.url}/tenants/{{tenant}}/plan"), tenant=tenant)

    assert f"'{{tenant}}' of the path {tenant!r}, which would lead the URL to another place" in said
    assert api.asked == []


@pytest.mark.parametrize(
    "url",
    [
        "https://{host}/x",
        "https://{host}.com",
        "https://api.example.com{host}/x",
        "https://host:{port}/x",
        "https://{user}@api.example.com/x",
        "https://{x}@y.api.example.com/x",
        "{scheme}://api.example.com",
    ],
)
def test_an_argument_never_says_to_which_host_credentials_go(url):
    with pytest.raises(DefinitionValueError, match="choose the host that receives headers and credentials"):
        http.json(url)


def test_an_argument_may_name_a_host_below_a_domain_that_is_written():
    assert "{region}.api.example.com" in repr(http.json("https://{region}.api.example.com/x"))


@pytest.mark.parametrize("options", [{"headers": {"X-Tenant": "{tenant}"}}, {"params": {"{name}": "x"}}])
def test_a_field_in_an_option_without_fields_is_rejected(api, options):
    with pytest.raises(DefinitionValueError, match="take no fields"):
        http.json(api.url, **options)


@pytest.mark.parametrize(
    "tenant", ["../admin", "a?b=c", "a#b", "a/b", "http://evil", "a\r\nX: y", "%2e%2e", "{x}", "a\\b", "*"]
)
def test_a_hostile_argument_stays_one_part_of_the_path(api, tenant):
    seen = []
    api.answer = lambda path, query: (seen.append((path, query)), (200, {}, {}))[1]
    http.json(f"{api.url}/t/{{tenant}}/x")(tenant=tenant)

    [(path, query)] = seen
    assert (path.split("/")[1::2], unquote(path.split("/")[2]), query) == (["t", "x"], tenant, {})


def test_two_arguments_together_cannot_change_the_path(api):
    said = fault_of(http.json(f"{api.url}/t/{{a}}{{b}}/x"), a=".", b=".")

    assert "which would lead the URL to another place" in said


def test_an_empty_argument_is_inconclusive(api):
    assert "the field {tenant} is empty" in fault_of(http.json(f"{api.url}/t/{{tenant}}"), tenant="")


def test_an_argument_that_the_action_lacks_is_rejected_at_decoration(api):
    with pytest.raises(
        DefinitionTypeError, match="needs 'tenent', which does not exist; did you mean 'tenant'"
    ):
        expects(observe_plan(api, "{tenent}"))(lambda tenant: None)


def observe_plan(api, field):
    return change("plan", http.json(f"{api.url}/{field}"))


@pytest.mark.parametrize("status", [404, 410])
def test_a_missing_resource_is_a_state_with_missing_ok(api, status):
    api.answer = lambda path, query: (status, {}, {})

    assert http.json(api.url, missing_ok=True)() is None
    assert http.count(api.url, missing_ok=True)() == 0
    assert f"the server answered {status}" in fault_of(http.json(api.url))


# Clients -----------------------------------------------------------------------------------------------


def test_a_client_of_the_caller_is_used_and_left_open(api):
    with httpx.Client(base_url=api.url, headers={"X-Team": "red"}) as client:
        assert http.json("/tenants", pointer="/total", client=client)() == 2
        assert not client.is_closed

    assert api.asked[0][0] == "/tenants"
    assert api.asked[0][2]["X-Team"] == "red"


async def test_an_async_client_is_awaited(api):
    async with httpx.AsyncClient() as client:
        assert await check_probe_async(http.json(api.url, pointer="/total", client=client)) == 2
        assert await check_probe_async(http.count(api.url, items="/data", client=client)) == 2


async def test_an_async_action_reads_a_sync_client_in_another_thread(api):
    @expects(change("total", http.json(api.url, pointer="/total")).by(1))
    async def act():
        api.answer = lambda path, query: (200, {}, {"total": 3})

    with collect_reports() as reports:
        await act()

    assert reports[0].outcome == "pass"


def test_a_read_is_sent_again_while_the_server_may_answer_in_a_moment(api):
    statuses = iter([503, 429, 200])
    api.answer = lambda path, query: (next(statuses), {"Retry-After": "0"}, {"total": 2})

    assert http.json(api.url, pointer="/total")() == 2
    assert len(api.asked) == 3


async def test_an_async_read_is_sent_again_too(api):
    statuses = iter([502, 200])
    api.answer = lambda path, query: (next(statuses), {}, {"total": 2})

    async with httpx.AsyncClient() as client:
        assert await http.json(api.url, pointer="/total", client=client)() == 2


def test_a_read_is_not_retried_if_a_retry_is_pointless(api):
    api.answer = lambda path, query: (403, {}, {})

    assert "the server answered 403 Forbidden" in fault_of(http.json(api.url))
    assert len(api.asked) == 1


def test_the_last_answer_is_reported_when_no_attempt_is_left(api):
    api.answer = lambda path, query: (503, {}, {})

    assert "the server answered 503 Service Unavailable" in fault_of(http.json(api.url, retries=1))
    assert len(api.asked) == 2


# Lists over pages --------------------------------------------------------------------------------------


def pages(link):
    """Return a server's function for three pages of items, 2 + 2 + 1."""
    items = [[1, 2], [3, 4], [5]]

    def answer(path, query):
        number = int(query.get("page", 0))
        return link(number, items[number], number + 1 if number < 2 else None)

    return answer


def by_header(number, items, following):
    return (
        200,
        {"Link": f'</items?page={following}>; rel="next", </items>; rel="first"'} if following else {},
        items,
    )


def by_cursor(number, items, following):
    return 200, {}, {"data": items, "meta": {"next": following}}


def test_pages_are_followed_by_the_link_header(api):
    api.answer = pages(by_header)

    assert check_probe(http.count(f"{api.url}/items")) == 5


def test_pages_are_followed_by_a_cursor(api):
    api.answer = pages(by_cursor)
    probe = http.count(
        f"{api.url}/items?size=2", items="/data", cursor="/meta/next", cursor_param="page", params={"q": "x"}
    )

    assert probe() == 5
    assert [query["q"] for _, query, _ in api.asked] == ["x"] * 3


def test_a_query_in_the_url_is_kept_by_a_cursor(api):
    api.answer = pages(by_cursor)
    probe = http.count(f"{api.url}/items?size=2", items="/data", cursor="/meta/next", cursor_param="page")

    assert probe() == 5
    assert [query["size"] for _, query, _ in api.asked] == ["2"] * 3


def test_pages_are_followed_by_a_url_in_the_page(api):
    def link(number, items, following):
        return 200, {}, {"results": items, "next": following and f"{api.url}/items?page={following}"}

    api.answer = pages(link)

    assert http.count(f"{api.url}/items", items="/results", next_page="/next")() == 5


@pytest.mark.parametrize(
    "link",
    [
        '</items?page=1>; rel="last next"',
        "</items?page=1>; rel=Next",
        '</items?page=1>; Rel = "next"',
        '</items?page=1&sort=a;b>; rel="next"',
        '</items?page=1>; title="a, <b>; c"; rel="next"',
        '</items>; rel="first", </items?page=1>; rel="next"',
        '</items>; title; rel=prev,</items?page=1>;rel="next"',
    ],
)
def test_a_link_to_the_next_page_is_found_in_every_valid_notation(api, link):
    api.answer = lambda path, query: (200, {} if "page" in query else {"Link": link}, [1, 2])

    assert http.count(f"{api.url}/items")() == 4


@pytest.mark.parametrize(
    "link", ['</x>; rel="prev"; rel="next"', '</x>; title="rel=next"', "rel=next", "</x>"]
)
def test_a_link_header_without_a_next_page_ends_the_list(api, link):
    api.answer = lambda path, query: (200, {"Link": link}, [1, 2])

    assert http.count(f"{api.url}/items")() == 2


def test_pages_without_an_end_are_a_fault(api, monkeypatch):
    monkeypatch.setattr(http, "_MAX_PAGES", 3)
    api.answer = lambda path, query: (200, {}, {"data": [], "next": int(query.get("cursor", 0)) + 1})

    assert "the list has more than 3 pages" in fault_of(http.count(api.url, items="/data", cursor="/next"))
    assert len(api.asked) == 3


def test_pages_that_lead_in_a_circle_are_a_fault(api):
    api.answer = lambda path, query: (200, {"Link": '</items>; rel="next"'}, [1])

    assert "the pages lead in a circle" in fault_of(http.count(f"{api.url}/items"))


def test_a_next_page_on_another_host_is_not_requested(api):
    api.answer = lambda path, query: (200, {"Link": '<http://elsewhere.invalid/x>; rel="next"'}, [1])

    assert "the next page is on another host, elsewhere.invalid" in fault_of(http.count(api.url))


def test_an_answer_that_is_not_a_list_is_an_error(api):
    assert "the value at '' is not a list; write an items= that points to the list" in fault_of(
        http.count(api.url)
    )


# Errors and secrets ------------------------------------------------------------------------------------


def test_no_redirect_is_followed(api):
    api.answer = lambda path, query: (302, {"Location": "http://elsewhere.invalid/x?token=t0ken"}, b"")
    said = fault_of(http.json(api.url, headers={"Authorization": "Bearer t0ken"}))

    assert "the server answered 302 Found to http://elsewhere.invalid/x: name that URL" in said
    assert "t0ken" not in said


def test_an_answer_that_is_not_json_is_described(api):
    api.answer = lambda path, query: (200, {"Content-Type": "text/html"}, b"<html>")

    assert "the answer is not JSON (text/html, 6 bytes)" in fault_of(http.json(api.url))


def test_a_partial_document_is_an_error(api):
    api.answer = lambda path, query: (206, {"Content-Range": "bytes 0-2/9"}, b"123")

    assert "the server answered 206 Partial Content" in fault_of(http.json(api.url))


def test_an_answer_over_the_limit_is_an_error_with_advice(api):
    api.answer = lambda path, query: (200, {}, ["x"] * 1000)

    assert "more than 100 bytes: ask for a part of it, or for a number such as a total" in fault_of(
        http.json(api.url, limit=100)
    )


@pytest.mark.parametrize("coding", ["gzip, gzip", "br", "zstd"])
def test_an_answer_with_an_unsupported_compression_is_not_read(api, coding):
    twice = gzip.compress(gzip.compress(b"0" * 1_000_000))
    api.answer = lambda path, query: (200, {"Content-Encoding": coding}, twice)

    assert f"the answer is compressed by {coding}" in fault_of(http.json(api.url))


def test_a_compressed_answer_is_held_to_the_limit_as_it_is_without(api):
    api.answer = lambda path, query: (
        200,
        {"Content-Encoding": "gzip"},
        gzip.compress(b"[" + b" " * 1000 + b"]"),
    )

    assert http.json(api.url)() == []
    assert "more than 100 bytes" in fault_of(http.json(api.url, limit=100))
    assert api.asked[0][2]["Accept-Encoding"] == "gzip, deflate"


def test_a_host_that_does_not_answer_is_inconclusive():
    check = change("x", http.json("http://127.0.0.1:1/x?token=t0ken", retries=0)).by(1)
    with window("act", check) as w:
        pass

    assert (w.report["x"].outcome, w.report["x"].reason) == ("inconclusive", "baseline_failed")
    assert "http.json('http://127.0.0.1:1/x') could not be read: ConnectError" in w.report["x"].explanation


@pytest.mark.parametrize(
    "options",
    [{"headers": {"X-Api-Key": "s3cret"}}, {"auth": ("ann", "s3cret")}, {"params": {"token": "s3cret"}}],
)
def test_no_report_error_or_telemetry_shows_a_secret(api, recorded, options):
    api.answer = lambda path, query: (500, {}, b"s3cret")
    probe = http.json(f"{api.url.replace('//', '//ann:s3cret@')}/x?key=s3cret", **options)
    with window("act", change("x", probe).by(1)) as w:
        pass

    told = [repr(probe), str(w.report), str(w.report["x"].to_dict()), w.report.feedback()]
    told += [str(recorded.span.attributes), *[str(event.attributes) for event in recorded.events]]
    assert w.report["x"].reason == "baseline_failed"
    assert not [text for text in told if "s3cret" in text]


@pytest.mark.parametrize("password", ["s3cr/t", "s3cr#t", "s3cr?t", "s3cr@t", "s3cr t"])
def test_a_password_that_should_have_been_encoded_is_not_shown_in_part(password):
    probe = http.json(f"https://ann:{password}@127.0.0.1:1/x", retries=0)

    assert repr(probe) == "http.json('https://127.0.0.1:1/x')"
    assert "s3cr" not in fault_of(probe)


def read_with_headers(url, headers):
    return fault_of(http.json(url, headers=headers))


def read_with_headers_of_the_client(url, headers):
    with httpx.Client(headers=headers) as client:
        return fault_of(http.json(url, client=client))


@pytest.mark.parametrize("read", [read_with_headers, read_with_headers_of_the_client])
def test_a_token_that_was_read_with_its_line_end_is_not_quoted(api, read):
    said = read(api.url, {"Authorization": "Bearer t0ken\n"})

    assert "LocalProtocolError: Illegal header value" in said
    assert "t0ken" not in said


@pytest.mark.parametrize("read", [read_with_headers, read_with_headers_of_the_client])
def test_a_token_is_hidden_even_without_its_scheme(api, read):
    api.answer = lambda path, query: (200, {"Content-Type": "not-for-t0ken-long"}, b"no")
    said = read(api.url, {"Authorization": "Bearer t0ken-long"})

    assert "the answer is not JSON (not-for-***, 2 bytes)" in said


def test_a_single_value_of_a_query_is_hidden(api):
    api.answer = lambda path, query: (302, {"Location": f"/login/{query['key']}"}, b"")

    assert "302 Found to /login/***" in fault_of(http.json(f"{api.url}/x?size=20&key=s3%2Dcret5"))


def test_a_wrong_option_is_refused_at_definition():
    with pytest.raises(
        DefinitionTypeError, match="timout= is not an option of an HTTP probe; the options are params"
    ):
        http.json("http://x", timout=3)
    with pytest.raises(DefinitionValueError, match="timeout=0 must be a number above 0"):
        http.json("http://x", timeout=0)
    with pytest.raises(DefinitionValueError, match=r"retries=1\.5 must be a whole number above -1"):
        http.json("http://x", retries=1.5)
    with pytest.raises(DefinitionValueError, match="pointer='total' is not a JSON Pointer"):
        http.json("http://x", pointer="total")
    with pytest.raises(DefinitionValueError, match="name one of them"):
        http.count("http://x", cursor="/a", next_page="/b")
    with pytest.raises(DefinitionTypeError, match=r"client= takes an httpx\.Client or httpx\.AsyncClient"):
        http.json("http://x", client=httpx)
    with pytest.raises(DefinitionTypeError, match="headers= takes a mapping of str to str"):
        http.json("http://x", headers={"a": 1})
