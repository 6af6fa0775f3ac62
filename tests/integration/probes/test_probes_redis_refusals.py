"""Errors of the Redis probes, without secrets."""

from __future__ import annotations

import asyncio

import pytest

from deltaspan import change, window
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError, ProbeError
from integration._redis import PASSWORD, redis_server
from integration._services import HOST, free_port

WRONG = "wr/ng"

pytestmark = pytest.mark.services

redis = pytest.importorskip("redis")
from deltaspan.probes import redis as probes  # noqa: E402  # likewise
from deltaspan.probes._redis import _values  # noqa: E402  # likewise


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    with redis_server(tmp_path_factory, "--requirepass", PASSWORD) as number:
        yield number


@pytest.fixture
def client(port):
    with redis.Redis(HOST, port, password=PASSWORD) as connected:
        connected.flushall()
        yield connected


def said(probe):
    with pytest.raises(ProbeError) as caught:
        probe()
    return str(caught.value)


def said_async(make, **options):
    async def read():
        async with redis.asyncio.Redis(**options) as client:
            await make(client)()

    with pytest.raises(ProbeError) as caught:
        asyncio.run(read())
    return str(caught.value)


def test_an_unreachable_server_is_reported(port):
    nobody = redis.Redis(HOST, free_port())

    assert said(probes.size(nobody)).startswith(
        "redis.size(client) could not be read: ConnectionError: Error 111"
    )
    assert "ConnectionError" in said_async(probes.size, host=HOST, port=free_port())


def test_a_wrong_password_is_reported_and_not_shown(port):
    address = f"redis://default:wr%2Fng@{HOST}:{port}/0"
    with redis.Redis.from_url(address) as client:
        probe = probes.count(client, "*")
        with window("load", change("keys", probe).by(1)) as w:
            pass
        text = f"{said(probe)} {probe!r} {w.report} {w.report!r} {w.report['keys'].to_dict()}"

    assert "AuthenticationError: invalid username-password pair or user is disabled" in text
    assert w.report["keys"].reason == "baseline_failed"
    assert not any(shown in text for shown in (WRONG, "wr%2Fng", PASSWORD))
    assert "AuthenticationError" in said_async(probes.size, host=HOST, port=port, password=WRONG)


def test_a_password_that_the_server_repeats_is_hidden(client):
    client.set(PASSWORD, 1)
    client.execute_command("ACL", "SETUSER", "blind", "on", f">{PASSWORD}", "~*", "+scan", "+type")
    with redis.Redis(
        HOST, client.connection_pool.connection_kwargs["port"], 0, PASSWORD, username="blind"
    ) as blind:
        text = said(probes.length(blind, PASSWORD))

    assert "no permissions to run the 'strlen' command" in text
    assert PASSWORD not in text


@pytest.mark.parametrize("password", [PASSWORD, "x" * 300])
def test_a_password_is_hidden_even_if_the_server_repeats_only_its_beginning(tmp_path_factory, password):
    provider = redis.UsernamePasswordCredentialProvider("ann", password)
    with redis_server(tmp_path_factory, "--rename-command", "HELLO", "") as port:  # as before Redis 6
        for given in ({"password": password}, {"credential_provider": provider}):
            with redis.Redis(HOST, port, protocol=3, **given) as client:
                text = said(probes.size(client))

            assert "unknown command 'HELLO', with args beginning with: ***" in text
            assert password[:6] not in text


def test_a_command_that_the_user_may_not_run_is_reported_in_the_servers_words(client, port):
    client.execute_command(
        "ACL", "SETUSER", "reader", "on", f">{PASSWORD}", "~a:*", "+@all", "-scan", "-dbsize"
    )
    with redis.Redis(HOST, port, username="reader", password=PASSWORD) as reader:
        for probe, command in ((probes.keys(reader, "*"), "scan"), (probes.size(reader), "dbsize")):
            assert f"NoPermissionError: this user has no permissions to run the '{command}' command" in said(
                probe
            )
        assert "NoPermissionError" in said(probes.length(reader, "b:1"))


def test_a_key_that_changes_its_type_during_the_read_is_reported(client, monkeypatch):
    client.set("a", 1)
    pipeline = redis.Redis.pipeline

    def turning(self, *args, **kwargs):
        made = pipeline(self, *args, **kwargs)
        if client.type("a") == b"string":
            turned.append(len(turned))
            if len(turned) > 1:
                client.delete("a")
                client.rpush("a", 1)
        return made

    turned = []
    monkeypatch.setattr(redis.Redis, "pipeline", turning)

    assert "WRONGTYPE Operation against a key holding the wrong kind of value" in said(
        probes.values(client, "a")
    )


def test_a_state_that_is_too_large_names_a_cheaper_probe(client, monkeypatch):
    client.mset({"a": 1, "b": 2})
    client.rpush("list", *range(3))
    monkeypatch.setattr(_values, "MAX_VALUES", 4)
    assert said(probes.values(client, "*")).endswith(
        "RedisReadError: the keys hold more than 4 values: narrow the pattern, or read `keys`, or the "
        "`length` of one"
    )
    monkeypatch.setattr(_values, "MAX_KEYS", 2)

    assert said(probes.count(client, "*")).endswith(
        "RedisReadError: more than 2 keys match '*': narrow the pattern, or count all keys with `size`"
    )
    assert probes.size(client)() == 3


def test_an_invalid_definition_is_rejected_at_once(client):
    for other in (None, "redis://host", client.pipeline()):
        with pytest.raises(
            DefinitionTypeError, match=r"redis.count\(\) reads with a redis.Redis or a redis.asyn"
        ):
            probes.count(other, "*")
    with pytest.raises(DefinitionTypeError, match="a template is a str or a path, not 3"):
        probes.count(client, 3)
    with pytest.raises(DefinitionValueError, match="to write a brace, double it"):
        probes.keys(client, "{tenant:*")
    with pytest.raises(DefinitionTypeError, match="needs 'tennant', which does not exist"):
        window("fix", change("keys", probes.count(client, "{tennant}:*")), args={"tenant": "a"})
