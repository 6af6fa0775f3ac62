"""The two classes of probes, whose errors show no secrets."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from keyword import iskeyword
from typing import Any, Final, Generic, TypeAlias, TypeVar

from deltaspan._guard import class_name, safe_str
from deltaspan._interrupts import let_through
from deltaspan.checks import probe
from deltaspan.exceptions import DefinitionValueError, ProbeError
from deltaspan.probes._base.secrets import MAX_PASSWORD_LENGTH, without

__all__ = ["AsyncStateProbe", "Explain", "StateProbe"]

S = TypeVar("S")
Explain: TypeAlias = Callable[[Exception, Mapping[str, Any]], str]
"""Takes an error and the arguments of the read, and returns a text that quotes no data."""

_MAX_ERROR_LENGTH: Final = 4_000
"""Characters that an error keeps of a system's answer, since reports and telemetry carry it."""
_MAX_FORM_LENGTH: Final = 12
"""The most characters that one character of a secret takes where it is quoted, such as `%f0%9f%98%80`."""


class _BaseProbe:
    """The names, call text and secrets that both kinds of probe hold.

    Args:
        call: the call that made the probe, as it reads in source, for `repr()` and errors.
        needs: names of the arguments that a read takes: parameters of the action, or `causal_tag`.
        secrets: texts that no error may show.
        blocking: False if only the thread of the action may read.
        content: whether the state is content. Values of content leave the process only if the check says
            `.showing()`.
        hint: a sentence about why a change may stay unseen.
        explain: renders an error of a read. By default, the name of its class and its text.

    Raises:
        DefinitionValueError: a needed name is a keyword of Python.

    Attributes:
        table: the name of the rows that it reads, for reports about them.
    """

    table: str

    def __init__(
        self,
        call: str,
        needs: Iterable[str],
        secrets: Iterable[str],
        *,
        blocking: bool,
        content: bool,
        hint: str | None,
        explain: Explain | None,
    ) -> None:
        needs = tuple(needs)
        for name in needs:
            if iskeyword(name):  # inspect.Parameter rejects it too, since Python 3.11
                raise DefinitionValueError(
                    f"{name!r} cannot be the name of an argument, since it is a keyword of Python; rename it"
                )
        self._secrets = frozenset(secrets)
        self._call = without(call, self._secrets)
        self._explain = explain
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in needs]
        )
        subclass: Any = self  # a subclass can be called
        probe(blocking=blocking, content=content, hint=hint)(subclass)

    def _error_text(self, error: Exception, values: Mapping[str, Any]) -> str:
        if self._explain is None:
            name, text = class_name(type(error)), safe_str(error, "")
            reason = f"{name}: {self._shortened(text)}" if text else name
        else:
            reason = self._explain(error, values)
        return without(f"{self._call} could not be read: {reason}", self._secrets)

    def _shortened(self, text: str) -> str:
        if len(text) <= _MAX_ERROR_LENGTH:
            return text
        # The cut may leave half of a secret, or half of a URL's credentials. These characters go as well.
        margin = _MAX_FORM_LENGTH * max(map(len, self._secrets), default=0) + MAX_PASSWORD_LENGTH
        return f"{without(text[: _MAX_ERROR_LENGTH + margin], self._secrets)[:-margin]} …"

    def __repr__(self) -> str:
        return self._call


class StateProbe(_BaseProbe, Generic[S]):
    """A probe that waits for a disk or a network.

    In an async action another thread reads it.

    Args:
        read: reads the state, given what the probe needs by keyword.
        call: as for `_BaseProbe`.
        needs: as for `_BaseProbe`.
        secrets: as for `_BaseProbe`.
        blocking: as for `_BaseProbe`.
        content: as for `_BaseProbe`.
        hint: as for `_BaseProbe`.
        explain: as for `_BaseProbe`.

    Raises:
        ProbeError: at a read, for any error of `read`. Its text has no secrets.
    """

    def __init__(
        self,
        read: Callable[..., S],
        call: str,
        needs: Iterable[str] = (),
        secrets: Iterable[str] = (),
        *,
        blocking: bool = True,
        content: bool = False,
        hint: str | None = None,
        explain: Explain | None = None,
    ) -> None:
        super().__init__(call, needs, secrets, blocking=blocking, content=content, hint=hint, explain=explain)
        self._read = read

    def __call__(self, *args: Any, **kwargs: Any) -> S:
        try:
            state = self._read(*args, **kwargs)
        except ProbeError:
            raise
        except Exception as error:
            let_through(error)
            text = self._error_text(error, kwargs)
        else:
            # If the source is known only at the read, it may turn out to be async. The engine awaits it.
            return self._awaited(state, kwargs) if inspect.iscoroutine(state) else state  # type: ignore[return-value]
        # Raised outside of the handler: a chained exception could quote a secret.
        raise ProbeError(text)

    async def _awaited(self, state: Awaitable[Any], values: Mapping[str, Any]) -> Any:
        try:
            return await state
        except ProbeError:
            raise
        except Exception as error:
            let_through(error)
            text = self._error_text(error, values)
        raise ProbeError(text)


class AsyncStateProbe(_BaseProbe, Generic[S]):
    """A probe that awaits, for async actions."""

    def __init__(
        self,
        read: Callable[..., Awaitable[S]],
        call: str,
        needs: Iterable[str] = (),
        secrets: Iterable[str] = (),
        *,
        content: bool = False,
        hint: str | None = None,
        explain: Explain | None = None,
    ) -> None:
        super().__init__(call, needs, secrets, blocking=False, content=content, hint=hint, explain=explain)
        self._read = read

    async def __call__(self, *args: Any, **kwargs: Any) -> S:
        try:
            return await self._read(*args, **kwargs)
        except ProbeError:
            raise
        except Exception as error:
            let_through(error)
            text = self._error_text(error, kwargs)
        raise ProbeError(text)
