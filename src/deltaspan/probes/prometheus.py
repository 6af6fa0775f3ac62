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

from deltaspan.checks._words import said
from deltaspan.exceptions import DefinitionValueError
from deltaspan.probes._counted import Counted
from deltaspan.probes._http_answer import AnswerError
from deltaspan.probes._http_request import (
    Client,
    Options,
    Source,
    Steps,
    fetched,
    http_probe,
    httpx,
    source_of,
)
from deltaspan.probes._promql import fields_in, filled_in, labels_of
from deltaspan.probes._state_probe import AsyncStateProbe, StateProbe

__all__ = ["counter", "series", "value"]

_MOST_SERIES: Final = 100_000
_LOOKBACK_SECONDS: Final = 300
"""How old a sample may be that Prometheus takes for a present value, unless it is told otherwise."""
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
        DefinitionValueError: a field of the query stands outside of quotes.

    Example:
        >>> from deltaspan import change
        >>> change("pods", value("http://localhost:9090", 'sum(pods{app="$app"})')).by(1)
        change('pods', prometheus.value('http://localhost:9090', 'sum(pods{app="$app"})')).by(1)
    """
    source, needs = _server(server, options), fields_in(query)

    def steps(values: Mapping[str, Any]) -> Steps[float]:
        _, found = yield from _asked(source, filled_in(query, values))
        if len(found) > 1:
            raise AnswerError(
                f"the query gives {len(found)} series: aggregate them, as sum(...) does, or read "
                f"prometheus.series"
            )
        if not found and not missing_ok:
            raise AnswerError(_NOTHING)
        return _plain(next(iter(found.values()), 0.0))

    words = said("prometheus.value", source.shown, query, missing_ok=missing_ok or None)
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
        >>> change("jobs", series("http://localhost:9090", "jobs")).by({'jobs{queue="mail"}': 1})
        change('jobs', prometheus.series('http://localhost:9090', 'jobs')).by({'jobs{queue="mail"}': 1})
    """
    source, needs = _server(server, options), fields_in(query)

    def steps(values: Mapping[str, Any]) -> Steps[dict[str, float]]:
        _, found = yield from _asked(source, filled_in(query, values))
        if not found and not missing_ok:
            raise AnswerError(_NOTHING)
        return {labels: _plain(number) for labels, number in found.items()}

    words = said("prometheus.series", source.shown, query, missing_ok=missing_ok or None)
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
            at, found = yield from _asked(source, query)
            if not (found or known.last or missing_ok):
                raise AnswerError(_NOTHING)
            between = {labels: [number] for labels, number in found.items()}
            if known.at is not None:
                falls = known.falls(found)
                if falls and known.is_after(at):
                    raise AnswerError(_BACK)
                if falls or (yield from _reset_since(source, query, known.at, at)):
                    between |= yield from _since(source, query, known.at, at)
            total = its.add(known, at, between)
            if total is not None:
                return _plain(total)

    words = said("prometheus.counter", source.shown, selector, missing_ok=missing_ok or None)
    return http_probe(source, client, steps, words, needs)


_NOTHING: Final = (
    "the query matches no series: see that its names and labels are right; where none is a state of its own, "
    "say missing_ok=True"
)


_BACK: Final = (
    "a counter stands lower than it did, at an earlier time than the server told before: its clock was set "
    "back, or another server answered; name one server"
)
_PARTIAL: Final = "the answer is partial, as the server says"


def _server(server: str, options: Options) -> Source:
    source = source_of(server, options)
    if source.fields:
        raise DefinitionValueError(
            f"{source.shown!r}: the server is named without fields; they are for the query"
        )
    return source


def _asked(source: Source, query: str) -> Steps[tuple[float, dict[str, float]]]:
    """Ask for present values: when they are from, and one for each series."""
    kind, result = yield from _queried(source, {"query": query})
    if kind == "scalar":
        return float(result[0]), {"": float(result[1])}
    if kind != "vector":
        raise AnswerError(f"the query gives a {kind}, which is no value at one moment")
    if len(result) > _MOST_SERIES:
        raise AnswerError(
            f"the query gives {len(result)} series, and {_MOST_SERIES} are read at most: aggregate them, as "
            f"sum(...) does, and read prometheus.value"
        )
    if any("value" not in each for each in result):
        raise AnswerError(
            "the query gives native histograms: take a number of them, as histogram_count(...) does"
        )
    moments = [float(each["value"][0]) for each in result]
    return max(moments, default=0.0), {labels_of(each["metric"]): float(each["value"][1]) for each in result}


def _reset_since(source: Source, query: str, since: float, until: float) -> Steps[bool]:
    """Ask whether some counter was reset, as far as the server knows; true where it cannot say."""
    # The sample of the last read is in the range as well: a reset is a fall from one sample to the next.
    milliseconds = round((until - since + _LOOKBACK_SECONDS) * 1000)
    asked = {"query": f"max(resets({query}[{milliseconds}ms])) > 0", "time": f"{until:.3f}"}
    try:
        _, result = yield from _queried(source, asked)
    except AnswerError:  # two metrics whose labels are the same: resets() leaves out their names
        return True
    return bool(result)


def _since(source: Source, query: str, since: float, until: float) -> Steps[dict[str, list[float]]]:
    """Ask for the samples of each series after one moment, up to another."""
    milliseconds = max(round((until - since) * 1000), 1)
    asked = {"query": f"{query}[{milliseconds}ms]", "time": f"{until:.3f}"}
    _, result = yield from _queried(source, asked)
    return {labels_of(each["metric"]): [float(number) for _, number in each["values"]] for each in result}


def _queried(source: Source, params: Mapping[str, str]) -> Steps[tuple[str, Any]]:
    url, own = source.filled({})
    answer = yield from fetched(source, f"{url.rstrip('/')}/api/v1/query", {**own, **params})
    try:
        answered = answer.parsed()
        if answered["status"] == "success":
            # What is missing from it would be missing before and after, and seem not to have changed.
            why = "; ".join(map(str, answered.get("warnings") or ())) or _PARTIAL
            if answered.get("warnings") or answered.get("isPartial"):
                raise AnswerError(f"the server warns: {why}")
            return answered["data"]["resultType"], answered["data"]["result"]
        why = f"{answered['errorType']}: {answered['error']}"
    except (ValueError, LookupError, TypeError):
        answer.document()  # says what is wrong with one that is no success
        raise AnswerError("the answer is none of a Prometheus: name the server, without /api/...") from None
    raise AnswerError(why)


def _plain(number: float) -> float:
    # A whole number reads better as one, and is equal.
    return int(number) if number.is_integer() and abs(number) < _EXACT else number
