"""Translate `git status --porcelain=v2 -z` into path → state in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_STATES: Final = {
    "A": "added",
    "C": "copied",
    "D": "deleted",
    "M": "modified",
    "R": "renamed",
    "T": "type changed",
}
_CONFLICTS: Final = {
    "DD": "both deleted",
    "AU": "added by us",
    "UD": "deleted by them",
    "UA": "added by them",
    "DU": "deleted by us",
    "AA": "both added",
    "UU": "both modified",
}
_SUBMODULE_STATES: Final = {"C": "new commits", "M": "modified content", "U": "untracked content"}


def describe_status(entries: Iterable[str]) -> dict[str, str]:
    """Return path → state, with an entry for both paths of a rename."""
    by_path: dict[str, list[str]] = {}
    rest = iter(entries)
    for entry in rest:
        kind = entry[0]
        if kind == "?":
            by_path.setdefault(entry[2:], []).append("untracked")
        elif kind == "u":
            fields = entry.split(" ", 10)
            by_path.setdefault(fields[10], []).append(f"in conflict: {_CONFLICTS[fields[1]]}")
        elif kind in "12":
            fields = entry.split(" ", 8 if kind == "1" else 9)
            origin = next(rest) if kind == "2" else ""
            path = fields[-1]
            by_path.setdefault(path, []).extend(_changes(fields[1], fields[2], f" from {origin}"))
            if "R" in fields[1]:
                by_path.setdefault(origin, []).extend(
                    ("staged: " if position == 0 else "") + f"renamed to {path}"
                    for position, mark in enumerate(fields[1])
                    if mark == "R"
                )
    return {path: "; ".join(states) for path, states in by_path.items()}


def _changes(marks: str, submodule: str, origin: str) -> list[str]:
    staged, unstaged = (
        "" if mark == "." else _STATES[mark] + (origin if mark in "RC" else "") for mark in marks
    )
    inside = ", ".join(_SUBMODULE_STATES[mark] for mark in submodule[1:] if mark in _SUBMODULE_STATES)
    if unstaged and inside:
        unstaged = f"{unstaged} ({inside})"
    return [*([f"staged: {staged}"] if staged else []), *([unstaged] if unstaged else [])]
