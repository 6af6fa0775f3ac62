"""The errors for a value that cannot be frozen, with their one sentence."""

from __future__ import annotations

from deltaspan._guard import class_name, safe_str
from deltaspan._state.snapshot._paths import Path

_MAX_ERROR_TEXT = 100

_MAX_TEXT = 200


class Unfreezable(Exception):
    """A value of which no immutable snapshot can be taken.

    Only `freeze` raises it. Its text is one sentence that says what was found, where, and what to return
    instead, such as "found an iterator (generator) at orders/3: return list(rows) or a count instead".
    """


class Refusal(Exception):
    """A refused value, on its way up through the containers around it.

    Each container adds its key and its identity on the way, so that a successful copy pays nothing for paths
    and cycle detection. A cycle is found as a nesting that is too deep, in which one container occurs twice.

    Attributes:
        found: what was found, with its article: "a lock".
        instead: what to return instead: "return the values that it guards".
        too_deep: whether the depth limit was exceeded.
    """

    def __init__(self, found: str, instead: str, *, too_deep: bool = False) -> None:
        super().__init__(found)
        self.found = found
        self.instead = instead
        self.too_deep = too_deep
        self._keys: list[object] = []
        self._holders: list[int] = []

    def within(self, holder: object, key: object) -> Refusal:
        """Note that the refused value is at `key` of `holder`."""
        self._keys.append(key)
        self._holders.append(id(holder))
        return self

    def sentence(self) -> str:
        """Say what was found, where, and what to return instead."""
        keys = self._keys[::-1]
        found, instead = self.found, self.instead
        if self.too_deep:
            holders = self._holders[::-1]
            again = next((i for i, holder in enumerate(holders) if holder in holders[:i]), None)
            if again is not None:
                found, instead = "a cycle", "return values that do not contain themselves"
                keys = keys[:again]
            else:
                keys = []
        path = Path(keys).text
        if len(path) > _MAX_TEXT:
            path = path[:_MAX_TEXT] + "…"
        return f"found {found}{' at ' if path else ''}{path}: {instead} instead"


def failed_read(value: object, error: Exception, instead: str = "return plain values") -> Refusal:
    """Build the refusal of a value that raised when it was read."""
    text = " ".join(safe_str(error, "").split())[:_MAX_ERROR_TEXT]
    reason = f"{class_name(type(error))}: {text}" if text else class_name(type(error))
    return Refusal(f"a {class_name(type(value))} that could not be read ({reason})", instead)
