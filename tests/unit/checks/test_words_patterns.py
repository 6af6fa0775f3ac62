"""Patterns, literal text and argument fields in members and keys."""

import copy
import pickle
import re
from enum import Enum
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspan import DeltaspanError, Window, change, collect_reports, expects, pattern, unchanged, window
from deltaspan._state.snapshot import Path as Keys
from deltaspan.expectations._paths import Names
from deltaspan.expectations._patterns import Pattern

MARKS = ["*", "**", "?", "[a]", "[!a]", "[", "a*", "**/*", "*/**", "a/**", "a/*", "{x}", "{{", "~1"]
SPECIAL = st.text("*?[]!-/~01ab{}", max_size=6)


def judged(words, state, effect, *args, result=None, make=change):
    """Run an action on an order that makes `effect` on `state`; return its one check report."""

    @expects(words(make("x", lambda: state)))
    def act(order_id="o1", note="n"):
        effect(state)
        return result

    with collect_reports() as reports:
        act(*args)
    return reports[0]["x"]


def update(**entries):
    return lambda state: state.update(entries)


# Computed members are literal -------------------------------------------------------------------------------

WIDER = {
    "only, from the result": lambda c: c.only(lambda result: result),
    "only, among others": lambda c: c.only(lambda result: ["z", *result]),
    "modifying": lambda c: c.modifying(lambda result: result),
    "modifying, counted": lambda c: c.modifying(lambda result: result, count=1),
    "beside text that is written": lambda c: c.only("z*", lambda result: result),
}


@pytest.mark.parametrize("text", MARKS)
@pytest.mark.parametrize("words", WIDER.values(), ids=WIDER)
def test_a_result_cannot_widen_the_check_that_its_action_is_held_to(words, text):
    assert judged(words, {"a": 1, "b": {"c": 1}}, update(a=2), result=[text]).outcome == "fail"


@pytest.mark.parametrize("text", MARKS)
@pytest.mark.parametrize(
    "words", [lambda c: c.ignoring(lambda result: result), lambda c: c.ignoring(lambda result: [result])]
)
def test_a_result_cannot_leave_more_out_than_it_spells(words, text):
    report = judged(words, {"a": 1}, update(a=2), result=text, make=unchanged)

    assert report.outcome == "fail"


@pytest.mark.parametrize("order_id", ["*", "**", "?", "[a-z]", "o*"])
def test_an_argument_in_computed_text_is_literal(order_id):
    words = lambda c: c.only(lambda order_id: f"{order_id}/status")  # noqa: E731
    effect = lambda state: state["o1"].update(status="paid")  # noqa: E731

    assert judged(words, {"o1": {"status": "new"}}, effect, order_id).outcome == "fail"
    assert judged(words, {"o1": {"status": "new"}}, effect, "o1").outcome == "pass"


@given(text=SPECIAL, key=SPECIAL)
def test_computed_text_names_a_key_if_and_only_if_it_spells_it(text, key):
    spelled = text == key or re.sub("~(?![01])", "~0", text) == Keys((key,)).text

    assert (Names([text], deep=False).of_path(Keys((key,))) == {0}) == spelled


@given(text=SPECIAL.filter(lambda text: "~" not in text), keys=st.lists(SPECIAL, min_size=1, max_size=3))
def test_computed_text_names_no_path_that_it_does_not_spell(text, keys):
    path = Keys(keys)
    found = Names([text], deep=False).of_path(path)

    assert not found or text in (path.text, "/".join(keys))


def test_computed_text_that_looks_like_a_pattern_is_marked_as_literal():
    report = judged(lambda c: c.only(lambda result: result), {"a": 1}, update(a=2), result=["**", "b"])

    assert report.explanation == (
        "expected x to change only in literal '**', 'b', but it modified 'a' (1 → 2), which lies outside "
        "({'a': 1} → {'a': 2})"
    )
    assert report.expected_delta == "only in literal '**', 'b'"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (lambda c: c.adding(lambda result: result), "adding literal 'a*'"),
        (lambda c: c.adding(pattern("a*")), "adding pattern('a*')"),
        (lambda c: c.adding("a*"), "adding 'a*'"),
        (lambda c: c.ignoring(lambda result: result), "some change, ignoring literal 'a*'"),
    ],
)
def test_the_expected_delta_tells_literal_text_from_a_pattern(words, said):
    report = judged(words, {}, update(b=1), result="a*")

    assert report.expected_delta == said


def test_a_key_with_a_mark_is_named_by_computed_text():
    words = lambda c: c.adding(lambda result: result)  # noqa: E731

    assert judged(words, {}, update(**{"a*": 1}), result="a*").outcome == "pass"
    assert judged(words, set(), lambda state: state.add("a*"), result="a*").outcome == "pass"
    assert judged(words, set(), lambda state: state.add("ab"), result="a*").outcome == "fail"


class Name(str, Enum):
    STAR = "*"


def test_a_member_of_an_enum_is_a_value_and_no_pattern():
    assert judged(lambda c: c.only(Name.STAR), {"a": 1}, update(a=2)).outcome == "fail"
    assert judged(lambda c: c.only(Name.STAR), {"*": 1}, update(**{"*": 2})).outcome == "pass"


def test_literal_text_stays_literal_in_a_window_that_is_handed_over():
    files = {"a": 1}
    check = change("files", lambda: files).only(lambda where: where)
    opened = window("write", check, args={"where": ["**"]})
    opened.capture_baseline()
    text = opened.to_json()
    files["a"] = 2

    assert Window.from_json(text, check).verify().outcome == "fail"


def test_a_field_stays_literal_in_a_window_that_is_handed_over():
    outcomes = []
    for tenant in ("acme", "*"):
        files = {"acme": {"a": 1}}
        check = change("files", lambda files=files: files).only("{tenant}/**")
        opened = window("write", check, args={"tenant": tenant})
        opened.capture_baseline()
        text = opened.to_json()
        files["acme"]["a"] = 2
        outcomes.append(Window.from_json(text, check).verify().outcome)

    assert outcomes == ["pass", "fail"]


def test_a_pattern_in_the_arguments_of_a_window_is_not_handed_over():
    opened = window("write", change("files", dict).only(lambda where: where), args={"where": pattern("*")})
    opened.capture_baseline()

    with pytest.raises(DeltaspanError, match="its args value 'where' is or holds a Pattern"):
        opened.to_json()


# Marked patterns --------------------------------------------------------------------------------------------


def test_computed_text_that_is_marked_is_a_pattern():
    words = lambda c: c.only(lambda result: [pattern(result), "z"])  # noqa: E731
    inside = judged(words, {"out/a": 1}, update(**{"out/a": 2}), result="out/**")
    outside = judged(words, {"in/a": 1}, update(**{"in/a": 2}), result="out/**")

    assert (inside.outcome, inside.expected_delta) == ("pass", "only in pattern('out/**'), 'z'")
    assert outside.explanation == (
        "expected x to change only in pattern('out/**'), 'z', but it modified 'in/a' (1 → 2), which lies "
        "outside ({'in/a': 1} → {'in/a': 2})"
    )


MADE_ELSEWHERE = {
    "a pattern": pattern("**"),
    "a list of patterns": [pattern("**")],
    "a set of patterns": {pattern("*")},
    "a copy": copy.copy(pattern("**")),
    "an unpickled one": pickle.loads(pickle.dumps(pattern("**"))),  # noqa: S301
}


@pytest.mark.parametrize("made", MADE_ELSEWHERE.values(), ids=MADE_ELSEWHERE)
@pytest.mark.parametrize("word", ["only", "adding", "ignoring"])
def test_a_pattern_that_a_tool_returns_does_not_widen_its_check(made, word):
    words = lambda c: getattr(c, word)(lambda result: result)  # noqa: E731
    report = judged(words, {"a": 1}, update(a=2, b=1), result=made)

    assert (report.outcome, report.reason) == ("inconclusive", "expectation_failed")


def test_a_pattern_in_an_argument_does_not_widen_the_check():
    report = judged(lambda c: c.only(lambda order_id: order_id), {"a": 1}, update(a=2), pattern("**"))

    assert report.explanation == (
        "x: its expected value could not be computed: DefinitionValueError: it computed pattern('**'), which "
        "was made elsewhere, and a tool must not widen its own check: call pattern(...) in the callable, and "
        "give it what the run computed by name"
    )


def test_a_pattern_that_a_tool_makes_while_another_check_computes_one_does_not_count():
    made = []
    first = lambda result: made.append(pattern("**")) or pattern("a")  # noqa: E731
    assert judged(lambda c: c.only(first), {"a": 1}, update(a=2)).outcome == "pass"

    assert judged(lambda c: c.only(lambda: made), {"a": 1}, update(b=2)).reason == "expectation_failed"


@pytest.mark.parametrize("folder", ["*", "**", "o?t", "[o]ut", "o"])
def test_a_field_of_a_computed_pattern_is_literal(folder):
    words = lambda c: c.only(lambda order_id: pattern("{folder}/**", folder=order_id))  # noqa: E731
    effect = lambda state: state["out"].update(a=2)  # noqa: E731

    assert judged(words, {"out": {"a": 1}}, effect, folder).outcome == "fail"
    assert judged(words, {"out": {"a": 1}}, effect, "out").outcome == "pass"


def test_a_marked_pattern_matches_text_in_sets_and_sequences():
    order, other = (lambda s: s.add("order-1")), (lambda s: s.add("user-1"))

    assert judged(lambda c: c.adding(pattern("order-*")), set(), order).outcome == "pass"
    assert judged(lambda c: c.adding(pattern("order-*")), set(), other).outcome == "fail"
    assert judged(lambda c: c.adding("order-*"), set(), order).outcome == "fail"
    more = lambda s: s.extend(["order-1", "order-2", "x/y"])  # noqa: E731
    assert judged(lambda c: c.adding(pattern("order-?"), pattern("x/*")), [], more).outcome == "pass"
    assert judged(lambda c: c.adding(pattern("order-?")), [], more).outcome == "fail"
    assert judged(lambda c: c.adding(pattern("a-*"), pattern("*")), [], more).outcome == "fail"


@pytest.mark.parametrize("value", [("a", pattern("*")), {"a": pattern("*")}, frozenset({pattern("*")})])
def test_a_pattern_is_a_member_of_its_own(value):
    with pytest.raises(DeltaspanError, match="compares with a value, but this is or contains a pattern"):
        change("x", dict).only(value)
    report = judged(lambda c: c.only(lambda result: [value]), {"a": 1}, update(a=2))
    assert report.reason == "expectation_failed"
    assert report.explanation == (
        "x: its expected value could not be computed: DefinitionTypeError: it computed a value that holds a "
        "pattern, which would be compared as a value; a pattern is a member of its own"
    )


@pytest.mark.parametrize(
    "words",
    [
        lambda p: change("x", dict).to(p),
        lambda p: change("x", dict).from_(p),
        lambda p: change("x", dict).ending_at([p]),
        lambda p: change("x", dict).by({p: 1}),
    ],
)
def test_a_pattern_in_place_of_a_compared_value_is_refused(words):
    with pytest.raises(DeltaspanError, match="pattern"):
        words(pattern("a*"))


def test_a_computed_state_that_is_a_pattern_has_no_verdict():
    assert judged(lambda c: c.to(lambda: pattern("a*")), {"a": 1}, update(a=2)).reason == "expectation_failed"


def test_a_pattern_reads_as_its_source():
    filled = pattern("{order}/*", order="o*1")
    of_any_name = pattern("{text}/{self}", text="a", self="b")

    assert (repr(filled), eval(repr(filled))) == ("pattern('{order}/*', order='o*1')", filled)  # noqa: S307
    assert eval(repr(of_any_name)) == of_any_name  # noqa: S307
    assert repr(change("x", dict).only(pattern("orders/*"), "a")) == (
        "change('x', dict).only(pattern('orders/*'), 'a')"
    )


IMPOSSIBLE = {
    "": "it is empty, and no path is",
    "/orders/*": "it begins with '/', and no path does",
    "orders/": "it ends with '/', and no path does; write '/**' for all below a key",
    "a//b": "it has '//', and no key is empty",
    "a[/]b": "it has [/], and '/' stands between keys, where brackets do not match it",
    "a[]b": "it has [], brackets around no character",
    "a[!]": "it has [!], brackets around no character",
    "[z-a]*": "it has [z-a], a range that is written backwards",
}


@pytest.mark.parametrize(("text", "fault"), IMPOSSIBLE.items(), ids=IMPOSSIBLE)
def test_a_pattern_that_cannot_match_anything_is_refused(text, fault):
    with pytest.raises(ValueError, match="cannot match anything") as caught:
        pattern(text)

    assert str(caught.value) == f"pattern({text!r}) cannot match anything: {fault}"


REFUSED = {
    "not text": (lambda: pattern(3), TypeError, "pattern takes text such as 'orders/*', not 3"),
    "a value without a field": (
        lambda: pattern("a/*", order="o1"), ValueError,
        "pattern('a/*') has no field {order}; write the field into the text, or leave order= out",
    ),
    "a value that is not text": (
        lambda: pattern("{a}/*", a=[1]), TypeError,
        "pattern('{a}/*'): the field {a} takes text, a number or a path, not a list",
    ),
    "a field within brackets": (
        lambda: pattern("[{a}]*"), ValueError,
        ("the pattern '[{a}]*' has a field within brackets, where an argument would be read as a set of "
         "characters; write the field outside of the brackets"),
    ),
    "a field within brackets of text": (
        lambda: change("x", dict).only("[!{a}]*"), ValueError,
        ("check 'x': only: the pattern '[!{a}]*' has a field within brackets, where an argument would be "
         "read as a set of characters; write the field outside of the brackets"),
    ),
    "an open brace": (
        lambda: change("x", dict).ignoring("a{"), ValueError,
        ("check 'x': ignoring: 'a{': Single '{' encountered in format string; to write a brace, double "
         "it"),
    ),
    "more than a name": (
        lambda: change("x", dict).adding("{order.id}"), ValueError,
        ("check 'x': adding: '{order.id}': a field is the plain name of a parameter, as in '{repo}'; "
         "to write a brace, double it"),
    ),
    "a brace in a key": (
        lambda: change("x", dict).by({'jobs{queue="mail"}': 1}), ValueError,
        ("check 'x': by: 'jobs{queue=\"mail\"}': a field is the plain name of a parameter, as in '{repo}'; "
         "to write a brace, double it"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("make", "kind", "text"), REFUSED.values(), ids=REFUSED)
def test_an_invalid_pattern_is_refused_at_definition(make, kind, text):
    with pytest.raises(kind) as caught:
        make()

    assert isinstance(caught.value, DeltaspanError)
    assert str(caught.value) == text


def test_a_computed_pattern_with_a_field_left_open_has_no_verdict():
    report = judged(lambda c: c.only(lambda: pattern("{order_id}/*")), {"a": 1}, update(a=2))

    assert report.reason == "expectation_failed"
    assert report.explanation == (
        "x: its expected value could not be computed: DefinitionValueError: it computed "
        "pattern('{order_id}/*') without a value for the field {order_id}; give it as order_id=..."
    )


# Argument fields --------------------------------------------------------------------------------------------

FILLED = {
    "only": (lambda c: c.only("{order_id}/s"), lambda s: s["o1"].update(s=2)),
    "modifying": (lambda c: c.modifying("{order_id}/s"), lambda s: s["o1"].update(s=2)),
    "a whole key": (lambda c: c.modifying("{order_id}"), lambda s: s["o1"].update(s=2)),
    "a glob": (lambda c: c.only("{order_id}/**"), lambda s: s["o1"].update(s=2)),
    "within a key": (lambda c: c.only("o[1]/*", "{order_id}-{note}"), lambda s: s.update({"o1-n": 1})),
    "removing": (lambda c: c.removing("{order_id}"), lambda s: s.pop("o1")),
    "adding": (lambda c: c.adding("{order_id}/{note}"), lambda s: s["o1"].update(n=1)),
    "adding, counted": (lambda c: c.adding("{order_id}/*", count=1), lambda s: s["o1"].update(n=1)),
    "ignoring": (
        lambda c: c.adding("n").ignoring("{order_id}/*"), lambda s: (s["o1"].clear(), s.update(n=1)),
    ),
    "a marked pattern": (lambda c: c.only(pattern("{order_id}/*")), lambda s: s["o1"].update(s=2)),
    "a key of amounts": (lambda c: c.by({"{order_id}/s": 1}), lambda s: s["o1"].update(s=2)),
    "a top-level key of amounts": (lambda c: c.by({"{note}": 1}), lambda s: s.update(n=1)),
    "beside a callable": (
        lambda c: c.modifying("{order_id}/s", list), lambda s: s["o1"].update(s=2),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("words", "effect"), FILLED.values(), ids=FILLED)
def test_a_field_in_a_member_stands_for_that_argument(words, effect):
    assert judged(words, {"o1": {"s": 1}, "o2": {"s": 1}}, effect).outcome == "pass"


@pytest.mark.parametrize(("words", "effect"), FILLED.values(), ids=FILLED)
@pytest.mark.parametrize("order_id", ["*", "o?", "[o]1", "**", "o2"])
def test_another_argument_names_another_member(words, effect, order_id):
    # "n" is the note as well, so that what rests on the order alone is left.
    if words in (FILLED["within a key"][0], FILLED["a top-level key of amounts"][0]):
        words, effect = FILLED["a whole key"]
    assert judged(words, {"o1": {"s": 1}, "o2": {"s": 1}}, effect, order_id).outcome == "fail"


def test_unchanged_ignores_members_named_by_a_field():
    ignoring = lambda c: c.ignoring("{order_id}/**")  # noqa: E731
    effect = lambda s: s["o1"].update(s=2)  # noqa: E731

    assert judged(ignoring, {"o1": {"s": 1}}, effect, "o1", make=unchanged).outcome == "pass"
    assert judged(ignoring, {"o1": {"s": 1}}, effect, "*", make=unchanged).outcome == "fail"


def test_a_field_is_filled_in_from_the_arguments_of_a_window():
    state = {"o1": {"s": 1}}
    with window("pay", change("x", lambda: state).only("{order}/s"), args={"order": "o1"}) as w:
        state["o1"]["s"] = 2

    assert w.report["x"].passed


MEMBERS = {
    "a set": (lambda c: c.adding("{order_id}"), set(), lambda s: s.add("o1")),
    "a sequence": (lambda c: c.adding("{order_id}", "{order_id}"), [], lambda s: s.extend(["o1", "o1"])),
    "a tuple": (lambda c: c.adding(("{order_id}", 7)), set(), lambda s: s.add(("o1", 7))),
    "a tuple in a tuple": (lambda c: c.adding((("{order_id}",),)), set(), lambda s: s.add((("o1",),))),
    "a document": (
        lambda c: c.adding({"id": "{order_id}", "{note}": ["{note}"]}), [],
        lambda s: s.append({"id": "o1", "n": ["n"]}),
    ),
    "a tuple as a key": (lambda c: c.adding(("{order_id}", 7)), {}, lambda s: s.update({("o1", 7): 1})),
    "a tuple as a key of amounts": (
        lambda c: c.by({("{order_id}", 7): 1}), {}, lambda s: s.update({("o1", 7): 1}),
    ),
    "braces": (lambda c: c.adding("{{{order_id}}}"), set(), lambda s: s.add("{o1}")),
    "braces alone": (lambda c: c.adding("{{a}}", ("{{b}}",)), set(), lambda s: s.update(["{a}", ("{b}",)])),
    "braces in a key of amounts": (lambda c: c.by({"a{{b}}": 1}), {}, lambda s: s.update({"a{b}": 1})),
}  # fmt: skip


@pytest.mark.parametrize(("words", "state", "effect"), MEMBERS.values(), ids=MEMBERS)
def test_a_field_is_filled_in_at_every_depth_of_a_member(words, state, effect):
    copy = type(state)(state)

    assert judged(words, copy, effect).outcome == "pass"


class Level(str, Enum):
    HIGH = "high"

    def __str__(self):
        return self.value


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (7, "7"), (UUID(int=1), str(UUID(int=1))), (Path("a/b"), "a/b"), (Level.HIGH, "high"),
        ("a/b", "a/b"), ("a~1b", "a~1b"), ("*", "*"), ("[a]", "[a]"), ("{note}", "{note}"),
    ],
)  # fmt: skip
def test_an_argument_names_the_key_that_it_is(value, key):
    for words in (
        lambda c: c.modifying("{order_id}/s"),
        lambda c: c.only("{order_id}/*"),
        lambda c: c.by({"{order_id}/s": 1}),
    ):
        assert judged(words, {key: {"s": 1}}, lambda s: s[key].update(s=2), value).outcome == "pass"


@pytest.mark.parametrize(
    "words",
    [lambda c: c.only("{order_id}/s"), lambda c: c.only("{order_id}/*"), lambda c: c.by({"{order_id}/s": 1})],
)
def test_an_argument_with_a_slash_does_not_lead_to_another_key(words):
    effect = lambda s: s["a"]["b"].update(s=2)  # noqa: E731

    assert judged(words, {"a": {"b": {"s": 1}}}, effect, "a/b").outcome == "fail"
    assert judged(words, {"a": {"b": {"s": 1}, "x~/y": 0}}, effect, "a/b").outcome == "fail"


def test_an_argument_with_a_slash_names_the_part_of_a_key_that_has_it():
    words = lambda c: c.only("{order_id}/*.py")  # noqa: E731

    assert judged(words, {"src/lib/a.py": 1}, update(**{"src/lib/a.py": 2}), "src/lib").outcome == "pass"
    assert judged(words, {"src/lib/a.py": 1}, update(**{"src/lib/a.py": 2}), "src").outcome == "fail"


@given(value=SPECIAL.filter(bool), keys=st.lists(SPECIAL, min_size=1, max_size=3))
def test_an_argument_is_one_key_even_if_it_contains_special_characters(value, keys):
    made = Pattern("{a}/*", (("a", value),))
    found = Names([made], deep=False).of_path(Keys(keys))

    if len(keys) == 1:
        assert not found or keys[0].startswith(f"{value}/")
    else:
        raw = "/".join(keys)
        assert not found or keys[0] == value or ("/" not in value and raw.startswith(f"{value}/"))
    assert Names([made], deep=False).of_path(Keys((value, "k"))) == {0}


def test_the_sentence_shows_the_arguments_filled_into_patterns():
    words = lambda c: c.only("{order_id}/*", "{note}*", "{note}/s")  # noqa: E731
    report = judged(words, {"a": 1}, update(a=2), "o*/1", "b[")

    assert report.expected_delta == "only in 'o[*]~11/*', 'b[[]*', literal 'b[/s'"


def test_a_report_without_a_verdict_names_the_member_as_it_is_written():
    @expects(change("x", dict).only("{order_id}/*", lambda: ()))
    def act(order_id):
        raise OSError

    with collect_reports() as reports, pytest.raises(OSError):  # noqa: PT011  # any will do
        act("o1")
    assert reports[0]["x"].expected_delta == "only in '{order_id}/*', computed members"


@pytest.mark.parametrize(
    ("value", "kind"), [(None, "NoneType"), (1.5, "float"), (["a"], "list"), (True, "bool")]
)
def test_an_argument_without_plain_text_makes_the_check_inconclusive(value, kind):
    report = judged(lambda c: c.only("{order_id}/*"), {"a": 1}, update(a=2), value)

    assert (report.outcome, report.reason) == ("inconclusive", "expectation_failed")
    assert report.explanation == (
        f"x: its expected value could not be computed: TypeError: the field {{order_id}} takes text, a "
        f"number or a path, not a {kind}"
    )


def test_two_keys_that_become_equal_make_the_check_inconclusive():
    report = judged(lambda c: c.by({"{order_id}": 1, "{note}": 2}), {"a": 1}, update(a=2), "a", "a")

    assert (report.reason, report.explanation.rpartition("Error: ")[2]) == (
        "expectation_failed", "two of its keys are 'a' in this run",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "member"),
    [
        (lambda c: c.only("{order}/s"), "'{order}/s'"),
        (lambda c: c.adding(pattern("{order}/*")), "pattern('{order}/*')"),
        (lambda c: c.ignoring("{order}"), "'{order}'"),
        (lambda c: c.by({"{order}/s": 1}), "'{order}/s'"),
        (lambda c: c.adding(("{order}", 1)), "['{order}', 1]"),
    ],
)
def test_a_field_that_names_no_argument_is_refused_with_the_nearest(words, member):
    with pytest.raises(DeltaspanError) as caught:
        judged(words, {}, update())

    assert str(caught.value) == (
        f"the member {member} of check 'x' on action 'act' needs 'order', which does not exist; "
        f"did you mean 'order_id'? (it may name: causal_tag, note, order_id)"
    )


def test_a_check_with_fields_reads_as_the_source_that_made_it():
    check = change("x", dict).only("{order_id}/*").ignoring("{{a}}")

    assert repr(check) == "change('x', dict).only('{order_id}/*').ignoring('{{a}}')"
