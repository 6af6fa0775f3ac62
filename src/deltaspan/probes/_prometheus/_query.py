"""What is asked of a Prometheus, over its HTTP API, and what of its answers is taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from deltaspan.probes._http._answer import AnswerError
from deltaspan.probes._http._request import Steps, fetched
from deltaspan.probes._http._source import Source
from deltaspan.probes._prometheus._promql import labels_of

__all__ = ["asked", "reset_since", "since"]

_MOST_SERIES: Final = 100_000
_LOOKBACK_SECONDS: Final = 300
"""How old a sample may be that Prometheus takes for a present value, unless it is told otherwise."""
_PARTIAL: Final = "the answer is partial, as the server says"


def asked(source: Source, query: str) -> Steps[tuple[float, dict[str, float]]]:
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


def reset_since(source: Source, query: str, after: float, until: float) -> Steps[bool]:
    """Ask whether some counter was reset, as far as the server knows; true where it cannot say."""
    # The sample of the last read is in the range as well: a reset is a fall from one sample to the next.
    milliseconds = round((until - after + _LOOKBACK_SECONDS) * 1000)
    params = {"query": f"max(resets({query}[{milliseconds}ms])) > 0", "time": f"{until:.3f}"}
    try:
        _, result = yield from _queried(source, params)
    except AnswerError:  # two metrics whose labels are the same: resets() leaves out their names
        return True
    return bool(result)


def since(source: Source, query: str, after: float, until: float) -> Steps[dict[str, list[float]]]:
    """Ask for the samples of each series after one moment, up to another."""
    milliseconds = max(round((until - after) * 1000), 1)
    params = {"query": f"{query}[{milliseconds}ms]", "time": f"{until:.3f}"}
    _, result = yield from _queried(source, params)
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
