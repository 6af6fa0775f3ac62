"""Links between the dashboards."""

from grafana_foundation_sdk.builders.dashboard import DashboardLink
from grafana_foundation_sdk.models.dashboard import DashboardLinkType

OVERVIEW, ACTION, VERIFICATION = "deltaspan-overview", "deltaspan-action", "deltaspan-verification"
"""Uids of the dashboards. Alerts, Jaeger and bookmarks contain them."""

TAG = "deltaspan"
_NOW = "${__url_time_range}"


def siblings() -> DashboardLink:
    """Link to the other dashboards with the same time range and agents."""
    link = DashboardLink("Other dashboards").type(DashboardLinkType.DASHBOARDS).tags([TAG])
    return link.icon("external link").as_dropdown(True).include_vars(True).keep_time(True)


def from_row(*labels: str) -> dict[str, object]:
    """Link a table cell to the action of its row, with the given labels."""
    return _to_action({label: f"${{__data.fields.{label}:percentencode}}" for label in labels})


def from_series(*labels: str) -> dict[str, object]:
    """Link a curve to its action."""
    return _to_action({label: f"${{__field.labels.{label}:percentencode}}" for label in labels})


def show_below(variable: str) -> dict[str, object]:
    """Link a trace to the same dashboard, with the trace id in a variable."""
    kept = "&".join(f"${{{name}:queryparam}}" for name in ("job", "service", "action", "metric"))
    url = f"/d/{ACTION}?{_NOW}&{kept}&var-{variable}=${{__data.fields.traceID}}"
    return {"title": "Show states below", "url": url}


_VARIABLES = {"job": "job", "deltaspan_action_name": "action", "deltaspan_check_metric": "metric"}


def _to_action(values: dict[str, str]) -> dict[str, object]:
    chosen = "&".join(f"var-{_VARIABLES[label]}={value}" for label, value in values.items())
    return {"title": "Open this action", "url": f"/d/{ACTION}?{_NOW}&{chosen}"}
