"""Places named by arguments: equal, different, unknown or several."""

from __future__ import annotations

import array
import enum
import ipaddress
import os
import re
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
from deltaspan._attribution._places import Doubt, folders_above, place_of, text_of

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


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Region(enum.Enum):
    EU = ("eu", 1)
    US = ("us", 2)


@dataclass
class One:
    name: str


@attrs.define
class OneOfAttrs:
    name: str


class Circle(list):
    pass


def circle():
    found = Circle()
    found.append(found)
    return found


SINGLE = (str, int, float, uuid.UUID, Path, date, enum.Enum, ipaddress.IPv4Address, Key, Shown)
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
    (7, 8),
    (7, -7),
    (0.1, 0.2),
    (True, False),
    (2**80, 2**80 + 1),
    (10**30, 10**30 + 1),
    ("a", b"b"),
    (Tenant.ACME, "other"),
    (Region.EU, Region.US),
    (10**5000, 10**5000 + 1),
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


# Databases and file systems that compare without case and accents read one place for these.
SAME_TO_SOME = [
    ("acme", "ACME"),
    ("/srv/x", "/SRV/X"),
    ("caf\u00e9", "CAFE"),
    ("stra\u00dfe", "STRASSE"),
    (Tenant.ACME, "Acme"),
]


@pytest.mark.parametrize(("left", "right"), SAME, ids=map(str, range(len(SAME))))
def test_equal_arguments_have_one_text(left, right):
    assert text_of(left) is not None
    assert text_of(left) == text_of(right)


@pytest.mark.parametrize(("left", "right"), APART, ids=map(str, range(len(APART))))
def test_arguments_that_differ_have_different_texts(left, right):
    assert None not in (text_of(left), text_of(right))
    assert text_of(left) != text_of(right)


def test_texts_keep_their_case_for_locks():
    assert text_of("acme") != text_of("ACME")


@pytest.mark.parametrize(("left", "right"), [*SAME, *SAME_TO_SOME])
def test_arguments_that_may_name_one_place_overlap(left, right):
    assert any(isinstance(place_of(each), Doubt) for each in (left, right)) or (
        place_of(left) == place_of(right)
    )


@pytest.mark.parametrize(
    ("left", "right"),
    [pair for pair in APART if isinstance(pair[0], SINGLE)],
    ids=lambda value: type(value).__name__,
)
def test_single_values_that_differ_are_apart(left, right):
    assert {type(place_of(left)), type(place_of(right))} == {str}
    assert place_of(left) != place_of(right)


SEVERAL = [
    [1],
    [],
    (1, 2),
    {1, 2},
    frozenset({1}),
    deque([1]),
    range(3),
    {"a": 1},
    OrderedDict(a=1),
    MappingProxyType({"a": 1}),
    {"a": 1}.keys(),
    Point(1, 2),
    [0] * 200_000,
    circle(),
    re.compile("a.*"),
    Access.READ,
    Access.READ | Access.WRITE,
    ipaddress.ip_network("10.0.0.0/8"),
    array.array("i", [1, 2]),
]


@pytest.mark.parametrize("argument", SEVERAL, ids=lambda argument: type(argument).__name__)
def test_a_collection_may_be_several_places(argument):
    assert place_of(argument) == Doubt("may be several; name one id or path")


@pytest.mark.parametrize("argument", [Order(1), Flow(1), Model(id=1), SimpleNamespace(a=1)])
def test_a_record_may_be_the_place_that_any_of_its_fields_names(argument):
    assert place_of(argument) == Doubt("may be told by any of its fields; name the one that tells it")


@pytest.mark.parametrize("argument", [Wrapped("acme"), One("acme"), OneOfAttrs("acme"), One(Wrapped("acme"))])
def test_a_record_with_one_field_is_the_place_of_that_field(argument):
    assert place_of(argument) == "acme"


@pytest.mark.parametrize("argument", [".", "", "..", "/", HERE, str(Path(HERE).parent), Path(), Path(HERE)])
def test_the_working_directory_and_the_folders_above_it_hold_every_relative_path(argument):
    assert place_of(argument) == Doubt(
        "is the working directory or a folder above it, which holds all relative paths; name one below it"
    )


def test_a_path_that_is_deeper_than_any_real_one_may_be_any_place():
    assert isinstance(place_of("/".join("a" * 100)), Doubt)


def test_a_long_path_keeps_its_folders():
    assert folders_above(place_of(f"/srv/{'x' * 300}/{'y' * 300}")) == ("/srv", f"/srv/{'x' * 300}")


def raising(*names, error=RuntimeError):
    def fail(*_):
        raise error("no")

    bodies = {
        "__eq__": lambda self, other: self is other,
        "__hash__": lambda self: 1,
        "__str__": lambda _: "a",
    }
    return type("Raising", (), {**bodies, **dict.fromkeys(names, fail)})()


@dataclass(eq=False)
class Held:
    id: int = 1


ANY = [
    None,
    object(),
    lambda: None,
    int,
    os,
    Held(),
    One(object()),
    pydantic.SecretStr("acme"),
    ValueError("acme"),
    (number for number in range(3)),
]


@pytest.mark.parametrize("argument", ANY, ids=lambda argument: type(argument).__name__)
def test_an_argument_with_only_an_identity_may_be_any_place(argument):
    assert place_of(argument) == Doubt("cannot be told and may be any; name an id or a path")
    assert text_of(argument) is None


@pytest.mark.parametrize(
    "argument", [[object()], {"client": object()}, Order(object()), circle(), [0] * 200_000]
)
def test_a_collection_with_an_unknown_place_has_no_text(argument):
    assert text_of(argument) is None


@pytest.mark.parametrize(
    "names", [["__eq__"], ["__hash__"], ["__str__"], ["__eq__", "__hash__", "__str__"]], ids=str
)
def test_an_argument_whose_methods_raise_may_be_any_place(names):
    assert text_of(raising(*names)) is None
    assert place_of(raising(*names)) == Doubt(
        "cannot be told and may be any, because a method of it raised RuntimeError", is_broken=True
    )


def test_relative_paths_in_a_deleted_working_directory_have_an_unknown_place(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert place_of("/srv/x/") == place_of(Path("/srv/x"))
    assert {type(place_of(path)) for path in (".", "..", "../x")} == {Doubt}


class Leaving(BaseException):
    pass


@pytest.mark.parametrize("method", ["__eq__", "__hash__", "__str__"])
@pytest.mark.parametrize("error", [SystemExit, GeneratorExit, Leaving])
def test_an_argument_whose_method_exits_has_no_text(method, error):
    assert place_of(raising(method, error=error)).is_broken


def test_an_argument_whose_path_exits_has_no_text():
    def leave(_):
        raise SystemExit(1)

    assert place_of(type("Leaving", (), {"__fspath__": leave})()).is_broken


def test_an_interrupt_in_a_method_of_an_argument_reaches_the_caller():
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
