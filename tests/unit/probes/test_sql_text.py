"""Colons in SQL: parameters are found, and all others stay unchanged."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import text
from sqlalchemy.dialects import postgresql, sqlite

from deltaspan.exceptions import DefinitionValueError, ProbeError
from deltaspan.probes import sql
from deltaspan.probes._sql._parameters import parse_parameters, quoted_names


def sent(sql, dialect=None, **options):
    """Return the parameters of SQL, and what a driver with named parameters is sent."""
    found, names = parse_parameters(sql, **options)
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


@pytest.mark.parametrize(
    "literal", ["'{tenant}'", "':tenant'", "'$tenant'", "E':tenant'", '"{tenant}"', '":tenant"']
)
@pytest.mark.parametrize("sql", ["t = %s", "a = 1 AND t<>%s ", "t IN (%s, 'x')", "t LIKE %s", "f(t) = f(%s)"])
def test_a_literal_that_is_nothing_but_a_parameter_is_noticed(sql, literal):
    assert list(quoted_names(sql % literal)) == [(literal, "tenant")]


@pytest.mark.parametrize(
    "sql",
    [
        "t = :tenant",
        "t = 'of {tenant}' OR t = ':tenant.' OR t = '$1' OR t = '{}' OR t = '{1}' OR t = ':' OR t = '{a,b}'",
        "t = 'it''s ''{tenant}'",
        "x = 1 -- '{tenant}'",
        "x = $$ '{tenant}' $$",
        'SELECT "$ref" FROM schemas',
        "tags @> '{urgent}' AND tags && '{a}' AND '{b}' <@ tags AND tags <@ '{c}'",
        "doc #>> '{a}' = :x AND doc #> '{a}' IS NULL AND doc -> '$ref' = :y AND doc ->> '$ref' = :z",
        "tags = '{urgent}'::text[] OR tags = CAST('{urgent}' AS text[]) OR t = ANY ('{urgent}')",
        "jsonb_set(doc, '{a}', '1') = :x AND route ~ ':id'",
    ],
)
def test_a_literal_that_may_be_meant_is_left_alone(sql):
    assert list(quoted_names(sql)) == []


def test_in_mysql_double_quotes_are_those_of_a_text():
    assert [name for _, name in quoted_names('t = "$a" OR t = "{b}"', mysql=True)] == ["a", "b"]


# What an empty value would widen ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "where",
    [
        "doc @> :x",
        "doc @> :x::jsonb",
        "doc @> CAST(:x AS jsonb)",
        ":x <@ doc",
        "CAST(:x AS jsonb) <@ doc",
        "tenant = :t AND (:x) <@ doc",
        "period && :x",
        "path <@ :x",
        "jsonb_contains(doc, :x)",
        "JSON_CONTAINS(doc, :x)",
        "contains(body, :x)",
    ],
)
def test_an_argument_beside_containment_is_refused(where):
    with pytest.raises(DefinitionValueError, match=r":x beside .* would match every row if it is an empty"):
        sql.rows(sqlite3.connect, "flows", where=where)
    sql.rows(sqlite3.connect, "flows", where=where, params={"x": "{}"})


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT :x FROM t WHERE doc @> '{}'",
        "SELECT 1 FROM t WHERE a = :x AND doc @> '{}'",
        "SELECT 1 FROM t WHERE doc @> '{}' AND a = :x",
        "SELECT 1 FROM t WHERE f(doc) @> '{}' OR a IN (:x)",
    ],
)
def test_an_argument_away_from_containment_is_not(statement):
    sql.scalar(sqlite3.connect, statement)


@pytest.mark.parametrize(
    "where",
    [
        "substr(tenant, 1, length(:x)) = :x",
        "instr(tenant, :x) > 0",
        "tenant = upper(:x) OR instr(tenant, :x)",
    ],
)
@pytest.mark.parametrize("empty", ["", b""])
def test_an_empty_argument_that_is_a_part_of_every_text_has_no_state(where, empty):
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE flows (tenant TEXT)")
        db.execute("INSERT INTO flows VALUES ('acme'), ('other')")
        probe = sql.rows(db, "flows", where=where)

        assert probe(x="acme") == 1
        with pytest.raises(ProbeError, match=":x is empty, which is a part of every text"):
            probe(x=empty)


@pytest.mark.parametrize("value", [0, False, 0.0, "", "%", "0", None, b""])
def test_no_value_matches_every_text_of_sqlite(value):
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE flows (id INTEGER, tenant TEXT)")
        db.execute("INSERT INTO flows VALUES (1, 'acme'), (2, 'other')")

        assert sql.rows(db, "flows", where="tenant = :x")(x=value) == 0
        assert sql.rows(db, "flows", where="id = :x")(x=value) == 0
