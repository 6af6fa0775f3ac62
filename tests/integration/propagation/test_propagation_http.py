"""The tag over HTTP: httpx and requests, traced by OpenTelemetry, to a real ASGI server; and by hand."""

from __future__ import annotations

import pytest

from deltaspan import causal_headers, collect_reports, current_causal_tag, expects, observe
from integration._recipes import recipe
from integration._services import free_port

pytestmark = pytest.mark.services

NOTHING = observe("nothing", lambda: 0)
TAG = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"


@pytest.fixture(scope="module")
def port():
    from integration._web import serving  # noqa: PLC0415  # installed for these tests alone

    number = free_port()
    with serving(number):
        yield number


@pytest.fixture(scope="module")
def url(port):
    return f"http://127.0.0.1:{port}"


def instrumentors():
    from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor  # noqa: PLC0415  # likewise
    from opentelemetry.instrumentation.requests import RequestsInstrumentor  # noqa: PLC0415

    return HTTPXClientInstrumentor(), RequestsInstrumentor()


@pytest.fixture
def traced():
    for each in instrumentors():
        each.instrument()
    yield
    for each in instrumentors():
        each.uninstrument()


def by_httpx(url, **options):
    import httpx  # noqa: PLC0415

    return httpx.get(url, follow_redirects=True, **options).json()


def by_requests(url, **options):
    import requests  # noqa: PLC0415

    return requests.get(url, timeout=30, **options).json()


def in_action_of_action(call):
    @expects(NOTHING)
    def inner():
        return call()

    with collect_reports() as reports:
        seen = expects(NOTHING)(lambda: inner())()  # an action of its own around it
    return seen, *reports[-2:]


BOTH = pytest.mark.parametrize("get", [by_httpx, by_requests])


@BOTH
@pytest.mark.usefixtures("traced")
def test_an_action_of_the_server_is_the_child_of_the_action_that_called_it(url, get):
    seen, inner, outer = in_action_of_action(lambda: get(f"{url}/traced"))
    tag, parent, root = seen["action"]

    assert (parent, root) == (inner.causal_tag, outer.causal_tag)
    assert tag not in (parent, root)


@BOTH
@pytest.mark.usefixtures("traced")
def test_a_server_outside_any_action_stamps_for_its_caller(url, get):
    seen, inner, outer = in_action_of_action(lambda: get(f"{url}/traced"))

    assert seen["outside"] == [inner.causal_tag, outer.causal_tag]


@pytest.mark.usefixtures("traced")
async def test_an_async_client_carries_the_tag(url):
    import httpx  # noqa: PLC0415

    @expects(NOTHING)
    async def call():
        async with httpx.AsyncClient() as client:
            return current_causal_tag(), (await client.get(f"{url}/traced")).json()

    own, seen = await call()
    assert seen["action"][1:] == [own, own]


@BOTH
@pytest.mark.usefixtures("traced")
def test_a_call_outside_any_action_carries_nothing(url, get):
    seen = get(f"{url}/traced")

    assert (seen["baggage"], seen["outside"], seen["action"][1]) == (None, [None, None], None)


@BOTH
def test_manual_headers_are_sent_with_the_call_and_adopted(url, get):
    seen, inner, outer = in_action_of_action(lambda: get(f"{url}/by-hand", headers=causal_headers()))

    assert seen["action"][1:] == [inner.causal_tag, outer.causal_tag]
    assert seen["outside"] == [inner.causal_tag, outer.causal_tag]


@pytest.mark.parametrize("path", ["traced", "by-hand"])
@pytest.mark.parametrize(
    "tag", [TAG.upper(), "00000000-0000-0000-0000-000000000000", "%27%3B%20drop", TAG + "0", ""]
)
def test_an_inbound_tag_that_is_not_a_canonical_uuid_is_ignored(url, path, tag):
    headers = {"baggage": f"deltaspan.causal_tag.id={tag},deltaspan.causal_tag.root_id={TAG}"}
    seen = by_httpx(f"{url}/{path}", headers=headers)

    assert (seen["outside"], seen["action"][1], seen["action"][2]) == ([None, None], None, seen["action"][0])


@BOTH
@pytest.mark.usefixtures("traced")
def test_no_tag_is_sent_if_propagation_is_off(url, get, environ):
    environ(DELTASPAN_PROPAGATE="off")
    seen, _, _ = in_action_of_action(lambda: get(f"{url}/traced"))

    assert (seen["baggage"], seen["outside"]) == (None, [None, None])


# Third parties: the recipe of the document ----------------------------------------------------------------


@pytest.fixture
def trusting(recorded):
    namespace = recipe("TRUSTED = ")
    yield lambda *hosts: namespace["TRUSTED"].update(hosts)
    for each in instrumentors():
        each.uninstrument()


@BOTH
def test_a_host_that_is_not_listed_receives_no_tag(url, get, trusting):
    trusting("flows.internal")
    seen, _, _ = in_action_of_action(lambda: get(f"{url}/traced"))

    assert (seen["baggage"], seen["outside"]) == (None, [None, None])


@BOTH
def test_a_host_that_is_listed_receives_the_tag(url, get, trusting):
    trusting("127.0.0.1")
    seen, inner, _ = in_action_of_action(lambda: get(f"{url}/traced"))

    assert seen["outside"][0] == inner.causal_tag


async def test_an_async_client_keeps_the_tag_too(url, trusting):
    import httpx  # noqa: PLC0415

    @expects(NOTHING)
    async def call():
        async with httpx.AsyncClient() as client:
            return (await client.get(f"{url}/traced")).json()

    assert (await call())["baggage"] is None


@BOTH
def test_a_request_after_one_to_an_untrusted_host_carries_the_tag(url, get, trusting):
    trusting("127.0.0.1")

    def call():
        get(f"{url}/traced".replace("127.0.0.1", "localhost"))
        return get(f"{url}/traced")

    seen, inner, _ = in_action_of_action(call)
    assert seen["outside"][0] == inner.causal_tag


def redirected(get, url):
    stranger = f"{url}/traced".replace("127.0.0.1", "localhost")
    return in_action_of_action(lambda: get(f"{url}/redirect?to={stranger}"))[0]


def test_a_redirect_to_an_untrusted_host_carries_no_tag_with_httpx(url, trusting):
    trusting("127.0.0.1")

    assert redirected(by_httpx, url)["baggage"] is None


def test_a_redirect_takes_the_tag_along_with_requests_as_the_document_says(url, trusting):
    """The instrumentation sees the first request alone, and requests sends its headers on."""
    trusting("127.0.0.1")

    assert "deltaspan.causal_tag.id" in redirected(by_requests, url)["baggage"]
