"""Prometheus probes against a real server, with processes that push metrics and restart."""

from __future__ import annotations

import time
from uuid import uuid4

import httpx
import pytest
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

from deltaspan import change, collect_reports, expects, unchanged
from deltaspan.probes import prometheus
from deltaspan.testing import check_probe, check_probe_async
from e2e._stack import Prometheus

pytestmark = pytest.mark.usefixtures("built")

NEVER = 3_600_000


@pytest.fixture(scope="module")
def url(built, tmp_path_factory):
    with Prometheus(tmp_path_factory.mktemp("prometheus")) as server:
        yield server.url


@pytest.fixture
def job():
    return f"shop-{uuid4()}"


class Shop:
    """A process that counts orders, and pushes them on command or at an interval."""

    def __init__(self, url, job, instance, every):
        exporter = OTLPMetricExporter(endpoint=f"{url}/api/v1/otlp/v1/metrics", timeout=10)
        self._reader = PeriodicExportingMetricReader(exporter, export_interval_millis=every)
        resource = Resource.create({"service.name": job, "service.instance.id": instance})
        self.provider = MeterProvider([self._reader], resource=resource, shutdown_on_exit=False)
        meter = self.provider.get_meter("shop")
        self._orders, self._requests = meter.create_counter("orders"), meter.create_counter("requests")

    def take(self, orders, shop="tea"):
        self._orders.add(orders, {"shop": shop})

    def ask(self, requests):
        self._requests.add(requests, {"shop": "tea"})

    def push(self):
        time.sleep(0.05)  # a sample of the same millisecond as its series' zero is none
        self._reader.collect()


@pytest.fixture
def shop(url, job):
    """Return what starts a process of the job, under a new instance unless one is given."""
    made = []

    def start(instance=None, every=NEVER):
        made.append(Shop(url, job, instance or str(uuid4()), every))
        return made[-1]

    yield start
    for each in made:
        each.provider.shutdown()


def taken(running, *orders):
    """Take orders one after the other, and push once."""
    for each in orders:
        running.take(each)
    running.push()
    return running


def verdict(check, act):
    """Return the report on one check of an action."""
    with collect_reports() as reports:
        expects(check)(act)()
    [report] = reports[0]
    return report


# A number, and one for each series ------------------------------------------------------------------------


def test_a_value_is_the_number_of_an_aggregation(url, job, shop):
    first, second = taken(shop(), 3), taken(shop(), 4)
    orders = prometheus.value(url, f'sum(orders_total{{job="{job}"}})')

    report = verdict(change("orders", orders).by(3), lambda: (taken(first, 1), taken(second, 2)))

    assert check_probe(orders) == 10
    assert (report.outcome, report.pre_state, report.post_state) == ("pass", 7, 10)


def test_a_value_of_two_series_is_inconclusive_and_says_what_to_do(url, job, shop):
    running = [taken(shop(), 1), taken(shop(), 1)]

    report = verdict(
        change("orders", prometheus.value(url, f'orders_total{{job="{job}"}}')).by(1),
        lambda: taken(running[0], 1),
    )

    assert (report.outcome, report.reason) == ("inconclusive", "baseline_failed")
    assert "the query gives 2 series: aggregate them, as sum(...) does" in report.explanation


def test_series_are_distinguished_by_their_labels(url, job, shop):
    running = shop()
    running.take(2, "tea")
    running.take(5, "coffee")
    running.push()
    by_shop = prometheus.series(url, f'sum by (shop) (orders_total{{job="{job}"}})')

    report = verdict(change("orders", by_shop).by({'{{shop="tea"}}': 1}), lambda: taken(running, 1))

    assert (report.outcome, dict(report.pre_state)) == ("pass", {'{shop="tea"}': 2, '{shop="coffee"}': 5})


def test_eventually_waits_for_metrics_that_are_pushed_later(url, job, shop):
    running = shop(every=500)
    taken(running, 1)
    orders = prometheus.counter(url, f'orders_total{{job="{job}"}}')

    report = verdict(change("orders", orders).by(1).eventually(20), lambda: running.take(1))

    assert report.outcome == "pass"


# Fields -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tea", 'tea" or vector(9) or x{y="', "back\\slash", "two\nlines", "$money"])
def test_a_field_is_replaced_by_the_argument_even_if_it_contains_promql(url, job, shop, name):
    running = shop()
    running.take(1, name)
    running.take(1, "other")
    running.push()

    @expects(
        change("orders", prometheus.counter(url, f'orders_total{{job="{job}", shop="$shop"}}')).by(2),
        unchanged("others", prometheus.value(url, f'sum(orders_total{{job="{job}", shop!="$shop"}})')),
    )
    def order(shop):
        running.take(2, shop)
        running.push()

    with collect_reports() as reports:
        order(name)

    assert [(check.outcome, check.post_state) for check in reports[0]] == [("pass", 3), ("pass", 1)]


# Counters and restarts --------------------------------------------------------------------------------------


def test_a_counter_continues_after_its_process_is_replaced(url, job, shop):
    taken(shop(), 5)
    orders = prometheus.counter(url, f'orders_total{{job="{job}"}}')

    report = verdict(change("orders", orders).by(2), lambda: taken(shop(), 2))

    assert (report.outcome, report.pre_state, report.post_state) == ("pass", 5, 7)


def test_a_counter_continues_after_a_restart_under_the_same_instance(url, job, shop):
    selector = f'orders_total{{job="{job}"}}'
    taken(shop("one"), 5)
    orders, plain = prometheus.counter(url, selector), prometheus.value(url, selector)

    @expects(change("orders", orders).by(2), change("plain", plain).by(-3))
    def restart_and_order():
        taken(shop("one"), 2)

    with collect_reports() as reports:
        restart_and_order()

    assert [(check.outcome, check.actual_delta) for check in reports[0]] == [("pass", 2), ("pass", -3)]


def test_increments_before_a_counter_reset_are_counted_too(url, job, shop):
    before = taken(shop("one"), 5)
    orders = prometheus.counter(url, f'orders_total{{job="{job}"}}')

    def order_restart_and_order():
        taken(before, 1)
        taken(shop("one"), 2)
        taken(shop("one"), 3)

    report = verdict(change("orders", orders).by(6), order_restart_and_order)

    assert (report.outcome, report.actual_delta) == ("pass", 6)


def test_a_reset_is_noticed_when_the_counter_has_climbed_past_its_old_value(url, job, shop):
    taken(shop("one"), 5)
    orders = prometheus.counter(url, f'orders_total{{job="{job}"}}')

    report = verdict(change("orders", orders).by(7), lambda: taken(shop("one"), 7))

    assert (report.outcome, report.actual_delta) == ("pass", 7)


def test_a_reset_of_long_ago_is_counted_once(url, job, shop):
    orders = prometheus.counter(url, f'orders_total{{job="{job}"}}')
    for _ in range(2):
        taken(shop("one"), 5)
        orders()
    running = taken(shop("one"), 6)

    first = verdict(change("orders", orders).by(1), lambda: taken(running, 1))
    second = verdict(change("orders", orders).by(2), lambda: taken(running, 2))

    assert [report.outcome for report in (first, second)] == ["pass", "pass"]
    assert [first.pre_state, second.post_state] == [16, 19]


def test_counters_of_two_names_and_the_same_labels_are_counted_together(url, job, shop):
    running = taken(shop("one"), 5)
    running.ask(1)
    running.push()
    orders = prometheus.counter(url, f'{{__name__=~"orders_total|requests_total", job="{job}"}}')

    def restart():
        again = shop("one")
        again.ask(2)
        taken(again, 7)

    report = verdict(change("both", orders).by(9), restart)

    assert (report.outcome, report.pre_state, report.post_state) == ("pass", 6, 15)


def test_a_restart_without_increments_is_not_a_change(url, job, shop):
    taken(shop("one"), 5)
    orders = prometheus.counter(url, f'orders_total{{job="{job}"}}')

    report = verdict(unchanged("orders", orders), lambda: taken(shop("one"), 0))

    assert (report.outcome, report.actual_delta) == ("pass", 0)


def test_a_counter_created_by_the_action_counts_from_zero(url, job, shop):
    orders = prometheus.counter(url, f'orders_total{{job="{job}"}}', missing_ok=True)

    report = verdict(change("orders", orders).by(1), lambda: taken(shop(), 1))

    assert (report.outcome, report.pre_state, report.post_state) == ("pass", 0, 1)


# Errors of the server ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("sum(orders_total", 'bad_data: invalid parameter "query": 1:17: parse error: unclosed left paren'),
        ('orders_total{job=~"("}', "error parsing regexp: missing closing )"),
        (
            "orders_total[5m]",
            "the query gives a matrix, which is not a value at one moment; query an instant vector",
        ),
        ("orders_that_nobody_takes_total", "the query matches no series"),
    ],
)
def test_a_query_without_a_result_is_inconclusive_in_the_words_of_the_server(url, query, words):
    report = verdict(change("orders", prometheus.value(url, query)).by(1), lambda: None)

    assert (report.outcome, report.reason) == ("inconclusive", "baseline_failed")
    assert words in report.explanation


# Async ------------------------------------------------------------------------------------------------------


async def test_an_async_action_reads_with_an_async_client_and_with_a_sync_one(url, job, shop):
    taken(shop("one"), 5)
    selector = f'orders_total{{job="{job}"}}'

    with httpx.Client() as sync_client:
        async with httpx.AsyncClient() as client:

            @expects(
                change("awaited", prometheus.counter(url, selector, client=client)).by(2),
                change("in_a_thread", prometheus.counter(url, selector, client=sync_client)).by(2),
                change("value", prometheus.value(url, selector, client=client)).by(-3),
                change("series", prometheus.series(url, f"sum({selector})", client=client)).by({"{{}}": -3}),
            )
            async def restart_and_order():
                taken(shop("one"), 2)

            with collect_reports() as reports:
                await restart_and_order()

            assert await check_probe_async(prometheus.value(url, selector, client=client)) == 2

    assert [check.outcome for check in reports[0]] == ["pass"] * 4, str(reports[0])
