"""Requests over HTTP name their server, and are given up within their timeout."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time

import httpx
import pytest

from deltaspan.exceptions import DefinitionValueError, ProbeError
from deltaspan.probes import http, prometheus

READS = pytest.mark.parametrize("read", [http.json, http.count])


@READS
@pytest.mark.parametrize(
    "url", ["api/x", "localhost:9090", "//host/x", "ftp://host/x", "http://", "{url}/x", ""]
)
def test_a_url_without_a_server_is_rejected(read, url):
    for client in (None, httpx.Client(), httpx.AsyncClient()):
        with pytest.raises(DefinitionValueError, match="begin the URL with http:// or https://, or give a"):
            read(url, client=client)


@READS
def test_a_client_with_a_base_url_says_it(read):
    for kind in (httpx.Client, httpx.AsyncClient):
        assert "api/x" in repr(read("api/x", client=kind(base_url="http://host")))


@READS
@pytest.mark.parametrize("url", ["http://host", "HTTPS://host/x", "http://{host}.example.com/x"])
def test_a_url_with_a_scheme_needs_no_client(read, url):
    assert url in repr(read(url))


@pytest.mark.parametrize("url", ["ftp://ann:s3cret@host/x?key=t0ken", "ann:s3cret@host/x"])
def test_the_error_for_an_invalid_url_shows_no_password(url):
    with pytest.raises(DefinitionValueError, match="host/x' does not say") as caught:
        http.json(url)

    assert not {"s3cret", "t0ken"} & set(re.split(r"\W", str(caught.value)))


# Timeouts ---------------------------------------------------------------------------------------------------

MUCH_LATER = 20
"""Seconds in which even a busy machine has given up after a timeout of 0.3 seconds."""


def fault_of(probe):
    with pytest.raises(ProbeError) as caught:
        probe()
    return str(caught.value)


@pytest.fixture
def dripping():
    """Serve an endless answer, one byte before each time limit of a wait."""

    def drip(connection):
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            while True:
                connection.sendall(b"1")
                time.sleep(0.01)

    def serve():
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=drip, args=[server.accept()[0]], daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


def test_an_answer_that_never_ends_is_given_up(dripping):
    assert "ReadTimeout: the answer was not whole after 0.5 s" in fault_of(
        http.json(dripping, timeout=0.5, retries=0)
    )


def hint_for_ever(connection):
    with connection, contextlib.suppress(OSError):
        connection.recv(65536)
        while True:
            connection.sendall(b"HTTP/1.1 103 Early Hints\r\n\r\n")
            time.sleep(0.05)


def write_a_head_for_ever(connection):
    with connection, contextlib.suppress(OSError):
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        for number in range(1000):
            connection.sendall(b"X-%d: y\r\n" % number)
            time.sleep(0.05)


def read_without_an_answer(connection):
    with connection, contextlib.suppress(OSError):
        while connection.recv(65536):
            pass


@pytest.fixture(params=[hint_for_ever, write_a_head_for_ever, read_without_an_answer])
def endless(request):
    """Run a server whose head never ends."""

    def serve():
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=request.param, args=[server.accept()[0]], daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_head_that_never_ends_is_given_up_within_the_timeout(endless, scheme):
    began = time.monotonic()
    said = fault_of(http.json(f"{scheme}://{endless}", timeout=0.3, retries=0))

    assert "Timeout" in said or "SSL" in said
    assert time.monotonic() - began < MUCH_LATER


async def test_an_async_head_that_never_ends_is_given_up_within_the_timeout(endless):
    began = time.monotonic()
    async with httpx.AsyncClient() as client:
        with pytest.raises(ProbeError, match="ReadTimeout"):
            await http.json(f"http://{endless}", timeout=0.3, retries=0, client=client)()

    assert time.monotonic() - began < MUCH_LATER


def test_a_query_to_a_prometheus_that_never_answers_is_given_up_within_the_timeout(endless):
    began = time.monotonic()

    assert "ReadTimeout" in fault_of(prometheus.value(f"http://{endless}", "up", timeout=0.3, retries=0))
    assert time.monotonic() - began < MUCH_LATER


def test_an_abandoned_read_leaves_no_thread(endless):
    fault_of(http.json(f"http://{endless}", timeout=0.3, retries=1))
    ends = time.monotonic() + MUCH_LATER
    while time.monotonic() < ends and any(each.name == "deltaspan-http" for each in threading.enumerate()):
        time.sleep(0.05)

    assert not [each for each in threading.enumerate() if each.name == "deltaspan-http"]


async def test_an_async_answer_that_never_ends_is_given_up(dripping):
    async with httpx.AsyncClient() as client:
        with pytest.raises(ProbeError, match="the answer was not whole after"):
            await http.json(dripping, timeout=0.5, retries=0, client=client)()
