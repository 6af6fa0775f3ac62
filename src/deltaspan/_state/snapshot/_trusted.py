"""Types that the language itself compares, hashes and writes.

A class may say that its values equal whatever they are compared with. Only what C code and the standard
library compare is compared by content.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from types import WrapperDescriptorType
from typing import Any, Final

_bases_of: Final = type.__dict__["__mro__"].__get__
_module_of: Final = type.__dict__["__module__"].__get__
_qualified_name_of: Final = type.__dict__["__qualname__"].__get__

_METHODS: Final = ("__eq__", "__ne__", "__hash__")

_MODULES: Final = frozenset({"enum", "fractions", "ipaddress", "pathlib", "uuid"})
"""The modules of the standard library whose classes compare and write themselves in Python code."""


def is_named_class(kind: type, name: str) -> bool:
    """Return whether a class is the one that its module has by this name.

    Any class may give itself the name of another.

    Args:
        kind: the class.
        name: the qualified name within its module.
    """
    found: Any = sys.modules.get(str(_module_of(kind)))
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is kind


@lru_cache(maxsize=1024)
def has_plain_equality(kind: type) -> bool:
    """Return whether no code of a user compares or hashes the values."""
    return all(_is_plain(kind, method) for method in _METHODS)


@lru_cache(maxsize=1024)
def has_plain_text(kind: type) -> bool:
    """Return whether no code of a user writes the text of the values."""
    return _is_plain(kind, "__str__") and _is_plain(kind, "__repr__")


def _is_plain(kind: type, method: str) -> bool:
    bases = _bases_of(kind)
    found = next((base.__dict__[method] for base in bases if method in base.__dict__), None)
    if found is None or (type(found) is WrapperDescriptorType and found.__name__ == method):
        return True  # one method under the name of another would lie
    # An enumeration has the methods of its base in its own namespace.
    return any(base.__dict__.get(method) is found and _is_standard(base) for base in bases)


def _is_standard(kind: type) -> bool:
    module = str(_module_of(kind)).partition(".")[0]
    return module in _MODULES and is_named_class(kind, _qualified_name_of(kind))
