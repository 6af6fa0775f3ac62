"""URLs must name their server, by themselves or by their client."""

from __future__ import annotations

import re

import httpx
import pytest

from deltaspan.exceptions import DefinitionValueError
from deltaspan.probes import http

READS = pytest.mark.parametrize("read", [http.json, http.count])


@READS
@pytest.mark.parametrize(
    "url", ["api/x", "localhost:9090", "//host/x", "ftp://host/x", "http://", "{url}/x", ""]
)
def test_one_that_does_not_say_it_is_rejected(read, url):
    for client in (None, httpx.Client(), httpx.AsyncClient()):
        with pytest.raises(DefinitionValueError, match="begin the URL with http:// or https://, or give a"):
            read(url, client=client)


@READS
def test_a_client_with_a_base_url_says_it(read):
    for kind in (httpx.Client, httpx.AsyncClient):
        assert "api/x" in repr(read("api/x", client=kind(base_url="http://host")))


@READS
@pytest.mark.parametrize("url", ["http://host", "HTTPS://host/x", "http://{host}.example.com/x"])
def test_with_its_scheme_it_says_it_by_itself(read, url):
    assert url in repr(read(url))


@pytest.mark.parametrize("url", ["ftp://ann:s3cret@host/x?key=t0ken", "ann:s3cret@host/x"])
def test_what_is_rejected_shows_no_password(url):
    with pytest.raises(DefinitionValueError, match="host/x' does not say") as caught:
        http.json(url)

    assert not {"s3cret", "t0ken"} & set(re.split(r"\W", str(caught.value)))
