"""The examples of docs/causality.md that need packages which the tests of documents do not have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCUMENT = Path(__file__).parents[2] / "docs" / "causality.md"


def recipe(containing: str) -> dict[str, Any]:
    """Run the one example that contains a text, and return the names that it defines."""
    examples = re.findall(
        r"^```py\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    [example] = [each for each in examples if containing in each]
    namespace: dict[str, Any] = {}
    exec(compile(example, str(DOCUMENT), "exec", dont_inherit=True), namespace)  # noqa: S102  # our own
    return namespace
