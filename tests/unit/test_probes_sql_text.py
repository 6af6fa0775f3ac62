"""Which colon in SQL is a parameter, and that every other reaches the database as it was written."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.dialects import postgresql, sqlite

from deltaspan.probes._sql._text import parsed


def sent(sql, dialect=None, **options):
    """Return the parameters of SQL, and what a driver with named parameters is sent."""
    found, names = parsed(sql, **options)
    dialect = dialect or sqlite.dialect(paramstyle="named")
    return names, str(text(found).compile(dialect=dialect))


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("tenant = :tenant", ("tenant",)),
        ("a = :b AND c=:d OR e = :b", ("b", "d")),
        ("(:a,:b)", ("a", "b")),
        ("at > '12:30:00' AND x = ':no'", ()),
        ("x = 'it''s :no' AND y = :yes", ("yes",)),
        ('":no" = :yes', ("yes",)),
        ("`:no` = :yes", ("yes",)),
        ("x = 1 -- :no\n AND y = :yes", ("yes",)),
        ("x = 1 /* :no\n :no */ AND y = :yes", ("yes",)),
        ("x::text = y :: int", ()),
        ("x = $$ :no ' $$ AND y = $t$ :no $$ $t$ AND z = :yes", ("yes",)),
        ("x = $ä$ :no $ä$ AND y = :yes", ("yes",)),
        (r"x = E'it\'s :no' AND y = :yes", ("yes",)),
        (r"x = 'ends in \' AND y = :yes", ("yes",)),
        ("tags[1:2] = tags[:2]", ()),
        ('at = \'{"a":1, ":b": 2}\'', ()),
        (r"x ~ '\:no'", ()),
    ],
)
def test_only_what_is_a_parameter_is_taken_for_one_and_nothing_else_is_touched(sql, names):
    assert sent(sql) == (names, sql)


def test_a_cast_right_behind_a_parameter_is_a_cast():
    assert sent("id = :id::bigint") == (("id",), "id = :id::bigint")


@pytest.mark.parametrize(
    "sql",
    [
        r"x = 'it\'s :no' AND y = :yes",
        r'x = "he \"says\" :no" AND y = :yes',
        "x = 1 # it's :no\n AND y = :yes",
    ],
)
def test_mysql_has_literals_and_comments_of_its_own(sql):
    assert sent(sql, mysql=True) == (("yes",), sql)


def test_a_percent_sign_is_doubled_for_drivers_that_format():
    names, found = sent("a % 2 = :x AND b LIKE 'x%'", postgresql.dialect(paramstyle="pyformat"))

    assert (names, found) == (("x",), "a %% 2 = %(x)s AND b LIKE 'x%%'")
