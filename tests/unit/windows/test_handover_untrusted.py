"""Texts that cannot be trusted are refused with a sentence that quotes neither text nor key."""

from __future__ import annotations

import hashlib
import hmac
import json

import pytest

from deltaspan import DeltaspanError, Window, change, window

KEY = "correct horse"
NOT_OURS = "this is not the text of a window; pass on what to_json() returned, as it is"


class Rows(list):
    """A piece of state to act on."""

    def count(self):
        return len(self)


@pytest.fixture
def rows():
    return Rows([1, 2, 3])


@pytest.fixture
def check(rows):
    return change("rows", rows.count)


def opened(*checks, **options):
    w = window("load", *checks, **options)
    w.capture_baseline()
    return w


def refusal(call, *args, **options):
    with pytest.raises(DeltaspanError) as caught:
        call(*args, **options)
    assert KEY not in repr(caught.value)
    assert caught.value.__cause__ is None
    kinds = [kind for kind in (TypeError, ValueError) if isinstance(caught.value, kind)]
    return kinds, str(caught.value)


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

    assert refusal(Window.from_json, changed(text, name="lead"), check) == (
        [ValueError],
        "the window document is corrupt: its digest does not match its content",
    )


def test_a_text_that_was_changed_without_the_key_is_refused(check):
    forged = changed(opened(check).to_json(key=KEY), key="a guess", name="lead")

    assert refusal(Window.from_json, forged, check, key=KEY) == (
        [ValueError],
        (
            "this window was changed on its way, or was signed with another key: its signature does not fit "
            "its content"
        ),
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
    assert refusal(Window.from_json, opened(check).to_json(key=KEY), check) == (
        [ValueError],
        "this window was signed; give from_json() the key that to_json() was given",
    )


def test_a_key_needs_a_signed_text(check):
    assert refusal(Window.from_json, opened(check).to_json(), check, key=KEY) == (
        [ValueError],
        (
            "a key was given, but this window was not signed, so anyone may have written it; "
            "give to_json() the same key"
        ),
    )


@pytest.mark.parametrize("key", ["", b""], ids=["text", "bytes"])
def test_an_empty_key_is_refused(check, key):
    w = opened(check)
    told = ([ValueError], "key is empty; give the secret itself, or leave key out")

    assert refusal(w.to_json, key=key) == refusal(Window.from_json, w.to_json(), check, key=key) == told


def test_a_key_of_another_kind_is_refused_without_being_shown(check):
    w = opened(check)

    assert refusal(w.to_json, key=[KEY]) == ([TypeError], "key must be bytes or text, not list")
    w.verify()


def test_another_format_is_refused(check):
    document = json.loads(opened(check).to_json())

    assert refusal(Window.from_json, json.dumps({**document, "format": 2}), check) == (
        [ValueError],
        (
            "this window was written in format 2, and this version of deltaspan reads format 1; "
            "use the same version on both sides"
        ),
    )


@pytest.mark.parametrize(
    "text",
    ["", "{", "nonsense", "[" * 100_000, b"\xff", '{"kind": "deltaspan.window"', "9" * 5000],
    ids=["empty", "cut", "no JSON", "deep", "no UTF-8", "cut late", "a huge number"],
)
def test_what_is_no_json_is_refused(check, text):
    assert refusal(Window.from_json, text, check) == (
        [ValueError],
        f"{NOT_OURS} (it is not JSON, or was cut)",
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
    assert refusal(Window.from_json, json.dumps(document), check) == ([ValueError], NOT_OURS)


def test_what_is_no_text_is_refused(check):
    assert refusal(Window.from_json, {"kind": "deltaspan.window"}, check) == (
        [TypeError],
        "a window is handed over as text, not as dict",
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
def test_a_content_that_is_never_written_is_refused_though_its_seal_fits(check, content):
    forged = changed(opened(check).to_json(key=KEY), key=KEY, **content)

    assert refusal(Window.from_json, forged, check, key=KEY) == (
        [ValueError],
        "this is not the text of a window: its digest fits, but to_json() never writes such a content",
    )
