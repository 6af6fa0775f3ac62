"""Read a Prometheus: a number, a number for each series, or how far counters have counted.

    >>> from deltaspan import change, unchanged
    >>> from deltaspan.probes import prometheus
    >>> server = "http://prometheus:9090"
    >>> checks = (
    ...     change("replicas", prometheus.value(server, 'sum(replicas{app="$app"})')).by(1).eventually(30),
    ...     unchanged("errors", prometheus.counter(server, "http_errors_total")),
    ... )

A read is an instant query, evaluated at the server's time. `"$name"`, between quotes, stands for the action's
argument of that name, which scopes the check; `$$` is a dollar sign.

What a read sees was scraped or pushed up to an interval ago: give the check `.eventually(...)` of about two
intervals, or `.holding_for(...)`. A query over several series sees each as it came last. Permission to query
is all that is needed. From the cheapest: `value` of an aggregation, `counter`, `series`.

A query that the server refuses, warns of or answers in part, one that matches nothing, and a server that does
not answer are inconclusive, in the server's words. `client` and the options (`headers`, `auth`, `timeout`,
...) are those of `deltaspan.probes.http.json`, secrets are kept as there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, overload

from typing_extensions import Unpack

from deltaspan.checks import call_text
from deltaspan.exceptions import DefinitionValueError
from deltaspan.probes._base.probe import AsyncStateProbe, StateProbe
from deltaspan.probes._http._answer import AnswerError
from deltaspan.probes._http._request import Client, Steps, http_probe, httpx
from deltaspan.probes._http._source import Options, Source, source_of
from deltaspan.probes._prometheus._counted import Counted
from deltaspan.probes._prometheus._promql import fields_in, filled_in
from deltaspan.probes._prometheus._query import asked, reset_since, since

__all__ = ["counter", "series", "value"]

_EXACT: Final = 2.0**53
"""Up to which a double tells whole numbers apart."""


@overload
def value(
    server: str,
    query: str,
    *,
    missing_ok: bool = ...,
    client: httpx.Client | None = ...,
    **options: Unpack[Options],
) -> StateProbe[float]: ...
@overload
def value(
    server: str,
    query: str,
    *,
    missing_ok: bool = ...,
    client: httpx.AsyncClient,
    **options: Unpack[Options],
) -> AsyncStateProbe[float]: ...
def value(
    server: str,
    query: str,
    *,
    missing_ok: bool = False,
    client: Client = None,
    **options: Unpack[Options],
) -> StateProbe[float] | AsyncStateProbe[float]:
    """Read one number: that of a query which gives a scalar, or a single series.

    Of a counter read `counter`: its value falls when its process is restarted.

    Args:
        server: where the Prometheus is, such as `http://localhost:9090`.
        query: PromQL.
        missing_ok: whether no series at all counts as 0.
        client: as for `http.json`.
        **options: likewise.

    Raises:
        DefinitionTypeError: an argument is of the wrong kind.
        DefinitionValueError: the server has no `http://` before it, or a field of the query stands outside of
            quotes or is written as for another system.

    Example:
        >>> from deltaspan import change
        >>> change("pods", value("http://localhost:9090", 'sum(pods{app="$app"})')).by(1)
        change('pods', prometheus.value('http://localhost:9090', 'sum(pods{app="$app"})')).by(1)
    """
    source, needs = _server(server, options), fields_in(query)

    def steps(values: Mapping[str, Any]) -> Steps[float]:
        _, found = yield from asked(source, filled_in(query, values))
        if len(found) > 1:
            raise AnswerError(
                f"the query gives {len(found)} series: aggregate them, as sum(...) does, or read "
                f"prometheus.series"
            )
        if not found and not missing_ok:
            raise AnswerError(_NOTHING)
        return _plain(next(iter(found.values()), 0.0))

    words = call_text("prometheus.value", source.shown, query, missing_ok=missing_ok or None)
    return http_probe(source, client, steps, words, needs)


@overload
def series(
    server: str,
    query: str,
    *,
    missing_ok: bool = ...,
    client: httpx.Client | None = ...,
    **options: Unpack[Options],
) -> StateProbe[dict[str, float]]: ...
@overload
def series(
    server: str,
    query: str,
    *,
    missing_ok: bool = ...,
    client: httpx.AsyncClient,
    **options: Unpack[Options],
) -> AsyncStateProbe[dict[str, float]]: ...
def series(
    server: str,
    query: str,
    *,
    missing_ok: bool = False,
    client: Client = None,
    **options: Unpack[Options],
) -> StateProbe[dict[str, float]] | AsyncStateProbe[dict[str, float]]:
    """Read a number for each series that a query gives, by its labels as PromQL writes them.

    Args:
        server: as for `value`.
        query: likewise; at most 100 000 series are read.
        missing_ok: whether no series at all is a state.
        client: as for `http.json`.
        **options: likewise.

    Raises:
        DefinitionTypeError: as for `value`.
        DefinitionValueError: likewise.

    Example:
        >>> from deltaspan import change
        >>> change("jobs", series("http://localhost:9090", "jobs")).by({'jobs{{queue="mail"}}': 1})
        change('jobs', prometheus.series('http://localhost:9090', 'jobs')).by({'jobs{{queue="mail"}}': 1})
    """
    source, needs = _server(server, options), fields_in(query)

    def steps(values: Mapping[str, Any]) -> Steps[dict[str, float]]:
        _, found = yield from asked(source, filled_in(query, values))
        if not found and not missing_ok:
            raise AnswerError(_NOTHING)
        return {labels: _plain(number) for labels, number in found.items()}

    words = call_text("prometheus.series", source.shown, query, missing_ok=missing_ok or None)
    return http_probe(source, client, steps, words, needs)


@overload
def counter(
    server: str,
    selector: str,
    *,
    missing_ok: bool = ...,
    client: httpx.Client | None = ...,
    **options: Unpack[Options],
) -> StateProbe[float]: ...
@overload
def counter(
    server: str,
    selector: str,
    *,
    missing_ok: bool = ...,
    client: httpx.AsyncClient,
    **options: Unpack[Options],
) -> AsyncStateProbe[float]: ...
def counter(
    server: str,
    selector: str,
    *,
    missing_ok: bool = False,
    client: Client = None,
    **options: Unpack[Options],
) -> StateProbe[float] | AsyncStateProbe[float]:
    """Read how far the counters of a selector have counted, in total, whatever resets them meanwhile.

    A counter that was reset since it was read last, by a restart, counts on from there, with what the server
    knows of it up to the reset, even where it has climbed past its old value. One that is new counts from 0;
    one that has vanished keeps what it had. So the total never falls, and a delta is never negative. A read
    after the first costs two queries, and three after a reset.

    The probe remembers what it read last, for this process alone: a window that is verified in another
    process takes a reset in between for what it looks like. What was counted after the last sample before
    a reset is lost to Prometheus too.

    Args:
        server: as for `value`.
        selector: a metric and its labels, such as `orders_total{shop="$shop"}`, without functions.
        missing_ok: whether no series at all counts as 0, because the action makes the first.
        client: as for `http.json`.
        **options: likewise.

    Raises:
        DefinitionTypeError: as for `value`.
        DefinitionValueError: likewise.

    Example:
        >>> from deltaspan import change
        >>> change("orders", counter("http://localhost:9090", 'orders_total{shop="$shop"}')).by(1)
        change('orders', prometheus.counter('http://localhost:9090', 'orders_total{shop="$shop"}')).by(1)
    """
    source, needs = _server(server, options), fields_in(selector)
    counted: dict[str, Counted] = {}

    def steps(values: Mapping[str, Any]) -> Steps[float]:
        query = filled_in(selector, values)
        its = counted.setdefault(query, Counted())
        while True:
            known = its.known()
            at, found = yield from asked(source, query)
            if not (found or known.last or missing_ok):
                raise AnswerError(_NOTHING)
            between = {labels: [number] for labels, number in found.items()}
            falls = known.falls(found)
            if known.is_after(at):
                if falls:
                    raise AnswerError(_BACK)
            elif known.at is not None and (falls or (yield from reset_since(source, query, known.at, at))):
                between |= yield from since(source, query, known.at, at)
            total = its.add(known, at, between)
            if total is not None:
                return _plain(total)

    words = call_text("prometheus.counter", source.shown, selector, missing_ok=missing_ok or None)
    return http_probe(source, client, steps, words, needs)


_NOTHING: Final = (
    "the query matches no series: see that its names and labels are right; where none is a state of its own, "
    "say missing_ok=True"
)


_BACK: Final = (
    "a counter stands lower than it did, at an earlier time than the server told before: its clock was set "
    "back, or another server answered; name one server"
)


def _server(server: str, options: Options) -> Source:
    source = source_of(server, options)
    if source.fields:
        raise DefinitionValueError(
            f"{source.shown!r}: the server is named without fields; they are for the query"
        )
    return source


def _plain(number: float) -> float:
    # A whole number reads better as one, and is equal.
    return int(number) if number.is_integer() and abs(number) < _EXACT else number
