"""Templates: `{name}` in a text stands for an argument of the action."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from string import Formatter
from typing import Any, Final, TypeAlias
from uuid import UUID

from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError

_SEPARATORS: Final = re.compile(r"[\\/]" if os.name == "nt" else "/")

Template: TypeAlias = "str | os.PathLike[str]"
"""A str with fields, in which `{{` is a brace; or a path, which is used literally."""


def fields_of(*templates: Template) -> tuple[str, ...]:
    """Return the names of the fields in templates, each once, in order.

    Raises:
        DefinitionTypeError: a template is neither a str nor a path.
        DefinitionValueError: a brace is left open, or a field is more than a plain name.
    """
    return tuple(
        dict.fromkeys(name for template in templates for _, name in parse_template(template) if name)
    )


def places_of(template: Template) -> Iterator[tuple[str, str, str]]:
    """Yield `(before, name, after)` for each field of a template.

    `before` and `after` are the text on either side. Other fields in it are one NUL each.
    """
    parts = [(literal, name) for literal, name in parse_template(template)]
    texts = [literal + ("" if name is None else "\0") for literal, name in parts]
    for index, (literal, name) in enumerate(parts):
        if name is not None:
            yield "".join(texts[:index]) + literal, name, "".join(texts[index + 1 :])


def has_fixed_length(name: str) -> bool:
    """Return whether no value of a field can be a prefix of another.

    This holds for causal tags.
    """
    return name == "causal_tag"


def relative_fault(name: str, text: str) -> str | None:
    """Return the reason that a text cannot be part of a relative path.

    The result is None if it can.

    Args:
        name: the field.
        text: its value.
    """
    parts = _SEPARATORS.split(text)
    if ".." in parts or parts[0] == "" or parts == ["."]:
        return f"the field {{{name}}} is {text!r}, which would lead the path to another place"
    return None


def fill(template: Template, values: Mapping[str, Any]) -> str:
    """Replace each field of a template by its value.

    Raises:
        TypeError: a value is not a str, an int, a UUID or a path; or it has two text forms, as members of an
            enum can have.
        ValueError: a value is empty, which would name a larger place: `lake/{tenant}` the whole lake.
    """
    return "".join(
        literal + ("" if name is None else _text(name, values[name]))
        for literal, name in parse_template(template)
    )


def parse_template(template: Template) -> Iterator[tuple[str, str | None]]:
    """Yield each stretch of literal text with the field that follows it.

    The field is None after the last stretch.

    Raises:
        DefinitionTypeError: the template is neither a str nor a path.
        DefinitionValueError: a brace is left open, or a field is more than a plain name.
    """
    if not isinstance(template, str):
        if not isinstance(template, os.PathLike):
            raise DefinitionTypeError(f"a template is a str or a path, not {template!r}")
        yield os.fspath(template), None
        return
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise DefinitionValueError(f"{template!r}: {error}; to write a brace, double it") from None
    for literal, name, spec, conversion in parts:
        # More than a name, such as `{user.password}` or `{n:>9}`, would run code of the value.
        if name is not None and (spec or conversion or not name.isidentifier()):
            raise DefinitionValueError(
                f"{template!r}: a field is the plain name of a parameter, as in '{{repo}}'; to write a "
                f"brace, double it"
            )
        yield literal, name


def _text(name: str, value: Any) -> str:
    if isinstance(value, str | int | UUID | PurePath) and not isinstance(value, bool):
        text = plain_text = str(value)
        if isinstance(value, str):
            plain_text = str.__str__(value)
        elif isinstance(value, int):
            plain_text = int.__repr__(value)
        if text != plain_text:
            # A wrong guess would read another place, and find nothing changed there.
            raise TypeError(
                f"the field {{{name}}} takes plain text: a {type(value).__name__} may be written "
                f"as {plain_text!r} or as {text!r}; pass its value"
            )
        if not text:
            raise ValueError(f"the field {{{name}}} is empty, which would name a larger place; pass a value")
        return text
    raise TypeError(f"the field {{{name}}} takes text, a number or a path, not a {type(value).__name__}")
