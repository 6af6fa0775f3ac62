"""`combine`: the parts of one read, shared by the checks of an action."""

import asyncio
import threading
from dataclasses import dataclass, field

import pytest

from deltaspan import change, collect_reports, expects, observe, probe, tagged, unchanged, window
from deltaspan.exceptions import DefinitionTypeError
from deltaspan.probes import combine


class Desk:
    """Tickets, and how often they were counted."""

    def __init__(self):
        self.tickets = {"open": 3, "closed": 4}
        self.reads = 0

    def count(self):
        self.reads += 1
        return dict(self.tickets)

    async def count_later(self):
        snapshot = self.count()
        await asyncio.sleep(0)
        return snapshot

    def close(self):
        self.tickets["open"] -= 1
        self.tickets["closed"] += 1


@pytest.fixture
def desk():
    return Desk()


def checks_of(counts):
    return (
        change("open", counts["open"]).by(-1),
        change("closed", counts["closed"]).by(1),
        unchanged("all", counts[lambda snapshot: snapshot["open"] + snapshot["closed"]]),
    )


def outcomes(report):
    return [check.outcome for check in report]


def test_the_checks_of_one_action_share_one_read_before_it_and_one_after(desk):
    with window("close", *checks_of(combine(desk.count))) as w:
        desk.close()

    assert outcomes(w.report) == ["pass", "pass", "pass"]
    assert desk.reads == 2


def test_each_run_reads_again(desk):
    action = expects(*checks_of(combine(desk.count)))(desk.close)
    with collect_reports() as reports:
        action()
        action()

    assert [outcomes(report) for report in reports] == [["pass"] * 3] * 2
    assert desk.reads == 4


async def read_in_async_action(desk, read):
    @expects(*checks_of(combine(read)))
    async def close():
        desk.close()

    with collect_reports() as reports:
        await close()
    return reports[0]


async def test_an_async_read_is_shared_by_checks_that_wait_together(desk):
    report = await read_in_async_action(desk, desk.count_later)

    assert outcomes(report) == ["pass", "pass", "pass"]
    assert desk.reads == 2


async def test_a_function_that_returns_an_awaitable_is_shared_too(desk):
    report = await read_in_async_action(desk, lambda: desk.count_later())

    assert outcomes(report) == ["pass", "pass", "pass"]
    assert desk.reads == 2


async def test_a_blocking_read_is_shared_by_threads(desk):
    threads = set()

    @probe(blocking=True)
    def read():
        threads.add(threading.current_thread().name)
        return desk.count()

    report = await read_in_async_action(desk, read)

    assert outcomes(report) == ["pass", "pass", "pass"]
    assert desk.reads == 2
    assert threading.main_thread().name not in threads


def test_an_async_read_in_a_sync_action_is_inconclusive_and_leaves_nothing_unawaited(desk):
    with window("close", *checks_of(combine(lambda: desk.count_later()))) as w:
        desk.close()

    assert [check.reason for check in w.report] == ["baseline_failed"] * 3


def test_a_read_that_fails_fails_every_part_once(desk):
    def read():
        desk.reads += 1
        raise ConnectionError("the desk is closed")

    with window("close", *checks_of(combine(read))) as w:
        desk.close()

    assert [check.explanation.partition(": ")[2] for check in w.report] == [
        "before the action the probe raised ConnectionError: the desk is closed"
    ] * 3
    assert desk.reads == 1


async def test_a_read_that_was_given_up_is_not_given_to_the_others(desk):
    first = True

    async def read():
        nonlocal first
        if first:
            first = False
            await asyncio.sleep(60)
        return desk.count()

    counts = combine(read)
    hasty = change("open", counts["open"]).by(-1).timeout(0.05)
    patient = change("closed", counts["closed"]).by(1).timeout(30)  # with a limit too, so that it asks second
    async with window("close", hasty, patient) as w:
        desk.close()

    assert [(check.outcome, check.reason) for check in w.report] == [
        ("inconclusive", "probe_timeout"),
        ("pass", None),
    ]


def test_each_poll_reads_again(desk):
    counts = combine(desk.count)

    def close_later():
        threading.Timer(0.05, desk.close).start()

    with window("close", change("open", counts["open"]).by(-1).eventually(5, every=0.01)) as w:
        close_later()

    assert outcomes(w.report) == ["pass"]
    assert w.report["open"].timing.attempts == desk.reads - 1


def test_a_combined_read_receives_the_arguments_that_it_names():
    counts = {"acme": {"open": 1}, "globex": {"open": 5}}
    seen = []

    def read(tenant):
        seen.append(tenant)
        return dict(counts[tenant])

    combined = combine(read)

    @expects(change("open", combined["open"]).by(1), observe("size", combined[len]))
    def open_ticket(tenant):
        counts[tenant]["open"] += 1

    with collect_reports() as reports:
        open_ticket("globex")

    assert outcomes(reports[0]) == ["pass", "observed"]
    assert seen == ["globex", "globex"]


def test_runs_inside_one_another_do_not_share(desk):
    counts = combine(desk.count)
    with window("outer", change("open", counts["open"]).by(-2)) as outer:
        desk.close()
        with window("inner", change("open", counts["open"]).by(-1)) as inner:
            desk.close()

    assert (outcomes(outer.report), outcomes(inner.report)) == (["pass"], ["pass"])
    assert desk.reads == 4


def test_a_part_of_rows_can_be_tagged():
    rows = {"tickets": [{"id": 1, "tag": None}]}
    combined = combine(lambda: {"tickets": list(rows["tickets"])})
    with window("open", change("tickets", tagged(combined["tickets"], key="id", tag="tag")).by(1)) as w:
        rows["tickets"].append({"id": 2, "tag": w.causal_tag})

    assert outcomes(w.report) == ["pass"]


def test_a_part_is_an_attribute_of_a_record_and_a_position_of_a_tuple():
    assert combine(lambda: 3 + 4j)["imag"]() == 4.0
    assert combine(lambda: (7, 8))[1]() == 8


def test_a_missing_part_makes_only_its_own_check_inconclusive(desk):
    counts = combine(desk.count)
    with window("close", change("open", counts["open"]).by(-1), observe("lost", counts["lost"])) as w:
        desk.close()

    assert [(check.outcome, check.reason) for check in w.report] == [
        ("pass", None),
        ("inconclusive", "baseline_failed"),
    ]


@pytest.mark.parametrize("once", [iter, lambda rows: (row for row in rows), lambda rows: map(int, rows)])
def test_an_iterator_is_refused_instead_of_being_shared_as_empty(once):
    rows = [1, 2]
    counts = combine(lambda: once(rows))
    size = counts[lambda walked: sum(1 for _ in walked)]
    with window("load", unchanged("size", size), unchanged("rows", counts[list])) as w:
        rows.append(3)

    assert [check.reason for check in w.report] == ["baseline_failed"] * 2
    assert "which its first part would exhaust" in w.report["rows"].explanation


async def test_an_async_read_that_gives_an_iterator_is_rejected_too():
    async def read():
        return iter([1, 2])

    counts = combine(read)
    async with window("load", unchanged("a", counts[list]), unchanged("b", counts[tuple])) as w:
        pass

    assert [check.reason for check in w.report] == ["baseline_failed"] * 2


def test_a_read_that_asks_for_a_part_of_itself_is_an_error_and_does_not_wait_for_ever():
    counts = combine(lambda: {"open": counts["open"]()})
    reports = []

    def act():
        with window("close", unchanged("open", counts["open"])) as w:
            pass
        reports.append(w.report)

    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(60)

    assert "RecursionError" in reports[0]["open"].explanation


def test_equal_reads_that_are_not_identical_are_kept_apart():
    @dataclass
    class Reading:  # compared by nothing, and without a hash
        of: dict = field(compare=False)

        def __call__(self):
            return dict(self.of)

    first, second = {"open": 1}, {"open": 1}
    checks = (
        unchanged("a", combine(Reading(first))["open"]),
        unchanged("b", combine(Reading(second))["open"]),
    )
    with window("close", *checks) as w:
        second["open"] = 2

    assert outcomes(w.report) == ["pass", "fail"]


def test_combine_is_shown_as_source_in_repr(desk):
    assert repr(combine(len)["open"]) == "combine(len)['open']"


@pytest.mark.parametrize("wrong", [None, 3.5, True])
def test_a_part_of_a_wrong_kind_is_rejected(desk, wrong):
    with pytest.raises(DefinitionTypeError, match="a part of a combined read is the name"):
        combine(desk.count)[wrong]


def test_a_snapshot_in_place_of_a_function_is_rejected():
    with pytest.raises(DefinitionTypeError, match="pass the function, not its result"):
        combine({"open": 1})
