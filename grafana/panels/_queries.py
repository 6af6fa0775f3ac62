"""Queries to Prometheus and to Jaeger.

Counts come from the recording rules of deploy/prometheus/rules: exact to the event, where `increase()` misses
the first of a process and extrapolates the rest. Each event is in five successive values of a
`...:increase5m`, hence `/ 5`; `ceil`, because a failure of a moment ago is in fewer, and must not be shown as
none.
"""

from grafana_foundation_sdk.builders import prometheus
from grafana_foundation_sdk.cog.runtime import UnknownDataquery
from grafana_foundation_sdk.models.common import DataSourceRef
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

PROMETHEUS = DataSourceRef(type_val="prometheus", uid="prometheus")
JAEGER = DataSourceRef(type_val="jaeger", uid="jaeger")

JOBS = 'job=~"$job"'
ACTION = f'{JOBS}, delta_action_name="$action"'
CHECK = f'{ACTION}, delta_check_metric=~"$metric"'
"""The selectors that the variables of a dashboard make."""

LATEST = 20
"""How many traces a search shows."""


class _Jaeger:
    """A query to Jaeger, for which the SDK has no model.

    The SDK passes unknown fields on unchanged.
    """

    def __init__(self, query: dict[str, object]) -> None:
        self._query = {"refId": "A", "datasource": JAEGER.to_json(), **query}

    def build(self) -> UnknownDataquery:
        return UnknownDataquery(self._query)


def now(expression: str, ref: str = "A") -> prometheus.Dataquery:
    """Ask for one value of each series, at the end of the time range."""
    return _asked(expression, ref).instant().format(PromQueryFormat.TABLE)


def over_time(
    expression: str, legend: str, ref: str = "A", *, exemplars: bool = False
) -> prometheus.Dataquery:
    """Query a curve, optionally with exemplars of the measured runs."""
    return _asked(expression, ref).range().legend_format(legend).exemplar(exemplars)


def runs(tags: str) -> _Jaeger:
    """Search the latest traces of `$service` by tags, in logfmt."""
    return _Jaeger({"queryType": "search", "service": "$service", "tags": tags, "limit": LATEST})


def trace(variable: str) -> _Jaeger:
    """Ask for the trace whose id is in a variable."""
    return _Jaeger({"query": f"${variable}"})


def count(series: str, *, by: str = "") -> str:
    """Return the number of events of an `increase5m` series in the time range."""
    return f"ceil({total(series, by=by)} / 5)"


def total(series: str, *, by: str = "") -> str:
    """Return the sum over the time range, for the ratio of two sums."""
    return f"sum{f' by ({by}) ' if by else ''}(sum_over_time({series}[$__range]))"


def share(part: str, whole: str, *, by: str = "") -> str:
    """Return part of whole over the time range.

    It is 0 if there is no part, and empty if there is no whole.
    """
    divisor = total(whole, by=by)
    return f"({total(part, by=by)} or 0 * {divisor}) / ({divisor} > 0)"


def peak(series: str, *, by: str) -> str:
    """Return the most events within any five minutes of each step.

    These are whole numbers, and none is lost in a wide step.
    """
    return f"sum by ({by}) (max_over_time({series}[$__interval]))"


def by_name(label: str, series: str, missing: str) -> str:
    """Return the peak of each value of a label, with a default name.

    The default is for series without the label.
    """
    return f'label_replace({peak(series, by=label)}, "{label}", "{missing}", "{label}", "")'


def quantile(level: float, histogram: str, selector: str, *, by: str = "") -> str:
    """Return a quantile from the raw buckets, which carry the exemplars."""
    labels = f"le, {by}" if by else "le"
    rates = f"rate({histogram}_bucket{{{selector}}}[$__rate_interval])"
    return f"histogram_quantile({level}, sum by ({labels}) ({rates}))"


def _asked(expression: str, ref: str) -> prometheus.Dataquery:
    return prometheus.Dataquery().ref_id(ref).expr(expression).datasource(PROMETHEUS)
