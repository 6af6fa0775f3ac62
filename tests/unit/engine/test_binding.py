"""Values that a probe or an expected value may name as a parameter."""

import functools

import pytest

from deltaspan import change, expects, observe, window
from deltaspan.causal_tag import current_causal_tag
from support.reports import reports_of


def read_by(probe, action, *args, **kwargs):
    """Return the value that the probe reads before a call of the action."""
    reports = reports_of(lambda: expects(observe("seen", probe), name="act")(action)(*args, **kwargs))
    return reports[0]["seen"].pre_state


@pytest.mark.parametrize(
    ("args", "kwargs"), [(("acme",), {}), ((), {"tenant": "acme"})], ids=["by position", "by keyword"]
)
def test_a_probe_receives_an_argument_passed_by_position_or_by_name(args, kwargs):
    assert read_by(lambda tenant: tenant, lambda tenant: None, *args, **kwargs) == "acme"


def test_a_probe_reads_the_default_of_an_argument_that_was_left_out():
    assert read_by(lambda tenant: tenant, lambda tenant="acme": None) == "acme"


def test_a_probe_names_some_parameters_in_any_order():
    def action(a, b, c, d=4):
        pass

    assert read_by(lambda d, b: [d, b], action, 1, c=3, b=2) == (4, 2)


def test_a_probe_reads_extra_positional_arguments_as_a_tuple():
    def action(first, *rest):
        pass

    assert read_by(lambda rest: rest, action, 1, 2, 3) == (2, 3)


def test_a_probe_reads_extra_keyword_arguments_as_a_mapping_without_the_declared_ones():
    def action(first, *, known=0, **extra):
        pass

    assert read_by(lambda extra: extra, action, first=1, known=2, a=3, b=4) == {"a": 3, "b": 4}


def test_a_probe_reads_a_keyword_only_argument():
    def action(*, tenant="acme"):
        pass

    assert read_by(lambda tenant: tenant, action, tenant="other") == "other"


def test_a_probe_reads_a_positional_only_argument():
    def action(tenant, /):
        pass

    assert read_by(lambda tenant: tenant, action, "acme") == "acme"


def test_an_extra_keyword_does_not_replace_a_positional_only_argument():
    def action(a=1, /, **extra):
        pass

    assert read_by(lambda a: a, action, a=2) == 1


def test_an_extra_keyword_that_has_the_name_of_a_positional_only_argument_is_an_extra():
    def action(a=1, /, **extra):
        pass

    assert read_by(lambda extra: extra, action, a=2) == {"a": 2}


def test_a_probe_with_positional_only_parameters_is_served():
    def probe(b, a, /):
        return [a, b]

    assert read_by(probe, lambda a, b: None, 1, 2) == (1, 2)


def test_a_positional_only_parameter_that_the_action_lacks_keeps_its_default():
    def probe(missing=1, name=2, /):
        return [missing, name]

    assert read_by(probe, lambda name: None, "given") in [(1, "given"), (1, 2)]


def test_a_parameter_of_a_probe_that_the_action_lacks_keeps_its_default():
    assert read_by(lambda unknown="mine": unknown, lambda name: None, 1) == "mine"


def test_a_probe_with_open_parameters_is_not_asked_for_them():
    def probe(*args, **kwargs):
        return [args, kwargs]

    assert read_by(probe, lambda name: None, 1) == ((), {})


def test_a_partial_probe_needs_its_remaining_parameters():
    def probe(table, tenant):
        return [table, tenant]

    assert read_by(functools.partial(probe, "flows"), lambda tenant: None, "acme") == ("flows", "acme")


def test_a_partial_probe_keeps_the_keyword_it_was_given():
    def probe(tenant, *, limit):
        return [tenant, limit]

    assert read_by(functools.partial(probe, limit=9), lambda tenant: None, "acme") == ("acme", 9)


def test_a_callable_object_is_a_probe():
    class Counter:
        def __call__(self, tenant):
            return tenant * 2

    assert read_by(Counter(), lambda tenant: None, "ab") == "abab"


def test_a_bound_method_is_a_probe():
    class Store:
        def count(self, tenant):
            return len(tenant)

    assert read_by(Store().count, lambda tenant: None, "acme") == 4


def test_a_builtin_is_a_probe():
    rows = [1, 2]

    assert read_by(rows.__len__, lambda: None) == 2


def test_a_builtin_without_a_signature_is_called_with_nothing():
    assert read_by(dict, lambda: None) == {}


def test_a_probe_of_a_method_may_name_self():
    class Store:
        def __init__(self):
            self.rows = []

        @expects(change("rows", lambda self: len(self.rows)).by(1))
        def add(self, row):
            self.rows.append(row)

    reports = reports_of(lambda: Store().add("new"))

    assert reports[0].outcome == "pass"


def test_a_probe_of_a_class_method_may_name_cls():
    class Store:
        rows = 0

        @classmethod
        @expects(change("rows", lambda cls, by: cls.rows).by(lambda by: by))
        def add(cls, by):
            cls.rows += by

    reports = reports_of(Store.add, 2)

    assert reports[0]["rows"].explanation == "rows changed by 2, as expected (0 → 2)"


def test_an_unbound_method_finds_self_among_its_arguments():
    class Store:
        rows = 7

        @expects(observe("rows", lambda self, row: [self.rows, row]))
        def add(self, row):
            pass

    reports = reports_of(lambda: Store.add(Store(), "new"))

    assert reports[0]["rows"].pre_state == (7, "new")


def test_a_partial_action_offers_its_remaining_parameters():
    def action(table, tenant):
        pass

    assert read_by(lambda tenant: tenant, functools.partial(action, "flows"), "acme") == "acme"


def test_a_probe_may_name_the_causal_tag_of_the_run():
    inside = []
    tag = read_by(lambda causal_tag: causal_tag, lambda: inside.append(current_causal_tag()))

    assert [tag] == inside


def judged(check, action, *args):
    reports = reports_of(lambda: expects(check)(action)(*args))
    return reports[0]["n"]


def test_an_expected_value_may_name_an_argument_and_the_result():
    state = [0]

    def act(count):
        state[0] += count
        return {"created": count}

    check = change("n", lambda: state[0]).by(lambda count, result: result["created"] + count - count)

    assert judged(check, act, 3).explanation == "n changed by 3, as expected (0 → 3)"


def test_an_expected_value_may_name_the_baseline():
    state = [5]

    def act():
        state[0] *= 2

    assert judged(change("n", lambda: state[0]).by(lambda pre_state: pre_state), act).outcome == "pass"


def test_an_expected_value_may_name_the_causal_tag():
    state = [""]

    def act():
        state[0] = current_causal_tag()

    assert judged(change("n", lambda: state[0]).to(lambda causal_tag: causal_tag), act).outcome == "pass"


@pytest.mark.parametrize("end", [[1, 2], (1, 2)], ids=["a list", "a tuple"])
def test_a_computed_end_is_compared_by_value(end):
    state = [1]

    assert judged(change("n", lambda: state).to(lambda: end), lambda: state.append(2)).outcome == "pass"


def test_a_computed_start_is_compared_by_value():
    state = {"a": [1]}

    def act():
        state["a"] = [2]

    assert judged(change("n", lambda: state).from_(lambda: {"a": [1]}), act).outcome == "pass"


def test_each_computed_amount_of_a_range_is_filled_in():
    state = [0]

    def act(low):
        state[0] = 9

    check = change("n", lambda: state[0]).by_between(lambda low: low, lambda low: low * 2)

    assert judged(check, act, 2).explanation == (
        "expected n to change by between 2 and 4, but it changed by 9 (0 → 9)"
    )


def test_an_expected_value_that_raises_makes_the_check_inconclusive():
    def act():
        return {}

    report = judged(change("n", lambda: 1).by(lambda result: result["created"]), act)

    assert (report.outcome, report.reason) == ("inconclusive", "expectation_failed")
    assert report.explanation == "n: its expected value could not be computed: KeyError: 'created'"


@pytest.mark.parametrize("amount", ["1", None, True, float("nan"), len], ids=repr)
def test_a_computed_amount_that_is_not_a_number_makes_the_check_inconclusive(amount):
    report = judged(change("n", lambda: 1).by(lambda: amount), lambda: None)

    assert (report.outcome, report.reason) == ("inconclusive", "expectation_failed")


@pytest.mark.parametrize("option", ["by", "at_least", "at_most"])
def test_a_computed_bound_that_is_none_makes_the_check_inconclusive(option):
    numbers = [1]
    check = change("n", lambda: len(numbers)).increasing(**{option: lambda: None})

    report = judged(check, lambda: numbers.append(2))

    assert (report.outcome, report.reason) == ("inconclusive", "expectation_failed")


def test_a_window_offers_its_args():
    with window("block", observe("n", lambda tenant: tenant), args={"tenant": "acme"}) as w:
        pass

    assert w.report["n"].pre_state == "acme"


def test_a_call_with_a_missing_argument_raises_the_error_of_the_action():
    @expects(observe("n", lambda tenant: tenant))
    def act(tenant):
        pass

    with pytest.raises(TypeError, match=r"act\(\) missing 1 required positional argument: 'tenant'"):
        act()
