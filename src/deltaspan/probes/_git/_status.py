"""What `git status --porcelain=v2 -z` prints, in words: path → state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__all__ = ["in_words"]

_WORDS: Final = {
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
_OF_SUBMODULES: Final = {"C": "new commits", "M": "modified content", "U": "untracked content"}


def in_words(entries: Iterable[str]) -> dict[str, str]:
    """Return path → state; a renamed file has two paths, and what happened is said of both."""
    found: dict[str, list[str]] = {}
    rest = iter(entries)
    for entry in rest:
        kind = entry[0]
        if kind == "?":
            found.setdefault(entry[2:], []).append("untracked")
        elif kind == "u":
            fields = entry.split(" ", 10)
            found.setdefault(fields[10], []).append(f"in conflict: {_CONFLICTS[fields[1]]}")
        elif kind in "12":
            fields = entry.split(" ", 8 if kind == "1" else 9)
            origin = next(rest) if kind == "2" else ""
            path = fields[-1]
            found.setdefault(path, []).extend(_changes(fields[1], fields[2], f" from {origin}"))
            if "R" in fields[1]:
                found.setdefault(origin, []).extend(
                    ("staged: " if place == 0 else "") + f"renamed to {path}"
                    for place, mark in enumerate(fields[1])
                    if mark == "R"
                )
    return {path: "; ".join(states) for path, states in found.items()}


def _changes(marks: str, submodule: str, origin: str) -> list[str]:
    staged, unstaged = (
        "" if mark == "." else _WORDS[mark] + (origin if mark in "RC" else "") for mark in marks
    )
    inside = ", ".join(_OF_SUBMODULES[mark] for mark in submodule[1:] if mark in _OF_SUBMODULES)
    if unstaged and inside:
        unstaged = f"{unstaged} ({inside})"
    return [*([f"staged: {staged}"] if staged else []), *([unstaged] if unstaged else [])]
