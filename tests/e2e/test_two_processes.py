"""A causal tag crosses HTTP: an action here, and the action there that it brought about, are one run.

Both processes use deltaspan, OpenTelemetry's own httpx and ASGI instrumentations, and W3C baggage; nothing
of ours carries anything.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from e2e._servers import HOST, free_ports, running

HERE = Path(__file__).parent
KINDS = {1: "internal", 2: "server", 3: "client"}


class Meeting:
    """A customer and a shop that have met.

    Attributes:
        shop: the shop's service in Jaeger.
        customer: the customer's.
        said: what the customer printed: by action, its tag as seen here and there.
        forged: the tag in use there for a caller whose baggage is not a UUID.
    """

    def __init__(self, jaeger, folder):
        self.shop, self.customer = f"shop-{uuid4()}", f"customer-{uuid4()}"
        [port] = free_ports(1)
        shop = running(
            [sys.executable, str(HERE / "_shop.py"), str(port)],
            folder / "shop.log",
            healthy=(port, "/whose"),
            env=jaeger.environment(OTEL_SERVICE_NAME=self.shop),
        )
        with shop:
            customer = subprocess.run(  # our own program
                [sys.executable, str(HERE / "_customer.py"), f"http://{HOST}:{port}"],
                env=jaeger.environment("http/protobuf", OTEL_SERVICE_NAME=self.customer),
                capture_output=True,
                text=True,
                timeout=180,
                check=False,
            )
            assert (customer.returncode, customer.stderr) == (0, ""), customer.stderr
            self.said = json.loads(customer.stdout)
            self.forged = self._order_with(
                port, baggage="delta.causal_tag.id=not-a-uuid,delta.causal_tag.root_id=1"
            )
        # SIGTERM has ended the shop, so it has sent its spans.

    @staticmethod
    def _order_with(port, **headers):
        connection = http.client.HTTPConnection(HOST, port, timeout=60)
        connection.request("POST", "/orders", json.dumps("rum"), headers)
        tag = json.loads(connection.getresponse().read())
        connection.close()
        return tag


@pytest.fixture(scope="module")
def meeting(jaeger, tmp_path_factory):
    return Meeting(jaeger, tmp_path_factory.mktemp("shop"))


@pytest.fixture(params=["async", "sync"])
def both(request, jaeger, meeting):
    """Return the trace, the customer's span and the shop's, for a handler on the loop and one in a thread."""
    here, there = {"async": ("place_order", "create_order"), "sync": ("place_it_again", "repeat_order")}[
        request.param
    ]
    [trace] = jaeger.find_traces(
        meeting.shop, tags={"delta.causal_tag.parent_id": meeting.said[here]["here"]}
    )
    return (
        trace,
        trace.span(f"execute_tool {here}", meeting.customer),
        trace.span(f"execute_tool {there}", meeting.shop),
    )


def ancestors(trace, span):
    by_id = {each.span_id: each for each in trace.spans}
    found = []
    while span.parent_id:
        span = by_id[span.parent_id]
        found.append(span)
    return found


def test_the_action_there_is_a_child_of_the_action_here(both):
    _, here, there = both

    assert there.tags["delta.causal_tag.parent_id"] == here.tags["delta.causal_tag.id"]
    assert there.tags["delta.causal_tag.root_id"] == here.tags["delta.causal_tag.root_id"]
    assert there.tags["delta.causal_tag.id"] != here.tags["delta.causal_tag.id"]
    assert here.tags["delta.causal_tag.root_id"] == here.tags["delta.causal_tag.id"]
    assert "delta.causal_tag.parent_id" not in here.tags


def test_the_trace_leads_from_the_action_there_to_the_action_here(both, meeting):
    trace, here, there = both

    path = ancestors(trace, there)
    assert [(KINDS[span.kind], span.service) for span in path] == [
        ("server", meeting.shop),
        ("client", meeting.customer),
        ("internal", meeting.customer),
    ]
    assert path[-1] == here


def test_both_actions_are_verified(both):
    _, here, there = both

    for span in (here, there):
        assert span.tags["delta.action.outcome"] == "pass"
        assert span.tags["delta.actual_delta.orders"] == 1


def test_code_there_that_is_no_action_acts_under_the_tag_of_the_action_here(meeting):
    placed = meeting.said["place_order"]

    assert placed["undecorated"] == placed["here"]


def test_a_tag_that_is_not_a_uuid_is_nobodys_child(jaeger, meeting):
    [trace] = jaeger.find_traces(meeting.shop, tags={"delta.causal_tag.id": meeting.forged})
    span = trace.span("execute_tool create_order")

    assert span.tags["delta.causal_tag.root_id"] == meeting.forged
    assert "delta.causal_tag.parent_id" not in span.tags
