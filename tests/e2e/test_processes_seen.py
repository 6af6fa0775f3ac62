"""A run over two or three processes is seen whole: its spans are found by causal tag, and the tree rebuilt.

HTTP to HTTP, with OpenTelemetry's own instrumentations, propagators and BaggageSpanProcessor; nothing of ours
carries or stamps anything but the spans of the actions themselves.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from deltaspan.tree import causal_tree, read_jaeger
from e2e._servers import HOST, free_ports, running

RELAY = Path(__file__).parent / "_relay.py"


class Run:
    """One run over three processes.

    Attributes:
        services: their names in Jaeger, first to last.
        at_once: the tags of what was done in the first trace, from the root down.
        later: those of what was done in the second trace.
        root: the root's tag.
    """

    def __init__(self, jaeger, folder):
        self.services = [f"{place}-{uuid4()}" for place in ("first", "second", "third")]
        second, third = free_ports(2)
        with ExitStack() as stack:
            for service, port, *rest in (
                (self.services[2], third),
                (self.services[1], second, f"http://{HOST}:{third}/"),
            ):
                stack.enter_context(
                    running(
                        [sys.executable, str(RELAY), "serve", str(port), *rest],
                        folder / f"{service}.log",
                        healthy=(port, "/"),
                        env=jaeger.environment(OTEL_SERVICE_NAME=service),
                    )
                )
            caller = subprocess.run(
                [sys.executable, str(RELAY), "call", f"http://{HOST}:{second}/"],
                env=jaeger.environment(OTEL_SERVICE_NAME=self.services[0]),
                capture_output=True,
                text=True,
                timeout=180,
                check=False,
            )
        # SIGTERM has ended the servers, so they have sent their spans.
        assert (caller.returncode, caller.stderr) == (0, ""), caller.stderr
        self.at_once, self.later = (line.split() for line in caller.stdout.splitlines())
        self.root = self.at_once[0]


@pytest.fixture(scope="module")
def run(jaeger, tmp_path_factory):
    return Run(jaeger, tmp_path_factory.mktemp("relay"))


@pytest.fixture(scope="module")
def spans(jaeger, run):
    """Every span of every trace that any of the services has to do with the run."""
    traces = jaeger.find_traces(run.services[0], tags={"deltaspan.causal_tag.root_id": run.root}, at_least=2)
    return [span for trace in traces for span in trace.spans]


@pytest.fixture(scope="module")
def url(jaeger):
    return f"http://{HOST}:{jaeger.query_port}"


def tree_command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "deltaspan.cli", "tree", *arguments],
        capture_output=True,
        encoding="utf-8",
        env={"PYTHONIOENCODING": "utf-8"},
        timeout=180,
        check=False,
    )


def test_the_run_has_seven_spans_of_actions_in_two_traces(spans):
    actions = [span for span in spans if "deltaspan.action.name" in span.tags]

    assert (len(actions), len({span.trace_id for span in spans})) == (7, 2)


def test_every_span_of_the_run_in_every_process_carries_the_root(run, spans):
    assert {span.service for span in spans} == set(run.services)
    assert [span.name for span in spans if span.tags.get("deltaspan.causal_tag.root_id") != run.root] == []


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_whole_run_is_found_from_any_process_by_its_root(jaeger, run, spans, place):
    found = jaeger.find_traces(
        run.services[place], tags={"deltaspan.causal_tag.root_id": run.root}, at_least=2
    )

    assert {span.span_id for trace in found for span in trace.spans} == {span.span_id for span in spans}


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("when", ["at_once", "later"])
def test_an_action_and_its_inner_spans_are_found_by_its_tag(jaeger, run, when, step):
    tag = getattr(run, when)[step]
    [found] = jaeger.find_traces(run.services[step - 1], tags={"deltaspan.causal_tag.id": tag})

    here = [span for span in found.spans if span.service == run.services[step - 1]]
    names = [span.name for span in here if span.tags.get("deltaspan.causal_tag.id") == tag]
    of_the_run = "verify begin" if step == 1 else "execute_tool serve"  # the first step is a window
    assert {of_the_run, "transaction", "INSERT rows"} <= set(names)


def test_a_request_that_an_action_sends_carries_its_tag_until_the_next_action(run, spans):
    at_second = [span for span in spans if span.service == run.services[1] and span.kind == 2]

    assert sorted(span.tags["deltaspan.causal_tag.id"] for span in at_second) == sorted(
        [run.at_once[1], run.later[1]]
    )


def test_the_tree_of_the_run_is_rebuilt_from_its_root(run, url):
    tree = causal_tree(read_jaeger(url, root=run.root).spans, root=run.root)

    assert [(one.tag, one.parent, one.depth) for one in tree] == [
        (run.root, None, 0),
        *((tags[depth], tags[depth - 1], depth) for tags in (run.at_once, run.later) for depth in (1, 2, 3)),
    ]
    assert [one.outcome for one in tree] == ["fail", *["pass"] * 6]
    assert {one.root for one in tree} == {run.root}
    assert tree.findings == ()


def test_each_action_has_the_effects_of_its_own_process_and_the_requests_it_sent(run, url):
    tree = causal_tree(read_jaeger(url, root=run.root).spans)
    of = {one.tag: one for one in tree}

    last, middle = of[run.at_once[3]], of[run.at_once[2]]
    assert {effect.name for effect in last.effects} >= {"transaction", "INSERT rows"}
    assert {effect.service for effect in last.effects} == {run.services[2]}
    assert {(effect.kind, effect.service) for effect in middle.effects} >= {
        ("client", run.services[1]),
        ("server", run.services[2]),
    }


def test_the_command_draws_it_and_says_that_a_check_failed(run, url):
    done = tree_command("--jaeger", url, "--root", run.root)

    lines = [line.partition(" in ")[0] for line in done.stdout.splitlines() if "effects: " not in line]
    assert (done.returncode, done.stderr) == (1, "")
    assert lines[: lines.index("")] == [
        "✗ run fail: rows",
        "│  fail: expected rows to change by 3, but it changed by 2 (0 → 2)",
        "├─ ✓ begin pass",
        "│  └─ ✓ serve pass",
        "│     └─ ✓ serve pass",
        "└─ ✓ begin (attempt 2) pass",
        "   └─ ✓ serve pass",
        "      └─ ✓ serve pass",
    ]


def test_the_command_finds_it_by_service_and_time(run, url):
    done = tree_command("--jaeger", url, "--service", run.services[2], "--since", "1h", "--json")

    assert (done.returncode, done.stderr) == (1, "")
    assert [one["tag"] for one in json.loads(done.stdout)["runs"]] == [*run.at_once, *run.later[1:]]


def test_a_single_trace_reports_its_action_as_an_orphan_of_another_trace(run, spans, url):
    [trace_id] = {span.trace_id for span in spans if span.tags["deltaspan.causal_tag.id"] == run.later[1]}
    done = tree_command("--jaeger", url, "--trace", trace_id, "--json")

    [finding] = json.loads(done.stdout)["findings"]
    assert (finding["kind"], finding["tag"], finding["others"]) == ("orphan", run.later[1], [run.root])
    assert done.returncode == 3


def test_an_unknown_run_is_an_error_with_a_sentence(url):
    unknown = str(uuid4())
    done = tree_command("--jaeger", url, "--root", unknown)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (f"deltaspan: none of 0 spans is of the run {unknown}: there is nothing to show\n")


def test_an_unknown_trace_is_an_empty_answer_of_jaeger(url):
    assert read_jaeger(url, trace="a" * 32) == ((), ())


def test_an_answer_at_the_limit_warns_that_traces_may_be_missing(run, url):
    reading = read_jaeger(url, service=run.services[0], since=timedelta(hours=1), limit=1)

    assert reading.complaints == (f"{url} returned as many traces as the limit, 1: there may be more",)


# Two processes ----------------------------------------------------------------------------------------------

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
                port, baggage="deltaspan.causal_tag.id=not-a-uuid,deltaspan.causal_tag.root_id=1"
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
        meeting.shop, tags={"deltaspan.causal_tag.parent_id": meeting.said[here]["here"]}
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


def test_the_action_of_the_shop_is_a_child_of_the_action_of_the_customer(both):
    _, here, there = both

    assert there.tags["deltaspan.causal_tag.parent_id"] == here.tags["deltaspan.causal_tag.id"]
    assert there.tags["deltaspan.causal_tag.root_id"] == here.tags["deltaspan.causal_tag.root_id"]
    assert there.tags["deltaspan.causal_tag.id"] != here.tags["deltaspan.causal_tag.id"]
    assert here.tags["deltaspan.causal_tag.root_id"] == here.tags["deltaspan.causal_tag.id"]
    assert "deltaspan.causal_tag.parent_id" not in here.tags


def test_the_trace_connects_the_action_of_the_shop_to_that_of_the_customer(both, meeting):
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
        assert span.tags["deltaspan.action.outcome"] == "pass"
        assert span.tags["deltaspan.actual_delta.orders"] == 1


def test_undecorated_code_in_the_shop_has_the_tag_of_the_customers_action(meeting):
    placed = meeting.said["place_order"]

    assert placed["undecorated"] == placed["here"]


def test_an_action_under_an_invalid_tag_has_no_parent(jaeger, meeting):
    [trace] = jaeger.find_traces(meeting.shop, tags={"deltaspan.causal_tag.id": meeting.forged})
    span = trace.span("execute_tool create_order")

    assert span.tags["deltaspan.causal_tag.root_id"] == meeting.forged
    assert "deltaspan.causal_tag.parent_id" not in span.tags
