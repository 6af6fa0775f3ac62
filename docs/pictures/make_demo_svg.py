# /// script
# dependencies = ["deltaspan", "opentelemetry-exporter-otlp-json-file>=0.60b0", "rich>=14"]
# [tool.uv.sources]
# deltaspan = { path = "../..", editable = true }
# ///
"""Draw `demo.svg`, what the demo prints in a terminal, from a real run.

Run it with `uv run docs/pictures/make_demo_svg.py`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

HERE = Path(__file__).parent
DEMO = HERE.parent.parent / "examples" / "demo"
SCENES = ("2", "4")
WIDTH = 100

THEME = TerminalTheme(
    background=(18, 22, 30),
    foreground=(215, 220, 228),
    normal=[
        (18, 22, 30),
        (255, 107, 107),
        (94, 211, 132),
        (245, 196, 84),
        (110, 168, 254),
        (198, 146, 233),
        (86, 204, 214),
        (215, 220, 228),
    ],
)


def main() -> None:
    """Run the demo in colour and write the picture."""
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, highlight=False)
    console.print(Text(f"$ python examples/demo --scenes {' '.join(SCENES)}\n"))
    console.print(Text.from_ansi(coloured_output()))
    svg = console.export_svg(title="deltaspan", theme=THEME, unique_id="demo")
    (HERE / "demo.svg").write_text(without_addresses(svg), encoding="utf-8")


def coloured_output() -> str:
    """Return what the demo prints on a terminal, up to where its telemetry went."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    environment |= {"FORCE_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    environment.pop("NO_COLOR", None)
    with TemporaryDirectory() as folder:
        command = [sys.executable, str(DEMO), "--output", folder, "--scenes", *SCENES]
        printed = subprocess.run(command, env=environment, check=True, capture_output=True, encoding="utf-8")  # noqa: S603  # our own demo
    return printed.stdout.partition("\nSpans ")[0]


def without_addresses(svg: str) -> str:
    """Take out the fonts that rich would fetch from the network; the reader's own monospace font serves."""
    svg = re.sub(r"\s*@font-face \{.*?\}|\s*<!--.*?-->", "", svg, flags=re.DOTALL)
    return svg.replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace")


if __name__ == "__main__":
    main()
