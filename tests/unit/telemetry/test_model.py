"""The names on the wire have one source, and generated files are current."""

import ast
import copy
import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from deltaspan import semconv

ROOT = Path(__file__).parents[3]
GENERATE = ROOT / "telemetry" / "generate.py"
MODEL = ROOT / "telemetry" / "model"
DEFINITIONS = [path for path in sorted(MODEL.glob("*.yaml")) if path.name != "manifest.yaml"]
WEAVER = jsonschema.Draft202012Validator(
    json.loads((ROOT / "tests" / "support" / "schemas" / "weaver-definition.json").read_text())
)


def load(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def refused(definition):
    return [error.json_path for error in WEAVER.iter_errors(definition)]


@pytest.mark.parametrize("path", DEFINITIONS, ids=lambda path: path.name)
def test_the_model_is_valid_in_the_format_of_weaver(path):
    assert refused(load(path)) == []


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("attributes", "type", "text"),
        ("attributes", "stability", "new"),
        ("attributes", "unit", "s"),
        ("spans", "kind", "inner"),
        ("spans", "name", "execute_tool {action}"),
        ("events", "requirement_level", "required"),
        ("metrics", "instrument", "timer"),
        ("metrics", "attributes", [{"ref": "error.type", "requirement_level": "sometimes"}]),
    ],
)
def test_a_wrong_field_is_refused_by_the_format_of_weaver(kind, field, value):
    (definition,) = (part for part in map(load, DEFINITIONS) if kind in part)
    wrong = copy.deepcopy(definition)
    wrong[kind][0][field] = value

    assert refused(definition) == []
    assert [path.partition("]")[0] for path in refused(wrong)] == [f"$.{kind}[0"]


def test_the_manifest_has_a_schema_url_with_a_version():
    manifest = load(MODEL / "manifest.yaml")

    # The published JSON Schema of manifests asks for an object, while weaver itself reads a text.
    assert set(manifest) == {"description", "schema_url", "stability"}
    assert re.fullmatch(r"https://[\w.-]+/(?:[\w-]+/)*\d+\.\d+\.\d+", manifest["schema_url"])


def test_the_module_and_the_page_match_the_model():
    found = subprocess.run([sys.executable, GENERATE, "--check"], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "")


def test_each_attribute_that_a_signal_refers_to_is_defined():
    model = [yaml.safe_load(path.read_text()) for path in (ROOT / "telemetry" / "model").glob("*.yaml")]
    foreign = yaml.safe_load((ROOT / "telemetry" / "foreign.yaml").read_text())
    defined = {each["key"] for part in model for each in part.get("attributes", [])}
    defined |= {each["key"] for each in foreign}
    signals = [
        each for part in model for kind in ("spans", "events", "metrics") for each in part.get(kind, [])
    ]
    assert {ref["ref"] for each in signals for ref in each["attributes"]} == defined


def test_each_name_is_used_by_the_source():
    source = "\n".join(
        path.read_text() for path in (ROOT / "src" / "deltaspan").rglob("*.py") if path.name != "semconv.py"
    )
    names = [
        target.target.id
        for target in ast.parse(Path(semconv.__file__).read_text()).body
        if isinstance(target, ast.AnnAssign)
    ]
    assert [name for name in names if f"semconv.{name}" not in source] == []
