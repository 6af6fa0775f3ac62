"""The example of the Delta pattern runs unchanged, its class replaced by ours.

Its code is quoted from https://verificationdesign.com/patterns/verification/delta/, licensed CC BY 4.0
(https://creativecommons.org/licenses/by/4.0/). The pattern's own class is left out, nothing else is changed.
"""

from deltaspan import DeltaVerifier, collect_reports

NAIVE = """
def verify_flow_created_naive(get_flow_count):
    observed = get_flow_count()
    return {
        "passed": observed >= 1,
        "observed": observed,
        "expected": "at least 1 flow",
    }
"""

PATTERN = """
from typing import Callable


# A shared environment that already holds unrelated flows before the agent runs.
flows = [{"id": 1}, {"id": 2}, {"id": 3}]


def get_flow_count() -> int:
    return len(flows)


def verify_flow_created_naive_local(get_flow_count: Callable[[], int]) -> dict:
    observed = get_flow_count()
    return {
        "passed": observed >= 1,
        "observed": observed,
        "expected": "at least 1 flow",
    }


flow_verifier = DeltaVerifier("active_flows", get_flow_count, expected_delta=1)
flow_verifier.capture_baseline()       # pre-action: records 3
assert verify_flow_created_naive_local(get_flow_count)["passed"] is True
flows.append({"id": 4})                # the agent creates exactly one flow this run
report = flow_verifier.verify_delta()  # post-action check

assert report == {
    "check": "active_flows_delta",
    "metric": "active_flows",
    "passed": True,
    "expected_delta": 1,
    "actual_delta": 1,
    "pre_state": 3,
    "post_state": 4,
}
assert report["pre_state"] == 3 and report["post_state"] == 4
assert report["passed"]                     # the measured change in this window is +1
"""

SIGNAL = """\
check: active_flows_delta
metric: active_flows
passed: true
pre_state: 3
post_state: 4
expected_delta: 1
actual_delta: 1"""


def run(source):
    names = {"DeltaVerifier": DeltaVerifier}
    exec(compile(source, "delta.md", "exec"), names)  # noqa: S102  # the pattern's text, as it stands above
    return names


def test_the_pattern_s_example_runs_unchanged():
    assert run(PATTERN)["report"]["passed"] is True


def test_the_naive_check_passes_before_anything_was_done_and_ours_does_not():
    names = run(PATTERN)
    naive = run(NAIVE)["verify_flow_created_naive"]
    verifier = DeltaVerifier("active_flows", names["get_flow_count"], expected_delta=1)
    verifier.capture_baseline()

    assert naive(names["get_flow_count"])["passed"] is True
    assert verifier.verify_delta()["passed"] is False


def test_the_observable_signal_is_the_pattern_s():
    with collect_reports() as reports:
        run(PATTERN)

    assert str(reports[0]["active_flows"]).startswith(SIGNAL + "\n")
