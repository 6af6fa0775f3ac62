"""Watch an agent believe its tools, and deltaspan check them: `python examples/demo`.

There are seven scenes, each on a new SQLite database with data of other tenants. The exit status is 0 if
every check has the expected verdict, so that CI can run the demo.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from tempfile import TemporaryDirectory

import telemetry
from console import Console, wants_colour
from scenes import SCENES


def main() -> int:
    """Play the scenes, print the results, and return the exit status."""
    options = parse()
    console = Console(colour=wants_colour())
    destination = telemetry.set_up(options.output)

    console.opening()
    performances = []
    with TemporaryDirectory(prefix="deltaspan-demo-") as folder:
        for scene in SCENES:
            played = scene.play(Path(folder))
            performances.append(played)
            if scene.number in options.scenes:
                console.scene(played)
    console.summary(performances)

    console.say()
    for line in destination.finish(turn.report for played in performances for turn in played.turns):
        console.say(line)

    surprises = [surprise for played in performances for surprise in played.surprises()]
    for surprise in surprises:
        print(surprise, file=sys.stderr)
    return 1 if surprises else 0


def parse() -> Namespace:
    """Read the command line."""
    parser = ArgumentParser(prog="python examples/demo", description="Watch an agent believe its tools.")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("demo-output"),
        metavar="DIR",
        help="where telemetry goes as files",
    )
    numbers = [scene.number for scene in SCENES]
    parser.add_argument(
        "--scenes",
        type=int,
        nargs="+",
        choices=numbers,
        default=numbers,
        metavar="N",
        help="print only these in full",
    )
    return parser.parse_args()


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # a terminal without ✓ shows ?
    sys.exit(main())
