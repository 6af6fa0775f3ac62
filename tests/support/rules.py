"""The alert rules, their tests and the runbook under deploy/ and docs/."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
RUNBOOK = ROOT / "docs" / "runbook.md"
RULE_FILES = sorted((ROOT / "deploy" / "prometheus" / "rules").glob("*.yml"))
TEST_FILES = sorted((ROOT / "deploy" / "prometheus" / "tests").glob("*.yml"))


def groups() -> list[dict[str, Any]]:
    """Return the groups of all rule files."""
    return [group for path in RULE_FILES for group in yaml.safe_load(path.read_text())["groups"]]


def rules(kind: str) -> list[dict[str, Any]]:
    """Return all rules that have this key: `alert` or `record`."""
    return [rule for group in groups() for rule in group["rules"] if kind in rule]


def cases() -> list[dict[str, Any]]:
    """Return what the rules' own tests say of alerts: `alertname`, `exp_alerts`, and the test's `series`."""
    tests = [test for path in TEST_FILES for test in yaml.safe_load(path.read_text())["tests"]]
    return [
        {**case, "series": [each["series"] for each in test.get("input_series", ())]}
        for test in tests
        for case in test.get("alert_rule_test", ())
    ]


def sections() -> dict[str, str]:
    """Return the runbook's sections by their anchor, as GitHub and GitLab make it."""
    parts = re.split(r"^## (.+)$", RUNBOOK.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        title.lower().replace(" ", "-"): text for title, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def thresholds(text: str) -> list[str]:
    """Return the comparisons with a number in it, in order: `> 14.4 * 0.01`."""
    found = re.findall(r"(?<![=!])([<>]=?|==) \(?(\d[\d.]*(?: \* [\d.]+)?)", text)
    return [f"{how} {number}" for how, number in found]
