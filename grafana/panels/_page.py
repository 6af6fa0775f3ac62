"""Assemble a dashboard: layout, variables, annotations and links."""

from collections.abc import Sequence
from typing import Any

from grafana_foundation_sdk.builders import dashboard as d
from grafana_foundation_sdk.models import dashboard as dm

from panels._links import TAG, siblings
from panels._queries import JOBS, PROMETHEUS

WIDTH = 24
"""Columns of Grafana's grid."""

Line = tuple[int, Sequence[Any]]
"""Height and panels of one line. The panels share its width evenly."""


def page(
    uid: str,
    title: str,
    description: str,
    *,
    variables: Sequence[Any],
    lines: Sequence[Line],
    folded: tuple[str, int, Any] | None = None,
    alerts: str = "",
) -> dm.Dashboard:
    """Return a dashboard.

    Args:
        uid: the fixed id of the dashboard.
        title: the title.
        description: the purpose.
        variables: the variables, in order.
        lines: the panels.
        folded: title, height and panel of a closed row at the end. It runs no query until it is opened.
        alerts: matchers that select the alerts to mark in the curves.
    """
    board = d.Dashboard(title).uid(uid).description(description).tags([TAG]).readonly()
    board = board.time("now-6h", "now").refresh("1m").tooltip(dm.DashboardCursorSync.CROSSHAIR)
    board = board.link(siblings()).annotation(_firing(alerts)).variables(list(variables))
    top = number = 0
    for height, panels in lines:
        left = 0
        for panel, width in zip(panels, _widths(len(panels)), strict=True):
            number += 1
            place = dm.GridPos(h=height, w=width, x=left, y=top)
            board = board.with_panel(panel.id(number).grid_pos(place))
            left += width
        top += height
    if folded:
        name, height, panel = folded
        inside = panel.id(number + 2).grid_pos(dm.GridPos(h=height, w=WIDTH, x=0, y=top + 1))
        row = d.Row(name).id(number + 1).grid_pos(dm.GridPos(h=1, w=WIDTH, x=0, y=top)).with_panel(inside)
        board = board.with_row(row)
    built = board.build()
    for placed in (*built.links, *built.annotations.list_val):
        placed.placement = None  # the SDK places both in a menu and offers no other place
    return built


def agents() -> d.QueryVariable:
    """Return the variable of jobs: several may be chosen, all by default."""
    return _any(_values("job", "Agent", "deltaspan_checks_total", "job"))


def service() -> d.QueryVariable:
    """Return the variable of the service whose traces are searched.

    Jaeger searches one service at a time. Prometheus' `job` is `service.namespace/service.name`, or the name
    alone.
    """
    found = _values("service", "Traces of", f"deltaspan_checks_total{{{JOBS}}}", "job").regex(r"/([^\/]+)$/")
    return found.description(
        "Jaeger searches one service at a time. This is the last part of the agent's name."
    )


def action() -> d.QueryVariable:
    """Return the variable of the action: one may be chosen."""
    return _values("action", "Action", f"deltaspan_checks_total{{{JOBS}}}", "deltaspan_action_name")


def metric() -> d.QueryVariable:
    """Return the variable of the action's metrics: several may be chosen, all by default."""
    series = f'deltaspan_checks_total{{{JOBS}, deltaspan_action_name="$action"}}'
    return _any(_values("metric", "Metric", series, "deltaspan_check_metric"))


def chosen(name: str) -> d.TextBoxVariable:
    """Return a hidden variable that a link sets."""
    return d.TextBoxVariable(name).hide(dm.VariableHide.HIDE_VARIABLE).default_value("")


def _widths(panels: int) -> list[int]:
    width, rest = divmod(WIDTH, panels)
    return [width + (position < rest) for position in range(panels)]


def _values(name: str, label: str, series: str, of: str) -> d.QueryVariable:
    asked = {"query": f"label_values({series}, {of})", "refId": name}
    found = d.QueryVariable(name).label(label).datasource(PROMETHEUS).query(asked)
    # The agents that exist depend on the time range.
    return found.refresh(dm.VariableRefresh.ON_TIME_RANGE_CHANGED).sort(dm.VariableSort.ALPHABETICAL_ASC)


def _any(variable: d.QueryVariable) -> d.QueryVariable:
    # Set explicitly. Without it Grafana would select only the first value.
    all_of_them = dm.VariableOption(selected=True, text=["All"], value=["$__all"])
    return variable.multi(True).include_all(True).all_value(".*").current(all_of_them)


def _firing(matchers: str) -> d.AnnotationQuery:
    narrowed = ", ".join(filter(None, ('alertname=~"Delta.+"', 'alertstate="firing"', matchers)))
    marks = d.AnnotationQuery().name("Alerts").datasource(PROMETHEUS).enable(True).icon_color("red")
    marks = marks.expr(f"ALERTS{{{narrowed}}}").step("60s").title_format("{{alertname}}")
    return marks.text_format("{{deltaspan_action_name}} {{deltaspan_check_metric}}").tag_keys("severity,job")
