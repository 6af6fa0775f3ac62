"""A probe of a whole database finds damage in any table and row."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.dialects import postgresql, sqlite

from deltaspan import change, collect_reports, expects, unchanged, window
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError, ProbeError
from deltaspan.probes import sql
from deltaspan.probes._sql._parameters import parse_parameters, quoted_names

SCHEMA = """
    CREATE TABLE flows (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, photo BLOB);
    CREATE TABLE lines ("order" INTEGER, line INTEGER, item TEXT, PRIMARY KEY ("order", line));
    CREATE TABLE log (entry TEXT);
    CREATE TABLE loose (name TEXT PRIMARY KEY, n INTEGER);
    CREATE VIEW names AS SELECT name FROM customers;
    INSERT INTO flows VALUES (1, 'a');
    INSERT INTO customers VALUES (1, 'Ada', x'00'), (2, 'Bo', NULL);
    INSERT INTO lines VALUES (1, 1, 'ink'), (1, 2, 'paper');
    INSERT INTO log VALUES ('x'), ('x'), ('y');
    INSERT INTO loose VALUES (NULL, 1), (NULL, 2);
"""


def run(engine, *statements):
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))


def found(engine, probe, *statements):
    """Return the reported changes of an action that runs these statements."""
    with window("act", unchanged("db", probe)) as w:
        run(engine, *statements)
    check = w.report["db"]
    delta = check.actual_delta or {}
    return check.outcome, {kind: sorted(map(str, changes)) for kind, changes in delta.items() if changes}


def test_a_deletion_in_another_table_than_the_actions_is_named(engine):
    @expects(
        change("flows", sql.rows(engine, "flows")).by(1),
        unchanged("db", sql.database(engine, exclude=["flows"])),
    )
    def create_flow():
        run(engine, "INSERT INTO flows (name) VALUES ('b')", "DELETE FROM customers WHERE id = 2")

    with collect_reports() as reports:
        create_flow()
    report = reports[0]

    assert [check.outcome for check in report] == ["pass", "fail"]
    assert report["db"].explanation == "expected db to stay unchanged, but it removed 'customers/2'"


@pytest.mark.parametrize(
    ("statement", "damage"),
    [
        ("SELECT 1", None),
        ("INSERT INTO customers VALUES (3, 'Cy', NULL)", {"added": ["customers/3"]}),
        ("UPDATE customers SET name = 'Al' WHERE id = 1", {"modified": ["customers/1"]}),
        ("UPDATE customers SET photo = x'01' WHERE id = 1", {"modified": ["customers/1"]}),
        ("UPDATE customers SET photo = '' WHERE id = 2", {"modified": ["customers/2"]}),
        ("UPDATE customers SET id = 9 WHERE id = 1", {"added": ["customers/9"], "removed": ["customers/1"]}),
        ("DELETE FROM lines WHERE line = 2", {"removed": ["lines/(1, 2)"]}),
        ("UPDATE loose SET n = 3 WHERE n = 2", {"modified": ["loose/None"]}),
        ("CREATE TABLE new (id INTEGER)", {"added": ["new"]}),
        ("DROP TABLE lines", {"removed": ["lines"]}),
        ("ALTER TABLE customers RENAME COLUMN photo TO picture", {"modified": ["customers/(columns)"]}),
        ("DROP VIEW names", None),
    ],
)
def test_every_change_of_a_table_is_detected(engine, statement, damage):
    expected = ("pass", {}) if damage is None else ("fail", damage)

    assert found(engine, sql.database(engine), statement) == expected


def test_rows_without_a_key_are_counted_by_content(engine):
    outcome, damage = found(engine, sql.database(engine), "DELETE FROM log WHERE rowid = 1")

    assert (outcome, list(damage)) == ("fail", ["modified"])
    assert damage["modified"][0].startswith("log/")


def test_only_limits_changes_to_named_tables(engine):
    with window("act", change("db", sql.database(engine)).only("flows/*")) as w:
        run(engine, "INSERT INTO flows (name) VALUES ('b')")

    assert w.report["db"].outcome == "pass"


def test_tables_are_left_out_by_name_or_pattern(engine):
    assert list(sql.database(engine, exclude=["c*", "lines", "l?g"])()) == ["flows", "loose"]


def test_a_database_of_a_connection_that_a_function_opens_is_the_same(engine, path):
    assert sql.database(lambda: sqlite3.connect(path))() == sql.database(engine)()


def test_a_database_without_tables_is_empty_and_a_first_table_is_detected(tmp_path):
    (tmp_path / "empty.sqlite").touch()
    empty = create_engine(f"sqlite:///{tmp_path / 'empty.sqlite'}")

    assert found(empty, sql.database(empty), "CREATE TABLE t (a)") == ("fail", {"added": ["t"]})
    empty.dispose()


def test_a_missing_schema_is_not_read_as_empty(engine):
    with pytest.raises(ProbeError, match="there is no schema 'nope'"):
        sql.database(engine, schema="nope")()


def test_a_schema_is_named(engine):
    assert sql.database(engine, schema="main")() == sql.database(engine)()


def test_more_rows_than_the_limit_name_the_largest_table_and_the_cheaper_probe(engine):
    with pytest.raises(ProbeError) as caught:
        sql.database(engine, limit=14)()

    assert str(caught.value) == (
        "database(engine) could not be read: there are more than 14 rows, most of them in 'log': leave that "
        "out, exclude=['log'], and count its rows with rows()"
    )
    assert len(sql.database(engine, limit=15)()) == 5


def test_all_tables_are_read_at_one_moment(engine, monkeypatch):
    # Another connection writes to both tables after the first was read: either all of it is seen, or nothing.
    from deltaspan.probes._sql import _digests  # noqa: PLC0415  # it is patched here

    run(engine, "PRAGMA journal_mode = WAL")
    collect_rows = _digests.collect_rows

    def interrupted(*args, **options):
        rows = collect_rows(*args, **options)
        run(engine, "INSERT INTO flows (name) VALUES ('late')", "INSERT INTO log VALUES ('late')")
        return rows

    before = sql.database(engine)()
    monkeypatch.setattr(_digests, "collect_rows", interrupted)

    assert sql.database(engine)() == before


@pytest.mark.parametrize("limit", [0, True, 1.5, 1_000_001])
def test_a_limit_is_a_number_of_rows_that_can_be_compared(engine, limit):
    with pytest.raises(DefinitionValueError, match="limit= is a number of rows, at most 1000000"):
        sql.database(engine, limit=limit)


@pytest.mark.parametrize("exclude", ["flows", [1]])
def test_tables_to_leave_out_are_a_list(engine, exclude):
    with pytest.raises(DefinitionTypeError, match="exclude= takes a list of tables"):
        sql.database(engine, exclude=exclude)


def test_an_open_connection_of_a_driver_is_rejected(path):
    with (
        closing(sqlite3.connect(path)) as connection,
        pytest.raises(DefinitionTypeError, match="pass an engine"),
    ):
        sql.database(connection)


# The text of a query ----------------------------------------------------------------------------------------


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
def test_only_parameters_are_recognized_and_the_statement_stays_unchanged(sql, names):
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
def test_literals_and_comments_of_mysql_are_recognized(sql):
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
def test_a_literal_that_may_be_intended_is_accepted(sql):
    assert list(quoted_names(sql)) == []


def test_double_quotes_of_mysql_enclose_text():
    assert [name for _, name in quoted_names('t = "$a" OR t = "{b}"', mysql=True)] == ["a", "b"]
