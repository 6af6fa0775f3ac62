"""Values that mask themselves: compared by digest, and masked in every output."""

from __future__ import annotations

import copy
import json
import logging
import pickle
from dataclasses import dataclass, field

import attrs
import pydantic
import pytest
import sqlalchemy

from deltaspan import Window, change, expects, unchanged, window
from deltaspan._state.codec import Unreadable, canonical, decode, encode
from deltaspan._state.diff import difference, equal
from deltaspan._state.render._render import plain, show, wire
from deltaspan._state.snapshot import Hidden, freeze

SECRET = "hunter2-planted"  # noqa: S105  # planted, to be looked for
OTHER = "hunter3-planted"


@dataclass
class Account:
    name: str
    password: str = field(repr=False)


@attrs.define
class AttrsAccount:
    name: str
    password: str = attrs.field(repr=False)


@attrs.define
class MaskedAccount:
    name: str
    password: str = attrs.field(repr=lambda _: "***")


class PydanticAccount(pydantic.BaseModel):
    name: str
    password: str = pydantic.Field(repr=False)


class PydanticSecrets(pydantic.BaseModel):
    name: str
    password: pydantic.SecretStr


@pydantic.dataclasses.dataclass
class PydanticDataclass:
    name: str
    password: str = pydantic.Field(repr=False)


class Nested(pydantic.BaseModel):
    accounts: list[PydanticSecrets]


class StarletteSecret:
    """As starlette.datastructures.Secret, whose `str` gives away what its `repr` hides."""

    def __init__(self, value):
        self._value = value

    def __repr__(self):
        return "Secret('**********')"

    def __str__(self):
        return self._value


StarletteSecret.__name__ = "Secret"
StarletteSecret.__module__ = "starlette.datastructures"

HOLDERS = {
    "SecretStr": pydantic.SecretStr,
    "SecretBytes": lambda text: pydantic.SecretBytes(text.encode()),
    "Secret of another type": lambda text: pydantic.Secret[list[str]]([text]),
    "a field of pydantic": lambda text: PydanticAccount(name="ada", password=text),
    "a field of a pydantic dataclass": lambda text: PydanticDataclass(name="ada", password=text),
    "a model with SecretStr": lambda text: PydanticSecrets(name="ada", password=text),
    "a nested model": lambda text: Nested(accounts=[PydanticSecrets(name="ada", password=text)]),
    "a field of a dataclass": lambda text: Account("ada", text),
    "a field of attrs": lambda text: AttrsAccount("ada", text),
    "a field that attrs masks": lambda text: MaskedAccount("ada", text),
    "sqlalchemy.URL": lambda text: sqlalchemy.make_url(f"postgresql://ada:{text}@localhost/db"),
    "starlette's Secret": StarletteSecret,
    "in a mapping": lambda text: {"token": pydantic.SecretStr(text), "n": 1},
    "in a list": lambda text: [pydantic.SecretStr(text)],
    "in a set": lambda text: {pydantic.SecretStr(text)},
    "as a key": lambda text: {pydantic.SecretStr(text): 1},
    "a set of Secrets": lambda text: {StarletteSecret(text)},
}
holders = pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
comparable = pytest.mark.parametrize(
    "hold",
    [hold for name, hold in HOLDERS.items() if name != "a set of Secrets"],
    ids=[name for name in HOLDERS if name != "a set of Secrets"],
)


@holders
def test_no_output_shows_a_secret(hold, recorded, caplog):
    state = [hold(SECRET)]
    reports = []
    claimed = change("claimed", lambda: state[0]).to(hold("elsewhere"))

    @expects(claimed, unchanged("kept", lambda: state[0]), on_report=reports.append, on_failure="warn")
    def act():
        state[0] = hold(OTHER)

    with caplog.at_level(logging.DEBUG):
        act()
    report = reports[0]
    outputs = [
        str(report),
        repr(report),
        report.feedback(),
        caplog.text,
        recorded.span.to_json(),
        *(text for check in report for text in (str(check), repr(check), json.dumps(check.to_dict()))),
        *(repr((check.pre_state, check.post_state, check.actual_delta)) for check in report),
    ]
    assert [text for text in outputs if "planted" in text] == []
    assert "pre_state" in recorded.span.to_json()
    assert report["kept"].outcome == "fail"


@comparable
def test_a_changed_secret_is_seen_and_an_equal_one_is_not(hold):
    assert not difference(freeze(hold(SECRET)), freeze(hold(SECRET))).changed
    assert difference(freeze(hold(SECRET)), freeze(hold(OTHER))).changed


@pytest.mark.parametrize("hold", [pydantic.SecretStr, lambda text: Account("ada", text)])
def test_renderings_of_a_secret_show_only_its_mask(hold):
    state = freeze(hold(SECRET))
    for rendered in (show(state), str(wire(state, 1024)), json.dumps(plain(state)), repr(state)):
        assert SECRET not in rendered
        assert "**********" in rendered


def test_a_secret_is_shown_as_its_own_text():
    assert show(freeze(pydantic.SecretStr(""))) == ""
    url = sqlalchemy.make_url(f"postgresql://ada:{SECRET}@localhost/db")
    assert show(freeze(url)) == "postgresql://ada:***@localhost/db"


def test_a_secret_type_whose_text_gives_it_away_is_masked():
    class Careless:
        def get_secret_value(self):
            return SECRET

        def __str__(self):
            return f"careless {SECRET}"

    assert show(freeze(Careless())) == "**********"


def test_other_fields_of_a_record_are_still_compared():
    state = freeze(Account("ada", SECRET))
    delta = difference(state, freeze(Account("bob", SECRET)))
    assert delta.modified == {("name",): ("ada", "bob")}


@holders
def test_no_document_of_a_window_shows_a_secret(hold):
    w = window("act", unchanged("state", lambda: hold(SECRET)))
    w.capture_baseline()
    try:
        document = w.to_json()
    except ValueError as error:
        document = str(error)
    assert "planted" not in document


@pytest.mark.parametrize(("now", "outcome"), [(SECRET, "pass"), (OTHER, "fail")])
def test_a_secret_that_was_handed_over_is_compared_with_one_read_here(now, outcome, monkeypatch):
    w = window("act", unchanged("state", lambda: {"token": pydantic.SecretStr(SECRET)}))
    w.capture_baseline()
    document = w.to_json()
    monkeypatch.setattr("deltaspan._state.snapshot._hidden._SALT", b"of another process")
    taken = Window.from_json(document, unchanged("state", lambda: {"token": pydantic.SecretStr(now)}))
    assert taken.verify()["state"].outcome == outcome


def test_two_processes_write_one_secret_as_different_text(monkeypatch):
    here = canonical(encode(freeze(pydantic.SecretStr(SECRET))))
    monkeypatch.setattr("deltaspan._state.snapshot._hidden._SALT", b"of another process")
    there = canonical(encode(freeze(pydantic.SecretStr(SECRET))))
    assert here != there
    assert equal(decode(json.loads(here)), freeze(pydantic.SecretStr(SECRET)))
    assert not equal(decode(json.loads(here)), freeze(pydantic.SecretStr(OTHER)))
    assert not equal(decode(json.loads(here)), decode(json.loads(there)))


def test_a_forged_document_of_a_secret_is_unreadable():
    with pytest.raises(Unreadable):
        decode({"hidden": [7, "AA==", "AA=="]})


def test_a_pickled_or_copied_secret_holds_no_plain_digest():
    hidden = freeze(pydantic.SecretStr(SECRET))
    assert hidden._content not in pickle.dumps(hidden)
    assert equal(pickle.loads(pickle.dumps(hidden)), hidden)  # noqa: S301  # our own bytes
    assert equal(copy.deepcopy(hidden), hidden)


@pytest.mark.parametrize(
    ("one", "other"), [(1, 1.0), ((1, "a"), [1, "a"]), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), ({1, 2}, {2, 1})]
)
def test_equal_contents_have_one_digest(one, other):
    assert Hidden.of(freeze(one), "") == Hidden.of(freeze(other), "")


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, True), ("1", 1), (b"a", "a"), (None, "None"), ([1, 2], [2, 1]), (["a, b"], ["a", "b"]), ({}, [])],
)
def test_different_contents_have_different_digests(one, other):
    assert Hidden.of(freeze(one), "") != Hidden.of(freeze(other), "")


def test_freezing_a_hidden_value_again_changes_nothing():
    hidden = freeze(pydantic.SecretStr(SECRET))
    assert freeze({"token": hidden})["token"] is hidden
