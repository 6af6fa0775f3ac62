"""Windows that cannot be handed over, and texts that are refused."""

import hashlib
import hmac
import json
import threading
from enum import Enum
from functools import partial

import pytest

from deltaspan import Window, change, observe, window
from support.refusals import refusal
from support.reports import reports_of


class Color(Enum):
    RED = 1


@pytest.fixture
def check(rows):
    return change("rows", rows.count)


def opened(*checks, **options):
    w = window("load", *checks, **options)
    w.capture_baseline()
    return w


# Steps in the wrong order --------------------------------------------------------------------------------


def test_a_window_cannot_be_handed_over_before_its_baseline(check):
    assert refusal(window("load", check).to_json) == (
        "ValueError: window 'load' has no baseline to hand over; call capture_baseline() first"
    )


def test_a_window_cannot_be_handed_over_in_its_block(check):
    with window("load", check) as w:
        assert refusal(w.to_json) == (
            "ValueError: window 'load' is verified when its block ends, so it cannot be handed over; "
            "open it by capture_baseline() instead of with"
        )


def test_a_window_cannot_be_handed_over_after_its_verdict(check):
    w = opened(check)
    w.verify()

    assert refusal(w.to_json) == (
        "ValueError: window 'load' was verified already; there is nothing left to hand over"
    )


def test_a_window_that_was_handed_over_cannot_be_used_again(check):
    w = opened(check)
    w.to_json()
    told = (
        "ValueError: window 'load' was handed over by to_json(); its report is where Window.from_json() "
        "loads that text and verify() is called"
    )

    assert refusal(w.verify) == refusal(w.to_json) == refusal(lambda: w.report) == told


def test_a_window_that_was_loaded_is_open_already(check):
    there = Window.from_json(opened(check).to_json(), check)

    assert (
        refusal(there.capture_baseline)
        == refusal(there.__enter__)
        == "ValueError: window 'load' was opened already; make a new one for each run"
    )
    there.verify()


def test_a_window_whose_baseline_was_interrupted_has_nothing_to_hand_over():
    def interrupted():
        raise KeyboardInterrupt

    w = window("load", change("rows", interrupted))
    with pytest.raises(KeyboardInterrupt):
        w.capture_baseline()

    assert w.report["rows"].reason == "abandoned"
    assert refusal(w.to_json) == (
        "ValueError: window 'load' was verified already; there is nothing left to hand over"
    )


# States without an encoding ------------------------------------------------------------------------------


def test_a_state_without_an_exact_text_is_refused_and_the_window_stays_open():
    w = opened(change("paint", lambda: {"orders": [Color.RED]}).to({"orders": [Color.RED]}))

    assert refusal(w.to_json) == (
        "ValueError: window 'load' cannot be handed over: the baseline of 'paint' is or holds a Color at "
        "orders/0; let its probe return plain values"
    )
    assert w.verify()["paint"].has_delta


def test_a_value_of_args_without_an_exact_text_is_refused(check):
    w = opened(check, args={"table": object()})

    assert refusal(w.to_json) == (
        "ValueError: window 'load' cannot be handed over: its args value 'table' is or holds an object; "
        "give a name or a key that finds it there"
    )
    w.verify()


def test_a_redacted_check_is_refused(check):
    w = opened(check.redacted())

    assert refusal(w.to_json) == (
        "ValueError: window 'load' cannot be handed over: check 'rows' is redacted, and its baseline would "
        "be in the text; verify it here"
    )
    w.verify()


def test_a_check_that_holds_a_lock_is_refused(check):
    locked = check.exclusively(threading.Lock())
    w = opened(locked)

    assert refusal(w.to_json) == (
        "ValueError: window 'load' cannot be handed over: check 'rows' holds a lock, which belongs to this "
        "process; verify it here"
    )
    w.verify()
    assert refusal(Window.from_json, opened(check).to_json(), locked) == (
        "ValueError: check 'rows' holds a lock, and the baseline of window 'load' was captured before it "
        "could be taken; leave exclusively() out"
    )


# Checks that are not those of the window -----------------------------------------------------------------


def test_a_metric_that_was_not_captured_is_named(check, rows):
    assert refusal(Window.from_json, opened(check).to_json(), check, observe("users", rows.count)) == (
        "ValueError: window 'load' was handed over without a check on 'users'; it checks rows"
    )


def test_a_metric_that_is_not_checked_any_more_is_named(check, rows):
    text = opened(check, observe("users", rows.count)).to_json()
    told = (
        "ValueError: window 'load' was handed over with a check on 'users', which from_json() was not given; "
        "give it a check for each metric"
    )

    assert refusal(Window.from_json, text, check) == told
    assert refusal(Window.from_json, opened(check).to_json()).startswith(
        "ValueError: window 'load' was handed over with a check on 'rows'"
    )


def test_an_async_probe_is_refused_because_verify_cannot_await_it(check):
    async def later():
        return 1

    assert refusal(Window.from_json, opened(check).to_json(), change("rows", later)) == (
        "TypeError: the probe of check 'rows' is async, and window 'load' was handed over: verify() cannot "
        "await; give it a probe that answers at once"
    )


def test_a_refused_text_leaves_no_window_behind(check, rows):
    text = opened(check).to_json()
    reports = reports_of(lambda: refusal(Window.from_json, text, observe("users", rows.count)))

    assert reports == []


# Texts that cannot be trusted ---------------------------------------------------------------------------


KEY = "correct horse"


NOT_OURS = "this is not the text of a window; pass on what to_json() returned, as it is"


refusal_of_text = partial(refusal, without=[KEY])


def changed(text, key=None, **window):
    """Return the text with another content, and the seal that anybody can compute."""
    document = json.loads(text)
    document["window"] |= window
    if key is not None:
        del document["seal"]
        data = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
        document["seal"] = "hmac-sha256:" + hmac.new(key.encode(), data, hashlib.sha256).hexdigest()
    return json.dumps(document)


def test_a_text_that_was_corrupted_is_refused(check):
    text = opened(check).to_json()

    assert refusal_of_text(Window.from_json, changed(text, name="lead"), check) == (
        "ValueError: the window document is corrupt: its digest does not match its content"
    )


def test_a_text_that_was_changed_without_the_key_is_refused(check):
    forged = changed(opened(check).to_json(key=KEY), key="a guess", name="lead")

    assert refusal_of_text(Window.from_json, forged, check, key=KEY) == (
        "ValueError: this window was changed on its way, or was signed with another key: its signature does "
        "not fit its content"
    )


@pytest.mark.parametrize(
    "key", [KEY, KEY.encode(), b"\xff\x00", "\ud800"], ids=["text", "bytes", "binary", "odd"]
)
def test_a_text_is_loaded_with_the_key_that_signed_it(check, key):
    assert Window.from_json(opened(check).to_json(key=key), check, key=key).verify()


def test_text_and_bytes_are_the_same_key(check):
    assert Window.from_json(opened(check).to_json(key=KEY), check, key=KEY.encode()).verify()


def test_the_key_is_not_in_the_text(check):
    assert KEY not in opened(check).to_json(key=KEY)


def test_a_signed_text_needs_the_key(check):
    assert refusal_of_text(Window.from_json, opened(check).to_json(key=KEY), check) == (
        "ValueError: this window was signed; give from_json() the key that to_json() was given"
    )


def test_a_key_needs_a_signed_text(check):
    assert refusal_of_text(Window.from_json, opened(check).to_json(), check, key=KEY) == (
        "ValueError: a key was given, but this window was not signed, so anyone may have written it; "
        "give to_json() the same key"
    )


@pytest.mark.parametrize("key", ["", b""], ids=["text", "bytes"])
def test_an_empty_key_is_refused(check, key):
    w = opened(check)
    told = "ValueError: key is empty; give the secret itself, or leave key out"

    assert (
        refusal_of_text(w.to_json, key=key)
        == refusal_of_text(Window.from_json, w.to_json(), check, key=key)
        == told
    )


def test_a_key_of_another_kind_is_refused_without_being_shown(check):
    w = opened(check)

    assert refusal_of_text(w.to_json, key=[KEY]) == "TypeError: key must be bytes or text, not list"
    w.verify()


def test_another_format_is_refused(check):
    document = json.loads(opened(check).to_json())

    assert refusal_of_text(Window.from_json, json.dumps({**document, "format": 2}), check) == (
        "ValueError: this window was written in format 2, and this version of deltaspan reads format 1; "
        "use the same version on both sides"
    )


@pytest.mark.parametrize(
    "text",
    ["", "{", "nonsense", "[" * 100_000, b"\xff", '{"kind": "deltaspan.window"', "9" * 5000],
    ids=["empty", "cut", "no JSON", "deep", "no UTF-8", "cut late", "a huge number"],
)
def test_a_text_that_is_not_json_is_refused(check, text):
    assert refusal_of_text(Window.from_json, text, check) == (
        f"ValueError: {NOT_OURS} (it is not JSON, or was cut)"
    )


HEAD = {"kind": "deltaspan.window", "format": 1}


OTHERS = {
    "another document": {"kind": "invoice"},
    "an array": [],
    "no seal": {**HEAD, "window": {}},
    "a seal of another kind": {**HEAD, "window": {}, "seal": "md5:1"},
    "a seal that is no text": {**HEAD, "window": {}, "seal": 1},
    "no window": {**HEAD, "seal": "sha256:1"},
    "a number that is none": {**HEAD, "window": {"a": float("nan")}, "seal": "sha256:1"},
}


@pytest.mark.parametrize("document", OTHERS.values(), ids=OTHERS)
def test_other_json_is_refused(check, document):
    assert refusal_of_text(Window.from_json, json.dumps(document), check) == f"ValueError: {NOT_OURS}"


def test_an_object_that_is_not_a_text_is_refused(check):
    assert refusal_of_text(Window.from_json, {"kind": "deltaspan.window"}, check) == (
        "TypeError: a window is handed over as text, not as dict"
    )


FORGED = {
    "a tag that is none": {"tag": {"id": "me", "root_id": "me", "parent_id": None}},
    "no tag": {"tag": {}},
    "a time that is none": {"captured_us": "now"},
    "an attempt that is none": {"attempt": True},
    "checks that are none": {"checks": [1]},
    "a state of an unknown kind": {"checks": [{"metric": "rows", "read_us": 1, "state": {"module": "os"}}]},
    "a name that is none": {"name": 1},
    "args that are none": {"args": []},
    "a trace that is none": {"trace": []},
    "a fault that is none": {"checks": [{"metric": "rows", "read_us": 1, "fault": "x"}]},
}


@pytest.mark.parametrize("content", FORGED.values(), ids=FORGED)
def test_a_content_that_is_never_written_is_refused_even_if_its_seal_fits(check, content):
    forged = changed(opened(check).to_json(key=KEY), key=KEY, **content)

    assert refusal_of_text(Window.from_json, forged, check, key=KEY) == (
        "ValueError: this is not the text of a window: its digest fits, but to_json() never writes such a "
        "content"
    )
