"""Retries of an action are distinguished: its runs below one parent are numbered from 1."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

from deltaspan import adopt, collect_reports, expects, observe, window
from support.reports import reports_of

TAG = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"
nothing = observe("nothing", lambda: 0)


@expects(nothing)
def act():
    pass


@expects(nothing)
def other():
    pass


def attempts(call):
    reports = reports_of(call)
    return [(report.action, report.attempt) for report in reports]


def test_runs_of_one_action_below_one_parent_are_numbered():
    @expects(nothing)
    def turn():
        act()
        other()
        act()
        act()

    assert attempts(turn) == [("act", 1), ("other", 1), ("act", 2), ("act", 3), ("turn", 1)]


def test_each_parent_counts_for_itself():
    @expects(nothing)
    def turn():
        act()
        act()

    @expects(nothing)
    def task():
        turn()
        turn()

    assert attempts(task) == [
        *[("act", 1), ("act", 2), ("turn", 1)],
        *[("act", 1), ("act", 2), ("turn", 2)],
        ("task", 1),
    ]


def test_a_root_is_always_the_first():
    def calls():
        act()
        act()

    assert attempts(calls) == [("act", 1), ("act", 1)]


def test_windows_count_by_their_name():
    def calls():
        with window("task", nothing):
            for name in ("load", "load", "save"):
                with window(name, nothing):
                    pass

    assert attempts(calls) == [("load", 1), ("load", 2), ("save", 1), ("task", 1)]


def test_attempts_below_an_adopted_tag_are_numbered_too():
    def calls():
        with adopt({"baggage": f"deltaspan.causal_tag.id={TAG}"}):
            act()
            act()

    assert attempts(calls) == [("act", 1), ("act", 2)]


def test_no_number_is_given_twice_across_threads():
    numbers = []

    @expects(nothing)
    def turn():
        contexts = [copy_context() for _ in range(64)]
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda context: context.run(act), contexts))

    reports = reports_of(turn)
    numbers = sorted(report.attempt for report in reports if report.action == "act")

    assert numbers == list(range(1, 65))


def test_the_span_of_a_retry_tells_the_attempt(recorded):
    with window("task", nothing):
        act()
        act()

    assert [span.attributes.get("deltaspan.action.attempt") for span in recorded.spans] == [None, 2, None]


def test_a_report_keeps_its_attempt_on_its_way_through_pickle_and_json():
    with collect_reports() as reports, window("task", nothing):
        act()
        act()

    assert pickle.loads(pickle.dumps(reports[1])).attempt == 2  # noqa: S301  # our own
    assert reports[1].to_dict()["attempt"] == 2
