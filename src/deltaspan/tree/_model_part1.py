"""The tree as text, one line a run, for terminals: what spans say cannot steer them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from deltaspan.tree._checks import CheckVerdict
    from deltaspan.tree._model import Finding, Run, Span, SpanId

__all__ = ["draw", "printable"]

_SIGNS: Final = {"pass": "✓", "fail": "✗", "observed": "·", "skipped": "·"}
_ENCLOSING: Final = "○"
_DEEPEST: Final = 40
"""Deeper runs are drawn at this depth and say their own: else the text of a chain grows with its square."""
_LONGEST: Final = 80
_LONGEST_EXPLANATION: Final = 400
_MOST_EFFECTS: Final = 6
_MOST_CHECKS: Final = 16

Key: TypeAlias = "str | SpanId"
"""What names a node: a run's tag, or an enclosing span's id."""


class _Row(NamedTuple):
    """One node at its depth, with the lines that stand below it and whether nodes are below it."""

    depth: int
    text: str
    details: Sequence[str]
    has_children: bool


def draw(runs: Sequence[Run], findings: Sequence[Finding]) -> str:
    """Draw runs, each followed by what it caused, then what is wrong with them."""
    lines: list[str] = []
    indents: list[str] = []
    rows = list(_rows(runs))
    for row, is_last in zip(rows, _are_last([row.depth for row in rows]), strict=True):
        depth = min(row.depth, _DEEPEST)
        branch = "" if depth == 0 else "└─ " if is_last else "├─ "
        del indents[depth:]
        if depth == len(indents):
            indents.append("" if depth == 0 else "   " if is_last else "│  ")
        before = "".join(indents[:depth])
        deeper = f"[depth {row.depth}] " if row.depth > _DEEPEST else ""
        lines.append(f"{before}{branch}{deeper}{row.text}")
        below = "".join(indents[: depth + 1]) + ("│  " if row.has_children and depth < _DEEPEST else "   ")
        lines += [f"{below}{detail}" for detail in row.details]
    if findings:
        lines += ["", *(f"! {finding.explanation}" for finding in findings)]
    return "\n".join(lines or ["no actions"])


def printable(text: object, longest: int = _LONGEST) -> str:
    """Return text from elsewhere as one short line that no terminal takes for a command."""
    shown = str(text)
    if len(shown) > longest:
        shown = f"{shown[:longest]}…"
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in shown)


def _rows(runs: Sequence[Run]) -> Iterator[_Row]:
    """Yield the runs and the spans that enclose them, each followed by what is below it."""
    nodes: dict[Key, Run | Span] = {}
    below: dict[Key | None, list[Key]] = {}
    path: list[str] = []  # the runs above the present one
    for run in runs:
        del path[run.depth :]
        above: Key | None = path[-1] if path else None
        for span in run.enclosing:
            if span.id not in nodes:
                nodes[span.id] = span
                below.setdefault(above, []).append(span.id)
            above = span.id
        nodes[run.tag] = run
        below.setdefault(above, []).append(run.tag)
        path.append(run.tag)
    waiting = [(key, 0) for key in reversed(below.get(None, ()))]
    while waiting:
        key, depth = waiting.pop()
        node, children = nodes[key], below.get(key, ())
        waiting += [(child, depth + 1) for child in reversed(children)]
        text, details = (_line(node), _details(node)) if isinstance(key, str) else (_span(node), ())  # type: ignore[arg-type]
        yield _Row(depth, text, details, bool(children))


def _are_last(depths: Sequence[int]) -> list[bool]:
    """Say of each node whether no other one below the same parent follows."""
    last = [True] * len(depths)
    following: list[int] = []  # at each depth, how many nodes have been seen after the present one
    for place in range(len(depths) - 1, -1, -1):
        depth = depths[place]
        following += [0] * (depth + 1 - len(following))
        del following[depth + 1 :]
        last[place] = following[depth] == 0
        following[depth] += 1
    return last


def _line(run: Run) -> str:
    words = [_SIGNS.get(run.outcome or "", "?"), printable(run.action)]
    if run.attempt > 1:
        words.append(f"(attempt {run.attempt})")
    words.append(run.outcome or "no verdict")
    if run.failed:
        words[-1] += ": " + ", ".join(printable(metric) for metric in run.failed)
    if run.claim is not None:
        words.append(f"(claims {run.claim})")
    if run.service:
        words.append(f"in {printable(run.service)}")
    return f"{' '.join(words)}, {run.duration * 1000:.1f} ms, {run.tag}"


def _span(span: Span) -> str:
    service = f" in {printable(span.service)}" if span.service else ""
    name = printable(span.name) or "unnamed span"
    return f"{_ENCLOSING} {name}{service}, {max(0, span.end - span.start) / 1e6:.1f} ms"


def _details(run: Run) -> list[str]:
    unproven = [check for check in run.checks if check.outcome not in {"pass", None}]
    lines = [_why(check) for check in unproven[:_MOST_CHECKS]]
    if len(unproven) > _MOST_CHECKS:
        lines.append(f"and {len(unproven) - _MOST_CHECKS} more checks that are not a pass")
    return [*lines, f"effects: {_effects(run.effects)}"] if run.effects else lines


def _why(check: CheckVerdict) -> str:
    reason = "" if check.reason is None else f" ({printable(check.reason)})"
    return f"{check.outcome}{reason}: {printable(check.explanation or check.metric, _LONGEST_EXPLANATION)}"


def _effects(effects: Iterable[Span]) -> str:
    counted = Counter(
        printable(effect.name) + (f" ({effect.kind})" if effect.kind not in {"", "internal"} else "")
        for effect in effects
    )
    shown = [name if count == 1 else f"{name} x{count}" for name, count in counted.items()]
    rest = len(shown) - _MOST_EFFECTS
    return ", ".join(shown[:_MOST_EFFECTS]) + (f" and {rest} more" if rest > 0 else "")
