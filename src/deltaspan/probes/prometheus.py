"""Probes of Prometheus: a number, a number per series, a counter total.

    >>> from deltaspan import change, unchanged
    >>> from deltaspan.probes import prometheus
    >>> server = "http://prometheus:9090"
    >>> checks = (
    ...     change("replicas", prometheus.value(server, 'sum(replicas{app="$app"})')).by(1).eventually(30),
    ...     unchanged("errors", prometheus.counter(server, "http_errors_total")),
    ... )

A read is an instant query at the server's time. `"$name"`, in quotes, stands for the action's argument of
that name, which scopes the check. Write a dollar sign as `$$`.

The samples may be as old as the scrape or push interval. Give the check `.eventually(...)` of about two
intervals, or `.holding_for(...)`. A query over several series sees the latest sample of each. A read only
needs the permission to query. Cost, from the cheapest: `value` of an aggregation, `counter`, `series`.

The check is inconclusive, with the error text of the server, if the server rejects the query, warns about it
or answers it in part, if the query matches nothing, or if the server does not answer. `client` and the
options (`headers`, `auth`, `timeout`, ...) are those of `deltaspan.probes.http.json`. Secrets are hidden as
there.
"""

from __future__ import annotations

from typing import Any, Final, overload

from typing_extensions import Unpack

from deltaspan.checks import said
from deltaspan.exceptions import DefinitionValueError
from deltaspan.probes._base.probe import AsyncStateProbe, StateProbe
from deltaspan.probes._http._answer import AnswerError
from deltaspan.probes._http._request import Client, HttpSteps, http_probe, httpx
from deltaspan.probes._http._source import HttpOptions, HttpSource, make_source
from deltaspan.probes._prometheus._promql import fill_query, query_fields
from deltaspan.probes._prometheus._query import has_reset_since, query_samples, query_values
from deltaspan.probes._prometheus._totals import CounterTotal

__all__ = ["counter", "series", "value"]

_EXACT: Final = 2.0**53
"""Below this, a double represents each whole number exactly."""


@overload
def value(
    server: str,
    query: str,
    *,
    missing_ok: bool = ...,
    client: httpx.Client | None = ...,
    **options: Unpack[HttpOptions],
) -> StateProbe[float]: ...
@overload
def value(
    server: str,
    query: str,
    *,
    missing_ok: bool = ...,
    client: httpx.AsyncClient,
    **options: Unpack[HttpOptions],
) -> AsyncStateProbe[float]: ...
def value(
    server: str,
    query: str,
    *,
    missing_ok: bool = False,
    client: Client = None,
    **options: Unpack[HttpOptions],
) -> StateProbe[float] | AsyncStateProbe[float]:
    """Read one number, from a query that gives a scalar or one series.

    For a counter use `counter`, since its value falls when its process restarts.

    Args:
        server: the URL of the Prometheus, such as `http://localhost:9090`.
        query: PromQL.
        missing_ok: whether no series counts as 0.
        client: as for `http.json`.
        **options: as for `http.json`.

    Raises:
        DefinitionTypeError: an argument has the wrong type.
        DefinitionValueError: the server has no `http://`, or a field of the query is not in quotes, or is
            written as for another system.

    Example:
        >>> from deltaspan import change
        >>> change("pods", value("http://localhost:9090", 'sum(pods{app="$app"})')).by(1)
        change('pods', prometheus.value('http://localhost:9090', 'sum(pods{app="$app"})')).by(1)
    """
    source, needs = _server_source(server, options), query_fields(query)

    def steps(**values: Any) -> HttpSteps[float]:
        _, values_by_series = yield from query_values(source, fill_query(query, values))
        if len(values_by_series) > 1:
            raise AnswerError(
                f"the query gives {len(values_by_series)} series: aggregate them, as sum(...) does, or read "
                f"prometheus.series"
            )
        if not values_by_series and not missing_ok:
            raise AnswerError(_NO_SERIES)
        return _to_number(next(iter(values_by_series.values()), 0.0))

    call = said("prometheus.value", source.shown, query, missing_ok=missing_ok or None)
    return http_probe(source, client, steps, call, needs)


@overload
def series(
    server: str,
    query: str,
    *,
    missing_ok: bool = ...,
    client: httpx.Client | None = ...,
    **options: Unpack[HttpOptions],
) -> StateProbe[dict[str, float]]: ...
@overload
def series(
    server: str,
    query: str,
    *,
    missing_ok: bool = ...,
    client: httpx.AsyncClient,
    **options: Unpack[HttpOptions],
) -> AsyncStateProbe[dict[str, float]]: ...
def series(
    server: str,
    query: str,
    *,
    missing_ok: bool = False,
    client: Client = None,
    **options: Unpack[HttpOptions],
) -> StateProbe[dict[str, float]] | AsyncStateProbe[dict[str, float]]:
    """Read a number for each series of a query: series → number.

    A series is written as PromQL writes it, by its name and labels.

    Args:
        server: as for `value`.
        query: as for `value`; at most 100 000 series are read.
        missing_ok: whether no series is a state.
        client: as for `http.json`.
        **options: as for `http.json`.

    Raises:
        DefinitionTypeError: as for `value`.
        DefinitionValueError: as for `value`.

    Example:
        >>> from deltaspan import change
        >>> change("jobs", series("http://localhost:9090", "jobs")).by({'jobs{{queue="mail"}}': 1})
        change('jobs', prometheus.series('http://localhost:9090', 'jobs')).by({'jobs{{queue="mail"}}': 1})
    """
    source, needs = _server_source(server, options), query_fields(query)

    def steps(**values: Any) -> HttpSteps[dict[str, float]]:
        _, values_by_series = yield from query_values(source, fill_query(query, values))
        if not values_by_series and not missing_ok:
            raise AnswerError(_NO_SERIES)
        return {labels: _to_number(number) for labels, number in values_by_series.items()}

    call = said("prometheus.series", source.shown, query, missing_ok=missing_ok or None)
    return http_probe(source, client, steps, call, needs)


@overload
def counter(
    server: str,
    selector: str,
    *,
    missing_ok: bool = ...,
    client: httpx.Client | None = ...,
    **options: Unpack[HttpOptions],
) -> StateProbe[float]: ...
@overload
def counter(
    server: str,
    selector: str,
    *,
    missing_ok: bool = ...,
    client: httpx.AsyncClient,
    **options: Unpack[HttpOptions],
) -> AsyncStateProbe[float]: ...
def counter(
    server: str,
    selector: str,
    *,
    missing_ok: bool = False,
    client: Client = None,
    **options: Unpack[HttpOptions],
) -> StateProbe[float] | AsyncStateProbe[float]:
    """Read the total of the counters of a selector, across resets.

    If a counter was reset since the last read, by a restart, its total continues from there, with the
    server's samples up to the reset, even if the counter has passed its old value again. A new counter
    starts from 0. A counter that has vanished keeps its part. So the total never falls, and a delta is
    never negative. A read after the first one costs two queries, and three after a reset.

    The probe remembers its last read in this process only. A window that is verified in another process
    cannot recognize a reset in between. Prometheus itself loses counts between the last sample and a
    reset.

    Args:
        server: as for `value`.
        selector: a metric and its labels, such as `orders_total{shop="$shop"}`, without functions.
        missing_ok: whether no series counts as 0, because the action creates the first one.
        client: as for `http.json`.
        **options: as for `http.json`.

    Raises:
        DefinitionTypeError: as for `value`.
        DefinitionValueError: as for `value`.

    Example:
        >>> from deltaspan import change
        >>> change("orders", counter("http://localhost:9090", 'orders_total{shop="$shop"}')).by(1)
        change('orders', prometheus.counter('http://localhost:9090', 'orders_total{shop="$shop"}')).by(1)
    """
    source, needs = _server_source(server, options), query_fields(selector)
    totals: dict[str, CounterTotal] = {}

    def steps(**values: Any) -> HttpSteps[float]:
        query = fill_query(selector, values)
        counter_total = totals.setdefault(query, CounterTotal())
        while True:
            last_read = counter_total.last_read()
            read_at, values_by_series = yield from query_values(source, query)
            if not (values_by_series or last_read.last or missing_ok):
                raise AnswerError(_NO_SERIES)
            between = {labels: [number] for labels, number in values_by_series.items()}
            has_fallen = last_read.has_fallen(values_by_series)
            if last_read.is_after(read_at):
                if has_fallen:
                    raise AnswerError(_CLOCK_SET_BACK)
            elif last_read.read_at is not None and (
                has_fallen or (yield from has_reset_since(source, query, last_read.read_at, read_at))
            ):
                between |= yield from query_samples(source, query, last_read.read_at, read_at)
            total = counter_total.add(last_read, read_at, between)
            if total is not None:
                return _to_number(total)

    call = said("prometheus.counter", source.shown, selector, missing_ok=missing_ok or None)
    return http_probe(source, client, steps, call, needs)


_NO_SERIES: Final = (
    "the query matches no series: check its names and labels; if an empty result is a valid state, write "
    "missing_ok=True"
)


_CLOCK_SET_BACK: Final = (
    "a counter is lower than before, and so is the time of the server: its clock was set back, or another "
    "server answered; name one server"
)


def _server_source(server: str, options: HttpOptions) -> HttpSource:
    source = make_source(server, options)
    if source.fields:
        raise DefinitionValueError(
            f"{source.shown!r}: the URL of the server takes no fields; write them in the query"
        )
    return source


def _to_number(number: float) -> float:
    # A whole number reads better as an int, and is equal.
    return int(number) if number.is_integer() and abs(number) < _EXACT else number
