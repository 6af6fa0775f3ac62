"""Queries to Prometheus and to Jaeger.

Counts come from the recording rules of deploy/prometheus/rules. These are exact, while `increase()` misses
the first event of a process and extrapolates the others. Each event is in five consecutive values of a
`...:increase5m`, so counts divide by 5. They round up with `ceil`, because a recent failure is in fewer
values and must not be shown as zero.
"""

from grafana_foundation_sdk.builders import prometheus
from grafana_foundation_sdk.cog.runtime import UnknownDataquery
from grafana_foundation_sdk.models.common import DataSourceRef
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

PROMETHEUS = DataSourceRef(type_val="prometheus", uid="prometheus")
JAEGER = DataSourceRef(type_val="jaeger", uid="jaeger")

JOBS = 'job=~"$job"'
ACTION = f'{JOBS}, deltaspan_action_name="$action"'
CHECK = f'{ACTION}, deltaspan_check_metric=~"$metric"'
TOOL = f'{JOBS}, gen_ai_tool_name="$action"'
"""Selectors that use the variables of a dashboard."""

LATEST = 20
"""Number of traces that a search shows."""


class _Jaeger:
    """A query to Jaeger.

    The SDK has no model of it, and keeps unknown queries unchanged.
    """

    def __init__(self, query: dict[str, object]) -> None:
        self._query = {"refId": "A", "datasource": JAEGER.to_json(), **query}

    def build(self) -> UnknownDataquery:
        return UnknownDataquery(self._query)


def now(expression: str, ref: str = "A") -> prometheus.Dataquery:
    """Query one value of each series at the end of the time range."""
    return _asked(expression, ref).instant().format(PromQueryFormat.TABLE)


def over_time(
    expression: str, legend: str, ref: str = "A", *, exemplars: bool = False
) -> prometheus.Dataquery:
    """Query a curve, with the exemplars of single runs if `exemplars` is true."""
    return _asked(expression, ref).range().legend_format(legend).exemplar(exemplars)


def runs(tags: str) -> _Jaeger:
    """Search the latest traces of `$service` with a span that has these tags (logfmt)."""
    return _Jaeger({"queryType": "search", "service": "$service", "tags": tags, "limit": LATEST})


def trace(variable: str) -> _Jaeger:
    """Query the trace whose id is in a variable."""
    return _Jaeger({"query": f"${variable}"})


def count(series: str, *, by: str = "") -> str:
    """Return the number of events of an `increase5m` series in the time range."""
    return f"ceil({total(series, by=by)} / 5)"


def total(series: str, *, by: str = "") -> str:
    """Return the sum over the time range, for use in a ratio."""
    return f"sum{f' by ({by}) ' if by else ''}(sum_over_time({series}[$__range]))"


def share(part: str, whole: str, *, by: str = "") -> str:
    """Return the ratio of two series over the time range.

    The result is 0 if the part is empty, and empty if the whole is empty.
    """
    divisor = total(whole, by=by)
    return f"({total(part, by=by)} or 0 * {divisor}) / ({divisor} > 0)"


def peak(series: str, *, by: str) -> str:
    """Return the highest number of events within five minutes of each step."""
    return f"sum by ({by}) (max_over_time({series}[$__interval]))"


def by_name(label: str, series: str, missing: str) -> str:
    """Return the peak of each value of a label.

    Series without the label have the value `missing`.
    """
    return f'label_replace({peak(series, by=label)}, "{label}", "{missing}", "{label}", "")'


def quantile(level: float, *buckets: str, by: str = "") -> str:
    """Return a quantile from the raw buckets of one or more histograms, which carry the exemplars.

    Args:
        level: from 0 to 1.
        buckets: the series of the histograms with their selectors. Their boundaries are the same.
        by: the label to group by; all series are one group by default.
    """
    labels = f"le, {by}" if by else "le"
    rates = " or ".join(f"rate({each}[$__rate_interval])" for each in buckets)
    return f"histogram_quantile({level}, sum by ({labels}) ({rates}))"


def _asked(expression: str, ref: str) -> prometheus.Dataquery:
    return prometheus.Dataquery().ref_id(ref).expr(expression).datasource(PROMETHEUS)
