"""Content in the delta of ready-made probes: changes are named, values hidden."""

from __future__ import annotations

import json
import sqlite3

import pytest
from sqlalchemy import create_engine, select, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from deltaspan import (
    change,
    collect_reports,
    expects,
    keyed,
    observe,
    override,
    probe,
    tagged,
    unchanged,
    window,
)
from deltaspan._reports import CheckReport
from deltaspan._reports._content import hide_content, outline
from deltaspan._verdicts import PASS
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.probes import combine, files, http, sql

BEFORE, AFTER = "canary-before", "canary-after"


class Base(DeclarativeBase):
    pass


class Note(Base):
    __tablename__ = "notes"
    id: Mapped[int] = mapped_column(primary_key=True)
    body: Mapped[str]


@pytest.fixture
def database(tmp_path):
    """Return an engine with one row, and an action that changes and adds rows."""
    engine = create_engine(f"sqlite:///{tmp_path / 'notes.sqlite'}")
    Base.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO notes (id, body) VALUES (7, :body)"), {"body": BEFORE})

    def act():
        with engine.begin() as connection:
            connection.execute(text("UPDATE notes SET body = :body WHERE id = 7"), {"body": AFTER})
            connection.execute(text("INSERT INTO notes (id, body) VALUES (8, :body)"), {"body": AFTER})

    yield engine, act
    engine.dispose()


def everything_told(w, recorded, probe):
    report = w.report
    told = [str(report), repr(report), report.feedback(), repr(probe), json.dumps(report["x"].to_dict())]
    told += [str(recorded.span.attributes), str(recorded.span.status.description)]
    told += [str(event.attributes) for event in recorded.events]
    return told


def records_of(engine):
    return sql.records(engine, "notes")


def rows_of_a_query(engine):
    return sql.query(engine, "SELECT id, body FROM notes ORDER BY id")


def rows_of_a_select(engine):
    return sql.query(engine, select(Note))


def refuse(state):
    raise ValueError(f"{state!r} is not liked")


CLAIMS = [
    lambda probe: change("x", probe),
    lambda probe: change("x", probe).adding("wrong"),
    lambda probe: change("x", probe).adding(lambda result: result),
    lambda probe: change("x", probe).to(lambda pre_state: pre_state),
    lambda probe: change("x", probe).satisfying(lambda delta: 1 / 0, "divides"),
    lambda probe: change("x", probe).satisfying(lambda delta, post_state: refuse(post_state), "is liked"),
    lambda probe: change("x", probe).to(lambda pre_state: refuse(pre_state)),
    lambda probe: change("x", probe).adding(count=1, where=lambda value: refuse(value)),
    lambda probe: change("x", probe).by(1),
    lambda probe: change("x", probe).or_unchanged_on_error(),
    lambda probe: unchanged("x", probe),
    lambda probe: observe("x", probe),
]


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("read", [records_of, rows_of_a_query, rows_of_a_select])
def test_no_value_of_a_row_is_exposed(database, recorded, read, claim):
    engine, act = database
    probe = read(engine)
    with window("write", claim(probe)) as w:
        act()
        w.result = AFTER

    assert not [each for each in everything_told(w, recorded, probe) if "canary" in each]


@pytest.mark.parametrize("claim", CLAIMS)
def test_no_text_of_a_file_is_exposed(tmp_path, recorded, claim):
    file = tmp_path / "notes.txt"
    file.write_text(BEFORE)
    probe = files.text(file)
    with window("write", claim(probe)) as w:
        file.write_text(AFTER)
        w.result = AFTER

    assert not [each for each in everything_told(w, recorded, probe) if "canary" in each]


@pytest.mark.parametrize("claim", CLAIMS)
def test_no_line_of_a_log_is_exposed(tmp_path, recorded, claim):
    log = tmp_path / "app.log"
    log.write_text(f"{BEFORE}\n")
    probe = files.lines(log)
    with window("write", claim(probe)) as w, log.open("a") as file:
        file.write(f"{AFTER}\n")
        w.result = AFTER

    assert not [each for each in everything_told(w, recorded, probe) if "canary" in each]


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("pointer", [None, "/data", "/data/0/name"])
def test_no_part_of_a_document_is_exposed(api, recorded, claim, pointer):
    api.document = {"data": [{"name": BEFORE}], "total": 1}
    probe = http.json(api.url, pointer=pointer)
    with window("write", claim(probe)) as w:
        api.document = {"data": [{"name": AFTER}], "total": 2}
        w.result = AFTER

    assert not [each for each in everything_told(w, recorded, probe) if "canary" in each]


def test_changed_content_is_named_by_key_and_path_only(database):
    engine, act = database
    with window("write", change("x", sql.records(engine, "notes")).modifying("7/body")) as w:
        act()
    check = w.report["x"]

    assert check.outcome == "fail"
    assert check.explanation == (
        "x did not change as expected (modifying '7/body'), for it added key 8 and modified '7/body'; its "
        "values are content and not shown; say .showing() to see them"
    )
    assert check.to_dict()["pre_state"] == {"7": {"id": "(content)", "body": "(content)"}}
    assert check.actual_delta["modified"] == {"7/body": ("(content)", "(content)")}


def test_the_verdict_is_reached_on_the_values(tmp_path):
    file = tmp_path / "version"
    file.write_text("1")
    with window("write", change("x", files.text(file)).from_("1").to("3")) as w:
        file.write_text("2")
    with window("write", change("y", files.text(file)).from_("2").to("3")) as v:
        file.write_text("3")

    assert (w.report["x"].outcome, v.report["y"].outcome) == ("fail", "pass")
    assert v.report["y"].explanation == "y changed, as expected"
    assert v.report["y"].post_state == "(text of 1 characters)"


@pytest.mark.parametrize("word", [lambda c: c.ending_at("note"), None], ids=["ending_at", "unchanged"])
def test_an_unchanged_content_state_that_passes_is_described_as_such(word):
    read = probe(content=True)(lambda: "note")
    check = unchanged("x", read) if word is None else word(change("x", read))
    with window("act", check) as w:
        pass

    assert w.report["x"].explanation == ("x did not change, as expected; it was so already before the action")


def test_a_state_that_is_one_number_is_shown(api):
    api.document = {"total": 1}
    with window("write", change("x", http.json(api.url, pointer="/total")).by(1)) as w:
        api.document = {"total": 4}

    assert w.report["x"].explanation == "expected x to change by 1, but it changed by 3 (1 → 4)"


def columns(engine):
    return change("x", sql.records(engine, "notes", columns=["body"])).adding(8)


def showing(engine):
    return change("x", sql.records(engine, "notes")).adding(8).showing()


def scalar(engine):
    return change("x", sql.scalar(engine, "SELECT body FROM notes WHERE id = 7"))


@pytest.mark.parametrize("asking", [columns, showing, scalar])
def test_content_is_shown_if_the_author_requests_it(database, asking):
    engine, act = database
    with window("write", asking(engine)) as w:
        act()

    assert {BEFORE, AFTER} <= set(str(w.report).replace("'", " ").replace('"', " ").split())


def test_the_process_may_ask_for_all_of_it(database):
    engine, act = database
    with override(capture_state="full"), window("write", change("x", sql.records(engine, "notes"))) as w:
        act()

    assert AFTER in str(w.report)


def test_an_override_hides_content_that_the_process_shows(database):
    engine, act = database
    with (
        override(capture_state="full"),
        override(capture_state="summary"),
        window("write", change("x", sql.records(engine, "notes"))) as w,
    ):
        act()

    assert "canary" not in str(w.report)


def test_values_of_an_unmarked_function_are_shown():
    rows = {1: BEFORE}
    with window("write", change("x", lambda: rows)) as w:
        rows[1] = AFTER

    assert AFTER in str(w.report)


def test_a_user_function_may_be_marked_as_reading_content():
    rows = {1: BEFORE}
    read = probe(content=True)(lambda: rows)
    with window("write", change("x", read)) as w:
        rows[1] = AFTER

    assert "canary" not in str(w.report)
    assert w.report["x"].explanation == "x modified key 1, as expected"


def test_a_baseline_of_content_is_not_handed_over(tmp_path):
    (tmp_path / "a").write_text(BEFORE)
    w = window("write", change("x", files.text(tmp_path / "a")))
    w.capture_baseline()

    with pytest.raises(DefinitionValueError, match=r"reads content, and its baseline .* say \.showing\(\)"):
        w.to_json()
    assert "canary" not in str(w.verify())


def test_why_a_system_could_not_be_read_is_reported():
    with window("write", change("x", sql.records(lambda: sqlite3.connect(":memory:"), "notes"))) as w:
        pass

    assert "there is no table 'notes'" in w.report["x"].explanation


def test_a_check_is_either_redacted_or_showing(tmp_path):
    check = change("x", files.text(tmp_path / "a"))

    with pytest.raises(DefinitionValueError, match="is redacted and cannot be showing"):
        check.redacted().showing()
    with pytest.raises(DefinitionValueError, match="is showing and cannot be redacted"):
        check.showing().redacted()
    assert repr(check.showing()).endswith(".showing()")


# Errors and claims ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_report_of_an_action_that_raises_quotes_no_value(database, claim):
    engine, act = database

    @expects(claim(sql.records(engine, "notes")))
    def write():
        act()
        raise ValueError(f"cannot use {AFTER}")

    with collect_reports() as reports, pytest.raises(ValueError, match="canary-after"):
        write()
    [report] = reports
    told = [str(report), repr(report), report.feedback(), json.dumps(report["x"].to_dict())]

    assert not [each for each in told if "canary" in each]


@pytest.mark.parametrize("answer", [lambda: True, lambda result: refuse(result), lambda: False])
@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_reveals_no_content(database, recorded, claim, answer):
    engine, act = database
    probe = sql.records(engine, "notes")
    with window("write", claim(probe), claim=answer) as w:
        act()
        w.result = AFTER

    assert not [each for each in everything_told(w, recorded, probe) if "canary" in each]


@pytest.mark.parametrize("fails_at", [0, 1])
def test_an_exception_of_a_content_probe_is_reported_by_class_only(recorded, fails_at):
    reads = [dict, dict]
    reads[fails_at] = lambda: refuse(BEFORE)
    read = probe(content=True)(lambda: reads.pop(0)())
    with window("write", change("x", read)) as w:
        pass

    assert w.report["x"].reason in ("baseline_failed", "probe_failed")
    assert "(ValueError)" in w.report["x"].explanation
    assert w.report["x"].explanation.startswith("x: has no verdict, because ")
    assert not [each for each in everything_told(w, recorded, read) if "canary" in each]


def test_a_value_that_a_database_cannot_convert_is_not_quoted():
    class DataError(Exception):
        """As a driver of PostgreSQL raises it."""

    def fail():
        raise DataError(f'invalid input syntax for type integer: "it is "{BEFORE}""')

    with window("write", change("x", sql.query(fail, "SELECT body::int FROM notes"))) as w:
        pass

    assert w.report["x"].explanation.endswith("DataError: invalid input syntax for type integer: ***")


def test_no_value_of_an_unknown_kind_of_delta_is_shown():
    class Opaque:
        changed = True
        value = AFTER
        others_and_untagged = (AFTER, AFTER)

        def call(self):
            return AFTER

    expected = change("x", lambda: 3).expectation
    report = CheckReport("x", PASS, "window", None, (BEFORE,), (AFTER,), Opaque(), expected, 0.0)
    hidden = hide_content(report, claims_change=True, has_computed_operands=False)

    assert "canary" not in f"{hidden} {hidden.actual_delta} {hidden.others} {hidden.to_dict()}"
    assert hidden.explanation == "x changed, as expected"


def test_a_state_that_the_stack_has_no_room_for_is_hidden_as_a_whole():
    state = ()
    for _ in range(100_000):
        state = (state,)

    assert outline(state) == "(content)"
    while state:  # or it is freed by a recursion that is as deep
        (state,) = state


def test_the_origin_of_a_content_change_is_reported(database):
    engine, act = database
    with window("write", change("x", sql.records(engine, "notes"))) as w:
        act()

    assert w.report["x"].origin == "this_action"


class Rows(list):
    """A list of rows that also has them as an attribute."""

    @property
    def rows(self):
        return list(self)


@pytest.mark.parametrize("wrap", [lambda read: keyed(read, "id"), lambda read: combine(read)["rows"]])
def test_a_probe_derived_from_a_content_probe_is_a_content_probe(recorded, wrap):
    row = {"id": 1, "body": BEFORE}
    read = wrap(probe(content=True)(lambda: Rows([dict(row)])))
    with window("write", change("x", read)) as w:
        row["body"] = AFTER

    assert w.report.passed
    assert not [each for each in everything_told(w, recorded, read) if "canary" in each]


def test_the_tags_of_rows_are_not_content():
    rows = [{"id": 1, "tag": None}]
    read = tagged(
        probe(content=True, hint="the replica may lag behind")(lambda: list(rows)), key="id", tag="tag"
    )
    with window("write", change("x", read).by(1), change("y", read).by(1)) as w:
        rows.append({"id": 2, "tag": w.causal_tag})
    with window("write", change("x", read).by(1)) as idle:
        pass

    assert w.report["x"].post_state == {1: None, 2: w.causal_tag}
    assert "; the replica may lag behind" in idle.report["x"].explanation


# Hints ----------------------------------------------------------------------------------------------------


def test_a_hint_ends_the_sentence_of_a_claim_that_fails_because_nothing_changed():
    read = probe(hint="the replica may lag behind")(lambda: 3)
    with window("act", change("x", read).by(1)) as w:
        pass

    assert w.report["x"].explanation == (
        "expected x to change by 1, but it changed by 0 (3 → 3); the replica may lag behind"
    )


def test_no_hint_is_given_after_a_change_or_without_a_claim():
    number = [3]
    read = probe(hint="the replica may lag behind")(lambda: number[0])
    with window("act", change("x", read).by(1), unchanged("y", read), observe("z", read)) as w:
        number[0] = 9

    assert "replica" not in str(w.report)


@pytest.mark.parametrize("hint", ["", " ", 3])
def test_a_hint_is_a_sentence(hint):
    with pytest.raises(DefinitionTypeError, match="takes a sentence"):
        probe(hint=hint)(lambda: 3)


def test_a_decorated_action_hides_content_too(database):
    engine, act = database
    write = expects(change("x", sql.records(engine, "notes")).adding(8).allowing_others())(act)
    with collect_reports() as reports:
        write()

    assert reports[0].passed
    assert "canary" not in str(reports[0])
