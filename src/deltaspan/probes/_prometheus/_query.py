"""Queries to the HTTP API of a Prometheus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from deltaspan.probes._http._answer import AnswerError
from deltaspan.probes._http._request import HttpSteps, get
from deltaspan.probes._http._source import HttpSource
from deltaspan.probes._prometheus._promql import render_series

_MAX_SERIES: Final = 100_000
_LOOKBACK_SECONDS: Final = 300
"""The default age up to which Prometheus takes a sample for a present value."""
_PARTIAL: Final = "the answer is partial, as the server says"


def query_values(source: HttpSource, query: str) -> HttpSteps[tuple[float, dict[str, float]]]:
    """Return the time of the present values, and the value of each series."""
    kind, result = yield from _send_query(source, {"query": query})
    if kind == "scalar":
        return float(result[0]), {"": float(result[1])}
    if kind != "vector":
        raise AnswerError(
            f"the query gives a {kind}, which is not a value at one moment; query an instant vector"
        )
    if len(result) > _MAX_SERIES:
        raise AnswerError(
            f"the query gives {len(result)} series, and {_MAX_SERIES} are read at most: aggregate them, as "
            f"sum(...) does, and read prometheus.value"
        )
    if any("value" not in sample for sample in result):
        raise AnswerError(
            "the query gives native histograms: take a number of them, as histogram_count(...) does"
        )
    moments = [float(sample["value"][0]) for sample in result]
    return max(moments, default=0.0), {
        render_series(sample["metric"]): float(sample["value"][1]) for sample in result
    }


def has_reset_since(source: HttpSource, query: str, after: float, until: float) -> HttpSteps[bool]:
    """Return whether some counter was reset between two times.

    The result is True if the server cannot tell.
    """
    # The sample of the last read is in the range as well: a reset is a fall from one sample to the next.
    milliseconds = round((until - after + _LOOKBACK_SECONDS) * 1000)
    params = {"query": f"max(resets({query}[{milliseconds}ms])) > 0", "time": f"{until:.3f}"}
    try:
        _, result = yield from _send_query(source, params)
    except AnswerError:  # two metrics whose labels are the same: resets() leaves out their names
        return True
    return bool(result)


def query_samples(
    source: HttpSource, query: str, after: float, until: float
) -> HttpSteps[dict[str, list[float]]]:
    """Return the samples of each series between two times."""
    milliseconds = max(round((until - after) * 1000), 1)
    params = {"query": f"{query}[{milliseconds}ms]", "time": f"{until:.3f}"}
    _, result = yield from _send_query(source, params)
    return {
        render_series(sample["metric"]): [float(number) for _, number in sample["values"]]
        for sample in result
    }


def _send_query(source: HttpSource, params: Mapping[str, str]) -> HttpSteps[tuple[str, Any]]:
    url, url_params = source.fill({})
    answer = yield from get(source, f"{url.rstrip('/')}/api/v1/query", {**url_params, **params})
    try:
        document = answer.parse_json()
        if document["status"] == "success":
            # What is missing from it would be missing before and after, and seem not to have changed.
            reason = "; ".join(map(str, document.get("warnings") or ())) or _PARTIAL
            if document.get("warnings") or document.get("isPartial"):
                raise AnswerError(f"the server warns: {reason}")
            return document["data"]["resultType"], document["data"]["result"]
        reason = f"{document['errorType']}: {document['error']}"
    except (ValueError, LookupError, TypeError):
        answer.document()  # raises for a status that is not a success
        raise AnswerError(
            "the answer is not from a Prometheus; name the URL of the server, without /api/..."
        ) from None
    raise AnswerError(reason)
