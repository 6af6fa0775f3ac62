"""Redacted checks: their states leave the process nowhere."""

import asyncio
import gc
import logging
import pickle
import threading

import pytest

from deltaspan import (
    DeltaCheckFailed,
    DeltaInconclusive,
    change,
    collect_reports,
    expects,
    observe,
    unchanged,
    window,
)
from deltaspan._reports._redaction import REDACTED
from deltaspan.exceptions import DefinitionTypeError
from support.reports import reports_of
from support.waiting import cancel

SECRET = "s3cr3t"  # noqa: S105  # planted, to be searched for
HELD = "it was so already before the action"


class Vault:
    """A state that is a secret, in every form."""

    def __init__(self, state=(SECRET,), after=(SECRET, SECRET + "-2")):
        self.state = state
        self.after = after

    def read(self):
        if isinstance(self.state, Exception):
            raise self.state
        return self.state

    def act(self, *_):
        self.state = self.after


def leaks(recorded, caplog, report, *more):
    """Return everything that left a run and says the secret."""
    said = [
        ("str", str(report)),
        ("repr", repr(report)),
        ("to_dict", repr(report.to_dict())),
        ("feedback", report.feedback()),
        ("explanation", report.explanation),
        ("pickled", pickle.dumps(report).decode("latin-1")),
        ("log", caplog.text),
        *[(f"more {number}", thing) for number, thing in enumerate(more)],
    ]
    for check in report:
        said += [(f"field {name}", repr(getattr(check, name))) for name in check.__slots__]
        said += [
            (name, repr(getattr(check, name)))
            for name in dir(type(check))
            if not name.startswith("__") and not callable(getattr(check, name))
        ]
    for span in recorded.spans:
        said += [("attributes", repr(dict(span.attributes))), ("status", repr(span.status.description))]
        said += [("event", repr((event.name, dict(event.attributes)))) for event in span.events]
    said += [("log record", repr((log.body, dict(log.attributes)))) for log in recorded.logs]
    return [place for place, text in said if SECRET in text]


def failing(check):
    return check.removing(SECRET + "-3")


CASES = {
    "passes": (Vault(), lambda check: check),
    "fails": (Vault(), failing),
    "fails at its ends": (Vault(), lambda check: check.from_((SECRET, "x")).to((SECRET,))),
    "a computed operand": (Vault(), lambda check: check.to(lambda: (SECRET, "other"))),
    "an operand that cannot be computed": (Vault(), lambda check: check.to(lambda: [][SECRET])),
    "a predicate": (Vault(), lambda check: check.satisfying(lambda delta: [][SECRET], "sound")),
    "a start that raises": (Vault(OSError(SECRET)), lambda check: check),
    "an end that raises": (Vault(after=OSError(SECRET)), lambda check: check),
    "states that do not compare": (Vault(after=SECRET), lambda check: check.by(1)),
    "a value that does not freeze": (Vault({SECRET: threading.Lock()}), lambda check: check),
    "mappings": (Vault({SECRET: SECRET}, {SECRET: 1}), lambda check: check.adding(SECRET + "-4")),
    "waited for": (Vault(), lambda check: failing(check).eventually(0.002, every=0.001)),
    "limited": (Vault(OSError(SECRET)), lambda check: check.timeout(60)),
}


@pytest.mark.parametrize(
    "by", [None, lambda state: "shown", lambda state: [][state]], ids=["whole", "by", "broken"]
)
@pytest.mark.parametrize("case", CASES)
def test_no_state_is_exposed_with_any_outcome(case, by, recorded, caplog, environ):
    environ(DELTASPAN_EVENT_SIGNAL="both")
    vault, says = CASES[case]
    vault = Vault(vault.state, vault.after)
    check = says(change("secret", vault.read)).redacted(by=by)
    with collect_reports() as reports, caplog.at_level(logging.DEBUG):
        expects(check, on_failure="warn", on_inconclusive="warn")(vault.act)()

    assert leaks(recorded, caplog, reports[0]) == []


@pytest.mark.parametrize("case", CASES)
def test_the_search_finds_a_state_that_is_not_redacted(case, recorded, caplog):
    vault, says = CASES[case]
    vault = Vault(vault.state, vault.after)
    reports = reports_of(
        expects(says(change("secret", vault.read)), on_failure="warn", on_inconclusive="warn")(vault.act)
    )

    assert leaks(recorded, caplog, reports[0]) != []


def test_no_state_is_exposed_by_an_exception(recorded, caplog):
    vault = Vault()
    with pytest.raises(DeltaCheckFailed) as caught:
        expects(failing(change("secret", vault.read)).redacted(), on_failure="raise")(vault.act)()
    error = caught.value

    assert (
        leaks(
            recorded,
            caplog,
            error.report,
            str(error),
            repr(error.args),
            pickle.dumps(error).decode("latin-1"),
        )
        == []
    )


def test_no_state_is_exposed_by_an_exception_for_an_inconclusive_check(recorded, caplog):
    vault = Vault(OSError(SECRET))
    with pytest.raises(DeltaInconclusive) as caught:
        expects(change("secret", vault.read).redacted(), on_inconclusive="raise")(vault.act)()
    error = caught.value

    assert (
        leaks(
            recorded,
            caplog,
            error.report,
            str(error),
            repr(error.args),
            pickle.dumps(error).decode("latin-1"),
        )
        == []
    )
    assert error.report["secret"].error is None


def test_no_state_is_exposed_if_the_action_raises(recorded, caplog):
    vault = Vault()

    def act():
        vault.act()
        raise ValueError("no")

    checks = [
        change("secret", vault.read).redacted(),
        change("trace", vault.read).redacted().or_unchanged_on_error(),
        unchanged("same", vault.read).redacted(),
        observe("seen", vault.read).redacted(),
    ]
    with collect_reports() as reports, pytest.raises(ValueError, match="no"):
        expects(*checks)(act)()

    assert leaks(recorded, caplog, reports[0]) == []
    assert [check.outcome for check in reports[0]] == ["inconclusive", "fail", "fail", "observed"]


def test_no_state_of_a_contended_window_is_exposed(recorded, caplog):
    vault = Vault()
    check = change("secret", vault.read).redacted()
    with collect_reports() as reports:
        one, other = window("one", check), window("other", check)
        one.capture_baseline()
        other.capture_baseline()
        vault.act()
        one.verify()
        other.verify()

    assert [report["secret"].reason for report in reports] == ["contended", "contended"]
    assert leaks(recorded, caplog, reports[0]) + leaks(recorded, caplog, reports[1]) == []


async def test_no_state_of_an_abandoned_window_is_exposed(recorded, caplog):
    vault = Vault()

    @expects(change("secret", vault.read).redacted().eventually(60).from_((SECRET,)).to(SECRET))
    async def act():
        vault.act()

    with collect_reports() as reports:
        task = asyncio.ensure_future(act())
        await asyncio.sleep(0.01)
        await cancel(task)

    assert reports[0]["secret"].reason == "abandoned"
    assert leaks(recorded, caplog, reports[0]) == []


async def test_no_state_is_exposed_in_the_log_of_an_event_loop(recorded, caplog):
    async def read():
        try:
            await asyncio.sleep(60)
        finally:
            raise OSError(SECRET)

    @expects(change("secret", read).redacted().timeout(0.005))
    async def act():
        pass

    with collect_reports() as reports:
        await act()
    await asyncio.sleep(0.01)
    gc.collect()

    assert leaks(recorded, caplog, reports[0]) == []


def test_no_operand_of_a_check_that_was_sampled_out_is_exposed(recorded, caplog):
    vault = Vault()
    reports = reports_of(expects(change("secret", vault.read).to(SECRET).redacted().sampled(0))(vault.act))

    assert leaks(recorded, caplog, reports[0]) == []
    assert reports[0]["secret"].explanation == "secret: not read, because this run was sampled out"


def test_no_operand_of_a_disabled_window_is_exposed(environ):
    environ(DELTASPAN_ENABLED="false")
    with window("load", change("secret", lambda: SECRET).to(SECRET).redacted()) as opened:
        pass

    assert SECRET not in repr(opened.report.to_dict()) + str(opened.report)
    assert opened.report["secret"].outcome == "skipped"


# Parts that a redaction shows ---------------------------------------------------------------------------


def test_the_result_of_capture_baseline_is_redacted():
    hidden = window("load", change("secret", lambda: SECRET).redacted(), change("rows", lambda: 3))
    shown = window("load", change("secret", lambda: SECRET).redacted(by=len))

    assert (dict(hidden.capture_baseline()), dict(shown.capture_baseline())) == (
        {"secret": REDACTED, "rows": 3},
        {"secret": 6},
    )


@pytest.mark.parametrize(
    ("says", "outcome", "sentence"),
    [
        (lambda check: check.by(1), "pass", "balance changed as expected; its states are redacted"),
        (lambda check: check.by(2), "fail", "balance changed, but not as expected; its states are redacted"),
        (
            lambda check: check.ending_at(5),
            "fail",
            "balance changed, but not as expected; its states are redacted",
        ),
        (
            lambda check: check.by(lambda pre_state: pre_state - 99),
            "pass",
            "balance changed as expected; its states are redacted",
        ),
        (
            lambda check: check.by(lambda: 1 / 0),
            "inconclusive",
            (
                "balance: has no verdict, because its expected value could not be computed "
                "(ZeroDivisionError); its states are redacted"
            ),
        ),
    ],
)
def test_the_verdict_is_reached_on_the_true_states(says, outcome, sentence):
    state = [100]
    with window("pay", says(change("balance", lambda: state[0])).redacted()) as opened:
        state[0] += 1
    report = opened.report["balance"]

    assert (report.outcome, report.explanation) == (outcome, sentence)
    assert (report.pre_state, report.post_state, report.actual_delta, report.expected_delta) == (
        REDACTED,
    ) * 4


@pytest.mark.parametrize(
    ("says", "outcome", "sentence"),
    [
        (lambda check: check.ending_at(100), "pass", f"did not change, as expected; {HELD}"),
        (lambda check: check.by(lambda: 0), "pass", f"did not change, as expected; {HELD}"),
        (lambda check: check.by(1), "fail", "did not change as expected"),
    ],
)
def test_an_unchanged_redacted_state_is_not_described_as_changed(says, outcome, sentence):
    with window("pay", says(change("balance", lambda: 100)).redacted()) as opened:
        pass
    report = opened.report["balance"]

    assert (report.outcome, report.explanation) == (outcome, f"balance {sentence}; its states are redacted")


@pytest.mark.parametrize(
    ("trace", "sentence"), [(0, f"did not change, as expected; {HELD}"), (1, "changed, but not as expected")]
)
def test_a_redacted_report_says_whether_a_failed_action_left_a_trace(trace, sentence):
    state = [100]

    @expects(change("balance", lambda: state[0]).by(5).redacted().or_unchanged_on_error())
    def pay():
        state[0] += trace
        raise OSError

    with collect_reports() as reports, pytest.raises(OSError):  # noqa: PT011  # any will do
        pay()

    assert reports[0]["balance"].explanation == f"balance {sentence}; its states are redacted"


def test_by_names_the_part_that_may_be_shown():
    rows = ["a"]
    with window("add", change("rows", lambda: list(rows)).adding("b").redacted(by=len)) as opened:
        rows.append("b")
    report = opened.report["rows"]

    assert (report.outcome, report.pre_state, report.post_state) == ("pass", 1, 2)
    assert (report.actual_delta, report.expected_delta) == (REDACTED, REDACTED)


def test_by_that_raises_shows_nothing():
    with window("add", observe("rows", lambda: 3).redacted(by=lambda state: state.missing)) as opened:
        pass

    assert opened.report["rows"].pre_state == REDACTED


def test_the_part_that_by_shows_is_frozen():
    shared = [1]
    with window("add", observe("rows", lambda: 3).redacted(by=lambda state: shared)) as opened:
        pass
    shared.append(2)

    assert opened.report["rows"].pre_state == (1,)


def test_other_checks_of_the_action_are_shown():
    with window("add", observe("secret", lambda: SECRET).redacted(), observe("rows", lambda: 3)) as opened:
        pass

    assert opened.report["rows"].pre_state == 3


def test_by_must_be_callable():
    with pytest.raises(
        DefinitionTypeError, match="redacted takes a callable that returns what may be shown, not 3"
    ):
        change("rows", len).redacted(by=3)
