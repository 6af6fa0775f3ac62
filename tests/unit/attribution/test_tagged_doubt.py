"""Verdicts on tagged rows, beside rows that carry no tag or that of another run."""

from uuid import UUID

import pytest

from deltaspan import change, current_causal_tag, tagged, window
from support.signed import BEFORE, CONTENDED, Table, came_to


@pytest.fixture
def table():
    return Table()


# A pass beside untagged rows -------------------------------------------------------------------------------

EXCLUSIVE = {
    "adding": lambda check: check.adding(9),
    "adding so many": lambda check: check.adding(count=1),
    "only": lambda check: check.only(9),
}


COUNTING = {
    "change": lambda check: check,
    "by": lambda check: check.by(1),
    "by_at_least": lambda check: check.by_at_least(1),
    "by_between": lambda check: check.by_between(1, 1),
    "increasing": lambda check: check.increasing(by=1),
    "resizing": lambda check: check.resizing(1),
    "allowing others": lambda check: check.adding(count=1).allowing_others(),
    "satisfying": lambda check: check.satisfying(lambda delta: delta.amount == 1, "one more"),
}


COLLATERAL = {
    "removed": lambda table: table.remove(1),
    "lost its tag": lambda table: table.add(1, tag=None),
    "added": lambda table: table.add(8, tag=None),
}


def adding_one_with(table, collateral):
    def act():
        table.add(9)
        collateral(table)

    return act


@pytest.mark.parametrize("collateral", COLLATERAL.values(), ids=COLLATERAL)
@pytest.mark.parametrize("say", EXCLUSIVE.values(), ids=EXCLUSIVE)
def test_a_claim_of_no_other_change_is_inconclusive(table, say, collateral):
    assert came_to(table.judged(say, adding_one_with(table, collateral))) == CONTENDED


@pytest.mark.parametrize("collateral", COLLATERAL.values(), ids=COLLATERAL)
@pytest.mark.parametrize("say", COUNTING.values(), ids=COUNTING)
def test_a_claim_to_tagged_rows_passes(table, say, collateral):
    assert table.judged(say, adding_one_with(table, collateral)).passed


@pytest.mark.parametrize("say", [*EXCLUSIVE.values(), *COUNTING.values()], ids=[*EXCLUSIVE, *COUNTING])
def test_rows_of_others_touch_no_claim(table, say):
    def act():
        table.add(9)
        table.add(1, tag="another")
        table.add(8, tag="another")

    assert table.judged(say, act).passed


def test_an_untagged_row_may_be_the_declared_one(table):
    def act():
        table.add(9)
        table.remove(1)

    assert table.judged(lambda check: check.only(1, 9), act).passed


def test_an_untagged_row_may_satisfy_an_expectation_of_any_member(table):
    act = adding_one_with(table, COLLATERAL["added"])

    assert table.judged(lambda check: check.adding(), act).passed


def test_untagged_rows_may_be_ignored(table):
    def act():
        table.add(9)
        table.remove(1)

    assert table.judged(lambda check: check.adding(9).ignoring(1), act).passed


def test_a_pass_in_doubt_names_the_other_change_and_the_cure(table):
    def act():
        table.add(9, tag="mine")
        table.remove(1)

    check = table.judged(lambda check: check.adding(9), act)

    assert check.explanation == (
        "rows: what carries its tag is as expected, but the state also removed row 1 with nobody's tag on "
        "it; "
        "nothing else may change, and this action may have done that: say .allowing_others() where others "
        "may do so, or have whatever writes there stamp it; 1 added by this run, 1 untagged: what was "
        "removed "
        "does not say by whom"
    )


def test_an_untagged_change_outside_only_gives_advice_to_name_it(table):
    check = table.judged(lambda check: check.only(9), adding_one_with(table, COLLATERAL["removed"]))

    assert "name it in .only(...) where others may do so" in check.explanation


def test_a_pass_of_a_number_tells_the_removed_rows(table):
    check = table.judged(lambda check: check.by(1), adding_one_with(table, COLLATERAL["removed"]))

    assert check.explanation.endswith(
        "; 1 added by this run, 1 untagged: what was removed does not say by whom"
    )


def test_an_untagged_change_is_judged_if_contention_is_ignored(table):
    act = adding_one_with(table, COLLATERAL["removed"])

    assert table.judged(lambda check: check.adding(9), act, on_contention="ignore").passed


# A fail because of removed rows ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "say",
    [
        lambda check: check,
        lambda check: check.by(-1),
        lambda check: check.by_at_most(-1),
        lambda check: check.decreasing(),
        lambda check: check.resizing(-1),
        lambda check: check.removing(1),
        lambda check: check.removing(),
        lambda check: check.removing(count=1),
        lambda check: check.removing(1, count=1),
        lambda check: check.only(1),
        lambda check: check.satisfying(lambda delta: delta.removed, "one less"),
    ],
)
@pytest.mark.parametrize("meanwhile", [(), (2,)], ids=["alone", "others too"])
def test_a_removal_that_this_action_may_have_made_is_contended(table, say, meanwhile):
    assert came_to(table.judged(say, lambda: table.remove(1, *meanwhile))) == CONTENDED


@pytest.mark.parametrize(
    "say",
    [
        lambda check: check.by(1),
        lambda check: check.by(-2),
        lambda check: check.increasing(),
        lambda check: check.resizing(-2),
        lambda check: check.removing(2),
        lambda check: check.removing(count=2),
        lambda check: check.adding(),
        lambda check: check.modifying(1),
        lambda check: check.only(2),
        lambda check: check.satisfying(lambda delta: False, "the impossible"),
        lambda check: check.from_({}).by(-1),
    ],
)
def test_a_claim_that_no_removal_would_make_true_is_a_fail(table, say):
    assert table.judged(say, lambda: table.remove(1)).outcome == "fail"


def test_a_replaced_row_is_contended(table):
    def act():
        table.remove(1)
        table.add(9)

    assert came_to(table.judged(lambda check: check.by(0), act)) == CONTENDED


def test_an_undeclared_own_row_fails_beside_any_removal(table):
    def act():
        table.remove(1)
        table.add(9)

    assert table.judged(lambda check: check.removing(1), act).outcome == "fail"


def test_a_declared_row_without_a_tag_fails(table):
    check = table.judged(lambda check: check.adding(9), lambda: table.add(9, tag=None))

    assert check.outcome == "fail"
    assert check.explanation.endswith(
        "; none by this run, 1 untagged: did the stamp run? What this run writes must carry its causal tag"
    )


def test_a_fail_in_doubt_names_the_removed_row_and_the_cure(table):
    check = table.judged(lambda check: check.by(-1), lambda: table.remove(1))

    assert check.explanation == (
        "rows: what carries its tag was expected to change by -1, and changed by 0; but the state removed "
        "row 1, and nobody knows whether this action did that: a row that is gone carries no tag: let it "
        "stay, marked as deleted, with the tag of who did so; or read the rows without tagged() and hold a "
        "lock, .exclusively(lock); none by this run, 1 untagged: what was removed does not say by whom"
    )


def test_a_row_marked_as_deleted_says_by_whom(table):
    assert table.judged(lambda check: check.modifying(1), lambda: table.add(1)).passed


def test_both_kinds_of_untagged_changes_are_reported(table):
    def act():
        table.remove(1)
        table.add(9, tag=None)

    assert table.judged(lambda check: check.by(5), act).explanation.endswith(
        "; none by this run, 2 untagged: what was removed does not say by whom, and did the stamp run? "
        "What this run "
        "writes must carry its causal tag"
    )


# The end of the state -----------------------------------------------------------------------------------


def test_an_end_state_that_others_contributed_to_is_inconclusive(table):
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


def test_an_end_state_changed_by_others_is_contended(table):
    def act():
        table.add(9)
        table.add(8, tag="another")

    def say(check):
        return check.by(1).to(lambda causal_tag: {**BEFORE, 9: causal_tag})

    assert came_to(table.judged(say, act)) == CONTENDED


def test_an_end_state_that_this_action_may_have_reached_by_removing_is_contended(table):
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


def test_an_end_state_is_judged_without_other_writers(table):
    def say(check):
        return check.to(lambda causal_tag: {**BEFORE, 9: causal_tag})

    assert table.judged(say, lambda: table.add(9)).passed


def test_an_end_state_is_judged_if_contention_is_ignored(table):
    def act():
        table.add(9)
        table.add(8, tag="another")

    def say(check):
        return check.to(lambda causal_tag: {**BEFORE, 9: causal_tag}).ignoring(8)

    assert table.judged(say, act).passed


def test_a_start_is_judged_beside_any_writer(table):
    def act():
        table.add(9)
        table.add(8, tag="another")

    assert table.judged(lambda check: check.from_(BEFORE).by(1), act).passed


# Spellings of a tag, and rows without one ---------------------------------------------------------------


WAYS = {
    "as it is": str,
    "in upper case": str.upper,
    "without hyphens": lambda tag: UUID(tag).hex,
    "in braces": lambda tag: f"{{{tag}}}",
    "as a urn": lambda tag: UUID(tag).urn,
    "padded": lambda tag: f"{tag}   ",
    "as an object": UUID,
    "as bytes": lambda tag: UUID(tag).bytes,
}


@pytest.fixture
def rows():
    return [{"id": 1, "tag": None}]


@pytest.mark.parametrize("write", WAYS.values(), ids=WAYS)
def test_a_tag_is_recognized_in_every_spelling(rows, write):
    with window("load", change("rows", tagged(lambda: rows, key="id", tag="tag")).by(1)) as opened:
        rows.append({"id": 2, "tag": write(current_causal_tag())})

    assert opened.report.outcome == "pass"


@pytest.mark.parametrize(
    "expect",
    [
        lambda check: check.by(0),
        lambda check: check.by_at_most(0),
        lambda check: check.by_between(0, 1),
        lambda check: check.by_at_least(0),
    ],
    ids=["by", "by_at_most", "by_between", "by_at_least"],
)
def test_an_untagged_row_makes_a_claim_of_no_addition_contended(rows, expect):
    with window("load", expect(change("rows", tagged(lambda: rows, key="id", tag="tag")))) as opened:
        rows.append({"id": 2, "tag": None})

    assert opened.report["rows"].reason == "contended"
