"""Who is no rival: an ancestor, an observer, a run that is told apart by its causal tag."""

import contextvars
import threading

import pytest

from deltaspan import change, collect_reports, current_causal_tag, expects, observe, unchanged
from support.overlapping import Overlap, together


@pytest.fixture
def overlap():
    return Overlap()


def test_an_ancestor_is_no_rival(overlap):
    check = change("rows", overlap.read)

    def add():
        overlap.count += 1

    inner = expects(check, name="inner")(add)
    with collect_reports() as reports:
        expects(check, name="outer")(inner)()

    assert [(report.action, report.outcome) for report in reports] == [("inner", "pass"), ("outer", "pass")]


def test_an_ancestor_in_another_thread_is_no_rival_when_the_context_was_carried_over(overlap):
    check = change("rows", overlap.read)

    def add():
        overlap.count += 1

    inner = expects(check, name="inner")(add)

    @expects(check, name="outer")
    def outer():
        thread = threading.Thread(target=contextvars.copy_context().run, args=(inner,))
        thread.start()
        thread.join()

    with collect_reports() as reports:
        outer()

    assert [(report.action, report.outcome) for report in reports] == [("inner", "pass"), ("outer", "pass")]


def test_two_children_of_one_action_contend_with_each_other_and_not_with_it(overlap):
    check = change("rows", overlap.read)
    child = expects(check, name="child")(lambda: overlap.act(adds=1))

    @expects(check, name="parent")
    def parent():
        context = [contextvars.copy_context() for _ in range(2)]
        threads = [threading.Thread(target=each.run, args=(child,)) for each in context]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    with collect_reports() as reports:
        parent()

    assert [(report.action, report["rows"].reason) for report in reports] == [
        ("child", "contended"),
        ("child", "contended"),
        ("parent", None),
    ]


def test_observations_and_changes_do_not_contend(overlap):
    reports = together(
        expects(observe("rows", overlap.read))(overlap.act),
        expects(change("rows", overlap.read))(lambda: overlap.act(adds=1)),
    )

    assert [report.outcome for report in reports] == ["observed", "pass"]


def test_an_unchanged_state_is_unchanged_although_someone_could_have_written(overlap):
    reports = together(
        expects(unchanged("rows", overlap.read))(overlap.act),
        expects(change("rows", overlap.read).by(0))(overlap.act),
    )

    assert [report.outcome for report in reports] == ["pass", "pass"]


def test_a_state_that_must_stay_and_changed_is_contended_when_someone_else_wrote(overlap):
    reports = together(
        expects(unchanged("rows", overlap.read))(overlap.act),
        expects(change("rows", overlap.read))(lambda: overlap.act(adds=1)),
    )

    assert [(report.outcome, report["rows"].reason) for report in reports] == [
        ("inconclusive", "contended"),
        ("pass", None),
    ]


def test_a_state_that_must_stay_is_contended_by_whatever_else_was_open(overlap):
    reports = together(
        expects(unchanged("rows", overlap.read))(overlap.act),
        expects(unchanged("rows", overlap.read))(lambda: overlap.act(adds=1)),
    )

    assert [report["rows"].reason for report in reports] == ["contended", "contended"]


def test_a_probe_that_takes_the_causal_tag_attributes_by_it(overlap):
    made = []

    @expects(change("rows", lambda causal_tag: sum(tag == causal_tag for tag in made)).by(1))
    def act():
        overlap.wait()
        made.append(current_causal_tag())
        overlap.wait()

    reports = together(act, act)

    assert [(report.outcome, report["rows"].attribution) for report in reports] == [
        ("pass", "causal_tag")
    ] * 2


def test_the_rival_that_is_named_is_never_a_descendant(overlap):
    check = change("rows", overlap.read)
    stranger = expects(check, name="stranger")(lambda: None)
    child = expects(check, name="child")(lambda: None)

    @expects(check, name="parent")
    def parent():
        thread = threading.Thread(target=contextvars.Context().run, args=(stranger,))
        thread.start()
        thread.join()
        child()

    with collect_reports() as reports:
        parent()

    assert [report.action for report in reports] == ["child", "parent"]
    assert "but stranger (causal tag" in reports[1]["rows"].explanation
