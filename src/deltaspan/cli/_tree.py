"""The subcommand `deltaspan tree`: draw the causal tree of files or a Jaeger."""

from __future__ import annotations

import json
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from deltaspan.causal_tag import is_tag
from deltaspan.exceptions import SourceError
from deltaspan.tree import CausalTree, Reading, causal_tree, read_files, read_jaeger

if TYPE_CHECKING:
    from argparse import _SubParsersAction

PROVEN: Final = 0
UNPROVEN: Final = 1
BROKEN: Final = 3

_STATUS: Final = """\
exit status:
  0  every action passed, or claimed nothing, and the tree is whole
  1  an action failed, is inconclusive or has no verdict
  2  it could not be told: a wrong command line, nothing to read there, no action in it
  3  none of these, but the tree is broken: orphans, conflicts, cycles, duplicates, invalid tags;
     with --strict also effects without a tag, and whatever could not be read
"""
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_DURATION: Final = re.compile(r"([0-9]{1,6})([smhd])")


def add_to(commands: _SubParsersAction[ArgumentParser]) -> None:
    """Add the subcommand to the command line."""
    parser = commands.add_parser(
        "tree",
        help="show the causal tree of runs",
        description="Show the causal tree of runs, from the spans of any number of processes.",
        epilog=_STATUS,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="a file of OTLP/JSON, one export a line, or a pattern such as '*.jsonl'; - is standard input",
    )
    parser.add_argument(
        "--jaeger", metavar="URL", help="the URL of a Jaeger's UI, such as http://localhost:16686"
    )
    parser.add_argument("--root", type=_tag, metavar="UUID", help="only the run with this root's causal tag")
    parser.add_argument("--trace", metavar="ID", help="with --jaeger: only this trace")
    parser.add_argument(
        "--service", metavar="NAME", help="with --jaeger: only the traces with spans of this service"
    )
    parser.add_argument(
        "--since",
        type=_duration,
        metavar="AGO",
        help="with --jaeger: the age of the oldest traces, such as 90s, 15m, 1h, 7d; default 1d",
    )
    parser.add_argument(
        "--limit", type=_count, metavar="N", help="with --jaeger: the largest number of traces; default 1000"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--strict",
        action="store_true",
        help="also fail if effects carry no tag, or something could not be read; for pipelines",
    )
    parser.set_defaults(run=_run, parser=parser)


def _run(options: Namespace) -> int:
    reading = _read(options)
    tree = causal_tree(reading.spans, root=options.root)
    for complaint in reading.complaints:
        sys.stderr.write(f"deltaspan: {complaint}\n")
    if not tree.runs and not tree.findings:
        wanted = f"of the run {options.root}" if options.root else "of an action"
        raise SourceError(f"none of {len(reading.spans)} spans is {wanted}: there is nothing to show")
    if options.json:
        json.dump(tree.to_dict(), sys.stdout, indent=2, ensure_ascii=False)
        sys.stdout.write("\n")
    else:
        sys.stdout.write(f"{tree}\n\n{tree.summary}\n")
    return _status(tree, reading, strict=options.strict)


def _read(options: Namespace) -> Reading:
    for_jaeger = {name: getattr(options, name) for name in ("trace", "service", "since", "limit")}
    given = {name: value for name, value in for_jaeger.items() if value is not None}
    if options.jaeger is None:
        if not options.files:
            options.parser.error("name files of OTLP/JSON, or a Jaeger with --jaeger URL")
        if given:
            options.parser.error(f"--{next(iter(given))} needs --jaeger URL")
        return read_files(*options.files)
    if options.files:
        options.parser.error("name files or a Jaeger, not both")
    if not (options.root or options.trace or options.service):
        options.parser.error("select the spans of that Jaeger: --root UUID, --trace ID or --service NAME")
    if options.trace and options.root:  # the trace is read, and the tree is then limited to the run
        return read_jaeger(options.jaeger, **given)
    return read_jaeger(options.jaeger, root=options.root, **given)


def _status(tree: CausalTree, reading: Reading, *, strict: bool) -> int:
    if tree.unproven:
        return UNPROVEN
    allowed = tree.found() if strict else tree.found("untagged_effects")
    if len(allowed) < len(tree.findings) or (strict and reading.complaints):
        return BROKEN
    return PROVEN


def _tag(text: str) -> str:
    if not is_tag(text):
        raise ArgumentTypeError(f"{text!r} is not a causal tag: write a UUID in lower case, with hyphens")
    return text


def _duration(text: str) -> timedelta:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ArgumentTypeError(f"{text!r} is not a duration: write 90s, 15m, 1h or 7d")
    unit: Any = {_UNITS[match[2]]: int(match[1])}
    return timedelta(**unit)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not int(text):
        raise ArgumentTypeError(f"{text!r} is not a number of traces: write 1 or more")
    return int(text)
