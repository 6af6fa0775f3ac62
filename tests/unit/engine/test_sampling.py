"""`sampled`: a share of the runs is read, and a run stays whole."""

from contextvars import copy_context
from functools import partial
from uuid import UUID

import pytest
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import attach, detach

from deltaspan import Window, adopt, change, collect_reports, configure, expects, observe, override, window
from deltaspan._config import Settings
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError
from support.overlapping import run_in_threads
from support.reports import reports_of


def outcomes_of(rate, runs):
    reads = []
    act = expects(observe("rows", lambda: reads.append(1)).sampled(rate))(lambda: None)
    with collect_reports() as reports:
        for _ in range(runs):
            act()
    return [report["rows"].outcome for report in reports], len(reads)


def test_a_rate_of_zero_reads_nothing():
    assert outcomes_of(0, 50) == (["skipped"] * 50, 0)


def test_a_rate_of_one_reads_everything():
    assert outcomes_of(1, 50) == (["observed"] * 50, 100)


def test_the_share_is_right():
    outcomes, reads = outcomes_of(0.25, 4000)
    read = outcomes.count("observed")

    assert 860 <= read <= 1140  # five standard deviations
    assert reads == 2 * read


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_the_runs_of_one_root_are_all_read_or_all_skipped(rate):
    check = observe("rows", lambda: 3).sampled(rate)
    inner = expects(check, name="inner")(lambda: None)

    @expects(check, name="outer")
    def outer():
        inner()
        inner()

    for _ in range(30):
        reports = reports_of(outer)
        assert len({report["rows"].outcome for report in reports}) == 1


def headers_of(root):
    return {"baggage": f"deltaspan.causal_tag.id={UUID(int=7)},deltaspan.causal_tag.root_id={root}"}


STRANGER = headers_of("ffffffff-ffff-4fff-bfff-ffffffffffff")


def outcomes_for_a_stranger(rate, runs):
    action = expects(observe("rows", lambda: 3).sampled(rate))(lambda: None)
    with collect_reports() as reports:
        for _ in range(runs):
            with adopt(STRANGER):
                action()
    return [report["rows"].outcome for report in reports]


def test_an_inbound_root_does_not_prevent_sampling():
    assert outcomes_for_a_stranger(0.99, 100).count("observed") >= 90


def test_an_inbound_root_does_not_change_the_sampled_share():
    assert 860 <= outcomes_for_a_stranger(0.25, 4000).count("observed") <= 1140


def test_a_root_in_plain_baggage_does_not_keep_checks_from_reading():
    action = expects(observe("rows", lambda: 3).sampled(0.99))(lambda: None)
    with collect_reports() as reports:
        for _ in range(100):
            token = attach(W3CBaggagePropagator().extract(STRANGER))
            action()
            detach(token)

    assert [report["rows"].outcome for report in reports].count("observed") >= 90


def test_the_runs_below_an_inbound_root_are_all_read_or_all_skipped():
    check = observe("rows", lambda: 3).sampled(0.5)
    inner = expects(check, name="inner")(lambda: None)

    @expects(check, name="outer")
    def outer():
        inner()
        inner()

    for _ in range(30):
        with collect_reports() as reports, adopt(STRANGER):
            outer()
        assert len({report["rows"].outcome for report in reports}) == 1


def test_the_root_of_another_process_decides_if_a_key_is_set(environ):
    environ(DELTASPAN_SAMPLING_KEY="of the fleet")
    action = expects(observe("rows", lambda: 3).sampled(0.5))(lambda: None)
    outcomes = {}
    for number in range(40):
        headers = {
            "baggage": (
                f"deltaspan.causal_tag.id={UUID(int=7)},deltaspan.causal_tag.root_id={UUID(int=number + 1)}"
            )
        }
        with collect_reports() as reports, adopt(headers):
            action()
            action()
        outcomes[number] = {report["rows"].outcome for report in reports}

    assert all(len(each) == 1 for each in outcomes.values())
    assert {outcome for each in outcomes.values() for outcome in each} == {"observed", "skipped"}


def test_another_key_reads_other_runs():
    action = expects(observe("rows", lambda: 3).sampled(0.5))(lambda: None)

    def outcomes(key):
        with override(sampling_key=key), collect_reports() as reports:
            for number in range(40):
                with adopt(headers_of(UUID(int=number + 1))):
                    action()
        return [report["rows"].outcome for report in reports]

    assert outcomes("one") == outcomes("one")
    assert outcomes("one") != outcomes("two")


@pytest.mark.parametrize("key", ["", b"secret", 7])
def test_a_key_that_is_not_a_text_is_refused_without_showing_it(key):
    with pytest.raises(DefinitionValueError, match="write a string that is not empty") as raised:
        configure(sampling_key=key)
    assert "secret" not in str(raised.value)


def test_the_key_is_not_shown():
    assert "of the fleet" not in repr(Settings(sampling_key="of the fleet"))


@pytest.mark.parametrize("first", [0, 1])
def test_a_window_that_was_handed_over_is_sampled_where_it_was_opened(first):
    opened = window("load", change("rows", lambda: 3).by(0).sampled(first))
    opened.capture_baseline()
    reopened = Window.from_json(opened.to_json(), change("rows", lambda: 3).by(0).sampled(1 - first))

    assert reopened.verify()["rows"].outcome == ("pass" if first else "skipped")


def test_a_check_that_was_sampled_out_says_so():
    with window("load", change("rows", lambda: 3).by(1).sampled(0)) as opened:
        pass
    report = opened.report["rows"]

    assert (report.outcome, report.passed, report.reason) == ("skipped", False, None)
    assert report.explanation == "rows: not read, because this run was sampled out"
    assert (report.has_pre_state, report.has_post_state, report.has_delta) == (False, False, False)


def test_other_checks_of_the_run_are_read():
    with window("load", change("rows", lambda: 3).by(1).sampled(0), observe("users", lambda: 4)) as opened:
        pass

    assert [check.outcome for check in opened.report] == ["skipped", "observed"]
    assert opened.report.outcome == "observed"


def test_an_action_that_was_sampled_out_still_contends():
    rows = []
    lazy = window("lazy", change("rows", lambda: len(rows)).by(1))
    lazy.capture_baseline()
    with window("busy", change("rows", lambda: len(rows)).sampled(0)):
        rows.append(1)

    assert lazy.verify()["rows"].reason == "contended"


def test_a_check_that_was_sampled_out_is_not_waited_for():
    with window("load", change("rows", lambda: 3).sampled(0).eventually(60)) as opened:
        pass

    assert opened.report["rows"].timing is None


def test_the_metrics_count_skipped_checks(recorded):
    with window("load", change("rows", lambda: 3).sampled(0)):
        pass
    counts = {
        point.attributes["deltaspan.check.outcome"]: point.value
        for point in recorded.points("deltaspan.checks")
    }

    assert counts == {"skipped": 1}


def test_threads_of_one_root_agree():
    check = observe("rows", lambda: 3).sampled(0.5)
    found = []

    @expects(check)
    def outer():
        def inner():
            expects(check, on_report=lambda report: found.append(report["rows"].outcome))(lambda: None)()

        run_in_threads(*[partial(copy_context().run, inner) for _ in range(4)])

    reports = reports_of(outer)

    assert {*found} == {reports[-1]["rows"].outcome}


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan")])
def test_a_rate_is_a_share(rate):
    with pytest.raises(DefinitionValueError, match="is not a share from 0 to 1"):
        change("rows", len).sampled(rate)


@pytest.mark.parametrize("rate", [True, "0.5", None])
def test_a_rate_is_a_number(rate):
    with pytest.raises(DefinitionTypeError, match="sampled takes a share from 0 to 1"):
        change("rows", len).sampled(rate)
