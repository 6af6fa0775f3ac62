"""The names on the wire have one source, and generated files are current."""

import ast
import subprocess
import sys
from pathlib import Path

import yaml

from deltaspan import semconv

ROOT = Path(__file__).parents[3]
GENERATE = ROOT / "telemetry" / "generate.py"


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
