"""What every probe of this package is: an object that names what it needs, and that tells no secret."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from keyword import iskeyword
from typing import Any, Final, Generic, TypeVar

from deltaspan._guard import class_name, safe_str
from deltaspan._interrupts import let_through
from deltaspan.checks import probe
from deltaspan.exceptions import DefinitionValueError, ProbeError
from deltaspan.probes._base.secrets import PASSWORD_MOST, without

__all__ = ["AsyncStateProbe", "StateProbe"]

S = TypeVar("S")

_MOST_SAID: Final = 4_000
"""Characters that an error keeps of what a system answered: a report of it goes to the agent, and is sent."""
_FORM_MOST: Final = 12
"""Characters that one of a secret takes at most where it is quoted, `%f0%9f%98%80`."""


class _Described:
    """What both kinds share: the names that they need, the words for them, what they must not say.

    Args:
        words: the call that made the probe, as it reads in source, for `repr()` and errors.
        needs: the names of the arguments that a read takes, of the action's parameters or `causal_tag`.
        secrets: texts that no error may show.

    Raises:
        DefinitionValueError: a name that it needs can be that of no argument.

    Attributes:
        table: what the rows that it reads are called, for whoever speaks of them.
    """

    table: str

    def __init__(self, words: str, needs: Iterable[str] = (), secrets: Iterable[str] = ()) -> None:
        needs = tuple(needs)
        for name in needs:
            if iskeyword(name):  # which inspect refuses since Python 3.11
                raise DefinitionValueError(
                    f"{name!r} cannot be the name of an argument: it is a word of Python"
                )
        self._secrets = frozenset(secrets)
        self._words = without(words, self._secrets)
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in needs]
        )

    def _said(self, error: Exception) -> str:
        name, text = class_name(type(error)), safe_str(error, "")
        if len(text) > _MOST_SAID:
            # What the cut may have left half of, a secret or the credentials of a URL, goes as well.
            half = _FORM_MOST * max(map(len, self._secrets), default=0) + PASSWORD_MOST
            text = f"{without(text[: _MOST_SAID + half], self._secrets)[:-half]} …"
        told = f"{name}: {text}" if text else name
        return without(f"{self._words} could not be read: {told}", self._secrets)

    def __repr__(self) -> str:
        return self._words


class StateProbe(_Described, Generic[S]):
    """A probe that waits for a disk or a network; in an async action it is read in another thread.

    Args:
        read: reads the state, given what the probe needs by keyword.
        words: see above, with `needs` and `secrets`.
        blocking: False where only the thread of the action may read.
        content: whether what it reads is content, whose values leave only if somebody asks for them.
        hint: what keeps a change from being seen, in words.

    Raises:
        ProbeError: at a read, for whatever `read` raised, in its words without the secrets.
    """

    def __init__(
        self,
        read: Callable[..., S],
        words: str,
        needs: Iterable[str] = (),
        secrets: Iterable[str] = (),
        *,
        blocking: bool = True,
        content: bool = False,
        hint: str | None = None,
    ) -> None:
        super().__init__(words, needs, secrets)
        self._read = read
        probe(blocking=blocking, content=content, hint=hint)(self)

    def __call__(self, *args: Any, **kwargs: Any) -> S:
        try:
            return self._read(*args, **kwargs)
        except ProbeError:
            raise
        except Exception as error:
            let_through(error)
            said = self._said(error)
        # Here, no exception is being handled: what would be chained to ours may quote a secret.
        raise ProbeError(said)


class AsyncStateProbe(_Described, Generic[S]):
    """A probe that awaits; it is for async actions."""

    def __init__(
        self,
        read: Callable[..., Awaitable[S]],
        words: str,
        needs: Iterable[str] = (),
        secrets: Iterable[str] = (),
        *,
        content: bool = False,
        hint: str | None = None,
    ) -> None:
        super().__init__(words, needs, secrets)
        self._read = read
        probe(content=content, hint=hint)(self)

    async def __call__(self, *args: Any, **kwargs: Any) -> S:
        try:
            return await self._read(*args, **kwargs)
        except ProbeError:
            raise
        except Exception as error:
            let_through(error)
            said = self._said(error)
        raise ProbeError(said)
