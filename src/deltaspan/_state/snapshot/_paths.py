"""Where in a state something is: the keys that lead to it, and their text."""

from __future__ import annotations

from deltaspan._guard import EXHAUSTED, class_name
from deltaspan._interrupts import let_through

__all__ = ["Path"]


class Path(tuple[object, ...]):
    """The keys that lead from the root of a state to one entry of it, outermost first.

    A path is the tuple of the *original* keys, so it equals and hashes like that tuple; an index into a
    sequence is an int. Its text is made only when asked for.

    Example:
        >>> path = Path(("orders", 3, "status"))
        >>> path.text, path.member
        ('orders/3/status', 'orders/3/status')
        >>> Path((42,)).text, Path((42,)).member
        ('42', 42)
    """

    __slots__ = ()

    @property
    def text(self) -> str:
        """The keys as text, joined by `/`; within a key `~` is `~0` and `/` is `~1`, as in RFC 6901."""
        return "/".join(map(_escaped, self))

    @property
    def member(self) -> object:
        """What names this entry in an expectation: the original key at the top level, below it the text."""
        return self[0] if len(self) == 1 else self.text

    def __str__(self) -> str:
        return self.text


def _escaped(key: object) -> str:
    try:
        text = str.__str__(str(key))
    except EXHAUSTED:
        raise
    except BaseException as error:
        let_through(error)
        # The text of a key may be broken. Where it stands must be said all the same.
        text = f"<{class_name(type(key))}>"
    return text.replace("~", "~0").replace("/", "~1")
