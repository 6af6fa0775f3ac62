"""`.to(...)` on tagged rows is about the whole state, of which others may have a part."""

import pytest

from support.signed import BEFORE, CONTENDED, Table, came_to


@pytest.fixture
def table():
    return Table()


def test_an_end_that_others_had_a_part_in_proves_nothing(table):
    def act():
        table.add(8, tag="another")

    after = {**BEFORE, 8: "another"}
    check = table.judged(lambda check: check.by(0).to(after), act)

    assert came_to(check) == CONTENDED
    assert check.explanation == (
        "rows: the end of the state is not the work of this action alone: beside what carries its tag the "
        "state added row 8, so .to(...) proves nothing; claim what is its own, as "
        ".by(...) and .adding(...) do; none by this run, 1 by others"
    )


def test_an_end_that_others_spoiled_is_no_fail(table):
    def act():
        table.add(9)
        table.add(8, tag="another")

    def say(check):
        return check.by(1).to(lambda causal_tag: {**BEFORE, 9: causal_tag})

    assert came_to(table.judged(say, act)) == CONTENDED


def test_an_end_that_this_action_may_have_made_by_removing_is_no_fail(table):
    def act():
        table.remove(1)
        table.add(8, tag="another")

    assert came_to(table.judged(lambda check: check.to({2: "theirs", 3: None}), act)) == CONTENDED


def test_an_end_that_this_action_cannot_have_made_is_a_fail(table):
    def act():
        table.add(9)
        table.add(8, tag="another")

    assert table.judged(lambda check: check.to({}), act).outcome == "fail"
    assert table.judged(lambda check: check.to("nothing of the kind"), lambda: act()).outcome == "fail"


def test_an_end_is_judged_where_nobody_else_writes(table):
    def say(check):
        return check.to(lambda causal_tag: {**BEFORE, 9: causal_tag})

    assert table.judged(say, lambda: table.add(9)).passed


def test_an_end_is_judged_where_what_others_write_is_ignored(table):
    def act():
        table.add(9)
        table.add(8, tag="another")

    def say(check):
        return check.to(lambda causal_tag: {**BEFORE, 9: causal_tag}).ignoring(8)

    assert table.judged(say, act).passed


def test_a_start_is_judged_whoever_writes(table):
    def act():
        table.add(9)
        table.add(8, tag="another")

    assert table.judged(lambda check: check.from_(BEFORE).by(1), act).passed
