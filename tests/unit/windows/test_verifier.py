"""`DeltaVerifier`: the class of the Delta pattern, its methods, its dict and its error text."""

import pytest

from deltaspan import DeltaspanError, DeltaVerifier, collect_reports


@pytest.fixture
def flows():
    return ["a", "b", "c"]


@pytest.fixture
def verifier(flows):
    return DeltaVerifier("active_flows", lambda: len(flows), expected_delta=1)


def test_a_met_expectation_is_the_pattern_s_dict_in_its_order(flows, verifier):
    verifier.capture_baseline()
    flows.append("d")
    report = verifier.verify_delta()

    assert list(report.items()) == [
        ("check", "active_flows_delta"),
        ("metric", "active_flows"),
        ("passed", True),
        ("expected_delta", 1),
        ("actual_delta", 1),
        ("pre_state", 3),
        ("post_state", 4),
    ]


def test_an_unmet_expectation_is_the_same_dict(flows, verifier):
    verifier.capture_baseline()
    flows.clear()

    assert verifier.verify_delta() == {
        "check": "active_flows_delta",
        "metric": "active_flows",
        "passed": False,
        "expected_delta": 1,
        "actual_delta": -3,
        "pre_state": 3,
        "post_state": 0,
    }


def test_capturing_returns_the_baseline(verifier):
    assert verifier.capture_baseline() == 3


def test_verifying_without_a_baseline_raises_the_pattern_s_error(verifier):
    with pytest.raises(ValueError, match=r"^baseline never captured; cannot verify a delta$") as caught:
        verifier.verify_delta()

    assert isinstance(caught.value, DeltaspanError)


def test_the_attributes_are_those_of_the_pattern(flows, verifier):
    assert (verifier.metric_name, verifier.expected_delta) == ("active_flows", 1)
    assert verifier.fetch_state_fn() == 3
    assert (verifier.pre_state, verifier.post_state) == (None, None)

    verifier.capture_baseline()
    assert (verifier.pre_state, verifier.post_state) == (3, None)

    flows.append("d")
    verifier.verify_delta()
    assert (verifier.pre_state, verifier.post_state) == (3, 4)


def test_each_verification_reads_again_against_the_same_baseline(flows, verifier):
    verifier.capture_baseline()
    deltas = []
    for flow in "def":
        flows.append(flow)
        deltas.append(verifier.verify_delta()["actual_delta"])

    assert deltas == [1, 2, 3]


def test_a_new_baseline_replaces_the_old_one(flows, verifier):
    verifier.capture_baseline()
    flows.append("d")
    verifier.capture_baseline()
    flows.append("e")

    assert verifier.verify_delta()["passed"] is True


def test_a_baseline_of_zero_is_a_baseline(flows, verifier):
    flows.clear()
    verifier.capture_baseline()
    flows.append("a")

    assert verifier.verify_delta()["passed"] is True


def test_an_exit_while_the_baseline_is_read_is_raised():
    error = OSError("gone")

    def fetch():
        raise error

    verifier = DeltaVerifier("rows", fetch, 1)
    with pytest.raises(OSError, match="gone") as caught:
        verifier.capture_baseline()

    assert caught.value is error
    with pytest.raises(ValueError, match="baseline never captured"):
        verifier.verify_delta()


def test_an_exit_while_the_post_state_is_read_is_raised_and_the_baseline_is_kept():
    answers = [3, OSError("gone"), 4]

    def fetch():
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    verifier = DeltaVerifier("rows", fetch, 1)
    verifier.capture_baseline()
    with pytest.raises(OSError, match="gone"):
        verifier.verify_delta()

    assert verifier.verify_delta()["passed"] is True


def test_a_failure_is_in_the_dict_and_never_raised(environ, verifier):
    environ(DELTASPAN_ON_FAILURE="raise", DELTASPAN_ON_INCONCLUSIVE="raise")
    verifier.capture_baseline()

    assert verifier.verify_delta()["passed"] is False


def test_the_verifier_works_while_everything_else_is_disabled(environ, flows, verifier):
    environ(DELTASPAN_ENABLED="false")
    verifier.capture_baseline()
    flows.append("d")

    assert verifier.verify_delta()["passed"] is True


def test_each_verification_is_reported(flows, verifier):
    with collect_reports() as reports:
        verifier.capture_baseline()
        flows.append("d")
        verifier.verify_delta()
        flows.append("e")
        verifier.verify_delta()

    assert [(report.action, report.outcome) for report in reports] == [
        ("active_flows", "pass"),
        ("active_flows", "fail"),
    ]


def test_a_state_that_cannot_be_compared_raises_a_deltaspan_error():
    verifier = DeltaVerifier("rows", lambda: (row for row in ()), 1)

    with pytest.raises(DeltaspanError, match="found an iterator"):
        verifier.capture_baseline()


@pytest.mark.parametrize(
    ("metric", "fetch", "expected", "kind"),
    [
        ("two words", lambda: 1, 1, ValueError),
        ("rows", 3, 1, TypeError),
        ("rows", lambda: 1, "one", TypeError),
        ("rows", lambda: 1, float("nan"), ValueError),
        ("rows", lambda tenant: 1, 1, TypeError),
    ],
    ids=["metric", "probe", "amount", "nan", "parameter"],
)
def test_a_wrong_definition_is_refused(metric, fetch, expected, kind):
    with pytest.raises(DeltaspanError) as caught:
        DeltaVerifier(metric, fetch, expected)

    assert isinstance(caught.value, kind)
