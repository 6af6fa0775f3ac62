"""The source text of words and operands, by which a check's `repr` reads as it was written."""

from __future__ import annotations

from typing import Any

__all__ = ["said", "source"]


def source(value: Any) -> str:
    if callable(value):
        name = getattr(value, "__qualname__", None)
        if isinstance(name, str) and name.isidentifier():
            return name
    return repr(value)


def said(word: str, *operands: object, **options: object) -> str:
    parts = [source(operand) for operand in operands]
    parts += [f"{name}={source(option)}" for name, option in options.items() if option is not None]
    return f"{word}({', '.join(parts)})"
