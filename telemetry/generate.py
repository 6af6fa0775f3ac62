"""Write src/deltaspan/semconv.py and docs/telemetry.md from the model beside this file.

The model is in the format of OpenTelemetry weaver, `definition/2`.

    python telemetry/generate.py            write both
    python telemetry/generate.py --check    exit with 1 if one of them is stale
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
ROOT = HERE.parent
PREFIX = "deltaspan."

Entry = Mapping[str, Any]


def load() -> dict[str, list[Entry]]:
    """Return the attributes, spans, events and metrics of the model, with those of OpenTelemetry."""
    found: dict[str, list[Entry]] = {}
    for path in sorted((HERE / "model").glob("*.yaml")):
        for kind, entries in yaml.safe_load(path.read_text(encoding="utf-8")).items():
            if isinstance(entries, list):
                found.setdefault(kind, []).extend(entries)
    found["foreign"] = yaml.safe_load((HERE / "foreign.yaml").read_text(encoding="utf-8"))
    return found


def schema_url() -> str:
    """Return the schema URL that the scope carries."""
    manifest = yaml.safe_load((HERE / "model" / "manifest.yaml").read_text(encoding="utf-8"))
    return str(manifest["schema_url"])


def type_of(attribute: Entry) -> str:
    """Return the type of an attribute for the documentation."""
    kind = attribute["type"]
    if isinstance(kind, Mapping):
        return "string"
    return str(kind).removeprefix("template[").removesuffix("]") if is_template(attribute) else str(kind)


def is_template(attribute: Entry) -> bool:
    """Return whether a metric's name is appended to the key."""
    return str(attribute["type"]).startswith("template[")


def members_of(attribute: Entry) -> Sequence[Entry]:
    """Return the values of an enumeration, or none for other attributes."""
    kind = attribute["type"]
    return kind["members"] if isinstance(kind, Mapping) else ()


# semconv.py -------------------------------------------------------------------------------------------------


def constant(name: str) -> str:
    """Return the name of the constant for a name on the wire."""
    return name.removeprefix(PREFIX).replace(".", "_").upper()


def semconv(model: Mapping[str, list[Entry]]) -> str:
    """Return the source of the module of names."""
    lines = [
        '"""The names that deltaspan puts on the wire.',
        "",
        "docs/telemetry.md says where each name occurs. Both are generated from telemetry/model. To change a",
        "name, change the model and run `make reference`.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import Final",
        "",
        'SCOPE_NAME: Final = "deltaspan"',
        f'SCHEMA_URL: Final = "{schema_url()}"',
        *_section("Spans"),
        *_spans(model["spans"]),
        *_section("Attributes of OpenTelemetry's conventions"),
        *_attributes([each for each in model["foreign"] if each.get("set_by") != "sdk"]),
        *_section("Attributes of deltaspan"),
        *_attributes(model["attributes"]),
        *_section("Events"),
        *_events(model["events"]),
        *_section("Metrics"),
        *_metrics(model["metrics"]),
    ]
    return "\n".join(lines) + "\n"


def _section(title: str) -> list[str]:
    return ["", f"# {title} ".ljust(100, "-")]


def _spans(spans: Sequence[Entry]) -> Iterator[str]:
    for span in spans:
        name, _, _ = span["name"]["note"].partition(" {")
        yield f'SPAN_{constant(span["type"])}: Final = "{name}"'
        yield f'"""Prefix of the span name `{span["name"]["note"]}`."""'


def _attributes(attributes: Sequence[Entry]) -> Iterator[str]:
    for attribute in attributes:
        key, name, kind = attribute["key"], constant(attribute["key"]), type_of(attribute)
        if is_template(attribute):
            key, name, kind = f"{key}.", f"{name}_PREFIX", f"{kind}, followed by the key of the metric"
        yield f'{name}: Final = "{key}"'
        yield from textwrap.wrap(f'"""{kind}; {attribute["brief"]}"""', 106)
        for member, value in attribute.get("values", {}).items():
            yield f'{name}_{member.upper()}: Final = "{value}"'


def _events(events: Sequence[Entry]) -> Iterator[str]:
    for event in events:
        yield f'EVENT_{constant(event["name"])}: Final = "{event["name"]}"'
        yield f'"""{event["brief"]}"""'


def _metrics(metrics: Sequence[Entry]) -> Iterator[str]:
    for metric in metrics:
        name = f"METRIC_{constant(metric['name'])}"
        yield f'{name}: Final = "{metric["name"]}"'
        yield f'"""{metric["instrument"]}; {metric["brief"]}"""'
        yield f'{name}_UNIT: Final = "{metric["unit"]}"'
        yield f'{name}_DESCRIPTION: Final = "{metric["brief"]}"'
        bounds = metric.get("annotations", {}).get("bucket_boundaries")
        if bounds:
            yield f"{name}_BUCKETS: Final = ("
            yield from (f"    {bound}," for bound in bounds)
            yield ")"


# docs/telemetry.md ------------------------------------------------------------------------------------------

INTRODUCTION = """\
# Telemetry reference

For people who query deltaspan's telemetry, build dashboards on it, or write alert rules.

Every span, event, metric and attribute that deltaspan emits is on this page.
The instrumentation scope is `deltaspan`, with the version of the package.
Names that begin with `{prefix}` belong to deltaspan; the others follow OpenTelemetry's semantic conventions.
All of them are in development: a release may change them, and its changelog says so.

`<key>` is the metric in lower case, with `_` for `.` and `-`.
If it does not begin with a letter, `m_` stands before it.
An attribute that is conditionally required is there whenever its condition holds.

This page is generated from `telemetry/model`. Change the model, then run `make reference`."""


def reference(model: Mapping[str, list[Entry]]) -> str:
    """Return the reference page."""
    known = {attribute["key"]: attribute for attribute in (*model["attributes"], *model["foreign"])}
    return (
        "\n\n".join(
            [
                INTRODUCTION.format(prefix=PREFIX),
                "## Spans",
                *_span_sections(model["spans"], known),
                "## Events",
                "An event leaves as a span event, as a log record, or both (`DELTASPAN_EVENT_SIGNAL`).",
                *(
                    _section_of(event["name"], event["brief"], _table(event, known))
                    for event in model["events"]
                ),
                "## Metrics",
                *(
                    _section_of(metric["name"], metric["brief"], _instrument(metric), _table(metric, known))
                    for metric in model["metrics"]
                ),
                "## Values",
                *(_values(attribute) for attribute in model["attributes"] if members_of(attribute)),
            ]
        )
        + "\n"
    )


def _section_of(name: str, *paragraphs: str) -> str:
    return "\n\n".join((f"### `{name}`", *paragraphs))


def _span_sections(spans: Sequence[Entry], known: Mapping[str, Entry]) -> Iterator[str]:
    first = spans[0]
    for span in spans:
        is_like_first = span is not first and span["attributes"] == first["attributes"]
        attributes = (
            f"Its attributes are those of `{first['name']['note']}` whose names do not begin with `gen_ai.`."
            if is_like_first
            else _table(span, known)
        )
        yield _section_of(span["name"]["note"], f"{span['brief']} Kind: {span['kind']}.", attributes)


def _instrument(metric: Entry) -> str:
    line = f"Instrument: {metric['instrument']}. Unit: `{metric['unit']}`."
    bounds = metric.get("annotations", {}).get("bucket_boundaries")
    return f"{line} Bucket boundaries: {', '.join(f'{bound:g}' for bound in bounds)}." if bounds else line


def _values(attribute: Entry) -> str:
    rows = [f"| `{member['value']}` | {member['brief']} |" for member in members_of(attribute)]
    return _section_of(attribute["key"], "\n".join(["| value | meaning |", "| --- | --- |", *rows]))


def _table(signal: Entry, known: Mapping[str, Entry]) -> str:
    rows = ["| attribute | type | requirement | meaning |", "| --- | --- | --- | --- |"]
    for ref in signal["attributes"]:
        attribute = known[ref["ref"]]
        key = f"{attribute['key']}.<key>" if is_template(attribute) else attribute["key"]
        meaning = " ".join(text for text in (attribute["brief"], attribute.get("note")) if text)
        rows.append(f"| `{key}` | {type_of(attribute)} | {_level(ref['requirement_level'])} | {meaning} |")
    return "\n".join(rows)


def _level(level: str | Mapping[str, str]) -> str:
    if isinstance(level, str):
        return level.replace("_", " ")
    ((name, condition),) = level.items()
    return f"{name.replace('_', ' ')}: {condition}"


def main(arguments: Sequence[str]) -> int:
    """Write both files, or name the stale ones."""
    model = load()
    stale = []
    for path, text in (
        (ROOT / "src" / "deltaspan" / "semconv.py", semconv(model)),
        (ROOT / "docs" / "telemetry.md", reference(model)),
    ):
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path.relative_to(ROOT))
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8")
    for each in stale:
        print(f"{each}: {'stale; run make reference' if '--check' in arguments else 'written'}")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
