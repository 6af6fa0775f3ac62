"""References with fields: an argument is a name there, never a part of git's revision syntax."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from deltaspan._templates import Template, filled, places_of, relative_fault

__all__ = ["filled_ref"]

_SYNTAX: Final = re.compile(r"^-|[\x00-\x20~^:?*\[\\\x7f]|\.\.|@\{|^@$|//|^/|/$|\.$|\.lock(?:/|$)")
"""What no name of a reference has, after git-check-ref-format: the rest of a revision is made of it."""


def filled_ref(template: Template, values: Mapping[str, Any]) -> str:
    """Return a reference with its fields replaced by names, or behind `:` by paths in the commit.

    Raises:
        ValueError: an argument is not a name, such as `main..main` or `--all`, or leads out of its folder.
    """
    for before, name, _ in places_of(template):
        text = filled(f"{{{name}}}", values)
        if ":" in before:
            fault = relative_fault(name, text)
            if fault is not None:
                raise ValueError(fault)
        elif _SYNTAX.search(text):
            raise ValueError(
                f"the field {{{name}}} is {text!r}, which is not the name of a branch, a tag or a commit; a "
                f"range is written in the template, as in 'main..{{{name}}}'"
            )
    return filled(template, values)
