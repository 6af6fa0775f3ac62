"""Probes of a SQL query: parameters, reads and error texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from keyword import iskeyword
from typing import Any, Final, TypeAlias, TypeVar

from sqlalchemy import SelectBase
from sqlalchemy.exc import StatementError

from deltaspan.checks import leave_unscoped
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.probes._base.probe import AsyncStateProbe, StateProbe
from deltaspan.probes._base.secrets import MIN_SECRET_LENGTH, secrets_of
from deltaspan.probes._sql._drivers import is_connection
from deltaspan.probes._sql._parameters import (
    is_containment,
    parse_parameters,
    pattern_names,
    quoted_names,
    statement_parameters,
    substring_names,
)
from deltaspan.probes._sql._readers import Reader, SqlReadError
from deltaspan.probes._sql._sources import (
    LateSource,
    check_source,
    hint_about,
    is_async_source,
    is_bound_to_thread,
    is_mysql,
    password_of,
    read_async,
    read_sync,
)

S = TypeVar("S")
Params: TypeAlias = Mapping[str, Any] | None
Names: TypeAlias = str | Sequence[str]

MAX_ROWS: Final = 100_000
"""The default limit of rows."""


_QUOTES: Final = re.compile(r"\n(?:LINE \d|DETAIL:|CONTEXT:)")
_NEAR: Final = re.compile(r" near (?=['\"\\]).*(?= at line \d)")
"""The position of a mistake as MySQL quotes it, with the parameters written into the statement."""

_QUOTED: Final = re.compile(r"""['"«»„“”‚‘’].*['"«»„“”‚‘’]""")  # noqa: RUF001  # of messages in any language
"""A quoted value in an error. The value may contain quotes."""

_MAX_ASYNCPG_REPR: Final = 40
"""Characters to which asyncpg cuts the `repr()` of a parameter that it cannot convert."""


class SqlQuery:
    """SQL of the user, and the values of its parameters.

    Args:
        source: the source, as `check_source` returned it.
        sql: SQL with `:name` for parameters, or a `select()` with `bindparam("name")`; None for none.
        params: values of parameters, by name. The action's arguments give the others.

    Attributes:
        sql: SQL for `text()`; empty for a `select()`.
        statement: the `select()`, or None.
        params: values of parameters, by name.
        needs: the parameters that the action's arguments give.

    Raises:
        DefinitionTypeError: the SQL is not a str, or `params` is not a mapping.
        DefinitionValueError: `params` has a name that the SQL does not have, a parameter cannot name an
            argument, a parameter is quoted, or an argument would be a pattern.
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
            names, written = statement_parameters(self.statement)
        elif isinstance(sql, str | None):
            written = sql or ""
            _check_quoted(written, mysql=mysql)
            self.sql, names = parse_parameters(written, mysql=mysql)
        if not isinstance(sql, SelectBase | str | None) or not isinstance(params or {}, Mapping):
            raise DefinitionTypeError(
                "SQL is a str with :name for parameters, and params= a mapping of their values by name, not "
                f"{type(sql).__name__} and {type(params).__name__}"
            )
        self.params = dict(params or {})
        _check_params(self.params, names)
        self.needs = tuple(name for name in names if name not in self.params)
        _check_patterns(written, self.needs, mysql=mysql)
        self._parts = frozenset(substring_names(written, mysql=mysql)).intersection(self.needs)
        for name in self.needs:
            if not name.isidentifier() or iskeyword(name):
                raise DefinitionValueError(
                    f":{name} cannot be the name of an argument; rename it, or give its value in params="
                )

    def values(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of all parameters, given the action's arguments.

        Raises:
            SqlReadError: an argument is empty, and would be a part of every text.
        """
        for name in self._parts:
            if arguments[name] in ("", b""):
                raise SqlReadError(
                    f":{name} is empty, which is a part of every text and would match every row; pass a value"
                )
        return {**self.params, **{name: arguments[name] for name in self.needs}}


def _check_quoted(sql: str, *, mysql: bool) -> None:
    for literal, name in quoted_names(sql, mysql=mysql):
        raise DefinitionValueError(
            f"in SQL {literal} is literal text, not an argument; write :{name}, without quotes; to compare "
            f"with the text itself, give it in params="
        )


def _check_params(params: Mapping[str, Any], names: Collection[str]) -> None:
    for name in params:
        if name not in names:
            near = get_close_matches(str(name), names, n=1)
            hint = f"; did you mean :{near[0]}?" if near else ""
            raise DefinitionValueError(f"params= gives {name!r}, which the SQL does not name{hint}")


def _check_patterns(sql: str, needs: Collection[str], *, mysql: bool) -> None:
    for name, operator in pattern_names(sql, mysql=mysql):
        if name in needs and is_containment(operator):
            raise DefinitionValueError(
                f":{name} beside {operator} would match every row if it is an empty document, list or range: "
                f"compare one value, as in document ->> 'key' = :{name}, or give your own in params="
            )
        if name in needs:
            raise DefinitionValueError(
                f":{name} would be a pattern behind {operator}, and an argument such as '%' or '.*' would "
                f"match every row: compare it as text, as in substr(column, 1, length(:{name})) = :{name}, "
                f"or give a pattern of your own in params="
            )


def check_limit(limit: int, maximum: int | None = None) -> int:
    """Validate a limit of rows and return it.

    Raises:
        DefinitionValueError: the limit is not a positive int, or above the maximum.
    """
    if (
        isinstance(limit, bool)
        or not isinstance(limit, int)
        or limit < 1
        or (maximum is not None and limit > maximum)
    ):
        bound = "" if maximum is None else f", at most {maximum}"
        raise DefinitionValueError(f"limit= is a number of rows{bound}, not {limit!r}")
    return limit


def render_call(name: str, source: Any, *args: object, **options: Any) -> str:
    """Render the call that makes a probe, without the values of parameters."""
    kind = type(source).__name__.lower()
    kinds = ("engine", "scoped_session", "session", "sessionmaker", "connection")
    source_name = next((suffix for suffix in kinds if kind.endswith(suffix)), "connect")
    checked_source = check_source(source)
    if isinstance(checked_source, LateSource) and checked_source.names:
        source_name = ", ".join(checked_source.names)
    rendered_options = [
        f"{option}={sorted(value) if option == 'params' else value!r}"
        for option, value in options.items()
        if value is not None
    ]
    return f"{name}({', '.join([source_name, *map(_word, args), *rendered_options])})"


def _word(argument: Any) -> str:
    if isinstance(argument, str):
        return repr(argument)
    return argument.__name__ if isinstance(argument, type) else f"{type(argument).__name__.lower()}(...)"


def sql_probe(
    source: Any,
    query: SqlQuery,
    read: Callable[[Reader, Mapping[str, Any]], S],
    call: str,
    *,
    snapshot: bool = False,
    content: bool = False,
) -> StateProbe[S] | AsyncStateProbe[S]:
    """Make the probe of a query.

    Args:
        source: as `check_source` returned it.
        query: the SQL and its parameters.
        read: takes a reader and the values of the parameters, and returns the state.
        call: as for `StateProbe`.
        snapshot: whether all statements of a read must see the same moment.
        content: as for `StateProbe`.
    """
    names = source.names if isinstance(source, LateSource) else ()
    password = password_of(source)
    secrets = frozenset() if password is None else frozenset({password, *secrets_of(f"x://:{password}@x")})

    def read_source(**arguments: Any) -> Any:
        values = query.values(arguments)
        place = source.resolve(arguments) if isinstance(source, LateSource) else source
        read_place = read_async if is_async_source(place) else read_sync
        return read_place(place, lambda reader: read(reader, values), snapshot=snapshot)

    def explain(error: Exception, arguments: Mapping[str, Any]) -> str:
        if isinstance(error, SqlReadError):
            return str(error)
        return _error_text(error, query.values(arguments).values(), has_quotes=not content)

    hint = hint_about(source)
    if is_async_source(source):
        return AsyncStateProbe(
            read_source, call, query.needs, secrets, content=content, hint=hint, explain=explain
        )
    needs = tuple(dict.fromkeys((*names, *query.needs)))
    probe: StateProbe[S] = StateProbe(
        read_source, call, needs, secrets,
        blocking=not is_bound_to_thread(source), content=content, hint=hint, explain=explain,
    )  # fmt: skip
    # A session says how to read, not which rows: two sessions may see the same rows.
    leave_unscoped(probe, set(names) - set(query.needs))
    return probe


def _error_text(error: Exception, values: Collection[Any], *, has_quotes: bool) -> str:
    """Return an error of the database without its statement and parameters.

    Args:
        error: the error of the driver or of SQLAlchemy.
        values: the values of the parameters, which are hidden.
        has_quotes: whether the text may quote a value that the database has read.
    """
    cause: BaseException = error
    if isinstance(error, StatementError):
        if error.orig is None:
            return _hide_values(f"{type(error).__name__}: {error.args[0]}", values)
        cause = error.orig.__cause__ or error.orig if _is_wrapped(error.orig) else error.orig
    text = " ".join(_first_sentence(cause).split())
    if values:
        text = _NEAR.sub("", text)
    if not has_quotes and _is_about_data(cause):
        text = _QUOTED.sub("***", text)
    name = type(cause).__name__
    return _hide_values(f"{name}: {text}" if text else name, values)


def _first_sentence(error: BaseException) -> str:
    """Return the first sentence of a database's error.

    Later lines may quote the statement or a parameter.
    """
    message = getattr(getattr(error, "diag", None), "message_primary", None)  # of psycopg, in any language
    if message is None and error.args and isinstance(error.args[0], Mapping):
        message = error.args[0].get("M")  # of pg8000
    text = str(error) if message is None else str(message)
    return _QUOTES.split(text, maxsplit=1)[0]


def _is_about_data(error: BaseException) -> bool:
    """Return whether an error reports a value that could not be converted."""
    if error.args and isinstance(error.args[0], Mapping):
        return str(error.args[0].get("C", "")).startswith("22")  # of pg8000
    return any(kind.__name__ == "DataError" for kind in type(error).__mro__)


def _is_wrapped(error: BaseException) -> bool:
    return type(error).__module__.startswith("sqlalchemy.")


def _hide_values(text: str, values: Iterable[Any]) -> str:
    """Hide parameter values in a text, since they may be personal data."""
    for value in values:
        if value is None or isinstance(value, bool):
            continue
        text_form = repr(value)
        forms = {str(value), text_form[1:-1] if isinstance(value, str) else text_form}
        if len(text_form) > _MAX_ASYNCPG_REPR:
            forms.add(text_form[1:_MAX_ASYNCPG_REPR])
        forms |= {" ".join(form.split()) for form in forms}  # the text has its white space collapsed, too
        for form in sorted(forms, key=len, reverse=True):
            if form:
                # A short value is part of other words and numbers, such as `line 1`.
                before = r"(?<!\w)" if len(form) >= MIN_SECRET_LENGTH else r"(?:(?<=['\"(=])|(?<=: ))"
                text = re.sub(rf"{before}{re.escape(form)}(?!\w)", "***", text)
    return text
