"""The dashboards of grafana/: written by the generator, and complete."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from typing import get_args
from urllib.parse import parse_qsl, urlsplit

import pytest
import yaml
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import REGISTRY
from prometheus_client.core import Metric

from deltaspan import change, expects, observe, semconv, window
from deltaspan._telemetry import Instruments, install
from deltaspan.typing import Outcome, Reason
from support.dashboards import FOLDER, ROOT, RULES, dashboards, expressions, panels, substituted, texts
from support.prometheus_names import LABELS, METRICS

GENERATOR = ROOT / "grafana" / "build.py"
UIDS = {"deltaspan-overview", "deltaspan-action", "deltaspan-verification"}
DASHBOARDS = dashboards()
PANELS = [
    pytest.param(board, panel, id=f"{board['uid']}-{panel['title']}")
    for board in DASHBOARDS
    for panel in panels(board)
    if panel["type"] != "row"
]
ON_EACH = pytest.mark.parametrize("board", DASHBOARDS, ids=lambda board: board["uid"])
ON_EACH_PANEL = pytest.mark.parametrize(("board", "panel"), PANELS)
OF_GRAFANA = {"__rate_interval", "__interval", "__range", "__url_time_range", "__data", "__field", "__all"}
needs_the_sdk = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="grafana-foundation-sdk needs Python 3.11 or newer"
)


def urls(board):
    return [text for text in texts(board) if text.startswith("/d/")]


# The files ------------------------------------------------------------------------------------------------


@needs_the_sdk
def test_the_stored_dashboards_equal_the_output_of_the_generator(tmp_path):
    subprocess.run([sys.executable, GENERATOR, tmp_path], check=True)

    written = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    stored = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    assert stored == written, "run: make dashboards"


@needs_the_sdk
@pytest.mark.filterwarnings(
    "ignore:Prefer using dashboardv2:DeprecationWarning"
)  # files are of the first kind
@ON_EACH
def test_the_sdk_knows_all_that_a_dashboard_says(board):
    from grafana_foundation_sdk.cog.encoder import JSONEncoder  # noqa: PLC0415  # not there under 3.10
    from grafana_foundation_sdk.cog.plugins import register_default_plugins  # noqa: PLC0415
    from grafana_foundation_sdk.models.dashboard import Dashboard  # noqa: PLC0415

    register_default_plugins()
    read = json.loads(JSONEncoder().encode(Dashboard.from_json(board)))

    for placed in (*read["links"], *read["annotations"]["list"]):
        del placed["placement"]  # the generator takes it out
    assert read == board


def test_the_three_dashboards_have_the_uids_that_alerts_and_links_name():
    assert {board["uid"] for board in DASHBOARDS} == UIDS
    assert {path.stem for path in FOLDER.glob("*.json")} == UIDS


@ON_EACH
def test_a_dashboard_has_a_description_and_refreshes(board):
    assert board["description"].endswith(".")
    assert (board["refresh"], board["time"], board["tags"]) == (
        "1m",
        {"from": "now-6h", "to": "now"},
        ["deltaspan"],
    )


# The panels -----------------------------------------------------------------------------------------------


@ON_EACH_PANEL
def test_a_panel_has_a_title_a_sentence_and_a_fixed_data_source(board, panel):
    sources = [panel["datasource"], *(target["datasource"] for target in panel["targets"])]

    assert panel["title"]
    assert panel["description"].endswith(".")
    assert {(each["type"], each["uid"]) for each in sources} <= {
        ("prometheus", "prometheus"),
        ("jaeger", "jaeger"),
    }
    assert len({each["uid"] for each in sources}) == 1


@ON_EACH_PANEL
def test_every_number_has_a_unit(board, panel):
    config = panel.get("fieldConfig", {"defaults": {}, "overrides": []})
    columns = [
        {prop["id"] for prop in override["properties"]}
        for override in config["overrides"]
        if override["matcher"]["options"] in panel_columns(panel)
    ]

    if panel["datasource"]["uid"] == "jaeger":
        return  # durations come from Jaeger with their unit
    assert "unit" in config["defaults"] or (columns and all("unit" in column for column in columns))


def panel_columns(panel):
    organised = [each["options"] for each in panel.get("transformations", ()) if each["id"] == "organize"]
    return [
        header
        for options in organised
        for name, header in options["renameByName"].items()
        if name.startswith("Value")
    ]


@ON_EACH_PANEL
def test_a_panel_explains_missing_data(board, panel):
    assert panel["type"] == "traces" or panel["fieldConfig"]["defaults"]["noValue"]


def test_no_panel_is_of_type_traces():
    # The traces panel has no text of its own for "nothing chosen".
    assert [
        panel["title"] for board in DASHBOARDS for panel in board["panels"] if panel["type"] == "traces"
    ] == []


@ON_EACH
def test_no_two_panels_share_an_id_or_a_place(board):
    every = list(panels(board))
    places = [panel["gridPos"] for panel in every]

    assert len({panel["id"] for panel in every}) == len(every)
    assert all(place["x"] + place["w"] <= 24 for place in places)
    assert [pair for pair in itertools.combinations(places, 2) if overlap(*pair)] == []


def overlap(one, other):
    return all(
        one[start] < other[start] + other[size] and other[start] < one[start] + one[size]
        for start, size in (("x", "w"), ("y", "h"))
    )


def test_the_points_of_durations_lead_to_their_traces():
    exemplars = {
        panel["title"]
        for board in DASHBOARDS
        for panel in panels(board)
        if any(target.get("exemplar") for target in panel.get("targets", ()))
    }
    raw = {each.panel for each in expressions() if re.search(r"_seconds_bucket\{", each.expr)}

    assert exemplars == raw != set()


# Variables and links --------------------------------------------------------------------------------------


@ON_EACH
def test_every_variable_used_is_declared(board):
    declared = {each["name"] for each in board["templating"]["list"]}
    # In links and queries; a sentence may name another page's.
    used = {name for text in texts(board) for name in re.findall(r"\$\{?(\w+)", text)}

    assert used - OF_GRAFANA <= declared


@ON_EACH
def test_every_variable_declared_is_used(board):
    declared = {each["name"] for each in board["templating"]["list"]}
    used = {
        name for panel in panels(board) for text in texts(panel) for name in re.findall(r"\$\{?(\w+)", text)
    }

    assert declared <= used


@ON_EACH
def test_every_link_leads_to_a_dashboard_and_sets_variables_that_it_has(board):
    targets = {each["uid"]: {one["name"] for one in each["templating"]["list"]} for each in DASHBOARDS}

    assert urls(board)
    for url in urls(board):
        path, query = urlsplit(url).path, urlsplit(url).query
        uid = path.removeprefix("/d/")
        assert uid in UIDS
        given = {name.removeprefix("var-") for name, _ in parse_qsl(query) if name.startswith("var-")}
        kept = set(re.findall(r"\$\{(\w+):queryparam\}", query))
        assert given | kept <= targets[uid]


def test_a_query_is_given_with_every_variable_replaced():
    assert substituted(
        'a{b="$action"}[$__range:1m] ${job:regex}', {"action": "x", "__range": "1h", "job": "j"}
    ) == ('a{b="x"}[1h:1m] j')
    assert [each for each in expressions() if "$" in each.expr] == []


# Names ------------------------------------------------------------------------------------------------------

ALERTING = ROOT / "grafana" / "provisioning" / "alerting"


def recorded():
    return {
        rule["record"]
        for path in RULES.glob("*.yml")
        for group in yaml.safe_load(path.read_text())["groups"]
        for rule in group["rules"]
        if "record" in rule
    }


def asked():
    """Return all PromQL of the dashboards and of Grafana's own alert."""
    variables = [text for board in DASHBOARDS for text in texts(board) if text.startswith("label_values(")]
    marks = [mark["expr"] for board in DASHBOARDS for mark in board["annotations"]["list"]]
    return [*(each.expr for each in expressions()), *variables, *marks, rule()["data"][0]["model"]["expr"]]


def test_every_queried_series_is_recorded():
    named = {name for text in asked() for name in re.findall(r"\b\w+:\w+:\w+\b", text)}

    assert named
    assert named <= recorded()


def test_every_deltaspan_name_is_sent():
    plain = " ".join(re.sub(r"\b\w+:\w+:\w+\b", "", text) for text in asked())

    named = set(re.findall(r"\b(?:deltaspan|gen_ai)_\w+", plain))
    assert named
    assert named <= METRICS | LABELS


def test_every_label_in_a_legend_a_link_or_a_table_is_sent():
    every = list(texts(DASHBOARDS))
    legends = {name for text in every for name in re.findall(r"\{\{(\w+)\}\}", text)}
    linked = {name for text in every for name in re.findall(r"__(?:data\.fields|field\.labels)\.(\w+)", text)}
    columns = {
        name
        for board in DASHBOARDS
        for panel in panels(board)
        for each in panel.get("transformations", ())
        for name in each["options"].get("renameByName", ())
        if not name.startswith("Value")
    }

    assert legends <= LABELS | {"alertname"}
    assert linked <= LABELS | {"job", "traceID"}
    assert columns <= LABELS | {"job"}


def test_every_attribute_in_a_search_or_a_sentence_is_set():
    ours = {value for name, value in vars(semconv).items() if isinstance(value, str) and name.isupper()}
    prefixes = {name.rstrip(".") for name in ours}

    named = {name for text in texts(DASHBOARDS) for name in re.findall(r"\bdeltaspan\.[a-z_.]*[a-z]", text)}
    assert named
    assert named <= prefixes


def test_every_outcome_and_reason_exists():
    text = " ".join([*asked(), *texts(DASHBOARDS)])
    outcomes = set(re.findall(r'deltaspan[._](?:check|action)[._]outcome="?(\w+)', text))
    reasons = set(re.findall(r"\b(?:\w+_(?:failed|timeout)|contended|abandoned)\b", text))

    assert outcomes
    assert outcomes <= set(get_args(Outcome))
    assert reasons
    assert reasons <= set(get_args(Reason))


# Grafana's own alert --------------------------------------------------------------------------------------


def rule():
    [group] = yaml.safe_load((ALERTING / "deltaspan.yml").read_text())["groups"]
    [found] = group["rules"]
    return found


def test_the_alert_in_grafana_is_paused():
    assert rule()["isPaused"] is True


def test_grafanas_own_alert_links_to_a_panel_that_shows_failures():
    annotations = rule()["annotations"]
    [board] = [each for each in DASHBOARDS if each["uid"] == annotations["__dashboardUid__"]]

    assert [panel["title"] for panel in panels(board) if panel["id"] == int(annotations["__panelId__"])] == [
        "Failures by action and metric"
    ]


def test_a_dollar_sign_in_provisioned_alerts_is_doubled():
    text = (ALERTING / "deltaspan.yml").read_text()

    assert re.findall(r"(?<!\$)\$(?!\$)", text) == []
    assert set(re.findall(r"\$\$labels\.(\w+)", text)) <= LABELS | {"job"}


def test_grafana_reads_no_contact_point_that_has_no_address():
    assert {path.name for path in ALERTING.iterdir() if path.suffix in {".yml", ".yaml", ".json"}} == {
        "deltaspan.yml"
    }
    example = yaml.safe_load((ALERTING / "contact-point.yml.example").read_text())
    assert example["contactPoints"][0]["receivers"][0]["settings"]["url"] == "$DELTASPAN_ALERT_WEBHOOK"


# Names in Prometheus ----------------------------------------------------------------------------------------

OF_THE_SCOPE = {"otel_scope_name", "otel_scope_version", "otel_scope_schema_url"}


@pytest.fixture
def scraped():
    """Return what a scrape would show, after a failed and an inconclusive check of a tool and of a window."""
    provider = MeterProvider([PrometheusMetricReader()])
    install(Instruments(meter_provider=provider))

    @expects(change("rows", lambda: 0).by(1), change("broken", lambda: 1 / 0).by(1), claim=lambda: True)
    def order():
        return None

    order()
    with window("restock", observe("rows", lambda: 0)):
        pass
    ours = ("deltaspan_", "gen_ai_")
    yield [each for each in REGISTRY.collect() if isinstance(each, Metric) and each.name.startswith(ours)]
    provider.shutdown()


def test_the_translated_metrics_are_those_of_a_scrape(scraped):
    assert {sample.name for family in scraped for sample in family.samples} == METRICS


def test_the_translated_labels_are_those_of_a_scrape(scraped):
    labels = {name for family in scraped for sample in family.samples for name in sample.labels}

    assert labels == LABELS | OF_THE_SCOPE | {"le"}
