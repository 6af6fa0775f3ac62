"""Arguments that may name one place have one text; others are apart; some do not tell."""

import enum
import ipaddress
import os
import uuid
from collections import OrderedDict, deque, namedtuple
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import MappingProxyType, SimpleNamespace

import attrs
import pydantic
import pytest

from deltaspan import change, expects
from deltaspan._attribution._places import place_of

HERE = str(Path.cwd())
ID = uuid.UUID("3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f")


class Tenant(str, enum.Enum):
    ACME = "acme"


class Level(enum.IntEnum):
    HIGH = 7


class Name(str):
    __slots__ = ()

    def __eq__(self, other):
        raise RuntimeError("no equality")

    __hash__ = str.__hash__


@dataclass
class Order:
    id: int
    note: str = ""
    seen: int = field(default=0, compare=False)


@attrs.define
class Flow:
    id: int
    note: str = ""


class Model(pydantic.BaseModel):
    id: int
    note: str = ""


class Wrapped(pydantic.RootModel[str]):
    pass


class Key:
    """Equal whatever its case, as its hash says."""

    def __init__(self, text):
        self.text = text

    def __eq__(self, other):
        return self.text.lower() == other.text.lower()

    def __hash__(self):
        return hash(self.text.lower())


class Shown:
    def __init__(self, text):
        self.text = text

    def __eq__(self, other):
        return self.text == other.text

    def __hash__(self):
        return hash(self.text)

    def __str__(self):
        return self.text


class Folder:
    def __fspath__(self):
        return "/srv/x"


Point = namedtuple("Point", "x y")  # noqa: PYI024

SAME = [
    ("acme", "acme"),
    (7, "7"),
    (7, 7.0),
    (7, Decimal("7.00")),
    (7, Fraction(14, 2)),
    (7, b"7"),
    (7, Level.HIGH),
    (1.5, Decimal("1.50")),
    ("1.50", Decimal("1.5")),
    (Decimal(0.1), 0.1),  # noqa: RUF032
    (10**20, "1e20"),
    (2**80, str(2**80)),
    (True, 1),
    (True, "true"),
    (float("nan"), float("nan")),
    ("acme", Tenant.ACME),
    ("acme", Name("acme")),
    ("acme", b"acme"),
    ("acme", bytearray(b"acme")),
    ("acme", memoryview(b"acme")),
    ("acme", Shown("acme")),
    ("acme", Wrapped("acme")),
    ("caf\u00e9", "cafe\u0301"),
    (ID, str(ID)),
    (ID, str(ID).upper()),
    (ID, ID.hex),
    (ID, f"urn:uuid:{ID}"),
    (uuid.UUID(int=7), str(uuid.UUID(int=7))),
    (Path("/srv/x"), Path("/srv/x")),
    (Path("/srv/x"), "/srv/x"),
    (Path("/srv/x"), "/srv/x/"),
    (Path("/srv/x"), "/srv/./y/../x"),
    (Path("/srv/x"), b"/srv//x"),
    (Path("/srv/x"), "file:///srv/x"),
    (Path("/srv/x"), PurePosixPath("/srv/x")),
    (Path("/srv/x"), Folder()),
    (PureWindowsPath("a\\b"), "a/b"),
    (Path("x"), "x"),
    (Path("x"), f"{HERE}/x"),
    ("./x", f"{HERE}/x/"),
    ("../x", f"{os.path.dirname(HERE)}/x"),  # noqa: PTH120
    (".", HERE),
    ("", HERE),
    ("~/x", os.path.expanduser("~/x")),  # noqa: PTH111
    ("https://h/a", "https://h/a/"),
    (date(2026, 1, 2), "2026-01-02"),
    (datetime(2026, 1, 2, 3, tzinfo=timezone.utc), "2026-01-02T03:00:00+00:00"),
    (
        datetime(2026, 1, 2, 3, tzinfo=timezone.utc),
        datetime(2026, 1, 2, 4, tzinfo=timezone(timedelta(hours=1))),
    ),
    (timedelta(1), timedelta(hours=24)),
    (ipaddress.ip_address("10.0.0.1"), "10.0.0.1"),
    (ipaddress.ip_network("10.0.0.0/8"), "10.0.0.0/8"),
    ([1, "a"], ("1", "a")),
    ([1, "a"], deque([1, "a"])),
    (Point(1, 2), (1, 2)),
    ({1, 2}, frozenset({2, 1})),
    ({"id": 1, "note": ""}, {"note": "", "id": "1"}),
    ({"a": None}, OrderedDict(a=None)),
    ({"a": 1}, MappingProxyType({"a": 1})),
    ({"a": 1}, SimpleNamespace(a=1)),
    (Order(1), Order(1)),
    (Order(1), Order(1, seen=5)),
    (Order(1), {"id": 1, "note": ""}),
    (Flow(1), Flow(1)),
    (Flow(1), {"id": 1, "note": ""}),
    (Model(id=1), Model(id=1)),
    (Model(id=1), {"id": 1, "note": ""}),
    (Key("a"), Key("A")),
    ([Path("/srv/x")], ["/srv/x"]),
    (range(3), range(3)),
    ("x" * 500, Name("x" * 500)),
]

APART = [
    ("acme", "other"),
    ("acme", "Acme"),
    (7, 8),
    (7, -7),
    (0.1, 0.2),
    (True, False),
    (2**80, 2**80 + 1),
    (10**30, 10**30 + 1),
    ("a", b"b"),
    (Tenant.ACME, "other"),
    (ID, uuid.UUID(int=1)),
    (Path("/srv/x"), Path("/srv/y")),
    (Path("/srv/x"), "/srv/x/y"),
    (Path("x"), "/elsewhere/x"),
    ("https://h/a", "https://h/b"),
    (date(2026, 1, 2), date(2026, 1, 3)),
    (ipaddress.ip_address("10.0.0.1"), "10.0.0.2"),
    ([1, 2], [2, 1]),
    ([1, 2], [12]),
    (["a", "b"], ["a,b"]),
    ([], [[]]),
    ({1, 2}, {1, 3}),
    ({"a": 1}, {"a": 2}),
    ({"a": 1}, {"b": 1}),
    ({"a": None}, {"a": "None"}),
    (Order(1), Order(2)),
    (Flow(1), Flow(2)),
    (Model(id=1), Model(id=2)),
    (Key("a"), Key("b")),
    (Shown("a"), Shown("b")),
    (range(3), range(4)),
    ("x" * 500 + "a", "x" * 500 + "b"),
]


@pytest.mark.parametrize(("left", "right"), SAME, ids=map(str, range(len(SAME))))
def test_arguments_that_may_name_one_place_have_one_text(left, right):
    assert place_of(left) is not None
    assert place_of(left) == place_of(right)


@pytest.mark.parametrize(("left", "right"), APART, ids=map(str, range(len(APART))))
def test_arguments_of_different_places_have_different_texts(left, right):
    assert None not in (place_of(left), place_of(right))
    assert place_of(left) != place_of(right)


def raising(*names, error=RuntimeError):
    def fail(*_):
        raise error("no")

    bodies = {
        "__eq__": lambda self, other: self is other,
        "__hash__": lambda self: 1,
        "__str__": lambda _: "a",
    }
    return type("Raising", (), {**bodies, **dict.fromkeys(names, fail)})()


class Circle(list):
    pass


def circle():
    found = Circle()
    found.append(found)
    return found


@dataclass(eq=False)
class Held:
    id: int = 1


@pytest.mark.parametrize(
    "argument",
    [
        None,
        object(),
        raising("__eq__"),
        raising("__hash__"),
        raising("__str__"),
        raising("__eq__", "__hash__", "__str__"),
        lambda: None,
        int,
        os,
        Held(),
        [object()],
        {"client": object()},
        Order(object()),
        circle(),
        [0] * 200_000,
        pydantic.SecretStr("acme"),
        ValueError("acme"),
        (number for number in range(3)),
        10**5000,
    ],
    ids=lambda argument: type(argument).__name__,
)
def test_an_argument_that_does_not_tell_its_place_has_no_text(argument):
    assert place_of(argument) is None


def test_a_working_directory_that_is_gone_leaves_paths_as_they_are(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert place_of("/srv/x/") == place_of(Path("/srv/x"))


class Leaving(BaseException):
    pass


@pytest.mark.parametrize("method", ["__eq__", "__hash__", "__str__"])
@pytest.mark.parametrize("error", [SystemExit, GeneratorExit, Leaving])
def test_an_argument_whose_method_exits_has_no_text(method, error):
    assert place_of(raising(method, error=error)) is None


def test_an_argument_whose_path_exits_has_no_text():
    def leave(_):
        raise SystemExit(1)

    assert place_of(type("Leaving", (), {"__fspath__": leave})()) is None


def test_an_interrupt_of_an_argument_s_method_goes_on():
    with pytest.raises(KeyboardInterrupt):
        place_of(raising("__str__", error=KeyboardInterrupt))


@pytest.mark.parametrize("method", ["__eq__", "__hash__", "__str__"])
def test_an_action_that_an_argument_s_method_calls_runs_bare(method):
    rows, reports = [], []

    @expects(change("rows", lambda: len(rows)).by(1), on_report=reports.append)
    def write():
        rows.append(1)

    def call(*_):
        write()
        return "a" if method == "__str__" else True

    place_of(type("Calling", (), {"__eq__": lambda *_: True, "__hash__": lambda _: 1, method: call})())

    assert (len(rows) > 0, reports) == (True, [])
