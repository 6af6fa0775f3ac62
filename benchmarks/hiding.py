"""CPU time per span for hiding credentials, with deploy/collector/config.yaml.

Run: python benchmarks/hiding.py [--seconds N]

The collector is the one of `tools/build collector`, with the shipped configuration and with the same one
without redaction. Spans of two passing checks are sent as in benchmarks/collector.py. Nothing is stored.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

import psutil
import yaml
from collector import ROOT, await_health, cpu, free_port, send

HIDING = {"transform/expose", "redaction", "transform/conceal"}
CONFIG = ROOT / "deploy" / "collector" / "config.yaml"


def cost(binary: Path, config: Path, seconds: float) -> float:
    """Return the CPU seconds per span."""
    grpc, health = free_port(), free_port()
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "OTLP_GRPC_ENDPOINT": f"127.0.0.1:{grpc}",
            "OTLP_HTTP_ENDPOINT": f"127.0.0.1:{free_port()}",
            "HEALTH_ENDPOINT": f"127.0.0.1:{health}",
            "METRICS_HOST": "127.0.0.1",
            "METRICS_PORT": str(free_port()),
            "STORAGE_DIRECTORY": folder,
            "KEEP_PERCENT": "0",
            "DECISION_WAIT": "1s",
        }
        with (
            (Path(folder) / "log").open("wb") as log,
            subprocess.Popen(  # noqa: S603  # our own
                [binary, "--config", config], env=os.environ | environment, stdout=log, stderr=log
            ) as process,
        ):
            try:
                await_health(health, process)
                send(grpc, 1, compressed=False)
                measured = psutil.Process(process.pid)
                before = cpu(measured)
                spans = send(grpc, seconds, compressed=False)
                return (cpu(measured) - before) / spans
            finally:
                process.kill()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10, help="seconds of load for each")
    options = parser.parse_args()
    path = subprocess.run(  # noqa: S603  # our own
        [ROOT / "tools" / "build", "--path", "collector"], check=True, capture_output=True, text=True
    )
    binary = Path(path.stdout.strip())
    if not binary.exists():
        print(f"{binary} is not there: build it with `tools/build collector` (Go; once), then run this again")
        return
    bare = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    for pipeline in bare["service"]["pipelines"].values():
        pipeline["processors"] = [name for name in pipeline["processors"] if name not in HIDING]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        yaml.safe_dump(bare, file)
        file.flush()
        without = cost(binary, Path(file.name), options.seconds)
    hiding = cost(binary, CONFIG, options.seconds)
    print(f"{'without':10} {without * 1e6:8.0f} us a span")
    print(f"{'hiding':10} {(hiding - without) * 1e6:8.0f} us a span more")


if __name__ == "__main__":
    main()
