"""`.keeping_others()`: rows of this run by tag, and the rows of others as they were."""

import asyncio
import contextlib
import json
import pickle
import sqlite3
import threading
from collections import namedtuple
from contextlib import closing
from dataclasses import dataclass
from enum import Enum

import pytest
from sqlalchemy import create_engine, select, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.pool import NullPool

from deltaspan import (
    Window,
    change,
    collect_reports,
    current_causal_tag,
    expects,
    observe,
    semconv,
    tagged,
    unchanged,
    window,
)
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from deltaspan.probes import sql
from support.reports import reports_of

HINT = (
    "no other run is known to have written there meanwhile: if another writer did, let it stamp what it "
    "writes, narrow what the probe reads, or leave such rows out with .ignoring(...)"
)
STAMP = "did the stamp run? What this run writes must carry its causal tag"


class Orders:
    """Two rows of other runs and one without a tag, and changes of them by an action."""

    def __init__(self):
        self.rows = {1: ["ink", "theirs"], 2: ["pen", "theirs"], 3: ["wax", None]}
        self.probe = tagged(self.read, key="id", tag="tag")

    def read(self):
        return [{"id": key, "item": item, "tag": tag} for key, (item, tag) in self.rows.items()]

    def add(self, key, tag="mine"):
        self.rows[key] = ["new", current_causal_tag() if tag == "mine" else tag]

    def overwrite(self, key, **tag):
        self.rows[key] = ["other", tag.get("tag", self.rows[key][1])]

    def sign(self, key):
        self.overwrite(key, tag=current_causal_tag())

    def remove(self, key):
        del self.rows[key]

    def judged(self, say, act, **options):
        check = say(change("orders", self.probe)).keeping_others()
        with window("w", check, **options) as w:
            act(self)
        return w.report["orders"]


@pytest.fixture
def orders():
    return Orders()


def one_added(check):
    return check.adding(count=1)


# One row of its own, and nothing else -----------------------------------------------------------------------


def test_a_row_of_its_own_passes_by_tag(orders):
    check = orders.judged(one_added, lambda table: table.add(9))

    assert (check.outcome, check.attribution) == ("pass", "causal_tag")
    assert check.explanation == "orders added row 9 and kept other rows, as expected; 1 added by this run"


def test_rows_that_other_runs_signed_are_theirs(orders):
    def act(table):
        table.add(9)
        table.add(10, tag="another run")
        table.overwrite(1, tag="another run")
        table.overwrite(3, tag="another run")

    check = orders.judged(one_added, act)

    assert check.outcome == "pass"
    assert check.explanation == (
        "orders added row 9 and kept other rows, as expected; 1 added by this run, 3 by others"
    )


LIES = {
    "nothing done": (lambda table: None, "it changed no row of its own; none by this run"),
    "another row overwritten": (
        lambda table: table.overwrite(1),
        f"it changed no row of its own and it overwrote row 1; none by this run, 1 untagged; {STAMP}",
    ),
    "a row of another deleted as well": (
        lambda table: (table.add(9), table.remove(1)),
        f"it also removed row 1; 1 added by this run, 1 untagged; {HINT}",
    ),
    "a row of nobody deleted as well": (
        lambda table: (table.add(9), table.remove(3)),
        f"it also removed row 3; 1 added by this run, 1 untagged; {HINT}",
    ),
    "two added": (
        lambda table: (table.add(9), table.add(10)),
        "it added 2 members (9, 10); 2 added by this run",
    ),
    "one not signed": (
        lambda table: (table.add(9), table.add(10, tag=None)),
        f"it also added row 10 without a tag; 1 added by this run, 1 untagged; {HINT}",
    ),
    "a row of another overwritten as well": (
        lambda table: (table.add(9), table.overwrite(2)),
        f"it also overwrote row 2; 1 added by this run, 1 untagged; {HINT}",
    ),
    "a row of nobody overwritten as well": (
        lambda table: (table.add(9), table.overwrite(3)),
        f"it also overwrote row 3; 1 added by this run, 1 untagged; {HINT}",
    ),
    "a row of another taken over": (
        lambda table: (table.add(9), table.sign(1)),
        (
            "it also modified row 1 ('theirs' → 'TAG'), which was not declared; 1 added and 1 modified by "
            "this run"
        ),
    ),
    "all of it": (
        lambda table: (table.add(9), table.add(8, tag=None), table.remove(1), table.overwrite(2)),
        (
            "it also removed row 1, overwrote row 2 and added row 8 without a tag; 1 added by this run, 3 "
            f"untagged; {HINT}"
        ),
    ),
}


@pytest.mark.parametrize(("act", "said"), LIES.values(), ids=LIES)
def test_anything_else_fails_and_names_it(orders, act, said):
    check = orders.judged(one_added, act)

    assert check.outcome == "fail"
    explanation = check.explanation.replace(check.causal_tag, "TAG")
    assert explanation == f"expected orders to change by adding 1 member, keeping other rows, but {said}"


def test_a_change_that_no_tag_credits_is_credited_by_the_window(orders):
    check = orders.judged(one_added, lambda table: (table.add(9), table.remove(1)))

    assert (check.outcome, check.attribution) == ("fail", "window")


@pytest.mark.parametrize(
    "say",
    [
        lambda check: check,
        lambda check: check.by(1),
        lambda check: check.by_at_least(1),
        lambda check: check.resizing(1),
        lambda check: check.only(9),
        lambda check: check.satisfying(lambda delta: delta.changed, "anything"),
    ],
)
@pytest.mark.parametrize("harm", [Orders.remove, Orders.overwrite, Orders.sign])
def test_every_word_about_own_rows_combines_with_keeping_others(orders, say, harm):
    assert orders.judged(say, lambda table: table.add(9)).outcome == "pass"
    assert Orders().judged(say, lambda table: (table.add(9), harm(table, 1))).outcome == "fail"


def test_rows_that_are_ignored_are_not_kept(orders):
    check = orders.judged(
        lambda c: c.adding(count=1).ignoring(1), lambda table: (table.add(9), table.remove(1))
    )

    assert check.outcome == "pass"


def test_a_row_of_another_may_be_taken_over_if_that_is_declared(orders):
    check = orders.judged(lambda c: c.modifying(1), lambda table: table.sign(1))

    assert (check.outcome, check.attribution) == ("pass", "causal_tag")


def test_a_declared_change_without_a_tag_fails(orders):
    check = orders.judged(lambda c: c.modifying(1), lambda table: table.overwrite(1))

    assert check.outcome == "fail"
    assert check.explanation.endswith(STAMP)


# Removing rows of others ------------------------------------------------------------------------------------


def test_a_declared_removal_is_credited_by_the_window(orders):
    check = orders.judged(lambda c: c.removing(1), lambda table: table.remove(1))

    assert (check.outcome, check.attribution) == ("pass", "window")
    assert check.explanation == "orders removed row 1 and kept other rows, as expected; 1 removed by this run"


@pytest.mark.parametrize("act", [lambda table: None, lambda table: (table.remove(1), table.remove(2))])
def test_a_removal_that_is_not_the_declared_one_fails(orders, act):
    assert orders.judged(lambda c: c.removing(1), act).outcome == "fail"


def test_a_number_of_rows_may_be_removed(orders):
    say = lambda c: c.removing(count=2)  # noqa: E731

    assert orders.judged(say, lambda table: (table.remove(1), table.remove(2))).outcome == "pass"
    assert Orders().judged(say, lambda table: [table.remove(key) for key in (1, 2, 3)]).outcome == "fail"


# Other windows ----------------------------------------------------------------------------------------------


def beside_another(table, act, say=one_added, **options):
    """Return the check of a window during which another one of equal scope was open, and that window's "
    "tag."""
    check = change("orders", table.probe).adding(count=1).keeping_others()
    entered, done = threading.Event(), threading.Event()
    tags = []

    def other():
        with window("other", check):
            tags.append(current_causal_tag())
            table.add(20)
            entered.set()
            done.wait(60)

    thread = threading.Thread(target=other)
    thread.start()
    assert entered.wait(60)
    try:
        return table.judged(say, act, **options), tags[0]
    finally:
        done.set()
        thread.join()


def test_an_untagged_change_beside_another_window_is_contended_and_names_it(orders):
    check, tag = beside_another(orders, lambda table: (table.add(9), table.remove(1)))

    said = (
        "somebody removed row 1, and nobody signed that: this action may have done it, or other (causal tag "
    )
    assert (check.outcome, check.reason) == ("inconclusive", "contended")
    assert f"{said}{tag})" in check.explanation


def test_rows_of_two_overlapping_windows_are_distinguished(orders):
    check, _ = beside_another(orders, lambda table: table.add(9))

    assert (check.outcome, check.attribution) == ("pass", "causal_tag")


@pytest.mark.parametrize("act", [lambda table: table.remove(1), lambda table: (table.add(9), table.sign(1))])
def test_a_wrong_change_of_this_run_beside_another_window_still_fails(orders, act):
    check, _ = beside_another(orders, act)

    assert check.outcome == "fail"


def test_a_declared_removal_beside_another_window_is_contended(orders):
    check, _ = beside_another(orders, lambda table: table.remove(1), lambda c: c.removing(1))

    assert (check.outcome, check.reason) == ("inconclusive", "contended")


def test_a_check_that_ignores_contention_is_judged(orders):
    act = lambda table: (table.add(9), table.remove(1))  # noqa: E731

    check, _ = beside_another(orders, act, on_contention="ignore")

    assert check.outcome == "fail"


# Kinds of rows ----------------------------------------------------------------------------------------------

Row = namedtuple("Row", "id item tag")  # noqa: PYI024  # without types, as a driver gives them


@dataclass
class Record:
    id: int
    item: object
    tag: str | None


class Plain:
    def __init__(self, *values):
        self.id, self.item, self.tag = values


class Colour(Enum):
    RED = 1
    BLUE = 2


KINDS = {
    "mapping": lambda *values: dict(zip(("id", "item", "tag"), values, strict=True)),
    "named tuple": Row,
    "dataclass": Record,
    "object": Plain,
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize(
    ("before", "after"),
    [(1, 2), ("1", 1), (Colour.RED, Colour.BLUE), ({"a": {1}}, {"a": {2}}), (b"a", "a"), (None, "None")],
)
def test_an_overwritten_item_of_any_kind_is_noticed(kind, before, after):
    items = [before]
    probe = tagged(lambda: [kind(1, items[0], "theirs")], key="id", tag="tag")

    with window("w", change("rows", probe).by(0).keeping_others()) as w:
        items[0] = after

    assert w.report["rows"].explanation.startswith(
        "expected rows to change by 0, keeping other rows, but it also overwrote row 1; "
    )


def test_rows_recreated_with_equal_items_are_unchanged():
    rows = [{"id": 1, "tag": "theirs", "item": {"a": {1, 2}, "b": [1]}}]
    probe = tagged(lambda: rows, key="id", tag="tag")

    with window("w", change("rows", probe).by(0).keeping_others()) as w:
        rows[0] = {"item": {"b": [1], "a": {2, 1}}, "tag": "theirs", "id": 1}

    assert w.report["rows"].passed


def test_a_row_that_cannot_be_compared_makes_the_check_inconclusive():
    probe = tagged(lambda: [{"id": 1, "tag": None, "item": threading.Lock()}], key="id", tag="tag")

    with window("w", change("rows", probe).by(0).keeping_others()) as w:
        pass

    assert (w.report["rows"].outcome, w.report["rows"].reason) == ("inconclusive", "incomparable")
    assert "the content of a row of the probe cannot be compared: " in w.report["rows"].explanation


def test_no_content_of_a_row_is_kept(orders):
    check = orders.judged(one_added, lambda table: (table.add(9), table.overwrite(1)))

    text = f"{check} {check.to_dict()}"
    assert not any(word in text for word in ("ink", "pen", "wax", "other'"))
    assert check.pre_state == {1: "theirs", 2: "theirs", 3: None}
    assert check.untagged["modified"] == {1: ("theirs", "theirs")}
    assert check.actual_delta["added"] == {9: check.causal_tag}


# Ways of reading --------------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "orders.sqlite"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, tenant TEXT, item TEXT, tag TEXT, root TEXT)"
        )
        db.execute(
            "INSERT INTO orders VALUES (1, 'acme', 'ink', 'theirs', NULL), (2, 'beta', 'pen', NULL, NULL)"
        )
    return path


SQL_LIES = {
    "done right": ("SELECT 1", "pass"),
    "a row of another overwritten": ("UPDATE orders SET item = 'x' WHERE id = 1", "fail"),
    "a row of another deleted": ("DELETE FROM orders WHERE id = 1", "fail"),
    "a row out of scope": ("DELETE FROM orders WHERE id = 2", "pass"),
}


@pytest.mark.parametrize("columns", [{}, {"root": "root"}], ids=["tag", "tag and root"])
@pytest.mark.parametrize(("statement", "outcome"), SQL_LIES.values(), ids=SQL_LIES)
def test_rows_of_a_table_are_kept(path, statement, outcome, columns):
    orders = sql.records(
        lambda: sqlite3.connect(path), "orders", key="id", tag="tag", where="tenant = :tenant", **columns
    )

    @expects(change("orders", orders).adding(count=1).keeping_others())
    def place(tenant):
        with closing(sqlite3.connect(path)) as db, db:
            db.execute(
                "INSERT INTO orders (tenant, item, tag) VALUES (?, 'wax', ?)", (tenant, current_causal_tag())
            )
            db.execute(statement)

    reports = reports_of(place, "acme")

    assert reports[0]["orders"].outcome == outcome, reports[0]["orders"].explanation


def test_mapped_objects_are_compared_by_their_columns(path):
    class Base(DeclarativeBase):
        pass

    class Order(Base):
        __tablename__ = "orders"
        id: Mapped[int] = mapped_column(primary_key=True)
        item: Mapped[str]
        tag: Mapped[str | None]

    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)

    def read():
        with Session(engine) as session:
            return session.scalars(select(Order)).all()

    check = change("orders", tagged(read, key="id", tag="tag")).by(0).keeping_others()
    with window("idle", check) as idle:
        pass
    with window("w", check) as w, engine.begin() as connection:
        connection.execute(text("UPDATE orders SET item = 'x' WHERE id = 1"))

    assert idle.report.passed
    assert "it also overwrote row 1;" in w.report["orders"].explanation


@pytest.mark.parametrize(("statement", "outcome"), SQL_LIES.values(), ids=SQL_LIES)
def test_rows_of_a_table_are_kept_in_an_async_action(path, statement, outcome):
    engine = create_async_engine(f"sqlite+aiosqlite:///{path}", poolclass=NullPool)
    orders = sql.records(engine, "orders", key="id", tag="tag", where="tenant = :tenant")

    @expects(change("orders", orders).adding(count=1).keeping_others())
    async def place(tenant):
        values = {"tenant": tenant, "tag": current_causal_tag()}
        async with engine.begin() as connection:
            await connection.execute(
                text("INSERT INTO orders (tenant, item, tag) VALUES (:tenant, 'wax', :tag)"), values
            )
            await connection.execute(text(statement))

    reports = reports_of(lambda: asyncio.run(place("acme")))

    assert reports[0].outcome == outcome, reports[0].explanation


def test_a_table_without_the_column_of_the_tag_is_named(path):
    orders = sql.records(lambda: sqlite3.connect(path), "orders", key="id", tag="nobody")

    with window("w", change("orders", orders).by(0).keeping_others()) as w:
        pass

    assert "orders has no column 'nobody'" in w.report["orders"].explanation


def test_async_rows_are_kept(orders):
    async def read():
        return orders.read()

    check = change("orders", tagged(read, key="id", tag="tag")).adding(count=1).keeping_others()

    async def act():
        async with window("w", check) as w:
            orders.add(9)
            orders.remove(1)
        return w.report["orders"]

    assert asyncio.run(act()).outcome == "fail"


@pytest.mark.parametrize(("key", "outcome"), [(None, "pass"), (1, "fail")])
def test_keeping_others_is_handed_over_with_its_window(orders, key, outcome):
    check = change("orders", orders.probe).adding(count=1).keeping_others()
    here = Window("w", check)
    here.capture_baseline()
    tag = here.causal_tag
    there = Window.from_json(here.to_json(), check)
    orders.add(9, tag=tag)
    if key is not None:
        orders.overwrite(key)

    assert there.verify()["orders"].outcome == outcome


# Words ------------------------------------------------------------------------------------------------------


def test_keeping_others_is_shown_as_source_in_repr(orders):
    probe = tagged(list, key="id", tag="tag")

    assert repr(change("orders", probe).adding(count=1).keeping_others()) == (
        "change('orders', tagged(list, key='id', tag='tag')).adding(count=1).keeping_others()"
    )


def test_the_expected_delta_says_it(orders):
    assert (
        orders.judged(one_added, lambda table: None).expected_delta == "adding 1 member, keeping other rows"
    )


def test_a_probe_without_tags_is_refused():
    with pytest.raises(DefinitionTypeError, match="its probe reads no tag that says who wrote a row"):
        change("orders", dict).adding(count=1).keeping_others()


def test_only_a_change_can_keep_others(orders):
    for check in (unchanged("orders", orders.probe), observe("orders", orders.probe)):
        with pytest.raises(AttributeError, match=r"start from change\('orders', ...\).keeping_others"):
            check.keeping_others()


@pytest.mark.parametrize(
    ("say", "why"),
    [
        (lambda check: check.keeping_others().keeping_others(), "already has .keeping_others"),
        (lambda check: check.keeping_others().to({}), "a start and an end"),
        (lambda check: check.from_({}).keeping_others(), "a start and an end"),
        (lambda check: check.adding(1).allowing_others().keeping_others(), "contradict each other"),
        (lambda check: check.keeping_others().adding(1).allowing_others(), "contradict each other"),
    ],
)
def test_a_contradicting_word_is_refused(orders, say, why):
    with pytest.raises(DefinitionValueError, match=why):
        say(change("orders", orders.probe))


def test_keeping_others_may_precede_the_other_words(orders):
    check = change("orders", orders.probe).keeping_others().adding(count=1)

    with window("w", check) as w:
        orders.add(9)
        orders.remove(1)

    assert w.report["orders"].outcome == "fail"


@pytest.mark.parametrize(("harm", "outcome"), [(False, "pass"), (True, "inconclusive")])
def test_an_action_that_raised_gets_a_verdict_only_if_others_rows_are_unchanged(orders, harm, outcome):
    check = change("orders", orders.probe).adding(count=1).keeping_others().or_unchanged_on_error()

    @expects(check)
    def act():
        if harm:
            orders.overwrite(1)
        raise ValueError("no")

    with collect_reports() as reports, pytest.raises(ValueError, match="no"):
        act()

    assert reports[0].outcome == outcome


def test_the_original_check_is_as_it_was(orders):
    check = change("orders", orders.probe).adding(count=1)
    check.keeping_others()

    with window("w", check) as w:
        orders.add(9)
        orders.overwrite(1)

    assert w.report["orders"].passed


# Telemetry --------------------------------------------------------------------------------------------------


def test_span_event_and_feedback_say_the_same_sentence(orders, recorded):
    check = change("orders", orders.probe).adding(count=1).keeping_others()

    @expects(check, name="place")
    def place():
        orders.add(9)
        orders.remove(1)

    reports = reports_of(place)

    explanation = reports[0]["orders"].explanation
    assert explanation.startswith(
        "expected orders to change by adding 1 member, keeping other rows, but it also removed"
    )
    assert recorded.span.status.description == explanation
    assert recorded.event.attributes[semconv.CHECK_EXPLANATION] == explanation
    assert explanation in reports[0].feedback()


def test_the_event_reports_untagged_rows_even_if_the_window_credits_them(orders, recorded):
    orders.judged(one_added, lambda table: (table.add(9), table.remove(1)))

    attributes = recorded.event.attributes
    assert attributes[semconv.CHECK_ATTRIBUTION] == "window"
    assert json.loads(attributes[semconv.CHECK_UNTAGGED])["removed"] == {"1": "theirs"}


def test_a_redacted_check_tells_no_row(orders):
    check = change("orders", orders.probe).adding(count=1).keeping_others().redacted()

    with window("w", check) as w:
        orders.add(9)
        orders.remove(1)

    assert w.report["orders"].explanation == "orders changed, but not as expected; its states are redacted"


def test_a_report_crosses_a_process_with_its_sentence(orders):
    check = orders.judged(one_added, lambda table: (table.add(9), table.remove(1)))

    assert pickle.loads(pickle.dumps(check)).explanation == check.explanation  # noqa: S301  # our own bytes


def test_a_baseline_that_is_shown_has_no_fingerprints(orders):
    w = Window("w", change("orders", orders.probe).adding(count=1).keeping_others())

    assert w.capture_baseline() == {"orders": {1: "theirs", 2: "theirs", 3: None}}
    w.verify()


KEEPING_WORDS = {
    "a predicate": (
        lambda c, seen: c.satisfying(lambda pre_state, post_state: seen.extend([pre_state, post_state]), "s"),
        False,
    ),
    "a computed count": (
        lambda c, seen: c.adding(count=lambda pre_state: seen.append(pre_state) or 1),
        False,
    ),
    "where": (lambda c, seen: c.adding(where=lambda pre_state: seen.append(pre_state) or True), False),
    "an action that raises": (lambda c, seen: c.adding(count=1), True),
}


@pytest.mark.parametrize(("words", "raises"), KEEPING_WORDS.values(), ids=KEEPING_WORDS)
def test_a_fingerprint_reaches_neither_predicates_nor_explanations(words, raises):
    rows, seen = [{"id": 1, "item": "ink", "tag": "theirs"}], []
    check = words(change("orders", tagged(lambda: rows, key="id", tag="tag")), seen)

    @expects(check.keeping_others())
    def place():
        rows.append({"id": 2, "tag": "theirs" if raises else current_causal_tag()})
        if raises:
            raise OSError

    with collect_reports() as reports, contextlib.suppress(OSError):
        place()

    report = reports[0]["orders"]
    states = [{1: "theirs"}, {1: "theirs", 2: report.causal_tag}]
    assert all(dict(state) in states for state in seen)
    assert bool(seen) is not raises
    assert ("({1: 'theirs'} → {1: 'theirs', 2: 'theirs'})" in report.explanation) is raises


def test_the_repr_of_tagged_records_is_their_source():
    with closing(sqlite3.connect(":memory:")) as connection:
        probe = sql.records(connection, "orders", key="id", tag="causal_tag", root="root_tag")
        check = change("orders", probe).adding(count=1).keeping_others()

        assert repr(probe) == "records(connection, 'orders', key='id', tag='causal_tag', root='root_tag')"
        assert repr(check) == f"change('orders', {probe!r}).adding(count=1).keeping_others()"
