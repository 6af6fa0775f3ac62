"""Probes of tables and statements, against SQLite over every kind of source."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from datetime import date
from decimal import Decimal
from types import ModuleType
from uuid import UUID

import pytest
from sqlalchemy import event, text

from deltaspan import change, collect_reports, current_causal_tag, expects, unchanged, window
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError, ProbeError
from deltaspan.probes import sql
from deltaspan.probes._sql._values import row_digest, row_key, to_python

SCHEMA = """
    CREATE TABLE flows (id INTEGER PRIMARY KEY, tenant TEXT, data BLOB, causal_tag TEXT, causal_root TEXT);
    CREATE TABLE "order" ("Group" TEXT, id INTEGER, PRIMARY KEY ("Group", id));
    CREATE TABLE "we""ird" ("a:b" INTEGER);
    INSERT INTO flows (tenant) VALUES ('acme'), ('acme'), ('globex');
    INSERT INTO "order" VALUES ('a', 1), ('b', 1);
    INSERT INTO "we""ird" VALUES (7), (7);
"""


@pytest.fixture(params=["engine", "opened", "connection"])
def source(request, path):
    """Each way to the same rows."""
    if request.param == "engine":
        yield request.getfixturevalue("engine")
    elif request.param == "opened":
        yield lambda: sqlite3.connect(path)
    else:
        with closing(sqlite3.connect(path)) as connection:
            connection.row_factory = sqlite3.Row
            yield connection


@pytest.fixture
def statements(engine):
    seen = []
    event.listen(engine, "before_cursor_execute", lambda c, cursor, statement, *_: seen.append(statement))
    return seen


def said(probe, **given):
    """Return what a probe says that cannot read."""
    with pytest.raises(ProbeError) as caught:
        probe(**given)
    assert caught.value.__context__ is None
    return str(caught.value).partition(" could not be read: ")[2]


# rows -----------------------------------------------------------------------------------------------------


def test_rows_counts(source):
    assert sql.rows(source, "flows")() == 3


def test_rows_fills_parameters_of_where_from_the_arguments_of_the_action(source):
    assert sql.rows(source, "flows", where="tenant = :tenant")(tenant="acme") == 2


def test_rows_accepts_params_too(source):
    probe = sql.rows(source, "flows", where="tenant = :tenant AND id > :least", params={"least": 1})

    assert probe(tenant="acme") == 1


@pytest.mark.parametrize("table", ["order", 'we"ird', "main.flows"])
def test_a_name_is_quoted_if_necessary(source, table):
    assert sql.rows(source, table)() in {2, 3}


def test_a_schema_given_apart_leaves_the_name_whole(engine):
    assert said(sql.rows(engine, "no.table", schema="main")).endswith("no such table: main.no.table")


def test_a_count_is_one_select(engine, statements):
    sql.rows(engine, "flows", where="tenant = :tenant")(tenant="acme")

    assert [s for s in statements if "PRAGMA" not in s] == [
        "SELECT count(*) AS count_1 \nFROM flows \nWHERE tenant = ?"
    ]


def test_a_parameter_that_the_action_does_not_have_is_rejected_with_the_nearest(engine):
    with pytest.raises(
        DefinitionTypeError, match=r"needs 'tennant', which does not exist; did you mean 'tenant'"
    ):

        @expects(change("flows", sql.rows(engine, "flows", where="tenant = :tennant")).by(1))
        def act(tenant): ...


def test_a_value_that_the_sql_does_not_name_is_rejected_with_the_nearest(engine):
    with pytest.raises(
        DefinitionValueError, match="gives 'tennant', which the SQL does not name; did you mean :tenant"
    ):
        sql.rows(engine, "flows", where="tenant = :tenant", params={"tennant": "acme"})


def test_a_parameter_that_no_argument_can_be_is_rejected(engine):
    with pytest.raises(DefinitionValueError, match=":class cannot be the name of an argument"):
        sql.rows(engine, "flows", where="tenant = :class")


def test_an_argument_scopes_a_check_and_the_causal_tag_attributes_it(engine):
    @expects(
        change("of_tenant", sql.rows(engine, "flows", where="tenant = :tenant")).by(1),
        change("of_tag", sql.rows(engine, "flows", where="causal_tag = :causal_tag")).by(1),
    )
    def create(tenant):
        with engine.begin() as connection:
            connection.execute(
                text("INSERT INTO flows (tenant, causal_tag) VALUES (:tenant, :tag)"),
                {"tenant": tenant, "tag": current_causal_tag()},
            )

    with collect_reports() as reports:
        create("acme")

    found = [(check.outcome, check.attribution) for check in reports[0]]
    assert found == [("pass", "scoped"), ("pass", "causal_tag")]


def test_data_in_a_parameter_stays_data(engine):
    assert sql.rows(engine, "flows", where="tenant = :tenant")(tenant="x' OR '1'='1") == 0


# records --------------------------------------------------------------------------------------------------


def test_records_are_known_by_the_primary_key(engine):
    row = {"id": 1, "tenant": "acme", "data": None, "causal_tag": None, "causal_root": None}

    assert sql.records(engine, "flows")()[1] == row


def test_records_take_the_columns_that_are_named(source):
    assert sql.records(source, "flows", key="id", columns="tenant")() == {
        1: {"tenant": "acme"},
        2: {"tenant": "acme"},
        3: {"tenant": "globex"},
    }


def test_records_of_several_key_columns_are_known_by_a_tuple(engine):
    assert list(sql.records(engine, "order")()) == [("a", 1), ("b", 1)]


def test_records_detects_added_removed_and_modified_rows(engine):
    probe = sql.records(engine, "flows", columns=["tenant"])
    check = change("flows", probe).adding(4).removing(1).modifying("2/tenant")
    with window("act", check) as w, engine.begin() as connection:
        connection.execute(text("INSERT INTO flows (id, tenant) VALUES (4, 'new')"))
        connection.execute(text("DELETE FROM flows WHERE id = 1"))
        connection.execute(text("UPDATE flows SET tenant = 'other' WHERE id = 2"))

    assert w.report["flows"].outcome == "pass"


def test_the_primary_key_is_asked_for_once(engine, statements):
    probe = sql.records(engine, "flows")
    probe()
    statements.clear()
    probe()

    assert len([s for s in statements if "query_only" not in s]) == 1


def test_a_table_without_a_primary_key_wants_a_key(engine):
    assert said(sql.records(engine, 'we"ird')) == ('we"ird has no primary key; name unique columns in key=')


def test_a_connection_of_a_driver_wants_a_key(path):
    with closing(sqlite3.connect(path)) as connection:
        assert said(sql.records(connection, "flows")) == (
            "a connection of this driver cannot list the primary key of 'flows'; name it in key="
        )


def test_two_rows_of_one_key_are_an_error(engine):
    assert said(sql.records(engine, "flows", key="tenant")) == (
        "two rows of flows have the same tenant; name unique columns in key="
    )


def test_more_records_than_the_limit_name_the_cheaper_probe(engine):
    assert said(sql.records(engine, "flows", limit=2)) == (
        "flows has more than 2 rows: narrow them by where=, or count them with rows()"
    )
    assert len(sql.records(engine, "flows", limit=3)()) == 3


def test_records_by_tag_are_a_tagged_probe(engine):
    probe = sql.records(engine, "flows", tag="causal_tag", root="causal_root")
    insert = text("INSERT INTO flows (tenant, causal_tag) VALUES ('acme', :tag)")

    with window("create", change("flows", probe).by(1)) as w, engine.begin() as connection:
        connection.execute(insert, {"tag": current_causal_tag()})
        connection.execute(insert, {"tag": "somebody else's"})
    check = w.report["flows"]

    assert (check.outcome, check.attribution, check.others) == ("pass", "causal_tag", 1)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"tag": "causal_tag", "columns": "tenant"}, "columns= or tag="),
        ({"root": "causal_root"}, "root= only with tag="),
        ({"limit": 0}, "limit= is a number of rows, not 0"),
    ],
)
def test_contradictory_or_invalid_options_are_rejected(engine, options, sentence):
    with pytest.raises(DefinitionValueError, match=sentence):
        sql.records(engine, "flows", **options)


@pytest.mark.parametrize("key", [3, [], [3]])
def test_a_key_that_is_not_a_name_is_rejected(engine, key):
    with pytest.raises(DefinitionTypeError, match="key= takes the name of a column"):
        sql.records(engine, "flows", key=key)


def test_a_missing_column_is_an_error_of_the_database_even_if_quoted(engine):
    # SQLite takes an unknown name in double quotes for a text, unless it stands behind its table.
    assert (
        said(sql.records(engine, "flows", columns="No Such"))
        == "OperationalError: no such column: flows.No Such"
    )


# scalar and query -----------------------------------------------------------------------------------------


def test_a_scalar_is_the_value_of_one_row_and_none_without_a_row(source):
    probe = sql.scalar(source, "SELECT tenant FROM flows WHERE id = :flow")

    assert (probe(flow=3), probe(flow=9)) == ("globex", None)


@pytest.mark.parametrize("statement", ["SELECT id FROM flows", "SELECT id, tenant FROM flows WHERE id = 1"])
def test_several_rows_or_columns_are_not_a_scalar(engine, statement):
    assert said(sql.scalar(engine, statement)).startswith("a scalar is one row of one column")


def test_a_query_is_rows_even_if_it_is_one_of_one_column(source):
    assert sql.query(source, "SELECT count(*) AS n FROM flows")() == ({"n": 3},)


def test_a_query_keeps_order_and_duplicates(engine):
    found = sql.query(engine, "SELECT tenant FROM flows ORDER BY id")()

    assert found == ({"tenant": "acme"}, {"tenant": "acme"}, {"tenant": "globex"})


def test_a_query_refuses_two_columns_of_one_name(engine):
    assert "rename one by AS" in said(sql.query(engine, "SELECT id, id FROM flows"))


def test_a_query_has_a_limit(engine):
    assert said(sql.query(engine, "SELECT id FROM flows", limit=2)).startswith("there are more than 2 rows")


def test_a_statement_that_writes_is_rejected_by_the_database(engine):
    assert "readonly database" in said(sql.query(engine, "DELETE FROM flows RETURNING id"))
    assert sql.rows(engine, "flows")() == 3


@pytest.mark.parametrize("statement", [None, " "])
def test_a_statement_must_be_one(engine, statement):
    with pytest.raises(DefinitionTypeError, match="a statement is SQL as text"):
        sql.query(engine, statement)


# Values ---------------------------------------------------------------------------------------------------


class _Range:
    def __str__(self):
        return "[1,3)"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (Decimal("1.50"), Decimal("1.50")),
        (date(2026, 11, 30), date(2026, 11, 30)),
        (UUID(int=7), UUID(int=7)),
        (memoryview(b"ab"), b"ab"),
        (b"\0" * 65, "65 bytes, blake2b:"),
        ({"a": [1, {"b": bytearray(b"x")}]}, {"a": (1, {"b": b"x"})}),
        (_Range(), "[1,3)"),
    ],
)
def test_values_are_plain(value, expected):
    found = to_python(value)

    assert found == expected or str(found).startswith(str(expected))


def test_large_binary_is_known_by_its_digest():
    assert to_python(b"\0" * 65) != to_python(b"\1" * 65)


def test_a_key_of_nested_collections_is_hashable():
    assert hash(row_key([[1, {"a": [2]}], {3}])) == hash(row_key([[1, {"a": [2]}], {3}]))


def test_a_digest_tells_types_apart_and_not_the_order_of_a_set():
    assert row_digest([1]) != row_digest(["1"])
    assert row_digest([None]) != row_digest([""])
    assert row_digest([{"a", "b", "c"}]) == row_digest([{"c", "b", "a"}])


def test_a_change_of_a_large_blob_is_detected(engine):
    with engine.begin() as connection:
        connection.execute(text("UPDATE flows SET data = zeroblob(100) WHERE id = 1"))
    with window("act", unchanged("flows", sql.records(engine, "flows"))) as w, engine.begin() as connection:
        connection.execute(text("UPDATE flows SET data = x'01' || zeroblob(99) WHERE id = 1"))

    assert "modified '1/data'" in w.report["flows"].explanation


# Read errors ----------------------------------------------------------------------------------------------


def test_a_missing_table_is_inconclusive_in_the_words_of_the_database(engine):
    with window("act", change("nope", sql.rows(engine, "nope")).by(1)) as w:
        pass

    assert (w.report["nope"].outcome, w.report["nope"].reason) == ("inconclusive", "baseline_failed")
    assert "OperationalError: no such table: nope" in w.report["nope"].explanation


def test_no_error_shows_the_parameters(engine):
    class Person:
        def __repr__(self):
            return "ann@example.com"

    words = said(sql.rows(engine, "flows", where="tenant = :who", params={"who": Person()}))
    assert "ann" not in words
    assert "ann" not in said(sql.rows(engine, "nope", where="tenant = :who"), who="ann@example.com")


def test_no_probe_shows_its_parameters_or_its_address(engine):
    probe = sql.rows(engine, "flows", where="tenant = :who", params={"who": "ann"})

    assert repr(probe) == "rows(engine, 'flows', where='tenant = :who', params=['who'])"


def test_a_dsn_in_an_error_shows_no_password():
    def connect():
        raise ConnectionError("invalid dsn: host=db password='s3c ret' user=ann")

    assert said(sql.rows(connect, "flows")) == "ConnectionError: invalid dsn: host=db password=*** user=ann"


def test_a_function_that_opens_no_connection_is_an_error():
    assert said(sql.rows(lambda: 3, "flows")) == (
        "the function must open a DB-API connection, but it returned 'int'"
    )


@pytest.mark.parametrize("source", [3, "sqlite://", None, sqlite3.Connection])
def test_a_value_that_is_not_a_source_is_rejected(source):
    with pytest.raises(DefinitionTypeError, match="not a source; pass an engine"):
        sql.rows(source, "flows")


@pytest.mark.parametrize("literal", ["'{tenant}'", "':tenant'", "'$tenant'"])
def test_an_argument_in_quotes_is_rejected_and_the_text_itself_goes_into_params(engine, literal):
    with pytest.raises(DefinitionValueError) as caught:
        sql.rows(engine, "flows", where=f"tenant = {literal}")

    assert str(caught.value) == (
        f"in SQL {literal} is literal text, not an argument; write :tenant, without quotes; to compare "
        f"with the text itself, give it in params="
    )
    assert sql.scalar(engine, "SELECT :text", params={"text": literal[1:-1]})() == literal[1:-1]


@pytest.mark.parametrize("table", ["", "main.", 3])
def test_a_table_must_be_named(engine, table):
    with pytest.raises((DefinitionTypeError, DefinitionValueError), match=r"names no table|is a str"):
        sql.rows(engine, table)


# Unknown drivers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("style", "placeholder", "given"),
    [
        ("qmark", "?", ["acme"]),
        ("numeric", ":1", ["acme"]),
        ("named", ":tenant", {"tenant": "acme"}),
        ("format", "%s", ["acme"]),
        ("pyformat", "%(tenant)s", {"tenant": "acme"}),
    ],
)
def test_a_driver_is_asked_in_its_own_parameter_style(monkeypatch, style, placeholder, given):
    asked = []

    class Cursor:
        description = (("n", None, None, None, None, None, None),)

        def execute(self, statement, values):
            asked.append((statement, type(given)(values)))

        def fetchall(self):
            return [{"n": 3}]

        def close(self): ...

    class Connection:
        def cursor(self):
            return Cursor()

        def rollback(self):
            asked.append("rollback")

        def close(self):
            asked.append("close")

    driver = ModuleType("some_driver")
    driver.paramstyle = style
    monkeypatch.setitem(sys.modules, "some_driver", driver)
    Connection.__module__ = "some_driver.connections"

    assert sql.rows(Connection(), "flows", where="tenant = :tenant")(tenant="acme") == 3
    assert asked == [(f"SELECT count(*) AS count_1 \nFROM flows \nWHERE tenant = {placeholder}", given)]
    asked.clear()
    assert sql.rows(lambda: Connection(), "flows", where="tenant = :tenant")(tenant="acme") == 3
    assert asked[-2:] == ["rollback", "close"]
    assert "SQLAlchemy does not know the driver" in said(sql.database(lambda: Connection()))
