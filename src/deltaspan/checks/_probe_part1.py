"""The source text of words and operands, by which a check's `repr` reads as it was written."""

from __future__ import annotations

from typing import Any, Final

from deltaspan.checks._probe import name_of_probe

__all__ = ["WORDS_OF_CHANGE", "said", "source"]

WORDS_OF_CHANGE: Final = frozenset(
    {
        "adding", "allowing_others", "by", "by_at_least", "by_at_most", "by_between", "decreasing",
        "ending_at", "from_", "ignoring", "increasing", "keeping_others", "modifying", "only", "removing",
        "resizing", "satisfying", "to",
    }
)  # fmt: skip
"""The words that say what changes, or how far; the other two kinds of check are told where they belong."""


def source(value: Any) -> str:
    if callable(value):
        name = name_of_probe(value) or getattr(value, "__qualname__", None)
        if isinstance(name, str) and name.isidentifier():
            return name
    return repr(value)


def said(word: str, *operands: object, **options: object) -> str:
    parts = [source(operand) for operand in operands]
    parts += [f"{name}={source(option)}" for name, option in options.items() if option is not None]
    return f"{word}({', '.join(parts)})"
