"""A probe of a question: what it needs of the action, how it is asked, and what is said when it fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from keyword import iskeyword
from typing import Any, Final, TypeAlias, TypeVar

from sqlalchemy import SelectBase
from sqlalchemy.exc import StatementError

from deltaspan._interrupts import let_through
from deltaspan.checks import leave_unscoped
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError, ProbeError
from deltaspan.probes._base.probe import AsyncStateProbe, StateProbe
from deltaspan.probes._base.secrets import SHORTEST, secrets_of, without
from deltaspan.probes._sql._drivers import is_connection
from deltaspan.probes._sql._parameters import named_in, parsed, pattern_names, quoted_names
from deltaspan.probes._sql._readers import Reader
from deltaspan.probes._sql._sources import (
    Named,
    checked,
    hint_about,
    is_awaited,
    is_mysql,
    is_shared,
    password_of,
    read_async,
    read_sync,
)

__all__ = ["MOST_ROWS", "Names", "Params", "Question", "asking", "called", "checked_limit"]

S = TypeVar("S")
Params: TypeAlias = Mapping[str, Any] | None
Names: TypeAlias = str | Sequence[str]

MOST_ROWS: Final = 100_000
"""How many rows are read if nothing else is said."""


_QUOTES: Final = re.compile(r"\n(?:LINE \d|DETAIL:|CONTEXT:)")
_NEAR: Final = re.compile(r" near (?=['\"\\]).*(?= at line \d)")
"""How MySQL shows where a statement is wrong, in which its driver has written the parameters."""

_QUOTED: Final = re.compile(r"""['"«»„“”‚‘’].*['"«»„“”‚‘’]""")  # noqa: RUF001  # of messages in any language
"""A value in an error, which may hold quotes itself."""

_MOST_OF_ASYNCPG: Final = 40
"""To how much of its `repr` asyncpg shortens a parameter that it cannot convert."""


class Question:
    """SQL of a developer, and where its parameters come from.

    Args:
        source: where it is asked, as `checked` returned it.
        sql: SQL with `:name` for parameters, or a `select()` with `bindparam("name")`; None for none.
        params: values of parameters, by name. What is not among them the action's arguments give.

    Attributes:
        sql: for `text()`; empty for a `select()`.
        statement: the `select()`, or None.
        needs: the names that the action gives.

    Raises:
        DefinitionTypeError: the SQL is not text, or `params` are not by name.
        DefinitionValueError: a parameter is given that the SQL does not name, one is named as no argument can
            be, one stands in quotes, where it is a text, or an argument would be a pattern.
    """

    def __init__(self, source: Any, sql: str | SelectBase | None, params: Mapping[str, Any] | None) -> None:
        self.statement = sql if isinstance(sql, SelectBase) else None
        mysql = is_mysql(source)
        names: tuple[str, ...] = ()
        self.sql = written = ""
        if self.statement is not None:
            if is_connection(source):
                raise DefinitionTypeError(
                    "a select() is read over SQLAlchemy: pass an engine or a session, or write SQL as text"
                )
            names, written = named_in(self.statement)
        elif isinstance(sql, str | None):
            written = sql or ""
            _refuse_quoted(written, mysql=mysql)
            self.sql, names = parsed(written, mysql=mysql)
        if not isinstance(sql, SelectBase | str | None) or not isinstance(params or {}, Mapping):
            raise DefinitionTypeError(
                "SQL is a text with :name for parameters, whose values params= gives by name"
            )
        self.params = dict(params or {})
        _refuse_unknown(self.params, names)
        self.needs = tuple(name for name in names if name not in self.params)
        _refuse_patterns(written, self.needs, mysql=mysql)
        for name in self.needs:
            if not name.isidentifier() or iskeyword(name):
                raise DefinitionValueError(
                    f":{name} cannot be the name of an argument: rename it, or give it in params="
                )


def _refuse_quoted(sql: str, *, mysql: bool) -> None:
    for literal, name in quoted_names(sql, mysql=mysql):
        raise DefinitionValueError(
            f"in SQL {literal} is that very text, and no argument: write :{name}, without quotes; to "
            f"mean the text itself, give it by params="
        )


def _refuse_unknown(params: Mapping[str, Any], names: Collection[str]) -> None:
    for name in params:
        if name not in names:
            near = get_close_matches(str(name), names, n=1)
            hint = f"; did you mean :{near[0]}?" if near else ""
            raise DefinitionValueError(f"params= gives {name!r}, which the SQL does not name{hint}")


def _refuse_patterns(sql: str, needs: Collection[str], *, mysql: bool) -> None:
    for name, operator in pattern_names(sql, mysql=mysql):
        if name in needs:
            raise DefinitionValueError(
                f":{name} would be a pattern behind {operator}, and an argument such as '%' or '.*' would "
                f"match every row: compare it as text, as in substr(column, 1, length(:{name})) = :{name}, "
                f"or give a pattern of your own by params="
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


def called(name: str, source: Any, *args: object, **options: Any) -> str:
    """Return the call that makes a probe as it reads in source; values of parameters are left out."""
    kind = type(source).__name__.lower()
    kinds = ("engine", "scoped_session", "session", "sessionmaker", "connection")
    where = next((known for known in kinds if kind.endswith(known)), "connect")
    given_by = checked(source)
    if isinstance(given_by, Named) and given_by.names:
        where = ", ".join(given_by.names)
    given = [
        f"{option}={sorted(value) if option == 'params' else value!r}"
        for option, value in options.items()
        if value is not None
    ]
    return f"{name}({', '.join([where, *map(_word, args), *given])})"


def _word(argument: Any) -> str:
    if isinstance(argument, str):
        return repr(argument)
    return argument.__name__ if isinstance(argument, type) else f"{type(argument).__name__.lower()}(...)"


def asking(
    source: Any,
    question: Question,
    read: Callable[[Reader, Mapping[str, Any]], S],
    words: str,
    *,
    snapshot: bool = False,
    content: bool = False,
) -> StateProbe[S] | AsyncStateProbe[S]:
    """Make the probe of a question.

    Args:
        source: as `checked` returned it.
        question: what is asked.
        read: takes a reader and the parameters, and returns the state.
        words: the call that made the probe.
        snapshot: everything is to be of one moment, though it takes several statements.
        content: whether what is read is content.
    """
    names = source.names if isinstance(source, Named) else ()
    password = password_of(source)
    secrets = frozenset() if password is None else frozenset({password, *secrets_of(f"x://:{password}@x")})

    def failure(error: Exception, values: Mapping[str, Any]) -> ProbeError:
        is_worded = isinstance(error, ProbeError)
        told = str(error) if is_worded else _told(error, values.values(), quotes=not content)
        return ProbeError(without(f"{words} could not be read: {told}", secrets))

    def asked(given: Mapping[str, Any]) -> dict[str, Any]:
        return {**question.params, **{name: given[name] for name in question.needs}}

    def ask(**given: Any) -> S:
        values = asked(given)
        try:
            where = source.resolved(given) if isinstance(source, Named) else source
            if is_awaited(where):
                return ask_there(where, values)  # type: ignore[return-value]  # the engine awaits it
            return read_sync(where, lambda reader: read(reader, values), snapshot=snapshot)
        except Exception as error:
            let_through(error)
            failed = failure(error, values)
        # Here, no exception is being handled: what would be chained to ours quotes the parameters.
        raise failed

    async def ask_later(**given: Any) -> S:
        return await ask_there(source, asked(given))

    async def ask_there(where: Any, values: Mapping[str, Any]) -> S:
        try:
            return await read_async(where, lambda reader: read(reader, values), snapshot=snapshot)
        except Exception as error:
            let_through(error)
            failed = failure(error, values)
        raise failed

    hint = hint_about(source)
    if is_awaited(source):
        return AsyncStateProbe(ask_later, words, question.needs, secrets, content=content, hint=hint)
    needs = tuple(dict.fromkeys((*names, *question.needs)))
    made = StateProbe(ask, words, needs, secrets, blocking=not is_shared(source), content=content, hint=hint)
    # A session says how to read, and not where: two of them may see the same rows.
    leave_unscoped(made, set(names) - set(question.needs))
    return made


def _told(error: Exception, values: Collection[Any], *, quotes: bool) -> str:
    """Return what the database said, without the statement and the parameters that SQLAlchemy adds to it.

    Args:
        error: what was raised.
        values: those of the parameters, which are hidden.
        quotes: whether it may quote a value that the database read.
    """
    cause: BaseException = error
    if isinstance(error, StatementError):
        if error.orig is None:
            return _hidden(f"{type(error).__name__}: {error.args[0]}", values)
        cause = error.orig.__cause__ or error.orig if _is_adapted(error.orig) else error.orig
    text = " ".join(_primary(cause).split())
    if values:
        text = _NEAR.sub("", text)
    if not quotes and _is_about_data(cause):
        text = _QUOTED.sub("***", text)
    name = type(cause).__name__
    return _hidden(f"{name}: {text}" if text else name, values)


def _primary(error: BaseException) -> str:
    """Return the sentence of an error, without what quotes the statement or a parameter after it."""
    said = getattr(getattr(error, "diag", None), "message_primary", None)  # of psycopg, in any language
    if said is None and error.args and isinstance(error.args[0], Mapping):
        said = error.args[0].get("M")  # of pg8000
    text = str(error) if said is None else str(said)
    return _QUOTES.split(text, maxsplit=1)[0]


def _is_about_data(error: BaseException) -> bool:
    """Return whether a database could not convert a value, which its text then quotes."""
    if error.args and isinstance(error.args[0], Mapping):
        return str(error.args[0].get("C", "")).startswith("22")  # of pg8000
    return any(kind.__name__ == "DataError" for kind in type(error).__mro__)


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
