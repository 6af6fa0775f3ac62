"""MongoDB probes against a real FerretDB, with synchronous and asynchronous clients."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import subprocess
import time
from datetime import datetime
from uuid import UUID

import pytest
from bson import Binary, Int64, ObjectId, Regex, Timestamp
from pymongo import AsyncMongoClient, MongoClient
from pymongo.errors import PyMongoError

from deltaspan import change, collect_reports, current_causal_tag, expects, window
from deltaspan.exceptions import ProbeError
from deltaspan.probes import mongodb
from e2e._servers import HOST, free_ports, required

SECRET = "s3cr/t-word"  # noqa: S105  # planted, to be searched for


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    program = required("ferretdb")
    [number] = free_ports(1)
    folder = tmp_path_factory.mktemp("ferretdb")
    with (folder / "server.log").open("wb") as log:
        command = [program, "-listen", f"{HOST}:{number}"]
        server = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        _wait(server, number, folder / "server.log")
        yield number
    finally:
        server.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(20)
        server.kill()
        server.wait()


def _wait(server, number, log):
    ends = time.monotonic() + 60
    while server.poll() is None and time.monotonic() < ends:
        with (
            contextlib.suppress(PyMongoError),
            MongoClient(HOST, number, serverSelectionTimeoutMS=500) as client,
        ):
            client.admin.command("ping")
            return
    raise AssertionError(f"FerretDB did not start: {log.read_text()[-2000:]}")


@pytest.fixture
def orders(port):
    with MongoClient(HOST, port) as client:
        client["shop"]["orders"].drop()
        yield client["shop"]["orders"]


@pytest.fixture(params=["sync", "async"])
def read(request, port):
    """Make a probe with a collection of one kind, and read it."""

    async def awaited(make, *args, options, values):
        async with AsyncMongoClient(HOST, port) as client:
            return await make(client["shop"]["orders"], *args, **options)(**values)

    def waited(make, *args, options, values):
        with MongoClient(HOST, port) as client:
            return make(client["shop"]["orders"], *args, **options)(**values)

    def run(make, *args, options=None, **values):
        told = {"options": options or {}, "values": values}
        return (
            asyncio.run(awaited(make, *args, **told))
            if request.param == "async"
            else waited(make, *args, **told)
        )

    return run


def said(probe, **values):
    with pytest.raises(ProbeError) as caught:
        probe(**values)
    return str(caught.value)


def test_documents_are_counted_and_a_missing_collection_is_empty(orders, read):
    assert (read(mongodb.count), read(mongodb.size), read(mongodb.documents)) == (0, 0, {})
    orders.insert_many([{"tenant": "a"}, {"tenant": "a"}, {"tenant": "b"}])

    assert read(mongodb.count) == read(mongodb.size) == 3
    assert read(mongodb.count, {"tenant": "{tenant}"}, tenant="a") == 2


def test_documents_are_read_as_python_values(orders, read):
    name = ObjectId("5f0000000000000000000001")
    unique = UUID("12345678-1234-5678-1234-567812345678")
    held = {
        "owner": {"id": Int64(7), "at": datetime(2026, 1, 2)},  # noqa: DTZ001  # as PyMongo gives it
        "tags": ["a", None, True],
        "icon": b"\xff",
        "picture": b"\xff" * 65,
        "uuid": Binary.from_uuid(unique),
        "pattern": Regex("^a", "i"),
        "time": Timestamp(1, 2),
    }
    orders.insert_one({"_id": name, **held})
    found = read(mongodb.documents)[str(name)]

    assert found.pop("picture").startswith("65 bytes, blake2b:")
    assert found == {
        "_id": str(name),
        "owner": {"id": 7, "at": datetime(2026, 1, 2)},  # noqa: DTZ001  # likewise
        "tags": ["a", None, True],
        "icon": b"\xff",
        "uuid": unique,
        "pattern": "Regex('^a', 2)",
        "time": "Timestamp(1, 2)",
    }
    assert type(found["owner"]["id"]) is int


def test_only_the_named_fields_and_the_key_are_read(orders, read):
    orders.insert_one({"_id": 1, "sku": {"code": "ham"}, "price": 3, "secret": "x"})
    options = {"key": "sku.code", "fields": ["price"]}

    assert read(mongodb.documents, options=options) == {"ham": {"_id": 1, "sku": {"code": "ham"}, "price": 3}}


def test_more_than_a_batch_is_read_whole(orders, read):
    orders.insert_many([{"_id": number} for number in range(350)])

    assert read(mongodb.documents) == {number: {"_id": number} for number in range(350)}


def test_a_field_gives_the_value_as_it_is_and_no_operator(orders, read):
    orders.insert_many([{"_id": 1, "n": 5, "name": "a.c"}, {"_id": 2, "n": "5", "name": "abc"}])

    assert set(read(mongodb.documents, {"n": "{n}"}, n=5)) == {1}
    assert set(read(mongodb.documents, {"n": "{n}"}, n="5")) == {2}
    assert set(read(mongodb.documents, {"name": {"$regex": "^{name}$"}}, name="a.c")) == {1}
    with pytest.raises(ProbeError, match=r"the field \{n\} takes a plain value to compare with, not a dict"):
        read(mongodb.count, {"n": "{n}"}, n={"$ne": None})


# As checks --------------------------------------------------------------------------------------------------


def checks(orders):
    return (
        change("orders", mongodb.count(orders, {"tenant": "{tenant}"})).by(1),
        change("mine", mongodb.documents(orders, {"tag": "{causal_tag}"})).adding(count=1),
    )


def outcomes(reports):
    return [check.outcome for report in reports for check in report.checks]


def test_a_sync_action_is_checked(orders):
    @expects(*checks(orders))
    def order(tenant):
        orders.insert_one({"tenant": tenant, "tag": current_causal_tag()})

    with collect_reports() as reports:
        order("acme")

    assert outcomes(reports) == ["pass", "pass"]
    assert reports[0]["orders"].attribution == "scoped"


async def test_an_async_action_is_checked_with_a_client_of_either_kind(orders, port):
    async with AsyncMongoClient(HOST, port) as client:
        awaited = client["shop"]["orders"]
        for collection in (awaited, orders):

            @expects(*checks(collection))
            async def order(tenant):
                await awaited.insert_one({"tenant": tenant, "tag": current_causal_tag()})

            with collect_reports() as reports:
                await order("acme")

            assert outcomes(reports) == ["pass", "pass"]


# Error texts ------------------------------------------------------------------------------------------------


def test_an_unreachable_server_is_reported_without_the_password():
    [nobody] = free_ports(1)
    with MongoClient(f"mongodb://ann:s3cr%2Ft-word@{HOST}:{nobody}", serverSelectionTimeoutMS=200) as client:
        probe = mongodb.count(client["shop"]["orders"])
        with window("load", change("orders", probe).by(1)) as w:
            pass
        text = f"{said(probe)} {probe!r} {w.report} {w.report!r} {w.report['orders'].to_dict()}"

    assert "mongodb.count(shop.orders) could not be read: ServerSelectionTimeoutError" in text
    assert not any(secret in text for secret in (SECRET, "s3cr%2Ft-word"))


def test_refused_credentials_are_reported_and_not_shown(port):
    with MongoClient(HOST, port, username="ann", password=SECRET, serverSelectionTimeoutMS=5000) as client:
        text = said(mongodb.count(client["shop"]["orders"]))

    assert "OperationFailure" in text
    assert "AuthenticationFailed" in text
    assert SECRET not in text


def test_a_filter_that_the_server_refuses_is_reported_in_its_words(orders):
    orders.insert_one({"_id": 1})

    assert "OperationFailure" in said(mongodb.count(orders, {"a": {"$nope": 1}}))
    assert "$nope" in said(mongodb.documents(orders, {"a": {"$nope": 1}}))


def test_too_many_documents_and_keys_that_are_not_unique_are_reported(orders):
    orders.insert_many([{"_id": 1, "n": 1}, {"_id": 2, "n": 1}, {"_id": 3}])

    assert said(mongodb.documents(orders, limit=2)).endswith(
        "MongoReadError: there are more than 2 documents: narrow the filter, count them with `count`, or "
        "raise limit="
    )
    assert len(mongodb.documents(orders, limit=3)()) == 3
    assert said(mongodb.documents(orders, {"n": 1}, key="n")).endswith(
        "two documents have the same 'n'; name a unique field in key="
    )
    assert said(mongodb.documents(orders, {"_id": 3}, key="n")).endswith(
        "the document with the _id 3 has no 'n', which key= names"
    )


@pytest.mark.parametrize("tenant", ["$ne", "$gt", ".*", "^", "{tenant}", "a", "", 0, False])
def test_a_hostile_argument_matches_only_its_own_documents(orders, read, tenant):
    orders.insert_many([{"_id": 1, "tenant": tenant}, {"_id": 2, "tenant": "acme"}, {"_id": 3, "tenant": 9}])

    assert set(read(mongodb.documents, {"tenant": "{tenant}"}, tenant=tenant)) == {1}
    if isinstance(tenant, str) and tenant:
        assert set(read(mongodb.documents, {"tenant": {"$regex": "^{tenant}$"}}, tenant=tenant)) == {1}


@pytest.mark.parametrize("tenant", [{}, {"$ne": 1}, {"$gt": ""}, [], ["acme"], re.compile(".*"), Regex(".*")])
def test_an_argument_that_could_be_an_operator_has_no_state(orders, read, tenant):
    orders.insert_one({"_id": 1, "tenant": "acme"})

    with pytest.raises(ProbeError, match=r"the field \{tenant\} takes a plain value to compare with"):
        read(mongodb.count, {"tenant": "{tenant}"}, tenant=tenant)


def test_values_of_a_document_are_shown_only_on_request(orders):
    orders.insert_one({"_id": 1, "note": "canary-before"})
    probe = mongodb.documents(orders)
    with window("act", change("x", probe), change("y", probe).showing()) as w:
        orders.delete_one({"_id": 1})  # an update does not end on this server
        orders.insert_one({"_id": 1, "note": "canary-after"})

    assert "canary" not in str(w.report["x"])
    assert "canary-after" in str(w.report["y"])
