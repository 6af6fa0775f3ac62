"""The kinds of panel that all dashboards share."""

from collections.abc import Mapping, Sequence

from grafana_foundation_sdk.builders import common as c
from grafana_foundation_sdk.builders import dashboard as d
from grafana_foundation_sdk.builders import stat, table, timeseries
from grafana_foundation_sdk.models import common as cm
from grafana_foundation_sdk.models import dashboard as dm

from panels._links import show_below
from panels._queries import JAEGER, PROMETHEUS, now, over_time, runs, trace

OUTCOMES = {
    "pass": "green",
    "fail": "red",
    "inconclusive": "orange",
    "observed": "blue",
    "skipped": "#808080",
}
ORIGINS = {"this_action": "blue", "another_action": "purple", "unknown": "orange", "no change": "#808080"}
CLAIMS = {"success": "red", "failure": "yellow", "no claim": "#808080"}
"""Colours of failed checks. A claim of success is false, and a claim of failure is honest."""
HEADERS = {
    "job": "Agent",
    "deltaspan_action_name": "Action",
    "deltaspan_check_metric": "Metric",
    "deltaspan_check_reason": "Reason",
    "deltaspan_check_origin": "Origin",
    "deltaspan_action_claim": "Claim",
}
NONE_YET = "No checks in this time range"
NO_DURATIONS = "No durations: no action ran, or each process exported only once"
"""A rate needs two samples of a process, or Prometheus' created-timestamp-zero-ingestion."""


def limits(start: str, *steps: tuple[float, str]) -> d.ThresholdsConfig:
    """Return thresholds: the base colour, and the colour from each value on."""
    colours = [dm.Threshold(None, start), *(dm.Threshold(value, colour) for value, colour in steps)]
    return d.ThresholdsConfig().mode(dm.ThresholdsMode.ABSOLUTE).steps(colours)


def number(
    title: str,
    description: str,
    expression: str,
    *,
    unit: str,
    colours: d.ThresholdsConfig,
    decimals: int = 0,
) -> stat.Panel:
    """Show one number, coloured."""
    panel = stat.Panel().title(title).description(description).datasource(PROMETHEUS)
    panel = panel.with_target(now(expression)).unit(unit).decimals(decimals).no_value(NONE_YET)
    panel = panel.thresholds(colours).color_mode(cm.BigValueColorMode.BACKGROUND)
    reduced = c.ReduceDataOptions().calcs(["lastNotNull"]).fields("").values(False)
    return panel.graph_mode(cm.BigValueGraphMode.NONE).reduce_options(reduced)


def curves(
    title: str,
    description: str,
    queries: Mapping[str, str],
    *,
    unit: str,
    exemplars: bool = False,
    limit: float | None = None,
    link: dict[str, object] | None = None,
    empty: str = NONE_YET,
) -> timeseries.Panel:
    """Show curves over time.

    Args:
        title: the title.
        description: the meaning, and the response to a bad value.
        queries: expressions by their legend.
        unit: Grafana's name of the unit.
        exemplars: whether to show single runs as dots that link to their traces.
        limit: the limit of an alert, drawn as a line.
        link: the link of a curve.
        empty: the text if there is no data.
    """
    panel = timeseries.Panel().title(title).description(description).datasource(PROMETHEUS)
    for ref, (legend, expression) in zip("ABCD", queries.items(), strict=False):
        panel = panel.with_target(over_time(expression, legend, ref, exemplars=exemplars))
    # A recording rule has one value a minute. A smaller step would be empty.
    panel = panel.unit(unit).min(0).no_value(empty).interval("1m")
    panel = panel.legend(
        c.VizLegendOptions()
        .show_legend(True)
        .display_mode(cm.LegendDisplayMode.LIST)
        .placement(cm.LegendPlacement.BOTTOM)
    )
    panel = panel.tooltip(
        c.VizTooltipOptions().mode(cm.TooltipDisplayMode.MULTI).sort(cm.SortOrder.DESCENDING)
    )
    if limit is not None:
        style = c.GraphThresholdsStyleConfig().mode(cm.GraphThresholdsStyleMode.DASHED)
        panel = panel.thresholds(limits("transparent", (limit, "orange"))).thresholds_style(style)
    # By type, so that the link does not replace the links of exemplars on their trace ids.
    return panel.override_by_field_type("number", [dm.DynamicConfigValue("links", [link])]) if link else panel


def counts(
    title: str,
    description: str,
    queries: Mapping[str, str],
    *,
    link: dict[str, object] | None = None,
    colours: Mapping[str, str] = OUTCOMES,
    empty: str,
) -> timeseries.Panel:
    """Show counts over time as stacked bars, with fixed colours for known names."""
    panel = curves(title, description, queries, unit="short", link=link, empty=empty).decimals(0)
    panel = panel.draw_style(cm.GraphDrawStyle.BARS).fill_opacity(80).line_width(0)
    panel = panel.stacking(c.StackingConfig().mode(cm.StackingMode.NORMAL).group("A"))
    for name, colour in colours.items():
        fixed = {"mode": "fixed", "fixedColor": colour}
        panel = panel.override_by_name(name, [dm.DynamicConfigValue("color", fixed)])
    return panel


def rows(
    title: str,
    description: str,
    labels: Sequence[str],
    columns: Mapping[str, tuple[str, str]],
    *,
    link: dict[str, object] | None = None,
    empty: str = NONE_YET,
    limited: Mapping[str, d.ThresholdsConfig] | None = None,
) -> table.Panel:
    """Show a table: one row per set of labels, one column per expression.

    Args:
        title: the title.
        description: the meaning, and the response to a bad row.
        labels: the labels by which all expressions are aggregated.
        columns: expression and unit by the header of the column. The first column sorts the table.
        link: the link of the action.
        empty: the text if there is no row.
        limited: thresholds by the header of the column.
    """
    panel = table.Panel().title(title).description(description).datasource(PROMETHEUS).no_value(empty)
    values = {}
    for ref, (header, (expression, unit)) in zip("ABCDEF", columns.items(), strict=False):
        values[f"Value #{ref}" if len(columns) > 1 else "Value"] = header
        panel = panel.with_target(now(expression, ref))
        config = [dm.DynamicConfigValue("unit", unit)]
        if limited and header in limited:
            config.append(dm.DynamicConfigValue("thresholds", limited[header].build().to_json()))
            config.append(dm.DynamicConfigValue("custom.cellOptions", {"type": "color-text"}))
        panel = panel.override_by_name(header, config)
    if link:
        panel = panel.override_by_name(
            HEADERS["deltaspan_action_name"], [dm.DynamicConfigValue("links", [link])]
        )
    names = {label: HEADERS[label] for label in labels} | values
    order = {name: position for position, name in enumerate(names)}
    organised = {"excludeByName": {"Time": True}, "renameByName": names, "indexByName": order}
    panel = panel.with_transformation(dm.DataTransformerConfig("merge", options={}))
    panel = panel.with_transformation(dm.DataTransformerConfig("organize", options=organised))
    return panel.sort_by([c.TableSortByFieldState().display_name(next(iter(columns))).desc(True)])


def found(title: str, description: str, tags: str, *, link: str | None = None, empty: str) -> table.Panel:
    """Show the traces of a search. A trace name sets the variable `link`."""
    panel = table.Panel().title(title).description(description).datasource(JAEGER).no_value(empty)
    panel = panel.with_target(runs(tags)).sort_by(
        [c.TableSortByFieldState().display_name("Start time").desc(True)]
    )
    # On the name, because a link on the id would replace the link of the data source.
    return (
        panel.override_by_name("traceName", [dm.DynamicConfigValue("links", [show_below(link)])])
        if link
        else panel
    )


def spans(title: str, description: str, variable: str) -> d.Panel:
    """Show the spans of the trace whose id is in a variable."""
    return (
        d.Panel()
        .type("traces")
        .title(title)
        .description(description)
        .datasource(JAEGER)
        .with_target(trace(variable))
    )
