"""A probe of a question: what it needs of the action, how it is asked, and what is said when it fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from keyword import iskeyword
from typing import Any, Final, TypeAlias, TypeVar

from sqlalchemy.exc import StatementError

from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError, ProbeError
from deltaspan.probes._secrets import SHORTEST, secrets_of, without
from deltaspan.probes._sql._readers import Reader
from deltaspan.probes._sql._sources import is_awaited, is_mysql, is_shared, password_of, read_async, read_sync
from deltaspan.probes._sql._text import parsed, pattern_names, quoted_names
from deltaspan.probes._state_probe import AsyncStateProbe, StateProbe

__all__ = ["MOST_ROWS", "Names", "Params", "Question", "asking", "called", "checked_limit"]

S = TypeVar("S")
Params: TypeAlias = Mapping[str, Any] | None
Names: TypeAlias = str | Sequence[str]

MOST_ROWS: Final = 100_000
"""How many rows are read if nothing else is said."""


_QUOTES: Final = re.compile(r"\n(?:LINE \d|DETAIL:|CONTEXT:)")
_NEAR: Final = re.compile(r" near (?=['\"\\]).*(?= at line \d)")
"""How MySQL shows where a statement is wrong, in which its driver has written the parameters."""

_MOST_OF_ASYNCPG: Final = 40
"""To how much of its `repr` asyncpg shortens a parameter that it cannot convert."""


class Question:
    """SQL of a developer, and where its parameters come from.

    Args:
        source: where it is asked, as `checked` returned it.
        sql: SQL with `:name` for parameters; None for none.
        params: values of parameters, by name. What is not among them the action's arguments give.

    Attributes:
        sql: for `text()`.
        needs: the names that the action gives.

    Raises:
        DefinitionTypeError: the SQL is not text, or `params` are not by name.
        DefinitionValueError: a parameter is given that the SQL does not name, one is named as no argument can
            be, one stands in quotes, where it is a text, or an argument would be a pattern.
    """

    def __init__(self, source: Any, sql: str | None, params: Mapping[str, Any] | None) -> None:
        if not (sql is None or isinstance(sql, str)) or not isinstance(params or {}, Mapping):
            raise DefinitionTypeError(
                "SQL is a text with :name for parameters, whose values params= gives by name"
            )
        mysql = is_mysql(source)
        for literal, name in quoted_names(sql or "", mysql=mysql):
            raise DefinitionValueError(
                f"in SQL {literal} is that very text, and no argument: write :{name}, without quotes; to "
                f"mean the text itself, give it by params="
            )
        self.sql, names = parsed(sql or "", mysql=mysql)
        self.params = dict(params or {})
        for name in self.params:
            if name not in names:
                near = get_close_matches(str(name), names, n=1)
                hint = f"; did you mean :{near[0]}?" if near else ""
                raise DefinitionValueError(f"params= gives {name!r}, which the SQL does not name{hint}")
        self.needs = tuple(name for name in names if name not in self.params)
        for name, operator in pattern_names(sql or "", mysql=mysql):
            if name in self.needs:
                raise DefinitionValueError(
                    f":{name} would be a pattern behind {operator}, and an argument such as '%' or '.*' would "
                    f"match every row: compare it as text, as in substr(column, 1, length(:{name})) = :{name}, "
                    f"or give a pattern of your own by params="
                )
        for name in self.needs:
            if not name.isidentifier() or iskeyword(name):
                raise DefinitionValueError(
                    f":{name} cannot be the name of an argument: rename it, or give it in params="
                )


def checked_limit(limit: int, most: int | None = None) -> int:
    """Return how many rows there may be.

    Raises:
        DefinitionValueError: it is no number of rows, or more than can be compared.
    """
    if (
        isinstance(limit, bool)
        or not isinstance(limit, int)
        or limit < 1
        or (most is not None and limit > most)
    ):
        upto = "" if most is None else f", at most {most}"
        raise DefinitionValueError(f"limit= is a number of rows{upto}, not {limit!r}")
    return limit


def called(name: str, source: Any, *args: str, **options: Any) -> str:
    """Return the call that makes a probe as it reads in source; values of parameters are left out."""
    kind = type(source).__name__.lower()
    where = next((known for known in ("engine", "session", "connection") if kind.endswith(known)), "connect")
    given = [
        f"{option}={sorted(value) if option == 'params' else value!r}"
        for option, value in options.items()
        if value is not None
    ]
    return f"{name}({', '.join([where, *map(repr, args), *given])})"


def asking(
    source: Any,
    question: Question,
    read: Callable[[Reader, Mapping[str, Any]], S],
    words: str,
    *,
    snapshot: bool = False,
) -> StateProbe[S] | AsyncStateProbe[S]:
    """Make the probe of a question.

    Args:
        source: as `checked` returned it.
        question: what is asked.
        read: takes a reader and the parameters, and returns the state.
        words: the call that made the probe.
        snapshot: everything is to be of one moment, though it takes several statements.
    """
    password = password_of(source)
    secrets = frozenset() if password is None else frozenset({password, *secrets_of(f"x://:{password}@x")})

    def failure(error: Exception, values: Mapping[str, Any]) -> ProbeError:
        told = str(error) if isinstance(error, ProbeError) else _told(error, values.values())
        return ProbeError(without(f"{words} could not be read: {told}", secrets))

    def ask(**given: Any) -> S:
        values = {**question.params, **given}
        try:
            return read_sync(source, lambda reader: read(reader, values), snapshot=snapshot)
        except Exception as error:
            failed = failure(error, values)
        # Here, no exception is being handled: what would be chained to ours quotes the parameters.
        raise failed

    async def ask_later(**given: Any) -> S:
        values = {**question.params, **given}
        try:
            return await read_async(source, lambda reader: read(reader, values), snapshot=snapshot)
        except Exception as error:
            failed = failure(error, values)
        raise failed

    if is_awaited(source):
        return AsyncStateProbe(ask_later, words, question.needs, secrets)
    return StateProbe(ask, words, question.needs, secrets, blocking=not is_shared(source))


def _told(error: Exception, values: Collection[Any]) -> str:
    """Return what the database said, without the statement and the parameters that SQLAlchemy adds to it."""
    cause: BaseException = error
    if isinstance(error, StatementError):
        if error.orig is None:
            return _hidden(f"{type(error).__name__}: {error.args[0]}", values)
        cause = error.orig.__cause__ or error.orig if _is_adapted(error.orig) else error.orig
    text = " ".join(_primary(cause).split())
    if values:
        text = _NEAR.sub("", text)
    name = type(cause).__name__
    return _hidden(f"{name}: {text}" if text else name, values)


def _primary(error: BaseException) -> str:
    """Return the sentence of an error, without what quotes the statement or a parameter after it."""
    said = getattr(getattr(error, "diag", None), "message_primary", None)  # of psycopg, in any language
    if said is None and error.args and isinstance(error.args[0], Mapping):
        said = error.args[0].get("M")  # of pg8000
    text = str(error) if said is None else str(said)
    return _QUOTES.split(text, maxsplit=1)[0]


def _is_adapted(error: BaseException) -> bool:
    return type(error).__module__.startswith("sqlalchemy.")


def _hidden(text: str, values: Iterable[Any]) -> str:
    """Hide parameters: they may be personal, and databases quote what they cannot convert."""
    for value in values:
        if value is None or isinstance(value, bool):
            continue
        shown = repr(value)
        forms = {str(value), shown[1:-1] if isinstance(value, str) else shown}
        if len(shown) > _MOST_OF_ASYNCPG:
            forms.add(shown[1:_MOST_OF_ASYNCPG])
        forms |= {" ".join(form.split()) for form in forms}  # as white space is in the text
        for form in sorted(forms, key=len, reverse=True):
            if form:
                # A short one is a part of other words and numbers, such as `line 1`.
                before = r"(?<!\w)" if len(form) >= SHORTEST else r"(?:(?<=['\"(=])|(?<=: ))"
                text = re.sub(rf"{before}{re.escape(form)}(?!\w)", "***", text)
    return text
