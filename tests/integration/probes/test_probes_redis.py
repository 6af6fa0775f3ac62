"""States that the Redis probes read of a real server, with every client."""

from __future__ import annotations

import asyncio
import threading

import pytest

from deltaspan import change, collect_reports, current_causal_tag, expects, unchanged, window
from integration._redis import redis_server
from integration._services import HOST

pytestmark = pytest.mark.services

redis = pytest.importorskip("redis")
from deltaspan.probes import redis as probes  # noqa: E402  # needs redis-py

KINDS = [(is_async, protocol, decodes) for is_async in (0, 1) for protocol in (2, 3) for decodes in (0, 1)]


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    with redis_server(tmp_path_factory) as number:
        yield number


@pytest.fixture
def client(port):
    with redis.Redis(HOST, port) as connected:
        connected.flushall()
        yield connected


@pytest.fixture(params=KINDS, ids=lambda kind: "async{}-resp{}-decodes{}".format(*kind))
def read(request, port):
    """Make a probe with a client of one kind, and read it."""
    is_async, protocol, decodes = request.param
    options = {"host": HOST, "port": port, "protocol": protocol, "decode_responses": bool(decodes)}

    async def awaited(make, *args, **values):
        async with redis.asyncio.Redis(**options) as connected:
            return await make(connected, *args)(**values)

    def waited(make, *args, **values):
        with redis.Redis(**options) as connected:
            return make(connected, *args)(**values)

    return (lambda *args, **values: asyncio.run(awaited(*args, **values))) if is_async else waited


def test_every_redis_type_is_read_as_its_python_counterpart(client, read):
    client.set("a:text", "hallo ü")
    client.set("a:empty", "")
    client.hset("a:hash", mapping={"name": "Ann", "age": 3})
    client.rpush("a:list", "x", "y", "x")
    client.sadd("a:set", "x", "y")
    client.zadd("a:ranks", {"ann": 1.5, "bob": -2})
    client.xadd("a:stream", {"n": 1, "m": 2}, id="1-1")
    client.xgroup_create("a:unused", "workers", mkstream=True)
    client.set("b:other", "left out")

    assert read(probes.values, "a:*") == {
        "a:text": "hallo ü",
        "a:empty": "",
        "a:hash": {"name": "Ann", "age": "3"},
        "a:list": ["x", "y", "x"],
        "a:set": {"x", "y"},
        "a:ranks": {"ann": 1.5, "bob": -2.0},
        "a:stream": {"1-1": {"n": "1", "m": "2"}},
        "a:unused": {},
    }


def test_long_and_binary_values_are_reported_by_size_and_digest(client, read):
    client.set("long", "x" * 257)
    client.hset("picture", "png", b"\xff\xfe")
    before = read(probes.values, "*")
    client.set("long", "y" * 257)
    after = read(probes.values, "*")

    assert before["long"].startswith("257 bytes, blake2b:")
    assert before["picture"]["png"].startswith("2 bytes, blake2b:")
    assert before["long"] != after["long"]
    assert before["picture"] == after["picture"]


def test_a_name_that_is_not_utf_8_holds_surrogates_and_is_read_by_it(client, read):
    client.rpush(b"raw:\xff", 1, 2)

    assert read(probes.keys, "raw:*") == {"raw:\udcff"}
    assert read(probes.values, "raw:\udcff") == {"raw:\udcff": ["1", "2"]}
    assert read(probes.length, "raw:\udcff") == 2


def test_more_than_a_page_is_read_whole_and_each_key_once(client, read):
    client.mset({f"n:{number}": number for number in range(2500)})
    client.set("m", 1)

    assert read(probes.count, "n:*") == 2500
    assert len(read(probes.values, "n:*")) == 2500
    assert read(probes.size) == 2501


def test_each_type_has_a_length_and_a_missing_key_none(client, read):
    client.set("text", "four")
    client.hset("hash", "a", 1)
    client.rpush("list", 1, 2)
    client.sadd("set", 1, 2, 3)
    client.zadd("ranks", {"a": 1})
    client.xadd("stream", {"a": 1})
    names = ("text", "hash", "list", "set", "ranks", "stream", "missing")

    assert [read(probes.length, name) for name in names] == [4, 1, 2, 3, 1, 1, 0]


def test_a_field_scopes_the_read_and_is_matched_literally(client, read):
    client.mset({"cart:a*:1": 1, "cart:ab:1": 1, "cart:[a-z]:1": 1, "{a*}:1": 1})

    assert read(probes.keys, "cart:{tenant}:*", tenant="a*") == {"cart:a*:1"}
    assert read(probes.count, "cart:{tenant}:*", tenant="[a-z]") == 1
    assert read(probes.keys, "{{{tenant}}}:*", tenant="a*") == {"{a*}:1"}
    assert read(probes.length, "cart:{tenant}:1", tenant="a*") == 1


def test_a_read_changes_neither_a_key_nor_its_expiry(client, read):
    client.set("a", 1, px=3_600_000)
    ends = client.execute_command("PEXPIRETIME", "a")
    dump = client.dump("a")
    for make, *args in ((probes.size,), (probes.values, "*"), (probes.length, "a")):
        read(make, *args)

    assert (client.execute_command("PEXPIRETIME", "a"), client.dump("a")) == (ends, dump)


def test_keys_that_disappear_during_the_read_are_not_an_error(client, monkeypatch):
    client.mset({f"n:{number}": number for number in range(10)})
    pipeline = redis.Redis.pipeline
    dropped = iter(("n:1", "n:2", "n:3"))

    def dropping(self, *args, **kwargs):
        made = pipeline(self, *args, **kwargs)
        client.delete(next(dropped))  # before the types, the sizes and the values are asked for
        return made

    monkeypatch.setattr(redis.Redis, "pipeline", dropping)

    assert set(probes.values(client, "n:*")()) == {f"n:{number}" for number in (0, 4, 5, 6, 7, 8, 9)}


def test_stable_keys_are_reported_once_during_concurrent_writes(client, port):
    stable = {f"stable:{number}" for number in range(3000)}
    client.mset(dict.fromkeys(stable, 1))
    done = threading.Event()

    def churn():
        with redis.Redis(HOST, port) as other:
            while not done.is_set():  # the table of keys grows and shrinks, so that SCAN tells some again
                other.mset({f"other:{number}": 1 for number in range(20_000)})
                other.delete(*[f"other:{number}" for number in range(20_000)])

    churning = threading.Thread(target=churn)
    churning.start()
    try:
        found = [(probes.keys(client, "stable:*")(), probes.count(client, "stable:*")()) for _ in range(5)]
    finally:
        done.set()
        churning.join()

    assert found == [(stable, 3000)] * 5


def test_a_client_of_one_connection_is_read_in_the_database_that_it_has_selected(client, port):
    async def awaited():
        async with redis.asyncio.Redis(host=HOST, port=port, single_connection_client=True) as one:
            await one.select(3)
            return await probes.values(one, "*")()

    with redis.Redis(HOST, port, single_connection_client=True) as one:
        one.select(3)
        one.set("a", 1)
        one.zadd("ranks", {"ann": 1.5})

        assert probes.keys(one, "*")() == {"a", "ranks"}
        assert probes.values(one, "*")() == {"a": "1", "ranks": {"ann": 1.5}}
        assert asyncio.run(awaited()) == {"a": "1", "ranks": {"ann": 1.5}}


# As checks --------------------------------------------------------------------------------------------------


def checks(client):
    return (
        change("carts", probes.count(client, "cart:{tenant}:*")).by(1),
        change("mine", probes.keys(client, "cart:*:{causal_tag}")).adding(count=1),
        change("jobs", probes.length(client, "jobs")).by(1),
        unchanged("others", probes.values(client, "stock:*")),
    )


def act(client, tenant):
    client.set(f"cart:{tenant}:{current_causal_tag()}", 1)
    client.rpush("jobs", tenant)


def outcomes(reports):
    return [check.outcome for report in reports for check in report.checks]


def test_a_sync_action_is_checked(client):
    client.set("stock:ham", 3)

    @expects(*checks(client))
    def add(tenant):
        act(client, tenant)

    with collect_reports() as reports:
        add("acme")

    assert outcomes(reports) == ["pass"] * 4
    assert reports[0]["carts"].attribution == "scoped"


async def test_an_async_action_is_checked_with_a_client_of_either_kind(client, port):
    async with redis.asyncio.Redis(host=HOST, port=port) as awaited:

        @expects(*checks(awaited))
        async def add(tenant):
            act(client, tenant)

        @expects(*checks(client))
        async def add_too(tenant):
            act(client, tenant)

        with collect_reports() as reports:
            await add("acme")
            await add_too("acme")

    assert outcomes(reports) == ["pass"] * 8


def test_an_undeclared_change_of_the_action_is_reported_by_key(client):
    client.mset({"stock:ham": 3, "stock:egg": 5})
    with window("sell", change("stock", probes.values(client, "stock:*")).only("stock:ham")) as w:
        client.mset({"stock:ham": 2, "stock:egg": 4})

    assert w.report["stock"].outcome == "fail"
    assert "stock:egg" in w.report["stock"].explanation


@pytest.mark.parametrize("tenant", ["*", "?", "[a-z]", "\\", "a*", "acme:*", "^a", "{tenant}", "-"])
def test_a_hostile_argument_matches_only_its_own_keys(client, read, tenant):
    client.mset({f"cart:{tenant}:1": 1, "cart:acme:1": 1, "cart:a:2": 1, "cart:other:1": 1})

    assert read(probes.keys, "cart:{tenant}:*", tenant=tenant) == {f"cart:{tenant}:1"}


def test_values_of_a_key_are_shown_only_on_request(client):
    client.hset("cart:1", mapping={"name": "canary-before"})
    probe = probes.values(client, "cart:*")
    with window("act", change("x", probe), change("y", probe).showing()) as w:
        client.hset("cart:1", mapping={"name": "canary-after"})

    assert w.report["x"].explanation == "x modified 'cart:1/name', as expected"
    assert "canary" not in str(w.report["x"])
    assert "canary-after" in str(w.report["y"])
