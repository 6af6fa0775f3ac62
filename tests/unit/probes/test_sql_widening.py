"""Values by which a SQL statement would match every row are refused."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from deltaspan.exceptions import DefinitionValueError, ProbeError
from deltaspan.probes import sql


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
