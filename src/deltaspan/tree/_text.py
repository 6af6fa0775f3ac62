"""The tree as text, one line a run, for terminals: what spans say cannot steer them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from deltaspan.tree._records import Finding, Run, Span

__all__ = ["draw", "printable"]

_SIGNS: Final = {"pass": "✓", "fail": "✗", "observed": "·", "skipped": "·"}
_DEEPEST: Final = 40
"""Deeper runs are drawn at this depth and say their own: else the text of a chain grows with its square."""
_LONGEST: Final = 80
_MOST_EFFECTS: Final = 6


def draw(runs: Sequence[Run], findings: Sequence[Finding]) -> str:
    """Draw runs, each followed by what it caused, then what is wrong with them."""
    lines: list[str] = []
    indents: list[str] = []
    for run, is_last in zip(runs, _are_last(runs), strict=True):
        depth = min(run.depth, _DEEPEST)
        branch = "" if depth == 0 else "└─ " if is_last else "├─ "
        del indents[depth:]
        if depth == len(indents):
            indents.append("" if depth == 0 else "   " if is_last else "│  ")
        before = "".join(indents[:depth])
        deeper = f"[depth {run.depth}] " if run.depth > _DEEPEST else ""
        lines.append(f"{before}{branch}{deeper}{_line(run)}")
        if run.effects:
            below = "".join(indents[: depth + 1]) + ("│  " if run.children and depth < _DEEPEST else "   ")
            lines.append(f"{below}effects: {_effects(run.effects)}")
    if findings:
        lines += ["", *(f"! {finding.explanation}" for finding in findings)]
    return "\n".join(lines or ["no actions"])


def printable(text: object) -> str:
    """Return text from elsewhere as one short line that no terminal takes for a command."""
    shown = str(text)
    if len(shown) > _LONGEST:
        shown = f"{shown[:_LONGEST]}…"
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in shown)


def _are_last(runs: Sequence[Run]) -> list[bool]:
    """Say of each run whether no other run below the same parent follows."""
    last = [True] * len(runs)
    following: list[int] = []  # at each depth, how many runs have been seen after the present one
    for place in range(len(runs) - 1, -1, -1):
        depth = runs[place].depth
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
    if run.service:
        words.append(f"in {printable(run.service)}")
    return f"{' '.join(words)}, {run.duration * 1000:.1f} ms, {run.tag}"


def _effects(effects: Iterable[Span]) -> str:
    counted = Counter(
        printable(effect.name) + (f" ({effect.kind})" if effect.kind not in {"", "internal"} else "")
        for effect in effects
    )
    shown = [name if count == 1 else f"{name} x{count}" for name, count in counted.items()]
    rest = len(shown) - _MOST_EFFECTS
    return ", ".join(shown[:_MOST_EFFECTS]) + (f" and {rest} more" if rest > 0 else "")
