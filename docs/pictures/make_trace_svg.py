# /// script
# dependencies = ["rich>=14"]
# ///
"""Draw `trace.svg`: a failed action of the demo, as the query API of a real Jaeger tells it.

It is no screenshot of Jaeger's page, which shows the same spans in its own way. First `make up` and
`make demo OTLP=1`; then `uv run docs/pictures/make_trace_svg.py`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from make_demo_svg import THEME, WIDTH, without_addresses
from rich.console import Console
from rich.text import Text

JAEGER = os.environ.get("DELTASPAN_JAEGER_URL", "http://localhost:16686").rstrip("/")
SERVICE, ACTION = "deltaspan-demo", "publish_flow"
BAR = 12
"""How long the bar of the longest trace is, in characters."""
OF_AN_EVENT = (
    "outcome", "expected_delta", "actual_delta", "attribution",
)  # fmt: skip


def main() -> None:
    """Ask Jaeger and write the picture."""
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, highlight=False)
    found = ask("/api/traces", service=SERVICE, limit="5", tags='{"deltaspan.action.outcome":"fail"}')["data"]
    for line in search(found):
        console.print(line)
    chosen = next(trace["traceID"] for trace in found if ACTION in trace["spans"][0]["operationName"])
    told = ask(f"/api/v3/traces/{chosen}", raw_traces="true")["result"]["resourceSpans"]
    [span] = [span for resource in told for scope in resource["scopeSpans"] for span in scope["spans"]]
    for line in opened(span):
        console.print(line)
    svg = console.export_svg(title="drawn from Jaeger's query API", theme=THEME, unique_id="trace")
    (Path(__file__).parent / "trace.svg").write_text(without_addresses(svg), encoding="utf-8")


def ask(path: str, **parameters: str) -> Any:
    """Return what Jaeger answers."""
    with urlopen(f"{JAEGER}{path}?{urlencode(parameters)}", timeout=10) as answer:  # noqa: S310  # a URL of ours
        return json.load(answer)


def search(traces: list[Any]) -> Iterator[Text]:
    """Yield the lines of the search: a trace each, the longest with the longest bar."""
    yield Text.assemble(
        ("search  ", "dim"), f"service={SERVICE}  deltaspan.action.outcome=fail", ("  the last 5\n", "dim")
    )
    roots = [trace["spans"][0] for trace in traces]
    longest = max(root["duration"] for root in roots)
    for root in sorted(roots, key=lambda root: root["startTime"]):
        bar = "━" * max(1, round(BAR * root["duration"] / longest))
        yield Text.assemble(
            f"  {root['operationName']:<31}",
            (f"{bar:<{BAR + 1}}", "red"),
            f"{root['duration'] / 1000:>5.1f} ms  ",
            (root["traceID"], "dim"),
        )


def opened(span: Mapping[str, Any]) -> Iterator[Text]:
    """Yield the lines of one span: its status, its attributes, its events."""
    began, ended = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
    yield Text.assemble(("\ntrace   ", "dim"), span["traceId"], "\n")
    yield Text.assemble(
        "  ",
        (span["name"], "bold"),
        ("  INTERNAL", "dim"),
        f"  {(ended - began) / 1e6:.1f} ms  ",
        ("ERROR", "bold red"),
    )
    yield Text.assemble("  ", (span["status"]["message"], "red"), "\n")
    for name, value in attributes(span).items():
        if name.startswith(("deltaspan.", "error.", "gen_ai.tool")):
            yield Text.assemble(f"    {name:<44}", (value, colour(name, value)))
    for event in span["events"]:
        said = attributes(event)
        when = (int(event["timeUnixNano"]) - began) / 1e6
        yield Text.assemble(
            ("\n  event   ", "dim"),
            (event["name"], "bold"),
            f"  at {when:.1f} ms  ",
            said["deltaspan.check.metric"],
        )
        for name in (f"deltaspan.check.{each}" for each in OF_AN_EVENT):
            yield Text.assemble(f"    {name:<44}", (said[name], colour(name, said[name])))
        yield Text.assemble("    ", (said["deltaspan.check.explanation"], "italic"))
    yield Text()


def colour(name: str, value: str) -> str:
    """Return the colour of a value: verdicts have one, and states and deltas."""
    of_states = "cyan" if "_state" in name or "_delta" in name else ""
    return {"fail": "bold red", "pass": "bold green"}.get(value, of_states)


def attributes(holder: Mapping[str, Any]) -> dict[str, str]:
    """Return the attributes of a span or an event as text."""
    return {each["key"]: text(each["value"]) for each in holder["attributes"]}


def text(value: Mapping[str, Any]) -> str:
    """Return a value of OTLP as text."""
    [(kind, content)] = value.items()
    return ", ".join(map(text, content["values"])) if kind == "arrayValue" else str(content)


if __name__ == "__main__":
    main()
