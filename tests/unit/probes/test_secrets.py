"""Errors of probes: the text of the system, without secrets."""

import asyncio
import json
import re
import traceback
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspan import change, collect_reports, expects, window
from deltaspan.exceptions import ProbeError
from deltaspan.probes._base.probe import AsyncStateProbe, StateProbe
from deltaspan.probes._base.secrets import MIN_SECRET_LENGTH, secrets_of, without

DSN = "postgresql://ann:s3cr%2Ft@db:5432/shop"


def refused():
    raise ConnectionError(f"{DSN} refused the password s3cr/t")


async def refused_later():
    refused()


def test_the_password_of_a_dsn_is_known_as_written_and_as_meant():
    assert secrets_of(DSN) == {"s3cr%2Ft", "s3cr/t"}


@pytest.mark.parametrize("url", ["", "no url", "http://[broken", "redis://localhost:6379", "http://ann@host"])
def test_a_url_without_a_password_has_no_secret(url):
    assert secrets_of(url) == frozenset()


@given(st.text(min_size=MIN_SECRET_LENGTH), st.text(), st.text())
def test_a_secret_is_hidden_in_any_surrounding_text(secret, before, after):
    shown = without(f"{before}{secret}{after}", {secret})

    assert not any(secret in part for part in shown.split("***"))


def test_credentials_in_a_url_are_hidden_without_being_named():
    assert without("GET https://ann:pw@host/x failed", ()) == "GET https://***@host/x failed"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'ann' 's3c",
            "unknown command 'HELLO', with args beginning with: ***",
        ),
        (r"Invalid header value b'Bearer s3cr\n'", "Invalid header value ***"),
        (r"Illegal header value b'Bearer s3cr\n'", "Illegal header value ***"),
    ],
)
def test_input_repeated_in_a_refusal_is_hidden_even_if_it_is_cut(text, shown):
    assert without(text, ()) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("host=db password=s3cr user=ann", "host=db password=*** user=ann"),
        (r"password = 's3 \'cr' host=db", "password = *** host=db"),
        ("Server=db;PWD=s3cr;UID=ann", "Server=db;PWD=***;UID=ann"),
        ("sslpassword=s3cr", "sslpassword=***"),
        ("password = :password", "password = :password"),
        ("password = ?", "password = ?"),
    ],
)
def test_an_assigned_password_is_hidden_and_a_placeholder_is_not(text, shown):
    assert without(text, ()) == shown


@pytest.mark.parametrize(
    "url",
    [
        "https://host/x?to=ann@host",
        "http://localhost:8080/users/@me",
        "http://localhost:{port}/users/@me",
        "http://[::1]:80/users/@me",
    ],
)
def test_an_address_without_credentials_is_unchanged(url):
    assert without(f"GET {url} failed", secrets_of(url)) == f"GET {url} failed"


@pytest.mark.parametrize("password", ["p/w", "p#w", "p?w", "12/w!", "a@b", "p\\w", "p%2Fw"])
def test_a_password_that_is_not_encoded_in_its_url_is_hidden(password):
    url = f"https://ann:x{password}@host/shop"

    assert f"x{password}" in secrets_of(url)
    assert without(f"GET {url} failed", ()) == "GET https://***@host/shop failed"


@given(st.text(min_size=MIN_SECRET_LENGTH))
def test_a_secret_is_hidden_in_every_kind_of_quoting(secret):
    quoted = [
        repr(secret)[1:-1],
        ascii(secret)[1:-1],
        repr(secret.encode())[2:-1],
        json.dumps(secret)[1:-1],
        quote(secret, ""),
        re.sub("%..", lambda byte: byte[0].lower(), quote(secret, "")),
        quote(secret, "!$&'()*+,;="),
        quote_plus(secret),
    ]

    assert [without(form, {secret}) for form in quoted] == ["***"] * len(quoted)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("GET http://host/servers?limit=1&a=12 failed", "GET http://host/servers?***&a=12 failed"),
        ("GET http://127.0.0.1:1/x: [Errno 111]", "GET http://127.0.0.1:1/x: [Errno 111]"),
        ("X-Api-Key: 1", "X-Api-Key: ***"),
        ("{'Authorization': 'Bearer 1'}", "{'Authorization': 'Bearer ***'}"),
        ("the password '1' is wrong", "the password '***' is wrong"),
        ("https://ann:1@host/1", "https://***@host/1"),
    ],
)
def test_a_short_secret_is_hidden_only_in_its_place(text, shown):
    assert without(text, {"1", "limit=1"}) == shown


def test_a_secret_of_the_minimum_length_is_hidden_everywhere():
    assert without("12345678 and 1234567", {"12345678", "1234567"}) == "*** and 1234567"


def test_a_text_without_an_end_is_cut():
    def read():
        raise ValueError("://a:b/" * 1_000_000)

    with pytest.raises(ProbeError) as caught:
        StateProbe(read, "rows()", secrets={"s3cr"})()

    assert len(str(caught.value)) < 5_000


@pytest.mark.parametrize("size", [0, 1, 3_950, 3_990])
def test_a_secret_at_the_cut_of_a_text_is_not_shown_in_part(size):
    def read():
        raise ValueError("x" * size + "s3cr%2Ft" * 10_000)

    with pytest.raises(ProbeError) as caught:
        StateProbe(read, "rows()", secrets={"s3cr/t" * 10})()

    assert "s3" not in str(caught.value)


def test_an_exception_of_a_read_becomes_one_probe_error_without_a_chain():
    probe = StateProbe(refused, f"rows('{DSN}')", secrets=secrets_of(DSN))
    with pytest.raises(ProbeError) as caught:
        probe()

    assert str(caught.value) == (
        "rows('postgresql://***@db:5432/shop') could not be read: "
        "ConnectionError: postgresql://***@db:5432/shop refused the password ***"
    )
    assert "s3cr" not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None


def test_an_async_read_tells_no_secret_either():
    probe = AsyncStateProbe(refused_later, "rows()", secrets=secrets_of(DSN))
    with pytest.raises(ProbeError) as caught:
        asyncio.run(probe())

    assert str(caught.value).endswith("refused the password ***")
    assert caught.value.__context__ is None


def test_a_check_whose_probe_cannot_read_is_inconclusive_and_tells_no_secret():
    probe = StateProbe(refused, "rows()", secrets=secrets_of(DSN))
    with window("load", change("rows", probe).by(1)) as w:
        pass
    report = w.report

    assert (report["rows"].outcome, report["rows"].reason) == ("inconclusive", "baseline_failed")
    assert "s3cr" not in str(report) + repr(report) + str(report["rows"].to_dict())


def test_a_probe_is_given_the_argument_that_it_names():
    counts = {"acme": 1}
    probe = StateProbe(lambda tenant: counts[tenant], "rows()", needs=["tenant"])

    @expects(change("rows", probe).by(1))
    def sign_up(tenant):
        counts[tenant] += 1

    with collect_reports() as reports:
        sign_up("acme")

    assert reports[0]["rows"].outcome == "pass"
    assert reports[0]["rows"].attribution == "scoped"
