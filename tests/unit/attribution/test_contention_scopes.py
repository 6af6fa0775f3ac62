"""Scopes of windows, and windows of deferred runs."""

import asyncio
import threading
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

from deltaspan import change, collect_reports, expects, unchanged, window
from deltaspan._engine import _deferred
from support.overlapping import together


@dataclass
class Order:
    id: int
    note: str = ""


def by_nothing(overlap):
    return expects(change("flows", lambda: overlap.count).by(1), name="by_nothing")(
        lambda: overlap.act(adds=1)
    )


def by_tenant(overlap, name="by_tenant"):
    @expects(change("flows", lambda tenant: overlap.count).by(1), name=name)
    def act(tenant):
        overlap.act(adds=1)

    return act


def by_tenant_and_project(overlap, order="tenant, project"):
    probe = eval(f"lambda {order}: overlap.count", {"overlap": overlap})  # noqa: S307

    @expects(change("flows", probe), name="by_both")
    def act(tenant, project):
        overlap.act(adds=1)

    return act


def reasons(*actions):
    return [report["flows"].reason for report in together(*actions)]


def test_a_scoped_window_contends_with_one_that_has_no_scope(overlap):
    scoped = by_tenant(overlap)

    assert reasons(by_nothing(overlap), lambda: scoped("acme")) == ["contended", "contended"]


def test_scopes_of_different_names_contend(overlap):
    one, both = by_tenant(overlap), by_tenant_and_project(overlap)

    assert reasons(lambda: one("acme"), lambda: both("other", "p")) == ["contended", "contended"]


def test_the_order_of_the_names_does_not_matter(overlap):
    left, right = by_tenant_and_project(overlap), by_tenant_and_project(overlap, "project, tenant")

    assert reasons(lambda: left("acme", "p"), lambda: right("acme", "p")) == ["contended", "contended"]


def test_scopes_that_differ_in_one_of_two_values_do_not_contend(overlap):
    act = by_tenant_and_project(overlap)

    assert reasons(lambda: act("acme", "p"), lambda: act("acme", "q")) == [None, None]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Path("/srv/x"), Path("/srv/x")),
        (Path("/srv/x"), "/srv/x/"),
        (7, "7"),
        (uuid.UUID(int=9), str(uuid.UUID(int=9))),
    ],
    ids=["equal paths", "a path and its text", "a number and its text", "a UUID and its text"],
)
def test_arguments_that_may_name_one_place_contend(overlap, left, right):
    act = by_tenant(overlap)

    assert reasons(lambda: act(left), lambda: act(right)) == ["contended", "contended"]


def test_an_action_that_did_nothing_does_not_pass_by_the_work_of_another_with_an_equal_path():
    count, wrote, started, reports = [0], threading.Event(), threading.Event(), []
    check = change("files", lambda folder: count[0]).by(1)

    @expects(check, on_report=reports.append)
    def writer(folder):
        started.set()
        wrote.wait(60)
        count[0] += 1

    @expects(check, on_report=reports.append)
    def idle(folder):
        wrote.set()
        while not count[0]:
            threading.Event().wait(0.001)

    thread = threading.Thread(target=writer, args=(Path("/srv/x"),))
    thread.start()
    started.wait(60)
    idle(Path("/srv/x"))
    thread.join()

    assert [report["files"].reason for report in reports] == ["contended", "contended"]


OVERLAPPING = {
    "a list and a longer one": ([1], [1, 2]),
    "two sets": ({1, 2}, {2, 3}),
    "two mappings": ({"tenant": "acme"}, {"project": "x"}),
    "records that differ in a field": (Order(1, "a"), Order(1, "b")),
    "a text in two cases": ("acme", "ACME"),
    "a folder and one below it": ("/srv/a", "/srv/a/b"),
    "a folder and one far below it": (Path("/srv/a"), "/srv/a/b/c/d"),
    "a folder with a slash at its end": ("/srv/a/", "/srv/a/b"),
    "a folder by way of its parent": ("/srv/x/../a", Path("/srv/a/b")),
    "a relative folder": ("a", "a/b"),
    "a relative and an absolute one": ("a", f"{Path.cwd()}/a/b"),
    "the working directory": (".", "a"),
    "a folder above the working directory": (Path.cwd().parent, "a/b"),
    "the root": ("/", "/srv/a"),
}


@pytest.mark.parametrize(("left", "right"), OVERLAPPING.values(), ids=OVERLAPPING)
@pytest.mark.parametrize("swapped", [False, True], ids=["in order", "swapped"])
def test_arguments_that_may_overlap_contend(overlap, left, right, swapped):
    act = by_tenant(overlap)
    first, second = (right, left) if swapped else (left, right)

    assert reasons(lambda: act(first), lambda: act(second)) == ["contended", "contended"]


SIBLINGS = {
    "two folders": ("/srv/a", "/srv/b"),
    "a folder and a longer name": ("/srv/a", "/srv/ab"),
    "two below one": (Path("/srv/a/x"), "/srv/a/y"),
    "a relative and an absolute one": ("a/b", "/srv/a/b"),
    "two names": ("acme", "other"),
}


@pytest.mark.parametrize(("left", "right"), SIBLINGS.values(), ids=SIBLINGS)
def test_folders_beside_each_other_are_apart(overlap, left, right):
    act = by_tenant(overlap)

    assert reasons(lambda: act(left), lambda: act(right)) == [None, None]


def test_a_folder_contends_with_one_below_it_if_its_other_arguments_are_equal_as_text(overlap):
    act = by_tenant_and_project(overlap)

    assert reasons(lambda: act("7", "/srv/a"), lambda: act(7, Path("/srv/a/b"))) == ["contended"] * 2
    assert reasons(lambda: act("/srv/a", "/x/y/z"), lambda: act("/srv/a/b", "/x/y")) == ["contended"] * 2


def test_folders_that_hold_each_other_are_apart_if_another_argument_differs(overlap):
    act = by_tenant_and_project(overlap)

    assert reasons(lambda: act("acme", "/srv/a/b"), lambda: act("other", "/srv/c")) == [None, None]


def test_a_window_does_not_contend_with_all_because_its_caller_has_a_folder_above_its_own(overlap):
    inner_reports = []
    inner = by_tenant(overlap, "inner")

    @expects(change("flows", lambda tenant: overlap.count).by(1), name="outer")
    def outer(tenant):
        with collect_reports() as collected:
            inner(f"{tenant}/b")
        inner_reports.extend(collected)

    found = reasons(lambda: inner("/srv/z"), lambda: outer("/srv/a"))
    assert [*found, inner_reports[0]["flows"].reason] == [None, None, None]


def test_folders_are_forgotten_when_their_windows_are_closed(overlap):
    act = by_tenant(overlap)
    assert reasons(lambda: act("/srv/a"), lambda: act("/srv/b")) == [None, None]
    assert reasons(lambda: act("/srv/a/x"), lambda: act("/srv/b/x")) == [None, None]


def test_the_explanation_says_that_a_folder_holds_another(overlap):
    act = by_tenant(overlap)
    left, right = together(lambda: act("/srv/a"), lambda: act("/srv/a/b"))

    for report in (left, right):
        assert (
            "(the place of tenant lies in the folder of another open window, or holds it)"
            in report["flows"].explanation
        )


def test_the_explanation_says_that_a_collection_may_be_several_places(overlap):
    act = by_tenant(overlap)
    left, _ = together(lambda: act([1]), lambda: act([1, 2]))

    assert "(the place of tenant (a list) may be several; name one id or path)" in left["flows"].explanation


class Broken:
    def __eq__(self, other):
        raise RuntimeError("no")

    __hash__ = object.__hash__


def test_an_argument_whose_method_raises_contends_with_every_window_of_its_metric(overlap):
    act = by_tenant_and_project(overlap)
    left, right = together(lambda: act("acme", Broken()), lambda: act("other", "p"))

    assert [left["flows"].reason, right["flows"].reason] == ["contended", "contended"]
    for report in (left, right):
        assert (
            "(the place of project (a Broken) cannot be told and may be any, because a method of it raised "
            "RuntimeError)"
        ) in report["flows"].explanation


def test_two_arguments_whose_methods_raise_contend_even_if_other_arguments_differ(overlap):
    act = by_tenant_and_project(overlap)

    assert reasons(lambda: act("acme", Broken()), lambda: act("other", Broken())) == ["contended"] * 2


class Opaque:
    """Has nothing but its identity."""


def test_an_argument_that_does_not_tell_its_place_contends_with_every_window_of_its_metric(overlap):
    act = by_tenant(overlap)

    assert reasons(lambda: act(Opaque()), lambda: act("acme")) == ["contended", "contended"]


def test_two_arguments_that_do_not_tell_their_place_contend(overlap):
    act = by_tenant(overlap)

    assert reasons(lambda: act(Opaque()), lambda: act(Opaque())) == ["contended", "contended"]


def test_a_different_value_prevents_contention_even_if_another_place_is_unknown(overlap):
    act = by_tenant_and_project(overlap)

    assert reasons(lambda: act("acme", Opaque()), lambda: act("other", Opaque())) == [None, None]


def test_the_explanation_says_which_argument_does_not_tell_its_place(overlap):
    act = by_tenant(overlap)
    left, _ = together(lambda: act(Opaque()), lambda: act("acme"))

    said = left["flows"].explanation
    assert "wrote to what may be the same scope for" in said
    assert (
        "of this window (the place of tenant (an Opaque) cannot be told and may be any; "
        "name an id or a path), so the change cannot be credited to one of them"
    ) in said


def test_the_explanation_says_which_names_the_two_scopes_bind(overlap):
    act = by_tenant(overlap)
    left, _ = together(lambda: act("acme"), by_nothing(overlap))

    assert "(its scope names no argument where this one names tenant)" in left["flows"].explanation


def test_a_state_that_must_stay_is_not_blamed_for_a_scoped_writer(overlap):
    act = by_tenant(overlap)
    idle = expects(unchanged("flows", overlap.read))(overlap.act)

    assert reasons(idle, lambda: act("acme"))[0] == "contended"


class Unnamed(type):
    @property
    def __name__(cls):
        raise SystemExit(1)


class Mute(metaclass=Unnamed):
    pass


class Leaving:
    def __eq__(self, other):
        raise SystemExit(1)

    __hash__ = None


@pytest.mark.parametrize("argument", [Mute(), Leaving()], ids=["class", "equality"])
def test_an_action_runs_even_if_computing_the_place_of_its_argument_raises(argument):
    rows, reports = [], []

    @expects(change("rows", lambda client: len(rows)).by(1), on_report=reports.append)
    def write(client):
        rows.append(client)

    write(argument)

    assert [report.outcome for report in reports] == ["pass"]


# Deferred runs ------------------------------------------------------------------------------------------


def outcomes(reports):
    return {report.outcome for report in reports}


def test_consecutive_deferred_calls_do_not_contend():
    rows = []
    act = expects(change("rows", lambda: len(rows)).by(1), deferred=True)(lambda: rows.append(1))
    with collect_reports() as reports:
        for _ in range(200):
            act()
        assert _deferred.drain(30)

    assert (len(reports), outcomes(reports)) == (200, {"pass"})


async def test_consecutive_deferred_async_calls_do_not_contend():
    rows, done, reports = [], asyncio.Event(), []

    async def read():
        await asyncio.sleep(0)
        return len(rows)

    def report(found):
        reports.append(found)
        if len(reports) == 200:
            done.set()

    @expects(change("rows", read).by(1), deferred=True, on_report=report)
    async def act():
        rows.append(1)

    for _ in range(200):
        await act()
    await asyncio.wait_for(done.wait(), 30)

    assert outcomes(reports) == {"pass"}


def test_a_later_read_is_credited_if_no_other_run_wrote():
    rows = []
    check = change("rows", lambda: len(rows)).by(1).eventually(60, every=0.01)
    act = expects(check, deferred=True)(lambda: None)
    with collect_reports() as reports:
        act()
        rows.append(1)
        assert _deferred.drain(60)

    assert outcomes(reports) == {"pass"}


def test_a_later_read_is_contended_if_another_run_wrote_since():
    rows = []
    late = expects(
        change("rows", lambda: len(rows)).by(1).eventually(60, every=0.01), name="late", deferred=True
    )(lambda: None)
    other = expects(change("rows", lambda: len(rows)).by(1), name="other")(lambda: rows.append(1))
    with collect_reports() as reports:
        late()
        other()
        assert _deferred.drain(60)

    assert {report.action: report["rows"].reason for report in reports} == {
        "late": "contended",
        "other": None,
    }


def test_a_state_that_must_stay_unchanged_contends_with_a_later_window():
    rows, changed = [], threading.Event()

    def read():
        return len(rows)

    still = expects(unchanged("rows", read).holding_for(60, every=0.01), name="still", deferred=True)(
        lambda: None
    )
    other = expects(change("rows", read).by(1), name="other")(lambda: (rows.append(1), changed.set()))
    with collect_reports() as reports:
        still()
        other()
        assert _deferred.drain(60)

    assert {report.action: report["rows"].reason for report in reports} == {
        "still": "contended",
        "other": None,
    }


def test_an_interrupt_while_the_post_state_is_read_ends_the_window():
    reads, reports = [], []

    def read():
        reads.append(1)
        if len(reads) == 2:
            raise KeyboardInterrupt
        return 0

    act = expects(change("rows", read).by(1), deferred=True, on_report=reports.append)(lambda: None)
    try:
        act()
    except KeyboardInterrupt:
        reads.append("interrupted")

    assert reads[-1] == "interrupted"
    assert [report["rows"].reason for report in reports] == ["abandoned"]


def test_a_write_of_the_caller_after_a_deferred_call_is_not_credited_to_that_call():
    rows = []
    late = expects(
        change("rows", lambda: len(rows)).by(1).eventually(60, every=0.01), name="late", deferred=True
    )(lambda: None)

    @expects(change("rows", lambda: len(rows)).by(1), name="caller")
    def call():
        late()
        rows.append(1)

    with collect_reports() as reports:
        call()
        assert _deferred.drain(60)

    found = {report.action: report["rows"] for report in reports}
    assert found["caller"].passed
    assert found["late"].reason == "contended"
    assert "caller (causal tag" in found["late"].explanation


def test_a_caller_is_not_held_against_a_deferred_call_that_was_read_once():
    rows = []
    act = expects(change("rows", lambda: len(rows)).by(1), name="act", deferred=True)(lambda: rows.append(1))

    @expects(change("rows", lambda: len(rows)).by(2), name="caller")
    def call():
        act()
        rows.append(1)

    with collect_reports() as reports:
        call()
        assert _deferred.drain(60)

    assert outcomes(reports) == {"pass"}


def test_a_folder_whose_window_has_closed_contends_no_more():
    def opened(folder):
        w = window("w", change("files", lambda folder: 0).by(0), args={"folder": Path(folder)})
        w.capture_baseline()
        return w

    kept, outer = opened("/srv/kept"), opened("/srv/app")
    outer.verify()
    inner = opened("/srv/app/logs")
    inner.verify()
    kept.verify()

    assert inner.report["files"].reason is None
