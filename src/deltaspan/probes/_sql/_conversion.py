"""Comparisons of texts with numbers in MySQL and MariaDB.

They convert one to the other: `name = 0` holds for every text that does not begin with a number, and
`id = 'abc'` for the id 0. An argument of an agent would match rows that it does not name. A number is
therefore bound as its text. If the database reads a text as a number, it warns, and the read is no state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import isfinite
from typing import Any, Final

from sqlalchemy.engine import Dialect

from deltaspan.probes._sql._parameters import count_names

_DIALECTS: Final = frozenset({"mysql", "mariadb"})
_TRUNCATED: Final = 1292
"""The number of the warning that a text was read as a number."""
_MAX_SHOWN: Final = 40
"""Characters of a value by which a warning is recognized, since the database shortens it."""
_EXACT: Final = 2**53
"""From here on a text that is compared with an integer may equal its neighbour."""


def converts(dialect: Dialect) -> bool:
    """Return whether a database compares a text with a number by a conversion."""
    return dialect.name in _DIALECTS


def with_plain_numbers(sql: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with numbers as texts, except numbers of rows.

    Args:
        sql: the statement, with `:name` or `%(name)s` for parameters.
        values: values of parameters, by name.
    """
    counts = count_names(sql)
    return {name: value if name in counts else _as_text(value) for name, value in values.items()}


def _as_text(value: Any) -> Any:
    if isinstance(value, int) and abs(value) < _EXACT:
        return str(int(value))
    if isinstance(value, float) and isfinite(value):
        return float.__repr__(value)
    return f"{value:f}" if type(value) is Decimal and value.is_finite() else value


def check_warnings(warnings: Sequence[Sequence[Any]], values: Mapping[str, Any]) -> str | None:
    """Return the problem if a value was read as a number.

    Args:
        warnings: the rows of SHOW WARNINGS: level, number and message.
        values: values of parameters, by name.
    """
    messages = [str(row[2]) for row in warnings if len(row) > 2 and row[1] == _TRUNCATED]  # noqa: PLR2004
    for name, value in values.items():
        if isinstance(value, str) and any(_quoted(value) in message for message in messages):
            return (
                f"the database read the text of :{name} as a number, which may match rows that it does not "
                f"name; pass a number, or compare with CAST(column AS CHAR)"
            )
    return None


def _quoted(value: str) -> str:
    return f"value: '{value}'" if len(value) <= _MAX_SHOWN else f"value: '{value[:_MAX_SHOWN]}"
